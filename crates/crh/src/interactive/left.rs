//! Questions that are left: what a run keeps of them, how what they have changed is taken back, and how whoever left comes back to
//! them.
//!
//! Invariant: fixes are taken back only where they were made, and only as long as every file is as they have left it.

use serde::{Deserialize, Serialize};

use super::destination::Place;
use super::flow::Flow;
use super::next::Decision;
use crate::commands::review::Begun;
use crate::failure::Failure;
use crate::fix::journal::{Locked, UNDISTURBED};
use crate::fix::{Asker, Standing};
use crate::{fix, ui};
use crh_pipeline::run_folder::{NotWritten, RunFolder};
use crh_review::report::Report;

/// Where a run keeps whether its questions were answered, and how.
const QUESTIONS: &str = "stages/questions.json";

/// Why there can be no questions, and what can be done about that.
const OTHERS_FIXES: (&str, &str) = (
    "the checkout has fixes of this run that its questions have not made",
    "`crh fix --undo RUN` takes them back; then the questions can come again",
);

/// What a run keeps of its questions.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
enum Questions {
    /// They are not all answered.
    Open(Open),
    /// They are: what was decided, by the number of the issue.
    Answered { decisions: Vec<Decided> },
}

/// What has to be so still for the fixes of questions that were left to be taken back.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Open {
    /// The commit that was checked out when they began.
    #[serde(default)]
    head: Option<String>,
    /// The branch that was.
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

/// Keeps that there are questions, and where the checkout was when they began.
pub(super) fn keep_open(begun: &Begun, place: &Place) {
    let Place { head, branch } = place.clone();
    keep(begun, &Questions::Open(Open { head, branch }));
}

/// Keeps what was decided.
pub(super) fn keep_answered(begun: &Begun, flow: &Flow) {
    let decided = |(number, decision): (&u32, &Decision)| {
        let (word, detail) = match decision {
            Decision::ToApply | Decision::Applied => ("applied", ""),
            Decision::NotApplied(why) => ("not_applied", why.as_str()),
            Decision::Deferred { url } => ("deferred", url.as_str()),
            Decision::Skipped => ("skipped", ""),
            Decision::NotFiled(why) => ("not_filed", why.as_str()),
            Decision::Acknowledged => ("acknowledged", ""),
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

/// Takes back what was fixed since a checkout was at a place; the files that it was in, or why it stays.
pub(super) fn taken_back(begun: &Begun, place: &Place) -> Result<Vec<String>, Failure> {
    let standing = begun.place.folder().map(Standing::of).transpose()?.unwrap_or_default();
    if let (false, Some(checkout)) = (standing.is_empty(), &begun.checkout)
        && let Some(why) = place.left_for(&Place::of(checkout)?)
    {
        return Err(Failure::usage(why));
    }
    undo(begun)
}

/// Whether all questions about a review were answered.
pub(crate) fn is_answered(run: &RunFolder) -> bool {
    match run.read::<Questions>(QUESTIONS) {
        Ok(Questions::Answered { .. }) => true,
        Ok(Questions::Open(_)) | Err(_) => false,
    }
}

/// Forgets the answers, for a review that is made again.
pub(crate) fn forget_answers(run: &RunFolder) -> Result<(), NotWritten> {
    match is_answered(run) {
        true => run.store(QUESTIONS, &Questions::Open(Open::default())),
        false => Ok(()),
    }
}

/// That there is something to be taken back first which questions would take back when they are left.
pub(crate) fn others_fixes() -> Failure {
    let (why, hint) = OTHERS_FIXES;
    Failure::usage(why).hint(hint)
}

/// The report of a review that has ended and whose questions were left: it need not be made again. What the questions had changed is
/// taken back, should they have ended without that.
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
        ui::note(&format!(
            "what the questions had fixed is taken back before they come again: {files}"
        ));
    }
    Ok(folder.read(fix::REVIEWED).ok())
}

/// How a checkout with fixes of questions is somewhere else than they were made, and what can be done about that.
fn not_where_it_was(open: &Open, now: &Place) -> Option<(&'static str, &'static str)> {
    if open.head != now.head {
        return Some((
            "the checkout has fixes of this run, and `HEAD` is another commit than before them",
            "check that commit out, or review what there is now",
        ));
    }
    (open.branch != now.branch).then_some((
        "the checkout has fixes of this run, and another branch is checked out than before them",
        "switch to that branch, or review what there is now",
    ))
}

/// Takes back all that was fixed after this review; the files that it was in.
fn undo(begun: &Begun) -> Result<Vec<String>, Failure> {
    let (Some(folder), Some(checkout)) = (begun.place.folder(), &begun.checkout) else {
        return Ok(Vec::new());
    };
    let locked = Locked::take(checkout)?;
    let files = locked.undo(&fix::fixes_of(folder), UNDISTURBED)?;
    // What was left beside them is tried again.
    if let Err(problem) = fix::forget_left(folder) {
        ui::warn(&problem.to_string());
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixes_of_questions_are_taken_back_only_where_they_were_made() {
        let place = |head: &str, branch: &str| Place {
            head: Some(head.to_owned()),
            branch: Some(branch.to_owned()),
        };
        let Place { head, branch } = place("c1", "work");
        let open = Open { head, branch };
        let why = |head, branch| not_where_it_was(&open, &place(head, branch)).map(|it| it.0);
        let moved =
            "the checkout has fixes of this run, and `HEAD` is another commit than before them";
        let other = "the checkout has fixes of this run, and another branch is checked out than before them";
        assert_eq!(why("c1", "work"), None);
        assert_eq!(why("c2", "work"), Some(moved));
        assert_eq!(why("c1", "other"), Some(other));
    }
}
