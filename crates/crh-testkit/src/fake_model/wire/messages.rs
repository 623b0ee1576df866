//! Anthropic's Messages.

use serde_json::{Value, json};

use super::{Event, ReplyContext, failure_response, is_json, pieces};
use crate::fake_model::count::Tokens;
use crate::fake_model::script::{Answer, Ending, Part};

pub(super) fn events(answer: &Answer, context: &ReplyContext<'_>) -> Vec<Event> {
    let mut events = vec![start(context), Event::typed(json!({ "type": "ping" }))];
    for (index, part) in answer.parts.iter().enumerate() {
        events.extend(block(context, index, part, answer.ending));
    }
    if let Some((failure, _)) = &answer.failure {
        events.push(Event::typed(failure_response(failure, context).body));
        return events;
    }
    let has_refusal = answer.parts.iter().any(|part| matches!(part, Part::Refusal(_)));
    let has_call = answer.parts.iter().any(|part| matches!(part, Part::Call { .. }));
    let reason = match answer.ending {
        Ending::Natural if has_refusal => "refusal",
        Ending::Natural if has_call => "tool_use",
        Ending::Natural => "end_turn",
        Ending::Length => "max_tokens",
        Ending::Window => "model_context_window_exceeded",
        Ending::Refused => "refusal",
    };
    let mut end = json!({
        "type": "message_delta",
        "delta": { "stop_reason": reason, "stop_sequence": null },
    });
    if let Some(tokens) = &context.usage {
        end["usage"] = usage(tokens, tokens.output);
    }
    events.push(Event::typed(end));
    events.push(Event::typed(json!({ "type": "message_stop" })));
    events
}

pub(super) fn noise() -> Vec<Event> {
    vec![
        Event::typed(json!({ "type": "ping" })),
        Event::typed(json!({ "type": "x_unknown", "index": 0, "delta": { "type": "x_delta" } })),
    ]
}

fn start(context: &ReplyContext<'_>) -> Event {
    let mut message = json!({
        "id": format!("msg_{}", context.number),
        "type": "message",
        "role": "assistant",
        "model": context.model,
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
    });
    if let Some(tokens) = &context.usage {
        // The stream starts with one output token.
        let mut usage = usage(tokens, tokens.output.min(1));
        usage["cache_creation"] = json!({
            "ephemeral_5m_input_tokens": tokens.written,
            "ephemeral_1h_input_tokens": 0,
        });
        message["usage"] = usage;
    }
    Event::typed(json!({ "type": "message_start", "message": message }))
}

/// `input_tokens` does not include cached tokens in this format.
fn usage(tokens: &Tokens, output: u64) -> Value {
    json!({
        "input_tokens": tokens.input.saturating_sub(tokens.cached + tokens.written),
        "cache_creation_input_tokens": tokens.written,
        "cache_read_input_tokens": tokens.cached,
        "output_tokens": output,
    })
}

fn block(context: &ReplyContext<'_>, index: usize, part: &Part, ending: Ending) -> Vec<Event> {
    let begin = |block: Value| {
        let event =
            json!({ "type": "content_block_start", "index": index, "content_block": block });
        Event::typed(event)
    };
    let deltas = |kind: &str, field: &str, text: &str| -> Vec<Event> {
        let delta = |piece| json!({ "type": kind, field: piece });
        let event =
            |piece| json!({ "type": "content_block_delta", "index": index, "delta": delta(piece) });
        pieces(text, context.pieces).into_iter().map(|piece| Event::typed(event(piece))).collect()
    };
    let mut events = Vec::new();
    match part {
        Part::Thinking { text, signature } => {
            events.push(begin(json!({ "type": "thinking", "thinking": "", "signature": "" })));
            events.extend(deltas("thinking_delta", "thinking", text));
            events.extend(deltas("signature_delta", "signature", signature));
        }
        Part::Sealed(data) => {
            events.push(begin(json!({ "type": "redacted_thinking", "data": data })));
        }
        Part::Text(text) | Part::Refusal(text) => {
            events.push(begin(json!({ "type": "text", "text": "" })));
            events.extend(deltas("text_delta", "text", text));
        }
        Part::Call { name, arguments } => {
            let id = format!("toolu_{}_{index}", context.number);
            events.push(begin(json!({ "type": "tool_use", "id": id, "name": name, "input": {} })));
            let first_delta = json!({ "type": "input_json_delta", "partial_json": "" });
            events.push(Event::typed(
                json!({ "type": "content_block_delta", "index": index, "delta": first_delta }),
            ));
            events.extend(deltas("input_json_delta", "partial_json", arguments));
            if ending == Ending::Length && !is_json(arguments) {
                // A truncated call is never closed.
                return events;
            }
        }
    }
    events.push(Event::typed(json!({ "type": "content_block_stop", "index": index })));
    events
}
