//! Prints conversations as short lines, so that a prompt change is a readable diff.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::json::sorted;
use super::request::{FakeRequest, PromptPart};

/// Maximum characters of a text, so that a line with its number and role stays short.
const WIDTH: usize = 80;

/// Conversations per caller. A request that extends the previous one continues its conversation;
/// any other starts a new one.
pub(super) fn render(requests: &[Arc<FakeRequest>], tags: &[(String, String)]) -> String {
    let mut callers: BTreeMap<&str, Vec<Vec<String>>> = BTreeMap::new();
    for request in requests {
        let lines = lines(&request.prompt_parts(), tags);
        let conversations = callers.entry(&request.caller).or_default();
        match conversations.last_mut() {
            Some(last) if lines.starts_with(last) => *last = lines,
            Some(_) | None => conversations.push(lines),
        }
    }
    let mut text = String::new();
    for (caller, conversations) in callers {
        for lines in conversations {
            text.push_str(&format!("{caller}\n"));
            for (number, line) in lines.iter().enumerate() {
                text.push_str(&format!("  {number} {line}\n"));
            }
        }
    }
    text
}

fn lines(parts: &[PromptPart], tags: &[(String, String)]) -> Vec<String> {
    let line = |role: &str, text: String| format!("{role:<8} {text}").trim_end().to_owned();
    let lines = parts.iter().filter_map(|part| match part {
        PromptPart::Tool(_) => None,
        PromptPart::System(text) => Some(line("system", tagged(text, tags))),
        PromptPart::User(text) => Some(line("user", tagged(text, tags))),
        PromptPart::Assistant(text) => Some(line("said", tagged(text, tags))),
        PromptPart::Thought(text) => Some(line("thought", tagged(text, tags))),
        PromptPart::Call { name, arguments } => {
            Some(line("call", format!("{name} {}", values(arguments))))
        }
        PromptPart::Result(text) => Some(line("result", tagged(text, tags))),
    });
    lines.collect()
}

/// Replaces known parts and `<name>` blocks by tags, and shortens the rest.
fn tagged(text: &str, tags: &[(String, String)]) -> String {
    let tag_text = tags.iter().filter(|(_, tag_text)| !tag_text.is_empty());
    let matches = tag_text
        .filter_map(|(name, tag_text)| Some((text.find(tag_text.trim())?, name, tag_text.trim())));
    if let Some((start, name, tag_text)) =
        matches.min_by_key(|(start, _, tag_text)| (*start, usize::MAX - tag_text.len()))
    {
        let tail = &text[start + tag_text.len()..];
        return joined([blocks(&text[..start]), format!("<{name}>"), tagged(tail, tags)]);
    }
    blocks(text)
}

fn blocks(text: &str) -> String {
    let Some((start, name, inside, end)) = first_block(text) else {
        return short(text);
    };
    let block = format!("<{name}: {}>", extent(inside));
    joined([short(&text[..start]), block, blocks(&text[end..])])
}

/// The first `<name>…</name>` that begins a line: its start, its name, what is inside, its end.
fn first_block(text: &str) -> Option<(usize, &str, &str, usize)> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if let Some(name) = opened(line)
            && let Some(open) = text[start..].find('>')
            && let Some(length) = text[start + open + 1..].find(&format!("</{name}>"))
        {
            let inside = start + open + 1;
            let end = inside + length + "</>".len() + name.len();
            return Some((start, name, text[inside..inside + length].trim(), end));
        }
        start += line.len();
    }
    None
}

/// The name of the block that a line opens.
fn opened(line: &str) -> Option<&str> {
    let (name, _) = line.strip_prefix('<')?.split_once(['>', ' '])?;
    let is_name_character =
        |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
    (!name.is_empty() && name.chars().all(is_name_character)).then_some(name)
}

fn joined<const N: usize>(pieces: [String; N]) -> String {
    let pieces: Vec<String> = pieces.into_iter().filter(|piece| !piece.is_empty()).collect();
    pieces.join(" ")
}

fn short(text: &str) -> String {
    let text = text.trim();
    if text.lines().count() <= 1 && text.chars().count() <= WIDTH {
        return text.to_owned();
    }
    extent(text)
}

fn extent(text: &str) -> String {
    match text.lines().count() {
        0 | 1 => format!("{} bytes", text.len()),
        lines => format!("{lines} lines"),
    }
}

/// The arguments of a call: a single text as it is, otherwise JSON. Long ones are shortened.
fn values(arguments: &str) -> String {
    let Ok(json) = serde_json::from_str::<Value>(arguments) else {
        return format!("malformed: {}", short(arguments));
    };
    let only = json.as_object().filter(|fields| fields.len() == 1);
    match only.and_then(|fields| fields.values().next()) {
        Some(Value::String(text)) => short(text),
        Some(_) | None => {
            let text = sorted(&json);
            let shortened: String = text.chars().take(WIDTH).collect();
            if shortened.len() < text.len() { format!("{shortened}…") } else { text }
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::super::request::Wire;
    use super::super::tests::asked;
    use super::*;

    fn request(caller: &str, messages: &[Value]) -> Arc<FakeRequest> {
        let mut asked =
            asked(Wire::Chat, json!({ "messages": messages, "tools": [{ "name": "t" }] }));
        caller.clone_into(&mut asked.caller);
        Arc::new(asked)
    }

    #[test]
    fn continued_conversation_is_shown_once_with_tags() {
        let call =
            json!({ "function": { "name": "read_file", "arguments": "{\"path\":\"a.rs\"}" } });
        let two =
            json!({ "function": { "name": "search", "arguments": "{\"b\":1,\"a\":[\"x\"]}" } });
        let bad = json!({ "function": { "name": "submit", "arguments": "{\"b" } });
        let talk = [
            json!({ "role": "system", "content": "You are a reviewer.\nBe kind.\n" }),
            json!({ "role": "user", "content": "Look:\n<diff kind=\"x\">\n+a\n-b\n</diff>\nthe brief" }),
            json!({
                "role": "assistant",
                "reasoning_content": "hm",
                "content": "I look",
                "tool_calls": [call, two, bad],
            }),
            json!({ "role": "tool", "content": "1 a\n2 b\n3 c" }),
            json!({ "role": "tool", "content": "nothing found" }),
        ];
        let other = [json!({ "role": "user", "content": "x".repeat(90) })];
        let requests = [
            request("security", &other),
            request("correctness", &talk[..2]),
            request("correctness", &talk[..2]),
            request("correctness", &talk),
            request("correctness", &other),
        ];
        let tags = [
            ("prompt".to_owned(), "You are a reviewer.\nBe kind.\n".to_owned()),
            ("brief".to_owned(), "the brief".to_owned()),
        ];
        expect![[r#"
            correctness
              0 system   <prompt>
              1 user     Look: <diff: 2 lines> <brief>
              2 thought  hm
              3 said     I look
              4 call     read_file a.rs
              5 call     search {"a":["x"],"b":1}
              6 call     submit malformed: {"b
              7 result   3 lines
              8 result   nothing found
            correctness
              0 user     90 bytes
            security
              0 user     90 bytes
        "#]]
        .assert_eq(&render(&requests, &tags));
    }
}
