//! Tests of limits, the grace turn and the shared ledger.

use std::time::Duration;

use expect_test::expect;

use super::script::case;
use crate::{CallCost, CostBasis, LimitKind, RunStep};
use crh_llm::{Money, TokenUsage};

#[test]
fn the_last_turn_is_the_grace_turn() {
    case().limits(|limits| limits.turns = 2).check(
        "
        read a
        ok text
        submit done
        ",
        expect![[r#"
            ask Work
                user: TASK
            call read a
            ask LastTurn, has to submit
                model calls c0: read a
                c0 read: text
                user: The limit on turns is reached. This is your last turn: submit your answer now (`submit`), with what you know. No other tool will be called.
            stop Answered("done"), limited by Turns
        "#]],
    );
}

#[test]
fn run_ends_after_the_grace_turn() {
    let case = case().limits(|limits| limits.turns = 2);
    case.check(
        "
        read a
        ok text
        read b
        ",
        expect![[r#"
            ask Work
                user: TASK
            call read a
            ask LastTurn, has to submit
                model calls c0: read a
                c0 read: text
                user: The limit on turns is reached. This is your last turn: submit your answer now (`submit`), with what you know. No other tool will be called.
            stop NoAnswer, limited by Turns
        "#]],
    );
    case.check(
        r#"
        "Done."
        submit {}
        "#,
        expect![[r#"
            ask Work
                user: TASK
            ask LastTurn, has to submit
                model: Done.
                user: You stopped without an answer. Only what you submit counts: submit it now (`submit`), or go on with the tools and submit then.
                user: The limit on turns is reached. This is your last turn: submit your answer now (`submit`), with what you know. No other tool will be called.
            stop BadAnswer("`path` is missing."), limited by Turns
        "#]],
    );
}

#[test]
fn run_with_one_turn_must_answer_at_once() {
    let case = case().limits(|limits| limits.turns = 1);
    case.check(
        "submit done",
        expect![[r#"
        ask Work, has to submit
            user: TASK
        stop Answered("done")
    "#]],
    );
    case.check(
        "read a",
        expect![[r#"
        ask Work, has to submit
            user: TASK
        stop NoAnswer, limited by Turns
    "#]],
    );
    case.check(
        "submit {}",
        expect![[r#"
        ask Work, has to submit
            user: TASK
        stop BadAnswer("`path` is missing."), limited by Turns
    "#]],
    );
}

#[test]
fn a_run_without_turns_or_time_asks_nothing() {
    case().limits(|limits| limits.turns = 0).check(
        "",
        expect![[r#"
            stop OutOfBudget(BudgetRefusal { limit: Turns, shortfall: None }), limited by Turns
        "#]],
    );
    case().limits(|limits| limits.wall = Duration::ZERO).check(
        "",
        expect![[r#"
            stop OutOfBudget(BudgetRefusal { limit: Wall, shortfall: None }), limited by Wall
        "#]],
    );
    case().limits(|limits| limits.tokens = 1_000).check(
        "",
        expect![[r#"
            stop OutOfBudget(BudgetRefusal { limit: Tokens, shortfall: None }), limited by Tokens
        "#]],
    );
}

#[test]
fn calls_over_the_limit_are_refused() {
    case().limits(|limits| limits.tool_calls = 2).check(
        "
        read a ; read b ; read c ; nope d
        ok text ; ok text
        submit done
        ",
        expect![[r#"
            ask Work
                user: TASK
            call read a; read b
            ask LastTurn, has to submit
                model calls c0: read a
                model calls c1: read b
                model calls c2: read c
                model calls c3: nope d
                c0 read: text
                c1 read: text
                c2 read: Not called: the limit on tool calls is reached.
                c3 nope: There is no tool `nope`. There are: grep, read, submit.
                user: The limit on tool calls is reached. This is your last turn: submit your answer now (`submit`), with what you know. No other tool will be called.
            stop Answered("done"), limited by ToolCalls
        "#]],
    );
    case().limits(|limits| limits.tool_calls = 0).check(
        "
        read a
        submit done
        ",
        expect![[r#"
            ask Work
                user: TASK
            ask LastTurn, has to submit
                model calls c0: read a
                c0 read: Not called: the limit on tool calls is reached.
                user: The limit on tool calls is reached. This is your last turn: submit your answer now (`submit`), with what you know. No other tool will be called.
            stop Answered("done"), limited by ToolCalls
        "#]],
    );
    // A run that calls no tools does not hit the limit.
    case().limits(|limits| limits.tool_calls = 0).check(
        "submit done",
        expect![[r#"
        ask Work
            user: TASK
        stop Answered("done")
    "#]],
    );
}

#[test]
fn tokens_without_usage_count_as_worst_case() {
    case().limits(|limits| limits.tokens = 20_000).check(
        "
        in=500 out=100 read a
        ok text
        in=6000 out=100 read b
        ok text
        submit done
        ",
        expect![[r#"
            ask Work
                user: TASK
            call read a
            ask Work
                model calls c0: read a
                c0 read: text
            call read b
            ask LastTurn, has to submit
                model calls c0: read b
                c0 read: text
                user: The limit on tokens is almost reached. This is your last turn: submit your answer now (`submit`), with what you know. No other tool will be called.
            stop Answered("done"), limited by Tokens
        "#]],
    );
    case().limits(|limits| limits.tokens = 8_000).check(
        "
        read a
        ok text
        read b
        ok text
        submit done
        ",
        expect![[r#"
            ask Work
                user: TASK
            call read a
            ask Work
                model calls c0: read a
                c0 read: text
            call read b
            ask LastTurn, has to submit
                model calls c0: read b
                c0 read: text
                user: The limit on tokens is almost reached. This is your last turn: submit your answer now (`submit`), with what you know. No other tool will be called.
            stop Answered("done"), limited by Tokens
        "#]],
    );
}

#[test]
fn money_is_reserved_for_the_grace_turn() {
    case().priced().limits(|limits| limits.money = Money::cents(20)).check(
        "
        in=500 out=100 cost=1 read a
        ok text
        in=700 out=100 cost=16 read b
        ok text
        submit done
        ",
        expect![[r#"
            ask Work
                user: TASK
            call read a
            ask Work
                model calls c0: read a
                c0 read: text
            call read b
            ask LastTurn, has to submit
                model calls c0: read b
                c0 read: text
                user: The budget is almost spent. This is your last turn: submit your answer now (`submit`), with what you know. No other tool will be called.
            stop Answered("done"), limited by Money
        "#]],
    );
}

#[test]
fn failed_attempts_count() {
    case().priced().limits(|limits| limits.money = Money::cents(20)).check(
        r#"
        in=500 out=100 cost=16 failed request: unknown field `tools`
        {"answer": {"path": "done"}}
        "#,
        expect![[r#"
            ask Work
                user: TASK
            ask LastTurn by schema (answer)
                user: The budget is almost spent. This is your last turn: submit your answer now (`submit`), with what you know. No other tool will be called.
            stop Answered("done"), limited by Money
        "#]],
    );
    let mut run = case().priced().limits(|limits| limits.money = Money::cents(7)).run();
    let RunStep::Ask(_) = run.next(Duration::ZERO) else { panic!("{run:?}") };
    let usage = TokenUsage { input: 1_000, output: 1_000, ..TokenUsage::default() };
    let cost = |cents| CallCost { usage, money: Money::cents(cents), basis: CostBasis::Worst };
    assert_eq!(run.record_cost(cost(2)), None, "there is room for another attempt");
    assert_eq!(run.record_cost(cost(4)), Some(LimitKind::Money));
}

#[test]
fn a_result_too_large_for_the_grace_turn_ends_the_run() {
    case().priced().limits(|limits| limits.money = Money::cents(6)).check(
        "
        in=500 out=100 cost=1 read a
        ok x*60000
        ",
        expect![[r#"
            ask Work
                user: TASK
            call read a
            stop OutOfBudget(BudgetRefusal { limit: Money, shortfall: None }), limited by Money
        "#]],
    );
}

#[test]
fn time_for_two_longest_turns_is_reserved() {
    case().limits(|limits| limits.wall = Duration::from_secs(99)).check(
        "
        t=20 read a
        t=10 ok text
        t=5 read b
        t=5 ok text
        submit done
        ",
        expect![[r#"
            ask Work
                user: TASK
            call read a
            ask Work
                model calls c0: read a
                c0 read: text
            call read b
            ask LastTurn, has to submit
                model calls c0: read b
                c0 read: text
                user: The time is almost up. This is your last turn: submit your answer now (`submit`), with what you know. No other tool will be called.
            stop Answered("done"), limited by Wall
        "#]],
    );
    // A short remaining time is still used.
    case().limits(|limits| limits.wall = Duration::from_secs(100)).check(
        "
        t=90 read a
        t=9 ok text
        submit done
        ",
        expect![[r#"
            ask Work
                user: TASK
            call read a
            ask LastTurn, has to submit
                model calls c0: read a
                c0 read: text
                user: The time is almost up. This is your last turn: submit your answer now (`submit`), with what you know. No other tool will be called.
            stop Answered("done"), limited by Wall
        "#]],
    );
    case().limits(|limits| limits.wall = Duration::from_secs(100)).check(
        "
        t=90 read a
        t=10 ok text
        ",
        expect![[r#"
            ask Work
                user: TASK
            call read a
            stop OutOfBudget(BudgetRefusal { limit: Wall, shortfall: None }), limited by Wall
        "#]],
    );
}

#[test]
fn exhausted_ledger_starts_the_grace_turn() {
    case().check(
        "
        read a
        ok text
        refused money
        submit done
        ",
        expect![[r#"
            ask Work
                user: TASK
            call read a
            ask Work
                model calls c0: read a
                c0 read: text
            ask LastTurn, has to submit
                user: The budget is almost spent. This is your last turn: submit your answer now (`submit`), with what you know. No other tool will be called.
            stop Answered("done"), limited by Money
        "#]],
    );
    case().check(
        "
        read a
        ok text
        refused tokens
        refused money
        ",
        expect![[r#"
            ask Work
                user: TASK
            call read a
            ask Work
                model calls c0: read a
                c0 read: text
            ask LastTurn, has to submit
                user: The limit on tokens is almost reached. This is your last turn: submit your answer now (`submit`), with what you know. No other tool will be called.
            stop OutOfBudget(BudgetRefusal { limit: Money, shortfall: None }), limited by Money
        "#]],
    );
    case().check(
        "refused turns",
        expect![[r#"
            ask Work
                user: TASK
            stop OutOfBudget(BudgetRefusal { limit: Turns, shortfall: None }), limited by Turns
        "#]],
    );
}

#[test]
fn refused_tool_calls_start_the_grace_turn() {
    case().check(
        "
        read a ; read b
        ok text
        submit done
        ",
        expect![[r#"
            ask Work
                user: TASK
            call read a; read b
            ask LastTurn, has to submit
                model calls c0: read a
                model calls c1: read b
                c0 read: text
                c1 read: Not called: the limit on tool calls is reached.
                user: The limit on tool calls is reached. This is your last turn: submit your answer now (`submit`), with what you know. No other tool will be called.
            stop Answered("done"), limited by ToolCalls
        "#]],
    );
}

#[test]
fn run_without_tools_must_answer_at_once() {
    let mut case = case();
    case.tools.clear();
    case.check(
        r#"
        "Well.
        read a
        submit {}
        submit done
        "#,
        expect![[r#"
            ask Work, has to submit
                user: TASK
            ask Work, has to submit
                model: Well.
                user: You stopped without an answer. Only what you submit counts: submit it now (`submit`), or go on with the tools and submit then.
            ask Work, has to submit
                model calls c0: read a
                c0 read: There is no tool `read`. There are: submit.
            ask Work, has to submit
                model calls c0: submit {}
                c0 submit: The answer was not accepted: `path` is missing. Submit the whole answer again, corrected.
            stop Answered("done")
        "#]],
    );
}

#[test]
fn forecast_includes_the_largest_results() {
    case().limits(|limits| limits.tokens = 9_000).check(
        "
        in=300 out=10 read a
        ok a*8000
        submit done
        ",
        expect![[r#"
            ask Work
                user: TASK
            call read a
            ask LastTurn, has to submit
                model calls c0: read a
                c0 read: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa… (8000 characters)
                user: The limit on tokens is almost reached. This is your last turn: submit your answer now (`submit`), with what you know. No other tool will be called.
            stop Answered("done"), limited by Tokens
        "#]],
    );
}
