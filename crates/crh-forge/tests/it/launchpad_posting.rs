//! Posting a review to a Launchpad that keeps state: what is there afterwards, whatever goes wrong on the way.

use std::time::Duration;

use expect_test::expect;
use serde_json::json;

use crate::launchpad_scene::{FORK, LaunchpadScene, SHOP};
use crate::scene::INSTANCE;
use crh_forge::ForgeError;
use crh_forge::launchpad::post::{Outcome, Posting, Refusal, Terms, Waits};
use crh_forge::launchpad::{Credentials, Name, post};
use crh_forge::posted::Delivery;
use crh_review::diff::Diff;
use crh_review::report::Report;
use crh_review::verdict::Verdict;
use crh_testkit::fake_launchpad::{CONSUMER, Fault, How, REVIEWER, TOKEN};

/// The fake shows at once what it has.
const NO_WAITS: Waits = Waits { looks: [Duration::ZERO; 3] };

/// A review of the head with issues at these places.
fn review(scene: &LaunchpadScene, id: &str, places: &[(&str, u32)]) -> Report {
    let mut report = Report {
        review_id: id.to_owned(),
        verdict: Verdict::ReadyWithFixes,
        verdict_reason: "issues to fix".to_owned(),
        ..Report::default()
    };
    report.change.repo = SHOP.to_owned();
    report.change.pr_number = scene.merge.number.to_string();
    report.change.head_sha = scene.launchpad.head(&scene.merge);
    let issue = |(number, (file, line)): (u32, &(&str, u32))| {
        serde_json::from_value(json!({
            "number": number, "dedupe_key": format!("{:08x}{line:08x}", file.len()), "title": format!("Trouble {line}"),
            "severity": "P1", "category": "bug", "file": file, "side": "new", "line_start": line,
            "line_end": line, "confidence": 0.8, "why_it_matters": "Customers pay twice.", "description": "",
            "suggestion": "", "evidence_snippet": "", "evidence": [], "reviewers": ["correctness"],
            "language": "python", "tier": "primary", "validation": "not_run", "autofix_class": "manual",
            "owner": "human", "queue": "report", "action": "defer", "requires_verification": false,
            "pre_existing": false, "members": [],
        }))
        .unwrap()
    };
    report.issues = (1..).zip(places).map(issue).collect();
    report
}

const ONE: &str = "0123456789abcdef";
const TWO: &str = "fedcba9876543210";

/// The diff that was reviewed.
fn reviewed(scene: &LaunchpadScene) -> Diff {
    Diff::read(scene.repo.git(&["diff", "main...feature"]))
}

async fn posted(scene: &LaunchpadScene, report: &Report) -> Outcome {
    posted_to(scene, &scene.name(), report).await
}

async fn posted_to(scene: &LaunchpadScene, name: &Name, report: &Report) -> Outcome {
    let (mask, diff, terms) = (str::to_owned, reviewed(scene), Terms::default());
    let posting = Posting { report, diff: &diff, mask: &mask, instance: INSTANCE, terms };
    let done = post::carry_out(&scene.client(), name, &posting, &NO_WAITS).await.unwrap();
    assert_eq!(scene.launchpad.surprises(), Vec::<String>::new());
    done
}

/// What readers see, without what names the head.
fn shown(scene: &LaunchpadScene) -> String {
    let shown = scene.launchpad.shown(&scene.merge);
    shown.lines().filter(|line| !line.contains(":state:")).map(|line| format!("{line}\n")).collect()
}

