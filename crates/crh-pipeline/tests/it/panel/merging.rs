//! Merging of findings: agreement, disagreement, pairs and weak remarks.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::scene::{
    CART, Scene, confirms, divides, fenced, finding, last_message, prompt_end, reports, with_fields,
};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{ScriptedReply, bad_request, calls, computed};

/// Two reviewers with these findings.
fn model(correctness: &[Value], security: &[Value]) -> FakeModel {
    FakeModel::start().on("correctness", [reports(correctness)]).on("security", [reports(security)])
}

fn scene() -> Scene {
    Scene::new(CART).with_reviewers(&["correctness", "security"])
}

#[tokio::test]
async fn agreeing_reviewers_raise_confidence() {
    let model = model(
        &[divides("P1", 0.75, "An empty order divides by zero")],
        &[divides("P1", 0.7, "Division by zero for an order without lines")],
    )
    .on("validate-1", [confirms()]);
    scene().check(&model, expect![[r#"
        ReadyWithFixes: 1 issue to fix
          correctness (asked for by `--reviewers`) Completed
          security (asked for by `--reviewers`) Completed
        #1 P1 shop/cart.py:3 An empty order divides by zero (0.85, Confirmed, manual -> downstream-resolver) by correctness, security
        merged Division by zero for an order without lines [security]: duplicate of "An empty order divides by zero"
    "#]]).await;
}

#[tokio::test]
async fn disagreement_is_shown_by_reviewer() {
    let milder = with_fields(
        divides("P2", 0.7, "An empty order divides by zero"),
        json!({ "autofix_class": "gated_auto", "owner": "review-fixer" }),
    );
    let model = model(&[divides("P1", 0.75, "An empty order divides by zero")], &[milder])
        .on("validate-1", [confirms()]);
    scene().check(&model, expect![[r#"
        ReadyWithFixes: 1 issue to fix
          correctness (asked for by `--reviewers`) Completed
          security (asked for by `--reviewers`) Completed
        #1 P1 shop/cart.py:3 An empty order divides by zero (0.85, Confirmed, manual -> downstream-resolver) by correctness, security | correctness (P1), security (P2) -- kept P1; security (gated_auto), correctness (manual) -- kept manual; security (review-fixer), correctness (downstream-resolver) -- kept downstream-resolver
        merged An empty order divides by zero [security]: duplicate of "An empty order divides by zero"
    "#]]).await;
}

#[tokio::test]
async fn two_weak_findings_confirm_each_other() {
    let model = model(
        &[
            divides("P2", 0.55, "An empty order divides by zero"),
            finding("P2", 0.55, "A name may be missing", "shop/cart.py:8", "return name.strip()"),
        ],
        &[divides("P2", 0.5, "Division by zero for an order without lines")],
    )
    .on("validate-1", [confirms()]);
    scene().check(&model, expect![[r#"
        ReadyWithFixes: 1 issue to fix
          correctness (asked for by `--reviewers`) Completed
          security (asked for by `--reviewers`) Completed
        #1 P2 shop/cart.py:3 An empty order divides by zero (0.65, Confirmed, manual -> downstream-resolver) by correctness, security
        merged Division by zero for an order without lines [security]: duplicate of "An empty order divides by zero"
        below_gate A name may be missing [correctness]: confidence 0.55
    "#]]).await;
}

/// Two findings on one line, and a model that decides whether they are the same.
async fn check_pair(
    decides: impl IntoIterator<Item = ScriptedReply>,
    expected: Expect,
) -> FakeModel {
    let leak = with_fields(
        divides("P2", 0.75, "Anybody can make the server fail"),
        json!({ "category": "security" }),
    );
    let model = model(&[divides("P1", 0.75, "An empty order divides by zero")], &[leak])
        .on("pairs", decides)
        .on("validate-1", [confirms()]);
    scene().check(&model, expected).await;
    model
}

/// Ids of the pairs in a prompt.
fn pair_ids(text: &str) -> Vec<String> {
    let rows = fenced(text, "pairs");
    let id = |row: &str| {
        let row: Value = serde_json::from_str(row).unwrap();
        row["id"].as_str().unwrap().to_owned()
    };
    rows.lines().map(id).collect()
}

#[tokio::test]
async fn same_pair_becomes_one_issue() {
    let merges =
        computed(|asked| calls("report_pairs", json!({ "same": pair_ids(&last_message(asked)) })));
    let model = check_pair([merges], expect![[r#"
        ReadyWithFixes: 1 issue to fix
          correctness (asked for by `--reviewers`) Completed
          security (asked for by `--reviewers`) Completed
        #1 P1 shop/cart.py:3 An empty order divides by zero (0.85, Confirmed, manual -> downstream-resolver) by correctness, security | correctness (P1), security (P2) -- kept P1
        merged Anybody can make the server fail [security]: duplicate of "An empty order divides by zero"
    "#]]).await;
    assert_eq!(pair_ids(&prompt_end(&model, "pairs")).len(), 1);
    let cheap = model.requests().into_iter().find(|asked| asked.caller == "pairs").unwrap().model;
    assert_eq!(cheap, "cheap");
}

#[tokio::test]
async fn different_pair_stays_apart() {
    check_pair([calls("report_pairs", json!({ "same": [] }))], expect![[r#"
        ReadyWithFixes: 2 issues to fix
          correctness (asked for by `--reviewers`) Completed
          security (asked for by `--reviewers`) Completed
        #1 P1 shop/cart.py:3 An empty order divides by zero (0.75, Confirmed, manual -> downstream-resolver) by correctness
        #2 P2 shop/cart.py:3 Anybody can make the server fail (0.75, Confirmed, manual -> downstream-resolver) by security
    "#]]).await;
}

#[tokio::test]
async fn unknown_pair_id_is_sent_back() {
    let (wrong, right) = (json!({ "same": ["9"] }), json!({ "same": [] }));
    check_pair([calls("report_pairs", wrong), calls("report_pairs", right)], expect![[r#"
        ReadyWithFixes: 2 issues to fix
          correctness (asked for by `--reviewers`) Completed
          security (asked for by `--reviewers`) Completed
        #1 P1 shop/cart.py:3 An empty order divides by zero (0.75, Confirmed, manual -> downstream-resolver) by correctness
        #2 P2 shop/cart.py:3 Anybody can make the server fail (0.75, Confirmed, manual -> downstream-resolver) by security
    "#]]).await;
}

#[tokio::test]
async fn undecided_pair_stays_apart_with_a_warning() {
    check_pair([bad_request("no")], expect![[r#"
        ReadyWithFixes: 2 issues to fix
          correctness (asked for by `--reviewers`) Completed
          security (asked for by `--reviewers`) Completed
        #1 P1 shop/cart.py:3 An empty order divides by zero (0.75, Confirmed, manual -> downstream-resolver) by correctness
        #2 P2 shop/cart.py:3 Anybody can make the server fail (0.75, Confirmed, manual -> downstream-resolver) by security
        ! possible duplicates were not merged: the model rejected the request: no
    "#]]).await;
}

#[tokio::test]
async fn weak_remarks_become_summary_lines() {
    let about =
        |category: &str, finding: Value| with_fields(finding, json!({ "category": category }));
    let model = FakeModel::start()
        .on(
            "testing",
            [reports(&[about("testing", divides("P2", 0.65, "No test for an empty order"))])],
        )
        .on(
            "maintainability",
            [reports(&[about(
                "maintainability",
                finding("P3", 0.7, "`name` is used once", "shop/cart.py:7", "name = line.name"),
            )])],
        );
    let scene = Scene::new(CART).with_reviewers(&["testing", "maintainability"]);
    scene
        .check(
            &model,
            expect![[r#"
                ReadyToMerge: nothing actionable was found
                  testing (asked for by `--reviewers`) Completed
                  maintainability (asked for by `--reviewers`) Completed
                softened `name` is used once [maintainability]: only one reviewer, confidence 0.7
                softened No test for an empty order [testing]: only one reviewer, confidence 0.65
                gap: shop/cart.py:3: No test for an empty order
                risk: shop/cart.py:7: `name` is used once
            "#]],
        )
        .await;
}

#[tokio::test]
async fn shared_test_remark_stays_an_issue() {
    let remark = || {
        with_fields(
            divides("P2", 0.65, "No test for an empty order"),
            json!({ "category": "testing" }),
        )
    };
    let model = FakeModel::start()
        .on("testing", [reports(&[remark()])])
        .on("correctness", [reports(&[remark()])])
        .on("validate-1", [confirms()]);
    let scene = Scene::new(CART).with_reviewers(&["testing", "correctness"]);
    scene.check(&model, expect![[r#"
        ReadyWithFixes: 1 issue to fix
          correctness (asked for by `--reviewers`) Completed
          testing (asked for by `--reviewers`) Completed
        #1 P2 shop/cart.py:3 No test for an empty order (0.75, Confirmed, manual -> downstream-resolver) by correctness, testing
        merged No test for an empty order [testing]: duplicate of "No test for an empty order"
    "#]]).await;
}

#[tokio::test]
async fn failed_validation_loses_no_issue() {
    let model = model(&[divides("P1", 0.75, "An empty order divides by zero")], &[])
        .on("validate-1", [bad_request("no")]);
    scene().check(&model, expect![[r#"
        ReadyWithFixes: 1 issue to fix
          correctness (asked for by `--reviewers`) Completed
          security (asked for by `--reviewers`) Completed
        #1 P1 shop/cart.py:3 An empty order divides by zero (0.75, Degraded, manual -> downstream-resolver) by correctness
        ! validate-1 failed: the model rejected the request: no; 1 issue not validated, 1 of them P0 or P1
    "#]]).await;
}
