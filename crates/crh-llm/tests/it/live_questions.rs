//! What a request looks like on each wire.

use expect_test::expect;
use serde_json::{Value, json};

use super::live_asking::{WIRES, ask, endpoint, live, question, task, tool};
use crh_llm::{
    Arguments, Cache, Conversation, Effort, Live, Message, Network, OutputForm, Part, Request,
    ToolCall, ToolChoice, ToolResult, Turn, Wire,
};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::says;

async fn body(wire: Wire, request: &Request) -> Value {
    let model = FakeModel::start().on("tester", [says("Hi")]);
    ask(&live(wire, model.url()), request).await.unwrap();
    model.requests().pop().unwrap().body
}

/// The fields of the body, one a line, without what is said.
async fn settings(wire: Wire, request: &Request) -> String {
    let body = body(wire, request).await;
    let mut lines: Vec<String> = Vec::new();
    for (name, value) in body.as_object().unwrap() {
        if !matches!(name.as_str(), "messages" | "input" | "contents") {
            lines.push(format!("    {name}: {value}\n"));
        }
    }
    lines.sort();
    format!("{wire:?}\n{}", lines.concat())
}

#[tokio::test]
async fn a_plain_question_sets_nothing_that_was_not_asked_for() {
    let mut shown = String::new();
    for wire in WIRES {
        shown.push_str(&settings(wire, &question()).await);
    }
    expect![[r#"
        OpenAiChat
            max_tokens: 500
            model: "gpt-4.1-mini"
            stream: true
            stream_options: {"include_usage":true}
        OpenAiResponses
            include: ["reasoning.encrypted_content"]
            instructions: "Be brief."
            max_output_tokens: 500
            model: "gpt-5.2"
            reasoning: null
            store: false
            stream: true
        Anthropic
            max_tokens: 500
            model: "claude-sonnet-4-6"
            stream: true
            system: "Be brief."
        Gemini
            generationConfig: {"maxOutputTokens":500}
            systemInstruction: {"parts":[{"text":"Be brief."}]}
    "#]]
    .assert_eq(&shown);
}

#[tokio::test]
async fn tools_schema_temperature_and_effort_are_set_as_each_vendor_has_them() {
    let schema = json!({
        "type": "object",
        "properties": { "city": { "type": "string" } },
        "required": ["city"],
        "additionalProperties": false,
    });
    let request = Request {
        tools: vec![tool("look")],
        tool_choice: ToolChoice::Named("look".to_owned()),
        output: OutputForm::Schema { name: "answer".to_owned(), schema },
        temperature: Some(0.5),
        effort: Some(Effort::High),
        ..question()
    };
    let mut shown = String::new();
    for wire in WIRES {
        shown.push_str(&settings(wire, &request).await);
    }
    expect![[r#"
        OpenAiChat
            max_tokens: 500
            model: "gpt-4.1-mini"
            reasoning_effort: "high"
            response_format: {"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}}}
            stream: true
            stream_options: {"include_usage":true}
            temperature: 0.5
            tool_choice: {"type":"function","function":{"name":"look"}}
            tools: [{"type":"function","function":{"name":"look","description":"Can look.","parameters":{"type":"object","properties":{"path":{"type":"string"}}},"strict":false}}]
        OpenAiResponses
            include: ["reasoning.encrypted_content"]
            instructions: "Be brief."
            max_output_tokens: 500
            model: "gpt-5.2"
            reasoning: {"effort":"high"}
            store: false
            stream: true
            temperature: 0.5
            text: {"format":{"type":"json_schema","name":"answer","strict":true,"schema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}}}
            tool_choice: {"type":"function","name":"look"}
            tools: [{"type":"function","name":"look","parameters":{"type":"object","properties":{"path":{"type":"string"}}},"description":"Can look.","strict":false}]
        Anthropic
            max_tokens: 500
            model: "claude-sonnet-4-6"
            output_config: {"effort":"high","format":{"type":"json_schema","schema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}}}
            stream: true
            system: "Be brief."
            temperature: 0.5
            thinking: {"type":"adaptive","display":"summarized"}
            tool_choice: {"type":"tool","name":"look"}
            tools: [{"name":"look","input_schema":{"type":"object","properties":{"path":{"type":"string"}}},"description":"Can look."}]
        Gemini
            generationConfig: {"thinkingConfig":{"thinkingLevel":"HIGH"},"responseMimeType":"application/json","responseJsonSchema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false},"temperature":0.5,"maxOutputTokens":500}
            systemInstruction: {"parts":[{"text":"Be brief."}]}
            toolConfig: {"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["look"]}}
            tools: [{"functionDeclarations":[{"name":"look","description":"Can look.","parametersJsonSchema":{"type":"object","properties":{"path":{"type":"string"}}}}]}]
    "#]].assert_eq(&shown);
}

#[tokio::test]
async fn a_tool_has_to_be_called_only_if_there_are_tools() {
    let required = |request| Request { tool_choice: ToolChoice::Required, ..request };
    for (wire, pointer, word) in [
        (Wire::OpenAiChat, "/tool_choice", json!("required")),
        (Wire::OpenAiResponses, "/tool_choice", json!("required")),
        (Wire::Anthropic, "/tool_choice", json!({ "type": "any" })),
        (Wire::Gemini, "/toolConfig/functionCallingConfig/mode", json!("ANY")),
    ] {
        assert_eq!(body(wire, &required(task())).await.pointer(pointer), Some(&word), "{wire:?}");
        assert_eq!(body(wire, &required(question())).await.pointer(pointer), None, "{wire:?}");
        assert_eq!(body(wire, &task()).await.pointer(pointer), None, "{wire:?}");
    }
}

/// A conversation with so many marked messages, and an answered call at its end.
fn long(marked: usize) -> Request {
    let mut conversation = Conversation::new("Be brief.");
    for number in 0..marked {
        conversation.say(format!("part {number}"), Cache::Breakpoint);
        conversation.say(format!("more {number}"), Cache::Unmarked);
    }
    let call = ToolCall {
        id: "c1".to_owned(),
        name: "look".to_owned(),
        arguments: Arguments::Json(json!({})),
        signatures: Vec::new(),
    };
    conversation.messages.push(Message::Assistant(Turn { parts: vec![Part::Call(call)] }));
    let result =
        ToolResult { call_id: "c1".to_owned(), name: "look".to_owned(), text: "found".to_owned() };
    conversation.messages.push(Message::Results(vec![result]));
    Request { tools: vec![tool("look")], ..Request::new(conversation, 500) }
}

#[tokio::test]
async fn anthropic_gets_four_breakpoints_at_most_the_first_and_the_last() {
    for (marked, expected) in [
        (0, vec![]),
        (1, vec!["part 0", "found"]),
        (3, vec!["part 0", "part 1", "part 2", "found"]),
        (9, vec!["part 0", "part 7", "part 8", "found"]),
    ] {
        let body = body(Wire::Anthropic, &long(marked)).await;
        let blocks = body["messages"].as_array().unwrap().iter();
        let blocks = blocks.filter_map(|message| message["content"].as_array()).flatten();
        let kept: Vec<&str> = blocks
            .filter(|block| block["cache_control"] == json!({ "type": "ephemeral" }))
            .map(|block| block["text"].as_str().or(block["content"].as_str()).unwrap())
            .collect();
        assert_eq!(kept, expected, "{marked} marked");
    }
}

#[tokio::test]
async fn a_marked_beginning_is_read_from_the_cache_the_second_time() {
    let model = FakeModel::start().on("tester", [says("Hi"), says("Hi")]);
    let live = live(Wire::Anthropic, model.url());
    let mut request = question();
    request.conversation.say("the change ".repeat(500), Cache::Breakpoint);
    let first = ask(&live, &request).await.unwrap().usage.unwrap();
    request.conversation.say("and now you", Cache::Unmarked);
    let second = ask(&live, &request).await.unwrap().usage.unwrap();
    assert!(first.cache_written > 1000 && first.cache_read == 0, "{first:?}");
    assert_eq!(second.cache_read, first.cache_written, "{second:?}");
}

#[tokio::test]
async fn an_empty_turn_of_the_model_is_left_out() {
    let mut request = question();
    for turn in [Turn::default(), Turn::text(" \n")] {
        request.conversation.messages.push(Message::Assistant(turn));
    }
    request.conversation.say("Are you there?", Cache::Unmarked);
    for (wire, field) in [
        (Wire::OpenAiChat, "messages"),
        (Wire::OpenAiResponses, "input"),
        (Wire::Anthropic, "messages"),
        (Wire::Gemini, "contents"),
    ] {
        let body = body(wire, &request).await.to_string();
        for role in ["assistant", "model\",\"parts"] {
            assert!(!body.contains(role), "{wire:?} {field}: {body}");
        }
    }
}

#[tokio::test]
async fn openai_is_asked_for_sealed_thoughts_only_where_the_model_thinks() {
    for (name, thinks) in [
        ("gpt-4.1-mini", false),
        ("gpt-4o", false),
        ("gpt-5.2", true),
        ("gpt-6", true),
        ("o3", true),
        ("o4-mini", true),
        ("openai/gpt-5-mini", true),
        ("other", false),
        ("gpt-oss-120b", false),
    ] {
        let model = FakeModel::start().on("tester", [says("Hi")]);
        let mut endpoint = endpoint(Wire::OpenAiResponses, model.url());
        endpoint.model = name.to_owned();
        ask(&Live::new(endpoint, &Network::default()).unwrap(), &question()).await.unwrap();
        let body = model.requests().pop().unwrap().body;
        let include = thinks.then(|| json!(["reasoning.encrypted_content"]));
        assert_eq!(body.get("include"), include.as_ref(), "{name}");
        assert_eq!(body["reasoning"], Value::Null, "{name}");
        assert_eq!(body["store"], false, "{name}");
    }
}
