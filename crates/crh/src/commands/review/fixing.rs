//! Applies fixes after a review, depending on the mode.

use std::collections::BTreeSet;
use std::io::IsTerminal;

use super::outcome::ReviewEnding;
use super::progress::Progress;
use super::repeat;
use super::session::{PostDestination, ReviewSession};
use crate::commands::interrupts;
use crate::commands::interrupts::InterruptGuard;
use crate::config::environment::Environment;
use crate::failure::Failure;
use crate::fix::edit_authority::{EditAuthority, SafeFixTiming};
use crate::fix::outcome::FixPass;
use crate::fix::residual::left_before;
use crate::fix::review_marks::{FixReviewEnd, mark_files};
use crate::fix::{AppliedFixes, FixObstacle, FixOrigin, UpdateStorage};
use crate::hand_off::todos;
use crate::ui::Verbosity;
use crate::{fix, ui};
use crh_pipeline::target_args;
use crh_review::finding::Owner;
use crh_review::report::{AppliedFix, FixOutcome, Queue, Report, ReviewMode, Status};

/// Maximum number of rounds. A round applies fixes and reviews the fixed files again.
const ROUNDS: u32 = 2;
/// Number of rounds in headless mode. Its only round ends without another review, because the
/// calling program decides how to go on.
const HEADLESS_ROUNDS: u32 = 1;

const FIXING_STOPPED: &str = "you stopped the fixing; crh applied only the fixes in the report";

/// Prefix of the warning that todo files could not be written.
pub(super) const NO_TODOS: &str = "todo files not written";

/// Whether crh may ask the user about the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum Questions {
    /// If there is a terminal and the mode asks.
    AtTerminal,
    /// Never.
    Never,
}

/// When safe fixes are applied. Only a mode that the user named on the command line allows edits
/// before the first question.
pub(super) fn safe_fix_timing(typed: Option<target_args::RequestedMode>) -> SafeFixTiming {
    match typed {
        Some(target_args::RequestedMode::Interactive) => SafeFixTiming::BeforeQuestions,
        None
        | Some(
            target_args::RequestedMode::Autofix
            | target_args::RequestedMode::Headless
            | target_args::RequestedMode::ReportOnly,
        ) => SafeFixTiming::AfterAgreement,
    }
}

/// Who decides about edits in a mode.
pub(super) fn authority(
    mode: ReviewMode,
    timing: SafeFixTiming,
    posts: PostDestination,
    questions: Questions,
) -> EditAuthority {
    let authority = match (mode, questions) {
        (ReviewMode::Autofix, _) => EditAuthority::SafeFixes { rounds: ROUNDS },
        (ReviewMode::Headless, _) => EditAuthority::SafeFixes { rounds: HEADLESS_ROUNDS },
        (ReviewMode::Interactive, Questions::AtTerminal) if has_terminal() => {
            EditAuthority::AsAsked(timing)
        }
        (ReviewMode::Interactive | ReviewMode::ReportOnly, _) => EditAuthority::Unasked,
    };
    match (&authority, posts) {
        (EditAuthority::Unasked | EditAuthority::NotAllowed(_), _) => authority,
        (
            EditAuthority::SafeFixes { .. } | EditAuthority::AsAsked(_),
            PostDestination::To(forge),
        ) => forbid_for_posted_review(forge.word()),
        (EditAuthority::SafeFixes { .. } | EditAuthority::AsAsked(_), PostDestination::Nothing) => {
            authority
        }
    }
}

/// Prints that a review in interactive mode asks no questions, because there is no terminal. A
/// resumed run prints its own note.
pub(super) fn note_missing_terminal(
    timing: SafeFixTiming,
    authority: &EditAuthority,
    resumed: Option<&str>,
    questions: Questions,
) {
    // Without questions for another reason, a terminal would change nothing.
    let is_unasked = matches!(authority, EditAuthority::Unasked)
        && questions == Questions::AtTerminal
        && resumed.is_none();
    if timing == SafeFixTiming::BeforeQuestions && is_unasked {
        ui::note(
            "crh asks nothing and changes no file: standard input or standard error is not a terminal",
        );
    }
}

/// Forbids edits if an interrupted fix could not be rolled back.
pub(super) fn unless_half_done(authority: EditAuthority, session: &ReviewSession) -> EditAuthority {
    let Some(failure) = &session.interrupted_fix else { return authority };
    let why = format!("{:#}", failure.error);
    if session.terms.mode == ReviewMode::Interactive {
        ui::warn(&format!("no questions are asked: {why}"));
        failure.hint.iter().for_each(|hint| ui::note(hint));
    }
    EditAuthority::NotAllowed(why)
}

