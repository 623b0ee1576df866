//! Tests of runs that end without an answer.

use std::time::Duration;

use expect_test::expect;

use super::script::case;
use crate::{RunStep, ToolOutcome};

#[test]
fn a_tool_can_end_the_run() {
    case().check(
        "
        read a ; grep b
        ok text ; abort the workspace is gone
        ",
        expect![[r#"
            ask Work
                user: TASK
            call read a; grep b
            stop Aborted("the workspace is gone")
        "#]],
    );
}

#[test]
fn run_can_be_cancelled_at_any_step() {
    case().check(
        "cancel",
        expect![[r#"
        ask Work
            user: TASK
        stop Cancelled
    "#]],
    );
    case().check(
        "
        read a
        cancel
        ",
        expect![[r#"
            ask Work
                user: TASK
            call read a
            stop Cancelled
        "#]],
    );
}

#[test]
fn model_error_ends_the_run() {
    case().check(
        "
        read a
        ok text
        failed overloaded: come back later
        ",
        expect![[r#"
            ask Work
                user: TASK
            call read a
            ask Work
                model calls c0: read a
                c0 read: text
            stop Model(Overloaded { retry_after: None, message: "come back later" })
        "#]],
    );
    case().check(
        "failed key: wrong key",
        expect![[r#"
        ask Work
            user: TASK
        stop Model(BadKey { message: "wrong key" })
    "#]],
    );
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
