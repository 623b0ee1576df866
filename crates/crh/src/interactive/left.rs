//! Stores the state of the questions in the run folder, undoes their fixes, and resumes them.
//!
//! Invariant: fixes are undone only at the commit and branch where they were made, and only if
//! every file is as the fixes left it.

use serde::{Deserialize, Serialize};

use super::destination::Place;
use super::flow::Flow;
use super::next::Decision;
use crate::commands::review::Begun;
use crate::failure::Failure;
use crate::fix::journal::{Locked, UNDISTURBED};
use crate::fix::{Asker, Standing};
use crate::{fix, ui};
use crh_pipeline::run_folder::{FileWriteError, RunFolder};
use crh_review::report::Report;

/// File of the questions in the run folder.
const QUESTIONS: &str = "stages/questions.json";

/// Error and hint if the run has fixes of another command.
const OTHERS_FIXES: (&str, &str) = (
    "the checkout has fixes of this run that another command applied",
    "run `crh fix --undo RUN`, then resume the review",
);

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
enum Questions {
    /// At least one question is not answered.
    Open(Open),
    /// All questions are answered.
    Answered { decisions: Vec<Decided> },
}

/// Position of the checkout when the questions began. It must be the same for an undo.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Open {
    #[serde(default)]
    head: Option<String>,
    #[serde(default)]
    branch: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Decided {
    number: u32,
    decision: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    detail: String,
}

/// Stores that questions are open, and the position of the checkout.
pub(super) fn keep_open(begun: &Begun, place: &Place) {
    let Place { head, branch } = place.clone();
    keep(begun, &Questions::Open(Open { head, branch }));
}

/// Stores the decisions.
pub(super) fn keep_answered(begun: &Begun, flow: &Flow) {
    let decided = |(number, decision): (&u32, &Decision)| {
        let (word, detail) = match decision {
            Decision::ToApply => ("applied", ""),
            Decision::Applied(outcome) => ("applied", outcome.note().trim_start_matches("; ")),
            Decision::NotApplied(why) => ("not_applied", why.as_str()),
            Decision::Deferred { url } => ("deferred", url.as_str()),
            Decision::Skipped => ("skipped", ""),
            Decision::NotFiled(why) => ("not_filed", why.as_str()),
            Decision::Acknowledged => ("acknowledged", ""),
            Decision::ToDismiss | Decision::Dismissed => ("dismissed", ""),
            Decision::NotDismissed(why) => ("not_dismissed", why.as_str()),
        };
        Decided { number: *number, decision: word.to_owned(), detail: detail.to_owned() }
    };
    keep(begun, &Questions::Answered { decisions: flow.decided.iter().map(decided).collect() });
}

fn keep(begun: &Begun, questions: &Questions) {
    if let Some(folder) = begun.place.folder()
        && let Err(problem) = folder.store(QUESTIONS, questions)
    {
        ui::warn(&problem.to_string());
    }
}

/// Undoes all fixes if the checkout is still at `place`. Returns the restored files.
pub(super) fn taken_back(begun: &Begun, place: &Place) -> Result<Vec<String>, Failure> {
    let standing = begun.place.folder().map(Standing::of).transpose()?.unwrap_or_default();
    if let (false, Some(checkout)) = (standing.is_empty(), &begun.checkout)
        && let Some(why) = place.left_for(&Place::of(checkout)?)
    {
        return Err(Failure::usage(why));
    }
    undo(begun)
}

pub(crate) fn is_answered(run: &RunFolder) -> bool {
    match run.read::<Questions>(QUESTIONS) {
        Ok(Questions::Answered { .. }) => true,
        Ok(Questions::Open(_)) | Err(_) => false,
    }
}

/// Drops stored answers before a new review.
pub(crate) fn forget_answers(run: &RunFolder) -> Result<(), FileWriteError> {
    match is_answered(run) {
        true => run.store(QUESTIONS, &Questions::Open(Open::default())),
        false => Ok(()),
    }
}

/// Error: the run has fixes that the questions did not make and must not undo.
pub(crate) fn others_fixes() -> Failure {
    let (why, hint) = OTHERS_FIXES;
    Failure::usage(why).hint(hint)
}

/// The report of a finished review with open questions, so that it need not run again. Undoes fixes
/// that a killed process left behind.
pub(crate) fn left_open(begun: &Begun) -> Result<Option<Report>, Failure> {
    let (Some(folder), Some(checkout)) = (begun.place.folder(), &begun.checkout) else {
        return Ok(None);
    };
    let open = match folder.read::<Questions>(QUESTIONS) {
        Ok(Questions::Open(open)) => open,
        Ok(Questions::Answered { .. }) | Err(_) => return Ok(None),
    };
    let standing = Standing::of(folder)?;
    if !standing.is_all_for(Asker::Questions) {
        return Err(others_fixes());
    }
    if !standing.is_empty()
        && let Some((why, hint)) = not_where_it_was(&open, &Place::of(checkout)?)
    {
        return Err(Failure::usage(why).hint(hint));
    }
    let files = undo(begun)?;
    if !files.is_empty() {
        let files = files.join(", ");
        ui::note(&format!("undid the fixes of the interrupted questions: {files}"));
    }
    Ok(folder.read(fix::REVIEWED).ok())
}

/// Why fixes cannot be undone at this position, with a hint.
fn not_where_it_was(open: &Open, now: &Place) -> Option<(&'static str, &'static str)> {
    if open.head != now.head {
        return Some((
            "the checkout has fixes of this run, and `HEAD` has moved since",
            "check out the earlier commit, or start a new review",
        ));
    }
    (open.branch != now.branch).then_some((
        "the checkout has fixes of this run, and another branch is checked out now",
        "switch back to that branch, or start a new review",
    ))
}

/// Undoes all fixes of the run. Returns the restored files.
fn undo(begun: &Begun) -> Result<Vec<String>, Failure> {
    let (Some(folder), Some(checkout)) = (begun.place.folder(), &begun.checkout) else {
        return Ok(Vec::new());
    };
    let locked = Locked::take(checkout, folder.stamp_key())?;
    let files = locked.undo(&fix::fixes_of(folder), UNDISTURBED)?;
    // Issues that failed are tried again after an undo.
    if let Err(problem) = fix::forget_left(folder) {
        ui::warn(&problem.to_string());
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixes_are_undone_only_at_the_same_commit_and_branch() {
        let place = |head: &str, branch: &str| Place {
            head: Some(head.to_owned()),
            branch: Some(branch.to_owned()),
        };
        let Place { head, branch } = place("c1", "work");
        let open = Open { head, branch };
        let why = |head, branch| not_where_it_was(&open, &place(head, branch)).map(|it| it.0);
        let moved = "the checkout has fixes of this run, and `HEAD` has moved since";
        let other = "the checkout has fixes of this run, and another branch is checked out now";
        assert_eq!(why("c1", "work"), None);
        assert_eq!(why("c2", "work"), Some(moved));
        assert_eq!(why("c1", "other"), Some(other));
    }
}
