//! Tests the fake model with a raw HTTP client.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use expect_test::expect;
use serde_json::{Value, json};

use super::*;
use crate::http::read_more;

const WIRES: [Wire; 4] = [Wire::Chat, Wire::Responses, Wire::Messages, Wire::Gemini];

fn path(wire: Wire) -> &'static str {
    match wire {
        Wire::Chat => "/v1/chat/completions",
        Wire::Responses => "/v1/responses",
        Wire::Messages => "/v1/messages",
        Wire::Gemini => "/v1/models/m:streamGenerateContent?alt=sse",
    }
}

/// The same question in each format.
fn question(wire: Wire) -> Value {
    match wire {
        Wire::Chat => json!({
            "model": "m", "stream": true, "stream_options": { "include_usage": true },
            "messages": [{ "role": "user", "content": "hello" }],
        }),
        Wire::Responses => json!({
            "model": "m", "stream": true, "include": ["reasoning.encrypted_content"],
            "input": [{ "role": "user", "content": "hello" }],
        }),
        Wire::Messages => json!({
            "model": "m", "stream": true, "max_tokens": 10,
            "messages": [{ "role": "user", "content": "hello" }],
        }),
        Wire::Gemini => json!({ "contents": [{ "role": "user", "parts": [{ "text": "hello" }] }] }),
    }
}

/// A received request, without a connection.
pub(super) fn asked(wire: Wire, body: Value) -> FakeRequest {
    let model = body["model"].as_str().unwrap_or("m").to_owned();
    let (caller, path) = ("me".to_owned(), path(wire).to_owned());
    FakeRequest { caller, number: 1, wire, model, path, headers: Vec::new(), body }
}

fn request(path: &str, caller: &str, body: &Value) -> String {
    let body = body.to_string();
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nuser-agent: crh/0.1.0 ({caller})\r\n\
         authorization: Bearer sk-secret\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Sends a request on a new connection and reads until the reply is complete or the model closes.
fn ask(model: &FakeModel, path: &str, caller: &str, body: &Value) -> Vec<u8> {
    let mut stream = connected(model);
    stream.write_all(request(path, caller, body).as_bytes()).unwrap();
    reply(&mut stream)
}

fn connected(model: &FakeModel) -> TcpStream {
    let address = model.url().trim_start_matches("http://").trim_end_matches("/v1").to_owned();
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

fn reply(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    while !complete(&bytes) && read_more(stream, &mut bytes).unwrap() > 0 {}
    bytes
}

fn complete(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    match head.split("content-length: ").nth(1) {
        Some(length) => body.len() >= length.lines().next().unwrap().parse().unwrap(),
        None => bytes.ends_with(b"\r\n0\r\n\r\n"),
    }
}

/// The decoded body of a reply.
fn body(bytes: &[u8]) -> Vec<u8> {
    chunks(bytes).concat()
}

/// The chunks of a reply, or its body if it has none.
fn chunks(bytes: &[u8]) -> Vec<Vec<u8>> {
    let start = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
    let (head, mut rest) = (String::from_utf8_lossy(&bytes[..start]), &bytes[start..]);
    if !head.contains("chunked") {
        return vec![rest.to_vec()];
    }
    let mut chunks = Vec::new();
    while let Some(line) = rest.windows(2).position(|window| window == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..line]).unwrap(), 16).unwrap();
        chunks.push(rest[line + 2..line + 2 + size].to_vec());
        rest = &rest[line + 2 + size + 2..];
    }
    chunks
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

fn rich() -> ScriptedReply {
    says("Grüße")
        .thinking("let me see", "sig")
        .and_calls("read_file", json!({ "path": "a.rs", "first_line": 1 }))
        .and_calls("search", json!({ "query": "é" }))
        .pieces(2)
}

fn panics(act: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(act)).unwrap_err();
    panic.downcast_ref::<String>().unwrap().clone()
}

#[test]
fn noise_is_sent_between_events() {
    for wire in WIRES {
        let replies = [says("Grüße").pieces(5), says("Grüße").pieces(5).unknown_events()];
        let model = FakeModel::start().on("me", replies);
        let [plain, noisy] =
            [0; 2].map(|_| text(body(&ask(&model, path(wire), "me", &question(wire)))));
        let pieces = |reply: &str| reply.matches("\n\n").count();
        assert!(pieces(&noisy) >= pieces(&plain) + 5, "{wire:?}: {noisy}");
    }
}

