//! Converts the end of a stream into a reply. No I/O.

use genai::chat::{ContentPart, MessageContent, StopReason, StreamEnd};
use serde_json::{Value, json};

use super::frames::FrameSummary;
use super::{usage, vendor_error};
use crate::{
    CallArguments, ModelError, ModelReply, ModelRequest, StopCause, Thinking, ToolCall, Turn,
    TurnPart, Wire,
};

/// Tags around thoughts in the text of a chat. Amazon Bedrock writes `<reasoning>`. Local servers
/// leave `<think>` in the text if they do not know how the model marks its thoughts.
const THOUGHT_TAGS: [(&str, &str); 2] = [("<reasoning>", "</reasoning>"), ("<think>", "</think>")];

pub(super) struct ReplyInput<'a> {
    pub(super) wire: Wire,
    pub(super) request: &'a ModelRequest,
    /// Content collected by genai, the client library.
    pub(super) end: StreamEnd,
    /// Tool calls that arrived in one frame each, with their own signatures (Gemini). At the end of
    /// a stream, genai gives its first call the signatures of the whole turn.
    pub(super) complete_calls: Vec<genai::chat::ToolCall>,
}

pub(super) fn build_reply(
    input: ReplyInput<'_>,
    summary: &FrameSummary,
) -> Result<ModelReply, ModelError> {
    let ReplyInput { wire, request, end, complete_calls } = input;
    let client_usage = end.captured_usage.as_ref().filter(|_| !summary.has_invalid_usage);
    let usage = client_usage.and_then(|client_usage| usage::plausible_usage(client_usage, request));
    let mut stop = stop_cause(end.captured_stop_reason.as_ref(), summary)?;
    // In the Responses API, llama.cpp reports a reply that it cut off at the output limit as
    // complete.
    let reached_limit =
        usage.is_some_and(|usage| usage.output >= u64::from(request.max_output_tokens));
    if wire == Wire::OpenAiResponses && stop == StopCause::Done && reached_limit {
        stop = StopCause::Length;
    }
    let thoughts = end.captured_reasoning_content;
    let content = end.captured_content.map(MessageContent::into_parts).unwrap_or_default();
    let truncation = Truncation::from_stop(&stop);
    let parts = match wire {
        Wire::OpenAiChat => chat_parts(content, summary, truncation),
        Wire::OpenAiResponses => responses_parts(content, thoughts, truncation),
        Wire::Anthropic => anthropic_parts(content, thoughts, truncation),
        Wire::Gemini => gemini_parts(content, thoughts, complete_calls),
    };
    let turn = Turn { parts };
    let calls = turn.calls().count();
    if calls == 0
        && turn.full_text().is_empty()
        && let Some(message) = refusal(wire, summary)
    {
        return Err(ModelError::Refused { message });
    }
    // Several vendors do not distinguish the end of a reply from waiting for tools.
    if stop == StopCause::Done && calls > 0 {
        stop = StopCause::Calls;
    }
    Ok(ModelReply { turn, stop, usage, served: summary.model.clone() })
}

/// Whether the last part may be incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Truncation {
    Possible,
    No,
}

impl Truncation {
    fn from_stop(stop: &StopCause) -> Self {
        match stop {
            StopCause::Length => Self::Possible,
            StopCause::Done | StopCause::Calls | StopCause::Other(_) => Self::No,
        }
    }
}

fn stop_cause(
    reason: Option<&StopReason>,
    summary: &FrameSummary,
) -> Result<StopCause, ModelError> {
    // genai also ends the stream when the connection closes. Without a stop reason the reply is
    // incomplete.
    let Some(reason) = reason else {
        return Err(missing_end(summary));
    };
    let incomplete_reason =
        summary.last_frame.pointer("/response/incomplete_details/reason").and_then(Value::as_str);
    match (reason, incomplete_reason) {
        (_, Some("content_filter")) | (StopReason::ContentFilter(_), _) => {
            let reason_text = incomplete_reason.unwrap_or(reason.raw());
            Err(ModelError::Refused {
                message: format!("blocked by the vendor's filter: `{reason_text}`"),
            })
        }
        (StopReason::MaxTokens(_), None | Some("max_output_tokens")) => Ok(StopCause::Length),
        (StopReason::MaxTokens(_), Some(other)) => {
            Ok(StopCause::Other(vendor_error::one_line(other)))
        }
        (StopReason::Completed(_) | StopReason::StopSequence(_), _) => Ok(StopCause::Done),
        (StopReason::ToolCall(_), _) => Ok(StopCause::Calls),
        (StopReason::Other(reason_text), _) => {
            Ok(StopCause::Other(vendor_error::one_line(reason_text)))
        }
    }
}

