//! Posting a review to a pull request: what is to be written follows from the report and from what stands there, so that
//! posting twice changes nothing.
//!
//! [`plan`] decides everything and does nothing. Carrying it out is a thin shell: whatever goes wrong on the way, what stands
//! is read again and the rest is planned again.

#[path = "apply_write.rs"]
mod applied;
#[path = "status_channel.rs"]
mod beside;
#[path = "execute.rs"]
mod carry_out;
#[path = "machine.rs"]
mod carrying;
mod check_run;
#[path = "dismissal.rs"]
mod dismissed;
mod plan;
mod position;
mod request;
mod sarif;
#[path = "saved_review.rs"]
mod state;
mod suggestion;
#[cfg(test)]
pub(crate) mod tests_support;
mod thread;

pub use beside::{Beside, carry_out_beside, planned_beside};
pub use carry_out::{Waits, carry_out};
pub use carrying::{Answer, Carrying, Step};
pub use check_run::{StandingRun, check_run, post_check_run, standing_runs};
pub use dismissed::{Dismissal, How, PHRASES, dismissals};
pub use plan::{Plan, Refusal, Write, plan};
pub use request::Request;
pub use sarif::{SarifError, post_sarif, sarif_upload};
pub use state::{Basis, NoState, OpenIssue, State, last_state};

use crate::posted;
use crh_review::diff::Diff;
use crh_review::report::Report;

/// What became of a posting to a pull request.
pub type Outcome = posted::Outcome<Refusal>;

/// The most issues that are shown beside their lines: GitHub takes about five hundred texts an hour, and nobody reads more.
const INLINE_MAX: usize = 500;

/// A review that is to be posted, and all that is needed to decide how.
#[derive(Clone, Copy)]
pub struct Posting<'a> {
    /// The review.
    pub report: &'a Report,
    /// The diff that was reviewed: says which lines can carry a comment where GitHub shows no hunks.
    pub diff: &'a Diff,
    /// The lines of a file at the head, without their newlines; none if it cannot be read as text.
    pub head_lines: &'a (dyn Fn(&str) -> Option<Vec<String>> + Sync),
    /// Hides what must not be shown. It is asked about every text of the report that leaves.
    pub mask: &'a (dyn Fn(&str) -> String + Sync),
    /// The name of this installation: two of them on one pull request do not touch each other's comments.
    pub instance: &'a str,
    /// Where people look at GitHub, such as `https://github.com`. Links lead there and nowhere else.
    pub web: &'a str,
    /// What the next review must find unchanged to build on this one.
    pub basis: &'a Basis,
    /// For a review of what changed since the last one: the issues of that which it took over, and which are among those of
    /// the report. None for a whole review.
    pub carried: Option<&'a [OpenIssue]>,
    /// What may be done.
    pub terms: Terms,
}

/// What a posting may do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Terms {
    /// What the review may say beside a comment.
    pub votes: Votes,
    /// Whether own conversations are resolved when the code under them and the issue are gone.
    pub resolve_outdated: bool,
    /// Whether everything goes into the summary comment and nothing else is written.
    pub comment_only: bool,
}

/// What a review may say beside a comment. Both have to be asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Votes {
    /// Changes are requested if the verdict asks for fixes.
    pub request_changes: bool,
    /// The pull request is approved if the verdict is `Ready to merge`.
    pub approve: bool,
}

/// What is said where so many issues are shown that are not beside their lines, since others are; nothing if all are.
fn here_alone(count: usize) -> Option<String> {
    (count > 0).then(|| {
        format!("Only the {INLINE_MAX} most urgent issues are shown beside their lines; {count} more are here alone.")
    })
}
