//! Records the raw frames (server-sent events) of a reply: their size, the tool calls and thoughts
//! of a chat (OpenAI Chat Completions), and the last frame, which explains why the vendor stopped.
//!
//! crh does not use the client library (genai) to collect the tool calls of a chat: the library
//! grows a list to the index sent by the server, so one frame with a large index could exhaust
//! memory. In this file the index is only a map key, and the number of calls is limited.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef};
use serde_json::Value;

use super::{usage, vendor_error};
use crate::{LengthUnit, ModelError, Wire};

/// Maximum bytes of one reply.
const MAX_ANSWER_BYTES: u64 = 64 << 20;

/// Maximum bytes of a reply for each plausible token, and for the rest. Servers send frames of
/// about 400 bytes, usually with one token each. Some repeat the text, or the request, in other
/// frames.
const MAX_TOKEN_BYTES: u64 = 1 << 10;
const MAX_OTHER_BYTES: u64 = 1 << 20;

/// Bytes counted for each frame in addition to its data, so that a stream of empty frames reaches
/// the limit too.
const FRAME_OVERHEAD_BYTES: u64 = 16;

/// Maximum number of tool calls in a chat reply. Models usually make fewer than ten.
const MAX_CALLS: usize = 128;

/// Records the frames of one reply.
#[derive(Debug)]
pub(super) struct FrameRecorder {
    wire: Wire,
    max_output_tokens: u32,
    summary: Mutex<FrameSummary>,
}

#[derive(Debug, Default)]
pub(super) struct FrameSummary {
    /// Number of frames, including keep-alives.
    pub(super) count: u64,
    bytes: u64,
    /// The error, if the reply is far longer than requested.
    endless: Option<ModelError>,
    /// Part of the reply that the client dropped.
    lost_piece: Option<LostPiece>,
    /// Whether a reported token count is invalid.
    pub(super) has_invalid_usage: bool,
    /// Serving model, from the first frame that names it.
    pub(super) model: Option<String>,
    /// The last JSON frame.
    pub(super) last_frame: Value,
    /// Deltas of a chat (`Wire::OpenAiChat` only).
    pub(super) chat: ChatDeltas,
}

/// A part of the reply that the client dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LostPiece {
    /// An Anthropic event whose name was lost because CR and LF arrived separately.
    EventName,
    /// An unreadable event of the Responses API.
    Delta,
}

/// Chat deltas other than text.
#[derive(Debug, Default)]
pub(super) struct ChatDeltas {
    /// Calls by index.
    calls: BTreeMap<u64, PartialCall>,
    /// Refusal text.
    pub(super) refusal: String,
    /// Thoughts that must be sent back in the same field (DeepSeek, Kimi).
    pub(super) reasoning_content: String,
    /// Thoughts that are not sent back.
    pub(super) reasoning: String,
    /// Thought blocks that are sent back unchanged (OpenRouter).
    pub(super) reasoning_details: Vec<Value>,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct PartialCall {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

impl FrameRecorder {
    pub(super) fn new(wire: Wire, max_output_tokens: u32) -> Self {
        Self { wire, max_output_tokens, summary: Mutex::default() }
    }

    /// The summary so far. Drop it before an await: it holds a lock.
    pub(super) fn summary(&self) -> MutexGuard<'_, FrameSummary> {
        self.summary.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, event: Option<&str>, data: &str) {
        let mut summary = self.summary();
        summary.count += 1;
        summary.bytes = summary.bytes.saturating_add(data.len() as u64 + FRAME_OVERHEAD_BYTES);
        let tokens = u64::from(self.max_output_tokens);
        let plausible_tokens = usage::max_output(self.max_output_tokens);
        let max_bytes =
            (plausible_tokens * MAX_TOKEN_BYTES + MAX_OTHER_BYTES).min(MAX_ANSWER_BYTES);
        if summary.bytes > max_bytes {
            let (max, unit) = (max_bytes, LengthUnit::Bytes);
            summary.endless = Some(ModelError::EndlessReply { max, unit, tokens });
        }
        if summary.fault().is_some() {
            return;
        }
        let Ok(frame) = serde_json::from_str::<Value>(data) else {
            if self.wire == Wire::OpenAiResponses && !matches!(data, "" | "[DONE]") {
                summary.lost_piece = Some(LostPiece::Delta);
            }
            return;
        };
        summary.has_invalid_usage |= usage::has_invalid_usage(self.wire, &frame);
        if summary.model.is_none() {
            summary.model = serving_model(self.wire, &frame);
        }
        match self.wire {
            Wire::OpenAiChat => summary.chat.add_delta(&frame),
            Wire::OpenAiResponses if is_malformed_delta(&frame) => {
                summary.lost_piece = Some(LostPiece::Delta);
            }
            Wire::Anthropic if lacks_event_name(event, &frame) => {
                summary.lost_piece = Some(LostPiece::EventName);
            }
            Wire::OpenAiResponses | Wire::Anthropic | Wire::Gemini => {}
        }
        summary.last_frame = frame;
    }
}

impl ChatFrameSink for FrameRecorder {
    fn on_frame(&self, _ctx: &FrameCtx, frame: RawFrameRef<'_>) {
        self.record(frame.event, frame.data);
    }
}

impl FrameSummary {
    /// Why the reply is unusable, if it is. The client exposes only complete frames, so
    /// `ReplyStream::next_event` detects a frame that does not end.
    pub(super) fn fault(&self) -> Option<ModelError> {
        if self.endless.is_some() {
            return self.endless.clone();
        }
        let message = if self.chat.calls.len() > MAX_CALLS {
            format!("more than {MAX_CALLS} tool calls")
        } else {
            match self.lost_piece? {
                LostPiece::EventName => "an event has no name".to_owned(),
                LostPiece::Delta => "an event cannot be read".to_owned(),
            }
        };
        Some(ModelError::CutStream { message })
    }
}

impl ChatDeltas {
    /// Calls in index order.
    pub(super) fn calls(&self) -> impl Iterator<Item = &PartialCall> {
        self.calls.values()
    }

