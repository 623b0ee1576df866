//! Requests that vendors reject. A fake that accepted everything would hide these errors until the
//! first real call.
//!
//! Only rules that every model of a vendor has and that requests of crh could break, such as a call
//! without its result, a result without its call, an empty text, or too many cache marks.

use std::collections::BTreeSet;

use serde_json::Value;

use super::request::{FakeRequest, Wire};

/// The most cache marks in a request to Anthropic.
const MAX_MARKS: usize = 4;

/// The first rule that a request breaks.
pub(super) fn broken_rule(request: &FakeRequest) -> Option<String> {
    if !request.wants_stream() {
        return Some(
            "it asks for an answer that is no stream, which the fake does not have".to_owned(),
        );
    }
    match request.wire {
        Wire::Chat => chat(&request.body).err(),
        Wire::Responses => responses(&request.body).err(),
        Wire::Messages => messages(&request.body).err(),
        Wire::Gemini => gemini(&request.body).err(),
    }
}

fn chat(body: &Value) -> Result<(), String> {
    let mut open = BTreeSet::new();
    for message in items(&body["messages"]) {
        if message["role"] == "tool" {
            let id = text(&message["tool_call_id"]);
            if !open.remove(id) {
                return Err(format!("the result `{id}` does not follow its call"));
            }
            continue;
        }
        answered(&open)?;
        open = items(&message["tool_calls"]).iter().map(|call| text(&call["id"])).collect();
    }
    answered(&open)
}

fn responses(body: &Value) -> Result<(), String> {
    let mut open = BTreeSet::new();
    for item in items(&body["input"]) {
        let id = text(&item["call_id"]);
        if item["type"] == "function_call" {
            open.insert(id);
        } else if item["type"] == "function_call_output" && !open.remove(id) {
            return Err(format!("the result `{id}` does not follow its call"));
        }
    }
    answered(&open)
}

fn messages(body: &Value) -> Result<(), String> {
    if !body["max_tokens"].is_u64() {
        return Err("`max_tokens` is missing".to_owned());
    }
    let marks = marks(body);
    if marks > MAX_MARKS {
        return Err(format!("{marks} cache marks are more than {MAX_MARKS}"));
    }
    let mut open = BTreeSet::new();
    for message in items(&body["messages"]) {
        if message["content"] == "" || message["content"].as_array().is_some_and(Vec::is_empty) {
            return Err("a message is empty".to_owned());
        }
        let mut calls = BTreeSet::new();
        for block in items(&message["content"]) {
            match text(&block["type"]) {
                "text" if text(&block["text"]).is_empty() => {
                    return Err("a text is empty".to_owned());
                }
                "tool_use" if !block["input"].is_object() => {
                    return Err("the input of a call is no object".to_owned());
                }
                "tool_use" => {
                    calls.insert(text(&block["id"]));
                }
                "tool_result" if !open.remove(text(&block["tool_use_id"])) => {
                    let id = text(&block["tool_use_id"]);
                    return Err(format!("the result `{id}` does not follow its call"));
                }
                _ => {}
            }
        }
        answered(&open)?;
        open = calls;
    }
    answered(&open)
}

fn gemini(body: &Value) -> Result<(), String> {
    let mut open = 0;
    for content in items(&body["contents"]) {
        let parts = items(&content["parts"]);
        if parts.is_empty() {
            return Err("a message is empty".to_owned());
        }
        let calls = parts.iter().filter(|part| part["functionCall"].is_object());
        if calls.clone().any(|call| !call["functionCall"]["args"].is_object()) {
            return Err("the arguments of a call are no object".to_owned());
        }
        let results = parts.iter().filter(|part| part["functionResponse"].is_object()).count();
        if results != open {
            return Err(format!("{open} calls are followed by {results} results"));
        }
        open = calls.count();
    }
    if open > 0 { Err(format!("{open} calls are followed by 0 results")) } else { Ok(()) }
}

fn answered(open: &BTreeSet<&str>) -> Result<(), String> {
    match open.first() {
        Some(id) => Err(format!("the call `{id}` has no result right after it")),
        None => Ok(()),
    }
}

