//! Stores the state of the questions in the run folder, undoes their fixes, and resumes the
//! questions.
//!
//! Invariant: crh undoes fixes only at the commit and branch where it made them, and only if every
//! file is as the fixes left it.

use super::destination::CheckoutPosition;
use super::flow::Flow;
use super::next::Decision;
use super::stored_questions::{QUESTIONS, Questions, StartPosition, StoredDecision};
use crate::commands::review::session::ReviewSession;
use crate::failure::Failure;
use crate::fix::found_on::forget_found_on;
use crate::fix::journal::{LockedCheckout, UNDISTURBED};
use crate::fix::residual::forget_left;
use crate::fix::{AppliedFixes, FixOrigin};
use crate::{fix, ui};
use crh_review::report::Report;

/// Error and hint if the run has fixes of another command.
const OTHERS_FIXES: (&str, &str) = (
    "the checkout has fixes of this run that another command applied",
    "run `crh fix --undo RUN`, then resume the review",
);

/// Stores that questions are open, and the position of the checkout.
pub(super) fn keep_open(session: &ReviewSession, place: &CheckoutPosition) {
    let CheckoutPosition { head, branch } = place.clone();
    store_questions(session, &Questions::Open(StartPosition { head, branch }));
}

/// Stores the decisions.
pub(super) fn keep_answered(session: &ReviewSession, flow: &Flow) {
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
        StoredDecision { number: *number, decision: word.to_owned(), detail: detail.to_owned() }
    };
    store_questions(
        session,
        &Questions::Answered { decisions: flow.decided.iter().map(decided).collect() },
    );
}

fn store_questions(session: &ReviewSession, questions: &Questions) {
    if let Some(folder) = session.place.folder()
        && let Err(problem) = folder.store(QUESTIONS, questions)
    {
        ui::warn(&problem.to_string());
    }
}

/// Undoes all fixes if the checkout is still at `place`. Returns the restored files.
pub(super) fn taken_back(
    session: &ReviewSession,
    place: &CheckoutPosition,
) -> Result<Vec<String>, Failure> {
    let applied_fixes =
        session.place.folder().map(AppliedFixes::load).transpose()?.unwrap_or_default();
    if let (false, Some(checkout)) = (applied_fixes.is_empty(), &session.checkout)
        && let Some(why) = place.left_for(&CheckoutPosition::read(checkout)?)
    {
        return Err(Failure::usage(why));
    }
    undo(session)
}

/// The failure if the run has fixes of another command, which the questions must not undo.
pub(crate) fn others_fixes() -> Failure {
    let (why, hint) = OTHERS_FIXES;
    Failure::usage(why).hint(hint)
}

/// The report of a finished review with open questions, so that the review need not run again.
/// Undoes fixes that a killed process left behind.
pub(crate) fn left_open(session: &ReviewSession) -> Result<Option<Report>, Failure> {
    let (Some(folder), Some(checkout)) = (session.place.folder(), &session.checkout) else {
        return Ok(None);
    };
    let open = match folder.read::<Questions>(QUESTIONS) {
        Ok(Questions::Open(open)) => open,
        Ok(Questions::Answered { .. }) | Err(_) => return Ok(None),
    };
    let applied_fixes = AppliedFixes::load(folder)?;
    if !applied_fixes.is_all_for(FixOrigin::Questions) {
        return Err(others_fixes());
    }
    if !applied_fixes.is_empty()
        && let Some((why, hint)) = position_problem(&open, &CheckoutPosition::read(checkout)?)
    {
        return Err(Failure::usage(why).hint(hint));
    }
    let files = undo(session)?;
    if !files.is_empty() {
        let files = files.join(", ");
        ui::note(&format!("undid the fixes of the interrupted questions: {files}"));
    }
    Ok(folder.read(fix::REVIEWED).ok())
}

/// Why fixes cannot be undone at this position, with a hint.
fn position_problem(
    open: &StartPosition,
    now: &CheckoutPosition,
) -> Option<(&'static str, &'static str)> {
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
fn undo(session: &ReviewSession) -> Result<Vec<String>, Failure> {
    let (Some(folder), Some(checkout)) = (session.place.folder(), &session.checkout) else {
        return Ok(Vec::new());
    };
    let locked = LockedCheckout::take(checkout, folder.stamp_key())?;
    let files = locked.undo(&fix::fixes_of(folder), UNDISTURBED)?;
    // After an undo, crh tries again the issues that it could not fix.
    if let Err(problem) = forget_left(folder).and_then(|()| forget_found_on(folder)) {
        ui::warn(&problem.to_string());
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixes_are_undone_only_at_the_same_commit_and_branch() {
        let place = |head: &str, branch: &str| CheckoutPosition {
            head: Some(head.to_owned()),
            branch: Some(branch.to_owned()),
        };
        let CheckoutPosition { head, branch } = place("c1", "work");
        let open = StartPosition { head, branch };
        let why = |head, branch| position_problem(&open, &place(head, branch)).map(|it| it.0);
        let moved = "the checkout has fixes of this run, and `HEAD` has moved since";
        let other = "the checkout has fixes of this run, and another branch is checked out now";
        assert_eq!(why("c1", "work"), None);
        assert_eq!(why("c2", "work"), Some(moved));
        assert_eq!(why("c1", "other"), Some(other));
    }
}
