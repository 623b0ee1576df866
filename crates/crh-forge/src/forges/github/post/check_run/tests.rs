//! A check run shows a review once, and it succeeds only if the review does.

use super::*;
use crate::posting::tests_support::ReviewFixture;
use crh_review::report::{Status, Strategy};
use crh_review::verdict::Verdict;

fn counts(requests: &[ForgeRequest]) -> Vec<(Verb, String, usize)> {
    let count =
        |request: &ForgeRequest| request.body["output"]["annotations"].as_array().unwrap().len();
    requests.iter().map(|request| (request.verb, request.path.clone(), count(request))).collect()
}

fn external_id(review: &ReviewFixture) -> String {
    let requests = check_run_requests(&review.posting(), "crh", &[]);
    requests[0].body["external_id"].as_str().unwrap().to_owned()
}

#[test]
fn missing_annotations_are_sent_in_batches() {
    let lines: Vec<u32> = (1..=120).collect();
    let review = ReviewFixture::new(&lines);
    let request_counts = |existing: &[ExistingCheckRun]| {
        counts(&check_run_requests(&review.posting(), "crh", existing))
    };
    let new_run_path = "/repos/o/r/check-runs/{new}".to_owned();
    assert_eq!(
        request_counts(&[]),
        [
            (Verb::Post, "/repos/o/r/check-runs".to_owned(), 50),
            (Verb::Patch, new_run_path.clone(), 50),
            (Verb::Patch, new_run_path, 20),
        ]
    );
    let id = external_id(&review);
    let run = |annotations| ExistingCheckRun { id: 5, external_id: id.clone(), annotations };
    assert_eq!(
        request_counts(&[run(100)]),
        [(Verb::Patch, "/repos/o/r/check-runs/5".to_owned(), 20)]
    );
    assert_eq!(request_counts(&[run(120)]), []);
    let other = ExistingCheckRun { id: 6, external_id: "crh:other:0".to_owned(), ..run(120) };
    assert_eq!(
        request_counts(&[run(120), other.clone()]),
        [],
        "another instance says nothing about us"
    );
    assert_eq!(request_counts(&[other]).len(), 3);
}

#[test]
fn new_check_run_without_an_id_is_not_changed() {
    let new_run = format!("/check-runs/{NEW_ID_PLACEHOLDER}");
    assert_eq!(path_with_id(&new_run, Some(7)), Ok("/check-runs/7".to_owned()));
    assert_eq!(path_with_id("/check-runs", None), Ok("/check-runs".to_owned()));
    assert!(matches!(path_with_id(&new_run, None), Err(ForgeError::Unreadable { .. })));
}

#[test]
fn annotations_over_the_limit_are_counted_in_summary() {
    let lines: Vec<u32> = (1..=u32::try_from(PROFILE.inline_max).unwrap() + 7).collect();
    let requests = check_run_requests(&ReviewFixture::new(&lines).posting(), "crh", &[]);
    let annotation_count: usize = counts(&requests).into_iter().map(|(_, _, count)| count).sum();
    assert_eq!(annotation_count, PROFILE.inline_max);
    let summary = requests[0].body["output"]["summary"].as_str().unwrap();
    assert!(summary.contains("7 more are only in this summary."), "{summary}");
    let few_requests = check_run_requests(&ReviewFixture::new(&[10]).posting(), "crh", &[]);
    assert!(!few_requests[0].body.to_string().contains("only in this summary"), "{few_requests:?}");
}

#[test]
fn changed_result_creates_a_new_check_run() {
    let green = ReviewFixture::new(&[]);
    let mut red = ReviewFixture::new(&[10]);
    red.report.verdict = Verdict::NotReady;
    let run = |id, review: &ReviewFixture| ExistingCheckRun {
        id,
        external_id: external_id(review),
        annotations: review.report.issues.len(),
    };
    let conclusions = |review: &ReviewFixture, existing: &[ExistingCheckRun]| {
        let requests = check_run_requests(&review.posting(), "crh", existing);
        let conclusions = requests.iter().map(|request| request.body["conclusion"].to_string());
        conclusions.collect::<Vec<_>>()
    };
    assert_eq!(conclusions(&red, &[run(1, &green)]), ["\"failure\""]);
    assert_eq!(conclusions(&red, &[run(2, &red), run(1, &green)]), Vec::<String>::new());
    // Only the newest run counts.
    assert_eq!(conclusions(&green, &[run(2, &red), run(1, &green)]), ["\"success\""]);
}

#[test]
fn only_complete_clean_review_is_success() {
    let check = |verdict, status, strategy, expected: &str| {
        let mut review = ReviewFixture::new(&[]);
        review.report.verdict = verdict;
        review.report.status = status;
        review.report.strategy = strategy;
        // An empty diff: nothing changed.
        review.report.change.base_sha = review.report.change.head_sha.clone();
        let requests = check_run_requests(&review.posting(), "crh", &[]);
        assert_eq!(requests[0].body["conclusion"], expected, "{verdict:?} {status:?} {strategy:?}");
    };
    check(Verdict::ReadyToMerge, Status::Ok, Strategy::Single, "success");
    check(Verdict::ReadyToMerge, Status::Truncated, Strategy::Single, "failure");
    check(Verdict::Incomplete, Status::Ok, Strategy::Single, "failure");
    check(Verdict::ReadyWithFixes, Status::Ok, Strategy::Single, "failure");
    check(Verdict::NotReady, Status::Ok, Strategy::Single, "failure");
    check(Verdict::ChecksPassed, Status::Ok, Strategy::Static, "success");
    check(Verdict::ChecksPassed, Status::Truncated, Strategy::Static, "failure");
}

#[test]
fn annotation_is_plain_text_on_head_lines() {
    let mut review = ReviewFixture::new(&[10, 11]);
    review.report.issues[0].title = "A \u{1b}[31mtitle".to_owned();
    review.report.issues[1].location.side = Side::Old;
    let requests = check_run_requests(&review.posting(), "crh", &[]);
    let expected = json!([{
        "path": "a.rs", "start_line": 10, "end_line": 10, "annotation_level": "failure",
        "title": "P1: A \\u{1b}[31mtitle", "message": "Customers pay twice.",
    }]);
    assert_eq!(requests[0].body["output"]["annotations"], expected);
}
