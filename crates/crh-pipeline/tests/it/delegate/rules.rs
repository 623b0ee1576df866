//! What agents may not do, and what they are told.

use expect_test::expect;
use serde_json::{Value, json};

use super::scene::{check, delegates, finding, marks, reports, results, submission, submits};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{calls, calls_all, says};

#[tokio::test]
async fn the_orchestrator_is_kept_from_code_and_told_what_to_do() {
    let model = FakeModel::start()
        .on(
            "orchestrator",
            [
                calls_all([
                    ("repo_read", json!({ "path": "shop/cart.py" })),
                    ("search_code", json!({ "query": "total" })),
                    ("mark_file_reviewed", json!({ "path": "shop/cart.py" })),
                    ("report_findings", json!({ "findings": [], "summary": "" })),
                    ("agent_files_list", json!({})),
                ]),
                delegates(&[("all", &["shop/cart.py", "shop/mail.py", "shop/tax.py"])]),
                submits(&[], &[]).and_calls("repo_read", json!({ "path": "shop/tax.py" })),
            ],
        )
        .on("sub-agent-1", [marks(&["shop/cart.py", "shop/mail.py", "shop/tax.py"]), reports(&[])]);
    let scene = check(
        &model,
        expect![[r#"
            orchestrator (): Completed
              - the orchestrator wanted to read code itself; refused 2 times
              - the orchestrator wanted to mark files as reviewed; refused once
              - it called a tool that is for other agents; refused once
            sub-agent-1 (all): Completed
              shop/cart.py Reviewed
              shop/mail.py Reviewed
              shop/tax.py Reviewed
        "#]],
    )
    .await;
    let runs: Vec<String> = scene.refusals().into_iter().map(|(run, _)| run).collect();
    assert_eq!(runs, ["orchestrator"; 4]);
    let told = results(&model, "orchestrator");
    expect!["`repo_read` is for sub-agents: you divide the work and decide about what they find. Call `delegate_review`, and say in `focus` what they should look up."].assert_eq(&told[0]);
    // Nothing was called after the submission, though a call came with it.
    assert_eq!(scene.office.ledger.spent().tool_calls, 5 + 1 + 3);
}

#[tokio::test]
async fn a_sub_agent_keeps_to_its_files_and_to_one_look_for_each() {
    let model = FakeModel::start()
        .on(
            "orchestrator",
            [
                delegates(&[
                    ("cart", &["shop/cart.py"]),
                    ("rest", &["shop/mail.py", "shop/tax.py"]),
                ]),
                submits(&[], &[]),
            ],
        )
        .on(
            "sub-agent-1",
            [
                calls_all([
                    ("delegate_review", json!({ "scopes": [] })),
                    ("submit_review", submission(&[], &[])),
                    ("mark_file_reviewed", json!({ "path": "shop/tax.py" })),
                    ("mark_file_reviewed", json!({ "path": "shop/cart.py" })),
                ]),
                calls("repo_read", json!({ "path": "shop/tax.py" })),
                calls_all([
                    ("repo_grep", json!({ "pattern": "total" })),
                    ("read_file", json!({ "path": "shop/mail.py" })),
                    ("repo_ls", json!({})),
                ]),
                reports(&[]),
            ],
        )
        .on("sub-agent-2", [marks(&["shop/mail.py", "shop/tax.py"]), reports(&[])]);
    let scene = check(
        &model,
        expect![[r#"
            orchestrator (): Completed
            sub-agent-1 (cart): Completed
              shop/cart.py Reviewed
              - it called a tool that is for other agents; refused 2 times
              - it wanted more than one look beyond the diff for each file; refused 2 times
              - it wanted to mark files that were not given to it; refused once
            sub-agent-2 (rest): Completed
              shop/mail.py Reviewed
              shop/tax.py Reviewed
        "#]],
    )
    .await;
    assert_eq!(scene.refusals().len(), 5);
    let told = results(&model, "sub-agent-1");
    assert!(told[4].contains("RATE = 0.19"), "the first look is answered: {}", told[4]);
    assert_eq!(told[5], told[6], "the second and the third are refused alike");
    expect!["you have used the 1 extra look(s) of your 1 file(s). Decide from what you have seen: what you cannot confirm gets a lower confidence or is left out. Then mark the files and call `report_findings`."].assert_eq(&told[5]);
}

#[tokio::test]
async fn files_that_were_forgotten_are_reviewed_and_unknown_ones_are_said() {
    let model = FakeModel::start()
        .on(
            "orchestrator",
            [
                delegates(&[
                    ("cart", &["shop/cart.py", "shop/nowhere.py"]),
                    ("again", &["shop/cart.py"]),
                ]),
                submits(&[], &[]),
            ],
        )
        .on("sub-agent-1", [marks(&["shop/cart.py"]), reports(&[])])
        .on("sub-agent-2", [marks(&["shop/mail.py", "shop/tax.py"]), reports(&[])]);
    let scene = check(
        &model,
        expect![[r#"
            orchestrator (): Completed
              - `shop/nowhere.py` of scope `cart` is not a file under review
              - `shop/cart.py` of scope `again` stays in scope `cart`
              - in no scope, so they got one: `shop/mail.py`, `shop/tax.py`
            sub-agent-1 (cart): Completed
              shop/cart.py Reviewed
            sub-agent-2 (files in no scope, no scope had them): Completed
              shop/mail.py Reviewed
              shop/tax.py Reviewed
        "#]],
    )
    .await;
    let answer: Value = serde_json::from_str(&results(&model, "orchestrator")[0]).unwrap();
    let notes = answer["scopes_changed"].as_array().unwrap();
    assert_eq!(notes.len(), 3, "{notes:?}");
    assert_eq!(scene.reviewed().len(), 3);
}

#[tokio::test]
async fn a_report_before_all_files_are_marked_is_sent_back_once() {
    let model = FakeModel::start()
        .on(
            "orchestrator",
            [
                delegates(&[
                    ("cart", &["shop/cart.py"]),
                    ("rest", &["shop/mail.py", "shop/tax.py"]),
                ]),
                submits(&["2.1"], &[]),
            ],
        )
        .on("sub-agent-1", [reports(&[]), marks(&["shop/cart.py"]), reports(&[])])
        .on(
            "sub-agent-2",
            [
                marks(&["shop/mail.py"]),
                reports(&[finding("P1", "shop/mail.py", "The mail is never sent")]),
                says("I am done."),
                says("I said that I am done."),
            ],
        );
    let scene = check(
        &model,
        expect![[r#"
        orchestrator (): Completed
        sub-agent-1 (cart): Completed
          shop/cart.py Reviewed
          - it reported before it had marked all its files; refused once
        sub-agent-2 (rest): Completed
          delegate: P1 The mail is never sent
          shop/mail.py Reviewed
          shop/tax.py NotReviewed sub-agent-2 did not mark it as reviewed
          - it reported before it had marked all its files; refused once
          - its report that was sent back counts: the model ended without an answer
    "#]],
    )
    .await;
    assert_eq!(scene.reviewed(), ["shop/cart.py", "shop/mail.py"]);
    expect!["The answer was not accepted: these files of your scope are not marked as reviewed: `shop/cart.py`. Review and mark them with `mark_file_reviewed`, then report again; what stays unmarked counts as not reviewed. Submit the whole answer again, corrected."].assert_eq(&results(&model, "sub-agent-1")[0]);
}

#[tokio::test]
async fn a_p0_is_confirmed_by_a_second_delegation_and_there_is_no_third() {
    let all: &[&str] = &["shop/cart.py", "shop/mail.py", "shop/tax.py"];
    let confirms = |ids: &[&str]| {
        let scope = json!({ "scope": "callers", "files": ["shop/mail.py"], "confirms": ids });
        calls("delegate_review", json!({ "scopes": [scope] }))
    };
    let model = FakeModel::start()
        .on(
            "orchestrator",
            [
                delegates(&[("all", all)]),
                delegates(&[("again", all)]),
                confirms(&["1.1"]),
                confirms(&["1.1", "2.1"]),
                submits(&["1.1", "2.1"], &[]),
            ],
        )
        .on(
            "sub-agent-1",
            [marks(all), reports(&[finding("P0", "shop/cart.py", "All carts are lost")])],
        )
        .on(
            "sub-agent-2",
            [
                marks(&["shop/mail.py"]),
                reports(&[finding("P0", "shop/cart.py", "All carts are lost indeed")]),
            ],
        );
    let scene = check(
        &model,
        expect![[r#"
        orchestrator (): Completed
          - the orchestrator delegated against the rules; refused 2 times
        sub-agent-1 (all): Completed
          delegate: P0 All carts are lost
          shop/cart.py Reviewed
          shop/mail.py Reviewed
          shop/tax.py Reviewed
        sub-agent-2 (callers, to confirm 1.1): Completed
          delegate: P0 All carts are lost indeed
    "#]],
    )
    .await;
    assert_eq!(scene.refusals().len(), 2);
    let requests = model.requests();
    let second = requests.iter().find(|asked| asked.caller == "sub-agent-2").unwrap();
    let prompt = second.body["messages"].to_string();
    assert!(prompt.contains("Confirm or refute finding 1.1 (shop/cart.py:2): All carts are lost."));
}
