//! What became of a posting, item by item.

use serde::Serialize;

use super::Refusal;
use super::plan::IN_SUMMARY;

/// What became of a posting.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Outcome {
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
        /// GitHub's word for it.
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

impl Delivery {
    /// Whether an issue stands in the summary and has no comment of its own.
    pub fn is_in_summary(&self) -> bool {
        match self {
            Self::Skipped(why) => why.starts_with(IN_SUMMARY),
            Self::Posted | Self::Updated | Self::Failed(_) => false,
        }
    }
}

impl Outcome {
    /// Whether everything that was to be posted is there.
    pub fn is_complete(&self) -> bool {
        let failed = |receipt: &Receipt| matches!(receipt.delivery, Delivery::Failed(_));
        self.refusal.is_none() && !self.receipts.iter().any(failed)
    }
}
