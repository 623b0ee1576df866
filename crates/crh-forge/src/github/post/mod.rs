//! Posts a review to a pull request. The report and the current state determine the writes, so
//! posting twice changes nothing.
//!
//! [`plan`] is pure and decides everything. After any failure, crh reads the state and plans again.

mod apply_write;
mod check_run;
mod dismissal;
mod execute;
mod machine;
mod plan;
mod position;
mod request;
mod sarif;
mod saved_review;
mod status_channel;
mod suggestion;
#[cfg(test)]
pub(crate) mod tests_support;
mod thread;

pub use check_run::{ExistingCheckRun, check_run_requests, existing_check_runs, post_check_run};
pub use dismissal::{DISMISSAL_PHRASES, DismissalMethod, ThreadDismissal, dismissals};
pub use execute::{GitHubPostingDelays, post_review};
pub use machine::{PostingMachine, PostingStep, WriteAnswer};
pub use plan::{GitHubPostingSteps, GitHubWrite, PullRequestRefusal, plan};
pub use request::GitHubRequest;
pub use sarif::{SarifUploadError, post_sarif, sarif_upload};
pub use saved_review::{NoSavedReview, OpenIssue, ReviewBasis, SavedReview, last_saved_review};
pub use status_channel::{StatusChannel, plan_for_channel, post_to_channel};

use crate::posting;
use crh_review::diff::Diff;
use crh_review::report::Report;

/// Result of posting to a pull request.
pub type GitHubPostingOutcome = posting::PostingOutcome<PullRequestRefusal>;

/// Maximum number of inline comments. GitHub accepts about five hundred an hour from one account.
const INLINE_MAX: usize = 500;

/// A review to post, with everything that planning needs.
#[derive(Clone, Copy)]
pub struct GitHubPosting<'a> {
    /// The report.
    pub report: &'a Report,
    /// The reviewed diff. Tells which lines can have a comment where GitHub shows no hunks.
    pub diff: &'a Diff,
    /// Lines of a file at the head, without newlines; `None` if it is not readable as text.
    pub head_lines: &'a (dyn Fn(&str) -> Option<Vec<String>> + Sync),
    /// Masks secrets. Applied to every text that is posted.
    pub mask: &'a (dyn Fn(&str) -> String + Sync),
    /// Name of this installation. Installations do not touch each other's comments.
    pub instance: &'a str,
    /// Web address of GitHub, such as `https://github.com`. Links lead only there.
    pub web: &'a str,
    /// Inputs that must be unchanged for the next review to build on this one.
    pub basis: &'a ReviewBasis,
    /// For a review of new commits only: issues taken over from the last review. They are part of
    /// the report. `None` for a full review.
    pub carried_issues: Option<&'a [OpenIssue]>,
    /// Permitted actions.
    pub options: GitHubPostingOptions,
}

/// Permitted actions of a posting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GitHubPostingOptions {
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

/// Remark about issues beyond the limit of inline comments.
fn overflow_remark(count: usize) -> Option<String> {
    (count > 0).then(|| {
        format!("Only the {INLINE_MAX} most urgent issues have inline comments; {count} more are only in this summary.")
    })
}
