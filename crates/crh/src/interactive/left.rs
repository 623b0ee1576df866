//! Questions that are left: what a run keeps of them, how what they have changed is taken back, and how whoever left comes back to
//! them.
//!
//! Invariant: fixes are taken back only where they were made, and only as long as every file is as they have left it.

use crh_review::report::Mode;
use crh_review::report::Report;
use serde::Deserialize;
use serde::Serialize;

use super::flow::Flow;
use super::next::Decision;
use super::standing::Place;
use crate::commands::not_undone;
use crate::commands::review::Begun;
use crate::failure::Failure;
use crate::fix;
use crate::fix::journal::Locked;
use crate::fix::journal::UNDISTURBED;
use crate::ui;

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
    /// What the checkout is like with the last fix that they made; none if they have made none.
    #[serde(default)]
    fixed: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Decided {
    number: u32,
    decision: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    detail: String,
}

/// Keeps that there are questions, and what has been fixed for them.
pub(super) fn keep_open(begun: &Begun, place: &Place) {
    let fixed = begun.place.folder().and_then(fix::standing_commit);
    keep(
        begun,
        &Questions::Open(Open { head: place.head.clone(), branch: place.branch.clone(), fixed }),
    );
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
    let stands = begun.place.folder().and_then(fix::standing_commit).is_some();
    if let (true, Some(checkout)) = (stands, &begun.checkout)
        && let Some(why) = place.left_for(&Place::of(checkout)?)
    {
        return Err(Failure::usage(why));
    }
    undo(begun)
}

/// Whether all questions about a review were answered.
pub(crate) fn is_answered(begun: &Begun) -> bool {
    let questions = begun.place.folder().map(|folder| folder.read::<Questions>(QUESTIONS));
    match questions {
        Some(Ok(Questions::Answered { .. })) => begun.terms.mode == Mode::Interactive,
        Some(Ok(Questions::Open(_)) | Err(_)) | None => false,
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
    let fixed = fix::standing_commit(folder);
    if let Some((why, hint)) = not_taken_back(&open, fixed.as_deref(), &Place::of(checkout)?) {
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

/// Why the fixes that stand in a checkout are not those of the questions to take back, and what can be done about that.
fn not_taken_back(
    open: &Open,
    fixed: Option<&str>,
    place: &Place,
) -> Option<(&'static str, &'static str)> {
    match fixed {
        None => None,
        Some(_) if open.fixed.as_deref() != fixed => Some(OTHERS_FIXES),
        Some(_) if open.head != place.head => Some((
            "the checkout has fixes of this run, and `HEAD` is another commit than before them",
            "check that commit out, or review what there is now",
        )),
        Some(_) if open.branch != place.branch => Some((
            "the checkout has fixes of this run, and another branch is checked out than before them",
            "switch to that branch, or review what there is now",
        )),
        Some(_) => None,
    }
}

/// Takes back all that was fixed after this review; the files that it was in.
fn undo(begun: &Begun) -> Result<Vec<String>, Failure> {
    let (Some(folder), Some(checkout)) = (begun.place.folder(), &begun.checkout) else {
        return Ok(Vec::new());
    };
    Locked::take(checkout)
        .and_then(|locked| locked.undo(&fix::fixes_of(folder), UNDISTURBED))
        .map_err(not_undone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fixes_of_the_questions_are_taken_back_and_only_where_they_were_made() {
        let place = |head: &str| Place { head: Some(head.to_owned()), branch: None };
        let fixed = Some("f1".to_owned());
        let open = Open { head: Some("c1".to_owned()), branch: None, fixed };
        let why =
            |open: &Open, fixed, head| not_taken_back(open, fixed, &place(head)).map(|it| it.0);
        let others = "the checkout has fixes of this run that its questions have not made";
        let moved =
            "the checkout has fixes of this run, and `HEAD` is another commit than before them";
        assert_eq!(why(&open, Some("f1"), "c1"), None);
        assert_eq!(why(&open, Some("f2"), "c1"), Some(others));
        assert_eq!(why(&Open::default(), Some("f1"), "c1"), Some(others));
        assert_eq!(why(&open, Some("f1"), "c2"), Some(moved));
        let elsewhere = Place { branch: Some("other".to_owned()), ..place("c1") };
        let other = not_taken_back(&open, Some("f1"), &elsewhere).map(|it| it.0);
        assert!(other.is_some_and(|why| why.contains("another branch")), "{other:?}");
        // Nothing is there to take back.
        assert_eq!(why(&open, None, "c2"), None);
    }
}
