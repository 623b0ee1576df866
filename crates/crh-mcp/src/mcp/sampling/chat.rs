//! Translates between the Chat Completions API and `sampling/createMessage`. Both sides are JSON.

use serde_json::{Value, json};

/// Output limit for a request without one.
const DEFAULT_OUTPUT: u64 = 8_192;

/// Parameters of `sampling/createMessage` for a chat request.
pub(super) fn sampling_params(request: &Value) -> Value {
    let mut system = Vec::new();
    let mut messages: Vec<Value> = Vec::new();
    for message in items(&request["messages"]) {
        let text = || text_of(&message["content"]);
        match message["role"].as_str().unwrap_or_default() {
            "system" | "developer" => system.push(text()),
            "assistant" => {
                let words = Some(text()).filter(|text| !text.is_empty());
                let words = words.map(|text| json!({ "type": "text", "text": text }));
                let calls = items(&message["tool_calls"]).iter().map(tool_use);
                push(&mut messages, "assistant", words.into_iter().chain(calls).collect());
            }
            "tool" => {
                let content = json!([{ "type": "text", "text": text() }]);
                let id = &message["tool_call_id"];
                let result = json!({ "type": "tool_result", "toolUseId": id, "content": content });
                // Results of parallel calls are one message.
                match messages.last_mut() {
                    Some(last) if is_tool_result(last) => append(last, result),
                    Some(_) | None => push(&mut messages, "user", vec![result]),
                }
            }
            _ => push(&mut messages, "user", vec![json!({ "type": "text", "text": text() })]),
        }
    }
    if let Some(schema) = request.pointer("/response_format/json_schema/schema") {
        system.push(format!("Answer only with JSON that matches this JSON Schema:\n{schema}"));
    }
    let limits = [&request["max_completion_tokens"], &request["max_tokens"]];
    let max_tokens = limits.iter().find_map(|limit| limit.as_u64()).unwrap_or(DEFAULT_OUTPUT);
    let mut params = json!({ "messages": messages, "maxTokens": max_tokens });
    if !system.is_empty() {
        params["systemPrompt"] = system.join("\n\n").into();
    }
    let tools = items(&request["tools"]);
    if !tools.is_empty() {
        params["tools"] = tools.iter().map(tool).collect();
        let mode = request["tool_choice"].as_str().unwrap_or("auto");
        let mode = if ["auto", "none"].contains(&mode) { mode } else { "required" };
        params["toolChoice"] = json!({ "mode": mode });
    }
    params
}

/// The reply of a chat request that does not stream.
pub(super) fn completion(result: &Value) -> Value {
    let answer = ChatAnswer::new(result);
    let mut message = json!({ "role": "assistant", "content": answer.text });
    if !answer.calls.is_empty() {
        message["tool_calls"] = answer.calls.into();
    }
    json!({
        "id": "client",
        "object": "chat.completion",
        "created": 0,
        "model": "client",
        "choices": [{ "index": 0, "message": message, "finish_reason": answer.finish_reason }],
    })
}

/// The events of a chat request that streams. They report no usage, so crh counts its upper
/// estimate of the tokens.
pub(super) fn stream_events(result: &Value) -> Vec<Value> {
    let answer = ChatAnswer::new(result);
    let event = |delta: Value, finish_reason: Option<&str>| {
        json!({
            "id": "client",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": "client",
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish_reason }],
        })
    };
    let mut events = vec![event(json!({ "role": "assistant", "content": answer.text }), None)];
    for (index, mut call) in answer.calls.into_iter().enumerate() {
        call["index"] = index.into();
        events.push(event(json!({ "tool_calls": [call] }), None));
    }
    events.push(event(json!({}), Some(answer.finish_reason)));
    events
}

/// The client's answer in the form of the Chat Completions API.
struct ChatAnswer {
    text: String,
    calls: Vec<Value>,
    finish_reason: &'static str,
}

impl ChatAnswer {
    fn new(result: &Value) -> Self {
        let content = &result["content"];
        let blocks = match content {
            Value::Array(blocks) => blocks.as_slice(),
            single => std::slice::from_ref(single),
        };
        let of_type = |kind: &'static str| blocks.iter().filter(move |block| block["type"] == kind);
        let texts: Vec<&str> = of_type("text").filter_map(|block| block["text"].as_str()).collect();
        let call = |block: &Value| {
            let function =
                json!({ "name": block["name"], "arguments": block["input"].to_string() });
            json!({ "id": block["id"], "type": "function", "function": function })
        };
        let calls: Vec<Value> = of_type("tool_use").map(call).collect();
        let finish_reason = match result["stopReason"].as_str() {
            _ if !calls.is_empty() => "tool_calls",
            Some("maxTokens") => "length",
            Some(_) | None => "stop",
        };
        Self { text: texts.join("\n"), calls, finish_reason }
    }
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The text of a message: a string, or parts with texts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        parts => {
            let texts = items(parts).iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
    }
}

