//! A request taken apart into pieces. Two requests are the same question if all their pieces are.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Request;
use crate::cassette::piece::{Naming, PieceId};

/// A question by its parts, either their names or what is in them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Parts<T> {
    pub(super) system: T,
    pub(super) tools: T,
    /// Everything that is neither said nor a tool.
    pub(super) settings: T,
    pub(super) messages: Vec<T>,
}

/// The names of a question's pieces.
pub(super) type Question = Parts<PieceId>;

impl<T> Parts<T> {
    pub(super) fn map<U>(&self, mut part: impl FnMut(&T) -> U) -> Parts<U> {
        Parts {
            system: part(&self.system),
            tools: part(&self.tools),
            settings: part(&self.settings),
            messages: self.messages.iter().map(part).collect(),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        [&self.system, &self.tools, &self.settings].into_iter().chain(&self.messages)
    }
}

impl Parts<Value> {
    /// The parts of a request, not redacted yet.
    pub(super) fn of(request: &Request) -> Result<Self, serde_json::Error> {
        // Naming all fields makes a new one stop the build here.
        let Request {
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

    pub(super) fn named(&self, naming: &Naming) -> Question {
        self.map(|value| naming.name(value))
    }
}
