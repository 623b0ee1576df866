//! `--strategy single`: one call, one bounded round, and the hard numbers of `quick`.

use expect_test::expect;
use serde_json::{Value, json};

use super::script::{answers, answers_with, confirms, delegates, finding, with};
use super::{Desk, MAIL, ORDERS};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{calls, calls_raw};

const SINGLE: [&str; 2] = ["--strategy", "single"];
const QUICK: [&str; 4] = ["--strategy", "single", "--budget", "quick"];

fn mean() -> Value {
    finding(
        "P1",
        "The total is divided by the count",
        "shop/orders.py:5",
        "return result / len(items)",
    )
}

/// The same, of which the model is not sure before it has seen more.
fn doubted() -> Value {
    with(mean(), json!({ "confidence": 0.5 }))
}

/// A request for code elsewhere.
fn look(query: &str) -> Value {
    json!({ "tool": "search_code", "arguments": { "query": query }, "for_finding": 0 })
}

/// What the second round says of the first finding.
fn verdict(word: &str) -> Value {
    let verdict =
        json!({ "id": "F1", "verdict": word, "reason": "Line 5 divides.", "confidence": 1.0 });
    json!({ "verdicts": [verdict] })
}

#[test]
fn a_clean_change_takes_one_call() {
    let desk = Desk::new();
    let model = FakeModel::start().on("single", [answers(&[])]);
    let reviewed = desk.review(&model, &SINGLE);
    assert_eq!(reviewed.end(), (0, "ok", "Ready to merge"));
    assert_eq!(reviewed.report["stats"]["llm_calls"], 1);
    expect![[r#"
        exit 0
        Ready to merge: no issues · <0.01 USD · TIME · REPO/.crh/runs/RUN
        ---
        Scope:  2 files, +9 -5

        No issues in 2 reviewed files.
        Looked at all of it.

        Ready to merge: nothing actionable was found
    "#]]
    .assert_eq(&desk.shown(&reviewed.output));
}

#[test]
fn a_sure_finding_is_checked_by_a_fresh_run_and_takes_no_round() {
    let desk = Desk::new();
    let model =
        FakeModel::start().on("single", [answers(&[mean()])]).on("validate-1", [confirms()]);
    let reviewed = desk.review(&model, &SINGLE);
    assert_eq!(reviewed.end(), (1, "ok", "Ready with fixes"));
    expect![[r#"
        #1 P1 shop/orders.py:5 The total is divided by the count (0.75, confirmed)
    "#]]
    .assert_eq(&reviewed.issues());
}

#[test]
fn a_doubt_about_something_severe_is_a_round_with_the_stronger_model_and_that_is_recorded() {
    let desk = Desk::new();
    let looks = json!({ "context_requests": [look("total(")] });
    let model = FakeModel::start()
        .on("single", [answers_with(&[doubted()], looks)])
        .on("single-round", [answers_with(&[], verdict("confirmed"))]);
    let reviewed = desk.review(&model, &SINGLE);
    let asked: Vec<_> =
        model.requests().iter().map(|asked| (asked.caller.clone(), asked.model.clone())).collect();
    let owned = |caller: &str, model: &str| (caller.to_owned(), model.to_owned());
    assert_eq!(asked, [owned("single", "gpt-4.1-mini"), owned("single-round", "gpt-4.1")]);
    assert_eq!(reviewed.end(), (1, "ok", "Ready with fixes"));
    expect![[r#"
        #1 P1 shop/orders.py:5 The total is divided by the count (1.0, confirmed)
    "#]]
    .assert_eq(&reviewed.issues());
    expect![[r#"
        single: `openai:gpt-4.1` was asked about severe findings of low confidence
    "#]]
    .assert_eq(&reviewed.warnings());
    assert_eq!(reviewed.report["stats"]["tool_calls"], 1);
}

#[test]
fn what_the_round_refutes_is_no_issue() {
    let desk = Desk::new();
    let mild = with(doubted(), json!({ "severity": "P2" }));
    let model = FakeModel::start()
        .on("single", [answers(&[mild])])
        .on("single-round", [answers_with(&[], verdict("refuted"))]);
    let reviewed = desk.review(&model, &SINGLE);
    assert_eq!(reviewed.end(), (0, "ok", "Ready to merge"));
    expect![[r#"
        refuted The total is divided by the count: Line 5 divides. (confidence 0.50 -> 1.00)
    "#]]
    .assert_eq(&reviewed.fates());
}

#[test]
fn quick_makes_two_calls_and_three_looks_at_the_most() {
    let desk = Desk::new();
    let looks: Vec<Value> = ["total(", "refund(", "send(", "smtp"].map(look).to_vec();
    let findings = [
        doubted(),
        finding("P0", "An unpaid order is refunded", "shop/orders.py:9", "    return order.amount"),
        finding("P2", "A failed mail is swallowed", "shop/mail.py:4", "except Exception:"),
    ];
    let model = FakeModel::start()
        .on("single", [answers_with(&findings, json!({ "context_requests": looks }))])
        .on("single-round", [answers(&[])]);
    let reviewed = desk.review(&model, &QUICK);
    assert_eq!(model.requests().len(), 2);
    let stats = &reviewed.report["stats"];
    assert_eq!((&stats["llm_calls"], &stats["tool_calls"]), (&json!(2), &json!(3)));
    expect![[r#"
        exit 1
        Not ready: 1 P0, 1 P2 · 1 finding not shown · 0.01 USD · TIME · REPO/.crh/runs/RUN
        ---
        Scope:  2 files, +9 -5

        2 issues (1 P0, 1 P2) in 2 reviewed files. 1 finding is not shown: 1 below gate.
        Looked at all of it.

        1 P0 shop/orders.py:9
            An unpaid order is refunded
            |     return order.amount
            An unpaid order is refunded: an order of two items shows it.
            bug; by single; confidence 0.75; a second look could not decide; manual ->
            human

        2 P2 shop/mail.py:4
            A failed mail is swallowed
            | except Exception:
            A failed mail is swallowed: an order of two items shows it.
            bug; by single; confidence 0.75; manual -> human

        Coverage
          - findings not shown: 1 below gate
          - single: more than 3 looks at other code were asked for
          - single: `openai:gpt-4.1` was asked about severe findings of low confidence

        Not ready: 1 P0 issue must be fixed before the merge
    "#]]
    .assert_eq(&desk.shown(&reviewed.output));
    expect![[r#"
        #1 P0 shop/orders.py:9 An unpaid order is refunded (0.75, unsure)
        #2 P2 shop/mail.py:4 A failed mail is swallowed (0.75, not_run)
    "#]]
    .assert_eq(&reviewed.issues());
}

#[test]
fn in_quick_the_second_call_is_the_repair_of_the_first() {
    let desk = Desk::new();
    let broken = || calls_raw("submit_review_result", "{\"findings\": [");
    let model = FakeModel::start().on("single", [broken(), answers(&[doubted()])]);
    let repaired = desk.review(&model, &QUICK);
    expect![[r#"
        exit 4
        Incomplete: no issues · 1 finding not shown · <0.01 USD · TIME · REPO/.crh/runs/RUN
        ---
        Scope:  2 files, +9 -5

        No issues in 2 reviewed files. 1 finding is not shown: 1 below gate.
        Looked at all of it.

        Coverage
          - findings not shown: 1 below gate
          - single: the budget for calls of the model left no room to look again at
            doubtful findings, and the draft stands as it is
          - single met its limit of calls of the model: its work may be incomplete

        Incomplete: the review was cut short
    "#]]
    .assert_eq(&desk.shown(&repaired.output));
    let model = FakeModel::start().on("single", [broken(), broken()]);
    let failed = desk.review(&model, &QUICK);
    assert_eq!(failed.end(), (3, "error", "Incomplete"));
    expect![[r#"
        secrets completed: 
        syntax completed: 
        references completed: 
        leftovers completed: 
        workflows completed: 
        consistency completed: 
        patterns completed: 
        injection completed: 
        single failed: the model's answer was never of the right form: it is not valid JSON
    "#]]
    .assert_eq(&failed.reviewers());
}

#[test]
fn quick_is_single_unless_the_user_says_otherwise_and_its_numbers_hold_for_delegate_too() {
    let desk = Desk::new();
    let model = FakeModel::start().on("single", [answers(&[])]);
    let reviewed = desk.review_as_usual(&model, &["--budget", "quick"]);
    assert_eq!(reviewed.end(), (0, "ok", "Ready to merge"));
    let model = FakeModel::answering(|asked| match asked.caller.as_str() {
        "orchestrator" => delegates(&[("orders", &[ORDERS]), ("mail", &[MAIL])]),
        _ => calls("diff_list_files", json!({})),
    });
    let reviewed = desk.review(&model, &["--budget", "quick", "--strategy", "delegate"]);
    assert!(model.requests().len() <= 2, "{}", model.conversations());
    assert_eq!(reviewed.end(), (3, "error", "Incomplete"));
}

#[test]
fn in_quick_a_mild_issue_that_nobody_looks_at_again_cuts_nothing_short() {
    let desk = Desk::new();
    let mild = finding("P2", "A failed mail is swallowed", "shop/mail.py:4", "except Exception:");
    let model = FakeModel::start()
        .on("single", [answers(&[mean(), mild])])
        .on("single-round", [answers_with(&[], verdict("confirmed"))]);
    let reviewed = desk.review(&model, &QUICK);
    assert_eq!(reviewed.end(), (1, "ok", "Ready with fixes"));
    expect![[r#"
        #1 P1 shop/orders.py:5 The total is divided by the count (1.0, confirmed)
        #2 P2 shop/mail.py:4 A failed mail is swallowed (0.75, not_run)
    "#]]
    .assert_eq(&reviewed.issues());
    assert_eq!(reviewed.warnings(), "");
}
