use std::time::Duration;

use expect_test::{Expect, expect};

use super::*;
use crh_agent::{Ended, Limit, Totals};

fn errand(delegation: Delegation) -> Errand {
    let assignment = Assignment {
        name: "sub-agent-3".to_owned(),
        reviewer: REVIEWER.to_owned(),
        label: "the shop".to_owned(),
        why: String::new(),
        focus: String::new(),
        parts: vec![Part::whole("a.rs"), Part::whole("b.rs")],
    };
    Errand { slot: 3, assignment, delegation }
}

fn parsed(summary: &str) -> Parsed {
    read_report(serde_json::json!({ "findings": [], "summary": summary }), REVIEWER).unwrap()
}

/// What the record of a run says that ended so, with `a.rs` marked.
fn check(outcome: Outcome<Parsed>, held: Option<Parsed>, expected: Expect) {
    let mut conduct = Conduct::sub_agent(["a.rs", "b.rs"]);
    conduct.marked("a.rs");
    let driven = Driven {
        ended: Ended { outcome, limited: Some(Limit::Turns) },
        totals: Totals { llm_calls: 2, ..Totals::default() },
        took: Duration::from_millis(30),
        model_time: Duration::from_millis(20),
        transcript_error: None,
    };
    let record = errand(Delegation::First).record(driven, held, &conduct, "m");
    let RunRecord { ended, limited, summary, coverage, notes, totals, took_ms, model_ms, .. } =
        record;
    let mut shown =
        format!("{ended:?} {limited:?} {summary:?} {} {took_ms} {model_ms}\n", totals.llm_calls);
    for FileCoverage { path, state, reason } in coverage {
        shown += &format!("{path} {state:?} {reason}\n");
    }
    for note in notes {
        shown += &format!("note: {note}\n");
    }
    expected.assert_eq(&shown);
}

#[test]
fn a_report_counts_for_the_files_that_were_marked() {
    check(
        Outcome::Answered(parsed("done")),
        Some(parsed("before")),
        expect![[r#"
        Completed Some(Turns) "done" 2 30 20
        a.rs Reviewed 
        b.rs NotReviewed sub-agent-3 did not mark it as reviewed
    "#]],
    );
}

#[test]
fn a_report_that_was_sent_back_counts_if_no_other_comes() {
    check(
        Outcome::BadAnswer("never marked".to_owned()),
        Some(parsed("before")),
        expect![[r#"
            Completed Some(Turns) "before" 2 30 20
            a.rs Reviewed 
            b.rs NotReviewed sub-agent-3 did not mark it as reviewed
            note: its report that was sent back counts: the model's answer was never of the right form: never marked
        "#]],
    );
}

#[test]
fn a_run_without_a_report_has_reviewed_nothing() {
    check(
        Outcome::NoAnswer,
        None,
        expect![[r#"
        Failed("sub-agent ended without calling report_findings: the model ended without an answer") Some(Turns) "" 2 30 20
        a.rs NotReviewed sub-agent-3 failed
        b.rs NotReviewed sub-agent-3 failed
    "#]],
    );
    check(
        Outcome::OutOfBudget(Limit::Money),
        None,
        expect![[r#"
        Failed("sub-agent ended without calling report_findings: the budget for money left no room to ask") Some(Turns) "" 2 30 20
        a.rs NotReviewed sub-agent-3 failed
        b.rs NotReviewed sub-agent-3 failed
    "#]],
    );
    check(
        Outcome::Cancelled,
        None,
        expect![[r#"
        Cancelled Some(Turns) "" 2 30 20
        a.rs NotReviewed the review was stopped first
        b.rs NotReviewed the review was stopped first
    "#]],
    );
}

#[test]
fn a_run_that_broke_is_a_row() {
    let record = errand(Delegation::First).broken();
    let why =
        "sub-agent ended without calling report_findings: it broke down, which is a bug in crh";
    assert_eq!(record.ended, RunEnd::Failed(why.to_owned()));
    assert_eq!(record.coverage.len(), 2);
    assert!(record.coverage.iter().all(|file| file.state == CoverageState::NotReviewed));
}

#[test]
fn those_who_confirm_cover_nothing() {
    assert_eq!(errand(Delegation::Confirming).broken().coverage, []);
}

#[test]
fn all_sub_agents_are_one_reviewer_whatever_they_call_themselves() {
    let value = serde_json::json!({ "reviewer": "the best", "findings": [{}], "summary": "s" });
    let parsed = read_report(value, REVIEWER).unwrap();
    assert_eq!(parsed.reviewer, "delegate");
    assert_eq!(parsed.set_aside[0].reviewer, "delegate");
    assert!(read_report(serde_json::json!({ "finding": [] }), REVIEWER).is_err());
    assert!(read_report(serde_json::json!([]), REVIEWER).is_err());
}
