//! Google's Gemini.

use serde_json::{Value, json};

use super::{Event, ReplyContext, failure_response, is_json, pieces};
use crate::fake_model::count::Tokens;
use crate::fake_model::script::{Answer, Ending, Part};

pub(super) fn events(answer: &Answer, context: &ReplyContext<'_>) -> Vec<Event> {
    let mut signature = answer.parts.iter().find_map(|part| match part {
        Part::Thinking { signature, .. } if !signature.is_empty() => Some(signature.as_str()),
        Part::Thinking { .. }
        | Part::Sealed(_)
        | Part::Text(_)
        | Part::Refusal(_)
        | Part::Call { .. } => None,
    });
    let mut events = Vec::new();
    let mut has_invalid_call = false;
    for part in &answer.parts {
        match part {
            Part::Thinking { text, .. } => {
                let piece =
                    |piece| chunk(context, json!([{ "text": piece, "thought": true }]), None);
                events.extend(pieces(text, context.pieces).into_iter().map(piece));
            }
            Part::Sealed(_) => {}
            Part::Text(text) | Part::Refusal(text) => {
                let piece = |piece| chunk(context, json!([{ "text": piece }]), None);
                events.extend(pieces(text, context.pieces).into_iter().map(piece));
            }
            Part::Call { name, arguments } if is_json(arguments) => {
                let arguments = serde_json::from_str::<Value>(arguments).unwrap_or_default();
                let mut part = json!({ "functionCall": { "name": name, "args": arguments } });
                if let Some(signature) = signature.take() {
                    part["thoughtSignature"] = json!(signature);
                }
                events.push(chunk(context, json!([part]), None));
            }
            Part::Call { .. } => has_invalid_call = true,
        }
    }
    if let Some((failure, _)) = &answer.failure {
        events.push(Event::data(failure_response(failure, context).body));
        return events;
    }
    let declined = answer.parts.iter().any(|part| matches!(part, Part::Refusal(_)));
    let reason = match answer.ending {
        Ending::Natural if declined => "SAFETY",
        Ending::Natural if has_invalid_call => "MALFORMED_FUNCTION_CALL",
        Ending::Natural => "STOP",
        Ending::Length | Ending::Window => "MAX_TOKENS",
        Ending::Refused => "SAFETY",
    };
    let last_parts = match signature {
        Some(signature) => json!([{ "text": "", "thoughtSignature": signature }]),
        None => json!([{ "text": "" }]),
    };
    events.push(chunk(context, last_parts, Some(reason)));
    events
}

pub(super) fn noise(context: &ReplyContext<'_>) -> Vec<Event> {
    vec![
        chunk(context, json!([{ "text": "" }]), None),
        chunk(context, json!([]), None),
        chunk(context, json!([{ "xUnknown": { "a": 1 } }]), None),
    ]
}

/// An answer to a blocked prompt: no candidate.
pub(super) fn blocked() -> Value {
    json!({
        "promptFeedback": { "blockReason": "PROHIBITED_CONTENT" },
        "usageMetadata": { "promptTokenCount": 0, "totalTokenCount": 0 },
    })
}

fn chunk(context: &ReplyContext<'_>, parts: Value, finish_reason: Option<&str>) -> Event {
    let mut candidate = json!({ "content": { "role": "model", "parts": parts }, "index": 0 });
    if let Some(reason) = finish_reason {
        candidate["finishReason"] = json!(reason);
    }
    let mut chunk = json!({
        "candidates": [candidate],
        "modelVersion": context.model,
        "responseId": format!("gemini-{}", context.number),
    });
    if let Some(tokens) = &context.usage {
        chunk["usageMetadata"] = usage(tokens, finish_reason.is_some());
    }
    Event::data(chunk)
}

/// Every chunk has the input tokens; only the last one has the output tokens.
fn usage(tokens: &Tokens, is_last: bool) -> Value {
    let written = if is_last { tokens.output.saturating_sub(tokens.thoughts) } else { 0 };
    let thoughts = if is_last { tokens.thoughts } else { 0 };
    let mut usage = json!({
        "promptTokenCount": tokens.input,
        "totalTokenCount": tokens.input + written + thoughts,
        "promptTokensDetails": [{ "modality": "TEXT", "tokenCount": tokens.input }],
    });
    // Zero counts are left out, as protobuf does.
    for (name, count) in [
        ("candidatesTokenCount", written),
        ("thoughtsTokenCount", thoughts),
        ("cachedContentTokenCount", tokens.cached),
    ] {
        if count > 0 {
            usage[name] = json!(count);
        }
    }
    usage
}
