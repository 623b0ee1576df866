use std::sync::LazyLock;

use super::*;
use crate::{Conversation, Usage};

static ASKED: LazyLock<Request> = LazyLock::new(|| Request::new(Conversation::new("rules"), 100));

fn ended(wire: Wire, reason: Option<&str>) -> Ended<'static> {
    let captured_stop_reason = reason.map(|reason| StopReason::from(reason.to_owned()));
    let end = StreamEnd { captured_stop_reason, ..StreamEnd::default() };
    Ended { wire, request: &ASKED, end, whole_calls: Vec::new() }
}

#[test]
fn the_reasons_for_stopping_in_our_words() {
    for (reason, expected) in [
        ("stop", Stop::Done),
        ("end_turn", Stop::Done),
        ("STOP", Stop::Done),
        ("stop_sequence", Stop::Done),
        ("tool_calls", Stop::Calls),
        ("tool_use", Stop::Calls),
        ("length", Stop::Length),
        ("max_tokens", Stop::Length),
        ("model_context_window_exceeded", Stop::Length),
        ("pause_turn", Stop::Other("pause_turn".to_owned())),
        ("a\u{1b}b", Stop::Other("a\\u{1b}b".to_owned())),
    ] {
        let reply = reply(ended(Wire::Anthropic, Some(reason)), &Seen::default()).unwrap();
        assert_eq!(reply.stop, expected, "{reason}");
    }
    for reason in ["content_filter", "refusal", "SAFETY", "RECITATION", "PROHIBITED_CONTENT"] {
        let error = reply(ended(Wire::Gemini, Some(reason)), &Seen::default()).unwrap_err();
        assert!(matches!(error, ModelError::Refused { .. }), "{reason}: {error:?}");
    }
    let error = reply(ended(Wire::Gemini, None), &Seen::default()).unwrap_err();
    assert!(matches!(error, ModelError::CutStream { .. }), "{error:?}");
}

#[test]
fn an_incomplete_response_says_why() {
    for (why, expected) in [
        (json!("max_output_tokens"), Some(Stop::Length)),
        (json!("content_filter"), None),
        (json!("steered"), Some(Stop::Other("steered".to_owned()))),
        (json!(null), Some(Stop::Length)),
    ] {
        let mut seen = Seen::default();
        seen.last = json!({ "response": { "incomplete_details": { "reason": why } } });
        let stop = reply(ended(Wire::OpenAiResponses, Some("incomplete")), &seen).map(|r| r.stop);
        assert_eq!(stop.ok(), expected, "{why}");
    }
}

#[test]
fn a_completed_response_of_full_length_was_cut() {
    for (output, expected) in [(99, Stop::Done), (100, Stop::Length)] {
        let mut ended = ended(Wire::OpenAiResponses, Some("completed"));
        ended.end.captured_usage = Some(counted(5, output));
        assert_eq!(reply(ended, &Seen::default()).unwrap().stop, expected);
    }
}

fn counted(input: i32, output: i32) -> genai::chat::Usage {
    let (prompt_tokens, completion_tokens) = (Some(input), Some(output));
    genai::chat::Usage { prompt_tokens, completion_tokens, ..genai::chat::Usage::default() }
}

#[test]
fn one_number_that_is_no_count_takes_the_others_along() {
    for (garbled, expected) in
        [(false, Some(Usage { input: 5, output: 7, ..Usage::default() })), (true, None)]
    {
        let mut ended = ended(Wire::Anthropic, Some("end_turn"));
        ended.end.captured_usage = Some(counted(5, 7));
        let mut seen = Seen::default();
        seen.garbled_usage = garbled;
        assert_eq!(reply(ended, &seen).unwrap().usage, expected);
    }
}

#[test]
fn gemini_calls_keep_their_own_signatures_and_get_ids_of_their_own() {
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
        Part::Call(ToolCall {
            id: id.to_owned(),
            name: "look".to_owned(),
            arguments: Arguments::Json(json!({ "path": path })),
            signatures: signatures.iter().map(|signature| (*signature).to_owned()).collect(),
        })
    };
    assert_eq!(
        gemini_parts(content, None, calls),
        [
            said_or_silent(None, Some("of-the-text".to_owned())),
            Part::Text("So.".to_owned()),
            own("call#look#0", "a", &["of-the-call"]),
            own("call#look#1", "b", &[]),
        ]
    );
}

#[test]
fn arguments_are_json_if_they_can_be() {
    for (value, cut, expected) in [
        (json!({ "a": 1 }), Cut::Not, Arguments::Json(json!({ "a": 1 }))),
        (json!(null), Cut::Not, Arguments::Json(json!({}))),
        (json!(""), Cut::Not, Arguments::Json(json!({}))),
        (json!(""), Cut::Off, Arguments::Malformed(String::new())),
        (json!("{\"a\":"), Cut::Off, Arguments::Malformed("{\"a\":".to_owned())),
        (json!("{\"a\":1}"), Cut::Off, Arguments::Json(json!({ "a": 1 }))),
        (json!([1]), Cut::Not, Arguments::Json(json!([1]))),
    ] {
        assert_eq!(arguments(value, cut), expected);
    }
}
