//! What is said to a model and what it said, in words that belong to no vendor.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A conversation from its rules to its last message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    /// The rules. Text from a change never stands here.
    pub system: String,
    /// Everything after the rules, oldest first.
    pub messages: Vec<Message>,
}

/// One message. Several user messages in a row are fine with every vendor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// What we say.
    User(UserText),
    /// What the model said.
    Assistant(Turn),
    /// What the tools answered to the calls of the turn before, all of them in one message.
    Results(Vec<ToolResult>),
}

/// Text of ours, and whether a vendor should remember everything up to here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserText {
    /// The text.
    pub text: String,
    /// Whether the shared beginning ends here.
    pub cache: Cache,
}

/// Whether everything up to and including a message is worth remembering at the vendor's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cache {
    /// Nothing is marked here.
    Unmarked,
    /// A cache breakpoint: other calls begin with the same bytes up to here.
    Breakpoint,
}

/// One answer of a model, its parts in the order in which they have to be sent back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// The parts.
    pub parts: Vec<Part>,
}

/// A part of what a model said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Text for us.
    Text(String),
    /// Thoughts, to be handed back unread where the API demands it.
    Thinking(Thinking),
    /// A tool that the model wants called.
    Call(ToolCall),
}

/// Thoughts of a model. Only the vendor who made them can read what they carry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Thinking {
    /// Thoughts in words, with the vendor's signature where there is one.
    Said {
        /// The words; some vendors send the signature alone.
        text: Option<String>,
        /// The signature, without which the vendor refuses the words.
        signature: Option<String>,
    },
    /// A block that only its vendor understands (`redacted_thinking`, `encrypted_content`).
    Sealed(Value),
}

/// A tool call as the model made it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Ties the result to the call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// What it is called with.
    pub arguments: Arguments,
    /// Signatures that belong to this call and go back with it (Gemini).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signatures: Vec<String>,
}

/// The arguments of a call. What is no JSON is kept as it came, so that the model can be told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arguments {
    /// JSON of any shape: whether it fits the tool is the tool's to say.
    Json(Value),
    /// Text that is not JSON: cut off, or never was.
    Malformed(String),
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call that this answers.
    pub call_id: String,
    /// The tool.
    pub name: String,
    /// The answer, or the sentence that says why there is none.
    pub text: String,
}

impl Conversation {
    /// A conversation that begins with its rules.
    pub fn new(system: impl Into<String>) -> Self {
        Self { system: system.into(), messages: Vec::new() }
    }

    /// Adds a message of ours.
    pub fn say(&mut self, text: impl Into<String>, cache: Cache) {
        self.messages.push(Message::User(UserText { text: text.into(), cache }));
    }
}

impl Turn {
    /// A turn of text alone.
    pub fn text(text: impl Into<String>) -> Self {
        Self { parts: vec![Part::Text(text.into())] }
    }

    /// The texts of the turn, one after the other.
    pub fn said(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Thinking(_) | Part::Call(_) => None,
        });
        texts.collect()
    }

    /// The calls of the turn, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            Part::Text(_) | Part::Thinking(_) => None,
        })
    }
}
