//! What the wire said, frame by frame, beside what the client makes of it: how much came, the pieces of a chat's tool
//! calls and thoughts, and the last frame, in which vendors explain why they stopped.
//!
//! The client keeps no tool calls of a chat for us: it fills a list up to the index that the wire names, so that one
//! frame with a large index would take all memory. Here the index is only a name, and the number of calls is bounded.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef};
use serde_json::Value;

use super::{errors, usage};
use crate::Wire;

/// The most bytes of one answer on the wire. 128k tokens, more than any model writes, sent one by one in frames of 400
/// bytes are 52 MB.
const MAX_ANSWER_BYTES: usize = 64 << 20;

/// What a frame counts beside its data, so that a stream of empty ones comes to an end as well.
const MIN_FRAME_BYTES: usize = 16;

/// The most tool calls of one turn. Models make a handful; more is a loop.
const MAX_CALLS: usize = 128;

/// Sees every frame of one answer.
#[derive(Debug)]
pub(super) struct Frames {
    wire: Wire,
    seen: Mutex<Seen>,
}

/// What the frames said.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// How many frames came, signs of life included.
    pub(super) count: u64,
    /// How many bytes of data.
    bytes: usize,
    /// A piece that the client passes over although it belongs to the answer, so that something is missing.
    lost: Option<Lost>,
    /// Whether a number in what the vendor counted is none.
    pub(super) garbled_usage: bool,
    /// The model that answers, as the first frame that says so calls it.
    pub(super) model: Option<String>,
    /// The last frame with JSON in it.
    pub(super) last: Value,
    /// The pieces of a chat (`Wire::OpenAiChat` alone).
    pub(super) chat: Chat,
}

/// How a piece can get lost in the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lost {
    /// Anthropic's events are known by their name, which goes missing where CR and LF of a line end come apart.
    Name,
    /// An event of the Responses API that cannot be read is left out.
    Piece,
}

/// What a chat's frames carry beside text.
#[derive(Debug, Default)]
pub(super) struct Chat {
    /// The calls by their index on the wire.
    calls: BTreeMap<u64, Call>,
    /// A refusal in words.
    pub(super) refusal: String,
    /// Thoughts that have to be handed back in the same field (DeepSeek, Kimi).
    pub(super) reasoning_content: String,
    /// Thoughts that nobody asks for again.
    pub(super) reasoning: String,
    /// Blocks of thought that go back as they came (OpenRouter).
    pub(super) reasoning_details: Vec<Value>,
}

/// A call as far as it has come.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

impl Frames {
    pub(super) fn new(wire: Wire) -> Self {
        Self { wire, seen: Mutex::default() }
    }

    /// What has come so far. Never held across a wait.
    pub(super) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(&self, event: Option<&str>, data: &str) {
        let mut seen = self.seen();
        seen.count += 1;
        seen.bytes = seen.bytes.saturating_add(data.len() + MIN_FRAME_BYTES);
        if seen.fault().is_some() {
            return;
        }
        let Ok(frame) = serde_json::from_str::<Value>(data) else {
            if self.wire == Wire::OpenAiResponses && !matches!(data, "" | "[DONE]") {
                seen.lost = Some(Lost::Piece);
            }
            return;
        };
        seen.garbled_usage |= usage::is_garbled(self.wire, &frame);
        if seen.model.is_none() {
            seen.model = served(self.wire, &frame);
        }
        match self.wire {
            Wire::OpenAiChat => seen.chat.hear(&frame),
            Wire::OpenAiResponses if is_torn_delta(&frame) => seen.lost = Some(Lost::Piece),
            Wire::Anthropic if is_nameless(event, &frame) => seen.lost = Some(Lost::Name),
            Wire::OpenAiResponses | Wire::Anthropic | Wire::Gemini => {}
        }
        seen.last = frame;
    }
}

impl ChatFrameSink for Frames {
    fn on_frame(&self, _ctx: &FrameCtx, frame: RawFrameRef<'_>) {
        self.hear(frame.event, frame.data);
    }
}

impl Seen {
    /// What is wrong with the answer as a whole, if anything is. A single frame without an end is not seen before it ends:
    /// the client offers no way to look at it.
    pub(super) fn fault(&self) -> Option<String> {
        if self.bytes > MAX_ANSWER_BYTES {
            Some(format!("it is longer than {MAX_ANSWER_BYTES} bytes"))
        } else if self.chat.calls.len() > MAX_CALLS {
            Some(format!("it makes more than {MAX_CALLS} tool calls"))
        } else {
            self.lost.map(|lost| match lost {
                Lost::Name => "an event has lost its name".to_owned(),
                Lost::Piece => "a piece of it cannot be read".to_owned(),
            })
        }
    }
}

