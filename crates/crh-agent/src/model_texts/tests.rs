use expect_test::expect;
use serde_json::json;

use super::*;

fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: "Does it.".to_owned(),
        schema: json!({"type": "object"}),
    }
}

/// Contains every text once, so that changes to model texts are visible.
#[test]
fn all_model_texts() {
    let tools = [tool("grep"), tool("read_file"), tool("ls")];
    let reasons = [
        LastTurnReason::Limit(LimitKind::Turns),
        LastTurnReason::Limit(LimitKind::ToolCalls),
        LastTurnReason::Limit(LimitKind::Tokens),
        LastTurnReason::Limit(LimitKind::Money),
        LastTurnReason::Limit(LimitKind::Wall),
        LastTurnReason::Stuck,
    ];
    let mut texts: Vec<String> = reasons.map(|reason| last_turn_notice(reason, "submit")).to_vec();
    texts.extend([
        reminder("submit"),
        rejected_answer("`line` is missing."),
        malformed_arguments("grep"),
        truncated_turn(4096),
        unreadable_turn("there is no JSON object in it"),
        unknown_tool("readfile", &tools, "submit"),
        repeated_call("call_3"),
        CALL_CYCLE.to_owned(),
        TOO_MANY_CALLS.to_owned(),
        ENOUGH_RESULTS.to_owned(),
        JOINED_ANSWER.to_owned(),
        rejected_answer(FAILED_CALL_BESIDE_ANSWER),
        trimmed_result("read_file", 80_000),
        instructions(&tools, &tool("submit")),
        instructions(&[], &tool("submit")),
    ]);
    expect![[r#"
        The limit on turns is reached. This is your last turn: submit your answer now (`submit`), with what you know. No other tool will be called.

        The limit on tool calls is reached. This is your last turn: submit your answer now (`submit`), with what you know. No other tool will be called.

        The limit on tokens is almost reached. This is your last turn: submit your answer now (`submit`), with what you know. No other tool will be called.

        The budget is almost spent. This is your last turn: submit your answer now (`submit`), with what you know. No other tool will be called.

        The time is almost up. This is your last turn: submit your answer now (`submit`), with what you know. No other tool will be called.

        You are repeating calls that bring nothing new. This is your last turn: submit your answer now (`submit`), with what you know. No other tool will be called.

        You stopped without an answer. Only what you submit counts: submit it now (`submit`), or go on with the tools and submit then.

        The answer was not accepted: `line` is missing. Submit the whole answer again, corrected.

        `grep` was not called: its arguments are not valid JSON. Call it again with valid JSON.

        Your turn was cut off at 4096 tokens, so its last part was not used. Say it again, shorter.

        Your turn could not be read: there is no JSON object in it. Write one JSON object of the form in your instructions, and nothing else.

        There is no tool `readfile`. There are: read_file, grep, ls, submit.

        Not called again: the same call has been made, see the result of `call_3`. Use that, or call something else.

        Not called: you are going in a circle, and the same calls will bring the same results. Try something else, or submit your answer.

        Not called: the limit on tool calls is reached.

        Not called: you had your turn with tools. Submit your answer now, with what you know.

        Read as one answer with the last call of this tool in your turn: see its result.

        The answer was not accepted: another call of the same turn failed, see its result. Submit the whole answer again, corrected.

        [80000 characters from `read_file` were taken out to make room. Call it again if you need them.]

        # How to answer

        Every turn of yours is one JSON object and nothing else:
        {"answer": null, "calls": [{"arguments": {…}, "name": "…"}]} to call tools, any number at once; their results follow in the next message.
        {"answer": {…}, "calls": []} when you are done. The answer ends your work.

        # Tools

        `grep`: Does it.
        JSON Schema: {"type":"object"}

        `read_file`: Does it.
        JSON Schema: {"type":"object"}

        `ls`: Does it.
        JSON Schema: {"type":"object"}

        # The answer

        `submit`: Does it.
        JSON Schema: {"type":"object"}

        # How to answer

        Your turn is one JSON object and nothing else: {"answer": {…}}

        # The answer

        `submit`: Does it.
        JSON Schema: {"type":"object"}"#]].assert_eq(&texts.join("\n\n"));
}

#[test]
fn long_tool_list_is_shortened() {
    let tool = |index: usize| ToolSpec {
        name: format!("t{index}"),
        description: String::new(),
        schema: json!({}),
    };
    let tools: Vec<_> = (0..50).map(tool).collect();
    assert!(
        unknown_tool("t7", &tools, "submit").starts_with("There is no tool `t7`. There are: t7, ")
    );
    assert!(unknown_tool("t7", &tools, "submit").ends_with(" and 11 more."));
    let text = unknown_tool("x", &tools[..2], "t1");
    assert_eq!(text.matches("t1").count(), 1, "{text}");
}
