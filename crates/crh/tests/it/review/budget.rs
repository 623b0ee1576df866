//! A bill that is bounded: what a budget prevents is said, and nothing turns green by it.

use expect_test::expect;

use super::script::{delegates, finding, marks, reports, submits, works};
use super::{Desk, MAIL, ORDERS};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{Asked, Scripted};

/// What a model says that finds nothing. What is asked of it depends on the budget, so that this is no script.
fn said(asked: &Asked) -> Scripted {
    match (asked.caller.as_str(), asked.number) {
        ("orchestrator", 1) => delegates(&[("orders", &[ORDERS]), ("mail", &[MAIL])]),
        ("orchestrator", _) => submits(&[], &[]),
        ("sub-agent-1", 1) => marks(&[ORDERS]),
        ("sub-agent-2", 1) => marks(&[MAIL]),
        (_, _) => reports(&[]),
    }
}

#[test]
fn calls_that_run_out_in_the_middle_cut_the_review_short() {
    let desk = Desk::new();
    let model = FakeModel::answering(said);
    let reviewed = desk.review(&model, &["--max-llm-calls", "3", "--side-by-side", "1"]);
    assert!(model.requests().len() <= 3, "{}", model.conversations());
    assert_eq!(reviewed.end(), (4, "truncated", "Incomplete"));
    expect![[r#"
        exit 4
        Incomplete: no issues · <0.01 USD · TIME · REPO/.crh/runs/RUN
        ---
        Scope:  2 files, +9 -5

        No issues in 1 reviewed file.
        [1] orders: Looked at all of it.

        Coverage
          - failed reviewer orchestrator: the budget for calls of the model left no room
            to ask
          - failed reviewer sub-agent-2: sub-agent ended without calling
            report_findings: the budget for calls of the model left no room to ask
          - shop/mail.py: not reviewed (sub-agent-2 failed)
          - the orchestrator did not submit (the budget for calls of the model left no
            room to ask): the review was submitted by code, and every finding is kept

        Incomplete: failed reviewers: orchestrator, sub-agent-2, 1 file not wholly
          reviewed, the review was cut short
    "#]]
    .assert_eq(&desk.shown(&reviewed.output));
    expect![[r#"
        secrets completed: 
        syntax completed: 
        references completed: 
        leftovers completed: 
        workflows completed: 
        consistency completed: 
        patterns completed: 
        injection completed: 
        orchestrator failed: the budget for calls of the model left no room to ask
        sub-agent-1 completed: Looked at all of it.
        sub-agent-2 failed: sub-agent ended without calling report_findings: the budget for calls of the model left no room to ask
    "#]].assert_eq(&reviewed.reviewers());
}

#[test]
fn a_review_that_was_cut_short_passes_where_the_user_allows_it() {
    let desk = Desk::new();
    let cut = ["--max-llm-calls", "3", "--side-by-side", "1", "--allow-incomplete"];
    let allowed = desk.review(&FakeModel::answering(said), &cut);
    assert_eq!(allowed.end(), (0, "truncated", "Incomplete"));
}

#[test]
fn money_that_runs_out_in_the_middle_cuts_the_review_short() {
    let desk = Desk::new();
    // A vendor that does not count is paid the worst case: one cent for each of the six calls.
    desk.user.write(
        ".config/crh/config.toml",
        "[models.\"openai:cent\"]\ncontext = 1_000_000\nmax_output = 5_000\ntools = true\n\
         price = { input = 0.0, output = 2.0 }\n",
    );
    let model = FakeModel::answering(|asked| said(asked).without_usage());
    let cents = ["--model", "openai:cent", "--max-cost", "0.05", "--side-by-side", "1"];
    let reviewed = desk.review(&model, &cents);
    assert_eq!(reviewed.end(), (4, "truncated", "Incomplete"), "{}", reviewed.output.shown());
    assert_eq!(reviewed.report["stats"]["cost_usd"], 0.05);
    expect![[r#"
        exit 4
        Incomplete: no issues · 0.05 USD · TIME · REPO/.crh/runs/RUN
        ---
        Scope:  2 files, +9 -5

        No issues in 2 reviewed files.
        [1] orders: Looked at all of it.
        [2] mail: Looked at all of it.

        Coverage
          - failed reviewer orchestrator: the budget for money left no room to ask
          - the orchestrator did not submit (the budget for money left no room to ask):
            the review was submitted by code, and every finding is kept
          - sub-agent-2 met its limit of money: its work may be incomplete

        Incomplete: failed reviewers: orchestrator, the review was cut short
    "#]]
    .assert_eq(&desk.shown(&reviewed.output));
}

#[test]
fn a_budget_that_pays_for_nothing_reviews_nothing() {
    let desk = Desk::new();
    let model = FakeModel::start();
    let reviewed = desk.review(&model, &["--max-cost", "0.0001"]);
    assert_eq!(reviewed.end(), (3, "error", "Incomplete"));
    expect![[r#"
        exit 3
        note: nothing was reviewed: the report says why; `crh doctor` and `crh model check MODEL` say what works
        Incomplete: no issues · 0.00 USD · TIME · REPO/.crh/runs/RUN
        ---
        Scope:  2 files, +9 -5

        No issues in 0 reviewed files.

        Coverage
          - failed reviewer orchestrator: the budget for money left no room to ask
          - failed reviewer sub-agent-1: sub-agent ended without calling
            report_findings: the budget for money left no room to ask
          - shop/mail.py: not reviewed (sub-agent-1 failed)
          - shop/orders.py: not reviewed (sub-agent-1 failed)
          - the orchestrator did not delegate: code gave all files out
          - the orchestrator did not submit (the budget for money left no room to ask):
            the review was submitted by code, and every finding is kept

        Incomplete: failed reviewers: orchestrator, sub-agent-1, 2 files not wholly
          reviewed, nothing was reviewed
    "#]]
    .assert_eq(&desk.shown(&reviewed.output));
}

#[test]
fn what_is_over_the_cap_is_hidden_and_still_counts() {
    let desk = Desk::new();
    let findings = [
        finding("P2", "The total is divided", "shop/orders.py:5", "return result / len(items)"),
        finding("P1", "An unpaid order is refunded", "shop/orders.py:9", "    return order.amount"),
    ];
    let all = [ORDERS, MAIL];
    let model = FakeModel::start()
        .on("orchestrator", [delegates(&[("all", &all)]), submits(&["1.1", "1.2"], &[])])
        .on("sub-agent-1", works(&all, &findings))
        .on("validate-1", [super::script::confirms()]);
    let reviewed = desk.review(&model, &["--max-issues", "1", "--fail-on", "P2"]);
    assert_eq!(reviewed.end(), (1, "ok", "Ready with fixes"));
    expect![[r#"
        #1 P1 shop/orders.py:9 An unpaid order is refunded (0.75, confirmed)
    "#]]
    .assert_eq(&reviewed.issues());
    expect![[r#"
        over_cap The total is divided: number 2 of at most 1
    "#]]
    .assert_eq(&reviewed.fates());
}

#[test]
fn an_estimate_asks_nobody_and_leaves_nothing() {
    let desk = Desk::new();
    let model = FakeModel::start();
    for args in [&[][..], &["--strategy", "single", "--budget", "quick"], &["--strategy", "static"]]
    {
        let estimated = desk.review(&model, &[&["--estimate"], args].concat());
        assert_eq!(estimated.output.code, 0);
        assert!(desk.runs().is_empty());
    }
    let estimated = desk.shown(&desk.review(&model, &["--estimate"]).output);
    // How long prompts are is of no consequence here.
    let (before, after) = estimated.split_once("its first call at most ").unwrap();
    let (_, after) = after.split_once('\n').unwrap();
    expect![[r#"
        exit 0
        ---
        secrets       2 files, no model
        syntax        2 files, no model
        references    2 files, no model
        leftovers     2 files, no model
        workflows     2 files, no model
        consistency   2 files, no model
        patterns      2 files, no model
        injection     2 files, no model
        orchestrator  2 files, openai:gpt-4.1-mini: SO MUCH
        note: the orchestrator decides how many sub-agents there are; the bound holds for all of them
        at most 2.0000 USD, of which 0.4000 USD held back for last turns and validation; at most 200 calls and 4000000 tokens read
    "#]].assert_eq(&format!("{before}SO MUCH\n{after}"));
}
