//! Tests of what the model is told when it makes mistakes.

use std::time::Duration;

use expect_test::expect;
use serde_json::json;

use super::script::{Case, case};
use crate::SubmitTool;
use crh_llm::{CallArguments, ModelReply, StopCause, ToolCall, Turn, TurnPart};

#[test]
fn results_come_in_order_until_an_answer() {
    case().check(expect![[r#"
        ask Work
        > "I look." ; read a ; grep b
        call read a; grep b
        > ok text of a ; sorry nothing found
        ask Work
        > submit done
        stop Answered("done")
    "#]]);
}

#[test]
fn answer_counts_after_the_other_calls_of_its_turn() {
    case().check(expect![[r#"
        ask Work
        > read a ; submit done ; read b ; nope c
        call read a; read b
        > ok text ; sorry no such file
        stop Answered("done")
    "#]]);
    // Also in the last turn.
    case().limits(|limits| limits.turns = 1).check(expect![[r#"
        ask Work, has to submit
        > read a ; submit done
        call read a
        > changed text
        stop Answered("done")
    "#]]);
    case().check(expect![[r#"
        ask Work
        > read a ; submit done
        call read a
        > abort the workspace is gone
        stop Aborted("the workspace is gone")
    "#]]);
}

#[test]
fn calls_beside_a_rejected_answer_have_their_result() {
    case().check(expect![[r#"
        ask Work
        > read a ; submit {} ; grep b ; read a
        call read a; grep b
        > ok text ; ok found
        ask Work
            c1 submit: The answer was not accepted: `path` is missing. Submit the whole answer again, c… (89 characters)
            c3 read: Not called again: the same call has been made, see the result of `c0`. Use that,… (104 characters)
        > read a ; submit done
        stop Answered("done")
    "#]]);
}

#[test]
fn answer_beside_a_failed_call_is_sent_back_if_it_reports_on_it() {
    let case = Case { submit_tool: SubmitTool::with_required_calls, ..case() };
    case.check(expect![[r#"
        ask Work
        > read a ; submit done
        call read a
        > sorry no such file
        ask Work
            c1 submit: The answer was not accepted: another call of the same turn failed, see its resul… (124 characters)
        > read !{ ; submit done
        ask Work
            c0 read: `read` was not called: its arguments are not valid JSON. Call it again with vali… (87 characters)
            c1 submit: The answer was not accepted: another call of the same turn failed, see its resul… (124 characters)
        > read b ; submit done
        call read b
        > changed text
        stop Answered("done")
    "#]]);
    case.limits(|limits| limits.turns = 1).check(expect![[r#"
        ask Work, has to submit
        > read a ; submit done
        call read a
        > sorry no such file
        stop BadAnswer("another call of the same turn failed, see its result."), limited by Turns
    "#]]);
}

#[test]
fn answers_of_one_turn_count_together() {
    let text = json!({ "path": { "type": "string" } });
    let case = Case { submit_schema: json!({ "properties": text }), ..case() };
    case.check(expect![[r#"
        ask Work
        > submit one ; submit two ; submit one
        stop Answered("one\n\ntwo")
    "#]]);
    case.check(expect![[r#"
        ask Work
        > submit {} ; submit done ; submit done
        stop Answered("done")
    "#]]);
}

#[test]
fn contradicting_answers_of_one_turn_are_sent_back() {
    case().check(expect![[r#"
        ask Work
        > submit one ; read a ; submit two
        call read a
        > ok text
        ask Work
            c0 submit: Read as one answer with the last call of this tool in your turn: see its result.
            c2 submit: The answer was not accepted: your turn has several answers, and their `path` dif… (127 characters)
        > submit one ; submit !{
        ask Work
            c0 submit: Read as one answer with the last call of this tool in your turn: see its result.
            c1 submit: `submit` was not called: its arguments are not valid JSON. Call it again with va… (89 characters)
        > submit one
        stop Answered("one")
    "#]]);
}

#[test]
fn invalid_answer_may_be_corrected_twice() {
    case().check(expect![[r#"
        ask Work
        > submit {}
        ask Work
            c0 submit: The answer was not accepted: `path` is missing. Submit the whole answer again, c… (89 characters)
        > read a ; submit !{pa
        call read a
        > ok text
        ask Work
            c1 submit: `submit` was not called: its arguments are not valid JSON. Call it again with va… (89 characters)
        > submit done
        stop Answered("done")
    "#]]);
    case().check(expect![[r#"
        ask Work
        > submit {}
        ask Work
            c0 submit: The answer was not accepted: `path` is missing. Submit the whole answer again, c… (89 characters)
        > submit {"x": []}
        ask Work
            c0 submit: The answer was not accepted: `path` is missing. Submit the whole answer again, c… (89 characters)
        > submit {"line": 1}
        stop BadAnswer("`path` is missing.")
    "#]]);
}

#[test]
fn a_model_that_ends_without_an_answer_is_reminded_once() {
    case().check(expect![[r#"
        ask Work
        > "All is well."
        ask Work, has to call
            user: You stopped without an answer. Only what you submit counts: submit it now (`subm… (126 characters)
        > read a
        call read a
        > ok text
        ask Work
        > submit done
        stop Answered("done")
    "#]]);
    case().check(expect![[r#"
        ask Work
        > "All is well."
        ask Work, has to call
            user: You stopped without an answer. Only what you submit counts: submit it now (`subm… (126 characters)
        > read a
        call read a
        > ok text
        ask Work
        > "Still well."
        stop NoAnswer
    "#]]);
    // Empty turns and thoughts alone cannot be sent back.
    case().check(expect![[r#"
        ask Work
        > ~hm
        ask Work, has to call
          - model thinks
            user: You stopped without an answer. Only what you submit counts: submit it now (`subm… (126 characters)
        > "
        stop NoAnswer
    "#]]);
}

#[test]
fn truncated_turn_is_requested_again() {
    case().check(expect![[r#"
        ask Work
        > cut "So what I think is
        ask Work
            user: Your turn was cut off at 1000 tokens, so its last part was not used. Say it agai… (91 characters)
        > cut read a ; grep !{"pat
        call read a
        > ok text
        ask Work
            c1 grep: Your turn was cut off at 1000 tokens, so its last part was not used. Say it agai… (91 characters)
        > cut submit !{"path": "do
        stop BadAnswer("it was cut off at 1000 tokens")
    "#]]);
    // A complete answer counts even if the turn was cut off after it.
    case().check(expect![[r#"
        ask Work
        > cut submit done
        stop Answered("done")
    "#]]);
}

#[test]
fn unknown_tools_and_invalid_arguments_are_reported() {
    case().check(expect![[r#"
        ask Work
        > raed a ; read !{oops ; grep x
        call grep x
        > ok found
        ask Work
            c0 raed: There is no tool `raed`. There are: read, grep, submit.
            c1 read: `read` was not called: its arguments are not valid JSON. Call it again with vali… (87 characters)
        > submit done
        stop Answered("done")
    "#]]);
}

#[test]
fn repeated_calls_lead_to_a_last_turn() {
    case().check(expect![[r#"
        ask Work
        > read a ; read a
        call read a
        > ok text
        ask Work
            c1 read: Not called again: the same call has been made, see the result of `c0`. Use that,… (104 characters)
        > read a ; grep x
        call grep x
        > ok found
        ask Work
            c0 read: Not called again: the same call has been made, see the result of `c0`. Use that,… (104 characters)
        > read a
        ask Work
            c0 read: Not called again: the same call has been made, see the result of `c0`. Use that,… (104 characters)
        > read a ; grep x
        ask Work
            c0 read: Not called again: the same call has been made, see the result of `c0`. Use that,… (104 characters)
            c1 grep: Not called again: the same call has been made, see the result of `c1`. Use that,… (104 characters)
        > grep x
        ask LastTurn, has to submit
            c0 grep: Not called again: the same call has been made, see the result of `c1`. Use that,… (104 characters)
            user: You are repeating calls that bring nothing new. This is your last turn: submit y… (156 characters)
        > submit done
        stop Answered("done")
    "#]]);
    case().check(expect![[r#"
        ask Work
        > read a
        call read a
        > ok text
        ask Work
        > read a
        ask Work
            c0 read: Not called again: the same call has been made, see the result of `c0`. Use that,… (104 characters)
        > read a
        ask Work
            c0 read: Not called again: the same call has been made, see the result of `c0`. Use that,… (104 characters)
        > read a
        ask LastTurn, has to submit
            c0 read: Not called again: the same call has been made, see the result of `c0`. Use that,… (104 characters)
            user: You are repeating calls that bring nothing new. This is your last turn: submit y… (156 characters)
        > "I do not know."
        stop Stuck
    "#]]);
}

#[test]
fn cycle_of_failing_calls_is_refused() {
    case().check(expect![[r#"
        ask Work
        > read a
        call read a
        > sorry no such file
        ask Work
        > grep x
        call grep x
        > sorry nothing
        ask Work
        > read a
        call read a
        > sorry no such file
        ask Work
        > grep x
        ask Work
            c0 grep: Not called: you are going in a circle, and the same calls will bring the same re… (129 characters)
        > submit done
        stop Answered("done")
    "#]]);
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
    case().check(expect![[r#"
        ask Work
        > read a
        call read a
        > ok one
        ask Work
        > grep x
        call grep x
        > changed x is y
        ask Work
        > read a
        call read a
        > ok two
        ask Work
        > submit done
        stop Answered("done")
    "#]]);
}

#[test]
fn new_call_resets_the_stuck_counter() {
    case().check(expect![[r#"
        ask Work
        > read a
        call read a
        > ok text
        ask Work
        > read a
        ask Work
            c0 read: Not called again: the same call has been made, see the result of `c0`. Use that,… (104 characters)
        > read a
        ask Work
            c0 read: Not called again: the same call has been made, see the result of `c0`. Use that,… (104 characters)
        > read b
        call read b
        > ok text
        ask Work
        > read a
        ask Work
            c0 read: Not called again: the same call has been made, see the result of `c0`. Use that,… (104 characters)
        > submit done
        stop Answered("done")
    "#]]);
}
