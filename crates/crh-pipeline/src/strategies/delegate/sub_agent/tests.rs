use std::time::Duration;

use expect_test::{Expect, expect};

use super::*;
use crh_agent::{AgentRunEnd, LimitKind, UsageTotals};

fn sub_task(delegation: Delegation) -> SubAgentTask {
    let assignment = Assignment {
        name: "sub-agent-3".to_owned(),
        reviewer: REVIEWER.to_owned(),
        label: "the shop".to_owned(),
        why: String::new(),
        focus: String::new(),
        parts: vec![DiffPart::whole("a.rs"), DiffPart::whole("b.rs")],
    };
    SubAgentTask { slot: 3, assignment, delegation }
}

fn parsed(summary: &str) -> ReviewerReturn {
    read_report(serde_json::json!({ "findings": [], "summary": summary }), REVIEWER).unwrap()
}

/// Shows the record of a run with this outcome, with `a.rs` marked.
fn check(outcome: AgentOutcome<ReviewerReturn>, held: Option<ReviewerReturn>, expected: Expect) {
    let mut rules = AgentRules::sub_agent(["a.rs", "b.rs"]);
    rules.mark_file("a.rs");
    let driven = FinishedRun {
        end: AgentRunEnd { outcome, limit_reached: Some(LimitKind::Turns) },
        totals: UsageTotals { llm_calls: 2, ..UsageTotals::default() },
        duration: Duration::from_millis(30),
        model_time: Duration::from_millis(20),
        transcript_error: None,
        doubtful_count: None,
        tool_refusal: None,
    };
    let repair = RepairOutcome { refused_report: held, notes: Vec::new() };
    let record = sub_task(Delegation::First).to_record(driven, repair, &rules, "m");
    let RunRecord { ended, limited, summary, coverage, notes, totals, took_ms, model_ms, .. } =
        record;
    let mut actual =
        format!("{ended:?} {limited:?} {summary:?} {} {took_ms} {model_ms}\n", totals.llm_calls);
    for FileCoverage { path, state, reason } in coverage {
        actual += &format!("{path} {state:?} {reason}\n");
    }
    for note in notes {
        actual += &format!("note: {note}\n");
    }
    expected.assert_eq(&actual);
}

#[test]
fn report_covers_marked_files_only() {
    check(
        AgentOutcome::Answered(parsed("done")),
        Some(parsed("before")),
        expect![[r#"
        Completed Some(Turns) "done" 2 30 20
        a.rs Reviewed 
        b.rs NotReviewed sub-agent-3 did not mark it as reviewed
    "#]],
    );
}

#[test]
fn refused_report_is_used_if_no_other_follows() {
    check(
        AgentOutcome::BadAnswer("never marked".to_owned()),
        Some(parsed("before")),
        expect![[r#"
            Completed Some(Turns) "before" 2 30 20
            a.rs Reviewed 
            b.rs NotReviewed sub-agent-3 did not mark it as reviewed
            note: crh uses the first report, which it had refused, because the run failed afterwards: the model's answer was invalid: never marked
        "#]],
    );
}

#[test]
fn run_without_report_covers_nothing() {
    check(
        AgentOutcome::NoAnswer,
        None,
        expect![[r#"
        Failed("sub-agent ended without calling report_findings: the model did not submit an answer") Some(Turns) "" 2 30 20
        a.rs NotReviewed sub-agent-3 failed
        b.rs NotReviewed sub-agent-3 failed
    "#]],
    );
    check(
        AgentOutcome::OutOfBudget(LimitKind::Money.into()),
        None,
        expect![[r#"
        Failed("sub-agent ended without calling report_findings: the remaining budget for money is too small for another request") Some(Turns) "" 2 30 20
        a.rs NotReviewed sub-agent-3 failed
        b.rs NotReviewed sub-agent-3 failed
    "#]],
    );
    check(
        AgentOutcome::Cancelled,
        None,
        expect![[r#"
        Cancelled Some(Turns) "" 2 30 20
        a.rs NotReviewed the review was stopped before this file was reviewed
        b.rs NotReviewed the review was stopped before this file was reviewed
    "#]],
    );
}

#[test]
fn panicked_run_is_a_failed_record() {
    let record = sub_task(Delegation::First).panicked_record();
    let why = "sub-agent ended without calling report_findings: crashed (a bug in crh)";
    assert_eq!(record.ended, RunEnd::Failed(why.to_owned()));
    assert_eq!(record.coverage.len(), 2);
    assert!(record.coverage.iter().all(|file| file.state == CoverageState::NotReviewed));
}

#[test]
fn confirming_runs_cover_nothing() {
    assert_eq!(sub_task(Delegation::Confirming).panicked_record().coverage, []);
}

#[test]
fn all_sub_agents_count_as_one_reviewer() {
    let value = serde_json::json!({ "reviewer": "the best", "findings": [{}], "summary": "s" });
    let parsed = read_report(value, REVIEWER).unwrap();
    assert_eq!(parsed.reviewer, "delegate");
    assert_eq!(parsed.dropped[0].reviewer, "delegate");
    assert!(read_report(serde_json::json!({ "finding": [] }), REVIEWER).is_err());
    assert!(read_report(serde_json::json!([]), REVIEWER).is_err());
}
