//! From an answer to the events of a stream, and from a failure to a status and a body, for each wire format.

mod chat;
mod failure;
mod gemini;
mod messages;
mod responses;

pub(super) use failure::failed;
use serde_json::Value;

use super::asked::Wire;
use super::count::Tokens;
use super::json::sorted;
use super::script::{Answer, Noise, Part};

/// When everything was made, in seconds: the fake has no clock.
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
    /// What is no JSON: the last line of Chat, broken events.
    Text(String),
    /// Lines that are no event: comments, fields that carry no data.
    Lines(String),
}

/// What an answer has to say besides what the model says.
#[derive(Debug, Clone)]
pub(super) struct Told<'a> {
    pub(super) wire: Wire,
    pub(super) model: &'a str,
    /// Makes the ids: the number of the request among those of its caller.
    pub(super) number: usize,
    /// The tokens, if they are reported.
    pub(super) usage: Option<Tokens>,
    /// Whether Responses may send its thoughts in a form that can be sent back.
    pub(super) encrypted: bool,
    /// Into how many pieces texts and arguments are cut.
    pub(super) pieces: usize,
    /// The key, for failures that repeat it.
    pub(super) key: &'a str,
}

/// The events of an answer.
pub(super) fn events(answer: &Answer, told: &Told<'_>, noise: Noise) -> Vec<Event> {
    let events = match told.wire {
        Wire::Chat => chat::events(answer, told),
        Wire::Responses => responses::events(answer, told),
        Wire::Messages => messages::events(answer, told),
        Wire::Gemini => gemini::events(answer, told),
    };
    match noise {
        Noise::None => events,
        Noise::Unknown => noisy(events, told),
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

    /// The event as lines, the empty one at the end included.
    pub(super) fn lines(&self) -> String {
        let name = self.name.as_ref().map(|name| format!("event: {name}\n")).unwrap_or_default();
        match &self.data {
            Data::Json(json) => format!("{name}data: {}\n\n", sorted(json)),
            Data::Text(text) => format!("{name}data: {text}\n\n"),
            Data::Lines(lines) => format!("{lines}\n\n"),
        }
    }
}

/// Adds a field that nobody knows to every event, and between any two something that a client has to pass over.
fn noisy(events: Vec<Event>, told: &Told<'_>) -> Vec<Event> {
    let mut noise = noise(told).into_iter().cycle();
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

fn noise(told: &Told<'_>) -> Vec<Event> {
    let lines = |text: &str| Event { name: None, data: Data::Lines(text.to_owned()) };
    let mut noise = vec![lines(": keep-alive"), lines("retry: 3000"), lines("id: 7")];
    noise.extend(match told.wire {
        Wire::Chat => chat::noise(told),
        Wire::Responses => responses::noise(),
        Wire::Messages => messages::noise(),
        Wire::Gemini => gemini::noise(told),
    });
    noise
}

/// A text in so many pieces of about the same length, or one for each character if there are fewer of them.
fn pieces(text: &str, count: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let length = characters.len().div_ceil(count.max(1)).max(1);
    characters.chunks(length).map(|piece| piece.iter().collect()).collect()
}

/// The pieces of several texts in turn: the first of each, then the second of each.
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

/// The parts with neighbouring calls together, since their pieces may come in turn.
fn with_calls_together(parts: &[Part]) -> Vec<&[Part]> {
    let is_call = |part: &Part| matches!(part, Part::Call { .. });
    parts.chunk_by(|left, right| is_call(left) && is_call(right)).collect()
}

fn is_json(arguments: &str) -> bool {
    serde_json::from_str::<Value>(arguments).is_ok()
}
