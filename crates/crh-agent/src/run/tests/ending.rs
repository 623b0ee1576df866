//! Tests of runs that end without an answer.

use std::time::Duration;

use expect_test::expect;

use super::script::case;
use crate::{RunStep, ToolOutcome};

#[test]
fn a_tool_can_end_the_run() {
    case().check(expect![[r#"
        ask Work
        > read a ; grep b
        call read a; grep b
        > ok text ; abort the workspace is gone
        stop Aborted("the workspace is gone")
    "#]]);
}

#[test]
fn run_can_be_cancelled_at_any_step() {
    case().check(expect![[r#"
        ask Work
        > cancel
        stop Cancelled
    "#]]);
    case().check(expect![[r#"
        ask Work
        > read a
        call read a
        > cancel
        stop Cancelled
    "#]]);
}

#[test]
fn model_error_ends_the_run() {
    case().check(expect![[r#"
        ask Work
        > read a
        call read a
        > ok text
        ask Work
        > failed overloaded: come back later
        stop Model(Overloaded { retry_after: None, message: "come back later" })
    "#]]);
    case().check(expect![[r#"
        ask Work
        > failed key: wrong key
        stop Model(BadKey { message: "wrong key" })
    "#]]);
}

#[test]
fn unexpected_events_are_ignored() {
    let case = case();
    let mut run = case.run();
    run.on_tool_results(vec![ToolOutcome::Abort("x".to_owned())]);
    run.on_refusal(crate::LimitKind::Money);
    assert!(matches!(run.next(Duration::ZERO), RunStep::Ask(_)));
    run.on_tool_results(vec![ToolOutcome::Abort("x".to_owned())]);
    assert!(matches!(run.next(Duration::ZERO), RunStep::Ask(_)));
    run.cancel();
    let last_step = format!("{:?}", run.next(Duration::ZERO));
    run.on_failure(crh_llm::ModelError::BadKey { message: String::new() });
    run.cancel();
    assert_eq!(format!("{:?}", run.next(Duration::from_secs(9999))), last_step);
    assert_eq!(run.caller(), "tester");
}
