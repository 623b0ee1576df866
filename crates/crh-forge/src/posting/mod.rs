//! Posts a review, for all forges: a pure plan, the steps that carry it out, and a receipt for each
//! item. The report and the current state determine the writes, so posting twice changes nothing.
//!
//! [`plan()`] decides everything. After an unconfirmed write, crh reads the state and plans again.
//! A forge adds its rules ([`ForgeRules`]) and a poster ([`ForgePoster`]).

mod apply_write;
mod commit_status;
mod dismissal;
mod forge;
mod machine;
mod mask_report;
mod plan;
mod position;
mod post;
mod request;
mod saved_review;
mod state;
mod suggestion;
#[cfg(test)]
pub(crate) mod tests_support;
mod thread;
mod threads;
mod withdrawal;

use std::fmt;

pub(crate) use commit_status::commit_status;
pub use dismissal::{
    DISMISSAL_PHRASES, DismissalMethod, ThreadDismissal, ThreadReception, dismissals, receptions,
};
pub use forge::{ForgePoster, ForgeProfile, ForgeRules, PostingDelays, SuggestionSyntax};
pub use machine::{PostingMachine, PostingStep, WriteAnswer};
pub(crate) use mask_report::mask_report;
pub(crate) use plan::find_refusal;
pub use plan::{
    PlannedComment, PostingConstraints, PostingRefusal, PostingSteps, PostingWrite, WriteKind, plan,
};
pub use position::{Anchor, DiffPoint};
pub use post::{plan_review, post_review};
pub use request::{ForgeRequest, Verb};
pub(crate) use saved_review::own_summary;
pub use saved_review::{NoSavedReview, OpenIssue, ReviewBasis, SavedReview, last_saved_review};
use serde::Serialize;
pub use state::{
    Association, DiffRefs, FilePatch, ForgeUser, InlineComment, InlineThread, ProposalComment,
    ProposalProperties, ProposalReview, ProposalState, RowDiff,
};
pub use suggestion::apply_replacement;
pub use thread::{ANSWER_MARK, mark_line};
pub(crate) use threads::plan_threads;
pub(crate) use withdrawal::{own_reviews, withdraw_reviews, withdrawal_message};
pub use withdrawal::{plan_withdrawals, send_withdrawal};

use crh_review::diff::Diff;
use crh_review::report::{Issue, Report};

/// Prefix of the reason for issues without an inline comment.
const IN_SUMMARY: &str = "only in the summary";

/// A review to post, with everything that planning needs.
#[derive(Clone, Copy)]
pub struct ReviewPosting<'a> {
    /// The report.
    pub report: &'a Report,
    /// The reviewed diff. Tells which lines can have a comment where the forge shows no hunks.
    pub diff: &'a Diff,
    /// Lines of a file at the head, without newlines; `None` if it is not readable as text.
    pub head_lines: &'a (dyn Fn(&str) -> Option<Vec<String>> + Sync),
    /// Masks secrets. Applied to every text that is posted.
    pub mask: &'a (dyn Fn(&str) -> String + Sync),
    /// Name of this installation. Installations do not touch each other's comments.
    pub instance: &'a str,
    /// Web address of the forge, such as `https://github.com`. Links lead only there.
    pub web: &'a str,
    /// Inputs that must be unchanged for the next review to build on this one.
    pub basis: &'a ReviewBasis,
    /// For a review of new commits only: issues taken over from the last review. They are part of
    /// the report. `None` for a full review.
    pub carried_issues: Option<&'a [OpenIssue]>,
    /// Permitted actions.
    pub options: PostingOptions,
}

/// Permitted actions of a posting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PostingOptions {
    /// Permitted votes.
    pub votes: AllowedVotes,
    /// Whether to resolve own threads whose code and issue are gone.
    pub resolve_outdated: bool,
    /// Whether to write only the summary comment.
    pub comment_only: bool,
}

/// Votes that a review may cast. Off by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AllowedVotes {
    /// Request changes if the verdict asks for fixes.
    pub request_changes: bool,
    /// Approve if the verdict is `Ready to merge`.
    pub approve: bool,
}

/// Result of a posting.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PostingOutcome {
    /// Why nothing was posted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<PostingRefusal>,
    /// Result of each item: the issues in the order of the report, then the others.
    pub receipts: Vec<PostingReceipt>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Address of the summary, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// What people did with own threads before this posting.
    #[serde(skip)]
    pub receptions: Vec<ThreadReception>,
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
        /// Key of the issue, stable across reviews.
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
        /// Id of the thread.
        node_id: String,
    },
    /// The check run or commit status at the head.
    CheckRun,
    /// Code scanning alerts.
    CodeScanning,
}

impl PostedItem {
    pub(crate) fn issue(issue: &Issue) -> Self {
        Self::Issue { number: issue.number, key: issue.dedupe_key.clone() }
    }

    /// The withdrawal of an own approval.
    fn withdrawal() -> Self {
        Self::Vote { event: "DISMISS".to_owned() }
    }
}

/// Result of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemDelivery {
    /// Newly posted.
    Posted,
    /// Changed.
    Updated,
    /// Nothing was written, with the reason.
    Skipped(String),
    /// Not posted, with the reason.
    Failed(String),
}

/// Why crh writes nothing for an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PostingSkip {
    /// The item is already posted.
    AlreadyPosted,
    /// A maintainer or the author dismissed the issue.
    Dismissed {
        /// Login of that person.
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

impl PostingOutcome {
    /// Whether nothing was refused and no item failed.
    pub fn is_complete(&self) -> bool {
        let has_failed =
            |receipt: &PostingReceipt| matches!(receipt.delivery, ItemDelivery::Failed(_));
        self.refusal.is_none() && !self.receipts.iter().any(has_failed)
    }
}

/// Remark about issues beyond the limit of inline comments.
pub(crate) fn overflow_remark(count: usize, inline_max: usize) -> Option<String> {
    (count > 0).then(|| {
        format!("Only the {inline_max} most urgent issues have inline comments; {count} more are only in this summary.")
    })
}
