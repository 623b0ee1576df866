//! `--strategy single`: one finder, an editor, and the limits of `quick`.

use expect_test::expect;
use serde_json::{Value, json};

use super::script::{answers, confirms, delegates, finding, with};
use super::{MAIL, ORDERS, ReviewFixture};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::calls;

const SINGLE: [&str; 2] = ["--strategy", "single"];

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
        Reviewers:
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
