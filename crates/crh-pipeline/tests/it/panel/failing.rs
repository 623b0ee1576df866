//! Reviewers that do not return show in rows, coverage and verdict. A rate-limited one is retried.

use std::time::Duration;

use expect_test::expect;
use serde_json::json;

use super::scene::{CART, Scene, confirms, divides, reports, scouts};
use crh_pipeline::events::ReviewEvent;
use crh_review::verdict::Verdict;
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{bad_request, calls, rate_limited, says, server_error};

#[tokio::test]
async fn failed_reviewer_is_named_in_the_report() {
    let model = FakeModel::start()
        .on("correctness", [reports(&[divides("P1", 0.75, "An empty order divides by zero")])])
        .on("security", [bad_request("no")])
        .on("validate-1", [confirms()]);
    let scene = Scene::new(CART).with_reviewers(&["correctness", "security"]);
    scene.check(&model, expect![[r#"
        ReadyWithFixes: 1 issue to fix. The review is incomplete: failed reviewers: security
          security (asked for by `--reviewers`) Failed: the model rejected the request: no
        #1 P1 shop/cart.py:3 An empty order divides by zero (0.75, Confirmed, manual -> downstream-resolver) by correctness
        ! reviewer security failed: the model rejected the request: no
    "#]]).await;
}

#[tokio::test]
async fn all_reviewers_failed_means_not_reviewed() {
    let model = FakeModel::start()
        .on("correctness", [bad_request("no")])
        .on("security", [bad_request("no")])
        .on("testing", [bad_request("no")]);
    let scene = Scene::new(CART).with_reviewers(&["correctness", "security", "testing"]);
    let reviewed = scene
        .check(
            &model,
            expect![[r#"
        Incomplete: failed reviewers: correctness, testing, security; nothing was reviewed
          correctness (asked for by `--reviewers`) Failed: the model rejected the request: no
          testing (asked for by `--reviewers`) Failed: the model rejected the request: no
          security (asked for by `--reviewers`) Failed: the model rejected the request: no
        NotReviewed shop/cart.py: correctness, testing, security failed
        ! reviewer correctness failed: the model rejected the request: no
        ! reviewer testing failed: the model rejected the request: no
        ! reviewer security failed: the model rejected the request: no
    "#]],
        )
        .await;
    expect![[r#"
        Code review degraded (headless mode). Reason: 0 of 3 reviewers returned results.

        Verdict: Not ready (incomplete): failed reviewers: correctness, testing, security; nothing was reviewed

        Review complete
    "#]]
    .assert_eq(&crh_review::render::envelope(&reviewed.report));
    assert_eq!(reviewed.report.model_used, "", "no model answered");
}

/// Every reviewer has the same small number of turns, so a report in the last one is whole.
#[tokio::test]
async fn report_in_the_last_turn_is_complete() {
    let read = calls("repo_read", json!({ "path": "shop/cart.py" }));
    let search = calls("repo_grep", json!({ "pattern": "total" }));
    let model = FakeModel::start()
        .on("correctness", [reports(&[])])
        .on("security", [read, search, reports(&[])]);
    let scene = Scene::new(CART).with_reviewers(&["correctness", "security"]);
    scene
        .check(
            &model,
            expect![[r#"
                ReadyToMerge: nothing actionable was found
            "#]],
        )
        .await;
}

/// The scout takes all the time of the review. The static checks do not depend on it.
#[tokio::test]
async fn slow_scout_does_not_cost_static_findings() {
    let model = FakeModel::start().on("scout", [says("").delayed(Duration::from_secs(3_600))]);
    let conflict = CART.replace("    return sum(lines) / count", "<<<<<<< a");
    let scene =
        Scene::new(&conflict).with_change(|it| it.terms.budget.wall = Duration::from_secs(10));
    scene.check(&model, expect![[r#"
        Incomplete: failed reviewers: correctness; 1 file not fully reviewed (shop/cart.py); no model reviewed the change; static checks found 1 issue to fix
          correctness (always) Failed: the remaining budget for time is too small for another request
        #1 P1 shop/cart.py:3 A merge conflict was left in the file (0.98, ByCode, manual -> downstream-resolver) by syntax
        NotReviewed shop/cart.py: correctness failed
        ! the model call that chooses reviewers failed (the remaining budget for time is too small for another request); crh chose them by fixed rules
        ! reviewer correctness failed: the remaining budget for time is too small for another request
    "#]]).await;
}

/// A stalled stream takes two minutes for each attempt, so the user must see why nothing happens.
#[tokio::test]
async fn retry_is_announced_with_its_reason() {
    let model = FakeModel::start().on("correctness", [server_error(), reports(&[])]);
    let scene = Scene::new(CART).with_reviewers(&["correctness"]);
    scene.review(&model).await;
    let events = scene.events.lock().unwrap();
    let warnings = events.iter().filter_map(|event| match event {
        ReviewEvent::Warning { text } => Some(text.as_str()),
        _ => None,
    });
    expect!["correctness: server error: The server had an error.; retrying"]
        .assert_eq(&warnings.collect::<Vec<_>>().join("\n"));
}

/// One run makes up to five attempts with a delay each.
#[tokio::test]
async fn rate_limited_reviewer_is_queued_again() {
    let turned_away = (0..6).map(|_| rate_limited(0));
    let model = FakeModel::start()
        .on("correctness", turned_away.chain([reports(&[divides("P1", 0.75, "An empty order")])]))
        .on("security", [reports(&[])])
        .on("validate-1", [confirms()]);
    let scene = Scene::new(CART)
        .with_reviewers(&["correctness", "security"])
        .with_change(|scene| scene.terms.max_parallel = 2);
    scene.check(&model, expect![[r#"
        ReadyWithFixes: 1 issue to fix
        #1 P1 shop/cart.py:3 An empty order (0.75, Confirmed, manual -> downstream-resolver) by correctness
    "#]]).await;
}

#[tokio::test]
async fn rate_limited_scout_is_retried() {
    let turned_away = (0..6).map(|_| rate_limited(0));
    let model = FakeModel::start()
        .on("scout", turned_away.chain([scouts("The average of an order.", &[])]))
        .on("correctness", [reports(&[])]);
    let reviewed = Scene::new(CART).review(&model).await;
    assert_eq!(reviewed.report.intent, "The average of an order.");
    assert_eq!(reviewed.report.warnings, [""; 0]);
}

#[tokio::test]
async fn long_rate_limit_does_not_delay_other_models() {
    let model =
        FakeModel::start().on("scout", [rate_limited(120)]).on("correctness", [reports(&[])]);
    let reviewed = Scene::new(CART).review(&model).await;
    assert_eq!(reviewed.report.verdict, Verdict::ReadyToMerge);
    let warnings = reviewed.report.warnings.join("\n");
    assert!(warnings.starts_with("the model call that chooses reviewers failed ("), "{warnings}");
}
