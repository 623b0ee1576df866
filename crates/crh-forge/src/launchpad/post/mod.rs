//! Posting a review to a merge proposal: one comment with the summary, the vote and what goes beside lines, which follows from the
//! report and from what stands there, so that posting twice changes nothing.
//!
//! [`plan`] decides everything and does nothing. Launchpad takes all of it or nothing of it; if nobody knows which, what stands is
//! looked at, and nothing is sent a second time.

mod carry_out;
mod plan;
#[cfg(test)]
mod tests;
mod text;

use crh_review::report::Report;
use serde::Serialize;

pub use carry_out::Waits;
pub use carry_out::carry_out;
pub use plan::Plan;
pub use plan::Refusal;
pub use plan::Write;
pub use plan::plan;

use crate::github::post::Delivery;
use crate::github::post::Receipt;

/// A review that is to be posted, and all that is needed to decide how.
#[derive(Clone, Copy)]
pub struct Posting<'a> {
    /// The review.
    pub report: &'a Report,
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

/// What became of a posting.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// Why nothing was posted; none if it was not refused as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<Refusal>,
    /// What became of each part.
    pub receipts: Vec<Receipt>,
    /// Where the comment stands, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

impl Outcome {
    /// Whether everything that was to be posted is there.
    pub fn is_complete(&self) -> bool {
        let failed = |receipt: &Receipt| matches!(receipt.delivery, Delivery::Failed(_));
        self.refusal.is_none() && !self.receipts.iter().any(failed)
    }
}
