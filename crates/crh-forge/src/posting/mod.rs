//! Result of a posting, item by item, for all forges.

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
    /// Result of the item.
    pub delivery: ItemDelivery,
}

/// A part of a posting.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PostedItem {
    /// An issue.
    Issue {
        /// Number of the issue in the report.
        number: u32,
        /// Key of the issue, stable across runs.
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
    /// An own comment thread whose issue is gone.
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
    /// No write was needed, with the reason.
    Skipped(String),
    /// Not posted, with the reason.
    Failed(String),
}

/// Why an item needs no write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PostingSkip {
    /// The item is already posted.
    AlreadyPosted,
    /// A maintainer dismissed the issue.
    Dismissed {
        /// Login of the maintainer.
        by: String,
    },
    /// The issue is only in the summary.
    InSummary {
        /// Reason.
        why: String,
    },
    /// A write is not permitted, or not possible.
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
    /// Whether this is the delivery of an issue that is only in the summary.
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
        let has_failed =
            |receipt: &PostingReceipt| matches!(receipt.delivery, ItemDelivery::Failed(_));
        self.refusal.is_none() && !self.receipts.iter().any(has_failed)
    }
}
