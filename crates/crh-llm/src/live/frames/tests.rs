use serde_json::json;

use super::*;

fn chat(deltas: &[Value]) -> ChatDeltas {
    let frames = FrameRecorder::new(Wire::OpenAiChat, 100);
    for delta in deltas {
        frames.record(None, &json!({ "choices": [{ "delta": delta }] }).to_string());
    }
    std::mem::take(&mut frames.summary().chat)
}

fn calls(pieces: &[Value]) -> Vec<(String, String, String)> {
    let deltas: Vec<Value> = pieces.iter().map(|piece| json!({ "tool_calls": [piece] })).collect();
    let chat = chat(&deltas);
    chat.calls().cloned().map(|call| (call.id, call.name, call.arguments)).collect()
}

fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
    (id.to_owned(), name.to_owned(), arguments.to_owned())
}

#[test]
fn deltas_of_parallel_calls_are_matched_by_index() {
    let found = calls(&[
        json!({ "index": 1, "id": "b", "type": "function", "function": { "name": "find", "arguments": "" } }),
        json!({ "index": 0, "id": "a", "function": { "name": "look", "arguments": "{\"p\":" } }),
        json!({ "index": 1, "function": { "arguments": "{" } }),
        json!({ "index": 0, "id": null, "function": { "name": null, "arguments": "1}" } }),
        json!({ "index": 1, "id": "", "function": { "name": "", "arguments": "}" } }),
    ]);
    assert_eq!(found, [call("a", "look", "{\"p\":1}"), call("b", "find", "{}")]);
}

#[test]
fn repeated_names_and_missing_indices_are_accepted() {
    let found = calls(&[
        json!({ "id": "a", "function": { "name": "look", "arguments": { "p": 1 } } }),
        json!({ "id": "b", "function": { "name": "look", "arguments": "{" } }),
        json!({ "function": { "arguments": "}" } }),
    ]);
    assert_eq!(found, [call("a", "look", "{\"p\":1}"), call("b", "look", "{}")]);
    let found = calls(&[
        json!({ "index": 0, "id": "a", "function": { "name": "look", "arguments": "{" } }),
        json!({ "index": 0, "id": "a", "function": { "name": "look", "arguments": "}" } }),
    ]);
    assert_eq!(found, [call("a", "look", "{}")]);
    let found = calls(&[
        json!({ "index": 0, "id": "a", "function": { "name": "look", "arguments": "{}" } }),
        json!({ "index": 0, "id": "b", "function": { "name": "look", "arguments": "{}" } }),
    ]);
    assert_eq!(found, [call("a", "look", "{}"), call("b", "look", "{}")]);
}

#[test]
fn invalid_call_deltas_are_ignored() {
    for odd in [
        json!(null),
        json!("x"),
        json!([]),
        json!({ "tool_calls": 7 }),
        json!({ "tool_calls": [] }),
    ] {
        assert_eq!(chat(&[odd]).calls().count(), 0);
    }
    assert_eq!(calls(&[json!({ "index": u64::MAX, "function": {} })]).len(), 1);
}

#[test]
fn thoughts_are_separated_by_field() {
    let deltas = chat(&[
        json!({ "reasoning_content": "a" }),
        json!({ "reasoning_content": "b", "content": null }),
        json!({ "reasoning": "c" }),
        json!({ "content": [{ "type": "thinking", "thinking": [{ "type": "text", "text": "d" }] }] }),
        json!({ "refusal": "no" }),
    ]);
    assert_eq!(
        [deltas.reasoning_content, deltas.reasoning, deltas.refusal],
        ["ab".to_owned(), "cd".to_owned(), "no".to_owned()]
    );
}

#[test]
fn deltas_of_a_thought_block_are_merged() {
    let piece = |detail: Value| json!({ "reasoning_details": [detail] });
    let deltas = chat(&[
        piece(json!({ "type": "reasoning.text", "index": 0, "text": "one ", "signature": null })),
        piece(json!({ "type": "reasoning.text", "index": 0, "text": "two" })),
        piece(json!({ "type": "reasoning.text", "index": 0, "signature": "s" })),
        piece(json!({ "type": "reasoning.encrypted", "index": 1, "data": "x" })),
        piece(json!("odd")),
    ]);
    assert_eq!(
        deltas.reasoning_details,
        [
            json!({ "type": "reasoning.text", "index": 0, "text": "one two", "signature": "s" }),
            json!({ "type": "reasoning.encrypted", "index": 1, "data": "x" }),
        ]
    );
}

#[test]
fn too_many_bytes_frames_or_calls_are_a_fault() {
    let large = format!("\"{}\"", "x".repeat(1 << 19));
    // As many frames of half a megabyte as one token, 2,000 tokens and the largest request allow.
    for (tokens, frame_count, max_bytes) in
        [(1, 21, 11_028 << 10), (2_000, 37, 19_024 << 10), (u32::MAX, 127, MAX_ANSWER_BYTES)]
    {
        let frames = FrameRecorder::new(Wire::Gemini, tokens);
        for _ in 0..frame_count {
            frames.record(None, &large);
        }
        assert_eq!(frames.summary().fault(), None, "{tokens}");
        frames.record(None, &large);
        let tokens = tokens.into();
        let endless = ModelError::EndlessReply { max: max_bytes, unit: LengthUnit::Bytes, tokens };
        assert_eq!(frames.summary().fault(), Some(endless));
    }

    let frames = FrameRecorder::new(Wire::Gemini, 100);
    for _ in 0..=12 * MAX_OTHER_BYTES / FRAME_OVERHEAD_BYTES {
        frames.record(None, "");
    }
    assert!(frames.summary().fault().is_some(), "signs of life without end");
}

#[test]
fn nameless_or_broken_event_is_a_fault() {
    let fault = |wire, event, data: &str| {
        let frames = FrameRecorder::new(wire, 100);
        frames.record(event, data);
        frames.summary().fault()
    };
    let stop = r#"{"type":"message_stop"}"#;
    assert_eq!(fault(Wire::Anthropic, Some("message_stop"), stop), None);
    assert!(fault(Wire::Anthropic, None, stop).is_some());
    assert_eq!(fault(Wire::Anthropic, Some("message_stop"), ""), None);
    assert_eq!(fault(Wire::OpenAiResponses, None, "[DONE]"), None);
    assert_eq!(fault(Wire::OpenAiResponses, None, r#"{"type":"response.new","delta":7}"#), None);
    for torn in ["{", r#"{"type":"response.output_text.delta"}"#] {
        assert!(fault(Wire::OpenAiResponses, None, torn).is_some(), "{torn}");
    }
}
