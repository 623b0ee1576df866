//! A request split into pieces. Two requests are equal if all their pieces are equal.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::ModelRequest;
use crate::cassette::piece::{PieceHasher, PieceId};

/// Parts of a question, either as values or as piece ids.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct QuestionParts<T> {
    pub(super) system: T,
    pub(super) tools: T,
    /// All other fields of the request.
    pub(super) settings: T,
    pub(super) messages: Vec<T>,
}

/// Identifies a question by its piece ids.
pub(super) type QuestionKey = QuestionParts<PieceId>;

impl<T> QuestionParts<T> {
    pub(super) fn map<U>(&self, mut convert: impl FnMut(&T) -> U) -> QuestionParts<U> {
        QuestionParts {
            system: convert(&self.system),
            tools: convert(&self.tools),
            settings: convert(&self.settings),
            messages: self.messages.iter().map(convert).collect(),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        [&self.system, &self.tools, &self.settings].into_iter().chain(&self.messages)
    }
}

impl QuestionParts<Value> {
    /// Parts of a request, not yet redacted.
    pub(super) fn from_request(request: &ModelRequest) -> Result<Self, serde_json::Error> {
        // Destructure all fields, so that a new field fails to compile here.
        let ModelRequest {
            conversation,
            tools,
            tool_choice,
            output,
            max_output_tokens,
            temperature,
            effort,
        } = request;
        Ok(Self {
            system: Value::from(conversation.system.as_str()),
            tools: serde_json::to_value(tools)?,
            settings: json!({
                "tool_choice": tool_choice,
                "output": output,
                "max_output_tokens": max_output_tokens,
                "temperature": temperature,
                "effort": effort,
            }),
            messages: conversation
                .messages
                .iter()
                .map(serde_json::to_value)
                .collect::<Result<_, _>>()?,
        })
    }

    pub(super) fn to_key(&self, hasher: &PieceHasher) -> QuestionKey {
        self.map(|value| hasher.piece_id(value))
    }
}
