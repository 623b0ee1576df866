use expect_test::{Expect, expect};
use secrecy::SecretString;

use super::*;

fn header<'a>(headers: &'a [(&str, &str)]) -> impl Fn(&str) -> Option<String> + 'a {
    move |name| {
        let header = headers.iter().find(|(known, _)| *known == name);
        header.map(|(_, value)| (*value).to_owned())
    }
}

/// Prints error kind and delay for each status and body.
fn check(cases: &[(u16, &str)], expected: Expect) {
    let lines: Vec<String> = cases
        .iter()
        .map(|(status, body)| format!("{:?}\n", from_status(*status, &header(&[]), body)))
        .collect();
    expected.assert_eq(&lines.concat());
}

#[test]
fn status_classifies_an_empty_body() {
    let mut lines = String::new();
    for status in
        [400, 401, 402, 403, 404, 408, 413, 418, 422, 429, 500, 501, 502, 503, 504, 520, 524, 529]
    {
        let error = from_status(status, &header(&[]), "");
        let error_text = format!("{error:?}");
        let kind = error_text.split([' ', '{']).next().unwrap();
        lines.push_str(&format!("{status} {kind}\n"));
    }
    expect![[r#"
        400 BadRequest
        401 BadKey
        402 NoCredit
        403 BadKey
        404 BadRequest
        408 Broken
        413 ContextFull
        418 BadRequest
        422 BadRequest
        429 RateLimited
        500 Broken
        501 BadRequest
        502 Broken
        503 Overloaded
        504 Transport
        520 Broken
        524 Transport
        529 Overloaded
    "#]]
    .assert_eq(&lines);
}

#[test]
fn loading_model_is_no_overload() {
    let error = |status, message: &str| {
        let body = format!(
            r#"{{"error":{{"code":{status},"message":"{message}","type":"unavailable_error"}}}}"#
        );
        from_status(status, &|_| None, &body)
    };
    let (message, waited) = ("Loading model".to_owned(), Duration::ZERO);
    assert_eq!(error(503, "Loading model"), ModelError::Loading { message, waited });
    assert!(matches!(error(503, "try later"), ModelError::Overloaded { .. }));
    assert!(matches!(error(500, "loading model failed"), ModelError::Broken { .. }));
}

#[test]
fn api_error_with_a_client_status_is_a_bad_request() {
    let body =
        r#"{"error": {"message": "model not found, try pulling it first", "type": "api_error"}}"#;
    check(
        &[(404, body), (400, body), (500, body)],
        expect![[r#"
            BadRequest { message: "model not found, try pulling it first" }
            BadRequest { message: "model not found, try pulling it first" }
            Broken { message: "model not found, try pulling it first" }
        "#]],
    );
}

#[test]
fn lasting_server_error_is_a_bad_request() {
    #[rustfmt::skip]
    let cases = [
        (500, r#"{"error":{"message":"model requires more system memory (19.1 GiB) than is available (7.3 GiB)","type":"api_error","param":null,"code":null}}"#),
        (500, r#"{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}"#),
    ];
    check(
        &cases,
        expect![[r#"
            BadRequest { message: "model requires more system memory (19.1 GiB) than is available (7.3 GiB)" }
            BadRequest { message: "tools param requires --jinja flag" }
        "#]],
    );
}

#[test]
fn full_context_is_recognised_for_many_servers() {
    #[rustfmt::skip]
    let cases = [
        (400, r#"{"error":{"message":"m","type":"invalid_request_error","code":"context_length_exceeded"}}"#),
        (400, r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9,"n_ctx":4}}"#),
        (400, r#"{"object":"error","message":"This model's maximum context length is 2048 tokens. However, you requested 4096 tokens","type":"BadRequestError","code":400}"#),
        (400, r#"{"error":{"message":"The decoder prompt (length 9) is longer than the maximum model length of 4."}}"#),
        (400, r#"{"error":"input length exceeds the context length"}"#),
        (400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#),
        (400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 1 + 2 > 2"}}"#),
        (413, r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#),
        (400, r#"{"error":{"code":400,"message":"The input token count (2) exceeds the maximum number of tokens allowed (1).","status":"INVALID_ARGUMENT"}}"#),
        // Vertex AI, in a list as its OpenAI API sends it, and GitHub Models.
        (400, r#"[{"error":{"code":400,"message":"The input token count (2) exceeds the maximum number of tokens allowed (1).","status":"INVALID_ARGUMENT"}}]"#),
        (413, r#"{"error":{"code":"tokens_limit_reached","message":"Request body too large for gpt-4.1 model. Max size: 8000 tokens.","details":"Request body too large for gpt-4.1 model. Max size: 8000 tokens."}}"#),
        (429, r#"{"error":{"message":"Request too large for gpt-4.1 on tokens per min (TPM): Limit 30000, Requested 60000.","type":"tokens","code":"rate_limit_exceeded"}}"#),
    ];
    for (status, body) in cases {
        let error = from_status(status, &header(&[]), body);
        assert!(matches!(error, ModelError::ContextFull { .. }), "{error:?}");
    }
}

#[test]
fn codes_take_precedence_over_statuses() {
    #[rustfmt::skip]
    let cases = [
        (429, r#"{"error":{"message":"m","type":"insufficient_quota","code":"insufficient_quota"}}"#),
        (400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}"#),
        (402, r#"{"error":{"message":"Insufficient credits","code":402}}"#),
        (400, r#"{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}"#),
        (400, r#"{"error":{"message":"The response was filtered","code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#),
        (403, r#"{"error":{"message":"flagged","code":403,"metadata":{"reasons":["violence"],"flagged_input":"…"}}}"#),
        (404, r#"{"error":{"message":"The model `gpt-9` does not exist","type":"invalid_request_error","code":"model_not_found"}}"#),
        (422, r#"{"detail":"field required"}"#),
        // Amazon Bedrock and Vertex AI.
        (403, r#"{"Message":"User is not authorized","message":"The security token is invalid."}"#),
        (401, r#"[{"error":{"code":401,"message":"Request had invalid authentication credentials.","status":"UNAUTHENTICATED"}}]"#),
        (400, r#"max_tokens is too large: 300000"#),
        (502, "<html><body>Bad gateway</body></html>"),
        (504, "<html><body>Gateway timeout</body></html>"),
        (504, r#"{"type":"error","error":{"type":"timeout_error","message":"m"}}"#),
    ];
    check(
        &cases,
        expect![[r#"
            NoCredit { message: "m" }
            NoCredit { message: "Your credit balance is too low to access the Anthropic API." }
            NoCredit { message: "Insufficient credits" }
            BadKey { message: "API key not valid." }
            Refused { message: "The response was filtered" }
            Refused { message: "flagged" }
            BadRequest { message: "The model `gpt-9` does not exist" }
            BadRequest { message: "field required" }
            BadKey { message: "The security token is invalid." }
            BadKey { message: "Request had invalid authentication credentials." }
            BadRequest { message: "max_tokens is too large: 300000" }
            Broken { message: "HTTP status 502 without a message" }
            Transport { message: "HTTP status 504 without a message", spent: Unknown }
            Broken { message: "m" }
        "#]],
    );
}

#[test]
fn retry_delay_is_found_in_headers_and_body() {
    type Case<'a> = (&'a [(&'a str, &'a str)], &'a str, Option<f64>);
    let openai = r#"{"error":{"message":"Rate limit reached. Please try again in 7.2s. Visit …"}}"#;
    let google = r#"[{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"36.5s"}]}}]"#;
    let date = "Wed, 21 Oct 2026 07:28:00 GMT";
    let cases: [Case<'_>; 16] = [
        (&[], "", None),
        (&[("retry-after", "7")], "", Some(7.0)),
        (&[("retry-after", "7")], openai, Some(7.0)),
        (&[("retry-after", "7"), ("retry-after-ms", "1500")], "", Some(1.5)),
        (&[("retry-after", date)], "", None),
        (&[("retry-after", date), ("date", "Wed, 21 Oct 2026 07:27:15 GMT")], "", Some(45.0)),
        (&[("retry-after", date), ("date", "Wed, 21 Oct 2026 07:28:01 GMT")], "", Some(0.0)),
        (&[("retry-after", "-1")], "", None),
        (&[("retry-after", "1e300")], "", None),
        (
            &[
                ("x-ratelimit-remaining-requests", "0"),
                ("x-ratelimit-reset-requests", "6m0s"),
                ("x-ratelimit-remaining-tokens", "9"),
                ("x-ratelimit-reset-tokens", "9h"),
            ],
            "",
            Some(360.0),
        ),
        (
            &[("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "20ms")],
            "",
            Some(0.02),
        ),
        (&[], openai, Some(7.2)),
        (&[], r#"{"error":{"message":"try again in 1h2m3.5s"}}"#, Some(3723.5)),
        (&[], r#"{"error":{"message":"try again in a while"}}"#, None),
        (&[], google, Some(36.5)),
        (&[], r#"{"error":{"message":"Please retry in 12s."}}"#, Some(12.0)),
    ];
    for (headers, body, expected) in cases {
        let error = from_status(429, &header(headers), body);
        let ModelError::RateLimited { retry_after, .. } = error else { panic!("{error:?}") };
        assert_eq!(retry_after.map(|delay| delay.as_secs_f64()), expected, "{headers:?} {body}");
    }
}

#[test]
fn unknown_error_event_cuts_the_stream() {
    let mut lines = String::new();
    for body in [
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        r#"{"message":"slow","type":"server_error","code":null}"#,
        r#"{"code":503,"message":"upstream"}"#,
        r#"{"type":"error","code":"rate_limit_exceeded","message":"try again in 2s","param":null}"#,
        r#"{"type":"error","code":"context_length_exceeded","message":"m"}"#,
        r#"{"error":{"code":400,"message":"odd","status":"INVALID_ARGUMENT"}}"#,
        r#"null"#,
    ] {
        let body = serde_json::from_str(body).unwrap();
        let [before, after] =
            [ReplyStarted::No, ReplyStarted::Yes].map(|started| from_event(&body, started));
        lines.push_str(&format!("{before:?}\n"));
        if before != after {
            lines.push_str(&format!("    begun: {after:?}\n"));
        }
    }
    expect![[r#"
        Overloaded { retry_after: None, message: "Overloaded" }
            begun: CutStream { message: "Overloaded" }
        Broken { message: "slow" }
            begun: CutStream { message: "slow" }
        Overloaded { retry_after: None, message: "upstream" }
            begun: CutStream { message: "upstream" }
        RateLimited { retry_after: Some(2s), message: "try again in 2s" }
            begun: CutStream { message: "try again in 2s" }
        ContextFull { message: "m" }
        CutStream { message: "odd" }
        CutStream { message: "error without a message" }
    "#]]
    .assert_eq(&lines);
}

#[test]
fn invisible_characters_are_escaped() {
    assert_eq!(one_line("a\n\tb  c"), "a b c");
    assert_eq!(one_line("\u{1b}[2J\u{202e}x\u{0}"), "\\u{1b}[2J\\u{202e}x\\u{0}");
    for long in ["ä".repeat(1_000), "ä ".repeat(1_000), "\u{7}".repeat(1_000)] {
        let line = one_line(&long);
        assert_eq!(line.chars().count(), MAX_MESSAGE_CHARS);
        assert!(line.ends_with('…'));
    }
    let exact = "x".repeat(MAX_MESSAGE_CHARS);
    assert_eq!(one_line(&exact), exact);
}

#[test]
fn errors_are_redacted_before_shortening() {
    let key = "sk-0123456789abcdefghijklmnop";
    let secret = SecretString::from(key);
    let redactor = Redactor::new([&secret]);
    // The key is where the line is shortened.
    let message = format!("{}{key}\nmore", "x".repeat(MAX_MESSAGE_CHARS - 10));
    let retry_after = None;
    for error in [
        ModelError::RateLimited { retry_after, message: message.clone() },
        ModelError::Overloaded { retry_after, message: message.clone() },
        ModelError::Loading { message: message.clone(), waited: Duration::ZERO },
        ModelError::Stalled { message: message.clone() },
        ModelError::ContextFull { message: message.clone() },
        ModelError::Refused { message: message.clone() },
        ModelError::BadKey { message: message.clone() },
        ModelError::NoCredit { message: message.clone() },
        ModelError::BadRequest { message: message.clone() },
        ModelError::CutStream { message: message.clone() },
        ModelError::Transport { message: message.clone(), spent: FailureCost::Nothing },
        ModelError::NotRecorded { message: message.clone() },
    ] {
        let kind = std::mem::discriminant(&error);
        let cleaned = clean_error(error, &redactor);
        assert_eq!(std::mem::discriminant(&cleaned), kind);
        let message = cleaned.to_string();
        assert!(
            !message.contains(&key[..6]) && !message.contains('\n') && message.contains("xxx"),
            "{message}"
        );
    }
}