/// Forbids edits of a posted review: its readers do not have the fixes.
fn forbid_for_posted_review(place: &str) -> EditAuthority {
    EditAuthority::NotAllowed(format!(
        "the review is posted, and the fixes would not be in the {place}"
    ))
}

fn has_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Result of the fix phase.
pub(super) struct FixPhaseResult {
    pub(super) end: ReviewEnding,
    /// Why the run folder could not be updated.
    pub(super) store_error: Option<String>,
    /// Why todo files could not be written.
    pub(super) todo_error: Option<Failure>,
}

/// Applies the fixes that need no question, and updates the report. Errors become warnings in the
/// report, so that the user always gets a report.
pub(super) fn fix(
    session: &ReviewSession,
    report: &mut Report,
    authority: &EditAuthority,
    verbosity: Verbosity,
    environment: &Environment,
) -> FixPhaseResult {
    match authority {
        EditAuthority::SafeFixes { rounds } => {
            // Remove the warnings of an earlier, stopped attempt of this run.
            report.warnings.retain(|warning| {
                ![FIXING_STOPPED, repeat::REPEATED_REVIEW_STOPPED].contains(&warning.as_str())
            });
            let fixed = rounds_of_fixes(session, report, *rounds, verbosity, environment);
            let fixed = without_missing(session, report, fixed);
            if fixed.is_stopped {
                fix::warn(report, &[FIXING_STOPPED.to_owned()]);
                let store_error = finish(session, report, fixed).store_error;
                return FixPhaseResult {
                    end: ReviewEnding::Interrupted,
                    store_error,
                    todo_error: None,
                };
            }
            fix::warn_skipped(report, &fixed.left);
            let ended = finish_and_hand_off(session, report, fixed);
            if ended.todo_error.is_none() && ended.store_error.is_none() {
                // Store this last, so that the user can resume a run that is interrupted before.
                Progress { final_mode: Some(session.terms.mode), ..Progress::load(session) }
                    .keep(session);
            }
            ended
        }
        EditAuthority::NotAllowed(why) => {
            fix::warn(report, &[not_applied(session, why)]);
            match session.terms.mode {
                ReviewMode::Interactive | ReviewMode::ReportOnly => {
                    store_without_fixes(session, report)
                }
                // Todo files are new files and change nothing that was reviewed.
                ReviewMode::Autofix | ReviewMode::Headless => {
                    finish_and_hand_off(session, report, FixPass::default())
                }
            }
        }
        EditAuthority::AsAsked(_) => {
            let obstacle = fix::obstacle(session).filter(|_| session.checkout.is_none());
            let warning = obstacle.map(|obstacle| not_applied(session, &obstacle.to_string()));
            fix::warn(report, warning.as_slice());
            store_without_fixes(session, report)
        }
        EditAuthority::Unasked => store_without_fixes(session, report),
    }
}

/// Updates the run folder. In autofix mode also writes todo files.
fn finish_and_hand_off(
    session: &ReviewSession,
    report: &mut Report,
    fixed: FixPass,
) -> FixPhaseResult {
    if session.terms.mode == ReviewMode::Autofix {
        assign_to_downstream_resolver(report);
    }
    let store_error = finish(session, report, fixed).store_error;
    let todo_error = hand_off(session, report);
    FixPhaseResult { end: ReviewEnding::Finished, store_error, todo_error }
}

/// Stores the report without fixes.
fn store_without_fixes(session: &ReviewSession, report: &Report) -> FixPhaseResult {
    fix::store_or_warn(session, report);
    FixPhaseResult { end: ReviewEnding::Finished, store_error: None, todo_error: None }
}

/// The warning that nothing was applied.
fn not_applied(session: &ReviewSession, why: &str) -> String {
    match session.terms.mode {
        ReviewMode::Interactive => format!("nothing was applied, and no question was asked: {why}"),
        ReviewMode::Autofix | ReviewMode::Headless | ReviewMode::ReportOnly => {
            format!("nothing was applied: {why}")
        }
    }
}

/// Assigns safe issues that autofix could not fix to `downstream-resolver`.
fn assign_to_downstream_resolver(report: &mut Report) {
    let unfixed = fix::safe(report);
    let issues = report.issues.iter_mut().chain(&mut report.over_cap);
    for issue in issues.filter(|issue| unfixed.contains(&issue.number)) {
        (issue.owner, issue.queue) = (Owner::DownstreamResolver, Queue::Residual);
    }
}

