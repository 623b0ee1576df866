//! What a run leaves to be worked on, and why: a reason stays until its issue is tried again, is fixed, or all fixes are taken back.

use serde::{Deserialize, Serialize};

use super::outcome::Left;
use super::{NOT_ITS_TURN, RESIDUAL};
use crh_pipeline::run_folder::{NotWritten, RunFolder};
use crh_review::report::{Issue, Queue, Report};

/// An open issue that somebody has to work on.
#[derive(Debug, Serialize)]
pub(super) struct Residual<'r> {
    issue: &'r Issue,
    /// Why it was not fixed, if that was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<&'r str>,
}

/// The open issues of a report that somebody has to work on, and why they were left.
pub(super) fn residual<'r>(report: &'r Report, left: &'r [Left]) -> Vec<Residual<'r>> {
    let open = report.issues.iter().filter(|issue| !report.is_fixed(issue.number));
    let waiting = open.filter(|issue| match issue.queue {
        Queue::Fixer | Queue::Residual => true,
        Queue::Report => false,
    });
    let why = |issue: &Issue| left.iter().find(|left| left.number == issue.number);
    waiting.map(|issue| Residual { issue, left: why(issue).map(|it| it.why.as_str()) }).collect()
}

/// These reasons, and those that a run keeps of issues that are not among them.
pub(super) fn with_kept(run: &RunFolder, left: &[Left]) -> Vec<Left> {
    let is_new = |kept: &Left| left.iter().all(|left| left.number != kept.number);
    left.iter().cloned().chain(kept(run).into_iter().filter(is_new)).collect()
}

/// What was tried and left, as a run keeps it: to try it again would come to the same.
pub(crate) fn left_before(run: &RunFolder) -> Vec<Left> {
    kept(run).into_iter().filter(|left| left.why != NOT_ITS_TURN).collect()
}

/// Forgets all reasons: the issues get new numbers, or the tree is as it was before anything was tried.
pub(crate) fn forget_left(run: &RunFolder) -> Result<(), NotWritten> {
    match kept(run).is_empty() {
        true => Ok(()),
        false => run.store_as_it_is(RESIDUAL, &Vec::<Residual<'_>>::new()),
    }
}

/// What is read of an open issue in a run.
#[derive(Debug, Deserialize)]
struct Kept {
    issue: Numbered,
    #[serde(default)]
    left: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Numbered {
    number: u32,
}

/// The reasons that a run keeps. What cannot be read has none.
fn kept(run: &RunFolder) -> Vec<Left> {
    let kept: Vec<Kept> = run.read(RESIDUAL).unwrap_or_default();
    kept.into_iter().filter_map(|kept| Some(Left::new(kept.issue.number, kept.left?))).collect()
}
