//! Status of a review.
//!
//! The worst status wins: `error`, `truncated`, `degraded`, `ok`. A cancelled review is
//! `truncated`, even if no run finished. A review run that hit a limit makes the review `truncated`
//! too, since a higher limit would have helped. The same holds for a run whose prompt the server may
//! have cut, since a larger context would have helped.

use super::{ReportInputs, all_runs};
use crate::assignment::is_static;
use crate::runs::{RunEnd, RunRecord};
use crate::scope::{ScopeFile, SkipEffect};
use crh_review::MergeResult;
use crh_review::report::{CoverageState, DroppedFinding, FileCoverage, Issue, Status};

/// Computes the status. `review_runs` are the runs that count as review.
pub(super) fn status(
    inputs: &ReportInputs<'_>,
    review_runs: &[&RunRecord],
    coverage: &[FileCoverage],
) -> Status {
    let reviewers = &inputs.runs.records;
    let checks = &inputs.validation.runs;
    let is_out_of_time =
        |run: &&RunRecord| is_static(&run.assignment.name) && run.limited.is_some();
    if !inputs.interrupted
        && !review_runs.iter().any(is_out_of_time)
        && nothing_was_reviewed(inputs, review_runs, coverage)
    {
        return Status::Error;
    }
    let reviewer_failed = reviewers.iter().any(has_failed);
    // Whether a file was left out for lack of budget: runs covered only a part of it, or none of it
    // although no run failed.
    let is_left_out = |(file, scoped): (&FileCoverage, &ScopeFile)| match file.state {
        // The scope, not the budget, is why the file is not fully reviewed.
        _ if scoped.effect == SkipEffect::Incomplete => false,
        CoverageState::Truncated => true,
        CoverageState::NotReviewed => !reviewer_failed,
        CoverageState::Reviewed | CoverageState::OutOfScope | CoverageState::ReviewedBefore => {
            false
        }
    };
    let is_truncated = inputs.interrupted
        || reviewers.iter().any(|run| run.limited.is_some() || run.ended == RunEnd::Cancelled)
        || coverage.iter().zip(&inputs.change.scope.files).any(is_left_out)
        || checks.iter().any(|run| run.limited.is_some()) && has_unvalidated(&inputs.merged)
        || all_runs(inputs).any(|run| run.may_have_cut_prompt)
        || has_stray_problems(inputs);
    if is_truncated {
        Status::Truncated
    } else if reviewer_failed || checks.iter().any(|run| has_failed(run) && run.limited.is_none()) {
        Status::Degraded
    } else {
        Status::Ok
    }
}

/// Whether a P0 or P1 that is shown, or hidden but still open, needs a second look and had none.
fn has_unvalidated(merged: &MergeResult) -> bool {
    merged.issues.iter().any(Issue::is_urgent_and_unvalidated)
        || merged.dropped.iter().any(DroppedFinding::is_urgent_and_unvalidated)
}

fn has_failed(record: &RunRecord) -> bool {
    match record.ended {
        RunEnd::Failed(_) => true,
        RunEnd::Completed | RunEnd::Cancelled => false,
    }
}

/// Whether the diff has an unreadable part that belongs to no file.
fn has_stray_problems(inputs: &ReportInputs<'_>) -> bool {
    let diff = &inputs.change.diff;
    diff.problems().iter().any(|problem| diff.file_at(problem.line).is_none())
}

/// Whether there were files to review, but no run completed or no file was covered.
fn nothing_was_reviewed(
    inputs: &ReportInputs<'_>,
    review_runs: &[&RunRecord],
    coverage: &[FileCoverage],
) -> bool {
    let is_completed = |record: &&&RunRecord| record.ended == RunEnd::Completed;
    let is_covered = |file: &FileCoverage| match file.state {
        CoverageState::Reviewed | CoverageState::Truncated => true,
        CoverageState::NotReviewed | CoverageState::OutOfScope | CoverageState::ReviewedBefore => {
            false
        }
    };
    let has_files_to_review = inputs.change.scope.totals.files_in > 0;
    let no_run_returned = !review_runs.iter().any(|record| is_completed(&record));
    has_files_to_review && (no_run_returned || !coverage.iter().any(is_covered))
}
