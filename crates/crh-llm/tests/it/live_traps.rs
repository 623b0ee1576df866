//! The traps of the client library, one test each. A new version of it has to pass them.

use std::time::Duration;

use serde_json::json;

use super::live_asking::{WIRES, ask, endpoint, live, question, task};
use super::live_network::Server;
use crh_llm::{Arguments, Endpoint, Live, ModelError, Network, Wire};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{Malformed, calls_raw, fails_with, malformed, rate_limited, says};

#[tokio::test]
async fn trap_1_a_models_name_is_sent_as_it_is_and_is_no_effort() {
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
            let named = Endpoint { model: name.to_owned(), ..endpoint(wire, model.url()) };
            ask(&Live::new(named, &Network::default()).unwrap(), &question()).await.unwrap();
            let asked = model.requests().pop().unwrap();
            assert_eq!(asked.model, name, "{wire:?}");
            let body = asked.body.to_string();
            for word in ["effort", "thinking"] {
                assert!(!body.contains(word), "{wire:?} {name}: {body}");
            }
        }
    }
}

#[tokio::test]
async fn trap_2_an_errors_status_and_headers_are_found_inside_the_stream() {
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
async fn trap_3_arguments_that_are_no_json_do_not_fail_the_call() {
    for wire in [Wire::OpenAiChat, Wire::OpenAiResponses, Wire::Anthropic] {
        let model = FakeModel::start().on("tester", [calls_raw("look", "{\"path\": ")]);
        let reply = ask(&live(wire, model.url()), &task()).await.unwrap();
        let arguments = Arguments::Malformed("{\"path\": ".to_owned());
        assert_eq!(reply.turn.calls().next().unwrap().arguments, arguments, "{wire:?}");
        assert!(reply.usage.is_some(), "{wire:?}");
    }
}

#[tokio::test]
async fn trap_4_a_stream_without_its_end_is_an_error() {
    for wire in WIRES {
        let model =
            FakeModel::start().on("tester", [says("one two").pieces(2).cut_after_events(2)]);
        let error = ask(&live(wire, model.url()), &question()).await.unwrap_err();
        assert!(matches!(error, ModelError::CutStream { .. }), "{wire:?}: {error:?}");
    }
}

#[tokio::test]
async fn trap_5_no_error_shows_the_request_or_the_whole_answer() {
    let mut secret = question();
    secret.conversation.say("the code under review", crh_llm::Cache::Unmarked);
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
                let shown = format!("{error} {error:?}");
                for hidden in
                    ["the code under review", "Be brief", "other fields", "Sign in", "choices"]
                {
                    assert!(!shown.contains(hidden), "{wire:?}: {shown}");
                }
            }
        }
    }
}

/// A list would be filled up to the index that the wire names.
#[tokio::test]
async fn a_huge_index_of_a_tool_call_takes_no_memory() {
    let frames = [
        json!({ "choices": [{ "delta": { "tool_calls": [{ "index": 4_294_967_295_u32, "id": "z", "function": { "name": "look", "arguments": "{}" } }] } }] }),
        json!({ "choices": [{ "delta": {}, "finish_reason": "tool_calls" }] }),
    ];
    let server = Server::events(&frames, "data: [DONE]\n\n");
    let reply = ask(&live(Wire::OpenAiChat, server.url()), &task()).await.unwrap();
    assert_eq!(reply.turn.calls().count(), 1);
}

#[tokio::test]
async fn an_answer_without_end_or_with_too_many_calls_is_cut_off() {
    let call = |index: usize| json!({ "choices": [{ "delta": { "tool_calls": [{ "index": index, "id": index.to_string(), "function": { "name": "look", "arguments": "{}" } }] } }] });
    let calls: Vec<_> = (0..129).map(call).collect();
    let server = Server::events(&calls, "data: [DONE]\n\n");
    let error = ask(&live(Wire::OpenAiChat, server.url()), &task()).await.unwrap_err();
    assert_eq!(
        error,
        ModelError::CutStream { message: "it makes more than 128 tool calls".to_owned() }
    );

    let server = Server::endless();
    let error = ask(&live(Wire::OpenAiChat, server.url()), &task()).await.unwrap_err();
    let message = "it is longer than 67108864 bytes".to_owned();
    assert_eq!(error, ModelError::CutStream { message });
}
