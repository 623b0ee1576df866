use std::sync::LazyLock;

use super::*;
use crate::{Conversation, TokenUsage};

static ASKED: LazyLock<ModelRequest> =
    LazyLock::new(|| ModelRequest::new(Conversation::new("rules"), 100));

fn ended_stream(wire: Wire, reason: Option<&str>) -> ReplyInput<'static> {
    let captured_stop_reason = reason.map(|reason| StopReason::from(reason.to_owned()));
    let end = StreamEnd { captured_stop_reason, ..StreamEnd::default() };
    ReplyInput { wire, request: &ASKED, end, complete_calls: Vec::new() }
}

#[test]
fn stop_reasons_are_converted() {
    for (reason, expected) in [
        ("stop", StopCause::Done),
        ("end_turn", StopCause::Done),
        ("STOP", StopCause::Done),
        ("stop_sequence", StopCause::Done),
        ("tool_calls", StopCause::Calls),
        ("tool_use", StopCause::Calls),
        ("length", StopCause::Length),
        ("max_tokens", StopCause::Length),
        ("model_context_window_exceeded", StopCause::Length),
        ("pause_turn", StopCause::Other("pause_turn".to_owned())),
        ("a\u{1b}b", StopCause::Other("a\\u{1b}b".to_owned())),
    ] {
        let reply =
            build_reply(ended_stream(Wire::Anthropic, Some(reason)), &FrameSummary::default())
                .unwrap();
        assert_eq!(reply.stop, expected, "{reason}");
    }
    for reason in ["content_filter", "refusal", "SAFETY", "RECITATION", "PROHIBITED_CONTENT"] {
        let error = build_reply(ended_stream(Wire::Gemini, Some(reason)), &FrameSummary::default())
            .unwrap_err();
        assert!(matches!(error, ModelError::Refused { .. }), "{reason}: {error:?}");
    }
    let error =
        build_reply(ended_stream(Wire::Gemini, None), &FrameSummary::default()).unwrap_err();
    assert!(matches!(error, ModelError::CutStream { .. }), "{error:?}");
}

#[test]
fn incomplete_response_has_a_stop_cause() {
    for (incomplete_reason, expected) in [
        (json!("max_output_tokens"), Some(StopCause::Length)),
        (json!("content_filter"), None),
        (json!("steered"), Some(StopCause::Other("steered".to_owned()))),
        (json!(null), Some(StopCause::Length)),
    ] {
        let mut summary = FrameSummary::default();
        summary.last_frame =
            json!({ "response": { "incomplete_details": { "reason": incomplete_reason } } });
        let stop = build_reply(ended_stream(Wire::OpenAiResponses, Some("incomplete")), &summary)
            .map(|r| r.stop);
        assert_eq!(stop.ok(), expected, "{incomplete_reason}");
    }
}

#[test]
fn completed_response_of_full_length_was_cut() {
    for (output, expected) in [(99, StopCause::Done), (100, StopCause::Length)] {
        let mut input = ended_stream(Wire::OpenAiResponses, Some("completed"));
        input.end.captured_usage = Some(client_usage(5, output));
        assert_eq!(build_reply(input, &FrameSummary::default()).unwrap().stop, expected);
    }
}

fn client_usage(input: i32, output: i32) -> genai::chat::Usage {
    let (prompt_tokens, completion_tokens) = (Some(input), Some(output));
    genai::chat::Usage { prompt_tokens, completion_tokens, ..genai::chat::Usage::default() }
}

#[test]
fn one_invalid_count_discards_the_usage() {
    for (has_invalid_usage, expected) in
        [(false, Some(TokenUsage { input: 5, output: 7, ..TokenUsage::default() })), (true, None)]
    {
        let mut input = ended_stream(Wire::Anthropic, Some("end_turn"));
        input.end.captured_usage = Some(client_usage(5, 7));
        let mut summary = FrameSummary::default();
        summary.has_invalid_usage = has_invalid_usage;
        assert_eq!(build_reply(input, &summary).unwrap().usage, expected);
    }
}

#[test]
fn gemini_calls_get_unique_ids_and_keep_signatures() {
    let call = |path: &str, signature: Option<&str>| genai::chat::ToolCall {
        call_id: "call#look#0".to_owned(),
        fn_name: "look".to_owned(),
        fn_arguments: json!({ "path": path }),
        thought_signatures: signature.map(|signature| vec![signature.to_owned()]),
    };
    let content = vec![
        ContentPart::ThoughtSignature("of-the-text".to_owned()),
        ContentPart::ThoughtSignature("of-the-call".to_owned()),
        ContentPart::Text("So.".to_owned()),
    ];
    let calls = vec![call("a", Some("of-the-call")), call("b", None)];
    let own = |id: &str, path: &str, signatures: &[&str]| {
        TurnPart::Call(ToolCall {
            id: id.to_owned(),
            name: "look".to_owned(),
            arguments: CallArguments::Json(json!({ "path": path })),
            signatures: signatures.iter().map(|signature| (*signature).to_owned()).collect(),
        })
    };
    assert_eq!(
        gemini_parts(content, None, calls),
        [
            thinking_part(None, Some("of-the-text".to_owned())),
            TurnPart::Text("So.".to_owned()),
            own("call#look#0", "a", &["of-the-call"]),
            own("call#look#1", "b", &[]),
        ]
    );
}

#[test]
fn valid_arguments_are_parsed_as_json() {
    for (value, truncation, expected) in [
        (json!({ "a": 1 }), Truncation::No, CallArguments::Json(json!({ "a": 1 }))),
        (json!(null), Truncation::No, CallArguments::Json(json!({}))),
        (json!(""), Truncation::No, CallArguments::Json(json!({}))),
        (json!(""), Truncation::Possible, CallArguments::Malformed(String::new())),
        (json!("{\"a\":"), Truncation::Possible, CallArguments::Malformed("{\"a\":".to_owned())),
        (json!("{\"a\":1}"), Truncation::Possible, CallArguments::Json(json!({ "a": 1 }))),
        (json!([1]), Truncation::No, CallArguments::Json(json!([1]))),
    ] {
        assert_eq!(parse_arguments(value, truncation), expected);
    }
}
