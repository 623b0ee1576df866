//! Posting a review to a merge proposal: one comment with the summary, the vote and what goes beside lines, which follows from the
//! report and from what stands there, so that posting twice changes nothing.
//!
//! [`plan`] decides everything and does nothing. Launchpad takes all of it or nothing of it; if nobody knows which, what stands is
//! looked at, and nothing is sent a second time.

#[path = "execute.rs"]
mod carry_out;
#[path = "saved_summary.rs"]
mod kept;
#[path = "placement.rs"]
mod places;
mod plan;
#[cfg(test)]
mod tests;
mod text;
mod vote;

pub use carry_out::{Waits, carry_out, planned};
pub use plan::{Plan, Refusal, Write, plan};

use crate::posted;
use crh_review::diff::Diff;
use crh_review::report::Report;

/// A review that is to be posted, and all that is needed to decide how.
#[derive(Clone, Copy)]
pub struct Posting<'a> {
    /// The review.
    pub report: &'a Report,
    /// The diff that was reviewed: says what the lines are that issues are about.
    pub diff: &'a Diff,
    /// Hides what must not be shown. It is asked about every text of the report that leaves.
    pub mask: &'a (dyn Fn(&str) -> String + Sync),
    /// The name of this installation: two of them on one proposal do not count each other's comments.
    pub instance: &'a str,
    /// What may be done.
    pub terms: Terms,
}

/// What a posting may do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Terms {
    /// Whether the vote `Approve` is cast if the verdict is `Ready to merge`.
    pub approve: bool,
}

/// What became of a posting to a merge proposal.
pub type Outcome = posted::Outcome<Refusal>;
