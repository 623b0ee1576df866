//! Properties of every run, for any behaviour of the model.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use super::script::{Case, case};
use crate::{LimitKind, RunStep, ToolOutcome};
use crh_llm::{
    Abilities, CallArguments, Message, ModelError, ModelReply, ModelRequest, StopCause, TokenUsage,
    ToolCall, Turn, TurnPart,
};

/// An event for the driver. Events that do not fit the step are converted.
#[derive(Debug, Clone)]
enum ScriptEvent {
    Said { turn: Turn, stop: StopCause, usage: Option<TokenUsage> },
    Failed(ModelError),
    Refused,
}

fn part() -> impl Strategy<Value = TurnPart> {
    let arguments = prop_oneof![
        4 => (0..4_u8).prop_map(|n| CallArguments::Json(json!({ "path": format!("f{n}") }))),
        1 => Just(CallArguments::Json(json!({}))),
        1 => Just(CallArguments::Malformed("{\"pa".to_owned())),
    ];
    let name =
        prop_oneof![6 => Just("read"), 3 => Just("grep"), 1 => Just("nope"), 1 => Just("submit")];
    let call = (name, arguments, 0..3_u8).prop_map(|(name, arguments, id)| {
        let id = if id == 0 { String::new() } else { format!("i{id}") };
        TurnPart::Call(ToolCall { id, name: name.to_owned(), arguments, signatures: Vec::new() })
    });
    let object = (0..4_u8, any::<bool>()).prop_map(|(n, is_cut_off)| {
        let mut text = json!({ "answer": null, "calls": [{ "name": "read", "arguments": { "path": format!("f{n}") } }] }).to_string();
        text.truncate(if is_cut_off { text.len() - 5 } else { text.len() });
        TurnPart::Text(text)
    });
    prop_oneof![6 => call, 2 => object, 1 => Just(TurnPart::Text("hm".to_owned()))]
}

fn script_event() -> impl Strategy<Value = ScriptEvent> {
    let stop = prop_oneof![4 => Just(StopCause::Calls), 1 => Just(StopCause::Length), 1 => Just(StopCause::Done)];
    let usage =
        prop::option::of((0..3_000_u64, 0..1_000_u64).prop_map(|(input, output)| TokenUsage {
            input,
            output,
            ..TokenUsage::default()
        }));
    let reply_event = (prop::collection::vec(part(), 0..4), stop, usage)
        .prop_map(|(parts, stop, usage)| ScriptEvent::Said { turn: Turn { parts }, stop, usage });
    let message = "about tools".to_owned();
    prop_oneof![
        20 => reply_event,
        1 => Just(ScriptEvent::Failed(ModelError::BadRequest { message: message.clone() })),
        1 => Just(ScriptEvent::Failed(ModelError::ContextFull { message })),
        1 => Just(ScriptEvent::Refused),
    ]
}

/// Asserts what vendors require: each call has one result, in order, right after it.
fn hold_calls_to_results(request: &ModelRequest) {
    let messages = &request.conversation.messages;
    for (index, message) in messages.iter().enumerate() {
        match message {
            Message::Assistant(turn) => {
                let calls: Vec<_> = turn.calls().map(|call| (&call.id, &call.name)).collect();
                let distinct: BTreeMap<_, _> = calls.iter().copied().collect();
                assert_eq!(distinct.len(), calls.len(), "ids of a turn differ");
                let results: Vec<_> = match messages.get(index + 1) {
                    Some(Message::Results(results)) => {
                        results.iter().map(|result| (&result.call_id, &result.name)).collect()
                    }
                    Some(Message::User(_) | Message::Assistant(_)) | None => Vec::new(),
                };
                assert_eq!(calls, results);
            }
            Message::Results(_) => assert!(matches!(messages[index - 1], Message::Assistant(_))),
            Message::User(_) => {}
        }
    }
}

/// Plays events until the run stops. Returns the number of replies and tool calls.
fn play(case: &Case, script: &[ScriptEvent], result: usize) -> (u32, u32) {
    let mut run = case.run();
    let (mut replies, mut calls) = (0, 0);
    let mut before: Option<ModelRequest> = None;
    for (index, news) in script.iter().cycle().take(400).enumerate() {
        match run.next(Duration::from_secs(index as u64)) {
            RunStep::Stop(_) => {
                run.on_reply(ModelReply {
                    turn: Turn::text("x"),
                    stop: StopCause::Done,
                    usage: None,
                    served: None,
                });
                assert!(
                    matches!(run.next(Duration::ZERO), RunStep::Stop(_)),
                    "nothing is asked after the end"
                );
                return (replies, calls);
            }
            RunStep::CallTools(asked) => {
                calls += u32::try_from(asked.len()).unwrap();
                let outcome = |(n, _)| match (index + n) % 3 {
                    0 => ToolOutcome::Failed("no".to_owned()),
                    _ => ToolOutcome::Answered("x".repeat(result)),
                };
                run.on_tool_results(asked.iter().enumerate().map(outcome).collect());
            }
            RunStep::Ask(ask) => {
                hold_calls_to_results(&ask.request);
                if let Some(before) =
                    before.filter(|before| result == 1 && before.tools == ask.request.tools)
                {
                    let messages = &before.conversation.messages;
                    assert!(
                        ask.request.conversation.messages.starts_with(messages),
                        "only added to"
                    );
                    // Without tool calls, the system prompt describes the tools. A run may leave
                    // out tools if it exceeds the context.
                    let has_same_system =
                        before.conversation.system == ask.request.conversation.system;
                    assert!(has_same_system || ask.request.tools.is_empty());
                }
                before = Some(ask.request);
                match news.clone() {
                    ScriptEvent::Said { turn, stop, usage } => {
                        replies += 1;
                        run.on_reply(ModelReply { turn, stop, usage, served: None });
                    }
                    ScriptEvent::Failed(error) => {
                        before = None;
                        run.on_failure(error);
                    }
                    ScriptEvent::Refused => run.on_refusal(LimitKind::Money),
                }
            }
        }
    }
    panic!("the run does not end");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn every_run_ends_within_its_limits(
        script in prop::collection::vec(script_event(), 1..30),
        turns in 0..12_u32,
        tool_calls in 0..12_u32,
        context in 2_000..20_000_u64,
        result in prop_oneof![Just(1_usize), Just(3_000)],
        tools in any::<bool>(),
        schema in any::<bool>(),
    ) {
        let case = case()
            .limits(|limits| (limits.turns, limits.tool_calls) = (turns, tool_calls))
            .facts(|facts| (facts.context, facts.abilities) = (context, Abilities { tools, schema, effort: false }));
        let (replies, calls) = play(&case, &script, result);
        prop_assert!(replies <= turns);
        prop_assert!(calls <= tool_calls);
    }
}