#[test]
fn chunks_have_the_requested_size() {
    for wire in WIRES {
        let whole = {
            let model = FakeModel::start().on("me", [rich()]);
            body(&ask(&model, path(wire), "me", &question(wire)))
        };
        for size in [1, 3, 7] {
            let model = FakeModel::start().on("me", [rich().chunks(size)]);
            let bytes = ask(&model, path(wire), "me", &question(wire));
            assert_eq!(text(body(&bytes)), text(whole.clone()), "{wire:?} {size}");
            let mut sizes: Vec<usize> = chunks(&bytes).iter().map(Vec::len).collect();
            assert_eq!(sizes.pop(), Some(0));
            assert!(sizes.pop() <= Some(size) && sizes.iter().all(|one| *one == size), "{wire:?}");
        }
    }
}

#[test]
fn unscripted_request_is_refused_and_fails_the_test() {
    let model = FakeModel::start();
    let bytes = ask(&model, path(Wire::Chat), "me", &question(Wire::Chat));
    assert!(text(bytes).starts_with("HTTP/1.1 400 "));
    expect![[r#"
        the fake model's script was not followed:
        request 1 of `me` (/v1/chat/completions) has no reply in the script"#]]
    .assert_eq(&panics(|| drop(model)));
}

#[test]
fn unused_reply_fails_the_test() {
    let model = FakeModel::start().on("me", [says("a"), says("b")]);
    ask(&model, path(Wire::Chat), "me", &question(Wire::Chat));
    expect![[r#"
        the fake model's script was not followed:
        `me` asked 1 times and left a reply: Answer(Answer { parts: [Text("b")], ending: Natural, failure: None, usage: Counted })"#]].assert_eq(&panics(|| drop(model)));
}

#[test]
fn cut_can_split_a_character() {
    let model = FakeModel::start().on("me", [says("é")]);
    let ask = || body(&ask(&model, path(Wire::Gemini), "me", &question(Wire::Gemini)));
    let character = ask().windows(2).position(|window| window == "é".as_bytes()).unwrap();
    model.script("me", [says("é").cut_after_bytes(character + 1)]);
    let cut = ask();
    assert_eq!((cut.len(), cut.last()), (character + 1, Some(&"é".as_bytes()[0])));
}

#[test]
fn lines_can_end_with_crlf() {
    let model = FakeModel::start().on("me", [rich(), rich().crlf()]);
    let ask = || text(body(&ask(&model, path(Wire::Messages), "me", &question(Wire::Messages))));
    let numbered = |text: String| text.replace("_2", "_1");
    assert_eq!(numbered(ask()).replace('\n', "\r\n"), numbered(ask()));
}

#[test]
fn silent_model_keeps_connections_open_until_dropped() {
    let model = FakeModel::start().on("me", [says("a").silent_after_events(1)]);
    let mut stream = connected(&model);
    stream.write_all(request(path(Wire::Chat), "me", &question(Wire::Chat)).as_bytes()).unwrap();
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\n\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        bytes.extend_from_slice(&byte);
    }
    drop(model);
    assert_eq!(read_more(&mut stream, &mut Vec::new()).unwrap(), 0);
}

#[test]
fn dropping_the_model_ends_delays_and_threads() {
    let model = FakeModel::start().on("me", [says("a").delayed(Duration::from_secs(3600))]);
    let mut stream = connected(&model);
    stream.write_all(request(path(Wire::Chat), "me", &question(Wire::Chat)).as_bytes()).unwrap();
    while model.requests().is_empty() {
        std::thread::yield_now();
    }
    let service = Arc::downgrade(&model.service);
    drop(model);
    assert_eq!(read_more(&mut stream, &mut Vec::new()).unwrap(), 0);
    // Every thread holds a reference to the service, also the listener, which owns the port.
    assert!(service.upgrade().is_none());
}

#[test]
fn concurrent_clients_are_all_counted() {
    let model = FakeModel::answering(|asked| match asked.number % 3 {
        0 => rate_limited(1),
        1 => says("12345678").cut_after_events(1),
        _ => says(&asked.caller).delayed(Duration::from_millis(1)),
    });
    std::thread::scope(|scope| {
        for client in 0..64 {
            let model = &model;
            scope.spawn(move || {
                for _ in 0..3 {
                    ask(model, path(Wire::Chat), &format!("{client:04}"), &question(Wire::Chat));
                }
            });
        }
    });
    // `hello` is two tokens. Only the first request is not read from the cache.
    let counted = model.usage();
    let expected = FakeUsage { requests: 192, answered: 128, input: 256, output: 192, ..counted };
    assert_eq!(counted, expected);
    assert!(counted.cached < counted.input && counted.cached >= 2 * 64, "{counted:?}");
}

#[test]
fn unknown_requests_fail_the_test() {
    let model = FakeModel::answering(|asked| match asked.caller.as_str() {
        "bad" => panic!("on purpose"),
        _ => says("a"),
    });
    ask(&model, "/v1/embeddings", "me", &json!({}));
    ask(&model, path(Wire::Chat), "me", &json!({ "model": "m" }));
    ask(&model, path(Wire::Chat), "bad", &question(Wire::Chat));
    let mut stream = connected(&model);
    stream.write_all(b"this is no HTTP\r\n\r\n").unwrap();
    assert_eq!(read_more(&mut stream, &mut Vec::new()).unwrap(), 0);
    expect![[r#"
        the fake model's script was not followed:
        `POST /v1/embeddings` is not one of its paths
        request 1 of `me` (/v1/chat/completions) would be refused by the vendor: it asks for an answer that is no stream, which the fake does not have
        request 1 of `bad` (/v1/chat/completions) made the deciding function panic
        a request was not understood: invalid HTTP version"#]].assert_eq(&panics(|| drop(model)));
}

#[test]
fn prompt_is_cached_when_its_answer_starts() {
    let slow = says("a").delayed(Duration::from_secs(3600));
    let model = FakeModel::start().on("slow", [slow]).on("me", [says("a"), says("a")]);
    let mut stream = connected(&model);
    stream.write_all(request(path(Wire::Chat), "slow", &question(Wire::Chat)).as_bytes()).unwrap();
    while model.requests().is_empty() {
        std::thread::yield_now();
    }
    let cached = [0; 2].map(|_| {
        ask(&model, path(Wire::Chat), "me", &question(Wire::Chat));
        model.usage().cached
    });
    assert_eq!(cached, [0, 2]);
}

#[test]
fn optional_fields_are_sent_only_on_request() {
    let model = FakeModel::start().on("me", [rich(), rich()]);
    let mut unasked = question(Wire::Chat);
    unasked["stream_options"] = Value::Null;
    let reply = text(body(&ask(&model, path(Wire::Chat), "me", &unasked)));
    assert!(reply.ends_with("[DONE]\n\n") && !reply.contains("usage"), "{reply}");
    let mut unasked = question(Wire::Responses);
    unasked["include"] = Value::Null;
    let reply = text(body(&ask(&model, path(Wire::Responses), "me", &unasked)));
    assert!(reply.contains("let me see") && !reply.contains("encrypted_content"), "{reply}");
}

#[test]
fn model_without_history_keeps_counts_only() {
    let model = FakeModel::start().on("me", [says("a")]).forgetful();
    ask(&model, path(Wire::Chat), "me", &question(Wire::Chat));
    assert_eq!((model.requests(), model.usage_by_model()["m"].requests), (Vec::new(), 1));
}

#[test]
fn requests_are_recorded_completely() {
    let model = FakeModel::start().on("me", [says("a")]).tag("greeting", "hello");
    ask(&model, path(Wire::Gemini), "me", &question(Wire::Gemini));
    assert_eq!(model.conversations(), "me\n  0 user     <greeting>\n");
    let mut expected = asked(Wire::Gemini, question(Wire::Gemini));
    let requests = model.requests();
    expected.headers.clone_from(&requests[0].headers);
    assert_eq!(requests, [expected]);
    assert_eq!(requests[0].header("User-Agent"), Some("crh/0.1.0 (me)"));
    assert_eq!(requests[0].prompt_parts(), [PromptPart::User("hello".to_owned())]);
}
