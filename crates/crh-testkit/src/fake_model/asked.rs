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
pub struct Asked {
    /// The comment in `User-Agent`: `correctness` for `crh/0.1.0 (correctness)`; empty without one.
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
pub enum Read {
    /// A tool declaration as JSON.
    Tool(String),
    /// System prompt.
    System(String),
    /// User message.
    User(String),
    /// Model message.
    Said(String),
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
pub(super) struct Block {
    pub(super) read: Read,
    pub(super) mark: Mark,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    None,
    Breakpoint,
}

impl Wire {
    /// Format of a path, and the model if the path names it.
    pub(super) fn of(path: &str) -> Option<(Self, Option<&str>)> {
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

impl Asked {
    /// The first header of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// What the model reads: tools, rules, then the messages.
    pub fn read(&self) -> Vec<Read> {
        self.blocks().into_iter().map(|block| block.read).collect()
    }

    /// Whether the client wants a stream. Gemini says so in the path.
    pub(super) fn streams(&self) -> bool {
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

    pub(super) fn blocks(&self) -> Vec<Block> {
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

impl Read {
    /// How many bytes a model reads here.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Tool(text)
            | Self::System(text)
            | Self::User(text)
            | Self::Said(text)
            | Self::Thought(text)
            | Self::Result(text) => text.len(),
            Self::Call { name, arguments } => name.len() + arguments.len(),
        }
    }
}

fn read_chat(body: &Value, blocks: &mut Vec<Block>) {
    read_tools(&body["tools"], blocks);
    for message in items(&body["messages"]) {
        let content = &message["content"];
        match text(&message["role"]).as_str() {
            "system" | "developer" => read_content(content, Read::System, blocks),
            "tool" => read_content(content, Read::Result, blocks),
            "assistant" => {
                read_text(&message["reasoning_content"], Read::Thought, blocks);
                read_content(content, Read::Said, blocks);
                for call in items(&message["tool_calls"]) {
                    read_call(&call["function"]["name"], &call["function"]["arguments"], blocks);
                }
            }
            _ => read_content(content, Read::User, blocks),
        }
    }
}

fn read_responses(body: &Value, blocks: &mut Vec<Block>) {
    read_tools(&body["tools"], blocks);
    read_text(&body["instructions"], Read::System, blocks);
    read_text(&body["input"], Read::User, blocks);
    for item in items(&body["input"]) {
        match (text(&item["type"]).as_str(), text(&item["role"]).as_str()) {
            ("function_call", _) => read_call(&item["name"], &item["arguments"], blocks),
            ("function_call_output", _) => read_content(&item["output"], Read::Result, blocks),
            ("reasoning", _) => read_text(&item["encrypted_content"], Read::Thought, blocks),
            (_, "system" | "developer") => read_content(&item["content"], Read::System, blocks),
            (_, "assistant") => read_content(&item["content"], Read::Said, blocks),
            _ => read_content(&item["content"], Read::User, blocks),
        }
    }
}

fn read_messages(body: &Value, blocks: &mut Vec<Block>) {
    read_tools(&body["tools"], blocks);
    read_content(&body["system"], Read::System, blocks);
    for message in items(&body["messages"]) {
        let said = if message["role"] == "assistant" { Read::Said } else { Read::User };
        read_text(&message["content"], said, blocks);
        for block in items(&message["content"]) {
            let before = blocks.len();
            match text(&block["type"]).as_str() {
                "thinking" => read_text(&block["thinking"], Read::Thought, blocks),
                "redacted_thinking" => read_text(&block["data"], Read::Thought, blocks),
                "tool_use" => read_call(&block["name"], &block["input"], blocks),
                "tool_result" => read_content(&block["content"], Read::Result, blocks),
                _ => read_text(&block["text"], said, blocks),
            }
            if blocks.len() > before {
                mark_last(block, blocks);
            }
        }
    }
}

fn read_gemini(body: &Value, blocks: &mut Vec<Block>) {
    for tool in items(&body["tools"]) {
        read_tools(&tool["functionDeclarations"], blocks);
    }
    read_content(&body["systemInstruction"]["parts"], Read::System, blocks);
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
                blocks.push(unmarked(Read::Result(json_text(answer))));
            } else if part["thought"] == true {
                read_text(&part["text"], Read::Thought, blocks);
            } else if part["text"].is_null() {
                read_text(&part["thoughtSignature"], Read::Thought, blocks);
            } else if content["role"] == "model" {
                read_text(&part["text"], Read::Said, blocks);
            } else {
                read_text(&part["text"], Read::User, blocks);
            }
        }
    }
}

fn read_tools(tools: &Value, blocks: &mut Vec<Block>) {
    for tool in items(tools) {
        blocks.push(unmarked(Read::Tool(sorted(tool))));
        mark_last(tool, blocks);
    }
}

fn read_call(name: &Value, arguments: &Value, blocks: &mut Vec<Block>) {
    blocks.push(unmarked(Read::Call { name: text(name), arguments: json_text(arguments) }));
}

/// Reads plain text, or parts with text.
fn read_content(content: &Value, read: fn(String) -> Read, blocks: &mut Vec<Block>) {
    read_text(content, read, blocks);
    for part in items(content) {
        read_text(&part["text"], read, blocks);
        mark_last(part, blocks);
    }
}

fn read_text(value: &Value, read: fn(String) -> Read, blocks: &mut Vec<Block>) {
    match value {
        Value::String(text) if !text.is_empty() => blocks.push(unmarked(read(text.clone()))),
        _ => {}
    }
}

fn mark_last(part: &Value, blocks: &mut [Block]) {
    if let Some(last) = blocks.last_mut()
        && part["cache_control"].is_object()
    {
        last.mark = Mark::Breakpoint;
    }
}

fn unmarked(read: Read) -> Block {
    Block { read, mark: Mark::None }
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
