//! Reviewers that do not return: told in the rows, the coverage and the verdict; and one that the vendor has no room for waits.

use expect_test::expect;

use super::scene::{CART, Scene, confirms, divides, reports, scouts};
use crh_review::verdict::Verdict;
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{bad_request, rate_limited};

#[tokio::test]
async fn a_reviewer_that_fails_is_named_and_the_others_are_heard() {
    let model = FakeModel::start()
        .on("correctness", [reports(&[divides("P1", 0.75, "An empty order divides by zero")])])
        .on("security", [bad_request("no")])
        .on("validate-1", [confirms()]);
    let scene = Scene::new(CART).by(&["correctness", "security"]);
    scene.check(&model, expect![[r#"
        ReadyWithFixes: 1 issue to fix; the review is incomplete: failed reviewers: security
          correctness (asked for by `--reviewers`) Completed
          security (asked for by `--reviewers`) Failed: the model does not accept the request: no
        #1 P1 shop/cart.py:3 An empty order divides by zero (0.75, Confirmed, manual -> downstream-resolver) by correctness
    "#]]).await;
}

#[tokio::test]
async fn where_the_others_found_nothing_a_failed_reviewer_leaves_it_open() {
    let model =
        FakeModel::start().on("correctness", [reports(&[])]).on("security", [bad_request("no")]);
    let scene = Scene::new(CART).by(&["correctness", "security"]);
    scene
        .check(
            &model,
            expect![[r#"
                Incomplete: failed reviewers: security
                  correctness (asked for by `--reviewers`) Completed
                  security (asked for by `--reviewers`) Failed: the model does not accept the request: no
            "#]],
        )
        .await;
}

#[tokio::test]
async fn where_all_fail_nothing_was_reviewed() {
    let model = FakeModel::start()
        .on("correctness", [bad_request("no")])
        .on("security", [bad_request("no")])
        .on("testing", [bad_request("no")]);
    let scene = Scene::new(CART).by(&["correctness", "security", "testing"]);
    let reviewed = scene.check(&model, expect![[r#"
        Incomplete: failed reviewers: correctness, testing, security, 1 file not wholly reviewed, nothing was reviewed
          correctness (asked for by `--reviewers`) Failed: the model does not accept the request: no
          testing (asked for by `--reviewers`) Failed: the model does not accept the request: no
          security (asked for by `--reviewers`) Failed: the model does not accept the request: no
        NotReviewed shop/cart.py: correctness failed; testing failed; security failed
    "#]]).await;
    expect![[r#"
        Code review degraded (headless mode). Reason: 0 of 3 reviewers returned results.

        Review complete
    "#]]
    .assert_eq(&crh_review::render::envelope(&reviewed.report));
}

/// Five attempts belong to one sitting. They wait for a moment each, since vendors want that.
#[tokio::test]
async fn a_reviewer_that_is_turned_away_goes_back_into_the_queue_and_returns() {
    let turned_away = (0..6).map(|_| rate_limited(0));
    let model = FakeModel::start()
        .on("correctness", turned_away.chain([reports(&[divides("P1", 0.75, "An empty order")])]))
        .on("security", [reports(&[])])
        .on("validate-1", [confirms()]);
    let scene =
        Scene::new(CART).by(&["correctness", "security"]).but(|scene| scene.terms.side_by_side = 2);
    scene.check(&model, expect![[r#"
        ReadyWithFixes: 1 issue to fix
          correctness (asked for by `--reviewers`) Completed
          security (asked for by `--reviewers`) Completed
        #1 P1 shop/cart.py:3 An empty order (0.75, Confirmed, manual -> downstream-resolver) by correctness
    "#]]).await;
}

#[tokio::test]
async fn a_vendor_that_wants_more_time_than_there_is_is_asked_once() {
    let model =
        FakeModel::start().on("correctness", [rate_limited(36_000)]).on("security", [reports(&[])]);
    let scene = Scene::new(CART).by(&["correctness", "security"]);
    scene.check(&model, expect![[r#"
        Incomplete: failed reviewers: correctness
          correctness (asked for by `--reviewers`) Failed: the model's rate limit is reached: Rate limit reached for strong. Please try again in 36000s. (it asks to wait 36000 s)
          security (asked for by `--reviewers`) Completed
    "#]]).await;
}

#[tokio::test]
async fn whoever_is_asked_before_the_panel_is_waited_for_too() {
    let turned_away = (0..6).map(|_| rate_limited(0));
    let model = FakeModel::start()
        .on("scout", turned_away.chain([scouts("The average of an order.", &[])]))
        .on("correctness", [reports(&[])]);
    let reviewed = Scene::new(CART).review(&model).await;
    assert_eq!(reviewed.report.intent, "The average of an order.");
    assert_eq!(reviewed.report.warnings, [""; 0]);
}

#[tokio::test]
async fn a_small_model_that_is_full_for_long_does_not_take_the_time_of_the_others() {
    let model =
        FakeModel::start().on("scout", [rate_limited(120)]).on("correctness", [reports(&[])]);
    let reviewed = Scene::new(CART).review(&model).await;
    assert_eq!(reviewed.report.verdict, Verdict::ReadyToMerge);
    let warnings = reviewed.report.warnings.join("\n");
    assert!(warnings.starts_with("nobody read the change before the panel"), "{warnings}");
}
