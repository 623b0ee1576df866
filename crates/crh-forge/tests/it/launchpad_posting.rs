//! Posting to a fake Launchpad, with and without faults.

use std::time::Duration;

use expect_test::expect;

use crate::launchpad_scene::{FORK, LaunchpadScene, SHOP};
use crate::scene::{INSTANCE, issue};
use crh_forge::launchpad::post::LaunchpadPoster;
use crh_forge::launchpad::{LaunchpadClient, LaunchpadCredentials, MergeProposalRef};
use crh_forge::posting::{
    ItemDelivery, PostingDelays, PostingOptions, PostingOutcome, PostingRefusal, ReviewBasis,
    ReviewPosting, post_review,
};
use crh_forge::{ForgeError, ProposalKind};
use crh_review::diff::Diff;
use crh_review::report::Report;
use crh_review::verdict::Verdict;
use crh_testkit::fake_launchpad::{CONSUMER, LaunchpadFault, LaunchpadFaultKind, REVIEWER, TOKEN};

/// No delays: the fake shows writes at once.
const NO_WAITS: PostingDelays =
    PostingDelays { rereads: [Duration::ZERO; 3], between_writes: Duration::ZERO };

/// A review of the head with issues at these lines.
fn review(scene: &LaunchpadScene, id: &str, locations: &[(&str, u32)]) -> Report {
    let mut report = Report {
        review_id: id.to_owned(),
        verdict: Verdict::ReadyWithFixes,
        verdict_reason: "issues to fix".to_owned(),
        ..Report::default()
    };
    report.change.repo = SHOP.to_owned();
    report.change.pr_number = scene.merge.number.to_string();
    report.change.head_sha = scene.launchpad.head(&scene.merge);
    let numbered = |(number, (file, line)): (usize, &(&str, u32))| {
        let key = format!("{:08x}{line:08x}", file.len());
        issue(number, &key, &format!("Trouble {line}"), file, *line)
    };
    report.issues = (1..).zip(locations).map(numbered).collect();
    report
}

const FIRST_REVIEW: &str = "0123456789abcdef";
const SECOND_REVIEW: &str = "fedcba9876543210";

/// The reviewed diff.
fn reviewed_diff(scene: &LaunchpadScene) -> Diff {
    Diff::read(scene.repo.git(&["diff", "main...feature"]))
}

async fn post_report(scene: &LaunchpadScene, report: &Report) -> PostingOutcome {
    post_report_to(scene, &scene.proposal_ref(), report).await
}

async fn post_report_to(
    scene: &LaunchpadScene,
    proposal_ref: &MergeProposalRef,
    report: &Report,
) -> PostingOutcome {
    let outcome = post_as(scene, &scene.client(), proposal_ref, report).await.unwrap();
    assert_eq!(scene.launchpad.surprises(), Vec::<String>::new());
    outcome
}

async fn post_as(
    scene: &LaunchpadScene,
    client: &LaunchpadClient,
    proposal_ref: &MergeProposalRef,
    report: &Report,
) -> Result<PostingOutcome, ForgeError> {
    let posting = ReviewPosting {
        report,
        diff: &reviewed_diff(scene),
        head_lines: &|_| None,
        mask: &str::to_owned,
        instance: INSTANCE,
        web: &scene.launchpad.url(),
        basis: &ReviewBasis::default(),
        carried_issues: None,
        options: PostingOptions::default(),
    };
    post_review(&LaunchpadPoster { client, proposal_ref }, &posting, &NO_WAITS).await
}

/// Content of the proposal as a visitor sees it, without the saved state.
fn visible_text(scene: &LaunchpadScene) -> String {
    let text = scene.launchpad.render(&scene.merge);
    text.lines().filter(|line| !line.contains(":state:")).map(|line| format!("{line}\n")).collect()
}