    fn add_delta(&mut self, frame: &Value) {
        let Some(delta) = frame.pointer("/choices/0/delta") else { return };
        for (name, target) in [
            ("refusal", &mut self.refusal),
            ("reasoning_content", &mut self.reasoning_content),
            ("reasoning", &mut self.reasoning),
        ] {
            target.push_str(delta.get(name).and_then(Value::as_str).unwrap_or_default());
        }
        self.add_chunks(delta);
        for detail in array_items(delta, "reasoning_details") {
            self.add_detail(detail);
        }
        for call_delta in array_items(delta, "tool_calls") {
            self.add_call(call_delta);
        }
    }

    /// Mistral sends thoughts within the content.
    fn add_chunks(&mut self, delta: &Value) {
        for thought in array_items(delta, "content").filter_map(|chunk| chunk.get("thinking")) {
            match thought {
                Value::String(text) => self.reasoning.push_str(text),
                Value::Array(parts) => {
                    let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
                    self.reasoning.extend(texts);
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
            }
        }
    }

    /// Merges deltas of one block, which share type and index, so that the block can be sent back
    /// whole.
    fn add_detail(&mut self, detail: &Value) {
        match (self.reasoning_details.last_mut(), detail) {
            (Some(Value::Object(last_block)), Value::Object(delta))
                if delta.contains_key("index")
                    && last_block.get("index") == delta.get("index")
                    && last_block.get("type") == delta.get("type") =>
            {
                for (name, value) in delta {
                    match (last_block.get_mut(name), value) {
                        (Some(Value::String(text)), Value::String(addition))
                            if matches!(name.as_str(), "text" | "summary" | "data") =>
                        {
                            text.push_str(addition);
                        }
                        (_, Value::Null) => {}
                        (_, value) => {
                            last_block.insert(name.clone(), value.clone());
                        }
                    }
                }
            }
            (Some(_) | None, Value::Object(_)) => self.reasoning_details.push(detail.clone()),
            (Some(_) | None, _) => {}
        }
    }

    fn add_call(&mut self, delta: &Value) {
        let text =
            |pointer: &str| delta.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (id, name) = (text("/id"), text("/function/name"));
        let last_index = self.calls.last_key_value().map(|(index, _)| *index);
        let stated_index = delta.get("index").and_then(Value::as_u64);
        // Google's OpenAI-compatible API may give all calls the index 0.
        let is_other_call = |call: &PartialCall| {
            !name.is_empty() && !id.is_empty() && !call.id.is_empty() && call.id != id
        };
        let stated_index =
            stated_index.filter(|index| !self.calls.get(index).is_some_and(is_other_call));
        // Some servers omit the index: a delta with a name starts a call, others continue the last
        // call.
        let index = match (stated_index, last_index) {
            (Some(index), _) => index,
            (None, Some(last_index)) if name.is_empty() => last_index,
            (None, Some(last_index)) => last_index.saturating_add(1),
            (None, None) => 0,
        };
        let call = self.calls.entry(index).or_default();
        // Keep the first id and name, because some servers repeat them in every delta.
        if call.id.is_empty() {
            call.id.push_str(id);
        }
        if call.name.is_empty() {
            call.name.push_str(name);
        }
        match delta.pointer("/function/arguments") {
            Some(Value::String(text)) => call.arguments.push_str(text),
            // Some servers send an object instead of text.
            Some(arguments @ Value::Object(_)) => call.arguments.push_str(&arguments.to_string()),
            Some(_) | None => {}
        }
    }
}

/// The serving model named in a frame.
fn serving_model(wire: Wire, frame: &Value) -> Option<String> {
    let pointer = match wire {
        Wire::OpenAiChat => "/model",
        Wire::OpenAiResponses => "/response/model",
        Wire::Anthropic => "/message/model",
        Wire::Gemini => "/modelVersion",
    };
    let name = frame.pointer(pointer)?.as_str().filter(|name| !name.is_empty())?;
    Some(vendor_error::one_line(name))
}

fn lacks_event_name(event: Option<&str>, frame: &Value) -> bool {
    let kind = frame.get("type").and_then(Value::as_str);
    kind.is_some() && event != kind
}

fn is_malformed_delta(frame: &Value) -> bool {
    const TEXT_DELTAS: [&str; 2] =
        ["response.output_text.delta", "response.function_call_arguments.delta"];
    let kind = frame.get("type").and_then(Value::as_str);
    kind.is_some_and(|kind| TEXT_DELTAS.contains(&kind)) && !frame["delta"].is_string()
}

fn array_items<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests;
