use super::*;
use crate::{ToolResult, UserText};

fn user(cache: CacheMark) -> Message {
    Message::User(UserText { text: "x".to_owned(), cache })
}

fn results() -> Message {
    Message::Results(vec![ToolResult {
        call_id: "c".to_owned(),
        name: "look".to_owned(),
        text: String::new(),
    }])
}

#[test]
fn breakpoints_keep_first_last_and_newest_results() {
    let marked = || user(CacheMark::Breakpoint);
    let plain = || user(CacheMark::Unmarked);
    for (messages, expected) in [
        (vec![], vec![]),
        (vec![plain(), results()], vec![]),
        (vec![plain(), marked(), plain()], vec![1]),
        (vec![marked(), results()], vec![0, 1]),
        (vec![marked(), results(), plain()], vec![0]),
        (vec![marked(), marked(), marked(), marked()], vec![0, 1, 2, 3]),
        (vec![marked(), marked(), marked(), marked(), marked()], vec![0, 2, 3, 4]),
        (vec![marked(), marked(), marked(), marked(), results()], vec![0, 2, 3, 4]),
    ] {
        assert_eq!(breakpoints(&messages), expected, "{messages:?}");
    }
}

#[test]
fn thoughts_of_another_vendor_are_not_sent() {
    let thinking = |text: &str, signature: Option<&str>| Thinking::Readable {
        text: Some(text.to_owned()),
        signature: signature.map(str::to_owned),
    };
    for (wire, thinking, count) in [
        (Wire::Anthropic, thinking("a", Some("s")), 2),
        (Wire::Anthropic, thinking("a", None), 0),
        (Wire::OpenAiResponses, thinking("a", Some("s")), 1),
        (Wire::OpenAiResponses, thinking("a", None), 0),
        (Wire::OpenAiResponses, Thinking::Sealed(json!({})), 0),
        (Wire::Gemini, thinking("a", Some("s")), 1),
        (Wire::Gemini, thinking("a", None), 0),
        (Wire::OpenAiChat, thinking("a", None), 1),
    ] {
        assert_eq!(thinking_parts(wire, &thinking).len(), count, "{wire:?} {thinking:?}");
    }
}

#[test]
fn chat_thoughts_are_sent_back_only_with_calls() {
    let thought =
        TurnPart::Thinking(Thinking::Readable { text: Some("hm".to_owned()), signature: None });
    let call = TurnPart::Call(ToolCall {
        id: "c".to_owned(),
        name: "look".to_owned(),
        arguments: CallArguments::Json(Value::Null),
        signatures: Vec::new(),
    });
    let parts = |parts: Vec<TurnPart>| {
        let message = assistant_message(Wire::OpenAiChat, &Turn { parts })?;
        Some(message.content.into_parts().len())
    };
    assert_eq!(parts(vec![thought.clone(), TurnPart::Text("so".to_owned())]), Some(1));
    assert_eq!(parts(vec![thought.clone(), call]), Some(2));
    assert_eq!(parts(vec![thought]), None);
}

#[test]
fn arguments_are_always_sent_as_an_object() {
    for (arguments, sent) in [
        (CallArguments::Json(json!({ "a": 1 })), json!({ "a": 1 })),
        (CallArguments::Json(Value::Null), json!({})),
        (CallArguments::Json(json!([1])), json!({ "malformed_arguments": [1] })),
        (CallArguments::Malformed("{".to_owned()), json!({ "malformed_arguments": "{" })),
    ] {
        let call =
            ToolCall { id: String::new(), name: String::new(), arguments, signatures: Vec::new() };
        assert_eq!(client_tool_call(&call).fn_arguments, sent);
    }
}