#[tokio::test]
async fn posting_twice_gives_one_comment() {
    let scene = LaunchpadScene::new();
    let report = review(&scene, FIRST_REVIEW, &[("orders.py", 5), ("far.py", 30)]);
    let outcome = post_report(&scene, &report).await;
    assert!(outcome.is_complete(), "{outcome:?}");
    expect![[r#"
        merge proposal (Needs review) by ann, 1 preview diffs

        comment by crh-reviewer, Needs Fixing
            Ready with fixes: issues to fix

            Inline:
              #1 P1 orders.py:5: Trouble 5

            Not in the diff:
              #2 P1 far.py:30: Trouble 30
                Customers pay twice.

                (correctness, confidence 0.80)

            --
            crh, no model
            <!-- code-review-agent:review_id=0123456789abcdef -->
            <!-- crh:crh:summary -->
          on line 10 of diff 1:
            P1: Trouble 5

            Customers pay twice.

            (correctness, confidence 0.80)

            <!-- crh:crh:0000000900000005 -->
    "#]]
    .assert_eq(&visible_text(&scene));
    let comments = scene.launchpad.comments(&scene.merge);
    assert_eq!(comments.len(), 1);
    let second_outcome = post_report(&scene, &report).await;
    assert_eq!(scene.launchpad.comments(&scene.merge), comments);
    assert!(
        second_outcome
            .receipts
            .iter()
            .all(|receipt| receipt.delivery == ItemDelivery::Skipped("already posted".to_owned()))
    );
    assert_eq!(scene.launchpad.writes().len(), 1);
}

#[tokio::test]
async fn draft_comments_are_not_overwritten() {
    let scene = LaunchpadScene::new();
    let diff = scene.launchpad.preview_diffs(&scene.merge)[0];
    scene.launchpad.draft(&scene.merge, "ann", diff, (10, "Mine."));
    scene.launchpad.draft(&scene.merge, REVIEWER, diff, (10, "Hm."));
    let outcome = post_report(&scene, &review(&scene, FIRST_REVIEW, &[("orders.py", 5)])).await;
    let drafts = PostingRefusal::Drafts { who: REVIEWER.to_owned() };
    assert_eq!(outcome.refusal, Some(drafts));
    assert_eq!(scene.launchpad.writes().len(), 0);
    // A comment without inline comments does not touch the drafts.
    let outcome = post_report(&scene, &review(&scene, SECOND_REVIEW, &[("far.py", 30)])).await;
    assert!(outcome.is_complete(), "{outcome:?}");
}

#[tokio::test]
async fn renamed_owner_is_posted_to_current_path() {
    let scene = LaunchpadScene::new();
    let old_path = scene.merge.path.replace("~ann/", "~anna/");
    scene.launchpad.was_at(&scene.merge, &old_path);
    let url = format!("{}/{old_path}", scene.launchpad.url());
    let proposal_ref = MergeProposalRef::parse(&url, &scene.service()).unwrap();
    let outcome =
        post_report_to(&scene, &proposal_ref, &review(&scene, FIRST_REVIEW, &[("orders.py", 5)]))
            .await;
    assert!(outcome.is_complete(), "{outcome:?}");
    assert_eq!(scene.launchpad.comments(&scene.merge).len(), 1);
}

#[tokio::test]
async fn unreadable_diff_is_not_a_missing_diff() {
    let scene = LaunchpadScene::new();
    scene.launchpad.fail(LaunchpadFault::on(
        "GET",
        "*/diff_text",
        LaunchpadFaultKind::StatusBefore(404),
    ));
    let report = review(&scene, FIRST_REVIEW, &[("orders.py", 5)]);
    let outcome = post_report(&scene, &report).await;
    let refusal = PostingRefusal::NotAllRead {
        kind: ProposalKind::MergeProposal,
        incomplete_lists: vec!["newest diff".to_owned()],
    };
    assert_eq!(outcome.refusal, Some(refusal));
    assert_eq!(scene.launchpad.writes().len(), 0);
    assert!(post_report(&scene, &report).await.is_complete());
    assert_eq!(scene.launchpad.comments(&scene.merge)[0].inline.len(), 1);
}

#[tokio::test]
async fn missing_diff_moves_all_to_summary() {
    let scene = LaunchpadScene::new();
    scene.repo.write("orders.py", "other\n");
    scene.repo.commit("unseen");
    scene.launchpad.refresh(FORK);
    let outcome = post_report(&scene, &review(&scene, FIRST_REVIEW, &[("orders.py", 1)])).await;
    assert!(outcome.is_complete(), "{outcome:?}");
    let comments = scene.launchpad.comments(&scene.merge);
    assert_eq!((comments.len(), comments[0].preview_diff), (1, None));
    assert!(comments[0].content.contains("#1 P1 orders.py:1: Trouble 1"));
}

#[tokio::test]
async fn unconfirmed_write_is_checked_and_never_repeated() {
    for (how, is_applied) in [
        (LaunchpadFaultKind::CutBefore, false),
        (LaunchpadFaultKind::CutAfter, true),
        (LaunchpadFaultKind::StatusBefore(503), false),
        (LaunchpadFaultKind::StatusAfter(503), true),
        // A proxy that answers in Launchpad's place with a success.
        (LaunchpadFaultKind::StatusBefore(301), false),
        (LaunchpadFaultKind::Redirect("https://elsewhere.example/login".to_owned()), false),
        (LaunchpadFaultKind::StatusBefore(200), false),
        (LaunchpadFaultKind::StatusAfter(200), true),
        (LaunchpadFaultKind::StatusBefore(201), false),
    ] {
        let scene = LaunchpadScene::new();
        scene.launchpad.fail(LaunchpadFault::on_write(1, how.clone()));
        let report = review(&scene, FIRST_REVIEW, &[("orders.py", 5), ("far.py", 30)]);
        let outcome = post_report(&scene, &report).await;
        assert_eq!(outcome.is_complete(), is_applied, "{how:?}: {outcome:?}");
        let requests = scene.launchpad.requests();
        assert_eq!(requests.iter().filter(|request| request.write.is_some()).count(), 1, "{how:?}");
        if how == LaunchpadFaultKind::StatusBefore(503) {
            let ItemDelivery::Failed(why) = &outcome.receipts[0].delivery else {
                panic!("{outcome:?}")
            };
            assert!(why.contains("OOPS-fake1"), "{why}");
        }
        let second_outcome = post_report(&scene, &report).await;
        assert!(second_outcome.is_complete(), "{how:?}: {second_outcome:?}");
        assert_eq!(scene.launchpad.comments(&scene.merge).len(), 1, "{how:?}");
    }
}

#[tokio::test]
async fn anonymous_or_rejected_account_posts_nothing() {
    let scene = LaunchpadScene::new();
    let report = review(&scene, FIRST_REVIEW, &[("orders.py", 5)]);
    let wrong_client =
        scene.client_as(LaunchpadCredentials::new(CONSUMER, TOKEN, &"wrong".into()).unwrap());
    let error = post_as(&scene, &wrong_client, &scene.proposal_ref(), &report).await.unwrap_err();
    assert!(matches!(error, ForgeError::BadToken { .. }), "{error}");
    let anonymous_client = scene.client_as(LaunchpadCredentials::anonymous());
    let outcome = post_as(&scene, &anonymous_client, &scene.proposal_ref(), &report).await.unwrap();
    assert_eq!(outcome.refusal, Some(PostingRefusal::NotLoggedIn("Launchpad")));
    assert_eq!(scene.launchpad.comments(&scene.merge), []);
}
