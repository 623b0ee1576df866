//! One question to a model: the conversation, the tools it may call, and the form of the answer.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Conversation;

/// Everything that a model is asked in one call. Two equal requests are the same question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// What has been said so far.
    pub conversation: Conversation,
    /// The tools that the model may call, in an order that does not change during a run.
    pub tools: Vec<ToolSpec>,
    /// Whether the model has to call one.
    pub tool_choice: ToolChoice,
    /// The form of the answer.
    pub output: OutputForm,
    /// The most tokens that the model may write, thoughts included. It is what is reserved.
    pub max_output_tokens: u32,
    /// How random the answer is, where the model can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// How long a model that thinks should think; none leaves it to the vendor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
}

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Letters, digits, `_` and `-`; at most 64.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema of its input, an object.
    pub schema: Value,
}

/// Whether a model has to call a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// As it likes.
    Auto,
    /// One, whichever.
    Required,
    /// This one.
    Named(String),
}

/// The form that an answer has to have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputForm {
    /// Any text.
    Text,
    /// JSON of this schema, held to it by the vendor.
    Schema {
        /// A name for the schema, as some vendors ask for one: letters, digits, `_` and `-`.
        name: String,
        /// The JSON Schema.
        schema: Value,
    },
}

/// How long a model should think before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// Briefly.
    Low,
    /// As usual.
    Medium,
    /// At length.
    High,
}

impl Request {
    /// A request for text, without tools.
    pub fn new(conversation: Conversation, max_output_tokens: u32) -> Self {
        Self {
            conversation,
            tools: Vec::new(),
            tool_choice: ToolChoice::Auto,
            output: OutputForm::Text,
            max_output_tokens,
            temperature: None,
            effort: None,
        }
    }
}
