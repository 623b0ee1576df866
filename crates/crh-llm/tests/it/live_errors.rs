//! Error responses of each vendor, and the resulting errors.

use std::time::Duration;

use expect_test::{Expect, expect};
use serde_json::json;

use super::live_setup::{KEY, WIRES, ask, client, endpoint, live, question};
use crh_llm::{Endpoint, ModelError, NetworkSettings, Timeouts, VendorClient, Wire};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{
    Malformed, ScriptedReply, bad_key, bad_request, calls, context_full, declines, fails_with,
    hangs_up, malformed, no_credit, overloaded, rate_limited, refuses, refuses_prompt, says,
    says_nothing, server_error,
};

/// Prints the error for each reply and API, one line for equal ones.
async fn check(replies: &[(&str, ScriptedReply)], expected: Expect) {
    check_with(&WIRES, Timeouts::default(), replies, expected).await;
}

async fn check_with(
    wires: &[Wire],
    timeouts: Timeouts,
    replies: &[(&str, ScriptedReply)],
    expected: Expect,
) {
    let network = NetworkSettings { timeouts, ..NetworkSettings::default() };
    let mut actual = String::new();
    for (name, reply) in replies {
        // All vendors are asked at once, since tests of timeouts wait.
        let errors = futures_util::future::join_all(wires.iter().map(|&wire| {
            let (network, reply) = (&network, reply.clone());
            async move {
                let model = FakeModel::start().on("tester", [reply]);
                let live = VendorClient::new(endpoint(wire, model.url()), network).unwrap();
                let error = ask(&live, &question()).await.unwrap_err();
                // On a busy machine the client can give up before the server has read the request.
                model.wait_for("tester", 1);
                assert!(!format!("{error} {error:?}").contains(KEY), "{wire:?}");
                (wire, format!("{error:?}").replace(&model.url(), "URL"))
            }
        }))
        .await;
        let mut lines: Vec<(String, String)> = Vec::new();
        for (wire, error) in errors {
            match lines.iter_mut().find(|(_, known)| *known == error) {
                Some((wires, _)) => wires.push_str(&format!(" {wire:?}")),
                None => lines.push((format!("{wire:?}"), error)),
            }
        }
        actual += &format!("{name}\n");
        actual.extend(lines.iter().map(|(wires, error)| format!("{wires}: {error}\n")));
    }
    expected.assert_eq(&actual);
}

/// The errors of which each vendor has its own form.
fn vendor_errors() -> Vec<(&'static str, ScriptedReply)> {
    let long = format!("Unknown\n\tfield \u{1b}[31m`x`\u{202e} {}", "and so on ".repeat(100));
    vec![
        ("rate limit", rate_limited(7)),
        ("overload", overloaded()),
        ("server error", server_error()),
        ("full context", context_full()),
        ("refusal", refuses()),
        ("refused prompt", refuses_prompt()),
        ("refusal in words", declines("I will not do that.")),
        ("wrong key", bad_key()),
        ("no credit", no_credit()),
        ("bad request", bad_request(long)),
        ("overload within a reply", says("I beg").then(overloaded())),
        ("error event within a reply", says("I beg").then_error_event(rate_limited(3))),
        ("hang-up", hangs_up()),
    ]
}

