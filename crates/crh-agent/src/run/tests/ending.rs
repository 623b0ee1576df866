//! Ends that are not answers.

use std::time::Duration;

use expect_test::expect;

use super::script::case;
use crate::{Step, ToolOutcome};

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
fn the_one_who_started_it_can_stop_it_at_any_step() {
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
fn a_model_that_cannot_be_asked_ends_the_run() {
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
fn news_that_nobody_waits_for_changes_nothing() {
    let case = case();
    let mut run = case.run();
    run.called(vec![ToolOutcome::Abort("x".to_owned())]);
    run.refused(crate::Limit::Money);
    assert!(matches!(run.next(Duration::ZERO), Step::Ask(_)));
    run.called(vec![ToolOutcome::Abort("x".to_owned())]);
    assert!(matches!(run.next(Duration::ZERO), Step::Ask(_)));
    run.cancel();
    let ended = format!("{:?}", run.next(Duration::ZERO));
    run.failed(crh_llm::ModelError::BadKey { message: String::new() });
    run.cancel();
    assert_eq!(format!("{:?}", run.next(Duration::from_secs(9999))), ended);
    assert_eq!(run.caller(), "tester");
}
