//! What became of a posting, item by item: the same at every forge but for the reasons to refuse it as a whole.

#[path = "mask_report.rs"]
mod masked;

use std::fmt;

pub(crate) use masked::masked;
use serde::Serialize;

/// How it is said of an issue that it has no comment of its own.
const IN_SUMMARY: &str = "it is in the summary";

/// What became of a posting that a forge may refuse for reasons of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome<Refusal> {
    /// Why nothing was posted; none if it was not refused as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// What became of each part, in the order of the report.
    pub receipts: Vec<Receipt>,
    /// What the reader should know about the posting itself.
    pub notes: Vec<String>,
    /// Where the summary stands, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// What became of one part of a posting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Receipt {
    /// Which part.
    pub item: Item,
    /// What became of it.
    pub delivery: Delivery,
}

/// A part of a posting.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Item {
    /// An issue.
    Issue {
        /// Its number in the report.
        number: u32,
        /// What names it across runs.
        key: String,
    },
    /// The word that a review carries beside its comments.
    Vote {
        /// The forge's word for it.
        event: String,
    },
    /// A review that an interrupted posting had begun.
    Draft {
        /// Its number.
        id: u64,
    },
    /// The summary comment.
    Summary,
    /// An own conversation whose issue is gone.
    Thread {
        /// GitHub's id for it.
        node_id: String,
    },
    /// The check run at the head.
    CheckRun,
    /// The alerts of code scanning.
    CodeScanning,
}

/// What became of a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// It is there, and was not before.
    Posted,
    /// It was there and says something else now.
    Updated,
    /// Nothing was to be done, and why.
    Skipped(String),
    /// It is not there, and why.
    Failed(String),
}

/// Why nothing is written for a part of a posting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Skip {
    /// It is there.
    Stands,
    /// A person who decides about the repository said no to it.
    Dismissed {
        /// Who.
        by: String,
    },
    /// It is in the summary and has no comment of its own.
    InSummary {
        /// Why.
        why: String,
    },
    /// It would not be right, or cannot be done.
    Not {
        /// Why.
        why: String,
    },
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stands => write!(f, "it stands already"),
            Self::Dismissed { by } => write!(f, "dismissed by {by}"),
            Self::InSummary { why } => write!(f, "{IN_SUMMARY}: {why}"),
            Self::Not { why } => write!(f, "{why}"),
        }
    }
}

impl Delivery {
    /// Whether an issue stands in the summary and has no comment of its own.
    pub fn is_in_summary(&self) -> bool {
        match self {
            Self::Skipped(why) => why.starts_with(IN_SUMMARY),
            Self::Posted | Self::Updated | Self::Failed(_) => false,
        }
    }
}

impl<Refusal> Default for Outcome<Refusal> {
    /// Nothing was to be posted.
    fn default() -> Self {
        Self { refusal: None, receipts: Vec::new(), notes: Vec::new(), url: None }
    }
}

impl<Refusal> Outcome<Refusal> {
    /// Whether everything that was to be posted is there.
    pub fn is_complete(&self) -> bool {
        let failed = |receipt: &Receipt| matches!(receipt.delivery, Delivery::Failed(_));
        self.refusal.is_none() && !self.receipts.iter().any(failed)
    }
}
