//! Resumed reviews: reviewers that returned before do not run again.

use expect_test::expect;

use super::scene::{CART, Scene, confirms, divides, reports, scouts, with_own_reviewer};
use crh_pipeline::runs::RunEnd;
use crh_testkit::FakeModel;
use crh_testkit::fake_model::bad_request;

#[tokio::test]
async fn only_failed_reviewers_run_again_on_resume() {
    let found = || reports(&[divides("P1", 0.75, "An empty order divides by zero")]);
    let fixture = with_own_reviewer(CART);
    let first = FakeModel::start()
        .on("scout", [scouts("Averages.", &[("passwords", "`total` is for everybody")])])
        .on("correctness", [found()])
        .on("passwords", [bad_request("no")])
        .on("validate-1", [confirms()]);
    let before = Scene::new(&fixture).review(&first).await;
    let done = before.records.into_iter().filter(|run| run.ended == RunEnd::Completed);
    let again = FakeModel::start().on("passwords", [reports(&[])]);
    let scene = Scene::new(&fixture).with_change(|scene| scene.earlier = done.collect());
    scene.check(&again, expect![[r#"
        ReadyWithFixes: 1 issue to fix
          correctness (always) Completed
          passwords (`total` is for everybody) Completed
        #1 P1 shop/cart.py:3 An empty order divides by zero (0.75, Confirmed, manual -> downstream-resolver) by correctness
    "#]]).await;
}
