//! Conversations with a model, in a vendor-neutral form.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A system prompt and messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    /// System prompt. It never contains text from the reviewed change.
    pub system: String,
    /// Messages, oldest first.
    pub messages: Vec<Message>,
}

/// A message. All vendors accept consecutive user messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// Text from crh.
    User(UserText),
    /// Reply of the model.
    Assistant(Turn),
    /// Results of all tool calls of the previous turn.
    Results(Vec<ToolResult>),
}

/// User text, optionally with a cache breakpoint after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserText {
    /// The text.
    pub text: String,
    /// Whether a cache breakpoint follows.
    pub cache: CacheMark,
}

/// Whether crh asks the vendor to cache the conversation up to a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheMark {
    /// crh does not ask for caching.
    Unmarked,
    /// A cache breakpoint: the vendor caches the conversation up to this message, because other
    /// requests start with the same messages.
    Breakpoint,
}

/// One reply of a model, with its parts in the order in which they must be sent back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Parts of the reply.
    pub parts: Vec<TurnPart>,
}

/// A part of a reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnPart {
    /// Text.
    Text(String),
    /// Thoughts, sent back unchanged if the API requires it.
    Thinking(Thinking),
    /// A tool call.
    Call(ToolCall),
}

/// Thoughts of a model. crh does not interpret them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Thinking {
    /// Thoughts with separate text and signature.
    #[serde(rename = "said")]
    Readable {
        /// Readable thoughts. Some vendors send only the signature.
        text: Option<String>,
        /// The vendor's signature or encrypted thoughts. Vendors that send it want it back.
        signature: Option<String>,
    },
    /// A block as JSON. A vendor's block (`redacted_thinking`, `reasoning_details`) is sent back
    /// unchanged. A block with the type `reasoning` is crh's own: its plain text is only for
    /// transcripts.
    Sealed(Value),
}

/// A tool call by the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Id that links the result to the call.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments of the call.
    pub arguments: CallArguments,
    /// Signatures of this call, sent back with it (Gemini).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signatures: Vec<String>,
}

/// Arguments of a call. Invalid JSON is kept as text, so that crh can show it to the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallArguments {
    /// JSON, not yet validated by the tool.
    Json(Value),
    /// Text that is not valid JSON, possibly truncated.
    Malformed(String),
}

/// Result of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// Id of the call.
    pub call_id: String,
    /// Name of the tool.
    pub name: String,
    /// Output of the tool, or an error message.
    pub text: String,
}

impl Conversation {
    /// A conversation with only a system prompt.
    pub fn new(system: impl Into<String>) -> Self {
        Self { system: system.into(), messages: Vec::new() }
    }

    /// Appends a user message.
    pub fn push_user(&mut self, text: impl Into<String>, cache: CacheMark) {
        self.messages.push(Message::User(UserText { text: text.into(), cache }));
    }
}

impl Turn {
    /// A turn that is only text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { parts: vec![TurnPart::Text(text.into())] }
    }

    /// Concatenated texts of the turn.
    pub fn full_text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            TurnPart::Text(text) => Some(text.as_str()),
            TurnPart::Thinking(_) | TurnPart::Call(_) => None,
        });
        texts.collect()
    }

    /// Tool calls of the turn, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            TurnPart::Call(call) => Some(call),
            TurnPart::Text(_) | TurnPart::Thinking(_) => None,
        })
    }
}
