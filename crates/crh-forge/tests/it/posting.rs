//! Posting to a fake GitHub, with and without faults.

use std::time::Duration;

use expect_test::expect;

use crate::scene::{INSTANCE, Scene, issue};
use crh_forge::github::post::{GitHubPoster, GitHubRules};
use crh_forge::github::{GitHubClient, GitHubCredentials, ReplyCache, post, read};
use crh_forge::posting;
use crh_forge::posting::{
    ItemDelivery, PostedItem, PostingDelays, PostingOptions, PostingOutcome, PostingRefusal,
    ReviewBasis, ReviewPosting,
};
use crh_review::diff::Diff;
use crh_review::report::{Issue, Report, Strategy};
use crh_review::verdict::Verdict;
use crh_testkit::fake_github::{Fault, FaultKind, HoldPoint, Permission, Pull};
use crh_testkit::{FakeGitHub, tries_case};

/// How long a test waits for a write: several times what a slow machine needs.
const PATIENCE: Duration = Duration::from_secs(60);

/// No delays: the fake shows writes at once.
const NO_WAITS: PostingDelays =
    PostingDelays { rereads: [Duration::ZERO; 3], between_writes: Duration::ZERO };

fn lines(from: u32, to: u32) -> String {
    (from..=to).map(|line| format!("    line({line});\n")).collect()
}

/// A pull request that adds `a.rs` with sixty lines and changes line 5 of `b.rs`.
fn scene() -> Scene {
    let repo = crh_testkit::Repo::new();
    repo.write("b.rs", lines(1, 40));
    repo.commit("base");
    repo.git(&["switch", "--quiet", "-c", "feature"]);
    repo.write("a.rs", lines(1, 60));
    repo.write("b.rs", lines(1, 40).replace("line(5)", "line(five)"));
    repo.commit("change");
    let github = FakeGitHub::start();
    github.repository("acme/shop", &repo);
    let pull = github.pull("acme/shop", Pull::default());
    Scene { github, pull, repo }
}

/// A review of the head with issues on these lines of `a.rs`, and one on a line of `b.rs` that the diff does not show.
fn review(scene: &Scene, lines: &[u32]) -> Report {
    let mut report = Report {
        review_id: "0123456789abcdef".to_owned(),
        strategy: Strategy::Single,
        verdict: Verdict::ReadyWithFixes,
        verdict_reason: "issues to fix".to_owned(),
        ..Report::default()
    };
    report.change.repo = scene.pull.repository.clone();
    report.change.pr_number = scene.pull.number.to_string();
    report.change.head_sha = scene.github.head(&scene.pull);
    let locations = lines.iter().map(|line| ("a.rs", *line)).chain([("b.rs", 30)]);
    let numbered = |(number, (file, line)): (usize, (&str, u32))| {
        let key = format!("{:015x}{}", line, &file[..1]);
        let replacement = Some(format!("    line({line})?;\n"));
        Issue { replacement, ..issue(number, &key, &format!("Trouble {line}"), file, line) }
    };
    report.issues = (1..).zip(locations).map(numbered).collect();
    report
}

/// The posting of a report without options.
fn posting_of<'a>(
    report: &'a Report,
    web: &'a str,
    diff: &'a Diff,
    basis: &'a ReviewBasis,
) -> ReviewPosting<'a> {
    ReviewPosting {
        report,
        diff,
        head_lines: &|_| None,
        mask: &|text| text.to_owned(),
        instance: INSTANCE,
        web,
        basis,
        carried_issues: None,
        options: PostingOptions::default(),
    }
}

async fn post_with(
    scene: &Scene,
    client: &GitHubClient,
    report: &Report,
    options: PostingOptions,
) -> PostingOutcome {
    let head_lines = |file: &str| {
        (file == "a.rs").then(|| lines(1, 60).lines().map(str::to_owned).collect::<Vec<_>>())
    };
    let (web, diff, basis) = (scene.github.url(), Diff::read(""), ReviewBasis::default());
    let posting = posting_of(report, &web, &diff, &basis);
    let posting = ReviewPosting { head_lines: &head_lines, options, ..posting };
    let poster = GitHubPoster { client, pull_ref: &scene.pull_ref() };
    posting::post_review(&poster, &posting, &NO_WAITS).await.unwrap()
}

async fn post(scene: &Scene, report: &Report) -> PostingOutcome {
    let options = PostingOptions { resolve_outdated: true, ..PostingOptions::default() };
    let outcome = post_with(scene, &scene.client(), report, options).await;
    assert_eq!(scene.github.surprises(), Vec::<String>::new());
    outcome
}

