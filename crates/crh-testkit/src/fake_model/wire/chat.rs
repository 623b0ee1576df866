//! OpenAI's Chat Completions.

use serde_json::{Value, json};

use super::{
    CREATED, Data, Event, ReplyContext, failure_response, in_turn, pieces, with_calls_together,
};
use crate::fake_model::count::Tokens;
use crate::fake_model::script::{Answer, Ending, Part};

pub(super) fn events(answer: &Answer, context: &ReplyContext<'_>) -> Vec<Event> {
    let mut events = vec![delta(context, json!({ "role": "assistant", "content": "" }))];
    let mut call_count = 0;
    for parts in with_calls_together(&answer.parts) {
        match parts {
            [Part::Thinking { text, .. }] => {
                events.extend(text_deltas(context, "reasoning_content", text));
            }
            [Part::Text(text)] => events.extend(text_deltas(context, "content", text)),
            [Part::Refusal(text)] => events.extend(text_deltas(context, "refusal", text)),
            [Part::Sealed(_)] => {}
            calls => {
                events.extend(call_deltas(context, calls, call_count));
                call_count += calls.len();
            }
        }
    }
    if let Some((failure, _)) = &answer.failure {
        events.push(Event::data(failure_response(failure, context).body));
        return events;
    }
    let reason = match answer.ending {
        Ending::Natural if call_count > 0 => "tool_calls",
        Ending::Natural => "stop",
        Ending::Length | Ending::Window => "length",
        Ending::Refused => "content_filter",
    };
    events.push(chunk(context, json!([choice(json!({}), json!(reason))])));
    events.extend(context.usage.as_ref().map(|tokens| usage_chunk(context, tokens)));
    events.push(Event { name: None, data: Data::Text("[DONE]".to_owned()) });
    events
}

pub(super) fn noise(context: &ReplyContext<'_>) -> Vec<Event> {
    vec![
        delta(context, json!({})),
        delta(context, json!({ "content": "" })),
        delta(context, json!({ "content": null, "tool_calls": [] })),
        chunk(context, json!([])),
        Event {
            name: Some("x.unknown".to_owned()),
            data: Data::Json(json!({ "object": "x.unknown" })),
        },
    ]
}

fn text_deltas(context: &ReplyContext<'_>, field: &str, text: &str) -> Vec<Event> {
    pieces(text, context.pieces)
        .into_iter()
        .map(|piece| delta(context, json!({ field: piece })))
        .collect()
}

fn call_deltas(context: &ReplyContext<'_>, calls: &[Part], before: usize) -> Vec<Event> {
    let mut events = Vec::new();
    let mut texts = Vec::new();
    for (index, part) in calls.iter().enumerate() {
        let Part::Call { name, arguments } = part else { continue };
        let index = before + index;
        let call = json!({
            "index": index,
            "id": format!("call_{}_{index}", context.number),
            "type": "function",
            "function": { "name": name, "arguments": "" },
        });
        events.push(delta(context, json!({ "tool_calls": [call] })));
        texts.push(arguments.as_str());
    }
    for (index, piece) in in_turn(&texts, context.pieces) {
        let call = json!({ "index": before + index, "function": { "arguments": piece } });
        events.push(delta(context, json!({ "tool_calls": [call] })));
    }
    events
}

fn delta(context: &ReplyContext<'_>, delta: Value) -> Event {
    chunk(context, json!([choice(delta, Value::Null)]))
}

fn choice(delta: Value, finish_reason: Value) -> Value {
    json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason })
}

fn chunk(context: &ReplyContext<'_>, choices: Value) -> Event {
    Event::data(json!({
        "id": format!("chatcmpl-{}", context.number),
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": context.model,
        "choices": choices,
    }))
}

fn usage_chunk(context: &ReplyContext<'_>, tokens: &Tokens) -> Event {
    let mut event = chunk(context, json!([]));
    if let Data::Json(json) = &mut event.data {
        json["usage"] = json!({
            "prompt_tokens": tokens.input,
            "completion_tokens": tokens.output,
            "total_tokens": tokens.input + tokens.output,
            "prompt_tokens_details": { "cached_tokens": tokens.cached },
            "completion_tokens_details": { "reasoning_tokens": tokens.thoughts },
        });
    }
    event
}
