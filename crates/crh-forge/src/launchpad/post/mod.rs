//! Posts a review to a merge proposal as one comment with summary, vote and inline comments. The
//! report and the current state determine the comment, so posting twice changes nothing.
//!
//! [`plan`] is pure and decides everything. Launchpad accepts the whole comment or nothing. If
//! Launchpad does not confirm the request, crh reads the state and does not send the request again.

mod execute;
mod placement;
mod plan;
mod saved_summary;
#[cfg(test)]
mod tests;
mod text;
mod vote;

pub use execute::{LaunchpadPostingDelays, post_review, read_and_plan};
pub use plan::{LaunchpadPostingSteps, LaunchpadWrite, MergeProposalRefusal, plan};

use crate::posting;
use crh_review::diff::Diff;
use crh_review::report::Report;

/// A review to post, with everything that planning needs.
#[derive(Clone, Copy)]
pub struct LaunchpadPosting<'a> {
    /// The report.
    pub report: &'a Report,
    /// The reviewed diff, with the text of the lines that issues refer to.
    pub diff: &'a Diff,
    /// Masks secrets. Applied to every text that is posted.
    pub mask: &'a (dyn Fn(&str) -> String + Sync),
    /// Name of this installation. Installations ignore each other's comments.
    pub instance: &'a str,
    /// Permitted actions.
    pub options: LaunchpadPostingOptions,
}

/// Permitted actions of a posting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LaunchpadPostingOptions {
    /// Whether to vote `Approve` if the verdict is `Ready to merge`.
    pub approve: bool,
}

/// Result of posting to a merge proposal.
pub type LaunchpadPostingOutcome = posting::PostingOutcome<MergeProposalRefusal>;