/// Error for a stream that ended early.
pub(super) fn missing_end(summary: &FrameSummary) -> ModelError {
    let message = match &summary.last_frame {
        Value::Null => "not a model's reply; check the base URL",
        _ => "the end of the stream is missing",
    };
    ModelError::CutStream { message: message.to_owned() }
}

/// Text of a refusal, if the vendor has a separate field for refusals.
fn refusal(wire: Wire, summary: &FrameSummary) -> Option<String> {
    let text = match wire {
        Wire::OpenAiChat => summary.chat.refusal.clone(),
        Wire::OpenAiResponses => {
            let output =
                summary.last_frame.pointer("/response/output").and_then(Value::as_array)?;
            let contents =
                output.iter().filter_map(|item| item.get("content")?.as_array()).flatten();
            contents.filter_map(|content| content.get("refusal")?.as_str()).collect()
        }
        Wire::Anthropic | Wire::Gemini => String::new(),
    };
    (!text.is_empty()).then_some(text)
}

fn chat_parts(
    content: Vec<ContentPart>,
    summary: &FrameSummary,
    truncation: Truncation,
) -> Vec<TurnPart> {
    let chat = &summary.chat;
    let mut parts: Vec<TurnPart> = Vec::new();
    if !chat.reasoning_details.is_empty() {
        let blocks = chat.reasoning_details.iter().cloned();
        parts.extend(blocks.map(|block| TurnPart::Thinking(Thinking::Sealed(block))));
    } else if !chat.reasoning_content.is_empty() {
        parts.push(thought(chat.reasoning_content.clone()));
    } else if !chat.reasoning.is_empty() {
        // This field is kept only for transcripts, because vendors that send it reject it in
        // requests. genai does not send a block of this type.
        let block = json!({ "type": "reasoning", "text": chat.reasoning });
        parts.push(TurnPart::Thinking(Thinking::Sealed(block)));
    }
    for part in texts(content) {
        match part {
            TurnPart::Text(text) => parts.extend(split_thoughts(text)),
            part @ (TurnPart::Thinking(_) | TurnPart::Call(_)) => parts.push(part),
        }
    }
    let last_position = chat.calls().count().saturating_sub(1);
    for (position, call) in chat.calls().enumerate() {
        let id = match call.id.is_empty() {
            true => format!("call_{position}"),
            false => call.id.clone(),
        };
        let truncation = if position == last_position { truncation } else { Truncation::No };
        let arguments = parse_arguments(Value::String(call.arguments.clone()), truncation);
        parts.push(TurnPart::Call(ToolCall {
            id,
            name: call.name.clone(),
            arguments,
            signatures: Vec::new(),
        }));
    }
    parts
}

/// Splits a text into the thoughts in tags at its start, if there are any, and the rest.
fn split_thoughts(text: String) -> Vec<TurnPart> {
    let split = THOUGHT_TAGS
        .iter()
        .find_map(|(open, close)| text.trim_start().strip_prefix(open)?.split_once(close));
    let Some((thoughts, answer)) = split else { return vec![TurnPart::Text(text)] };
    let block = json!({ "type": "reasoning", "text": thoughts.trim() });
    let mut parts = vec![TurnPart::Thinking(Thinking::Sealed(block))];
    let answer = answer.trim_start();
    if !answer.is_empty() {
        parts.push(TurnPart::Text(answer.to_owned()));
    }
    parts
}

fn responses_parts(
    content: Vec<ContentPart>,
    thoughts: Option<String>,
    truncation: Truncation,
) -> Vec<TurnPart> {
    let mut parts: Vec<TurnPart> = Vec::new();
    let mut thoughts = thoughts.filter(|text| !text.is_empty());
    for part in content {
        match part {
            ContentPart::ThoughtSignature(sealed) => {
                parts.push(thinking_part(thoughts.take(), Some(sealed)));
            }
            ContentPart::Text(text) => parts.push(TurnPart::Text(text)),
            ContentPart::ToolCall(call) => parts.push(call_part(call, truncation)),
            _ => {}
        }
    }
    if let Some(text) = thoughts {
        parts.insert(0, thought(text));
    }
    parts
}