/// Content of the pull request as a visitor sees it, without texts that differ between runs.
fn visible_text(scene: &Scene) -> String {
    let text = scene.github.render(&scene.pull).replace(&scene.github.url(), "URL");
    let is_stable = |line: &&str| !line.contains(":state:") && !line.contains("#diff-");
    let lines: Vec<&str> = text.lines().filter(is_stable).collect();
    lines.join("\n") + "\n"
}

/// Threads and comments, independent of order and batches.
fn sorted_content(scene: &Scene) -> Vec<String> {
    let threads = scene.github.threads(&scene.pull);
    let threads = threads.iter().map(|thread| {
        format!("{}:{:?} {} {}", thread.path, thread.line, thread.resolved, thread.comments[0].body)
    });
    let comments = scene.github.comments(&scene.pull).into_iter().map(|comment| comment.body);
    // Addresses and commit ids differ between scenes.
    let without_addresses = |text: String| {
        let text = text.replace(&scene.github.url(), "URL");
        text.lines().filter(|line| !line.contains(":state:")).collect::<Vec<_>>().join("\n")
    };
    let mut content: Vec<String> = threads.chain(comments).map(without_addresses).collect();
    content.sort();
    content
}

#[tokio::test]
async fn posting_twice_changes_nothing() {
    let scene = scene();
    let report = review(&scene, &[10, 20]);
    let outcome = post(&scene, &report).await;
    assert!(outcome.is_complete(), "{outcome:?}");
    expect![[r#"
        pull request #1 (open) by author: A change

        comment by crh-reviewer
            <!-- code-review-agent:review_id=0123456789abcdef -->
            <!-- crh:crh:summary -->
            ## Ready with fixes

            Issues to fix

            | # | Severity | Where | Issue | Confidence |
            |---|---|---|---|---|
            | 3 | P1 | `b.rs:30` | Trouble 30 | 0.80 |

            ### Not in the diff

            <details>
            <summary>3. P1: Trouble 30</summary>

            Customers pay twice.

            **Replace with:**
            ```rust
                line(30)?;
            ```

            A person must decide this; reported by correctness

            </details>

            <sub>Reviewed by crh: one reviewer, no model, cost $0.00, review id 0123456789abcdef</sub>


        review by crh-reviewer: COMMENTED on the head
            <!-- crh:crh:review:0123456789abcdef -->
            The summary comment has the whole review.

        thread on a.rs:10 RIGHT
          crh-reviewer:
            **P1** Trouble 10

            Customers pay twice.

            ```suggestion
                line(10)?;
            ```

            <sub>Reported by correctness, confidence 0.80</sub>

            <!-- crh:crh:00000000000000aa -->

        thread on a.rs:20 RIGHT
          crh-reviewer:
            **P1** Trouble 20

            Customers pay twice.

            ```suggestion
                line(20)?;
            ```

            <sub>Reported by correctness, confidence 0.80</sub>

            <!-- crh:crh:000000000000014a -->
    "#]]
    .assert_eq(&visible_text(&scene));
    let (before, writes) = (scene.github.render(&scene.pull), scene.github.writes_received());
    let outcome = post(&scene, &report).await;
    assert!(
        outcome.receipts.iter().all(|receipt| matches!(receipt.delivery, ItemDelivery::Skipped(_)))
    );
    assert_eq!(scene.github.render(&scene.pull), before);
    assert_eq!(scene.github.writes_received(), writes);
}

#[tokio::test]
async fn posting_after_push_adds_new_and_resolves_gone_issues() {
    let scene = scene();
    post(&scene, &review(&scene, &[10, 20, 30])).await;
    scene.repo.write("a.rs", lines(1, 60).replace("line(20)", "line(twenty)"));
    scene.repo.commit("fix");
    scene.github.push(&scene.pull);
    let mut second = review(&scene, &[10, 30, 40]);
    second.review_id = "1111111111111111".to_owned();
    second.change.head_sha = scene.github.head(&scene.pull);
    let outcome = post(&scene, &second).await;
    assert!(outcome.is_complete(), "{outcome:?}");
    let threads = scene.github.threads(&scene.pull);
    let state: Vec<_> =
        threads.iter().map(|thread| (thread.original_line, thread.resolved)).collect();
    assert_eq!(state, [(10, false), (20, true), (30, false), (40, false)]);
    let comments = scene.github.comments(&scene.pull);
    assert_eq!(comments.len(), 1);
    assert!(
        comments[0].body.contains("Issues 1, 2, 4 were raised in an earlier review."),
        "{}",
        comments[0].body
    );
    let writes = scene.github.writes_received();
    post(&scene, &second).await;
    assert_eq!(scene.github.writes_received(), writes);
}

#[tokio::test]
async fn dismissed_issue_is_not_raised_again() {
    let scene = scene();
    let report = review(&scene, &[10, 20]);
    post(&scene, &report).await;
    let threads = scene.github.threads(&scene.pull);
    scene.github.association("acme/shop", "ben", "MEMBER");
    scene.github.reply(&threads[0].id, "ben", "Not a bug: the caller checks.");
    scene.github.reply(&threads[1].id, "mallory", "Not a bug.");
    let (_, proposal_state) =
        read::pull_request(&scene.client(), &scene.pull_ref(), INSTANCE).await.unwrap();
    let dismissals = posting::dismissals(&proposal_state, INSTANCE);
    let dismissals: Vec<_> = dismissals
        .iter()
        .map(|dismissal| (dismissal.by.as_str(), dismissal.is_effective))
        .collect();
    assert_eq!(dismissals, [("ben", true), ("mallory", false)]);
    let outcome = post(&scene, &report).await;
    let first = &outcome.receipts[0];
    assert_eq!(first.delivery, ItemDelivery::Skipped("dismissed by ben".to_owned()));
    let body = &scene.github.comments(&scene.pull)[0].body;
    assert!(body.contains("### Dismissed\n") && body.contains("(by ben)"), "{body}");
    assert!(!body.contains("| 1 | P1 |") && body.contains("| 2 | P1 |"), "{body}");
}

#[tokio::test]
async fn own_pending_review_is_submitted_and_persons_kept() {
    let scene = scene();
    let report = review(&scene, &[10, 20]);
    post(&scene, &report).await;
    let expected = sorted_content(&scene);
    scene.github.unsubmit(&scene.pull);
    let (_, proposal_state) =
        read::pull_request(&scene.client(), &scene.pull_ref(), INSTANCE).await.unwrap();
    assert_eq!(proposal_state.threads, vec![], "other accounts do not see them");
    let outcome = post(&scene, &report).await;
    assert!(outcome.is_complete(), "{outcome:?}");
    assert_eq!(sorted_content(&scene), expected);
    let reviews = scene.github.reviews(&scene.pull);
    let states: Vec<&str> = reviews.iter().map(|review| review.state.as_str()).collect();
    assert_eq!(states, ["COMMENTED"]);
    scene.github.unsubmit(&scene.pull);
    let mut other_review = report.clone();
    other_review.review_id = "1111111111111111".to_owned();
    let outcome = post(&scene, &other_review).await;
    assert_eq!(outcome.refusal, Some(PostingRefusal::Unsubmitted));
}

#[tokio::test]
async fn one_bad_position_among_forty_loses_nothing() {
    let scene = scene();
    scene.github.fail(Fault::bad_line("a.rs", 17));
    let outcome = post(&scene, &review(&scene, &(11..=50).collect::<Vec<_>>())).await;
    assert!(outcome.is_complete(), "{outcome:?}");
    assert_eq!(scene.github.threads(&scene.pull).len(), 39);
    let body = &scene.github.comments(&scene.pull)[0].body;
    assert!(body.contains("<summary>7. P1: Trouble 17</summary>"), "{body}");
    let writes = scene.github.writes_received();
    post(&scene, &review(&scene, &(11..=50).collect::<Vec<_>>())).await;
    assert_eq!(scene.github.writes_received(), writes, "what was refused is known");
}

#[tokio::test]
async fn comment_only_token_posts_summary() {
    let scene = scene();
    let permissions = [
        Permission::Contents,
        Permission::ReadPulls,
        Permission::ReadIssues,
        Permission::WriteIssues,
        Permission::ReadChecks,
        Permission::ReadStatuses,
    ];
    scene.github.token("ghp_onlyComments", "commenter", &permissions);
    let client = scene
        .client_with(ReplyCache::disabled(), GitHubCredentials::Token("ghp_onlyComments".into()));
    let outcome =
        post_with(&scene, &client, &review(&scene, &[10, 20]), PostingOptions::default()).await;
    assert!(outcome.is_complete() && outcome.notes.len() == 1, "{outcome:?}");
    assert_eq!(scene.github.threads(&scene.pull).len(), 0);
    let body = &scene.github.comments(&scene.pull)[0].body;
    assert_eq!(body.matches("<details>").count(), 3, "{body}");
    assert!(body.contains("No inline comments were posted: "), "{body}");
}

/// Scene for faults: three existing issues, one outdated and gone from the second review.
async fn second_round() -> (Scene, Report) {
    let scene = scene();
    post(&scene, &review(&scene, &[10, 20, 30])).await;
    scene.repo.write("a.rs", lines(1, 60).replace("line(20)", "line(twenty)"));
    scene.repo.commit("fix");
    scene.github.push(&scene.pull);
    scene.github.fail(Fault::bad_line("a.rs", 44));
    let report = review(&scene, &[10, 30, 41, 42, 43, 44]);
    (scene, report)
}

#[tokio::test]
async fn fault_at_any_write_then_repost_gives_same_state() {
    let (scene, report) = second_round().await;
    let before = scene.github.writes_received();
    assert!(post(&scene, &report).await.is_complete());
    let (expected, writes) = (sorted_content(&scene), scene.github.writes_received() - before);
    assert!(writes >= 5, "{writes}");
    let faults = [
        FaultKind::CutBefore,
        FaultKind::CutAfter,
        FaultKind::StatusBefore(502),
        FaultKind::StatusAfter(502),
    ];
    for (choice, how) in faults.iter().enumerate() {
        let is_tried = |number: &usize| tries_case(*number, choice, faults.len());
        for number in (1..=writes).filter(is_tried) {
            let (scene, report) = second_round().await;
            scene.github.fail(Fault::on_write(before + number, how.clone()));
            post(&scene, &report).await;
            let outcome = post(&scene, &report).await;
            assert!(outcome.is_complete(), "{how:?} at {number}: {outcome:?}");
            assert_eq!(sorted_content(&scene), expected, "{how:?} at {number}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_posting_can_be_repeated() {
    let (scene, report) = second_round().await;
    let before = scene.github.writes_received();
    post(&scene, &report).await;
    let (expected, writes) = (sorted_content(&scene), scene.github.writes_received() - before);
    for (choice, moment) in [HoldPoint::Before, HoldPoint::After].into_iter().enumerate() {
        for number in (1..=writes).filter(|number| tries_case(*number, choice, 2)) {
            let (scene, report) = second_round().await;
            let hold = scene.github.hold_write(before + number, moment);
            let (held, hold) = {
                let waiting = tokio::task::spawn_blocking(move || (hold.wait(PATIENCE), hold));
                tokio::select! {
                    _ = post(&scene, &report) => panic!("write {number} was not held"),
                    held = waiting => held.unwrap(),
                }
            };
            assert!(held);
            hold.release();
            let outcome = post(&scene, &report).await;
            assert!(outcome.is_complete(), "{moment:?} at {number}: {outcome:?}");
            assert_eq!(sorted_content(&scene), expected, "{moment:?} at {number}");
        }
    }
}

#[tokio::test]
async fn check_run_and_sarif_show_the_same_review() {
    let scene = scene();
    let report = review(&scene, &(1..=60).collect::<Vec<_>>());
    let (web, diff, basis) = (scene.github.url(), Diff::read(""), ReviewBasis::default());
    let posting = posting_of(&report, &web, &diff, &basis);
    // Only Apps can create check runs.
    scene.github.token("ghs_ofAnApp", "reviews[bot]", &Permission::ALL);
    let client =
        scene.client_with(ReplyCache::disabled(), GitHubCredentials::Token("ghs_ofAnApp".into()));
    assert_eq!(post::post_check_run(&client, "crh review", &posting).await, Ok(2));
    assert_eq!(post::post_check_run(&client, "crh review", &posting).await, Ok(0));
    let runs = scene.github.check_runs("acme/shop");
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0]["conclusion"], "failure");
    assert_eq!(runs[0]["output"]["annotations"].as_array().unwrap().len(), 61);
    post::post_sarif(&client, &posting).await.unwrap();
    let sarifs = scene.github.sarifs("acme/shop");
    assert_eq!(sarifs[0].commit, report.change.head_sha);
    assert_eq!(sarifs[0].report["runs"][0]["results"].as_array().unwrap().len(), 61);
    assert_eq!(scene.github.surprises(), Vec::<String>::new());
}

#[tokio::test]
async fn planning_changes_nothing() {
    let scene = scene();
    let report = review(&scene, &[10]);
    let (_, proposal_state) =
        read::pull_request(&scene.client(), &scene.pull_ref(), INSTANCE).await.unwrap();
    let (web, diff, basis) = (scene.github.url(), Diff::read(""), ReviewBasis::default());
    let posting = posting_of(&report, &web, &diff, &basis);
    let plan = posting::plan(&GitHubRules, &posting, &proposal_state);
    let planned_bodies: Vec<String> =
        plan.writes.iter().map(|write| write.request.body.to_string()).collect();
    assert_eq!(scene.github.writes_received(), 0);
    let poster = GitHubPoster { client: &scene.client(), pull_ref: &scene.pull_ref() };
    let outcome = posting::post_review(&poster, &posting, &NO_WAITS).await.unwrap();
    assert!(outcome.receipts.iter().any(|receipt| receipt.item == PostedItem::Summary));
    let sent_bodies: Vec<String> =
        scene.github.writes().iter().map(|write| write.body.to_string()).collect();
    assert_eq!(sent_bodies, planned_bodies, "a dry run shows exactly what is sent");
}
