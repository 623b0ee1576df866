//! Request bodies of each API.

use expect_test::expect;
use serde_json::{Value, json};

use super::live_setup::{WIRES, ask, client, endpoint, live, question, task, tool};
use crh_llm::{
    CacheMark, CallArguments, Conversation, Effort, Message, ModelRequest, OutputForm, ToolCall,
    ToolChoice, ToolResult, Turn, TurnPart, Wire,
};
use crh_testkit::FakeModel;
use crh_testkit::fake_model::says;

async fn body(wire: Wire, request: &ModelRequest) -> Value {
    let model = FakeModel::start().on("tester", [says("Hi")]);
    ask(&live(wire, model.url()), request).await.unwrap();
    model.requests().pop().unwrap().body
}

/// Fields of the body, one per line, without messages.
async fn settings(wire: Wire, request: &ModelRequest) -> String {
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
async fn plain_request_sets_no_extra_fields() {
    let mut report = String::new();
    for wire in WIRES {
        report.push_str(&settings(wire, &question()).await);
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
    .assert_eq(&report);
}

#[tokio::test]
async fn all_options_are_sent_in_each_api() {
    let schema = json!({
        "type": "object",
        "properties": { "city": { "type": "string" } },
        "required": ["city"],
        "additionalProperties": false,
    });
    let request = ModelRequest {
        tools: vec![tool("look")],
        tool_choice: ToolChoice::Named("look".to_owned()),
        output: OutputForm::Schema { name: "answer".to_owned(), schema },
        temperature: Some(0.5),
        effort: Some(Effort::High),
        ..question()
    };
    let mut report = String::new();
    for wire in WIRES {
        report.push_str(&settings(wire, &request).await);
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
            tools: [{"name":"look","input_schema":{"type":"object","properties":{"path":{"type":"string"}}},"description":"Can look."}]
        Gemini
            generationConfig: {"thinkingConfig":{"thinkingLevel":"HIGH"},"responseMimeType":"application/json","responseJsonSchema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false},"temperature":0.5,"maxOutputTokens":500}
            systemInstruction: {"parts":[{"text":"Be brief."}]}
            toolConfig: {"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["look"]}}
            tools: [{"functionDeclarations":[{"name":"look","description":"Can look.","parametersJsonSchema":{"type":"object","properties":{"path":{"type":"string"}}}}]}]
    "#]].assert_eq(&report);
}

#[tokio::test]
async fn tool_choice_is_sent_only_with_tools() {
    let required = |request| ModelRequest { tool_choice: ToolChoice::Required, ..request };
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

#[tokio::test]
async fn anthropic_gets_breakpoints_at_marked_text_and_last_result() {
    let mut conversation = Conversation::new("Be brief.");
    conversation.push_user("part 0", CacheMark::Breakpoint);
    conversation.push_user("more 0", CacheMark::Unmarked);
    let call = ToolCall {
        id: "c1".to_owned(),
        name: "look".to_owned(),
        arguments: CallArguments::Json(json!({})),
        signatures: Vec::new(),
    };
    conversation.messages.push(Message::Assistant(Turn { parts: vec![TurnPart::Call(call)] }));
    let result =
        ToolResult { call_id: "c1".to_owned(), name: "look".to_owned(), text: "found".to_owned() };
    conversation.messages.push(Message::Results(vec![result]));
    let request =
        ModelRequest { tools: vec![tool("look")], ..ModelRequest::new(conversation, 500) };
    let body = body(Wire::Anthropic, &request).await;
    let blocks = body["messages"].as_array().unwrap().iter();
    let blocks = blocks.filter_map(|message| message["content"].as_array()).flatten();
    let marked_blocks: Vec<&str> = blocks
        .filter(|block| block["cache_control"] == json!({ "type": "ephemeral" }))
        .map(|block| block["text"].as_str().or(block["content"].as_str()).unwrap())
        .collect();
    assert_eq!(marked_blocks, ["part 0", "found"]);
}

#[tokio::test]
async fn marked_prefix_is_cached_for_the_second_request() {
    let model = FakeModel::start().on("tester", [says("Hi"), says("Hi")]);
    let live = live(Wire::Anthropic, model.url());
    let mut request = question();
    request.conversation.push_user("the change ".repeat(500), CacheMark::Breakpoint);
    let first = ask(&live, &request).await.unwrap().usage.unwrap();
    request.conversation.push_user("and now you", CacheMark::Unmarked);
    let second = ask(&live, &request).await.unwrap().usage.unwrap();
    assert!(first.cache_written > 1000 && first.cache_read == 0, "{first:?}");
    assert_eq!(second.cache_read, first.cache_written, "{second:?}");
}

#[tokio::test]
async fn empty_turn_is_not_sent() {
    let mut request = question();
    for turn in [Turn::default(), Turn::text(" \n")] {
        request.conversation.messages.push(Message::Assistant(turn));
    }
    request.conversation.push_user("Are you there?", CacheMark::Unmarked);
    for wire in WIRES {
        let body = body(wire, &request).await.to_string();
        for role in ["assistant", "model\",\"parts"] {
            assert!(!body.contains(role), "{wire:?}: {body}");
        }
    }
}

#[tokio::test]
async fn openai_thoughts_are_requested_only_for_reasoning() {
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
        ask(&client(endpoint), &question()).await.unwrap();
        let body = model.requests().pop().unwrap().body;
        let include = thinks.then(|| json!(["reasoning.encrypted_content"]));
        assert_eq!(body.get("include"), include.as_ref(), "{name}");
        assert_eq!(body["reasoning"], Value::Null, "{name}");
        assert_eq!(body["store"], false, "{name}");
    }
}