/// Adds a message. Older clients expect a single block without an array around it.
fn push(messages: &mut Vec<Value>, role: &str, mut blocks: Vec<Value>) {
    let content = match blocks.len() {
        0 => json!({ "type": "text", "text": "" }),
        1 => blocks.swap_remove(0),
        _ => blocks.into(),
    };
    messages.push(json!({ "role": role, "content": content }));
}

fn is_tool_result(message: &Value) -> bool {
    let content = &message["content"];
    content["type"] == "tool_result" || content[0]["type"] == "tool_result"
}

fn append(message: &mut Value, block: Value) {
    let content = message["content"].take();
    message["content"] = match content {
        Value::Array(mut blocks) => {
            blocks.push(block);
            blocks.into()
        }
        single => json!([single, block]),
    };
}

fn tool_use(call: &Value) -> Value {
    let function = &call["function"];
    let arguments = function["arguments"].as_str().unwrap_or("{}");
    let input: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
    json!({ "type": "tool_use", "id": call["id"], "name": function["name"], "input": input })
}

fn tool(tool: &Value) -> Value {
    let function = &tool["function"];
    json!({
        "name": function["name"],
        "description": function["description"].as_str().unwrap_or_default(),
        "inputSchema": function["parameters"].as_object().cloned().unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversation_with_tools_is_translated() {
        let call = |id: &str| {
            let function = json!({ "name": "read_file", "arguments": "{\"path\":\"a\"}" });
            json!({ "id": id, "type": "function", "function": function })
        };
        let request = json!({
            "messages": [
                { "role": "system", "content": "rules" },
                { "role": "user", "content": [{ "type": "text", "text": "review" }] },
                { "role": "assistant", "content": null, "tool_calls": [call("1"), call("2")] },
                { "role": "tool", "tool_call_id": "1", "content": "one" },
                { "role": "tool", "tool_call_id": "2", "content": "two" },
            ],
            "tools": [{ "type": "function", "function": {
                "name": "read_file", "description": "Reads", "parameters": { "type": "object" } } }],
            "tool_choice": "auto",
            "max_tokens": 100,
            "response_format": { "type": "json_schema", "json_schema": { "schema": { "a": 1 } } },
        });
        let used = |id: &str| json!({ "type": "tool_use", "id": id, "name": "read_file", "input": { "path": "a" } });
        let result = |id: &str, text: &str| json!({ "type": "tool_result", "toolUseId": id, "content": [{ "type": "text", "text": text }] });
        let expected = json!({
            "messages": [
                { "role": "user", "content": { "type": "text", "text": "review" } },
                { "role": "assistant", "content": [used("1"), used("2")] },
                { "role": "user", "content": [result("1", "one"), result("2", "two")] },
            ],
            "systemPrompt": "rules\n\nAnswer only with JSON that matches this JSON Schema:\n{\"a\":1}",
            "maxTokens": 100,
            "tools": [{ "name": "read_file", "description": "Reads", "inputSchema": { "type": "object" } }],
            "toolChoice": { "mode": "auto" },
        });
        assert_eq!(sampling_params(&request), expected);
    }

    #[test]
    fn answer_becomes_stream_events() {
        let result = json!({
            "role": "assistant", "model": "m", "stopReason": "toolUse",
            "content": [
                { "type": "text", "text": "I look." },
                { "type": "tool_use", "id": "7", "name": "read_file", "input": { "path": "a" } },
            ],
        });
        let events = stream_events(&result);
        assert_eq!(events[0]["choices"][0]["delta"]["content"], "I look.");
        let call = &events[1]["choices"][0]["delta"]["tool_calls"][0];
        assert_eq!(call["function"]["arguments"], "{\"path\":\"a\"}");
        assert_eq!((&call["index"], &call["id"]), (&json!(0), &json!("7")));
        assert_eq!(events[2]["choices"][0]["finish_reason"], "tool_calls");
        let single =
            json!({ "content": { "type": "text", "text": "done" }, "stopReason": "endTurn" });
        let reply = completion(&single);
        assert_eq!(reply["choices"][0]["message"]["content"], "done");
        assert_eq!(reply["choices"][0]["finish_reason"], "stop");
    }
}
