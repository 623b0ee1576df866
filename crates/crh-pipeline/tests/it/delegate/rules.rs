//! What agents may not do, and what they are told.

use expect_test::expect;
use serde_json::{Value, json};

use super::scene::{
    ALL, CART_AND_REST, check, delegates, finding, marks, reports, submits, tool_results,
};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{calls, calls_all, says};

#[tokio::test]
async fn orchestrator_cannot_read_code() {
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
                delegates(&[("all", ALL)]),
                submits(&[], &[]).and_calls("repo_read", json!({ "path": "shop/tax.py" })),
            ],
        )
        .on("sub-agent-1", [marks(ALL), reports(&[])]);
    let scene = check(
        &model,
        expect![[r#"
            orchestrator (): Completed
              - the orchestrator tried to read code; refused 3 times
              - the orchestrator tried to mark files as reviewed; refused once
              - it called a tool of other agents; refused once
            sub-agent-1 (all): Completed
              reviewed: shop/cart.py shop/mail.py shop/tax.py
        "#]],
    )
    .await;
    let runs: Vec<String> = scene.refusals().into_iter().map(|(run, _)| run).collect();
    assert_eq!(runs, ["orchestrator"; 5]);
    let messages = tool_results(&model, "orchestrator");
    expect!["`repo_read` is for sub-agents: you divide the work and decide about what they find. Call `delegate_review`, and say in `focus` what they should look up."].assert_eq(&messages[0]);
    // The tool call next to the submission was made before it.
    assert_eq!(scene.context.ledger.spent().tool_calls, 5 + 1 + 1 + 3);
}

#[tokio::test]
async fn files_are_marked_in_the_turn_of_the_report_over_the_limit_of_calls() {
    let sums: Vec<Value> =
        (0..38).map(|number| json!({ "expression": format!("1 + {number}") })).collect();
    let mark = |path: &str| ("mark_file_reviewed", json!({ "path": path }));
    let model = FakeModel::start().on("orchestrator", [delegates(&[]), submits(&[], &[])]).on(
        "sub-agent-1",
        [
            calls_all(sums.into_iter().map(|sum| ("calc", sum))),
            calls_all([
                mark("shop/cart.py"),
                mark("shop/mail.py"),
                ("report_findings", json!({ "findings": [], "summary": "Looked at all." })),
                mark("shop/tax.py"),
            ]),
        ],
    );
    check(
        &model,
        expect![[r#"
            orchestrator (): Completed
            sub-agent-1 (all files): Completed, limited by tool calls
              reviewed: shop/cart.py shop/mail.py shop/tax.py
        "#]],
    )
    .await;
}

#[tokio::test]
async fn early_report_is_returned_once() {
    let model = FakeModel::start()
        .on("orchestrator", [delegates(CART_AND_REST), submits(&["2.1"], &[])])
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
              reviewed: shop/cart.py
              - it reported before it had marked all its files; refused once
            sub-agent-2 (rest): Completed
              delegate: P1 The mail is never sent
              reviewed: shop/mail.py
              shop/tax.py NotReviewed sub-agent-2 did not mark it as reviewed
              - it reported before it had marked all its files; refused once
              - crh uses the first report, which it had refused, because the run failed afterwards: the model did not submit an answer
        "#]],
    )
    .await;
    assert_eq!(scene.reviewed(), ["shop/cart.py", "shop/mail.py"]);
    expect!["The answer was not accepted: these files of your scope are not marked as reviewed: `shop/cart.py`. Review and mark them with `mark_file_reviewed`, then report again; what stays unmarked counts as not reviewed. Submit the whole answer again, corrected."].assert_eq(&tool_results(&model, "sub-agent-1")[0]);
}

#[tokio::test]
async fn unmarked_files_and_findings_are_returned_together() {
    let mut misquoted = finding("P1", "shop/cart.py", "The total is wrong");
    misquoted["evidence"] = json!([{ "snippet": "return nothing_like_this()" }]);
    let repaired = finding("P1", "shop/cart.py", "The total is wrong");
    let model = FakeModel::start()
        .on("orchestrator", [delegates(&[("shop", ALL)]), submits(&["1.1"], &[])])
        .on("sub-agent-1", [reports(&[misquoted]), marks(ALL), reports(&[repaired])]);
    check(
        &model,
        expect![[r#"
            orchestrator (): Completed
            sub-agent-1 (shop): Completed
              delegate: P1 The total is wrong
              reviewed: shop/cart.py shop/mail.py shop/tax.py
              - it reported before it had marked all its files; refused once
        "#]],
    )
    .await;
    expect![[r#"
        The answer was not accepted: these files of your scope are not marked as reviewed: `shop/cart.py`, `shop/mail.py`, `shop/tax.py`. Review and mark them with `mark_file_reviewed`, then report again; what stays unmarked counts as not reviewed.
        these findings cannot be used as they are:
        - `The total is wrong`: the quote `return nothing_like_this()` is not in `shop/cart.py`; the nearest text: line 2 of `shop/cart.py` is `return sum(lines) / len(lines)`
        Repair each of them and report it again with all its fields. Quotes must be verbatim. Leave a finding out only if the code does not prove it; if it is P0 or P1, write the sentence `Withdrawn: TITLE` with its title in `summary` then. crh keeps the findings that are not listed here. Submit the whole answer again, corrected."#]].assert_eq(&tool_results(&model, "sub-agent-1")[0]);
}

#[tokio::test]
async fn p0_is_confirmed_by_one_second_delegation() {
    let confirms = |ids: &[&str]| {
        let scope = json!({ "scope": "callers", "files": ["shop/mail.py"], "confirms": ids });
        calls("delegate_review", json!({ "scopes": [scope] }))
    };
    let model = FakeModel::start()
        .on(
            "orchestrator",
            [
                delegates(&[("all", ALL)]),
                delegates(&[("again", ALL)]),
                confirms(&["1.1"]),
                confirms(&["1.1", "2.1"]),
                submits(&["1.1", "2.1"], &[]),
            ],
        )
        .on(
            "sub-agent-1",
            [marks(ALL), reports(&[finding("P0", "shop/cart.py", "All carts are lost")])],
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
              reviewed: shop/cart.py shop/mail.py shop/tax.py
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
