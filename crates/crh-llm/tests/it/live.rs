//! The client against a real server, by hand: `CRH_LIVE_BASE_URL=http://127.0.0.1:8080/v1 cargo test -p crh-llm -- --ignored live`.
//!
//! Made for llama.cpp, which speaks three of the four formats. `CRH_LIVE_MODEL` names the model, `CRH_LIVE_KEY` the
//! key, if the server wants one. The server is started with a context of 2048 tokens, so that it can be filled. A small
//! model answers nonsense, so only the form of its answers is looked at; where its template knows tools, it calls them.

use serde_json::{Value, json};

use super::live_asking::{ask, tool, watch};
use crh_llm::{
    Arguments, Cache, Conversation, Endpoint, Live, Message, ModelError, Network, OutputForm, Part,
    Request, Stop, ToolCall, ToolChoice, ToolResult, Wire,
};

const SPOKEN: [Wire; 3] = [Wire::OpenAiChat, Wire::OpenAiResponses, Wire::Anthropic];

#[expect(
    clippy::disallowed_methods,
    reason = "whoever runs these by hand says where the server is"
)]
fn told(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn endpoint(wire: Wire) -> Endpoint {
    Endpoint {
        wire,
        url: told("CRH_LIVE_BASE_URL").unwrap().parse().unwrap(),
        key: told("CRH_LIVE_KEY").map(Into::into),
        model: told("CRH_LIVE_MODEL").unwrap_or_else(|| "smollm2-135m".to_owned()),
    }
}

fn live(wire: Wire) -> Live {
    Live::new(endpoint(wire), &Network::default()).unwrap()
}

fn asks(text: impl Into<String>, tokens: u32) -> Request {
    let mut conversation = Conversation::new("You are helpful.");
    conversation.say(text, Cache::Breakpoint);
    Request { temperature: Some(0.0), ..Request::new(conversation, tokens) }
}

fn schema() -> Value {
    let city = json!({ "type": "string" });
    json!({ "type": "object", "properties": { "city": city }, "required": ["city"], "additionalProperties": false })
}

fn with_schema(request: Request) -> Request {
    Request {
        output: OutputForm::Schema { name: "answer".to_owned(), schema: schema() },
        ..request
    }
}

#[tokio::test]
#[ignore = "needs a real server: set CRH_LIVE_BASE_URL"]
async fn live_text_streams_and_is_counted() {
    for wire in SPOKEN {
        let (reply, heard) = watch(&live(wire), &asks("What is the capital of France?", 40)).await;
        let reply = reply.unwrap();
        let said = reply.turn.said();
        assert!(!said.is_empty(), "{wire:?}");
        assert_eq!(heard[0], "started", "{wire:?}");
        let streamed: String = heard.iter().filter_map(|line| line.strip_prefix("text ")).collect();
        assert_eq!(streamed, said, "{wire:?}");
        assert!(heard.len() > 3, "{wire:?} came in one piece: {heard:?}");
        let usage = reply.usage.unwrap();
        assert!(usage.input >= 10 && (2..=40).contains(&usage.output), "{wire:?}: {usage:?}");
        assert!(usage.cache_read <= usage.input, "{wire:?}: {usage:?}");
    }
}

#[tokio::test]
#[ignore = "needs a real server: set CRH_LIVE_BASE_URL"]
async fn live_output_is_held_to_a_schema_and_cut_json_is_known_by_its_length() {
    for wire in SPOKEN {
        let whole = ask(&live(wire), &with_schema(asks("Name a city.", 200))).await.unwrap();
        let cut = ask(&live(wire), &with_schema(asks("Name a city.", 3))).await.unwrap();
        assert_eq!((whole.stop, cut.stop), (Stop::Done, Stop::Length), "{wire:?}");
        // llama.cpp takes a schema in every format and holds an answer to it in one.
        if wire == Wire::OpenAiChat {
            let answer: Value = serde_json::from_str(&whole.turn.said()).unwrap();
            assert!(answer["city"].is_string(), "{answer}");
            assert!(serde_json::from_str::<Value>(&cut.turn.said()).is_err(), "{:?}", cut.turn);
        }
    }
}

#[tokio::test]
#[ignore = "needs a real server: set CRH_LIVE_BASE_URL"]
async fn live_tools_are_called_and_their_results_read() {
    for wire in SPOKEN {
        let mut request = Request {
            tools: vec![tool("look"), tool("find")],
            tool_choice: ToolChoice::Required,
            ..asks("Look at the file a.rs.", 200)
        };
        let live = live(wire);
        let mut turn = ask(&live, &request).await.unwrap().turn;
        // A model whose template knows no tools calls none: then the results of a call are tried that it never made.
        if turn.calls().next().is_none() {
            let arguments = Arguments::Json(json!({ "path": "a.rs" }));
            let (id, name) = ("call_1".to_owned(), "look".to_owned());
            turn.parts.push(Part::Call(ToolCall { id, name, arguments, signatures: Vec::new() }));
        }
        let calls: Vec<_> = turn.calls().cloned().collect();
        assert!(["look", "find"].contains(&calls[0].name.as_str()), "{wire:?}: {turn:?}");
        let is_object = matches!(calls[0].arguments, Arguments::Json(Value::Object(_)));
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
async fn live_a_full_context_is_told_from_other_errors() {
    for wire in SPOKEN {
        // More than the context that the server is started with for this, 2048.
        let error = ask(&live(wire), &asks("word ".repeat(20_000), 10)).await.unwrap_err();
        assert!(matches!(error, ModelError::ContextFull { .. }), "{wire:?}: {error:?}");
    }
}

#[tokio::test]
#[ignore = "needs a real server: set CRH_LIVE_BASE_URL"]
async fn live_a_wrong_key_is_refused_where_there_is_a_right_one() {
    if endpoint(Wire::OpenAiChat).key.is_none() {
        return;
    }
    for wire in SPOKEN {
        for key in [None, Some("sk-wrong".into())] {
            let wrong = Endpoint { key, ..endpoint(wire) };
            let live = Live::new(wrong, &Network::default()).unwrap();
            let error = ask(&live, &asks("Hello?", 10)).await.unwrap_err();
            assert!(matches!(error, ModelError::BadKey { .. }), "{wire:?}: {error:?}");
        }
    }
}
