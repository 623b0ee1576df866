//! Limits of one run. There are no defaults: the caller sets every limit.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crh_llm::Money;

/// Limits of one run, in addition to the limits of the shared ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// Model requests, including the last one, in which the run must answer.
    pub turns: u32,
    /// Tool calls.
    pub tool_calls: u32,
    /// Input and output tokens over all turns.
    pub tokens: u64,
    /// Cost of all turns.
    pub money: Money,
    /// Duration of the run.
    pub wall: Duration,
}

/// Kind of a limit, for reports and for the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// Model calls.
    Turns,
    /// Tool calls.
    ToolCalls,
    /// Tokens.
    Tokens,
    /// Money.
    Money,
    /// Time.
    Wall,
}

/// Why the budget allows no call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetRefusal {
    /// The limit that the call would exceed.
    pub limit: LimitKind,
    /// The amounts, if the limit is money. An outcome has them only if the budget was too small for
    /// the first call of the run.
    pub shortfall: Option<Shortfall>,
}

/// What a call may cost, and what is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shortfall {
    /// Highest possible cost of the call, which the ledger has to reserve.
    pub cost: Money,
    /// Money that is left for the call.
    pub left: Money,
}

/// What to do if the context is too small.
pub(crate) const MORE_CONTEXT: &str =
    "start the model server with a larger context, or use another model";

/// A request that does not fit into the model's context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextShortage {
    /// Likely tokens of the request and a short answer.
    pub needed: u64,
    /// Context window of the model, in tokens.
    pub context: u64,
}

impl fmt::Display for ContextShortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { needed, context } = self;
        write!(
            f,
            "the request needs about {needed} tokens, the model's context has {context}; {MORE_CONTEXT}"
        )
    }
}

/// What a too low count of prompt tokens means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LowCount {
    /// The server certainly cut the prompt, so the run fails.
    Cut(DoubtfulCount),
    /// The server may have cut the prompt, so the review is incomplete.
    Doubtful(DoubtfulCount),
}

/// A server's count of prompt tokens that is too low.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DoubtfulCount {
    /// Lower bound of the tokens that crh sent.
    pub sent: u64,
    /// Tokens that the server read, by its own count.
    pub read: u64,
}

impl fmt::Display for DoubtfulCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sent, read } = self;
        write!(
            f,
            "the server counted {read} prompt tokens, and crh sent at least {sent}: the server may \
             have cut the prompt, or does not count cached tokens; its log or `ollama ps` shows its \
             context length"
        )
    }
}

impl From<LimitKind> for BudgetRefusal {
    fn from(limit: LimitKind) -> Self {
        Self { limit, shortfall: None }
    }
}

/// Purpose of a model call. A share of the budget is held back for `LastTurn` and `Validation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallPurpose {
    /// Normal work, which cannot use the held-back share.
    Work,
    /// The last turn, in which a run answers with what it has.
    #[serde(rename = "grace")]
    LastTurn,
    /// Validation of findings.
    Validation,
}

impl fmt::Display for LimitKind {
    /// Name of the limit within a sentence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Turns => "model calls",
            Self::ToolCalls => "tool calls",
            Self::Tokens => "tokens",
            Self::Money => "money",
            Self::Wall => "time",
        })
    }
}
