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

/// Prints the error for each API, one line for equal ones.
async fn check(scripted: impl Fn() -> ScriptedReply, expected: Expect) {
    check_with(&WIRES, Timeouts::default(), scripted, expected).await;
}

async fn check_with(
    wires: &[Wire],
    timeouts: Timeouts,
    scripted: impl Fn() -> ScriptedReply,
    expected: Expect,
) {
    let network = NetworkSettings { timeouts, ..NetworkSettings::default() };
    // All vendors are asked at once, since tests of timeouts wait.
    let errors = futures_util::future::join_all(wires.iter().map(|&wire| {
        let (network, scripted) = (&network, scripted());
        async move {
            let model = FakeModel::start().on("tester", [scripted]);
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
    let lines: Vec<String> =
        lines.iter().map(|(wires, error)| format!("{wires}\n    {error}\n")).collect();
    expected.assert_eq(&lines.concat());
}

#[tokio::test]
async fn rate_limit_error_has_a_delay() {
    check(|| rate_limited(7), expect![[r#"
        OpenAiChat
            RateLimited { retry_after: Some(7s), message: "Rate limit reached for gpt-4.1-mini. Please try again in 7s." }
        OpenAiResponses
            RateLimited { retry_after: Some(7s), message: "Rate limit reached for gpt-5.2. Please try again in 7s." }
        Anthropic
            RateLimited { retry_after: Some(7s), message: "This request would exceed your rate limit." }
        Gemini
            RateLimited { retry_after: Some(7s), message: "Quota exceeded. Please retry in 7s." }
    "#]]).await;
}

#[tokio::test]
async fn overload_and_server_error_are_distinguished() {
    check(
        overloaded,
        expect![[r#"
        OpenAiChat OpenAiResponses
            Overloaded { retry_after: None, message: "The engine is overloaded." }
        Anthropic
            Overloaded { retry_after: None, message: "Overloaded" }
        Gemini
            Overloaded { retry_after: None, message: "The model is overloaded." }
    "#]],
    )
    .await;
    check(
        server_error,
        expect![[r#"
            OpenAiChat OpenAiResponses
                Broken { message: "The server had an error." }
            Anthropic
                Broken { message: "Internal server error" }
            Gemini
                Broken { message: "An internal error has occurred." }
        "#]],
    )
    .await;
}

#[tokio::test]
async fn full_context_is_recognised_for_each_vendor() {
    check(context_full, expect![[r#"
        OpenAiChat OpenAiResponses
            ContextFull { message: "This model's maximum context length is 1000 tokens; your messages are longer." }
        Anthropic
            ContextFull { message: "prompt is too long: 1001 tokens > 1000 maximum" }
        Gemini
            ContextFull { message: "The input token count (1001) exceeds the maximum number of tokens allowed (1000)." }
    "#]]).await;
}

#[tokio::test]
async fn refusal_is_recognised_everywhere() {
    check(
        refuses,
        expect![[r#"
        OpenAiChat OpenAiResponses
            Refused { message: "blocked by the vendor's filter: `content_filter`" }
        Anthropic
            Refused { message: "blocked by the vendor's filter: `refusal`" }
        Gemini
            Refused { message: "blocked by the vendor's filter: `SAFETY`" }
    "#]],
    )
    .await;
    check(
        refuses_prompt,
        expect![[r#"
            OpenAiChat OpenAiResponses
                Refused { message: "Invalid prompt: it was flagged by the usage policy." }
            Anthropic
                Refused { message: "Output blocked by content filtering policy" }
            Gemini
                Refused { message: "blocked by the vendor's filter: `PROHIBITED_CONTENT`" }
        "#]],
    )
    .await;
    check(
        || declines("I will not do that."),
        expect![[r#"
        OpenAiChat OpenAiResponses
            Refused { message: "I will not do that." }
        Anthropic
            Refused { message: "blocked by the vendor's filter: `refusal`" }
        Gemini
            Refused { message: "blocked by the vendor's filter: `SAFETY`" }
    "#]],
    )
    .await;
}

#[tokio::test]
async fn wrong_key_error_does_not_repeat_the_key() {
    check(
        bad_key,
        expect![[r#"
            OpenAiChat OpenAiResponses
                BadKey { message: "Incorrect API key provided: [redacted]." }
            Anthropic
                BadKey { message: "invalid x-api-key: [redacted]" }
            Gemini
                BadKey { message: "API key not valid: [redacted]" }
        "#]],
    )
    .await;
}

#[tokio::test]
async fn missing_credit_is_not_a_rate_limit() {
    check(no_credit, expect![[r#"
        OpenAiChat OpenAiResponses
            NoCredit { message: "You exceeded your current quota, please check your plan and billing details." }
        Anthropic
            NoCredit { message: "Your credit balance is too low to access the API." }
        Gemini
            NoCredit { message: "Your prepayment credits are depleted. Please manage your project and billing." }
    "#]]).await;
}

#[tokio::test]
async fn bad_request_shows_the_vendor_message() {
    let long = format!("Unknown\n\tfield \u{1b}[31m`x`\u{202e} {}", "and so on ".repeat(100));
    check(|| bad_request(long.clone()), expect![[r#"
        OpenAiChat OpenAiResponses Anthropic Gemini
            BadRequest { message: "Unknown field \\u{1b}[31m`x`\\u{202e} and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and so on and…" }
    "#]]).await;
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
async fn overload_within_a_reply_may_cost_money() {
    check(
        || says("I beg").then(overloaded()),
        expect![[r#"
        OpenAiChat OpenAiResponses
            CutStream { message: "The engine is overloaded." }
        Anthropic
            CutStream { message: "Overloaded" }
        Gemini
            CutStream { message: "The model is overloaded." }
    "#]],
    )
    .await;
    check(
        || says("I beg").then_error_event(rate_limited(3)),
        expect![[r#"
        OpenAiChat
            CutStream { message: "Rate limit reached for gpt-4.1-mini. Please try again in 3s." }
        OpenAiResponses
            CutStream { message: "Rate limit reached for gpt-5.2. Please try again in 3s." }
        Anthropic
            CutStream { message: "This request would exceed your rate limit." }
        Gemini
            CutStream { message: "Quota exceeded. Please retry in 3s." }
    "#]],
    )
    .await;
}

#[tokio::test]
async fn invalid_stream_is_a_cut_stream() {
    // An empty Gemini reply ends before the broken event.
    check_with(
        &WIRES[..3],
        Timeouts::default(),
        || malformed(Malformed::BrokenEvent),
        expect![[r#"
        OpenAiChat Anthropic
            CutStream { message: "an event is not valid JSON" }
        OpenAiResponses
            CutStream { message: "an event cannot be read" }
    "#]],
    )
    .await;
    for kind in [Malformed::NoEvents, Malformed::Html, Malformed::Empty] {
        let expected = expect![[r#"
            OpenAiChat OpenAiResponses Anthropic Gemini
                CutStream { message: "not a model's reply; check the base URL" }
        "#]];
        check(|| malformed(kind), expected).await;
    }
}

#[tokio::test]
async fn connection_lost_before_reply_may_cost_money() {
    check(hangs_up, expect![[r#"
        OpenAiChat
            Transport { message: "connection lost before the reply: connection closed before message completed (`URL/chat/completions`)", spent: Unknown }
        OpenAiResponses
            Transport { message: "connection lost before the reply: connection closed before message completed (`URL/responses`)", spent: Unknown }
        Anthropic
            Transport { message: "connection lost before the reply: connection closed before message completed (`URL/messages`)", spent: Unknown }
        Gemini
            Transport { message: "connection lost before the reply: connection closed before message completed (`URL/models/gemini-3-flash:streamGenerateContent`)", spent: Unknown }
    "#]]).await;
}

#[tokio::test]
async fn silent_vendor_times_out() {
    let second = Duration::from_secs(1);
    let begin = Timeouts { connect: second, first_byte: second * 4, ..Timeouts::default() };
    let late_reply = || says("late").delayed(Duration::from_secs(60));
    check_with(
        &WIRES,
        begin,
        late_reply,
        expect![[r#"
            OpenAiChat
                Transport { message: "no reply within 5 s (`URL/chat/completions`)", spent: Unknown }
            OpenAiResponses
                Transport { message: "no reply within 5 s (`URL/responses`)", spent: Unknown }
            Anthropic
                Transport { message: "no reply within 5 s (`URL/messages`)", spent: Unknown }
            Gemini
                Transport { message: "no reply within 5 s (`URL/models/gemini-3-flash:streamGenerateContent`)", spent: Unknown }
        "#]],
    )
    .await;
    let go_on = Timeouts { idle: second / 4, ..Timeouts::default() };
    let silent = || says("one two three").pieces(3).silent_after_events(2);
    check_with(
        &WIRES,
        go_on,
        silent,
        expect![[r#"
            OpenAiChat
                Stalled { message: "no data for 0.25 s (`URL/chat/completions`)" }
            OpenAiResponses
                Stalled { message: "no data for 0.25 s (`URL/responses`)" }
            Anthropic
                Stalled { message: "no data for 0.25 s (`URL/messages`)" }
            Gemini
                Stalled { message: "no data for 0.25 s (`URL/models/gemini-3-flash:streamGenerateContent`)" }
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