/// Writes todo files in autofix mode. In headless mode, the calling program routes the issues
/// itself. Returns the failure, if any.
fn hand_off(session: &ReviewSession, report: &mut Report) -> Option<Failure> {
    if session.terms.mode != ReviewMode::Autofix {
        return None;
    }
    let warnings_before = report.warnings.clone();
    // Drop the warning of an earlier attempt.
    report.warnings.retain(|warning| !warning.starts_with(NO_TODOS));
    let failure = match todos::write(
        session.checkout.as_deref(),
        report,
        &session.settings,
        &session.redactor,
    ) {
        Ok(new) => {
            for path in new {
                ui::note(&format!("wrote todo `{}`", path.display()));
            }
            None
        }
        Err(failure) => {
            fix::warn(report, &[format!("{NO_TODOS}: {:#}", failure.error)]);
            Some(failure)
        }
    };
    if report.warnings != warnings_before {
        fix::store_or_warn(session, report);
    }
    failure
}

fn finish(session: &ReviewSession, report: &mut Report, mut fixed: FixPass) -> FixPass {
    fix::drop_applied_proposals(report);
    fix::up_to_date(session, report);
    fixed.store_error = fix::store(session, report, &fixed.left).err().map(|why| why.to_string());
    fixed
}

/// Applies safe fixes in an interactive review.
pub(crate) fn safe_fixes(
    session: &ReviewSession,
    report: &mut Report,
    verbosity: Verbosity,
    environment: &Environment,
) -> FixPass {
    let fixed = rounds_of_fixes(session, report, ROUNDS, verbosity, environment);
    let fixed = without_missing(session, report, fixed);
    finish(session, report, fixed)
}

/// Applies the chosen fixes in one pass, and reviews the edited files again.
pub(crate) fn chosen_fixes(
    session: &ReviewSession,
    report: &mut Report,
    numbers: &BTreeSet<u32>,
    verbosity: Verbosity,
    environment: &Environment,
) -> Result<FixPass, Failure> {
    let _watch = InterruptGuard::watch(|| {})?;
    let mut fixed = fix::fix(session, report, numbers, fix_origin(session), environment)?;
    if !fixed.applied.is_empty() {
        // Numbered after the rounds of safe fixes.
        let round = ROUNDS + 1;
        let repeat_result =
            review_again(session, report, &fixed.applied, round, verbosity, environment);
        fixed.is_stopped |= repeat_result == RepeatResult::Stopped;
    }
    let fixed = without_missing(session, report, fixed);
    Ok(finish(session, report, fixed))
}

/// Removes the fixes, or their files, that are no longer in the tree from the report and the result.
/// Their issues are open again.
fn without_missing(session: &ReviewSession, report: &mut Report, mut fixed: FixPass) -> FixPass {
    let missing = fix::find_missing_fixes(session, report).and_then(|missing| {
        fix::drop_missing_fixes(session, report, missing, UpdateStorage::Stored)
    });
    match missing {
        Ok(missing) => {
            let is_missing = |number: u32| missing.iter().any(|left| left.number == number);
            fixed.applied.retain_mut(|fix| {
                match (is_missing(fix.number), report.fix_of(fix.number)) {
                    (false, _) => true,
                    (true, None) => false,
                    (true, Some(left)) => {
                        fix.clone_from(left);
                        true
                    }
                }
            });
            fixed.left.retain(|left| !is_missing(left.number));
            fixed.left.extend(missing);
            fixed.left.sort();
        }
        Err(failure) => {
            let why = format!("{:#}", failure.error);
            fix::warn(report, &[format!("crh did not check that the tree has the fixes: {why}")]);
        }
    }
    fixed
}

