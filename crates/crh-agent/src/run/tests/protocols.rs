//! Tests of the same run with native tool calls, a schema and plain text.

use expect_test::expect;
use serde_json::json;

use super::script::{Case, case};
use crh_llm::Abilities;

const NOTHING: Abilities = Abilities { tools: false, schema: false, effort: false };
const SCHEMA: Abilities = Abilities { tools: false, schema: true, effort: false };

#[test]
fn model_without_tools_uses_a_schema() {
    case().facts(|facts| facts.abilities = SCHEMA).limits(|limits| limits.turns = 3).check(
        r#"
        {"answer": null, "calls": [{"name": "read", "arguments": {"path": "a"}}, {"name": "raed"}]}
        ok text of a
        {"answer": null, "calls": []}
        {"answer": {"path": "done"}}
        "#,
        expect![[r#"
            ask Work by schema (answer, calls)
                user: TASK
            call read a
            ask Work by schema (answer, calls)
                model: {"answer":null,"calls":[{"arguments":{"path":"a"},"name":"read"},{"arguments":{},"name":"raed"}]}
                user: <result-5897a7e98cec of "call_1" "read">⏎text of a⏎</result-5897a7e98cec>⏎<result-e49928a36972 of "call_2" "raed">⏎There is no tool `raed`. There are:… (193 characters)
            ask LastTurn by schema (answer)
                model: {"answer": null, "calls": []}
                user: You stopped without an answer. Only what you submit counts: submit it now (`submit`), or go on with the tools and submit then.
                user: The limit on turns is reached. This is your last turn: submit your answer now (`submit`), with what you know. No other tool will be called.
            stop Answered("done"), limited by Turns
        "#]],
    );
}

/// The prompt describes tools and answer already. In a small context, the schema would repeat them.
#[test]
fn schema_is_left_out_if_the_context_is_small() {
    const ANSWER: &str = r#"{"answer": {"path": "done"}}"#;
    let properties: serde_json::Map<String, serde_json::Value> =
        (0..60).map(|number| (format!("property_{number}"), json!({ "type": "string" }))).collect();
    let submit_schema = json!({ "type": "object", "properties": properties });
    let case = |context: u64| {
        let case = case().facts(|facts| (facts.context, facts.abilities) = (context, SCHEMA));
        Case { submit_schema: submit_schema.clone(), ..case }
    };
    let steps = |context: u64, script: &str| {
        let played = case(context).play(script);
        let steps = played.lines().filter(|line| !line.starts_with(' '));
        steps.map(str::to_owned).collect::<Vec<_>>().join("; ")
    };
    expect![[r#"ask Work by schema (answer, calls); stop Answered("done")"#]]
        .assert_eq(&steps(20_000, ANSWER));
    expect![[r#"ask Work in words; stop Answered("done")"#]].assert_eq(&steps(1_200, ANSWER));
    expect!["stop ContextFull(ContextShortage { needed: 871, context: 500 })"]
        .assert_eq(&steps(500, ""));
}

#[test]
fn model_without_tools_and_schema_uses_text() {
    case().facts(|facts| facts.abilities = NOTHING).check(
        r#"
        "Sure: {"answer": null, "calls": [{"name": "read", "arguments": "{\"path\": \"a\"}"},]} there.
        ok text of a
        "I do not see what you mean.
        {"answer": {"line": 1}, "calls": []}
        {"answer": {"path": "done"}
        "#,
        expect![[r#"
            ask Work in words
                user: TASK
            call read a
            ask Work in words
                model: {"answer":null,"calls":[{"arguments":{"path":"a"},"name":"read"}]}
                user: <result-5897a7e98cec of "call_1" "read">⏎text of a⏎</result-5897a7e98cec>
            ask Work in words
                model: I do not see what you mean.
                user: Your turn could not be read: there is no JSON object in it. Write one JSON object of the form in your instructions, and nothing else.
            ask Work in words
                model: {"answer":{"line":1},"calls":[]}
                user: <result-191704edee38 of "call_2" "submit">⏎The answer was not accepted: `path` is missing. Submit the whole answer again, corrected.⏎</result-191704ed… (155 characters)
            stop Answered("done")
        "#]],
    );
}

#[test]
fn unreadable_turns_end_the_run() {
    case().facts(|facts| facts.abilities = NOTHING).check(
        r#"
        "one
        {"calls": 3}
        {"calls": [{"arguments": {}}]}
        "#,
        expect![[r#"
            ask Work in words
                user: TASK
            ask Work in words
                model: one
                user: Your turn could not be read: there is no JSON object in it. Write one JSON object of the form in your instructions, and nothing else.
            ask Work in words
                model: {"calls": 3}
                user: Your turn could not be read: `calls` is not a list. Write one JSON object of the form in your instructions, and nothing else.
            stop BadAnswer("a call in `calls` has no `name`")
        "#]],
    );
}

#[test]
fn truncated_answer_counts_only_in_the_last_turn() {
    case().facts(|facts| facts.abilities = NOTHING).check(
        r#"
        cut {"answer": {"path": "do
        cut {"answer": null, "calls": [{"name": "grep", "arguments": {"path": "x"}}, {"name": "read", "arguments": {"path": "so
        ok found
        cut {"answer": {"path": "done", "more": "and
        "#,
        expect![[r#"
            ask Work in words
                user: TASK
            ask Work in words
                model: {"answer":{"path":"do"},"calls":[]}
                user: <result-59e3d8164425 of "call_1" "submit">⏎Your turn was cut off at 1000 tokens, so its last part was not used. Say it again, shorter.⏎</result-59e3d8… (157 characters)
            call grep x
            ask Work in words
                model: {"answer":null,"calls":[{"arguments":{"path":"x"},"name":"grep"},{"arguments":"{\"path\":\"so\"}","name":"read"}]}
                user: <result-bcc649cfdb8c of "call_2" "grep">⏎found⏎</result-bcc649cfdb8c>⏎<result-59e3d8164425 of "call_3" "read">⏎Your turn was cut off at 1000 tokens, s… (225 characters)
            stop Answered("done")
        "#]],
    );
    case().facts(|facts| facts.abilities = NOTHING).check(
        r#"
        cut "I am going to
        cut {"answer": null, "calls": [
        cut {"ans
        "#,
        expect![[r#"
            ask Work in words
                user: TASK
            ask Work in words
                model: I am going to
                user: Your turn was cut off at 1000 tokens, so its last part was not used. Say it again, shorter.
            ask Work in words
                model: {"answer": null, "calls": [
                user: Your turn was cut off at 1000 tokens, so its last part was not used. Say it again, shorter.
            stop BadAnswer("it was cut off at 1000 tokens")
        "#]],
    );
}

#[test]
fn rejected_tools_switch_to_the_next_protocol() {
    case().check(
        r#"
        read a
        ok text
        failed request: `tools` is not supported
        failed request: unknown parameter response_format
        {"answer": {"path": "done"}}
        "#,
        expect![[r#"
            ask Work
                user: TASK
            call read a
            ask Work
                model calls c0: read a
                c0 read: text
            ask Work by schema (answer, calls)
              ~ model: {"answer":null,"calls":[{"arguments":{"path":"a"},"name":"read"}]}
              ~ user: <result-982d9e3eb996 of "c0" "read">⏎text⏎</result-982d9e3eb996>
            ask Work in words
            stop Answered("done")
        "#]],
    );
    case().facts(|facts| facts.abilities.schema = false).check(
        r#"
        failed request: this model does not support function calling
        failed request: tools again
        "#,
        expect![[r#"
            ask Work
                user: TASK
            ask Work in words
            stop Model(BadRequest { message: "tools again" })
        "#]],
    );
    case().check(
        "failed request: no such model",
        expect![[r#"
        ask Work
            user: TASK
        stop Model(BadRequest { message: "no such model" })
    "#]],
    );
}

#[test]
fn rejected_tool_choice_keeps_the_tools() {
    case().limits(|limits| limits.turns = 2).check(
        r#"
        "Done.
        failed request: tool_choice is not allowed with thinking
        submit done
        "#,
        expect![[r#"
            ask Work
                user: TASK
            ask LastTurn, has to submit
                model: Done.
                user: You stopped without an answer. Only what you submit counts: submit it now (`submit`), or go on with the tools and submit then.
                user: The limit on turns is reached. This is your last turn: submit your answer now (`submit`), with what you know. No other tool will be called.
            ask LastTurn
            stop Answered("done"), limited by Turns
        "#]],
    );
}

/// A run whose answer needs a verdict, so that an answer can be told from the arguments of a tool.
fn case_with_verdict() -> Case {
    let submit_schema = json!({ "type": "object", "required": ["path", "verdict"] });
    Case { submit_schema, ..case() }
}

#[test]
fn answer_in_a_text_is_read_as_a_submit_call() {
    case_with_verdict().check(
        r#"
        "My answer: ```json {"path": "done", "verdict": 1} ``` I hope it helps.
        "#,
        expect![[r#"
            ask Work
                user: TASK
            stop Answered("done")
        "#]],
    );
    case_with_verdict().check(
        r#"
        "```json {"verdict": 1, "path": 7} ```
        {"verdict": 1, "path": "done"}
        "#,
        expect![[r#"
            ask Work
                user: TASK
            ask Work
                model calls call_1: submit {"verdict":1,"path":7}
                call_1 submit: The answer was not accepted: `path` is missing. Submit the whole answer again, corrected.
            stop Answered("done")
        "#]],
    );
    case_with_verdict().facts(|facts| facts.abilities = NOTHING).check(
        r#"
        {"verdict": 1, "path": "done"}
        "#,
        expect![[r#"
            ask Work in words
                user: TASK
            stop Answered("done")
        "#]],
    );
}

#[test]
fn answer_to_an_unknown_tool_is_read_as_a_submit_call() {
    case_with_verdict().check(
        r#"
        submit_answer {"path": "done"}
        submit_answer {"path": "done", "verdict": 1}
        "#,
        expect![[r#"
            ask Work
                user: TASK
            ask Work
                model calls c0: submit_answer done
                c0 submit_answer: There is no tool `submit_answer`. There are: submit, grep, read.
            stop Answered("done")
        "#]],
    );
}

#[test]
fn model_that_writes_prose_is_reminded_and_then_fails() {
    case_with_verdict().check(
        r#"
        "The change looks fine to me.
        "As I said, it is fine.
        "#,
        expect![[r#"
            ask Work
                user: TASK
            ask Work, has to call
                model: The change looks fine to me.
                user: You stopped without an answer. Only what you submit counts: submit it now (`submit`), or go on with the tools and submit then.
            stop NoAnswer
        "#]],
    );
}
