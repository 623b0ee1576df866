//! Whether a review was done to the end.
//!
//! The worst that is true stands in the report: `error`, then `truncated`, `degraded`, `ok`. A review that was stopped by
//! the user is `truncated` even if nothing was finished: it did not go wrong. A run that the budget ended is
//! `truncated`, since a larger one would have helped.

use super::Assembly;
use crate::runs::{RunEnd, RunRecord};
use crh_review::finding::Severity;
use crh_review::report::{CoverageState, FileCoverage, Issue, Status, Validation};

/// How far the review came. `counting` are the runs whose work counts as a review, `coverage` what they saw.
pub(super) fn status(
    assembly: &Assembly<'_>,
    counting: &[&RunRecord],
    coverage: &[FileCoverage],
) -> Status {
    let reviewers = &assembly.runs.records;
    let checks = &assembly.validated.runs;
    if !assembly.interrupted && nothing_was_reviewed(assembly, counting, coverage) {
        return Status::Error;
    }
    let reviewer_failed = reviewers.iter().any(has_failed);
    // What nobody looked at though nobody failed was left out for lack of something.
    let is_left_out = |file: &FileCoverage| match file.state {
        CoverageState::Truncated => true,
        CoverageState::NotReviewed => !reviewer_failed,
        CoverageState::Reviewed | CoverageState::OutOfScope | CoverageState::ReviewedBefore => {
            false
        }
    };
    let is_cut = assembly.interrupted
        || reviewers.iter().any(|it| it.limited.is_some() || it.ended == RunEnd::Cancelled)
        || coverage.iter().any(is_left_out)
        || checks.iter().any(|it| it.limited.is_some()) && something_urgent_is_unchecked(assembly)
        || has_stray_problems(assembly);
    if is_cut {
        Status::Truncated
    } else if reviewer_failed || checks.iter().any(|it| has_failed(it) && it.limited.is_none()) {
        Status::Degraded
    } else {
        Status::Ok
    }
}

fn has_failed(record: &RunRecord) -> bool {
    match record.ended {
        RunEnd::Failed(_) => true,
        RunEnd::Completed | RunEnd::Cancelled => false,
    }
}

/// Lower issues are checked as far as the budget goes; a P0 or P1 that it leaves out is something missing.
fn something_urgent_is_unchecked(assembly: &Assembly<'_>) -> bool {
    let is_unchecked = |issue: &Issue| match issue.validation {
        Validation::NotRun | Validation::Degraded => true,
        Validation::Confirmed | Validation::Unsure | Validation::ByCode => false,
    };
    assembly.merged.issues.iter().any(|it| it.severity <= Severity::P1 && is_unchecked(it))
}

/// Whether the diff has something unreadable that belongs to no file.
fn has_stray_problems(assembly: &Assembly<'_>) -> bool {
    let diff = &assembly.subject.diff;
    diff.problems().iter().any(|problem| diff.file_at(problem.line).is_none())
}

/// Whether there was something to review and nobody has: every run failed, or those that did not saw nothing.
fn nothing_was_reviewed(
    assembly: &Assembly<'_>,
    counting: &[&RunRecord],
    coverage: &[FileCoverage],
) -> bool {
    let returned = |record: &&&RunRecord| record.ended == RunEnd::Completed;
    let was_seen = |file: &FileCoverage| match file.state {
        CoverageState::Reviewed | CoverageState::Truncated => true,
        CoverageState::NotReviewed | CoverageState::OutOfScope | CoverageState::ReviewedBefore => {
            false
        }
    };
    let something_to_see = assembly.subject.scope.totals.files_in > 0;
    let nobody_returned = !counting.iter().any(|record| returned(&record));
    something_to_see && (nobody_returned || !coverage.iter().any(was_seen))
}