fn anthropic_parts(
    content: Vec<ContentPart>,
    thoughts: Option<String>,
    truncation: Truncation,
) -> Vec<TurnPart> {
    let mut parts: Vec<TurnPart> = Vec::new();
    for part in content {
        match part {
            // A signature comes before the thoughts that it signs.
            ContentPart::ThoughtSignature(signature) => {
                parts.push(thinking_part(None, Some(signature)));
            }
            ContentPart::ReasoningContent(thoughts_text) => match parts.last_mut() {
                Some(TurnPart::Thinking(Thinking::Readable { text, .. })) => {
                    *text = Some(thoughts_text);
                }
                Some(_) | None => parts.push(thought(thoughts_text)),
            },
            ContentPart::Custom(block) => {
                parts.push(TurnPart::Thinking(Thinking::Sealed(block.data)));
            }
            ContentPart::Text(text) => parts.push(TurnPart::Text(text)),
            ContentPart::ToolCall(call) => parts.push(call_part(call, truncation)),
            _ => {}
        }
    }
    let has_thinking = parts.iter().any(|part| matches!(part, TurnPart::Thinking(_)));
    if let Some(text) = thoughts.filter(|text| !has_thinking && !text.is_empty()) {
        parts.insert(0, thought(text));
    }
    parts
}

fn gemini_parts(
    content: Vec<ContentPart>,
    thoughts: Option<String>,
    calls: Vec<genai::chat::ToolCall>,
) -> Vec<TurnPart> {
    let call_signatures: Vec<String> =
        calls.iter().filter_map(|call| call.thought_signatures.clone()).flatten().collect();
    let mut parts: Vec<TurnPart> = Vec::new();
    parts.extend(thoughts.filter(|text| !text.is_empty()).map(thought));
    for part in content {
        match part {
            ContentPart::ThoughtSignature(signature) if !call_signatures.contains(&signature) => {
                parts.push(thinking_part(None, Some(signature)));
            }
            ContentPart::Text(text) => parts.push(TurnPart::Text(text)),
            // `calls` holds the calls with their own signatures.
            _ => {}
        }
    }
    for (position, mut call) in calls.into_iter().enumerate() {
        // Google sends no ids, and genai generates the same id for calls in different frames.
        if call.call_id.starts_with("call#") {
            call.call_id = format!("call#{}#{position}", call.fn_name);
        }
        let signatures = call.thought_signatures.take().unwrap_or_default();
        let TurnPart::Call(call) = call_part(call, Truncation::No) else { continue };
        parts.push(TurnPart::Call(ToolCall { signatures, ..call }));
    }
    parts
}

fn thought(text: String) -> TurnPart {
    thinking_part(Some(text), None)
}

fn thinking_part(text: Option<String>, signature: Option<String>) -> TurnPart {
    TurnPart::Thinking(Thinking::Readable { text, signature })
}

fn texts(content: Vec<ContentPart>) -> impl Iterator<Item = TurnPart> {
    content.into_iter().filter_map(|part| match part {
        ContentPart::Text(text) => Some(TurnPart::Text(text)),
        _ => None,
    })
}

/// Converts a call without its signatures. `gemini_parts` adds them for Gemini. For other vendors
/// they are copies of the turn's signatures, which are parts of their own.
fn call_part(call: genai::chat::ToolCall, truncation: Truncation) -> TurnPart {
    TurnPart::Call(ToolCall {
        id: call.call_id,
        name: call.fn_name,
        arguments: parse_arguments(call.fn_arguments, truncation),
        signatures: Vec::new(),
    })
}

/// Parses arguments. No text means an empty object, unless the reply was cut off.
fn parse_arguments(value: Value, truncation: Truncation) -> CallArguments {
    match value {
        Value::Null => CallArguments::Json(json!({})),
        Value::String(text) if text.trim().is_empty() && truncation == Truncation::No => {
            CallArguments::Json(json!({}))
        }
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(value) => CallArguments::Json(value),
            Err(_) => CallArguments::Malformed(text),
        },
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            CallArguments::Json(value)
        }
    }
}

#[cfg(test)]
mod tests;
