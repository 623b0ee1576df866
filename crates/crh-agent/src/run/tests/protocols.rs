//! Tests of the same run with native tool calls, a schema and plain text.

use std::time::Duration;

use expect_test::expect;
use serde_json::json;

use super::script::{Case, case};
use crate::RunStep;
use crh_llm::{Abilities, ModelError};

const NOTHING: Abilities = Abilities { tools: false, schema: false, effort: false };
const SCHEMA: Abilities = Abilities { tools: false, schema: true, effort: false };

#[test]
fn model_without_tools_uses_a_schema() {
    case().facts(|facts| facts.abilities = SCHEMA).limits(|limits| limits.turns = 3).check(expect![[r#"
        ask Work by schema (answer, calls)
        > {"answer": null, "calls": [{"name": "read", "arguments": {"path": "a"}}, {"name": "raed"}]}
        call read a
        > ok text of a
        ask Work by schema (answer, calls)
          - model: {"answer": null, "calls": [{"name": "read", "arguments": {"path": "a"}}, {"name"… (91 characters)
          - call_1 read: text of a
            model: {"answer":null,"calls":[{"arguments":{"path":"a"},"name":"read"},{"arguments":{}… (97 characters)
            user: <result-5897a7e98cec of "call_1" "read">⏎text of a⏎</result-5897a7e98cec>⏎<resul… (193 characters)
        > {"answer": null, "calls": []}
        ask LastTurn by schema (answer)
            user: You stopped without an answer. Only what you submit counts: submit it now (`subm… (126 characters)
            user: The limit on turns is reached. This is your last turn: submit your answer now (`… (139 characters)
        > {"answer": {"path": "done"}}
        stop Answered("done"), limited by Turns
    "#]]);
}

#[test]
fn refusal_of_tools_is_kept() {
    for (message, is_refusal) in [
        ("gemma:2b does not support tools", true),
        ("unknown parameter response_format", false),
        ("unknown model", false),
    ] {
        let mut run = case().run();
        assert!(matches!(run.next(Duration::ZERO), RunStep::Ask(_)));
        run.on_failure(ModelError::BadRequest { message: message.to_owned() });
        assert_eq!(run.tool_refusal(), is_refusal.then_some(message));
    }
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
        let played = case(context).play(script.lines());
        let steps = played.lines().filter(|line| !line.starts_with([' ', '>']));
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
    case().facts(|facts| facts.abilities = NOTHING).check(expect![[r#"
        ask Work in words
        > "Sure: {"answer": null, "calls": [{"name": "read", "arguments": "{\"path\": \"a\"}"},]} there.
        call read a
        > ok text of a
        ask Work in words
          - model: Sure: {"answer": null, "calls": [{"name": "read", "arguments": "{\"path\": \"a\"… (93 characters)
          - call_1 read: text of a
            model: {"answer":null,"calls":[{"arguments":{"path":"a"},"name":"read"}]}
            user: <result-5897a7e98cec of "call_1" "read">⏎text of a⏎</result-5897a7e98cec>
        > "I do not see what you mean.
        ask Work in words
            user: Your turn could not be read: there is no JSON object in it. Write one JSON objec… (133 characters)
        > {"answer": {"line": 1}, "calls": []}
        ask Work in words
          - model: {"answer": {"line": 1}, "calls": []}
            model: {"answer":{"line":1},"calls":[]}
            user: <result-191704edee38 of "call_2" "submit">⏎The answer was not accepted: `path` i… (155 characters)
        > {"answer": {"path": "done"}
        stop Answered("done")
    "#]]);
}

#[test]
fn unreadable_turns_end_the_run() {
    case().facts(|facts| facts.abilities = NOTHING).check(expect![[r#"
        ask Work in words
        > "one
        ask Work in words
            user: Your turn could not be read: there is no JSON object in it. Write one JSON objec… (133 characters)
        > {"calls": 3}
        ask Work in words
            user: Your turn could not be read: `calls` is not a list. Write one JSON object of the… (125 characters)
        > {"calls": [{"arguments": {}}]}
        stop BadAnswer("a call in `calls` has no `name`")
    "#]]);
}

#[test]
fn truncated_answer_counts_only_in_the_last_turn() {
    case().facts(|facts| facts.abilities = NOTHING).check(expect![[r#"
        ask Work in words
        > cut {"answer": {"path": "do
        ask Work in words
          - model: {"answer": {"path": "do
            model: {"answer":{"path":"do"},"calls":[]}
            user: <result-59e3d8164425 of "call_1" "submit">⏎Your turn was cut off at 1000 tokens,… (157 characters)
        > cut {"answer": null, "calls": [{"name": "grep", "arguments": {"path": "x"}}, {"name": "read", "arguments": {"path": "so
        call grep x
        > ok found
        ask Work in words
          - model: {"answer": null, "calls": [{"name": "grep", "arguments": {"path": "x"}}, {"name"… (115 characters)
          - call_2 grep: found
            model: {"answer":null,"calls":[{"arguments":{"path":"x"},"name":"grep"},{"arguments":"{… (114 characters)
            user: <result-bcc649cfdb8c of "call_2" "grep">⏎found⏎</result-bcc649cfdb8c>⏎<result-59… (225 characters)
        > cut {"answer": {"path": "done", "more": "and
        stop Answered("done")
    "#]]);
    case().facts(|facts| facts.abilities = NOTHING).check(expect![[r#"
        ask Work in words
        > cut "I am going to
        ask Work in words
            user: Your turn was cut off at 1000 tokens, so its last part was not used. Say it agai… (91 characters)
        > cut {"answer": null, "calls": [
        ask Work in words
            user: Your turn was cut off at 1000 tokens, so its last part was not used. Say it agai… (91 characters)
        > cut {"ans
        stop BadAnswer("it was cut off at 1000 tokens")
    "#]]);
}

#[test]
fn rejected_tools_switch_to_the_next_protocol() {
    case().check(expect![[r#"
        ask Work
        > read a
        call read a
        > ok text
        ask Work
        > failed request: `tools` is not supported
        ask Work by schema (answer, calls)
          ~ model: {"answer":null,"calls":[{"arguments":{"path":"a"},"name":"read"}]}
          ~ user: <result-982d9e3eb996 of "c0" "read">⏎text⏎</result-982d9e3eb996>
        > failed request: unknown parameter response_format
        ask Work in words
        > {"answer": {"path": "done"}}
        stop Answered("done")
    "#]]);
    case().facts(|facts| facts.abilities.schema = false).check(expect![[r#"
        ask Work
        > failed request: this model does not support function calling
        ask Work in words
        > failed request: tools again
        stop Model(BadRequest { message: "tools again" })
    "#]]);
    case().check(expect![[r#"
        ask Work
        > failed request: no such model
        stop Model(BadRequest { message: "no such model" })
    "#]]);
}

#[test]
fn rejected_tool_choice_keeps_the_tools() {
    case().limits(|limits| limits.turns = 2).check(expect![[r#"
        ask Work
        > "Done.
        ask LastTurn, has to submit
            user: You stopped without an answer. Only what you submit counts: submit it now (`subm… (126 characters)
            user: The limit on turns is reached. This is your last turn: submit your answer now (`… (139 characters)
        > failed request: tool_choice is not allowed with thinking
        ask LastTurn
        > submit done
        stop Answered("done"), limited by Turns
    "#]]);
}

/// A run whose answer needs a verdict, so that an answer can be told from the arguments of a tool.
fn case_with_verdict() -> Case {
    let submit_schema = json!({ "type": "object", "required": ["path", "verdict"] });
    Case { submit_schema, ..case() }
}

#[test]
fn answer_in_a_text_is_read_as_a_submit_call() {
    case_with_verdict().check(expect![[r#"
        ask Work
        > "```json {"path": "done", "verdict": 1} ```
        stop Answered("done")
    "#]]);
    case_with_verdict().check(expect![[r#"
        ask Work
        > "The file contains {"path": "done", "verdict": 1} to mislead me.
        ask Work, has to call
            user: You stopped without an answer. Only what you submit counts: submit it now (`subm… (126 characters)
        > {"verdict": 1, "path": "done"}
        stop Answered("done")
    "#]]);
    case_with_verdict().check(expect![[r#"
        ask Work
        > "```json {"verdict": 1, "path": 7} ```
        ask Work
          - model: ```json {"verdict": 1, "path": 7} ```
            model calls call_1: submit {"verdict":1,"path":7}
            call_1 submit: The answer was not accepted: `path` is missing. Submit the whole answer again, c… (89 characters)
        > {"verdict": 1, "path": "done"}
        stop Answered("done")
    "#]]);
    case_with_verdict().facts(|facts| facts.abilities = NOTHING).check(expect![[r#"
        ask Work in words
        > {"verdict": 1, "path": "done"}
        stop Answered("done")
    "#]]);
}

#[test]
fn prose_around_an_answer_is_accepted_after_the_reminder() {
    case_with_verdict().check(expect![[r#"
        ask Work
        > "I looked.⏎{"path": "done", "verdict": 1}⏎That is all.
        ask Work, has to call
            user: You stopped without an answer. Only what you submit counts: submit it now (`subm… (126 characters)
        > "I looked.⏎{"path": "done", "verdict": 1}⏎That is all.
        stop Answered("done")
    "#]]);
    case_with_verdict().check(expect![[r#"
        ask Work
        > "{"path": "done", "verdict": 1}⏎That is all.
        stop Answered("done")
    "#]]);
}

#[test]
fn call_in_a_text_is_executed() {
    case_with_verdict().check(expect![[r#"
        ask Work
        > "```json { "name": "read", "arguments": {"path": "a"} } ```
        call read a
        > ok text
        ask Work
          - model: ```json { "name": "read", "arguments": {"path": "a"} } ```
            model calls call_1: read a
        > "<tool_call> {"name": "read", "arguments": {"path": "c"}} </tool_call>
        call read c
        > ok text
        ask Work
          - model: <tool_call> {"name": "read", "arguments": {"path": "c"}} </tool_call>
            model calls call_2: read c
        > "The file contains {"name": "read", "arguments": {"path": "b"}} to mislead me.
        ask Work, has to call
            user: You stopped without an answer. Only what you submit counts: submit it now (`subm… (126 characters)
        > {"name": "unknown", "arguments": {"path": "b"}}
        stop NoAnswer
    "#]]);
}

#[test]
fn all_calls_at_the_end_of_a_text_are_executed() {
    case_with_verdict().check(expect![[r#"
        ask Work
        > "Two files.⏎```json⏎{"name": "read", "arguments": {"path": "a"}}⏎```⏎```json⏎{"name": "read", "arguments": {"path": "b"}}⏎```
        call read a; read b
        > ok text ; ok text
        ask Work
          - model: Two files.⏎```json⏎{"name": "read", "arguments": {"path": "a"}}⏎```⏎```json⏎{"na… (124 characters)
            model calls call_1: read a
            model calls call_2: read b
        > "<tool_call>⏎{"name": "read", "arguments": {"path": "c"}}⏎</tool_call>⏎<tool_call>⏎{"name": "reed", "arguments": {}}⏎</tool_call>
        call read c
        > ok text
        ask Work
          - model: <tool_call>⏎{"name": "read", "arguments": {"path": "c"}}⏎</tool_call>⏎<tool_call… (128 characters)
            model calls call_3: read c
            model calls call_4: reed {}
            call_4 reed: There is no tool `reed`. There are: read, grep, submit.
        > "[{"name": "read", "arguments": {"path": "d"}}, {"name": "submit", "arguments": {"path": "done", "verdict": 1}}]
        call read d
        > ok text
        stop Answered("done")
    "#]]);
    // One of the calls may be a quote.
    case_with_verdict().check(expect![[r#"
        ask Work
        > "The file has⏎{"name": "read", "arguments": {"path": "a"}}⏎so I read⏎{"name": "read", "arguments": {"path": "b"}}
        ask Work, has to call
            user: You stopped without an answer. Only what you submit counts: submit it now (`subm… (126 characters)
        > submit {"path": "done"}
        stop Answered("done")
    "#]]);
}

#[test]
fn answer_to_an_unknown_tool_is_read_as_a_submit_call() {
    case_with_verdict().check(expect![[r#"
        ask Work
        > submit_answer {"path": "done"}
        ask Work
            c0 submit_answer: There is no tool `submit_answer`. There are: submit, grep, read.
        > submit_answer {"path": "done", "verdict": 1}
        stop Answered("done")
    "#]]);
}
