//! Manual tests against a real server: `CRH_LIVE_BASE_URL=http://127.0.0.1:8080/v1 cargo test -p
//! crh-llm -- --ignored live`.
//!
//! Written for llama.cpp, which supports three of the four APIs. `CRH_LIVE_MODEL` sets the model
//! and `CRH_LIVE_KEY` an optional key. Start the server with a context of 2048 tokens. Only the
//! form of the answers is checked, because a small model answers nonsense.

use serde_json::{Value, json};

use super::live_setup::{ask, tool, watch};
use crh_llm::{
    CacheMark, CallArguments, Conversation, Endpoint, Message, ModelError, ModelRequest,
    NetworkSettings, OutputForm, StopCause, ToolCall, ToolChoice, ToolResult, TurnPart,
    VendorClient, Wire,
};

const TESTED_WIRES: [Wire; 3] = [Wire::OpenAiChat, Wire::OpenAiResponses, Wire::Anthropic];

#[expect(clippy::disallowed_methods, reason = "manual tests read the server from the environment")]
fn test_variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn endpoint(wire: Wire) -> Endpoint {
    Endpoint {
        wire,
        url: test_variable("CRH_LIVE_BASE_URL").unwrap().parse().unwrap(),
        key: test_variable("CRH_LIVE_KEY").map(Into::into),
        model: test_variable("CRH_LIVE_MODEL").unwrap_or_else(|| "smollm2-135m".to_owned()),
    }
}

fn live(wire: Wire) -> VendorClient {
    VendorClient::new(endpoint(wire), &NetworkSettings::default()).unwrap()
}

fn text_request(text: impl Into<String>, tokens: u32) -> ModelRequest {
    let mut conversation = Conversation::new("You are helpful.");
    conversation.push_user(text, CacheMark::Breakpoint);
    ModelRequest { temperature: Some(0.0), ..ModelRequest::new(conversation, tokens) }
}

fn schema() -> Value {
    let city = json!({ "type": "string" });
    json!({ "type": "object", "properties": { "city": city }, "required": ["city"], "additionalProperties": false })
}

fn with_schema(request: ModelRequest) -> ModelRequest {
    ModelRequest {
        output: OutputForm::Schema { name: "answer".to_owned(), schema: schema() },
        ..request
    }
}

#[tokio::test]
#[ignore = "needs a real server: set CRH_LIVE_BASE_URL"]
async fn live_text_streams_with_usage() {
    for wire in TESTED_WIRES {
        let (reply, progress) =
            watch(&live(wire), &text_request("What is the capital of France?", 40)).await;
        let reply = reply.unwrap();
        let text = reply.turn.full_text();
        assert!(!text.is_empty(), "{wire:?}");
        assert_eq!(progress[0], "started", "{wire:?}");
        let streamed: String =
            progress.iter().filter_map(|line| line.strip_prefix("text ")).collect();
        assert_eq!(streamed, text, "{wire:?}");
        assert!(progress.len() > 3, "{wire:?} came in one piece: {progress:?}");
        let usage = reply.usage.unwrap();
        assert!(usage.input >= 10 && (2..=40).contains(&usage.output), "{wire:?}: {usage:?}");
        assert!(usage.cache_read <= usage.input, "{wire:?}: {usage:?}");
    }
}

#[tokio::test]
#[ignore = "needs a real server: set CRH_LIVE_BASE_URL"]
async fn live_schema_is_enforced_and_truncation_detected() {
    for wire in TESTED_WIRES {
        let full_reply =
            ask(&live(wire), &with_schema(text_request("Name a city.", 200))).await.unwrap();
        let cut_reply =
            ask(&live(wire), &with_schema(text_request("Name a city.", 3))).await.unwrap();
        assert_eq!(
            (full_reply.stop, cut_reply.stop),
            (StopCause::Done, StopCause::Length),
            "{wire:?}"
        );
        // llama.cpp accepts a schema in every API but enforces it only in this one.
        if wire == Wire::OpenAiChat {
            let answer: Value = serde_json::from_str(&full_reply.turn.full_text()).unwrap();
            assert!(answer["city"].is_string(), "{answer}");
            assert!(
                serde_json::from_str::<Value>(&cut_reply.turn.full_text()).is_err(),
                "{:?}",
                cut_reply.turn
            );
        }
    }
}

#[tokio::test]
#[ignore = "needs a real server: set CRH_LIVE_BASE_URL"]
async fn live_tools_are_called_and_their_results_read() {
    for wire in TESTED_WIRES {
        let mut request = ModelRequest {
            tools: vec![tool("look"), tool("find")],
            tool_choice: ToolChoice::Required,
            ..text_request("Look at the file a.rs.", 200)
        };
        let live = live(wire);
        let mut turn = ask(&live, &request).await.unwrap().turn;
        // A model without a tool template makes no calls, so send the result of a made-up call.
        if turn.calls().next().is_none() {
            let arguments = CallArguments::Json(json!({ "path": "a.rs" }));
            let (id, name) = ("call_1".to_owned(), "look".to_owned());
            turn.parts.push(TurnPart::Call(ToolCall {
                id,
                name,
                arguments,
                signatures: Vec::new(),
            }));
        }
        let calls: Vec<_> = turn.calls().cloned().collect();
        assert!(["look", "find"].contains(&calls[0].name.as_str()), "{wire:?}: {turn:?}");
        let is_object = matches!(calls[0].arguments, CallArguments::Json(Value::Object(_)));
        assert!(is_object && !calls[0].id.is_empty(), "{wire:?}: {turn:?}");
        let results = calls.into_iter().map(|call| ToolResult {
            call_id: call.id,
            name: call.name,
            text: "fn main() {}".to_owned(),
        });
        let results = Message::Results(results.collect());
        request.conversation.messages.extend([Message::Assistant(turn), results]);
        request.tool_choice = ToolChoice::Auto;
        request.max_output_tokens = 20;
        let reply = ask(&live, &request).await.unwrap();
        assert!(reply.usage.unwrap().input > 20, "{wire:?}: {reply:?}");
    }
}

#[tokio::test]
#[ignore = "needs a real server: set CRH_LIVE_BASE_URL"]
async fn live_full_context_is_recognised() {
    for wire in TESTED_WIRES {
        // More than the server's context of 2048 tokens.
        let error = ask(&live(wire), &text_request("word ".repeat(20_000), 10)).await.unwrap_err();
        assert!(matches!(error, ModelError::ContextFull { .. }), "{wire:?}: {error:?}");
    }
}

#[tokio::test]
#[ignore = "needs a real server: set CRH_LIVE_BASE_URL"]
async fn live_wrong_key_is_rejected() {
    if endpoint(Wire::OpenAiChat).key.is_none() {
        return;
    }
    for wire in TESTED_WIRES {
        for key in [None, Some("sk-wrong".into())] {
            let wrong = Endpoint { key, ..endpoint(wire) };
            let live = VendorClient::new(wrong, &NetworkSettings::default()).unwrap();
            let error = ask(&live, &text_request("Hello?", 10)).await.unwrap_err();
            assert!(matches!(error, ModelError::BadKey { .. }), "{wire:?}: {error:?}");
        }
    }
}
