//! Replies in all four APIs, split at arbitrary points.

use expect_test::{Expect, expect};
use serde_json::json;

use super::live_network::Server;
use super::live_setup::{WIRES, ask, live, question, reply_text, task, watch};
use crh_llm::{
    CallArguments, Message, ModelError, ModelReply, ModelRequest, StopCause, TokenUsage,
    ToolResult, TurnPart, Wire,
};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::{
    ScriptedReply, Tokens, calls, calls_all, calls_raw, fills_context, says, says_nothing,
};

/// Prints each reply for each API, one block for equal ones.
async fn check(replies: &[(&str, ScriptedReply)], expected: Expect) {
    let mut actual = String::new();
    for (name, scripted) in replies {
        let mut blocks: Vec<(String, String)> = Vec::new();
        for wire in WIRES {
            let model = FakeModel::start().on("tester", [scripted.clone()]);
            let reply = ask(&live(wire, model.url()), &task()).await.unwrap();
            assert!(reply.usage.is_some(), "{wire:?}");
            let text = reply_text(&reply);
            match blocks.iter_mut().find(|(_, known)| *known == text) {
                Some((wires, _)) => wires.push_str(&format!(" {wire:?}")),
                None => blocks.push((format!("{wire:?}"), text)),
            }
        }
        actual += &format!("# {name}\n");
        actual.extend(blocks.iter().map(|(wires, shown)| format!("{wires}\n{shown}")));
    }
    expected.assert_eq(&actual);
}

/// Two calls, thoughts, and text with multi-byte characters.
fn reply_with_everything() -> ScriptedReply {
    says("Füße 🦀 tragen — weit")
        .and_calls("look", json!({ "path": "äöü/🦀.rs" }))
        .and_calls("find", json!({ "path": "b.rs", "words": ["a", "b"] }))
        .thinking("Mal sehen … 🤔", "c2lnbmF0dXJl")
}

#[tokio::test]
async fn text_streams_after_a_started_event() {
    for wire in WIRES {
        let model = FakeModel::start().on("tester", [says("Hello there.").pieces(3)]);
        let (reply, progress) = watch(&live(wire, model.url()), &question()).await;
        assert_eq!(reply.unwrap().turn.full_text(), "Hello there.", "{wire:?}");
        assert_eq!(progress[0], "started", "{wire:?}");
        let texts: String = progress[1..].iter().map(|line| &line["text ".len()..]).collect();
        assert_eq!((texts.as_str(), progress.len()), ("Hello there.", 4), "{wire:?} {progress:?}");
    }
}

#[tokio::test]
async fn reply_names_the_serving_model() {
    for wire in WIRES {
        let model = FakeModel::start().on("tester", [says("Hello there.")]);
        let reply = ask(&live(wire, model.url()), &question()).await.unwrap();
        assert_eq!(reply.served, Some(model.requests()[0].model.clone()), "{wire:?}");
    }
}

