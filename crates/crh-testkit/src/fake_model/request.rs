//! One request to the fake model, parsed into what a model reads.

use serde_json::Value;

use super::json::sorted;

/// A wire format, selected by the request path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wire {
    /// OpenAI's Chat Completions and everything compatible: `…/chat/completions`.
    Chat,
    /// OpenAI's Responses: `…/responses`.
    Responses,
    /// Anthropic's Messages: `…/messages`.
    Messages,
    /// Google's Gemini: `…/models/NAME:streamGenerateContent?alt=sse`.
    Gemini,
}

/// One request to the fake model.
#[derive(Debug, Clone, PartialEq)]
pub struct FakeRequest {
    /// Comment in `User-Agent`: `correctness` for `crh/0.1.0 (correctness)`; empty without a
    /// comment.
    pub caller: String,
    /// Number of this request of the caller, from 1.
    pub number: usize,
    /// The format.
    pub wire: Wire,
    /// The model that is asked for.
    pub model: String,
    /// The path with the query.
    pub path: String,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Value,
}

/// A part of the prompt, in reading order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PromptPart {
    /// A tool declaration as JSON.
    Tool(String),
    /// System prompt.
    System(String),
    /// User message.
    User(String),
    /// Model message.
    Assistant(String),
    /// Reasoning text, or its signature.
    Thought(String),
    /// Tool call.
    Call {
        /// The tool.
        name: String,
        /// Its arguments as JSON text.
        arguments: String,
    },
    /// Tool result.
    Result(String),
}

/// A part of the prompt, and whether the request sets a cache mark at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PromptBlock {
    pub(super) part: PromptPart,
    pub(super) mark: PromptMark,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PromptMark {
    None,
    Breakpoint,
}

impl Wire {
    /// Format of a path, and the model if the path names it.
    pub(super) fn from_path(path: &str) -> Option<(Self, Option<&str>)> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        if path.ends_with("/chat/completions") {
            return Some((Self::Chat, None));
        }
        if path.ends_with("/responses") {
            return Some((Self::Responses, None));
        }
        if path.ends_with("/messages") {
            return Some((Self::Messages, None));
        }
        let (_, method) = path.rsplit_once("/models/")?;
        let model = method.strip_suffix(":streamGenerateContent")?;
        // Without `alt=sse` the answer is one JSON array, which crh does not read.
        query.split('&').any(|field| field == "alt=sse").then_some((Self::Gemini, Some(model)))
    }
}

impl FakeRequest {
    /// The first header of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let header = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        header.map(|(_, value)| value.as_str())
    }

    /// What the model reads: tools, system prompt, then the messages.
    pub fn prompt_parts(&self) -> Vec<PromptPart> {
        self.blocks().into_iter().map(|block| block.part).collect()
    }

    /// Whether the client wants a stream. Gemini says so in the path.
    pub(super) fn wants_stream(&self) -> bool {
        self.wire == Wire::Gemini || self.body["stream"] == true
    }

    /// The API key, wherever the format puts it.
    pub(super) fn key(&self) -> &str {
        let bearer = self
            .header("authorization")
            .map(|value| value.strip_prefix("Bearer ").unwrap_or(value));
        let header = self.header("x-api-key").or_else(|| self.header("x-goog-api-key"));
        let query = self.path.split(['?', '&']).find_map(|field| field.strip_prefix("key="));
        bearer.or(header).or(query).unwrap_or("")
    }

    pub(super) fn blocks(&self) -> Vec<PromptBlock> {
        let mut blocks = Vec::new();
        match self.wire {
            Wire::Chat => read_chat(&self.body, &mut blocks),
            Wire::Responses => read_responses(&self.body, &mut blocks),
            Wire::Messages => read_messages(&self.body, &mut blocks),
            Wire::Gemini => read_gemini(&self.body, &mut blocks),
        }
        blocks
    }
}

impl PromptPart {
    /// How many bytes a model reads here.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Tool(text)
            | Self::System(text)
            | Self::User(text)
            | Self::Assistant(text)
            | Self::Thought(text)
            | Self::Result(text) => text.len(),
            Self::Call { name, arguments } => name.len() + arguments.len(),
        }
    }
}

fn read_chat(body: &Value, blocks: &mut Vec<PromptBlock>) {
    read_tools(&body["tools"], blocks);
    for message in items(&body["messages"]) {
        let content = &message["content"];
        match text(&message["role"]).as_str() {
            "system" | "developer" => read_content(content, PromptPart::System, blocks),
            "tool" => read_content(content, PromptPart::Result, blocks),
            "assistant" => {
                read_text(&message["reasoning_content"], PromptPart::Thought, blocks);
                read_content(content, PromptPart::Assistant, blocks);
                for call in items(&message["tool_calls"]) {
                    read_call(&call["function"]["name"], &call["function"]["arguments"], blocks);
                }
            }
            _ => read_content(content, PromptPart::User, blocks),
        }
    }
}

