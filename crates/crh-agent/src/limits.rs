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
    /// The server certainly cut the prompt of at least `sent` tokens, so the run fails.
    Cut { sent: u64 },
    /// The server may have cut the prompt, so the review is incomplete.
    Doubtful(DoubtfulCount),
}

/// A server's count of prompt tokens that shows that it may have cut the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DoubtfulCount {
    /// Tokens that the server read, by its own count.
    pub read: u64,
    /// Why the count is doubtful.
    pub doubt: CountDoubt,
}

/// Why a count of prompt tokens is doubtful.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountDoubt {
    /// The request has at least this many tokens.
    TooLow { sent: u64 },
    /// The count is that of the request before, which was shorter.
    Unchanged,
    /// The count is a usual context length, and requests of this size have more tokens.
    ContextLength,
}

impl fmt::Display for DoubtfulCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { read, doubt } = self;
        write!(f, "the server counted {read} prompt tokens, ")?;
        match doubt {
            CountDoubt::TooLow { sent } => write!(
                f,
                "and crh sent at least {sent}: the server may have cut the prompt, or does not \
                 count cached tokens"
            ),
            CountDoubt::Unchanged => f.write_str(
                "as for the shorter request before: the server has probably cut both to its \
                 context length",
            ),
            CountDoubt::ContextLength => f.write_str(
                "which is a usual context length, and crh probably sent more: the server may \
                 have cut the prompt",
            ),
        }?;
        f.write_str("; its log or `ollama ps` shows its context length")
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
