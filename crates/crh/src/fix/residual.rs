//! Stores the open issues of a run and why they were not fixed. A reason stays until crh tries to
//! fix its issue again, or undoes all fixes.

use serde::{Deserialize, Serialize};

use super::outcome::{SkipKind, SkippedIssue};
use crh_pipeline::run_folder::{FileWriteError, RunFolder};
use crh_review::report::{Issue, Queue, Report};

/// File in the run folder.
pub(super) const RESIDUAL: &str = "residual-work.json";

/// An open issue that needs work.
#[derive(Debug, Serialize)]
pub(super) struct Residual<'r> {
    issue: &'r Issue,
    /// Why it was not fixed, if crh tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<&'r str>,
    #[serde(skip_serializing_if = "SkipKind::is_failed")]
    kind: SkipKind,
}

/// The open issues that need work, with their reasons.
pub(super) fn residual<'r>(report: &'r Report, left: &'r [SkippedIssue]) -> Vec<Residual<'r>> {
    let waiting = report.open_issues().filter(|issue| match issue.queue {
        Queue::Fixer | Queue::Residual => true,
        Queue::Report => false,
    });
    let why = |issue: &Issue| left.iter().find(|left| left.number == issue.number);
    let residual = |issue| {
        let left = why(issue);
        Residual {
            issue,
            left: left.map(|it| it.why.as_str()),
            kind: left.map(|it| it.kind).unwrap_or_default(),
        }
    };
    waiting.map(residual).collect()
}

/// Adds stored reasons of other issues.
pub(super) fn with_kept(run: &RunFolder, left: &[SkippedIssue]) -> Vec<SkippedIssue> {
    let is_new = |kept: &SkippedIssue| left.iter().all(|left| left.number != kept.number);
    left.iter().cloned().chain(stored_residuals(run).into_iter().filter(is_new)).collect()
}

/// Stored reasons of earlier attempts, which would fail again.
pub(crate) fn left_before(run: &RunFolder) -> Vec<SkippedIssue> {
    stored_residuals(run)
}

/// Clears all reasons, because issues get new numbers or the fixes are undone.
pub(crate) fn forget_left(run: &RunFolder) -> Result<(), FileWriteError> {
    match stored_residuals(run).is_empty() {
        true => Ok(()),
        false => run.store_masked(RESIDUAL, &Vec::<Residual<'_>>::new()),
    }
}

/// The stored part of an open issue that is read back.
#[derive(Debug, Deserialize)]
struct StoredResidual {
    issue: StoredNumber,
    #[serde(default)]
    left: Option<String>,
    #[serde(default)]
    kind: SkipKind,
}

#[derive(Debug, Deserialize)]
struct StoredNumber {
    number: u32,
}

/// Stored reasons. Empty if the file cannot be read.
fn stored_residuals(run: &RunFolder) -> Vec<SkippedIssue> {
    let stored: Vec<StoredResidual> = run.read(RESIDUAL).unwrap_or_default();
    stored
        .into_iter()
        .filter_map(|stored| {
            let StoredResidual { issue, left, kind } = stored;
            Some(SkippedIssue { kind, ..SkippedIssue::new(issue.number, left?) })
        })
        .collect()
}