/// Number of `cache_control` entries.
fn marks(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(marks).sum(),
        Value::Object(fields) => {
            let own = usize::from(fields.get("cache_control").is_some_and(Value::is_object));
            own + fields.values().map(marks).sum::<usize>()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::super::tests::asked;
    use super::*;

    fn check(wire: Wire, mut body: Value, expected: &Expect) {
        body["stream"] = json!(true);
        expected.assert_eq(&broken_rule(&asked(wire, body)).unwrap_or_default());
    }

    #[test]
    fn chat_requires_immediate_result_for_each_call() {
        let call = json!({ "role": "assistant", "tool_calls": [{ "id": "a" }, { "id": "b" }] });
        let result = |id: &str| json!({ "role": "tool", "tool_call_id": id });
        let user = json!({ "role": "user" });
        let check = |messages: Value, expected: Expect| {
            check(Wire::Chat, json!({ "messages": messages }), &expected);
        };
        check(json!([call, result("b"), result("a"), user]), expect![[""]]);
        check(
            json!([call, result("a"), user]),
            expect!["the call `b` has no result right after it"],
        );
        check(json!([call, result("a")]), expect!["the call `b` has no result right after it"]);
        check(json!([user, result("a")]), expect!["the result `a` does not follow its call"]);
    }

    #[test]
    fn responses_requires_result_for_each_call() {
        let call = json!({ "type": "function_call", "call_id": "a" });
        let result = json!({ "type": "function_call_output", "call_id": "a" });
        let check = |input: Value, expected: Expect| {
            check(Wire::Responses, json!({ "input": input }), &expected);
        };
        check(json!([call, { "role": "user" }, result]), expect![[""]]);
        check(json!([call]), expect!["the call `a` has no result right after it"]);
        check(json!([result, call]), expect!["the result `a` does not follow its call"]);
    }

    #[test]
    fn messages_checks_results_texts_and_cache_marks() {
        let call = |input: Value| {
            let block = json!({ "type": "tool_use", "id": "a", "input": input });
            json!({ "role": "assistant", "content": [block] })
        };
        let user = |block: Value| json!({ "role": "user", "content": [block] });
        let result = user(json!({ "type": "tool_result", "tool_use_id": "a" }));
        let text = |text: &str| {
            let mark = json!({ "type": "ephemeral" });
            user(json!({ "type": "text", "text": text, "cache_control": mark }))
        };
        let check = |messages: Value, expected: Expect| {
            check(Wire::Messages, json!({ "max_tokens": 1, "messages": messages }), &expected);
        };
        check(json!([call(json!({})), result]), expect![[""]]);
        check(json!([call(json!({}))]), expect!["the call `a` has no result right after it"]);
        check(json!([result]), expect!["the result `a` does not follow its call"]);
        check(json!([call(json!("{")), result]), expect!["the input of a call is no object"]);
        check(json!([text("")]), expect!["a text is empty"]);
        check(json!([{ "role": "user", "content": [] }]), expect!["a message is empty"]);
        check(json!(vec![text("a"); 4]), expect![[""]]);
        check(json!(vec![text("a"); 5]), expect!["5 cache marks are more than 4"]);
    }

    #[test]
    fn gemini_requires_as_many_results_as_calls() {
        let call = |args: Value| json!({ "parts": [{ "functionCall": { "args": args } }] });
        let result = json!({ "parts": [{ "functionResponse": {} }] });
        let check = |contents: Value, expected: Expect| {
            check(Wire::Gemini, json!({ "contents": contents }), &expected);
        };
        check(json!([call(json!({})), result]), expect![[""]]);
        check(json!([call(json!({}))]), expect!["1 calls are followed by 0 results"]);
        check(json!([result]), expect!["0 calls are followed by 1 results"]);
        check(json!([call(json!("{")), result]), expect!["the arguments of a call are no object"]);
        check(json!([{ "parts": [] }]), expect!["a message is empty"]);
    }
}