fn read_responses(body: &Value, blocks: &mut Vec<PromptBlock>) {
    read_tools(&body["tools"], blocks);
    read_text(&body["instructions"], PromptPart::System, blocks);
    read_text(&body["input"], PromptPart::User, blocks);
    for item in items(&body["input"]) {
        match (text(&item["type"]).as_str(), text(&item["role"]).as_str()) {
            ("function_call", _) => read_call(&item["name"], &item["arguments"], blocks),
            ("function_call_output", _) => {
                read_content(&item["output"], PromptPart::Result, blocks);
            }
            ("reasoning", _) => read_text(&item["encrypted_content"], PromptPart::Thought, blocks),
            (_, "system" | "developer") => {
                read_content(&item["content"], PromptPart::System, blocks);
            }
            (_, "assistant") => read_content(&item["content"], PromptPart::Assistant, blocks),
            _ => read_content(&item["content"], PromptPart::User, blocks),
        }
    }
}

fn read_messages(body: &Value, blocks: &mut Vec<PromptBlock>) {
    read_tools(&body["tools"], blocks);
    read_content(&body["system"], PromptPart::System, blocks);
    for message in items(&body["messages"]) {
        let to_part =
            if message["role"] == "assistant" { PromptPart::Assistant } else { PromptPart::User };
        read_text(&message["content"], to_part, blocks);
        for block in items(&message["content"]) {
            let count = blocks.len();
            match text(&block["type"]).as_str() {
                "thinking" => read_text(&block["thinking"], PromptPart::Thought, blocks),
                "redacted_thinking" => read_text(&block["data"], PromptPart::Thought, blocks),
                "tool_use" => read_call(&block["name"], &block["input"], blocks),
                "tool_result" => read_content(&block["content"], PromptPart::Result, blocks),
                _ => read_text(&block["text"], to_part, blocks),
            }
            if blocks.len() > count {
                mark_last(block, blocks);
            }
        }
    }
}

fn read_gemini(body: &Value, blocks: &mut Vec<PromptBlock>) {
    for tool in items(&body["tools"]) {
        read_tools(&tool["functionDeclarations"], blocks);
    }
    read_content(&body["systemInstruction"]["parts"], PromptPart::System, blocks);
    for content in items(&body["contents"]) {
        for part in items(&content["parts"]) {
            let call = &part["functionCall"];
            let result = &part["functionResponse"];
            if call.is_object() {
                read_call(&call["name"], &call["args"], blocks);
            } else if result.is_object() {
                let answer = &result["response"];
                let answer =
                    answer.get("content").or_else(|| answer.get("result")).unwrap_or(answer);
                blocks.push(unmarked(PromptPart::Result(json_text(answer))));
            } else if part["thought"] == true {
                read_text(&part["text"], PromptPart::Thought, blocks);
            } else if part["text"].is_null() {
                read_text(&part["thoughtSignature"], PromptPart::Thought, blocks);
            } else if content["role"] == "model" {
                read_text(&part["text"], PromptPart::Assistant, blocks);
            } else {
                read_text(&part["text"], PromptPart::User, blocks);
            }
        }
    }
}

fn read_tools(tools: &Value, blocks: &mut Vec<PromptBlock>) {
    for tool in items(tools) {
        blocks.push(unmarked(PromptPart::Tool(sorted(tool))));
        mark_last(tool, blocks);
    }
}

fn read_call(name: &Value, arguments: &Value, blocks: &mut Vec<PromptBlock>) {
    blocks.push(unmarked(PromptPart::Call { name: text(name), arguments: json_text(arguments) }));
}

/// Reads plain text, or parts with text.
fn read_content(content: &Value, to_part: fn(String) -> PromptPart, blocks: &mut Vec<PromptBlock>) {
    read_text(content, to_part, blocks);
    for part in items(content) {
        read_text(&part["text"], to_part, blocks);
        mark_last(part, blocks);
    }
}

fn read_text(value: &Value, to_part: fn(String) -> PromptPart, blocks: &mut Vec<PromptBlock>) {
    match value {
        Value::String(text) if !text.is_empty() => blocks.push(unmarked(to_part(text.clone()))),
        _ => {}
    }
}

fn mark_last(part: &Value, blocks: &mut [PromptBlock]) {
    if let Some(last) = blocks.last_mut()
        && part["cache_control"].is_object()
    {
        last.mark = PromptMark::Breakpoint;
    }
}

fn unmarked(part: PromptPart) -> PromptBlock {
    PromptBlock { part, mark: PromptMark::None }
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Arguments and results are JSON in some formats and text with JSON in it in others.
fn json_text(value: &Value) -> String {
    value.as_str().map_or_else(|| sorted(value), str::to_owned)
}
