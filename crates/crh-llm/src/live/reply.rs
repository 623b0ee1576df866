//! The end of an answer in our words. Pure.

use genai::chat::{ContentPart, MessageContent, StopReason, StreamEnd};
use serde_json::{Value, json};

use super::frames::Seen;
use super::{errors, usage};
use crate::{Arguments, ModelError, Part, Reply, Request, Stop, Thinking, ToolCall, Turn, Wire};

/// A stream that came to its end.
pub(super) struct Ended<'a> {
    pub(super) wire: Wire,
    /// What was asked.
    pub(super) request: &'a Request,
    /// What the client made of it.
    pub(super) end: StreamEnd,
    /// The calls as they came, of Gemini, which sends each in one piece: the client mixes up their signatures at the
    /// end.
    pub(super) whole_calls: Vec<genai::chat::ToolCall>,
}

/// The reply of a stream that came to its end.
pub(super) fn reply(ended: Ended<'_>, seen: &Seen) -> Result<Reply, ModelError> {
    let Ended { wire, request, end, whole_calls } = ended;
    let counted = end.captured_usage.as_ref().filter(|_| !seen.garbled_usage);
    let usage = counted.and_then(|counted| usage::believed(counted, request));
    let mut stop = stop(end.captured_stop_reason.as_ref(), seen)?;
    // llama.cpp calls an answer completed that it has cut at its length.
    let full = usage.is_some_and(|usage| usage.output >= u64::from(request.max_output_tokens));
    if wire == Wire::OpenAiResponses && stop == Stop::Done && full {
        stop = Stop::Length;
    }
    let thoughts = end.captured_reasoning_content;
    let content = end.captured_content.map(MessageContent::into_parts).unwrap_or_default();
    let cut = Cut::at(&stop);
    let parts = match wire {
        Wire::OpenAiChat => chat_parts(content, seen, cut),
        Wire::OpenAiResponses => responses_parts(content, thoughts, cut),
        Wire::Anthropic => anthropic_parts(content, thoughts, cut),
        Wire::Gemini => gemini_parts(content, thoughts, whole_calls),
    };
    let turn = Turn { parts };
    let calls = turn.calls().count();
    if calls == 0
        && turn.said().is_empty()
        && let Some(message) = refusal(wire, seen)
    {
        return Err(ModelError::Refused { message });
    }
    // Several vendors say the same whether they are done or wait for tools.
    if stop == Stop::Done && calls > 0 {
        stop = Stop::Calls;
    }
    Ok(Reply { turn, stop, usage, served: seen.model.clone() })
}

/// Whether the last part may be incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    Off,
    Not,
}

impl Cut {
    fn at(stop: &Stop) -> Self {
        match stop {
            Stop::Length => Self::Off,
            Stop::Done | Stop::Calls | Stop::Other(_) => Self::Not,
        }
    }
}

fn stop(reason: Option<&StopReason>, seen: &Seen) -> Result<Stop, ModelError> {
    // The client ends some streams itself when the connection is closed: without a reason there was no end.
    let Some(reason) = reason else {
        return Err(without_end(seen));
    };
    let why = seen.last.pointer("/response/incomplete_details/reason").and_then(Value::as_str);
    match (reason, why) {
        (_, Some("content_filter")) | (StopReason::ContentFilter(_), _) => {
            let word = why.unwrap_or(reason.raw());
            Err(ModelError::Refused {
                message: format!("the vendor's filter stopped it: `{word}`"),
            })
        }
        (StopReason::MaxTokens(_), None | Some("max_output_tokens")) => Ok(Stop::Length),
        (StopReason::MaxTokens(_), Some(other)) => Ok(Stop::Other(errors::one_line(other))),
        (StopReason::Completed(_) | StopReason::StopSequence(_), _) => Ok(Stop::Done),
        (StopReason::ToolCall(_), _) => Ok(Stop::Calls),
        (StopReason::Other(word), _) => Ok(Stop::Other(errors::one_line(word))),
    }
}

/// The error of a stream that stopped before its end.
pub(super) fn without_end(seen: &Seen) -> ModelError {
    let message = match &seen.last {
        Value::Null => "what came is no answer of a model; is the address right?",
        _ => "its end is missing",
    };
    ModelError::CutStream { message: message.to_owned() }
}

/// A refusal in words, where the vendor has a place for it.
fn refusal(wire: Wire, seen: &Seen) -> Option<String> {
    let words = match wire {
        Wire::OpenAiChat => seen.chat.refusal.clone(),
        Wire::OpenAiResponses => {
            let output = seen.last.pointer("/response/output").and_then(Value::as_array)?;
            let contents =
                output.iter().filter_map(|item| item.get("content")?.as_array()).flatten();
            contents.filter_map(|content| content.get("refusal")?.as_str()).collect()
        }
        Wire::Anthropic | Wire::Gemini => String::new(),
    };
    (!words.is_empty()).then_some(words)
}

fn chat_parts(content: Vec<ContentPart>, seen: &Seen, cut: Cut) -> Vec<Part> {
    let chat = &seen.chat;
    let mut parts: Vec<Part> = Vec::new();
    if !chat.reasoning_details.is_empty() {
        let blocks = chat.reasoning_details.iter().cloned();
        parts.extend(blocks.map(|block| Part::Thinking(Thinking::Sealed(block))));
    } else if !chat.reasoning_content.is_empty() {
        parts.push(said(chat.reasoning_content.clone(), None));
    } else if !chat.reasoning.is_empty() {
        // Kept for the record. Vendors who send this field refuse it in a request.
        let block = json!({ "type": "reasoning", "text": chat.reasoning });
        parts.push(Part::Thinking(Thinking::Sealed(block)));
    }
    parts.extend(texts(content));
    let last = chat.calls().count().saturating_sub(1);
    for (position, call) in chat.calls().enumerate() {
        let id = match call.id.is_empty() {
            true => format!("call_{position}"),
            false => call.id.clone(),
        };
        let cut = if position == last { cut } else { Cut::Not };
        let arguments = arguments(Value::String(call.arguments.clone()), cut);
        parts.push(Part::Call(ToolCall {
            id,
            name: call.name.clone(),
            arguments,
            signatures: Vec::new(),
        }));
    }
    parts
}

