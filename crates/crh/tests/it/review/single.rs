//! `--strategy single`: one finder, an editor, and the limits of `quick`.

use expect_test::expect;
use serde_json::{Value, json};

use super::script::{answers, confirms, delegates, finding, with};
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
fn finding_is_edited_and_validated() {
    let desk = ReviewFixture::new();
    let model =
        FakeModel::start().on("single", [answers(&[mean()])]).on("validate-1", [confirms()]);
    let reviewed = desk.review(&model, &SINGLE);
    assert_eq!(reviewed.end(), (1, "ok", "Ready with fixes"));
    expect![[r#"
        #1 P1 shop/orders.py:5 The total is divided by the count (0.75, confirmed)
    "#]]
    .assert_eq(&reviewed.issues());
    let asked: Vec<_> =
        model.requests().iter().map(|asked| format!("{} {}", asked.caller, asked.model)).collect();
    assert_eq!(asked, ["single gpt-5.4-mini", "editor gpt-6.1-sol", "validate-1 gpt-6.1-sol"]);
}

#[test]
fn model_flag_overrides_configured_roles_and_replay_sends_nothing() {
    let desk = ReviewFixture::new();
    desk.user.write(
        ".config/crh/config.toml",
        "[model]\nescalation = \"openai:gpt-6.1-sol\"\neditor = \"openai:gpt-4o\"\n",
    );
    let model =
        FakeModel::start().on("single", [answers(&[doubted()])]).on("validate-1", [confirms()]);
    let tape = desk.user.path("tape");
    let record = ["--model", "openai:gpt-5.4-mini", "--record", tape.to_str().unwrap()];
    let recorded = desk.review(&model, &[&SINGLE[..], &record].concat());
    let asked: Vec<_> = model.requests().iter().map(|asked| asked.model.clone()).collect();
    assert_eq!(asked, ["gpt-5.4-mini"; 3]);
    let silent = FakeModel::start();
    let replay = format!("replay:{}", tape.display());
    let replayed = desk.review(&silent, &[&SINGLE[..], &["--model", &replay]].concat());
    assert_eq!(silent.requests().len(), 0);
    assert_eq!((replayed.end(), replayed.issues()), (recorded.end(), recorded.issues()));
    assert_eq!(recorded.end(), (1, "ok", "Ready with fixes"));
}

#[test]
fn quick_makes_at_most_two_calls() {
    let desk = ReviewFixture::new();
    let findings = [
        doubted(),
        finding("P0", "An unpaid order is refunded", "shop/orders.py:9", "    return order.amount"),
        finding("P2", "A failed mail is swallowed", "shop/mail.py:4", "except Exception:"),
    ];
    let model = FakeModel::start().on("single", [answers(&findings)]);
    let reviewed = desk.review(&model, &QUICK);
    assert_eq!(model.requests().len(), 2);
    let stats = &reviewed.report["stats"];
    assert_eq!((&stats["llm_calls"], &stats["tool_calls"]), (&json!(2), &json!(0)));
    expect![[r#"
        exit 1
        Not ready · 1 P0, 1 P1, 1 P2 · 0.01 USD · TIME · REPO/.crh/runs/RUN
        ---
        Scope:  2 files, +9 -5; base 3e4bebcd7dbb, head c6b083bca9cf
        Team:
          - single: the strategy is `single`
          - static checks: secrets, syntax, references, leftovers, workflows,
            consistency, patterns, injection

        3 issues (1 P0, 1 P1, 1 P2) in 2 reviewed files.
        Looked at all of it.

        1 P0 shop/orders.py:9
            An unpaid order is refunded
            |     return order.amount
            An unpaid order is refunded: an order of two items shows it.
            bug; found by single; probability 0.90; confirmed by a second model run; crh
            cannot fix this; a person must

        2 P1 shop/orders.py:5
            The total is divided by the count
            | return result / len(items)
            The total is divided by the count: an order of two items shows it.
            bug; found by single; probability 0.90; confirmed by a second model run; crh
            cannot fix this; a person must

        3 P2 shop/mail.py:4
            A failed mail is swallowed
            | except Exception:
            A failed mail is swallowed: an order of two items shows it.
            bug; found by single; probability 0.90; confirmed by a second model run; crh
            cannot fix this; a person must

        Residual work
          - 1 P0 shop/orders.py:9: crh cannot fix this; a person must
          - 2 P1 shop/orders.py:5: crh cannot fix this; a person must

        Not ready: 1 P0 issue must be fixed before the merge
        Fix order: 1, 2
    "#]]
    .assert_eq(&desk.shown(&reviewed.output));
    expect![[r#"
        #1 P0 shop/orders.py:9 An unpaid order is refunded (0.75, confirmed)
        #2 P1 shop/orders.py:5 The total is divided by the count (0.5, confirmed)
        #3 P2 shop/mail.py:4 A failed mail is swallowed (0.75, confirmed)
    "#]]
    .assert_eq(&reviewed.issues());
}

#[test]
fn quick_uses_second_call_for_repair() {
    let desk = ReviewFixture::new();
    let broken = || calls_raw("report_findings", "{\"findings\": [");
    let model = FakeModel::start().on("single", [broken(), answers(&[doubted()])]);
    let repaired = desk.review(&model, &QUICK);
    expect![[r#"
        exit 1
        Ready with fixes · no issues · 1 finding not shown · <0.01 USD · TIME · REPO/.crh/runs/RUN
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
          - 1 P0 or P1 not validated: the remaining budget for model calls is too small
            for another request
          - the editor, a model run that selects the findings to publish, failed (the
            remaining budget for model calls is too small for another request); crh
            selected them by the reviewers' confidence

        Ready with fixes: 1 issue to fix
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
        single failed: the remaining budget for model calls is too small for another request
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
