//! Tests of what the model is told when it makes mistakes.

use std::time::Duration;

use expect_test::expect;
use serde_json::json;

use super::script::case;
use crh_llm::{CallArguments, ModelReply, StopCause, ToolCall, Turn, TurnPart};

#[test]
fn results_come_in_order_until_an_answer() {
    case().check(
        r#"
        "I look." ; read a ; grep b
        ok text of a ; sorry nothing found
        submit done
        "#,
        expect![[r#"
            ask Work
                user: TASK
            call read a; grep b
            ask Work
                model: I look.
                model calls c1: read a
                model calls c2: grep b
                c1 read: text of a
                c2 grep: nothing found
            stop Answered("done")
        "#]],
    );
}

#[test]
fn answer_beside_other_calls_counts() {
    case().check(
        "read a ; submit done ; read b",
        expect![[r#"
        ask Work
            user: TASK
        stop Answered("done")
    "#]],
    );
}

#[test]
fn calls_handled_beside_a_rejected_answer_have_their_result() {
    let mut case = case();
    case.beside = |call| (call.name == "read").then(|| "marked".to_owned());
    case.check(
        "
        read a ; submit {} ; grep b
        submit done
        ",
        expect![[r#"
            ask Work
                user: TASK
            ask Work
                model calls c0: read a
                model calls c1: submit {}
                model calls c2: grep b
                c0 read: marked
                c1 submit: The answer was not accepted: `path` is missing. Submit the whole answer again, corrected.
                c2 grep: Not called: an answer was submitted in the same turn.
            stop Answered("done")
        "#]],
    );
}

#[test]
fn invalid_answer_may_be_corrected_twice() {
    case().check(
        "
        submit {}
        read a ; submit !{pa
        submit done
        ",
        expect![[r#"
            ask Work
                user: TASK
            ask Work
                model calls c0: submit {}
                c0 submit: The answer was not accepted: `path` is missing. Submit the whole answer again, corrected.
            ask Work
                model calls c0: read a
                model calls c1: submit !{pa
                c0 read: Not called: an answer was submitted in the same turn.
                c1 submit: `submit` was not called: its arguments are not valid JSON. Call it again with valid JSON.
            stop Answered("done")
        "#]],
    );
    case().check(
        "
        submit {}
        submit {\"x\": []}
        submit {\"line\": 1}
        ",
        expect![[r#"
            ask Work
                user: TASK
            ask Work
                model calls c0: submit {}
                c0 submit: The answer was not accepted: `path` is missing. Submit the whole answer again, corrected.
            ask Work
                model calls c0: submit {"x":[]}
                c0 submit: The answer was not accepted: `path` is missing. Submit the whole answer again, corrected.
            stop BadAnswer("`path` is missing.")
        "#]],
    );
}

#[test]
fn a_model_that_ends_without_an_answer_is_reminded_once() {
    case().check(
        r#"
        "All is well."
        read a
        ok text
        submit done
        "#,
        expect![[r#"
            ask Work
                user: TASK
            ask Work, has to call
                model: All is well.
                user: You stopped without an answer. Only what you submit counts: submit it now (`submit`), or go on with the tools and submit then.
            call read a
            ask Work
                model calls c0: read a
                c0 read: text
            stop Answered("done")
        "#]],
    );
    case().check(
        r#"
        "All is well."
        read a
        ok text
        "Still well."
        "#,
        expect![[r#"
            ask Work
                user: TASK
            ask Work, has to call
                model: All is well.
                user: You stopped without an answer. Only what you submit counts: submit it now (`submit`), or go on with the tools and submit then.
            call read a
            ask Work
                model calls c0: read a
                c0 read: text
            stop NoAnswer
        "#]],
    );
    // Empty turns and thoughts alone cannot be sent back.
    case().check(
        "
        ~hm
        \"
        ",
        expect![[r#"
            ask Work
                user: TASK
            ask Work, has to call
                user: You stopped without an answer. Only what you submit counts: submit it now (`submit`), or go on with the tools and submit then.
            stop NoAnswer
        "#]],
    );
}

#[test]
fn truncated_turn_is_requested_again() {
    case().check(
        r#"
        cut "So what I think is
        cut read a ; grep !{"pat
        ok text
        cut submit !{"path": "do
        "#,
        expect![[r#"
            ask Work
                user: TASK
            ask Work
                model: So what I think is
                user: Your turn was cut off at 1000 tokens, so its last part was not used. Say it again, shorter.
            call read a
            ask Work
                model calls c0: read a
                model calls c1: grep !{"pat
                c0 read: text
                c1 grep: Your turn was cut off at 1000 tokens, so its last part was not used. Say it again, shorter.
            stop BadAnswer("it was cut off at 1000 tokens")
        "#]],
    );
    // A complete answer counts even if the turn was cut off after it.
    case().check(
        "cut submit done",
        expect![[r#"
        ask Work
            user: TASK
        stop Answered("done")
    "#]],
    );
}

#[test]
fn unknown_tools_and_invalid_arguments_are_reported() {
    case().check(
        "
        raed a ; read !{oops ; grep x
        ok found
        submit done
        ",
        expect![[r#"
            ask Work
                user: TASK
            call grep x
            ask Work
                model calls c0: raed a
                model calls c1: read !{oops
                model calls c2: grep x
                c0 raed: There is no tool `raed`. There are: read, grep, submit.
                c1 read: `read` was not called: its arguments are not valid JSON. Call it again with valid JSON.
                c2 grep: found
            stop Answered("done")
        "#]],
    );
}

#[test]
fn repeated_calls_lead_to_a_grace_turn() {
    case().check(
        "
        read a ; read a
        ok text
        read a ; grep x
        ok found
        read a
        read a ; grep x
        grep x
        submit done
        ",
        expect![[r#"
            ask Work
                user: TASK
            call read a
            ask Work
                model calls c0: read a
                model calls c1: read a
                c0 read: text
                c1 read: Not called again: the same call has been made, see the result of `c0`. Use that, or call something else.
            call grep x
            ask Work
                model calls c0: read a
                model calls c1: grep x
                c0 read: Not called again: the same call has been made, see the result of `c0`. Use that, or call something else.
                c1 grep: found
            ask Work
                model calls c0: read a
                c0 read: Not called again: the same call has been made, see the result of `c0`. Use that, or call something else.
            ask Work
                model calls c0: read a
                model calls c1: grep x
                c0 read: Not called again: the same call has been made, see the result of `c0`. Use that, or call something else.
                c1 grep: Not called again: the same call has been made, see the result of `c1`. Use that, or call something else.
            ask LastTurn, has to submit
                model calls c0: grep x
                c0 grep: Not called again: the same call has been made, see the result of `c1`. Use that, or call something else.
                user: You are repeating calls that bring nothing new. This is your last turn: submit your answer now (`submit`), with what you know. No other tool will be c… (156 characters)
            stop Answered("done")
        "#]],
    );
    case().check(
        r#"
        read a
        ok text
        read a
        read a
        read a
        "I do not know."
        "#,
        expect![[r#"
            ask Work
                user: TASK
            call read a
            ask Work
                model calls c0: read a
                c0 read: text
            ask Work
                model calls c0: read a
                c0 read: Not called again: the same call has been made, see the result of `c0`. Use that, or call something else.
            ask Work
                model calls c0: read a
                c0 read: Not called again: the same call has been made, see the result of `c0`. Use that, or call something else.
            ask LastTurn, has to submit
                model calls c0: read a
                c0 read: Not called again: the same call has been made, see the result of `c0`. Use that, or call something else.
                user: You are repeating calls that bring nothing new. This is your last turn: submit your answer now (`submit`), with what you know. No other tool will be c… (156 characters)
            stop Stuck
        "#]],
    );
}

#[test]
fn cycle_of_failing_calls_is_refused() {
    case().check(
        "
        read a
        sorry no such file
        grep x
        sorry nothing
        read a
        sorry no such file
        grep x
        submit done
        ",
        expect![[r#"
            ask Work
                user: TASK
            call read a
            ask Work
                model calls c0: read a
                c0 read: no such file
            call grep x
            ask Work
                model calls c0: grep x
                c0 grep: nothing
            call read a
            ask Work
                model calls c0: read a
                c0 read: no such file
            ask Work
                model calls c0: grep x
                c0 grep: Not called: you are going in a circle, and the same calls will bring the same results. Try something else, or submit your answer.
            stop Answered("done")
        "#]],
    );
}

#[test]
fn calls_with_the_same_id_or_none_get_a_result_each() {
    let mut run = case().run();
    let call = |id: &str, name: &str| {
        TurnPart::Call(ToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: CallArguments::Json(json!({})),
            signatures: Vec::new(),
        })
    };
    run.next(Duration::ZERO);
    let turn = Turn { parts: vec![call("same", "read"), call("same", "grep"), call("", "ls")] };
    run.on_reply(ModelReply { turn, stop: StopCause::Calls, usage: None, served: None });
    // If outcomes are missing, each call still gets a result.
    run.on_tool_results(Vec::new());
    expect![[r#"
        Some(
            Results(
                [
                    ToolResult {
                        call_id: "same",
                        name: "read",
                        text: "Not called: the limit on tool calls is reached.",
                    },
                    ToolResult {
                        call_id: "call_2",
                        name: "grep",
                        text: "Not called: the limit on tool calls is reached.",
                    },
                    ToolResult {
                        call_id: "call_3",
                        name: "ls",
                        text: "There is no tool `ls`. There are: grep, read, submit.",
                    },
                ],
            ),
        )
    "#]]
    .assert_debug_eq(&run.conversation().messages.last());
}

#[test]
fn call_may_repeat_after_a_change() {
    case().check(
        "
        read a
        ok one
        grep x
        changed x is y
        read a
        ok two
        submit done
        ",
        expect![[r#"
            ask Work
                user: TASK
            call read a
            ask Work
                model calls c0: read a
                c0 read: one
            call grep x
            ask Work
                model calls c0: grep x
                c0 grep: x is y
            call read a
            ask Work
                model calls c0: read a
                c0 read: two
            stop Answered("done")
        "#]],
    );
}

#[test]
fn new_call_resets_the_stuck_counter() {
    case().check(
        "
        read a
        ok text
        read a
        read a
        read b
        ok text
        read a
        submit done
        ",
        expect![[r#"
            ask Work
                user: TASK
            call read a
            ask Work
                model calls c0: read a
                c0 read: text
            ask Work
                model calls c0: read a
                c0 read: Not called again: the same call has been made, see the result of `c0`. Use that, or call something else.
            ask Work
                model calls c0: read a
                c0 read: Not called again: the same call has been made, see the result of `c0`. Use that, or call something else.
            call read b
            ask Work
                model calls c0: read b
                c0 read: text
            ask Work
                model calls c0: read a
                c0 read: Not called again: the same call has been made, see the result of `c0`. Use that, or call something else.
            stop Answered("done")
        "#]],
    );
}
