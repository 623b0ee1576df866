//! Replies of a model: the turn, the stop cause and the token usage.

use serde::{Deserialize, Serialize};

use crate::Turn;

/// A complete reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelReply {
    /// Content of the reply.
    pub turn: Turn,
    /// Why the model stopped.
    pub stop: StopCause,
    /// Token usage; `None` if missing or implausible.
    pub usage: Option<TokenUsage>,
    /// Model that wrote the reply, if the vendor reports it. For aliases and routers, it differs
    /// from the requested model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<String>,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopCause {
    /// The reply is complete.
    Done,
    /// The model waits for tool results.
    Calls,
    /// The output limit was reached, so the last part may be incomplete.
    Length,
    /// A vendor-specific reason.
    Other(String),
}

/// Token usage as reported by the vendor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUsage {
    /// All input tokens, cached or not.
    pub input: u64,
    /// Input tokens read from the prompt cache.
    pub cache_read: u64,
    /// Input tokens written to the prompt cache.
    pub cache_written: u64,
    /// All output tokens, including thoughts.
    pub output: u64,
}

/// Progress of a streaming reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyProgress<'a> {
    /// The vendor started to reply, so the prompt is read and cached.
    Started,
    /// More text.
    Text(&'a str),
    /// More thoughts.
    Thought(&'a str),
}