#[tokio::test]
async fn a_review_is_one_comment_however_often_it_is_posted() {
    let scene = LaunchpadScene::new();
    let report = review(&scene, ONE, &[("orders.py", 5), ("far.py", 30)]);
    let outcome = posted(&scene, &report).await;
    assert!(outcome.is_complete(), "{outcome:?}");
    expect![[r#"
        merge proposal (Needs review) by ann, 1 preview diffs

        comment by crh-reviewer, Needs Fixing
            Ready with fixes: issues to fix

            Beside their lines:
              #1 P1 orders.py:5: Trouble 5

            Not on a line of the diff:
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
    .assert_eq(&shown(&scene));
    let once = scene.launchpad.comments(&scene.merge);
    assert_eq!(once.len(), 1);
    let again = posted(&scene, &report).await;
    assert_eq!(scene.launchpad.comments(&scene.merge), once);
    assert!(
        again
            .receipts
            .iter()
            .all(|it| it.delivery == Delivery::Skipped("it stands already".to_owned()))
    );
    assert_eq!(scene.launchpad.writes().len(), 1);
}

#[tokio::test]
async fn a_new_round_is_told_what_is_new() {
    let scene = LaunchpadScene::new();
    posted(&scene, &review(&scene, ONE, &[("orders.py", 5), ("far.py", 30)])).await;
    scene.push("FIVE", &[("naïve \"x\".py", "a\nb\n")]);
    let report = review(&scene, TWO, &[("orders.py", 5), ("far.py", 30), ("naïve \"x\".py", 2)]);
    assert!(posted(&scene, &report).await.is_complete());
    let comments = scene.launchpad.comments(&scene.merge);
    let texts: Vec<&String> = comments[1].inline.values().collect();
    assert_eq!((comments.len(), texts.len()), (2, 1));
    assert!(texts[0].contains("Trouble 2"), "{texts:?}");
    assert!(
        comments[1]
            .content
            .contains("Said before, and still open:\n  #1 P1 orders.py:5: Trouble 5\n")
    );
    assert_eq!(
        comments[1].preview_diff,
        scene.launchpad.preview_diffs(&scene.merge).last().copied()
    );
    assert_eq!(comments[1].vote.as_deref(), Some("Needs Fixing"));
}

#[tokio::test]
async fn a_proposal_that_moved_on_is_left_alone() {
    let scene = LaunchpadScene::new();
    let report = review(&scene, ONE, &[("orders.py", 5)]);
    scene.push("FIVE", &[]);
    let outcome = posted(&scene, &report).await;
    assert!(matches!(outcome.refusal, Some(Refusal::HeadMoved { .. })), "{outcome:?}");
    scene.launchpad.set_status(&scene.merge, "Merged");
    let outcome = posted(&scene, &review(&scene, ONE, &[])).await;
    assert_eq!(outcome.refusal, Some(Refusal::Over { status: "Merged".to_owned() }));
    assert_eq!(scene.launchpad.writes().len(), 0);
}

#[tokio::test]
async fn what_a_person_has_begun_to_write_is_not_lost() {
    let scene = LaunchpadScene::new();
    let diff = scene.launchpad.preview_diffs(&scene.merge)[0];
    scene.launchpad.draft(&scene.merge, "ann", diff, (10, "Mine."));
    scene.launchpad.draft(&scene.merge, REVIEWER, diff, (10, "Hm."));
    let outcome = posted(&scene, &review(&scene, ONE, &[("orders.py", 5)])).await;
    let drafts = Refusal::Drafts { who: REVIEWER.to_owned() };
    assert_eq!(outcome.refusal, Some(drafts));
    assert_eq!(scene.launchpad.writes().len(), 0);
    // What goes beside no line leaves them alone.
    let outcome = posted(&scene, &review(&scene, TWO, &[("far.py", 30)])).await;
    assert!(outcome.is_complete(), "{outcome:?}");
}

#[tokio::test]
async fn our_own_words_are_found_on_a_later_page() {
    let scene = LaunchpadScene::new();
    for number in 0..200 {
        scene.launchpad.comment(&scene.merge, "ann", &format!("Word {number}."));
    }
    let report = review(&scene, ONE, &[("orders.py", 5)]);
    assert!(posted(&scene, &report).await.is_complete());
    for number in 200..300 {
        scene.launchpad.comment(&scene.merge, "ann", &format!("Word {number}."));
    }
    let again = posted(&scene, &report).await;
    assert!(again.url.is_some(), "{again:?}");
    assert_eq!(scene.launchpad.writes().len(), 1);
}

#[tokio::test]
async fn a_proposal_whose_owner_was_renamed_is_written_to_where_it_is() {
    let scene = LaunchpadScene::new();
    let before = scene.merge.path.replace("~ann/", "~anna/");
    scene.launchpad.was_at(&scene.merge, &before);
    let url = format!("{}/{before}", scene.launchpad.url());
    let name = Name::parse(&url, &scene.service()).unwrap();
    let outcome = posted_to(&scene, &name, &review(&scene, ONE, &[("orders.py", 5)])).await;
    assert!(outcome.is_complete(), "{outcome:?}");
    assert_eq!(scene.launchpad.comments(&scene.merge).len(), 1);
}

#[tokio::test]
async fn a_diff_that_cannot_be_read_is_not_taken_for_one_that_is_missing() {
    let scene = LaunchpadScene::new();
    scene.launchpad.fail(Fault::on("GET", "*/diff_text", How::StatusBefore(404)));
    let report = review(&scene, ONE, &[("orders.py", 5)]);
    let outcome = posted(&scene, &report).await;
    let unread = Refusal::NotAllRead { what: vec!["the newest diff".to_owned()] };
    assert_eq!(outcome.refusal, Some(unread));
    assert_eq!(scene.launchpad.writes().len(), 0);
    assert!(posted(&scene, &report).await.is_complete());
    assert_eq!(scene.launchpad.comments(&scene.merge)[0].inline.len(), 1);
}

#[tokio::test]
async fn without_a_diff_of_the_head_everything_is_in_the_summary() {
    let scene = LaunchpadScene::new();
    scene.repo.write("orders.py", "other\n");
    scene.repo.commit("unseen");
    scene.launchpad.refresh(FORK);
    let outcome = posted(&scene, &review(&scene, ONE, &[("orders.py", 1)])).await;
    assert!(outcome.is_complete(), "{outcome:?}");
    let comments = scene.launchpad.comments(&scene.merge);
    assert_eq!((comments.len(), comments[0].preview_diff), (1, None));
    assert!(comments[0].content.contains("#1 P1 orders.py:1: Trouble 1"));
}

#[tokio::test]
async fn a_write_of_which_nobody_knows_is_looked_up_and_never_repeated() {
    for (how, applied) in [
        (How::CutBefore, false),
        (How::CutAfter, true),
        (How::StatusBefore(503), false),
        (How::StatusAfter(503), true),
        // Something in between that answers in Launchpad's place, and a page that says all is well.
        (How::StatusBefore(301), false),
        (How::Redirect("https://elsewhere.example/login".to_owned()), false),
        (How::StatusBefore(200), false),
        (How::StatusAfter(200), true),
        (How::StatusBefore(201), false),
    ] {
        let scene = LaunchpadScene::new();
        scene.launchpad.fail(Fault::on_write(1, how.clone()));
        let report = review(&scene, ONE, &[("orders.py", 5), ("far.py", 30)]);
        let outcome = posted(&scene, &report).await;
        assert_eq!(outcome.is_complete(), applied, "{how:?}: {outcome:?}");
        let writes = scene.launchpad.requests();
        assert_eq!(writes.iter().filter(|it| it.write.is_some()).count(), 1, "{how:?}");
        if how == How::StatusBefore(503) {
            let Delivery::Failed(why) = &outcome.receipts[0].delivery else {
                panic!("{outcome:?}")
            };
            assert!(why.contains("OOPS-fake1"), "{why}");
        }
        let again = posted(&scene, &report).await;
        assert!(again.is_complete(), "{how:?}: {again:?}");
        assert_eq!(scene.launchpad.comments(&scene.merge).len(), 1, "{how:?}");
    }
}

#[tokio::test]
async fn whoever_is_not_known_posts_nothing() {
    let scene = LaunchpadScene::new();
    let report = review(&scene, ONE, &[("orders.py", 5)]);
    let (mask, diff, terms) = (str::to_owned, reviewed(&scene), Terms::default());
    let posting = Posting { report: &report, diff: &diff, mask: &mask, instance: INSTANCE, terms };
    let wrong = scene.client_as(Credentials::new(CONSUMER, TOKEN, &"wrong".into()).unwrap());
    let error = post::carry_out(&wrong, &scene.name(), &posting, &NO_WAITS).await.unwrap_err();
    assert!(matches!(error, ForgeError::BadToken { .. }), "{error}");
    let nobody = scene.client_as(Credentials::anonymous());
    let outcome = post::carry_out(&nobody, &scene.name(), &posting, &NO_WAITS).await.unwrap();
    assert_eq!(outcome.refusal, Some(Refusal::Nobody));
    assert_eq!(scene.launchpad.comments(&scene.merge), []);
}
