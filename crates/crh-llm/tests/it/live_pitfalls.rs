//! Pitfalls of the client library, one test each. Run them when upgrading the library.

use std::time::Duration;

use serde_json::json;

use super::live_network::Server;
use super::live_setup::{WIRES, ask, endpoint, live, question, task};
use crh_llm::{CallArguments, Endpoint, ModelError, NetworkSettings, VendorClient, Wire};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{Malformed, calls_raw, fails_with, malformed, rate_limited, says};

#[tokio::test]
async fn model_name_suffix_is_not_an_effort() {
    for wire in WIRES {
        for name in [
            "qwen-max",
            "m-low",
            "m-medium",
            "m-high",
            "m-xhigh",
            "m-minimal",
            "m-none",
            "m-zero",
            "a::b-max",
            "org/m:free",
        ] {
            let model = FakeModel::start().on("tester", [says("Hi")]);
            let named_endpoint = Endpoint { model: name.to_owned(), ..endpoint(wire, model.url()) };
            ask(
                &VendorClient::new(named_endpoint, &NetworkSettings::default()).unwrap(),
                &question(),
            )
            .await
            .unwrap();
            let request = model.requests().pop().unwrap();
            assert_eq!(request.model, name, "{wire:?}");
            let body = request.body.to_string();
            for word in ["effort", "thinking"] {
                assert!(!body.contains(word), "{wire:?} {name}: {body}");
            }
        }
    }
}

#[tokio::test]
async fn error_status_is_inside_the_stream_error() {
    for wire in WIRES {
        let model = FakeModel::start().on("tester", [rate_limited(7)]);
        let error = ask(&live(wire, model.url()), &question()).await.unwrap_err();
        let ModelError::RateLimited { retry_after, .. } = error else {
            panic!("{wire:?}: {error}")
        };
        assert_eq!(retry_after, Some(Duration::from_secs(7)), "{wire:?}");
    }
}

#[tokio::test]
async fn malformed_arguments_do_not_fail_the_request() {
    for wire in [Wire::OpenAiChat, Wire::OpenAiResponses, Wire::Anthropic] {
        let model = FakeModel::start().on("tester", [calls_raw("look", "{\"path\": ")]);
        let reply = ask(&live(wire, model.url()), &task()).await.unwrap();
        let arguments = CallArguments::Malformed("{\"path\": ".to_owned());
        assert_eq!(reply.turn.calls().next().unwrap().arguments, arguments, "{wire:?}");
        assert!(reply.usage.is_some(), "{wire:?}");
    }
}

#[tokio::test]
async fn stream_without_end_is_an_error() {
    for wire in WIRES {
        let model =
            FakeModel::start().on("tester", [says("one two").pieces(2).cut_after_events(2)]);
        let error = ask(&live(wire, model.url()), &question()).await.unwrap_err();
        assert!(matches!(error, ModelError::CutStream { .. }), "{wire:?}: {error:?}");
    }
}

#[tokio::test]
async fn errors_do_not_show_request_or_reply() {
    let mut secret = question();
    secret.conversation.push_user("the code under review", crh_llm::CacheMark::Unmarked);
    for wire in WIRES {
        let echo = json!({ "error": { "message": "no", "request": "the answer's other fields" } });
        let scripts = [
            malformed(Malformed::Html),
            malformed(Malformed::BrokenEvent),
            fails_with(400, echo),
            fails_with(422, json!("no object")),
        ];
        let count = scripts.len();
        let model = FakeModel::start().on("tester", scripts);
        let live = live(wire, model.url());
        for _ in 0..count {
            if let Err(error) = ask(&live, &secret).await {
                let error_text = format!("{error} {error:?}");
                for hidden in
                    ["the code under review", "Be brief", "other fields", "Sign in", "choices"]
                {
                    assert!(!error_text.contains(hidden), "{wire:?}: {error_text}");
                }
            }
        }
    }
}

/// The client would grow a list to the index sent by the server.
#[tokio::test]
async fn huge_tool_call_index_takes_no_memory() {
    let frames = [
        json!({ "choices": [{ "delta": { "tool_calls": [{ "index": 4_294_967_295_u32, "id": "z", "function": { "name": "look", "arguments": "{}" } }] } }] }),
        json!({ "choices": [{ "delta": {}, "finish_reason": "tool_calls" }] }),
    ];
    let server = Server::events(&frames, "data: [DONE]\n\n");
    let reply = ask(&live(Wire::OpenAiChat, server.url()), &task()).await.unwrap();
    assert_eq!(reply.turn.calls().count(), 1);
}

#[tokio::test]
async fn endless_reply_is_cut_off() {
    let call = |index: usize| json!({ "choices": [{ "delta": { "tool_calls": [{ "index": index, "id": index.to_string(), "function": { "name": "look", "arguments": "{}" } }] } }] });
    let calls: Vec<_> = (0..129).map(call).collect();
    let server = Server::events(&calls, "data: [DONE]\n\n");
    let error = ask(&live(Wire::OpenAiChat, server.url()), &task()).await.unwrap_err();
    assert_eq!(error, ModelError::CutStream { message: "more than 128 tool calls".to_owned() });

    let server = Server::endless();
    let error = ask(&live(Wire::OpenAiChat, server.url()), &task()).await.unwrap_err();
    let message = "longer than 67108864 bytes".to_owned();
    assert_eq!(error, ModelError::CutStream { message });
}

#[tokio::test]
async fn endless_event_is_cut_off() {
    let server = Server::endless_event();
    let error = ask(&live(Wire::OpenAiChat, server.url()), &task()).await.unwrap_err();
    let message = "an event is too long".to_owned();
    assert_eq!(error, ModelError::CutStream { message });
}