#[tokio::test]
async fn replies_of_every_api_have_the_same_parts_in_order() {
    check(
        &[
            ("everything", reply_with_everything()),
            ("malformed arguments", calls_raw("look", "{\"path\": \"a")),
            ("truncated", says("I begin").and_calls_raw("look", "{\"path\": \"a").cut_by_length()),
            ("empty", says_nothing()),
            ("full window", fills_context("and so")),
        ],
        expect![[r#"
            # everything
            OpenAiChat
            thought Mal sehen … 🤔 / -
            text Füße 🦀 tragen — weit
            call call_1_0 look {"path":"äöü/🦀.rs"}
            call call_1_1 find {"path":"b.rs","words":["a","b"]}
            Calls
            OpenAiResponses
            thought Mal sehen … 🤔 / c2lnbmF0dXJl
            text Füße 🦀 tragen — weit
            call call_1_2 look {"path":"äöü/🦀.rs"}
            call call_1_3 find {"path":"b.rs","words":["a","b"]}
            Calls
            Anthropic
            thought Mal sehen … 🤔 / c2lnbmF0dXJl
            text Füße 🦀 tragen — weit
            call toolu_1_2 look {"path":"äöü/🦀.rs"}
            call toolu_1_3 find {"path":"b.rs","words":["a","b"]}
            Calls
            Gemini
            thought Mal sehen … 🤔 / -
            text Füße 🦀 tragen — weit
            call call#look#0 look {"path":"äöü/🦀.rs"} c2lnbmF0dXJl
            call call#find#1 find {"path":"b.rs","words":["a","b"]}
            Calls
            # malformed arguments
            OpenAiChat OpenAiResponses
            call call_1_0 look malformed: {"path": "a
            Calls
            Anthropic
            call toolu_1_0 look malformed: {"path": "a
            Calls
            Gemini
            Other("MALFORMED_FUNCTION_CALL")
            # truncated
            OpenAiChat
            text I begin
            call call_1_0 look malformed: {"path": "a
            Length
            OpenAiResponses
            text I begin
            call call_1_1 look malformed: {"path": "a
            Length
            Anthropic
            text I begin
            call toolu_1_1 look malformed: {"path": "a
            Length
            Gemini
            text I begin
            Length
            # empty
            OpenAiChat OpenAiResponses Anthropic Gemini
            Done
            # full window
            OpenAiChat OpenAiResponses Anthropic Gemini
            text and so
            Length
        "#]],
    )
    .await;
}

#[tokio::test]
async fn split_points_do_not_change_a_reply() {
    for wire in WIRES {
        let model = FakeModel::start();
        let live = live(wire, model.url());
        model.script("tester", [reply_with_everything()]);
        let full_reply = ask(&live, &task()).await.unwrap();
        for chunk in [1, 2, 7, 1000] {
            for pieces in [1, 5] {
                let torn = reply_with_everything().chunks(chunk).pieces(pieces).unknown_events();
                let crlf = torn.clone().crlf();
                model.script("tester", [torn, crlf]);
                for line_end in ["LF", "CR LF"] {
                    let reply = ask(&live, &task()).await;
                    let case = format!("{wire:?}, chunks of {chunk}, {pieces} pieces, {line_end}");
                    match reply {
                        Ok(mut reply) => {
                            // The fake model derives call ids from the request number.
                            same_ids(&mut reply, &full_reply);
                            assert_eq!(reply, full_reply, "{case}");
                        }
                        // If the client loses an event at a split line end, the reply must be an
                        // error.
                        Err(error) => {
                            assert_eq!((wire, line_end), (Wire::Anthropic, "CR LF"), "{case}");
                            let message = "an event has no name".to_owned();
                            assert_eq!(error, ModelError::CutStream { message }, "{case}");
                        }
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn crlf_events_are_read_in_every_api() {
    for wire in WIRES {
        let model = FakeModel::start().on(
            "tester",
            [reply_with_everything(), reply_with_everything().crlf().unknown_events()],
        );
        let live = live(wire, model.url());
        let full_reply = ask(&live, &task()).await.unwrap();
        let mut reply = ask(&live, &task()).await.unwrap();
        same_ids(&mut reply, &full_reply);
        assert_eq!(reply, full_reply, "{wire:?}");
    }
}

fn same_ids(reply: &mut ModelReply, whole: &ModelReply) {
    let mut ids: Vec<String> = whole.turn.calls().map(|call| call.id.clone()).collect();
    ids.reverse();
    for part in &mut reply.turn.parts {
        if let TurnPart::Call(call) = part {
            call.id = ids.pop().unwrap();
        }
    }
    reply.usage = whole.usage;
}

#[tokio::test]
async fn unknown_delta_types_are_ignored() {
    let event = |kind: &str, rest: &str| {
        format!("event: {kind}\ndata: {{\"type\":\"{kind}\",\"index\":0{rest}}}\n\n")
    };
    let events = [
        event("content_block_start", r#","content_block":{"type":"text","text":""}"#),
        event("content_block_delta", r#","delta":{"type":"text_delta","text":"So"}"#),
        event("content_block_delta", r#","delta":{"type":"citations_delta","citation":{"a":1}}"#),
        event("content_block_delta", r#","delta":{"type":"text_delta","text":" be it."}"#),
        event("content_block_stop", ""),
        event("message_delta", r#","delta":{"stop_reason":"end_turn"}"#),
        event("message_stop", ""),
    ];
    let server = Server::events(&[], &events.concat());
    let reply = ask(&live(Wire::Anthropic, server.url()), &question()).await.unwrap();
    assert_eq!(reply.turn.full_text(), "So be it.");

    // A known delta without its content is a lost piece.
    let torn = event("content_block_delta", r#","delta":{"type":"text_delta"}"#);
    let server = Server::events(&[], &[events[0].as_str(), &torn, &events[5], &events[6]].concat());
    let error = ask(&live(Wire::Anthropic, server.url()), &question()).await.unwrap_err();
    assert!(matches!(error, ModelError::CutStream { .. }), "{error:?}");
}

#[tokio::test]
async fn call_without_arguments_gets_an_empty_object() {
    for wire in WIRES {
        let model = FakeModel::start().on("tester", [calls_raw("look", "")]);
        let reply = ask(&live(wire, model.url()), &task()).await.unwrap();
        match wire {
            Wire::Gemini => {
                assert_eq!(reply.stop, StopCause::Other("MALFORMED_FUNCTION_CALL".to_owned()));
            }
            Wire::OpenAiChat | Wire::OpenAiResponses | Wire::Anthropic => {
                let call = reply.turn.calls().next().unwrap();
                assert_eq!(call.arguments, CallArguments::Json(json!({})), "{wire:?}");
            }
        }
    }
}

#[tokio::test]
async fn calls_of_the_same_tool_have_unique_ids() {
    for wire in WIRES {
        let two = calls_all([("look", json!({ "path": "a" })), ("look", json!({ "path": "b" }))]);
        let model = FakeModel::start().on("tester", [two]);
        let reply = ask(&live(wire, model.url()), &task()).await.unwrap();
        let ids: Vec<&str> = reply.turn.calls().map(|call| call.id.as_str()).collect();
        assert_eq!(ids.len(), 2, "{wire:?}");
        assert_ne!(ids[0], ids[1], "{wire:?}");
    }
}

#[tokio::test]
async fn input_tokens_include_cached_tokens() {
    let tokens = Tokens { input: 1000, cached: 600, written: 300, output: 90, thoughts: 40 };
    for wire in WIRES {
        let model = FakeModel::start().on(
            "tester",
            [
                says("Hi").usage(tokens),
                says("Hi").without_usage(),
                says("Hi").usage(Tokens { input: 2_000_000, ..tokens }),
            ],
        );
        let live = live(wire, model.url());
        let cache_written = match wire {
            Wire::Anthropic => 300,
            Wire::OpenAiChat | Wire::OpenAiResponses | Wire::Gemini => 0,
        };
        let usage = TokenUsage { input: 1000, cache_read: 600, cache_written, output: 90 };
        assert_eq!(ask(&live, &question()).await.unwrap().usage, Some(usage), "{wire:?}");
        for _ in ["missing", "implausible"] {
            assert_eq!(ask(&live, &question()).await.unwrap().usage, None, "{wire:?}");
        }
    }
}

/// The client reads 32-bit counts. In three APIs it drops the number; in the fourth it drops the
/// event, and with it the end of the stream.
#[tokio::test]
async fn count_over_32_bits_is_discarded_or_ends_the_stream() {
    let huge = Tokens { input: 1000, cached: 0, written: 0, output: 1 << 40, thoughts: 0 };
    for wire in WIRES {
        let model = FakeModel::start().on("tester", [says("Hi").usage(huge)]);
        let answer = ask(&live(wire, model.url()), &question()).await;
        match wire {
            Wire::OpenAiChat | Wire::Anthropic | Wire::Gemini => {
                assert_eq!(answer.unwrap().usage, None, "{wire:?}");
            }
            Wire::OpenAiResponses => {
                assert!(matches!(answer, Err(ModelError::CutStream { .. })), "{answer:?}");
            }
        }
    }
}

/// Asks, answers the calls and asks again. Returns the body of the second request.
async fn second_body(wire: Wire, first: ScriptedReply) -> serde_json::Value {
    let model = FakeModel::start().on("tester", [first, says("done")]);
    let live = live(wire, model.url());
    let mut request: ModelRequest = task();
    let reply = ask(&live, &request).await.unwrap();
    let results = reply.turn.calls().map(|call| ToolResult {
        call_id: call.id.clone(),
        name: call.name.clone(),
        text: format!("result of {}", call.name),
    });
    let results = Message::Results(results.collect());
    request.conversation.messages.extend([Message::Assistant(reply.turn.clone()), results]);
    ask(&live, &request).await.unwrap();
    model.requests().pop().unwrap().body
}

#[tokio::test]
async fn thoughts_are_sent_back_as_the_vendor_requires() {
    let thinking = || {
        calls("look", json!({ "path": "a" }))
            .and_calls("find", json!({ "path": "b" }))
            .thinking("first", "c2lnLTE=")
            .sealed_thinking("c2VhbGVk")
            .thinking("second", "c2lnLTI=")
    };
    for (wire, field, expected) in [
        (
            Wire::OpenAiChat,
            "messages",
            expect![[r#"
            {"role":"system","content":"Be brief."}
            {"role":"user","content":"Hello?"}
            {"role":"assistant","content":"","tool_calls":[{"type":"function","id":"call_1_0","function":{"name":"look","arguments":"{\"path\":\"a\"}"}},{"type":"function","id":"call_1_1","function":{"name":"find","arguments":"{\"path\":\"b\"}"}}],"reasoning_content":"firstsecond"}
            {"role":"tool","content":"result of look","tool_call_id":"call_1_0"}
            {"role":"tool","content":"result of find","tool_call_id":"call_1_1"}"#]],
        ),
        (
            Wire::OpenAiResponses,
            "input",
            expect![[r#"
            {"role":"user","content":"Hello?"}
            {"type":"reasoning","encrypted_content":"c2lnLTE=","summary":[]}
            {"type":"reasoning","encrypted_content":"c2VhbGVk","summary":[]}
            {"type":"reasoning","encrypted_content":"c2lnLTI=","summary":[]}
            {"type":"function_call","call_id":"call_1_3","name":"look","arguments":"{\"path\":\"a\"}"}
            {"type":"function_call","call_id":"call_1_4","name":"find","arguments":"{\"path\":\"b\"}"}
            {"type":"function_call_output","call_id":"call_1_3","output":"result of look"}
            {"type":"function_call_output","call_id":"call_1_4","output":"result of find"}"#]],
        ),
        (
            Wire::Anthropic,
            "messages",
            expect![[r#"
            {"role":"user","content":"Hello?"}
            {"role":"assistant","content":[{"type":"thinking","thinking":"first","signature":"c2lnLTE="},{"data":"c2VhbGVk","type":"redacted_thinking"},{"type":"thinking","thinking":"second","signature":"c2lnLTI="},{"type":"tool_use","id":"toolu_1_3","name":"look","input":{"path":"a"}},{"type":"tool_use","id":"toolu_1_4","name":"find","input":{"path":"b"}}]}
            {"role":"user","content":[{"type":"tool_result","content":"result of look","tool_use_id":"toolu_1_3"},{"type":"tool_result","content":"result of find","tool_use_id":"toolu_1_4"}]}"#]],
        ),
        (
            Wire::Gemini,
            "contents",
            expect![[r#"
            {"role":"user","parts":[{"text":"Hello?"}]}
            {"role":"model","parts":[{"functionCall":{"name":"look","args":{"path":"a"}},"thoughtSignature":"c2lnLTE="},{"functionCall":{"name":"find","args":{"path":"b"}}}]}
            {"role":"user","parts":[{"functionResponse":{"name":"look","response":{"name":"look","content":"result of look"}}},{"functionResponse":{"name":"find","response":{"name":"find","content":"result of find"}}}]}"#]],
        ),
    ] {
        let body = second_body(wire, thinking()).await;
        let messages = body[field].as_array().unwrap();
        let lines: Vec<String> = messages.iter().map(ToString::to_string).collect();
        expected.assert_eq(&lines.join("\n"));
    }
}
