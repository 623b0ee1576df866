//! `--strategy single`: one call, one follow-up, and the limits of `quick`.

use expect_test::expect;
use serde_json::{Value, json};

use super::script::{answers, answers_with, confirms, delegates, finding, with};
use super::{MAIL, ORDERS, ReviewFixture};
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

/// The same finding with low confidence.
fn doubted() -> Value {
    with(mean(), json!({ "confidence": 0.5 }))
}

/// A request for other code.
fn look(query: &str) -> Value {
    json!({ "tool": "search_code", "arguments": { "query": query }, "for_finding": 0 })
}

/// The follow-up's result for the first finding.
fn verdict(word: &str) -> Value {
    let verdict =
        json!({ "id": "F1", "verdict": word, "reason": "Line 5 divides.", "confidence": 1.0 });
    json!({ "verdicts": [verdict] })
}

#[test]
fn clean_change_takes_one_call() {
    let desk = ReviewFixture::new();
    let model = FakeModel::start().on("single", [answers(&[])]);
    let reviewed = desk.review(&model, &SINGLE);
    assert_eq!(reviewed.end(), (0, "ok", "Ready to merge"));
    assert_eq!(reviewed.report["stats"]["llm_calls"], 1);
    expect![[r#"
        exit 0
        Ready to merge · no issues · <0.01 USD · TIME · REPO/.crh/runs/RUN
        ---
        Scope:  2 files, +9 -5; base 3e4bebcd7dbb, head c6b083bca9cf
        Team:
          - single: the strategy is `single`
          - static checks: secrets, syntax, references, leftovers, workflows,
            consistency, patterns, injection

        No issues in 2 reviewed files.
        Looked at all of it.

        Ready to merge: nothing actionable was found
    "#]]
    .assert_eq(&desk.shown(&reviewed.output));
}

#[test]
fn confident_finding_needs_no_second_look() {
    let desk = ReviewFixture::new();
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
fn severe_doubt_uses_stronger_model() {
    let desk = ReviewFixture::new();
    let looks = json!({ "context_requests": [look("total(")] });
    let model = FakeModel::start()
        .on("single", [answers_with(&[doubted()], looks)])
        .on("single-round", [answers_with(&[], verdict("confirmed"))]);
    let reviewed = desk.review(&model, &SINGLE);
    let asked: Vec<_> =
        model.requests().iter().map(|asked| (asked.caller.clone(), asked.model.clone())).collect();
    let owned = |caller: &str, model: &str| (caller.to_owned(), model.to_owned());
    assert_eq!(asked, [owned("single", "gpt-5.4-mini"), owned("single-round", "gpt-6.1-sol")]);
    assert_eq!(reviewed.end(), (1, "ok", "Ready with fixes"));
    expect![[r#"
        #1 P1 shop/orders.py:5 The total is divided by the count (1.0, confirmed)
    "#]]
    .assert_eq(&reviewed.issues());
    expect![[r#"
        single: `openai:gpt-6.1-sol` checked severe findings of low confidence
    "#]]
    .assert_eq(&reviewed.warnings());
    assert_eq!(reviewed.report["stats"]["tool_calls"], 1);
}

#[test]
fn model_flag_overrides_configured_roles_and_replay_sends_nothing() {
    let desk = ReviewFixture::new();
    desk.user.write(
        ".config/crh/config.toml",
        "[model]\nescalation = \"openai:gpt-6.1-sol\"\neditor = \"openai:gpt-4o\"\n",
    );
    let model = FakeModel::start()
        .on("single", [answers(&[doubted()])])
        .on("single-round", [answers_with(&[], verdict("confirmed"))]);
    let tape = desk.user.path("tape");
    let record = ["--model", "openai:gpt-5.4-mini", "--record", tape.to_str().unwrap()];
    let recorded = desk.review(&model, &[&SINGLE[..], &record].concat());
    let asked: Vec<_> = model.requests().iter().map(|asked| asked.model.clone()).collect();
    assert_eq!(asked, ["gpt-5.4-mini", "gpt-5.4-mini"]);
    let silent = FakeModel::start();
    let replay = format!("replay:{}", tape.display());
    let replayed = desk.review(&silent, &[&SINGLE[..], &["--model", &replay]].concat());
    assert_eq!(silent.requests().len(), 0);
    assert_eq!((replayed.end(), replayed.issues()), (recorded.end(), recorded.issues()));
    assert_eq!(recorded.end(), (1, "ok", "Ready with fixes"));
}

#[test]
fn refuted_finding_is_no_issue() {
    let desk = ReviewFixture::new();
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
fn quick_makes_at_most_two_calls_and_three_lookups() {
    let desk = ReviewFixture::new();
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
        Not ready · 1 P0, 1 P2 · 1 finding not shown · 0.01 USD · TIME · REPO/.crh/runs/RUN
        ---
        Scope:  2 files, +9 -5; base 3e4bebcd7dbb, head c6b083bca9cf
        Team:
          - single: the strategy is `single`
          - static checks: secrets, syntax, references, leftovers, workflows,
            consistency, patterns, injection

        2 issues (1 P0, 1 P2) in 2 reviewed files. 1 finding not shown (too uncertain).
        Looked at all of it.

        1 P0 shop/orders.py:9
            An unpaid order is refunded
            |     return order.amount
            An unpaid order is refunded: an order of two items shows it.
            bug; found by single; confidence 0.75; a second look could not decide; crh
            cannot fix this; a person must

        2 P2 shop/mail.py:4
            A failed mail is swallowed
            | except Exception:
            A failed mail is swallowed: an order of two items shows it.
            bug; found by single; confidence 0.75; crh cannot fix this; a person must

        Review coverage
          - 1 finding not shown (too uncertain)
          - single: more than 3 lookups were requested; the others are ignored
          - single: `openai:gpt-6.1-sol` checked severe findings of low confidence

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
fn quick_uses_second_call_for_repair() {
    let desk = ReviewFixture::new();
    let broken = || calls_raw("submit_review_result", "{\"findings\": [");
    let model = FakeModel::start().on("single", [broken(), answers(&[doubted()])]);
    let repaired = desk.review(&model, &QUICK);
    expect![[r#"
        exit 4
        Incomplete · no issues · 1 finding not shown · <0.01 USD · TIME · REPO/.crh/runs/RUN
        ---
        Scope:  2 files, +9 -5; base 3e4bebcd7dbb, head c6b083bca9cf
        Team:
          - single: the strategy is `single`
          - static checks: secrets, syntax, references, leftovers, workflows,
            consistency, patterns, injection

        No issues in 2 reviewed files. 1 finding not shown (too uncertain).
        Looked at all of it.

        Review coverage
          - 1 finding not shown (too uncertain)
          - single: the budget for model calls was too small to check doubtful findings
            again; the first answer is used unchanged
          - single reached its limit of model calls; its review may be incomplete

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
        single failed: the model's answer was invalid: it is not valid JSON
    "#]]
    .assert_eq(&failed.reviewers());
}

#[test]
fn quick_defaults_to_single_strategy() {
    let desk = ReviewFixture::new();
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
fn quick_is_complete_with_unverified_minor_issue() {
    let desk = ReviewFixture::new();
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
