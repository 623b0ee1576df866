//! OpenAI's Chat Completions.

use serde_json::{Value, json};

use super::{CREATED, Data, Event, Told, failed, in_turn, pieces, with_calls_together};
use crate::fake_model::count::Tokens;
use crate::fake_model::script::{Answer, Ending, Part};

pub(super) fn events(answer: &Answer, told: &Told<'_>) -> Vec<Event> {
    let mut events = vec![delta(told, json!({ "role": "assistant", "content": "" }))];
    let mut called = 0;
    for parts in with_calls_together(&answer.parts) {
        match parts {
            [Part::Thinking { text, .. }] => {
                events.extend(text_deltas(told, "reasoning_content", text));
            }
            [Part::Text(text)] => events.extend(text_deltas(told, "content", text)),
            [Part::Refusal(text)] => events.extend(text_deltas(told, "refusal", text)),
            [Part::Sealed(_)] => {}
            calls => {
                events.extend(call_deltas(told, calls, called));
                called += calls.len();
            }
        }
    }
    if let Some((failure, _)) = &answer.failure {
        events.push(Event::data(failed(failure, told).body));
        return events;
    }
    let reason = match answer.ending {
        Ending::Natural if called > 0 => "tool_calls",
        Ending::Natural => "stop",
        Ending::Length | Ending::Window => "length",
        Ending::Refused => "content_filter",
    };
    events.push(chunk(told, json!([choice(json!({}), json!(reason))])));
    events.extend(told.usage.as_ref().map(|tokens| usage_chunk(told, tokens)));
    events.push(Event { name: None, data: Data::Text("[DONE]".to_owned()) });
    events
}

pub(super) fn noise(told: &Told<'_>) -> Vec<Event> {
    vec![
        delta(told, json!({})),
        delta(told, json!({ "content": "" })),
        delta(told, json!({ "content": null, "tool_calls": [] })),
        chunk(told, json!([])),
        Event {
            name: Some("x.unknown".to_owned()),
            data: Data::Json(json!({ "object": "x.unknown" })),
        },
    ]
}

fn text_deltas(told: &Told<'_>, field: &str, text: &str) -> Vec<Event> {
    pieces(text, told.pieces)
        .into_iter()
        .map(|piece| delta(told, json!({ field: piece })))
        .collect()
}

fn call_deltas(told: &Told<'_>, calls: &[Part], before: usize) -> Vec<Event> {
    let mut events = Vec::new();
    let mut texts = Vec::new();
    for (index, part) in calls.iter().enumerate() {
        let Part::Call { name, arguments } = part else { continue };
        let index = before + index;
        let call = json!({
            "index": index,
            "id": format!("call_{}_{index}", told.number),
            "type": "function",
            "function": { "name": name, "arguments": "" },
        });
        events.push(delta(told, json!({ "tool_calls": [call] })));
        texts.push(arguments.as_str());
    }
    for (index, piece) in in_turn(&texts, told.pieces) {
        let call = json!({ "index": before + index, "function": { "arguments": piece } });
        events.push(delta(told, json!({ "tool_calls": [call] })));
    }
    events
}

fn delta(told: &Told<'_>, delta: Value) -> Event {
    chunk(told, json!([choice(delta, Value::Null)]))
}

fn choice(delta: Value, finish_reason: Value) -> Value {
    json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason })
}

fn chunk(told: &Told<'_>, choices: Value) -> Event {
    Event::data(json!({
        "id": format!("chatcmpl-{}", told.number),
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": told.model,
        "choices": choices,
    }))
}

fn usage_chunk(told: &Told<'_>, tokens: &Tokens) -> Event {
    let mut event = chunk(told, json!([]));
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