fn responses_parts(content: Vec<ContentPart>, thoughts: Option<String>, cut: Cut) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut thoughts = thoughts.filter(|text| !text.is_empty());
    for part in content {
        match part {
            ContentPart::ThoughtSignature(sealed) => {
                parts.push(said_or_silent(thoughts.take(), Some(sealed)));
            }
            ContentPart::Text(text) => parts.push(Part::Text(text)),
            ContentPart::ToolCall(call) => parts.push(called(call, cut)),
            ContentPart::Binary(_)
            | ContentPart::ToolResponse(_)
            | ContentPart::ReasoningContent(_)
            | ContentPart::Custom(_) => {}
        }
    }
    if let Some(text) = thoughts {
        parts.insert(0, said(text, None));
    }
    parts
}

fn anthropic_parts(content: Vec<ContentPart>, thoughts: Option<String>, cut: Cut) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for part in content {
        match part {
            // A signature comes before the words that it signs.
            ContentPart::ThoughtSignature(signature) => {
                parts.push(said_or_silent(None, Some(signature)));
            }
            ContentPart::ReasoningContent(words) => match parts.last_mut() {
                Some(Part::Thinking(Thinking::Said { text, .. })) => *text = Some(words),
                Some(_) | None => parts.push(said(words, None)),
            },
            ContentPart::Custom(block) => parts.push(Part::Thinking(Thinking::Sealed(block.data))),
            ContentPart::Text(text) => parts.push(Part::Text(text)),
            ContentPart::ToolCall(call) => parts.push(called(call, cut)),
            ContentPart::Binary(_) | ContentPart::ToolResponse(_) => {}
        }
    }
    let signed = parts.iter().any(|part| matches!(part, Part::Thinking(_)));
    if let Some(text) = thoughts.filter(|text| !signed && !text.is_empty()) {
        parts.insert(0, said(text, None));
    }
    parts
}

fn gemini_parts(
    content: Vec<ContentPart>,
    thoughts: Option<String>,
    calls: Vec<genai::chat::ToolCall>,
) -> Vec<Part> {
    let of_calls: Vec<String> =
        calls.iter().filter_map(|call| call.thought_signatures.clone()).flatten().collect();
    let mut parts: Vec<Part> = Vec::new();
    parts.extend(thoughts.filter(|text| !text.is_empty()).map(|text| said(text, None)));
    for part in content {
        match part {
            ContentPart::ThoughtSignature(signature) if !of_calls.contains(&signature) => {
                parts.push(said_or_silent(None, Some(signature)));
            }
            ContentPart::Text(text) => parts.push(Part::Text(text)),
            // The calls stand in `calls`, with their own signatures.
            ContentPart::ThoughtSignature(_)
            | ContentPart::ToolCall(_)
            | ContentPart::Binary(_)
            | ContentPart::ToolResponse(_)
            | ContentPart::ReasoningContent(_)
            | ContentPart::Custom(_) => {}
        }
    }
    for (position, mut call) in calls.into_iter().enumerate() {
        // Google gives no ids. The client makes them up for each frame anew, so that two frames with a call each give
        // the same one twice.
        if call.call_id.starts_with("call#") {
            call.call_id = format!("call#{}#{position}", call.fn_name);
        }
        let signatures = call.thought_signatures.take().unwrap_or_default();
        let Part::Call(call) = called(call, Cut::Not) else { continue };
        parts.push(Part::Call(ToolCall { signatures, ..call }));
    }
    parts
}

fn said(text: String, signature: Option<String>) -> Part {
    said_or_silent(Some(text), signature)
}

fn said_or_silent(text: Option<String>, signature: Option<String>) -> Part {
    Part::Thinking(Thinking::Said { text, signature })
}

fn texts(content: Vec<ContentPart>) -> impl Iterator<Item = Part> {
    content.into_iter().filter_map(|part| match part {
        ContentPart::Text(text) => Some(Part::Text(text)),
        ContentPart::Binary(_)
        | ContentPart::ToolCall(_)
        | ContentPart::ToolResponse(_)
        | ContentPart::ThoughtSignature(_)
        | ContentPart::ReasoningContent(_)
        | ContentPart::Custom(_) => None,
    })
}

/// A call without signatures: outside Gemini those that the client puts here are copies of the turn's.
fn called(call: genai::chat::ToolCall, cut: Cut) -> Part {
    Part::Call(ToolCall {
        id: call.call_id,
        name: call.fn_name,
        arguments: arguments(call.fn_arguments, cut),
        signatures: Vec::new(),
    })
}

/// Arguments as JSON if they are. A tool without input is often called with nothing at all; cut off, nothing is
/// incomplete.
fn arguments(value: Value, cut: Cut) -> Arguments {
    match value {
        Value::Null => Arguments::Json(json!({})),
        Value::String(text) if text.trim().is_empty() && cut == Cut::Not => {
            Arguments::Json(json!({}))
        }
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(value) => Arguments::Json(value),
            Err(_) => Arguments::Malformed(text),
        },
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Arguments::Json(value)
        }
    }
}

#[cfg(test)]
#[path = "reply/tests.rs"]
mod tests;