#[tokio::test]
async fn errors_of_every_vendor_are_recognised() {
    check(
        &vendor_errors(),
        expect![[r#"
            rate limit
            OpenAiChat: RateLimited { retry_after: Some(7s), message: "Rate limit reached for gpt-4.1-mini. Please try again in 7s." }
            OpenAiResponses: RateLimited { retry_after: Some(7s), message: "Rate limit reached for gpt-5.2. Please try again in 7s." }
            Anthropic: RateLimited { retry_after: Some(7s), message: "This request would exceed your rate limit." }
            Gemini: RateLimited { retry_after: Some(7s), message: "Quota exceeded. Please retry in 7s." }
            overload
            OpenAiChat OpenAiResponses: Overloaded { retry_after: None, message: "The engine is overloaded." }
            Anthropic: Overloaded { retry_after: None, message: "Overloaded" }
            Gemini: Overloaded { retry_after: None, message: "The model is overloaded." }
            server error
            OpenAiChat OpenAiResponses: Broken { message: "The server had an error." }
            Anthropic: Broken { message: "Internal server error" }
            Gemini: Broken { message: "An internal error has occurred." }
            full context
            OpenAiChat OpenAiResponses: ContextFull { message: "This model's maximum context length is 1000 tokens; your messages are longer." }
            Anthropic: ContextFull { message: "prompt is too long: 1001 tokens > 1000 maximum" }
            Gemini: ContextFull { message: "The input token count (1001) exceeds the maximum number of tokens allowed (1000)." }
            refusal
            OpenAiChat OpenAiResponses: Refused { message: "blocked by the vendor's filter: `content_filter`" }
            Anthropic: Refused { message: "blocked by the vendor's filter: `refusal`" }
            Gemini: Refused { message: "blocked by the vendor's filter: `SAFETY`" }
            refused prompt
            OpenAiChat OpenAiResponses: Refused { message: "Invalid prompt: it was flagged by the usage policy." }
            Anthropic: Refused { message: "Output blocked by content filtering policy" }
            Gemini: Refused { message: "blocked by the vendor's filter: `PROHIBITED_CONTENT`" }
            refusal in words
            OpenAiChat OpenAiResponses: Refused { message: "I will not do that." }
            Anthropic: Refused { message: "blocked by the vendor's filter: `refusal`" }
            Gemini: Refused { message: "blocked by the vendor's filter: `SAFETY`" }
            wrong key
            OpenAiChat OpenAiResponses: BadKey { message: "Incorrect API key provided: [redacted]." }
            Anthropic: BadKey { message: "invalid x-api-key: [redacted]" }
            Gemini: BadKey { message: "API key not valid: [redacted]" }
            no credit
            OpenAiChat OpenAiResponses: NoCredit { message: "You exceeded your current quota, please check your plan and billing details." }
            Anthropic: NoCredit { message: "Your credit balance is too low to access the API." }
            Gemini: NoCredit { message: "Your prepayment credits are depleted. Please manage your project and billing." }
            bad request
            OpenAiChat OpenAiResponses Anthropic Gemini: BadRequest { message: "Unknown field \\u{1b}[31m`x`\\u{202e} and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and…" }
            overload within a reply
            OpenAiChat OpenAiResponses: CutStream { message: "The engine is overloaded." }
            Anthropic: CutStream { message: "Overloaded" }
            Gemini: CutStream { message: "The model is overloaded." }
            error event within a reply
            OpenAiChat: CutStream { message: "Rate limit reached for gpt-4.1-mini. Please try again in 3s." }
            OpenAiResponses: CutStream { message: "Rate limit reached for gpt-5.2. Please try again in 3s." }
            Anthropic: CutStream { message: "This request would exceed your rate limit." }
            Gemini: CutStream { message: "Quota exceeded. Please retry in 3s." }
            hang-up
            OpenAiChat: Transport { message: "connection lost before the reply: connection closed before message completed (`URL/chat/completions`)", spent: Unknown }
            OpenAiResponses: Transport { message: "connection lost before the reply: connection closed before message completed (`URL/responses`)", spent: Unknown }
            Anthropic: Transport { message: "connection lost before the reply: connection closed before message completed (`URL/messages`)", spent: Unknown }
            Gemini: Transport { message: "connection lost before the reply: connection closed before message completed (`URL/models/gemini-3-flash:streamGenerateContent`)", spent: Unknown }
        "#]],
    )
    .await;
}

#[tokio::test]
async fn early_stream_error_equals_a_status_error() {
    for failing in [|| rate_limited(7), overloaded, context_full, bad_key, no_credit] {
        for wire in WIRES {
            let scripts = [
                failing(),
                says_nothing().then(failing()),
                says_nothing().then_error_event(failing()),
            ];
            let model = FakeModel::start().on("tester", scripts);
            let live = live(wire, model.url());
            let outside = ask(&live, &question()).await.unwrap_err();
            for _ in 0..2 {
                let inside = ask(&live, &question()).await.unwrap_err();
                // A stream has no headers for the delay.
                assert_eq!(without_delay(inside), without_delay(outside.clone()), "{wire:?}");
            }
        }
    }
}

fn without_delay(error: ModelError) -> ModelError {
    match error {
        ModelError::RateLimited { message, .. } => {
            ModelError::RateLimited { retry_after: None, message }
        }
        other => other,
    }
}

#[tokio::test]
async fn invalid_stream_is_a_cut_stream() {
    // An empty Gemini reply ends before the broken event.
    check_with(
        &WIRES[..3],
        Timeouts::default(),
        &[("broken event", malformed(Malformed::BrokenEvent))],
        expect![[r#"
            broken event
            OpenAiChat Anthropic: CutStream { message: "an event is not valid JSON" }
            OpenAiResponses: CutStream { message: "an event cannot be read" }
        "#]],
    )
    .await;
    check(
        &[
            ("no events", malformed(Malformed::NoEvents)),
            ("HTML", malformed(Malformed::Html)),
            ("empty", malformed(Malformed::Empty)),
        ],
        expect![[r#"
            no events
            OpenAiChat OpenAiResponses Anthropic Gemini: CutStream { message: "not a model's reply; check the base URL" }
            HTML
            OpenAiChat OpenAiResponses Anthropic Gemini: CutStream { message: "not a model's reply; check the base URL" }
            empty
            OpenAiChat OpenAiResponses Anthropic Gemini: CutStream { message: "not a model's reply; check the base URL" }
        "#]],
    )
    .await;
}

#[tokio::test]
async fn silent_vendor_times_out() {
    let second = Duration::from_secs(1);
    let begin = Timeouts { connect: second, first_byte: second * 4, ..Timeouts::default() };
    let late_reply = says("late").delayed(Duration::from_secs(60));
    check_with(
        &WIRES,
        begin,
        &[("late", late_reply)],
        expect![[r#"
            late
            OpenAiChat: Transport { message: "no reply within 5 s (`URL/chat/completions`)", spent: Unknown }
            OpenAiResponses: Transport { message: "no reply within 5 s (`URL/responses`)", spent: Unknown }
            Anthropic: Transport { message: "no reply within 5 s (`URL/messages`)", spent: Unknown }
            Gemini: Transport { message: "no reply within 5 s (`URL/models/gemini-3-flash:streamGenerateContent`)", spent: Unknown }
        "#]],
    )
    .await;
    let go_on = Timeouts { idle: second / 4, ..Timeouts::default() };
    let silent = says("one two three").pieces(3).silent_after_events(2);
    check_with(
        &WIRES,
        go_on,
        &[("silent", silent)],
        expect![[r#"
            silent
            OpenAiChat: Stalled { message: "no data for 0.25 s (`URL/chat/completions`)" }
            OpenAiResponses: Stalled { message: "no data for 0.25 s (`URL/responses`)" }
            Anthropic: Stalled { message: "no data for 0.25 s (`URL/messages`)" }
            Gemini: Stalled { message: "no data for 0.25 s (`URL/models/gemini-3-flash:streamGenerateContent`)" }
        "#]],
    )
    .await;
}

#[tokio::test]
async fn refused_connection_costs_nothing() {
    // The port was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let live = live(Wire::Anthropic, format!("http://127.0.0.1:{port}/v1"));
    let error = ask(&live, &question()).await.unwrap_err();
    let error_text = format!("{error:?}").replace(&port.to_string(), "PORT");
    expect![[r#"NoServer { message: "Connection refused (os error 111) (`http://127.0.0.1:PORT/v1/messages`)" }"#]].assert_eq(&error_text);
}

#[tokio::test]
async fn wrong_address_and_missing_key_are_explained() {
    for wire in WIRES {
        let nothing_there = fails_with(404, json!({ "error": { "message": "x".repeat(1_000) } }));
        let no_key = fails_with(401, json!({ "error": { "message": "x".repeat(1_000) } }));
        let model = FakeModel::start().on("tester", [nothing_there, no_key]);
        let endpoint = Endpoint { key: None, ..endpoint(wire, model.url()) };
        let live = client(endpoint);
        let message = ask(&live, &question()).await.unwrap_err().to_string();
        let expected = format!("… (`{}/", model.url());
        assert!(message.contains(&expected) && message.ends_with("`)"), "{message}");
        let message = ask(&live, &question()).await.unwrap_err().to_string();
        let expected = "the server requires an API key, and crh sent none: xxx";
        assert!(message.starts_with(expected) && message.ends_with('…'), "{message}");
    }
}

#[tokio::test]
async fn cut_stream_is_never_a_reply() {
    let full_reply =
        || calls("look", json!({ "path": "ä.rs" })).and_says("So.").thinking("Hm.", "c2ln");
    for wire in WIRES {
        let model = FakeModel::start();
        let live = live(wire, model.url());
        // Cuts the stream in steps; only a cut after its end is a reply.
        let mut answers = 0;
        for bytes in (1..8_000).step_by(61) {
            model.script("tester", [full_reply().cut_after_bytes(bytes)]);
            match ask(&live, &question()).await {
                Ok(reply) => {
                    answers += 1;
                    assert_eq!(reply.turn.full_text(), "So.", "{wire:?} after {bytes} bytes");
                }
                Err(ModelError::CutStream { .. }) => {
                    assert_eq!(answers, 0, "{wire:?} after {bytes} bytes");
                }
                Err(other) => panic!("{wire:?} after {bytes} bytes: {other:?}"),
            }
        }
        assert!(answers > 0, "{wire:?}: the stream never came to its end");
    }
}
