//! Result of a posting by item, for all forges.

mod mask_report;

use std::fmt;

pub(crate) use mask_report::mask_report;
use serde::Serialize;

/// Prefix of the reason for issues without an inline comment.
const IN_SUMMARY: &str = "only in the summary";

/// Result of a posting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PostingOutcome<Refusal> {
    /// Why nothing was posted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// Result of each item, in the order of the report.
    pub receipts: Vec<PostingReceipt>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Address of the summary, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// Result of one item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PostingReceipt {
    /// The item.
    pub item: PostedItem,
    /// Its result.
    pub delivery: ItemDelivery,
}

/// A part of a posting.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PostedItem {
    /// An issue.
    Issue {
        /// Its number in the report.
        number: u32,
        /// Key, stable across runs.
        key: String,
    },
    /// The vote.
    Vote {
        /// The forge's name for the vote.
        event: String,
    },
    /// A pending review of an interrupted posting.
    Draft {
        /// Review id.
        id: u64,
    },
    /// The summary comment.
    Summary,
    /// An own thread whose issue is gone.
    Thread {
        /// GraphQL id of the thread.
        node_id: String,
    },
    /// The check run at the head.
    CheckRun,
    /// Code scanning alerts.
    CodeScanning,
}

/// Result of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemDelivery {
    /// Newly posted.
    Posted,
    /// Changed.
    Updated,
    /// Nothing to do, with the reason.
    Skipped(String),
    /// Not posted, with the reason.
    Failed(String),
}

/// Why an item needs no write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PostingSkip {
    /// It is already posted.
    AlreadyPosted,
    /// A maintainer dismissed it.
    Dismissed {
        /// Login of the maintainer.
        by: String,
    },
    /// It is only in the summary.
    InSummary {
        /// Reason.
        why: String,
    },
    /// Not permitted, or not possible.
    NotPossible {
        /// Reason.
        why: String,
    },
}

impl fmt::Display for PostingSkip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlreadyPosted => write!(f, "already posted"),
            Self::Dismissed { by } => write!(f, "dismissed by {by}"),
            Self::InSummary { why } => write!(f, "{IN_SUMMARY}: {why}"),
            Self::NotPossible { why } => write!(f, "{why}"),
        }
    }
}

impl ItemDelivery {
    /// Whether an issue is only in the summary.
    pub fn is_in_summary(&self) -> bool {
        match self {
            Self::Skipped(why) => why.starts_with(IN_SUMMARY),
            Self::Posted | Self::Updated | Self::Failed(_) => false,
        }
    }
}

impl<Refusal> Default for PostingOutcome<Refusal> {
    /// Nothing to post.
    fn default() -> Self {
        Self { refusal: None, receipts: Vec::new(), notes: Vec::new(), url: None }
    }
}

impl<Refusal> PostingOutcome<Refusal> {
    /// Whether everything was posted.
    pub fn is_complete(&self) -> bool {
        let failed = |receipt: &PostingReceipt| matches!(receipt.delivery, ItemDelivery::Failed(_));
        self.refusal.is_none() && !self.receipts.iter().any(failed)
    }
}
