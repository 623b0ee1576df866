//! Requests to a model: conversation, tools and output form.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Conversation;

/// A request to a model. Cassettes treat equal requests as the same question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelRequest {
    /// The conversation so far.
    pub conversation: Conversation,
    /// Available tools, in an order that is stable during a run.
    pub tools: Vec<ToolSpec>,
    /// Whether the model must call a tool.
    pub tool_choice: ToolChoice,
    /// Form of the reply.
    pub output: OutputForm,
    /// Maximum output tokens, including thoughts. The budget may allow fewer.
    pub max_output_tokens: u32,
    /// Sampling temperature, if the model supports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Reasoning effort; `None` uses the vendor's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
}

/// A tool as the model sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Name of the tool: at most 64 letters, digits, `_` and `-`, as vendors require.
    pub name: String,
    /// Description for the model.
    pub description: String,
    /// JSON Schema of the input object.
    pub schema: Value,
}

/// Whether the model must call a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// Any tool.
    Required,
    /// This tool.
    Named(String),
}

/// Form of a reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputForm {
    /// Any text.
    Text,
    /// JSON that the vendor validates against a schema.
    Schema {
        /// Schema name, required by some vendors: letters, digits, `_` and `-`.
        name: String,
        /// The JSON Schema.
        schema: Value,
    },
}

/// Reasoning effort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// Low.
    Low,
    /// Medium.
    Medium,
    /// High.
    High,
}

/// Output tokens of a usual answer without reasoning: about ten findings with quotes. In recorded
/// reviews the largest answer has 1,165 tokens.
const USUAL_ANSWER: u32 = 3_000;

/// Output tokens of a usual reply, with reasoning. With fewer, a reply is likely to be cut off.
pub fn usual_output(max_output_tokens: u32, effort: Option<Effort>) -> u32 {
    let reasoning = effort.map_or(0, Effort::usual_reasoning);
    max_output_tokens.min(USUAL_ANSWER + reasoning)
}

impl Effort {
    /// Output tokens to allow for reasoning, in addition to the answer.
    pub fn reasoning_room(self) -> u32 {
        match self {
            Self::Low => 8_000,
            Self::Medium => 16_000,
            Self::High => 32_000,
        }
    }

    /// Output tokens of usual reasoning before one answer.
    fn usual_reasoning(self) -> u32 {
        match self {
            Self::Low => 1_000,
            Self::Medium => 3_000,
            Self::High => 6_000,
        }
    }
}

impl ModelRequest {
    /// Output tokens of a usual reply.
    pub fn usual_output(&self) -> u32 {
        usual_output(self.max_output_tokens, self.effort)
    }

    /// A text request without tools.
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
