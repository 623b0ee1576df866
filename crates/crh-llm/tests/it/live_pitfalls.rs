//! Pitfalls of the client library, one test each. Run them when upgrading the library.

use expect_test::expect;
use serde_json::json;

use super::live_network::Server;
use super::live_setup::{WIRES, ask, client, endpoint, live, question, reply_text, task};
use crh_llm::{Endpoint, LengthUnit, ModelError, Wire};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{Malformed, fails_with, malformed, says};

#[tokio::test]
async fn model_name_suffix_is_not_an_effort() {
    for wire in WIRES {
        #[rustfmt::skip]
        let names = [
            "qwen-max", "m-low", "m-medium", "m-high", "m-xhigh", "m-minimal", "m-none", "m-zero", "a::b-max", "org/m:free",
        ];
        for name in names {
            let model = FakeModel::start().on("tester", [says("Hi")]);
            let named_endpoint = Endpoint { model: name.to_owned(), ..endpoint(wire, model.url()) };
            ask(&client(named_endpoint), &question()).await.unwrap();
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

/// The streams of clouds with an OpenAI API differ from OpenAI's own. `docs/models.md` lists how.
#[tokio::test]
async fn streams_of_cloud_providers_are_read() {
    let usage = json!({ "prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12 });
    let bedrock = [
        json!({ "choices": [{ "delta": { "role": "assistant", "content": "<reasoning>Is it {}?" } }] }),
        json!({ "choices": [{ "delta": { "content": "</reasoning>" } }] }),
        json!({ "choices": [{ "delta": { "content": "No." }, "finish_reason": "stop" }] }),
        json!({ "choices": [], "usage": usage, "amazon-bedrock-invocationMetrics": {} }),
    ];
    let vertex_call = |id: &str, path: &str| {
        let function = json!({ "name": "look", "arguments": json!({ "path": path }).to_string() });
        json!({ "choices": [{ "index": 0, "delta": { "role": "assistant", "tool_calls": [
            { "id": id, "type": "function", "function": function }] } }] })
    };
    let vertex = [
        vertex_call("function-call-1", "a"),
        vertex_call("function-call-2", "b"),
        json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }], "usage": usage }),
    ];
    let safe = json!({ "hate": { "filtered": false, "severity": "safe" } });
    let github = [
        json!({ "choices": [], "prompt_filter_results": [{ "prompt_index": 0, "content_filter_results": safe }] }),
        json!({ "choices": [{ "delta": { "content": "No." }, "content_filter_results": safe }] }),
        json!({ "choices": [{ "delta": {}, "finish_reason": "stop", "content_filter_results": {} }] }),
        json!({ "choices": [], "usage": usage }),
    ];
    let mut replies = String::new();
    for (name, frames) in
        [("bedrock", &bedrock[..]), ("vertex", &vertex[..]), ("github", &github[..])]
    {
        let server = Server::events(frames, "data: [DONE]\n\n");
        let reply = ask(&live(Wire::OpenAiChat, server.url()), &task()).await.unwrap();
        let input = reply.usage.map(|usage| usage.input);
        replies.push_str(&format!("{name}, {input:?}\n{}", reply_text(&reply)));
    }
    expect![[r#"
        bedrock, Some(9)
        sealed {"type":"reasoning","text":"Is it {}?"}
        text No.
        Done
        vertex, Some(9)
        call function-call-1 look {"path":"a"}
        call function-call-2 look {"path":"b"}
        Calls
        github, Some(9)
        text No.
        Done
    "#]]
    .assert_eq(&replies);
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
    let tokens: u64 = task().max_output_tokens.into();
    let max_bytes = ((4 * tokens + 10_000) << 10) + (1 << 20);
    let (max, unit) = (max_bytes, LengthUnit::Bytes);
    assert_eq!(error, ModelError::EndlessReply { max, unit, tokens });

    let server = Server::endless_words();
    let error = ask(&live(Wire::OpenAiChat, server.url()), &task()).await.unwrap_err();
    let (max, unit) = (tokens + tokens / 8 + 256, LengthUnit::Words);
    assert_eq!(error, ModelError::EndlessReply { max, unit, tokens });
}

#[tokio::test]
async fn endless_event_is_cut_off() {
    let server = Server::endless_event();
    let error = ask(&live(Wire::OpenAiChat, server.url()), &task()).await.unwrap_err();
    let message = "an event is too long".to_owned();
    assert_eq!(error, ModelError::CutStream { message });
}
