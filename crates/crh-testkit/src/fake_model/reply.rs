//! Turns a scripted reply into the bytes of a response.

use super::asked::{Asked, Wire};
use super::count::Tokens;
use super::json::sorted;
use super::script::{
    After, Answer, Break, Delivery, How, LineEnd, Malformed, Noise, Outcome, Part, Reported,
    Scripted,
};
use super::wire;
use super::wire::{Data, Event, Told};
use crate::http;
use crate::http::{End, Outgoing};

const EVENTS: (&str, &str) = ("content-type", "text/event-stream; charset=utf-8");
const JSON: (&str, &str) = ("content-type", "application/json");
const HTML: (&str, &str) = ("content-type", "text/html");
const HTML_PAGE: &str = "<!doctype html><title>Sign in</title><p>Please sign in to the network.";

/// The bytes of a reply. Reports `tokens` unless the script says otherwise.
pub(super) fn outgoing(scripted: &Scripted, asked: &Asked, tokens: Tokens) -> Outgoing {
    let delivery = &scripted.delivery;
    let told = Told {
        wire: asked.wire,
        model: &asked.model,
        number: asked.number,
        usage: None,
        encrypted: asks_for_encrypted(asked),
        pieces: delivery.pieces,
        key: asked.key(),
    };
    match &scripted.outcome {
        Outcome::Answer(answer) => {
            let told = Told { usage: reported(answer, asked, tokens), ..told };
            streamed(delivery, &wire::events(answer, &told, delivery.noise))
        }
        Outcome::Failure(failure) => {
            let failed = wire::failed(failure, &told);
            if failed.status == 200 {
                // Gemini refuses with an answer that has no candidate.
                return streamed(delivery, &[Event { name: None, data: Data::Json(failed.body) }]);
            }
            let mut headers = vec![owned(JSON)];
            headers.extend(failed.headers);
            whole(delivery, http::whole(failed.status, &headers, sorted(&failed.body)))
        }
        Outcome::Malformed(Malformed::BrokenEvent) => streamed(delivery, &broken_events(&told)),
        Outcome::Malformed(Malformed::NoEvents) => {
            whole(delivery, http::whole(200, &[owned(EVENTS)], "this is no event stream\n"))
        }
        Outcome::Malformed(Malformed::Html) => {
            whole(delivery, http::whole(200, &[owned(HTML)], HTML_PAGE))
        }
        Outcome::Malformed(Malformed::Empty) => streamed(delivery, &[]),
        Outcome::Redirect(url) => {
            whole(delivery, http::whole(307, &[("location", url.clone())], ""))
        }
        Outcome::HangUp => Outgoing { delay: delivery.delay, writes: Vec::new(), end: End::Close },
        Outcome::Decided(_) => refused("a decision decided on another one"),
    }
}

/// An error of the fake itself.
pub(super) fn refused(message: &str) -> Outgoing {
    let body = serde_json::json!({ "error": { "message": message, "type": "fake_model" } });
    whole(&Delivery::default(), http::whole(400, &[owned(JSON)], sorted(&body)))
}

/// A short answer whose text event is cut in half.
fn broken_events(told: &Told<'_>) -> Vec<Event> {
    const TEXT: &str = "broken";
    let answer = Answer { parts: vec![Part::Text(TEXT.to_owned())], ..Answer::default() };
    let mut events = wire::events(&answer, told, Noise::None);
    let broken = events.iter_mut().find_map(|event| {
        let Data::Json(json) = &event.data else { return None };
        let json = sorted(json);
        let half = json.find(TEXT)? + TEXT.len();
        Some((event, json[..half].to_owned()))
    });
    if let Some((event, half)) = broken {
        event.data = Data::Text(half);
    }
    events
}

fn reported(answer: &Answer, asked: &Asked, tokens: Tokens) -> Option<Tokens> {
    // Chat reports tokens only on request.
    if asked.wire == Wire::Chat && asked.body["stream_options"]["include_usage"] != true {
        return None;
    }
    match answer.usage {
        Reported::Counted | Reported::Told(_) => Some(tokens),
        Reported::Nothing => None,
    }
}

/// Responses sends encrypted reasoning only on request.
fn asks_for_encrypted(asked: &Asked) -> bool {
    let include = asked.body["include"].as_array();
    include.is_some_and(|asked| asked.iter().any(|field| field == "reasoning.encrypted_content"))
}

fn whole(delivery: &Delivery, bytes: Vec<u8>) -> Outgoing {
    Outgoing { delay: delivery.delay, writes: vec![bytes], end: End::KeepAlive }
}

fn streamed(delivery: &Delivery, events: &[Event]) -> Outgoing {
    let mut events: Vec<Vec<u8>> =
        events.iter().map(|event| lines(event, delivery.line_end)).collect();
    let end = shortened(&mut events, delivery.broken);
    let mut chunks: Vec<Vec<u8>> = match delivery.chunk {
        None => events.iter().map(|event| http::chunk(event)).collect(),
        Some(bytes) => events.concat().chunks(bytes).map(http::chunk).collect(),
    };
    if end == End::KeepAlive {
        chunks.push(http::chunk(b""));
    }
    chunks.insert(0, http::chunked(200, &[owned(EVENTS), ("cache-control", "no-cache".into())]));
    // One write is cheaper. Tests that need separate writes set `chunks`.
    let writes = if delivery.chunk.is_some() { chunks } else { vec![chunks.concat()] };
    Outgoing { delay: delivery.delay, writes, end }
}

fn lines(event: &Event, line_end: LineEnd) -> Vec<u8> {
    let lines = event.lines();
    match line_end {
        LineEnd::Lf => lines.into_bytes(),
        LineEnd::CrLf => lines.replace('\n', "\r\n").into_bytes(),
    }
}

/// Removes what is never sent.
fn shortened(events: &mut Vec<Vec<u8>>, broken: Option<Break>) -> End {
    let Some(Break { after, how }) = broken else {
        return End::KeepAlive;
    };
    match after {
        After::Events(count) => events.truncate(count),
        After::Bytes(count) => {
            let mut bytes = events.concat();
            bytes.truncate(count);
            *events = vec![bytes];
        }
    }
    match how {
        How::Closed => End::Close,
        How::Silent => End::Silence,
    }
}

fn owned((name, value): (&'static str, &str)) -> (&'static str, String) {
    (name, value.to_owned())
}
