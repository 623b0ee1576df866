//! Turns an answer into stream events, and a failure into status and body, for each wire format.

mod chat;
mod failure;
mod gemini;
mod messages;
mod responses;

pub(super) use failure::failure_response;
use serde_json::Value;

use super::count::Tokens;
use super::json::sorted;
use super::request::Wire;
use super::script::{Answer, Noise, Part};

/// Fixed creation time in seconds, because the fake has no clock.
const CREATED: u64 = 1_700_000_000;

/// One event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Event {
    /// The name, for formats that name their events.
    pub(super) name: Option<String>,
    /// The data.
    pub(super) data: Data,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Data {
    Json(Value),
    /// Data that is not JSON: the last line of Chat, and broken events.
    Text(String),
    /// Lines that are not an event: comments, and fields without data.
    Lines(String),
}

/// What a reply depends on, besides its script.
#[derive(Debug, Clone)]
pub(super) struct ReplyContext<'a> {
    pub(super) wire: Wire,
    pub(super) model: &'a str,
    /// Request number of the caller, used for ids.
    pub(super) number: usize,
    /// Tokens, if reported.
    pub(super) usage: Option<Tokens>,
    /// Whether Responses may send encrypted reasoning.
    pub(super) encrypted: bool,
    /// Maximum number of pieces of a text, or of the arguments of a call.
    pub(super) pieces: usize,
    /// API key, for failures that repeat it.
    pub(super) key: &'a str,
}

/// The events of an answer.
pub(super) fn events(answer: &Answer, context: &ReplyContext<'_>, noise: Noise) -> Vec<Event> {
    let events = match context.wire {
        Wire::Chat => chat::events(answer, context),
        Wire::Responses => responses::events(answer, context),
        Wire::Messages => messages::events(answer, context),
        Wire::Gemini => gemini::events(answer, context),
    };
    match noise {
        Noise::None => events,
        Noise::Unknown => noisy(events, context),
    }
}

impl Event {
    fn data(json: Value) -> Self {
        Self { name: None, data: Data::Json(json) }
    }

    /// An event that is named by its `type`.
    fn typed(json: Value) -> Self {
        Self { name: json["type"].as_str().map(str::to_owned), data: Data::Json(json) }
    }

    /// The event as lines, with the empty line that ends it.
    pub(super) fn lines(&self) -> String {
        let name = self.name.as_ref().map(|name| format!("event: {name}\n")).unwrap_or_default();
        match &self.data {
            Data::Json(json) => format!("{name}data: {}\n\n", sorted(json)),
            Data::Text(text) => format!("{name}data: {text}\n\n"),
            Data::Lines(lines) => format!("{lines}\n\n"),
        }
    }
}

/// Adds an unknown field to every event, and noise between events that a client must ignore.
fn noisy(events: Vec<Event>, context: &ReplyContext<'_>) -> Vec<Event> {
    let mut noise = noise(context).into_iter().cycle();
    let mut all = Vec::new();
    for mut event in events {
        if let Data::Json(Value::Object(fields)) = &mut event.data {
            fields.insert("x_unknown".to_owned(), serde_json::json!({ "nested": [1, null] }));
        }
        if !all.is_empty() {
            all.extend(noise.next());
        }
        all.push(event);
    }
    all
}

fn noise(context: &ReplyContext<'_>) -> Vec<Event> {
    let lines = |text: &str| Event { name: None, data: Data::Lines(text.to_owned()) };
    let mut noise = vec![lines(": keep-alive"), lines("retry: 3000"), lines("id: 7")];
    noise.extend(match context.wire {
        Wire::Chat => chat::noise(context),
        Wire::Responses => responses::noise(),
        Wire::Messages => messages::noise(),
        Wire::Gemini => gemini::noise(context),
    });
    noise
}

/// Splits a text into at most this many pieces. All but the last have the same length.
fn pieces(text: &str, count: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let length = characters.len().div_ceil(count.max(1)).max(1);
    characters.chunks(length).map(|piece| piece.iter().collect()).collect()
}

/// Interleaves the pieces of several texts.
fn in_turn(texts: &[&str], count: usize) -> Vec<(usize, String)> {
    let texts: Vec<Vec<String>> = texts.iter().map(|text| pieces(text, count)).collect();
    let longest = texts.iter().map(Vec::len).max().unwrap_or(0);
    let mut turns = Vec::new();
    for turn in 0..longest {
        for (index, pieces) in texts.iter().enumerate() {
            turns.extend(pieces.get(turn).map(|piece| (index, piece.clone())));
        }
    }
    turns
}

/// Groups neighbouring calls, because their pieces may be interleaved.
fn with_calls_together(parts: &[Part]) -> Vec<&[Part]> {
    let is_call = |part: &Part| matches!(part, Part::Call { .. });
    parts.chunk_by(|left, right| is_call(left) && is_call(right)).collect()
}

fn is_json(arguments: &str) -> bool {
    serde_json::from_str::<Value>(arguments).is_ok()
}
