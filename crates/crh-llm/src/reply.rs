//! What comes back from a model: its turn, why it stopped, and what it cost in tokens.

use serde::{Deserialize, Serialize};

use crate::Turn;

/// A complete answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// What the model said.
    pub turn: Turn,
    /// Why it stopped.
    pub stop: Stop,
    /// What the vendor counted; none if it did not say, or said what cannot be true.
    pub usage: Option<Usage>,
    /// The model as the vendor calls the one that answered: an alias is answered by a dated one, a router chooses. None if
    /// it did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<String>,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// It was done.
    Done,
    /// It waits for the results of its calls.
    Calls,
    /// It was cut off at the most tokens it may write: the last part may be incomplete.
    Length,
    /// Something that only this vendor says.
    Other(String),
}

/// Tokens as the vendor counted them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// All tokens that were read, from the cache or not.
    pub input: u64,
    /// Of these, read from the vendor's cache.
    pub cache_read: u64,
    /// Of these, written to the vendor's cache.
    pub cache_written: u64,
    /// All tokens that were written, thoughts included.
    pub output: u64,
}

/// What is known of an answer while it comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress<'a> {
    /// The vendor has begun to answer: the prompt has been read and, where asked for, remembered.
    Started,
    /// More text.
    Text(&'a str),
    /// More thoughts.
    Thought(&'a str),
}