impl Chat {
    /// The calls, in the order of their indices.
    pub(super) fn calls(&self) -> impl Iterator<Item = &Call> {
        self.calls.values()
    }

    fn hear(&mut self, frame: &Value) {
        let Some(delta) = frame.pointer("/choices/0/delta") else { return };
        for (name, into) in [
            ("refusal", &mut self.refusal),
            ("reasoning_content", &mut self.reasoning_content),
            ("reasoning", &mut self.reasoning),
        ] {
            into.push_str(delta.get(name).and_then(Value::as_str).unwrap_or_default());
        }
        self.hear_chunks(delta);
        for detail in list(delta, "reasoning_details") {
            self.hear_detail(detail);
        }
        for piece in list(delta, "tool_calls") {
            self.hear_call(piece);
        }
    }

    /// Mistral puts thoughts into the content.
    fn hear_chunks(&mut self, delta: &Value) {
        for thought in list(delta, "content").filter_map(|chunk| chunk.get("thinking")) {
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

    /// Pieces of one block carry the same type and index; their words are put together, so that the block goes back
    /// whole.
    fn hear_detail(&mut self, detail: &Value) {
        match (self.reasoning_details.last_mut(), detail) {
            (Some(Value::Object(last)), Value::Object(piece))
                if piece.contains_key("index")
                    && last.get("index") == piece.get("index")
                    && last.get("type") == piece.get("type") =>
            {
                for (name, value) in piece {
                    match (last.get_mut(name), value) {
                        (Some(Value::String(before)), Value::String(more))
                            if matches!(name.as_str(), "text" | "summary" | "data") =>
                        {
                            before.push_str(more);
                        }
                        (_, Value::Null) => {}
                        (_, value) => {
                            last.insert(name.clone(), value.clone());
                        }
                    }
                }
            }
            (Some(_) | None, Value::Object(_)) => self.reasoning_details.push(detail.clone()),
            (Some(_) | None, _) => {}
        }
    }

    fn hear_call(&mut self, piece: &Value) {
        let text =
            |pointer: &str| piece.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (id, name) = (text("/id"), text("/function/name"));
        let last = self.calls.last_key_value().map(|(index, _)| *index);
        // Some servers leave the index out: then a piece with a name begins a call and one without continues the last.
        let index = match (piece.get("index").and_then(Value::as_u64), last) {
            (Some(index), _) => index,
            (None, Some(last)) if name.is_empty() => last,
            (None, Some(last)) => last.saturating_add(1),
            (None, None) => 0,
        };
        let call = self.calls.entry(index).or_default();
        // The first word for a name counts: some servers repeat it in every piece.
        if call.id.is_empty() {
            call.id.push_str(id);
        }
        if call.name.is_empty() {
            call.name.push_str(name);
        }
        match piece.pointer("/function/arguments") {
            Some(Value::String(more)) => call.arguments.push_str(more),
            // Some servers send an object instead of its text.
            Some(arguments @ Value::Object(_)) => call.arguments.push_str(&arguments.to_string()),
            Some(_) | None => {}
        }
    }
}

/// The model that a frame says it comes from.
fn served(wire: Wire, frame: &Value) -> Option<String> {
    let place = match wire {
        Wire::OpenAiChat => "/model",
        Wire::OpenAiResponses => "/response/model",
        Wire::Anthropic => "/message/model",
        Wire::Gemini => "/modelVersion",
    };
    let name = frame.pointer(place)?.as_str().filter(|name| !name.is_empty())?;
    Some(errors::one_line(name))
}

fn is_nameless(event: Option<&str>, frame: &Value) -> bool {
    let kind = frame.get("type").and_then(Value::as_str);
    kind.is_some() && event != kind
}

fn is_torn_delta(frame: &Value) -> bool {
    const NEEDED: [&str; 2] =
        ["response.output_text.delta", "response.function_call_arguments.delta"];
    let kind = frame.get("type").and_then(Value::as_str);
    kind.is_some_and(|kind| NEEDED.contains(&kind)) && !frame["delta"].is_string()
}

fn list<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests;
