//! Budgets: the report says what they prevented, and the review does not pass because of them.

use expect_test::expect;
use serde_json::json;

use super::panel::no_findings;
use super::script::{delegates, finding, marks, reports, submits};
use super::{MAIL, ORDERS, ReviewFixture};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{FakeRequest, ScriptedReply, calls};

/// A model without findings. It is not scripted, because the requests depend on the budget.
fn answer(asked: &FakeRequest) -> ScriptedReply {
    match (asked.caller.as_str(), asked.number) {
        ("orchestrator", 1) => delegates(&[("orders", &[ORDERS]), ("mail", &[MAIL])]),
        ("orchestrator", _) => submits(&[], &[]),
        ("sub-agent-1", 1) => marks(&[ORDERS]),
        ("sub-agent-2", 1) => marks(&[MAIL]),
        (_, _) => reports(&[]),
    }
}

#[test]
fn tiny_budget_reviews_nothing() {
    let desk = ReviewFixture::new();
    let model = FakeModel::start();
    let reviewed = desk.review(&model, &["--max-cost", "0.0001"]);
    assert_eq!(reviewed.end(), (3, "error", "Incomplete"));
    expect![[r#"
        exit 3
        note: no model reviewed the change, see the report; `crh doctor` and `crh model check MODEL` test your setup
        Incomplete · no issues · 0.00 USD · TIME · REPO/.crh/runs/RUN
        ---
        Scope:  2 files, +9 -5; 2 files not fully reviewed (shop/mail.py,
                shop/orders.py); base 3e4bebcd7dbb, head c6b083bca9cf
        Reviewers:
          - orchestrator: the strategy is `delegate`
          - sub-agent-1
          - static checks: secrets, syntax, references, leftovers, workflows,
            consistency, patterns, injection

        No issues; no file was fully reviewed.

        Review coverage
          - reviewer orchestrator failed: skipped: may cost $0.04, $0.00 left; raise
            --max-cost
          - reviewer sub-agent-1 failed: sub-agent ended without calling
            report_findings: skipped: may cost $0.04, $0.00 left; raise --max-cost
          - shop/mail.py: not reviewed (sub-agent-1 failed)
          - shop/orders.py: not reviewed (sub-agent-1 failed)
          - the orchestrator did not delegate; crh assigned all files itself
          - the orchestrator did not submit (skipped: may cost $0.04, $0.00 left; raise
            --max-cost); all findings are kept

        Incomplete: failed reviewers: orchestrator, sub-agent-1; nothing was reviewed
    "#]]
    .assert_eq(&desk.shown(&reviewed.output));
}

/// A change of 500 lines in ten files.
fn change_of_500_lines() -> String {
    let line = |file: usize, line: usize| {
        format!(
            "def handle_{file}_{line}(order): return order.total(items=order.items, count={line})\n"
        )
    };
    let file = |number: usize| {
        let lines: String = (0..50).map(|at| line(number, at)).collect();
        format!("//- shop/module_{number}.py\n{lines}")
    };
    let files: String = (0..10).map(file).collect();
    format!("//- README\nA shop.\n//- head\n//- README\nA shop.\n{files}")
}

#[test]
fn change_of_500_lines_fits_the_default_budget() {
    let desk = ReviewFixture::with(&change_of_500_lines());
    // The fake model counts a token for four bytes, as vendors do.
    let model = FakeModel::answering(as_recorded);
    let reviewed = desk.review(&model, &["--strategy", "panel"]);
    assert_eq!(reviewed.end(), (0, "ok", "Ready to merge"), "{}", reviewed.output.shown());
    let cost = reviewed.report["stats"]["cost_usd"].as_f64().unwrap();
    assert!((0.01..2.0).contains(&cost), "{cost}");
    let estimated = desk.review(&model, &["--strategy", "panel", "--estimate"]).output.stdout;
    assert!(!estimated.contains("skipped"), "{estimated}");
    let (_, likely_cost) = estimated.rsplit_once("\nexpected cost: ").unwrap();
    let likely_cost: f64 = likely_cost.split(' ').next().unwrap().parse().unwrap();
    let ratio = likely_cost / cost;
    assert!((1.0 / 1.5..=1.5).contains(&ratio), "{likely_cost} estimated, {cost} paid");
}

/// Behaves as models did in recorded reviews: the finder looks something up once and reports a few
/// findings, which the editor publishes and validation confirms.
fn as_recorded(asked: &FakeRequest) -> ScriptedReply {
    let found = |line: usize| {
        let place = format!("shop/module_{line}.py:{line}");
        let quote = format!("def handle_{line}_{}(order)", line - 1);
        finding("P2", &format!("Count {line} is ignored"), &place, &quote)
    };
    match (asked.caller.as_str(), asked.number) {
        ("correctness", 1) => calls("find_definition", json!({ "name": "total" })),
        ("correctness", _) => reports(&[found(3), found(5), found(7)]),
        (caller, _) if caller.starts_with("validate") => super::script::confirms(),
        (_, _) => no_findings(asked),
    }
}

#[test]
fn estimate_calls_no_model_and_stores_nothing() {
    let desk = ReviewFixture::new();
    let model = FakeModel::start();
    for (args, expected) in [
        (&[][..], "\nlimits: 2.0000 USD, 200 model calls, 4000000 input tokens; "),
        (&["--strategy", "single", "--budget", "quick"], "\nlimits: "),
        (&["--strategy", "static"], "No model is used: this review is free.\n"),
    ] {
        let estimated = desk.review(&model, &[&["--estimate"], args].concat());
        assert_eq!(estimated.output.code, 0);
        assert!(estimated.output.stdout.contains(expected), "{}", estimated.output.shown());
        assert!(desk.runs().is_empty());
    }
    let json = desk.review(&model, &["--estimate", "--format", "json"]).output.stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["max_cost_usd"], 2.0, "{json}");
    let refused = desk.review(&model, &["--estimate", "--format", "sarif"]).output;
    expect![[r#"
        exit 2
        error: `--estimate` prints only text or JSON
        hint: pass `--format json`, or leave `--format` out
        ---
    "#]]
    .assert_eq(&desk.shown(&refused));
}

/// Ollama chooses the context length when it loads the model, and silently cuts longer prompts.
#[test]
fn unloaded_model_of_ollama_is_loaded_before_the_review() {
    let desk = ReviewFixture::new();
    let model = FakeModel::answering(answer)
        .page("/v1/models", json!({"data": [{"id": "m"}]}))
        .page("/api/version", json!({"version": "0.12.6"}))
        .page("/api/show", json!({"model_info": {"qwen2.context_length": 32_768}}))
        .page("/api/generate", json!({"model": "m", "done": true, "done_reason": "load"}))
        .page_when_loaded("/api/ps", json!({"models": [{"model": "m", "context_length": 4096}]}));
    let name = format!("ollama:m@{}", model.url());
    let args = ["review", "HEAD~1..HEAD", "--strategy", "single", "--model", &name];
    let estimate = desk.crh(&[&args[..], &["--estimate"]].concat()).run();
    assert!(!estimate.stderr.contains("loads"), "{}", estimate.shown());
    let output = desk.crh(&args).run();
    assert_eq!(output.code, 3, "{}", output.shown());
    assert!(output.stderr.contains("note: Ollama loads `m`"), "{}", output.shown());
    assert!(output.stderr.contains("the model's context has 4096"), "{}", output.shown());
    assert!(model.requests().is_empty(), "{}", model.conversations());
}