/// Applies safe fixes and reviews them again, in rounds. Ends if no safe fix is left, after the
/// last round, after a round that did not help, or if the user stops it.
fn rounds_of_fixes(
    session: &ReviewSession,
    report: &mut Report,
    rounds: u32,
    verbosity: Verbosity,
    environment: &Environment,
) -> FixPass {
    let run = match (session.place.folder(), fix::obstacle(session)) {
        (Some(run), None) => run,
        (_, obstacle) => {
            let why = obstacle.unwrap_or(FixObstacle::NotStored).to_string();
            fix::warn(report, &[not_applied(session, &why)]);
            return FixPass::default();
        }
    };
    // Without a handler, the first Ctrl-C ends the process.
    let _watch = InterruptGuard::watch(|| {}).ok();
    for left in fix::unverifiable(session, report, &fix::safe(report), fix_origin(session)) {
        ui::note(&format!("crh does not fix #{}: {}", left.number, left.why));
    }
    let mut progress = Progress::load(session);
    // Try again the issues that another command skipped: the model or the verification command may
    // have changed.
    let mut all = match progress.has_tried {
        true => FixPass::leaving(left_before(run)),
        false => FixPass::default(),
    };
    while progress.rounds < rounds && !all.is_stopped {
        // Do not repeat the fixes of an interrupted run, but review them.
        let applied_fixes = AppliedFixes::load(run).unwrap_or_default();
        let mut waiting = applied_fixes.applied_after(progress.reviewed_up_to);
        waiting.retain(|fix| fix.outcome != FixOutcome::FoundAgain);
        let is_waiting = |number: u32| waiting.iter().any(|fix| fix.number == number);
        let is_open = |number: u32| !report.is_fixed(number) || is_waiting(number);
        let open = report.all_issues().filter(|issue| is_open(issue.number)).count();
        let applied = match waiting.is_empty() || rounds == 1 {
            false => waiting,
            true => {
                let fixed = one_round(session, report, &all, environment);
                let applied = fixed.applied.clone();
                if !fixed.is_stopped {
                    progress.has_tried = true;
                    progress.keep(session);
                }
                all = all.and(fixed);
                applied
            }
        };
        if applied.is_empty() {
            break;
        }
        let repeat_result = match rounds > 1 && !all.is_stopped {
            true => {
                let round = progress.rounds + 1;
                review_again(session, report, &applied, round, verbosity, environment)
            }
            false => RepeatResult::Finished,
        };
        all.is_stopped |= repeat_result == RepeatResult::Stopped || interrupts::is_pressed();
        if repeat_result != RepeatResult::Finished || all.is_stopped {
            break;
        }
        let reviewed_up_to = AppliedFixes::load(run).unwrap_or_default().last();
        progress = Progress { rounds: progress.rounds + 1, reviewed_up_to, ..progress };
        all.store_error = fix::store(session, report, &all.left).err().map(|why| why.to_string());
        if all.store_error.is_some() {
            break;
        }
        progress.keep(session);
        if report.open_issues().count() >= open {
            break;
        }
    }
    all
}

/// Applies safe fixes once, without issues that failed before.
fn one_round(
    session: &ReviewSession,
    report: &mut Report,
    before: &FixPass,
    environment: &Environment,
) -> FixPass {
    let mut numbers = fix::safe(report);
    numbers.retain(|number| before.left.iter().all(|left| left.number != *number));
    if numbers.is_empty() {
        return FixPass::default();
    }
    match fix::fix(session, report, &numbers, fix_origin(session), environment) {
        Ok(fixed) => fixed,
        Err(failure) => {
            fix::warn(report, &[format!("nothing was applied: {:#}", failure.error)]);
            FixPass::default()
        }
    }
}

/// Result of a repeated review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RepeatResult {
    Finished,
    /// The review failed. A warning in the report says why.
    Failed,
    Stopped,
}

fn review_again(
    session: &ReviewSession,
    report: &mut Report,
    applied: &[AppliedFix],
    round: u32,
    verbosity: Verbosity,
    environment: &Environment,
) -> RepeatResult {
    match repeat::review(session, report, applied, round, verbosity, environment) {
        Ok(ReviewEnding::Finished) => RepeatResult::Finished,
        Ok(ReviewEnding::Interrupted) => RepeatResult::Stopped,
        Err(failure) => {
            let why = format!("{:#}", failure.error);
            fix::warn(report, &[format!("the fixes were not reviewed again: {why}")]);
            let files: BTreeSet<String> =
                applied.iter().flat_map(|fix| fix.files.iter().cloned()).collect();
            let end = FixReviewEnd::Ended(Status::Error);
            mark_files(session, report, &files, &files, end);
            RepeatResult::Failed
        }
    }
}

/// Origin of the fixes.
fn fix_origin(session: &ReviewSession) -> FixOrigin {
    match session.terms.mode {
        ReviewMode::Interactive => FixOrigin::Questions,
        ReviewMode::Autofix | ReviewMode::Headless | ReviewMode::ReportOnly => FixOrigin::Mode,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crh_pipeline::sinks::ForgeName;

    #[test]
    fn posted_review_applies_no_fixes() {
        for (posts, place) in [
            (PostDestination::To(ForgeName::GitHub), "pull request"),
            (PostDestination::To(ForgeName::Launchpad), "merge proposal"),
        ] {
            for mode in [ReviewMode::Autofix, ReviewMode::Headless] {
                let why =
                    format!("the review is posted, and the fixes would not be in the {place}");
                let timing = SafeFixTiming::AfterAgreement;
                let authority = authority(mode, timing, posts, Questions::AtTerminal);
                assert_eq!(authority, EditAuthority::NotAllowed(why));
            }
        }
    }
}
