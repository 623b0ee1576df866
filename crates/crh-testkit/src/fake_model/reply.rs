//! Turns a scripted reply into the bytes of a response.

use super::count::Tokens;
use super::json::sorted;
use super::request::{FakeRequest, Wire};
use super::script::{
    Answer, BreakKind, BreakPosition, Delivery, LineEnd, Malformed, Noise, Outcome, Part,
    ScriptedReply, StreamBreak, UsageReport,
};
use super::wire;
use super::wire::{Data, Event, ReplyContext};
use crate::http;
use crate::http::{ConnectionEnd, HttpResponse};

const EVENTS: (&str, &str) = ("content-type", "text/event-stream; charset=utf-8");
const JSON: (&str, &str) = ("content-type", "application/json");
const HTML: (&str, &str) = ("content-type", "text/html");
const HTML_PAGE: &str = "<!doctype html><title>Sign in</title><p>Please sign in to the network.";

/// The bytes of a reply. Reports `tokens` unless the script says otherwise.
pub(super) fn response(
    scripted: &ScriptedReply,
    request: &FakeRequest,
    tokens: Tokens,
) -> HttpResponse {
    let delivery = &scripted.delivery;
    let context = ReplyContext {
        wire: request.wire,
        model: &request.model,
        number: request.number,
        usage: None,
        encrypted: asks_for_encrypted(request),
        pieces: delivery.pieces,
        key: request.key(),
    };
    match &scripted.outcome {
        Outcome::Answer(answer) => {
            let context =
                ReplyContext { usage: reported_usage(answer, request, tokens), ..context };
            stream_response(delivery, &wire::events(answer, &context, delivery.noise))
        }
        Outcome::Failure(failure) => {
            let failed = wire::failure_response(failure, &context);
            if failed.status == 200 {
                // Gemini refuses with an answer that has no candidate.
                return stream_response(
                    delivery,
                    &[Event { name: None, data: Data::Json(failed.body) }],
                );
            }
            let mut headers = vec![owned_header(JSON)];
            headers.extend(failed.headers);
            full_response(delivery, http::full_reply(failed.status, &headers, sorted(&failed.body)))
        }
        Outcome::Malformed(Malformed::BrokenEvent) => {
            stream_response(delivery, &broken_events(&context))
        }
        Outcome::Malformed(Malformed::NoEvents) => full_response(
            delivery,
            http::full_reply(200, &[owned_header(EVENTS)], "this is no event stream\n"),
        ),
        Outcome::Malformed(Malformed::Html) => {
            full_response(delivery, http::full_reply(200, &[owned_header(HTML)], HTML_PAGE))
        }
        Outcome::Malformed(Malformed::Empty) => stream_response(delivery, &[]),
        Outcome::Redirect(url) => {
            full_response(delivery, http::full_reply(307, &[("location", url.clone())], ""))
        }
        Outcome::HangUp => {
            HttpResponse { delay: delivery.delay, writes: Vec::new(), end: ConnectionEnd::Close }
        }
        Outcome::Decided(_) => error_response("a decision decided on another one"),
    }
}

/// A page about the server, or 404.
pub(super) fn page_response(page: Option<&serde_json::Value>) -> HttpResponse {
    let reply = match page {
        Some(page) => http::full_reply(200, &[owned_header(JSON)], sorted(page)),
        None => http::full_reply(404, &[owned_header(JSON)], "{}"),
    };
    full_response(&Delivery::default(), reply)
}

/// An error of the fake itself.
pub(super) fn error_response(message: &str) -> HttpResponse {
    let body = serde_json::json!({ "error": { "message": message, "type": "fake_model" } });
    full_response(&Delivery::default(), http::full_reply(400, &[owned_header(JSON)], sorted(&body)))
}

/// A short answer whose text event is cut in half.
fn broken_events(context: &ReplyContext<'_>) -> Vec<Event> {
    const TEXT: &str = "broken";
    let answer = Answer { parts: vec![Part::Text(TEXT.to_owned())], ..Answer::default() };
    let mut events = wire::events(&answer, context, Noise::None);
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

fn reported_usage(answer: &Answer, request: &FakeRequest, tokens: Tokens) -> Option<Tokens> {
    // Chat reports tokens only on request.
    if request.wire == Wire::Chat && request.body["stream_options"]["include_usage"] != true {
        return None;
    }
    match answer.usage {
        UsageReport::Counted | UsageReport::Told(_) => Some(tokens),
        UsageReport::Nothing => None,
    }
}

/// Responses sends encrypted reasoning only on request.
fn asks_for_encrypted(request: &FakeRequest) -> bool {
    let include = request.body["include"].as_array();
    include.is_some_and(|asked| asked.iter().any(|field| field == "reasoning.encrypted_content"))
}

fn full_response(delivery: &Delivery, bytes: Vec<u8>) -> HttpResponse {
    HttpResponse { delay: delivery.delay, writes: vec![bytes], end: ConnectionEnd::KeepAlive }
}

fn stream_response(delivery: &Delivery, events: &[Event]) -> HttpResponse {
    let mut events: Vec<Vec<u8>> =
        events.iter().map(|event| lines(event, delivery.line_end)).collect();
    let end = apply_break(&mut events, delivery.stream_break);
    let mut chunks: Vec<Vec<u8>> = match delivery.chunk {
        None => events.iter().map(|event| http::chunk(event)).collect(),
        Some(bytes) => events.concat().chunks(bytes).map(http::chunk).collect(),
    };
    if end == ConnectionEnd::KeepAlive {
        chunks.push(http::chunk(b""));
    }
    chunks.insert(
        0,
        http::chunked_head(200, &[owned_header(EVENTS), ("cache-control", "no-cache".into())]),
    );
    // One write is cheaper. Tests that need separate writes set `chunks`.
    let writes = if delivery.chunk.is_some() { chunks } else { vec![chunks.concat()] };
    HttpResponse { delay: delivery.delay, writes, end }
}

fn lines(event: &Event, line_end: LineEnd) -> Vec<u8> {
    let lines = event.lines();
    match line_end {
        LineEnd::Lf => lines.into_bytes(),
        LineEnd::CrLf => lines.replace('\n', "\r\n").into_bytes(),
    }
}

/// Removes the events or bytes after the break. Returns what then happens to the connection.
fn apply_break(events: &mut Vec<Vec<u8>>, broken: Option<StreamBreak>) -> ConnectionEnd {
    let Some(StreamBreak { position: after, kind: how }) = broken else {
        return ConnectionEnd::KeepAlive;
    };
    match after {
        BreakPosition::Events(count) => events.truncate(count),
        BreakPosition::Bytes(count) => {
            let mut bytes = events.concat();
            bytes.truncate(count);
            *events = vec![bytes];
        }
    }
    match how {
        BreakKind::Closed => ConnectionEnd::Close,
        BreakKind::Silent => ConnectionEnd::Silence,
    }
}

fn owned_header((name, value): (&'static str, &str)) -> (&'static str, String) {
    (name, value.to_owned())
}
