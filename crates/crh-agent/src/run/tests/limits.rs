//! Tests of limits, the last turn and the shared ledger.

use std::time::Duration;

use expect_test::expect;

use super::script::{Case, case};
use crate::{CallCost, CostBasis, LimitKind, RunStep};
use crh_llm::{Money, TokenUsage};

#[test]
fn run_ends_after_the_last_turn() {
    let case = case().limits(|limits| limits.turns = 2);
    case.check(expect![[r#"
        ask Work
        > read a
        call read a
        > ok text
        ask LastTurn, has to submit
            user: The limit on turns is reached. This is your last turn: submit your answer now (`… (139 characters)
        > read b
        stop NoAnswer, limited by Turns
    "#]]);
    case.check(expect![[r#"
        ask Work
        > "Done."
        ask LastTurn, has to submit
            user: You stopped without an answer. Only what you submit counts: submit it now (`subm… (126 characters)
            user: The limit on turns is reached. This is your last turn: submit your answer now (`… (139 characters)
        > submit {}
        stop BadAnswer("`path` is missing."), limited by Turns
    "#]]);
}

#[test]
fn run_with_one_turn_must_answer_at_once() {
    let case = case().limits(|limits| limits.turns = 1);
    case.check(expect![[r#"
        ask Work, has to submit
        > submit done
        stop Answered("done")
    "#]]);
    case.check(expect![[r#"
        ask Work, has to submit
        > read a
        stop NoAnswer, limited by Turns
    "#]]);
    case.check(expect![[r#"
        ask Work, has to submit
        > submit {}
        stop BadAnswer("`path` is missing."), limited by Turns
    "#]]);
}

#[test]
fn a_run_without_turns_or_time_asks_nothing() {
    case().limits(|limits| limits.turns = 0).check(expect![[r#"
        stop OutOfBudget(BudgetRefusal { limit: Turns, shortfall: None }), limited by Turns
    "#]]);
    case().limits(|limits| limits.wall = Duration::ZERO).check(expect![[r#"
        stop OutOfBudget(BudgetRefusal { limit: Wall, shortfall: None }), limited by Wall
    "#]]);
    case().limits(|limits| limits.tokens = 1_000).check(expect![[r#"
        stop OutOfBudget(BudgetRefusal { limit: Tokens, shortfall: None }), limited by Tokens
    "#]]);
}

#[test]
fn calls_over_the_limit_are_refused() {
    case().limits(|limits| limits.tool_calls = 2).check(expect![[r#"
        ask Work
        > read a ; read b ; read c ; nope d
        call read a; read b
        > ok text ; ok text
        ask LastTurn, has to submit
            c2 read: Not called: the limit on tool calls is reached.
            c3 nope: There is no tool `nope`. There are: grep, read, submit.
            user: The limit on tool calls is reached. This is your last turn: submit your answer n… (144 characters)
        > submit done
        stop Answered("done"), limited by ToolCalls
    "#]]);
    case().limits(|limits| limits.tool_calls = 0).check(expect![[r#"
        ask Work
        > read a
        ask LastTurn, has to submit
            c0 read: Not called: the limit on tool calls is reached.
            user: The limit on tool calls is reached. This is your last turn: submit your answer n… (144 characters)
        > submit done
        stop Answered("done"), limited by ToolCalls
    "#]]);
    // A run that calls no tools does not hit the limit.
    case().limits(|limits| limits.tool_calls = 0).check(expect![[r#"
        ask Work
        > submit done
        stop Answered("done")
    "#]]);
}

#[test]
fn calls_after_a_turn_with_enough_results_are_refused() {
    Case { enough_results: Some(2), ..case() }.check(expect![[r#"
        ask Work
        > read a ; read z
        call read a; read z
        > ok text ; sorry none
        ask Work
        > read b ; read c
        call read b; read c
        > ok text ; ok text
        ask Work
        > read d
        ask Work
            c0 read: Not called: you had your turn with tools. Submit your answer now, with what you … (85 characters)
        > submit done
        stop Answered("done")
    "#]]);
    // A model that goes on calling tools gets its last turn.
    Case { enough_results: Some(1), ..case() }.check(expect![[r#"
        ask Work
        > read a
        call read a
        > ok text
        ask Work
        > read b
        ask Work
            c0 read: Not called: you had your turn with tools. Submit your answer now, with what you … (85 characters)
        > read c
        ask Work
            c0 read: Not called: you had your turn with tools. Submit your answer now, with what you … (85 characters)
        > read d
        ask LastTurn, has to submit
            c0 read: Not called: you had your turn with tools. Submit your answer now, with what you … (85 characters)
            user: You are repeating calls that bring nothing new. This is your last turn: submit y… (156 characters)
        > submit done
        stop Answered("done")
    "#]]);
}

#[test]
fn companion_calls_of_an_answer_are_made_over_the_limit() {
    let case = case().limits(|limits| limits.tool_calls = 1);
    Case { submit_tool: |tool| tool.with_companion("read"), ..case }.check(expect![[r#"
        ask Work
        > read a ; read b
        call read a
        > ok text
        ask LastTurn, has to submit
            c1 read: Not called: the limit on tool calls is reached.
            user: The limit on tool calls is reached. This is your last turn: submit your answer n… (144 characters)
        > read b ; grep c ; submit done
        call read b
        > ok text
        stop Answered("done"), limited by ToolCalls
    "#]]);
}

#[test]
fn tokens_without_usage_count_as_worst_case() {
    case().limits(|limits| limits.tokens = 20_000).check(expect![[r#"
        ask Work
        > in=500 out=100 read a
        call read a
        > ok text
        ask Work
        > in=6000 out=100 read b
        call read b
        > ok text
        ask LastTurn, has to submit
            user: The limit on tokens is almost reached. This is your last turn: submit your answe… (147 characters)
        > submit done
        stop Answered("done"), limited by Tokens
    "#]]);
    case().limits(|limits| limits.tokens = 8_000).check(expect![[r#"
        ask Work
        > read a
        call read a
        > ok text
        ask Work
        > read b
        call read b
        > ok text
        ask LastTurn, has to submit
            user: The limit on tokens is almost reached. This is your last turn: submit your answe… (147 characters)
        > submit done
        stop Answered("done"), limited by Tokens
    "#]]);
}

#[test]
fn money_is_reserved_for_the_last_turn() {
    case().priced().limits(|limits| limits.money = Money::cents(20)).check(expect![[r#"
        ask Work
        > in=500 out=100 cost=1 read a
        call read a
        > ok text
        ask Work
        > in=700 out=100 cost=16 read b
        call read b
        > ok text
        ask LastTurn, has to submit
            user: The budget is almost spent. This is your last turn: submit your answer now (`sub… (136 characters)
        > submit done
        stop Answered("done"), limited by Money
    "#]]);
}

#[test]
fn failed_attempts_count() {
    case().priced().limits(|limits| limits.money = Money::cents(20)).check(expect![[r#"
        ask Work
        > in=500 out=100 cost=16 failed request: unknown field `tools`
        ask LastTurn by schema (answer)
            user: The budget is almost spent. This is your last turn: submit your answer now (`sub… (136 characters)
        > {"answer": {"path": "done"}}
        stop Answered("done"), limited by Money
    "#]]);
    let mut run = case().priced().limits(|limits| limits.money = Money::cents(7)).run();
    let RunStep::Ask(_) = run.next(Duration::ZERO) else { panic!("{run:?}") };
    let usage = TokenUsage { input: 1_000, output: 1_000, ..TokenUsage::default() };
    let cost = |cents| CallCost { usage, money: Money::cents(cents), basis: CostBasis::Worst };
    assert_eq!(run.record_cost(cost(2)), None, "there is room for another attempt");
    assert_eq!(run.record_cost(cost(4)), Some(LimitKind::Money));
}

#[test]
fn a_result_too_large_for_the_last_turn_ends_the_run() {
    case().priced().limits(|limits| limits.money = Money::cents(6)).check(expect![[r#"
        ask Work
        > in=500 out=100 cost=1 read a
        call read a
        > ok x*60000
        stop OutOfBudget(BudgetRefusal { limit: Money, shortfall: None }), limited by Money
    "#]]);
}

#[test]
fn time_for_two_longest_turns_is_reserved() {
    case().limits(|limits| limits.wall = Duration::from_secs(99)).check(expect![[r#"
        ask Work
        > t=20 read a
        call read a
        > t=10 ok text
        ask Work
        > t=5 read b
        call read b
        > t=5 ok text
        ask LastTurn, has to submit
            user: The time is almost up. This is your last turn: submit your answer now (`submit`)… (131 characters)
        > submit done
        stop Answered("done"), limited by Wall
    "#]]);
    // A short remaining time is still used.
    case().limits(|limits| limits.wall = Duration::from_secs(100)).check(expect![[r#"
        ask Work
        > t=90 read a
        call read a
        > t=9 ok text
        ask LastTurn, has to submit
            user: The time is almost up. This is your last turn: submit your answer now (`submit`)… (131 characters)
        > submit done
        stop Answered("done"), limited by Wall
    "#]]);
    case().limits(|limits| limits.wall = Duration::from_secs(100)).check(expect![[r#"
        ask Work
        > t=90 read a
        call read a
        > t=10 ok text
        stop OutOfBudget(BudgetRefusal { limit: Wall, shortfall: None }), limited by Wall
    "#]]);
}

#[test]
fn exhausted_ledger_starts_the_last_turn() {
    case().check(expect![[r#"
        ask Work
        > read a
        call read a
        > ok text
        ask Work
        > refused money
        ask LastTurn, has to submit
            user: The budget is almost spent. This is your last turn: submit your answer now (`sub… (136 characters)
        > submit done
        stop Answered("done"), limited by Money
    "#]]);
    case().check(expect![[r#"
        ask Work
        > read a
        call read a
        > ok text
        ask Work
        > refused tokens
        ask LastTurn, has to submit
            user: The limit on tokens is almost reached. This is your last turn: submit your answe… (147 characters)
        > refused money
        stop OutOfBudget(BudgetRefusal { limit: Money, shortfall: None }), limited by Money
    "#]]);
    case().check(expect![[r#"
        ask Work
        > refused turns
        stop OutOfBudget(BudgetRefusal { limit: Turns, shortfall: None }), limited by Turns
    "#]]);
}

#[test]
fn refused_tool_calls_start_the_last_turn() {
    case().check(expect![[r#"
        ask Work
        > read a ; read b
        call read a; read b
        > ok text
        ask LastTurn, has to submit
            c1 read: Not called: the limit on tool calls is reached.
            user: The limit on tool calls is reached. This is your last turn: submit your answer n… (144 characters)
        > submit done
        stop Answered("done"), limited by ToolCalls
    "#]]);
}

#[test]
fn run_without_tools_must_answer_at_once() {
    let mut case = case();
    case.tools.clear();
    case.check(expect![[r#"
        ask Work, has to submit
        > "Well.
        ask Work, has to submit
            user: You stopped without an answer. Only what you submit counts: submit it now (`subm… (126 characters)
        > read a
        ask Work, has to submit
            c0 read: There is no tool `read`. There are: submit.
        > submit {}
        ask Work, has to submit
            c0 submit: The answer was not accepted: `path` is missing. Submit the whole answer again, c… (89 characters)
        > submit done
        stop Answered("done")
    "#]]);
}

#[test]
fn forecast_includes_the_largest_results() {
    case().limits(|limits| limits.tokens = 9_000).check(expect![[r#"
        ask Work
        > in=300 out=10 read a
        call read a
        > ok a*8000
        ask LastTurn, has to submit
            user: The limit on tokens is almost reached. This is your last turn: submit your answe… (147 characters)
        > submit done
        stop Answered("done"), limited by Tokens
    "#]]);
}
