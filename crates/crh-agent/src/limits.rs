//! How far one run may go. Nothing here has a default: whoever starts a run says what it may cost.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crh_llm::Money;

/// The limits of one run, besides those of the ledger that it shares with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Times that the model is asked, the grace turn included.
    pub turns: u32,
    /// Tools that are called.
    pub tool_calls: u32,
    /// Tokens that are read and written, over all turns.
    pub tokens: u64,
    /// What all turns cost together.
    pub money: Money,
    /// From the first step to the last.
    pub wall: Duration,
}

/// A limit by its name, for the report and the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Calls of a model.
    Turns,
    /// Calls of tools.
    ToolCalls,
    /// Tokens.
    Tokens,
    /// Money.
    Money,
    /// Time.
    Wall,
}

/// What a call of a model is for: a share of the budget is held back for what must not be lacking at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The work itself; it leaves the held-back share alone.
    Work,
    /// The one turn in which a run answers with what it has.
    Grace,
    /// Checking what others found.
    Validation,
}

impl fmt::Display for Limit {
    /// What is limited, as it stands in a sentence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Turns => "calls of the model",
            Self::ToolCalls => "calls of tools",
            Self::Tokens => "tokens",
            Self::Money => "money",
            Self::Wall => "time",
        })
    }
}
