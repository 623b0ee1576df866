//! The verdict as a commit status: success or failure, with one line.

use super::{ReviewPosting, mask_report};
use crh_review::verdict::{Verdict, is_marked_incomplete};

/// Longest description, in characters: the limit of the forges.
const DESCRIPTION_MAX: usize = 255;

/// A commit status.
pub(crate) struct CommitVerdict {
    pub(crate) is_success: bool,
    pub(crate) description: String,
}

/// The status of a review. An incomplete review is a failure.
pub(crate) fn commit_status(posting: &ReviewPosting<'_>) -> CommitVerdict {
    // `find_refusal` already rejected reports that cannot be masked.
    let report = mask_report(posting.report, posting.mask).unwrap_or_default();
    let is_success = match report.verdict {
        Verdict::ReadyToMerge | Verdict::ChecksPassed => !is_marked_incomplete(&report),
        Verdict::NotReady | Verdict::ReadyWithFixes | Verdict::Incomplete => false,
    };
    let text = format!("{}: {}", report.verdict, report.verdict_reason);
    let text = crh_review::escape_invisible(&text);
    CommitVerdict { is_success, description: text.chars().take(DESCRIPTION_MAX).collect() }
}
