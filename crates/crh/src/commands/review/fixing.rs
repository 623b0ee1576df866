//! Applies fixes after a review, depending on the mode.

use std::collections::BTreeSet;
use std::io::IsTerminal;

use super::super::forge::Forge;
use super::begin::{Begun, Posts};
use super::outcome::End;
use super::progress::Progress;
use super::{Questions, again};
use crate::commands::interrupts;
use crate::commands::interrupts::InterruptGuard;
use crate::config::environment::Environment;
use crate::failure::Failure;
use crate::fix::outcome::{Fixed, Left};
use crate::fix::{Asker, Authority, SafeFixTiming, Standing};
use crate::hand_off::todos;
use crate::ui::Verbosity;
use crate::{fix, ui};
use crh_pipeline::target_args;
use crh_review::finding::Owner;
use crh_review::report::{AppliedFix, FixOutcome, Queue, Report, ReviewMode};

/// Maximum number of rounds; each round is a review of its own.
const ROUNDS: u32 = 2;
/// The calling program decides about further rounds.
const HEADLESS_ROUNDS: u32 = 1;

const FIXING_STOPPED: &str = "you stopped the fixing; crh applied only the fixes in the report";

/// Prefix of the warning that todo files could not be written.
pub(super) const NO_TODOS: &str = "todo files not written";

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
    posts: Posts,
    questions: Questions,
) -> Authority {
    let authority = match (mode, questions) {
        (ReviewMode::Autofix, _) => Authority::SafeFixes { rounds: ROUNDS },
        (ReviewMode::Headless, _) => Authority::SafeFixes { rounds: HEADLESS_ROUNDS },
        (ReviewMode::Interactive, Questions::AtTerminal) if is_talk_possible() => {
            Authority::AsAsked(timing)
        }
        (ReviewMode::Interactive | ReviewMode::ReportOnly, _) => Authority::Unasked,
    };
    match (&authority, posts) {
        (Authority::Unasked | Authority::NotAllowed(_), _) => authority,
        (Authority::SafeFixes { .. } | Authority::AsAsked(_), Posts::To(forge)) => {
            posted(Forge::word(forge))
        }
        (Authority::SafeFixes { .. } | Authority::AsAsked(_), Posts::Nothing) => authority,
    }
}

/// Says that a review which was started as interactive is not. A resumed run says itself what it
/// does.
pub(super) fn note_missing_terminal(
    timing: SafeFixTiming,
    authority: &Authority,
    resumed: Option<&str>,
) {
    let is_unasked = matches!(authority, Authority::Unasked);
    if timing == SafeFixTiming::BeforeQuestions && is_unasked && resumed.is_none() {
        ui::note(
            "crh asks nothing and changes no file: standard input or standard error is not a terminal",
        );
    }
}

/// Forbids edits if an interrupted fix could not be rolled back.
pub(super) fn unless_half_done(authority: Authority, begun: &Begun) -> Authority {
    let Some(failure) = &begun.half_done else { return authority };
    let why = format!("{:#}", failure.error);
    if begun.terms.mode == ReviewMode::Interactive {
        ui::warn(&format!("no questions are asked: {why}"));
        failure.hint.iter().for_each(|hint| ui::note(hint));
    }
    Authority::NotAllowed(why)
}

/// Forbids edits of a posted review: its readers do not have the fixes.
fn posted(place: &str) -> Authority {
    Authority::NotAllowed(format!(
        "the review is posted, and the fixes would not be in the {place}"
    ))
}

fn is_talk_possible() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Result of the fix phase.
pub(super) struct Ended {
    pub(super) end: End,
    /// Why the run folder could not be updated.
    pub(super) unkept: Option<String>,
    /// Why todo files could not be written.
    pub(super) no_todos: Option<Failure>,
}

/// Applies the fixes that need no question, and updates the report. Errors become warnings in the
/// report, so that there always is one.
pub(super) fn fix(
    begun: &Begun,
    report: &mut Report,
    authority: &Authority,
    verbosity: Verbosity,
    environment: &Environment,
) -> Ended {
    match authority {
        Authority::SafeFixes { rounds } => {
            // A resumed run is not stopped any more.
            report.warnings.retain(|warning| {
                ![FIXING_STOPPED, again::LOOK_STOPPED].contains(&warning.as_str())
            });
            let fixed = rounds_of_fixes(begun, report, *rounds, verbosity, environment);
            if fixed.is_stopped {
                fix::warn(report, &[FIXING_STOPPED.to_owned()]);
                let unkept = finish(begun, report, fixed).unkept;
                return Ended { end: End::Interrupted, unkept, no_todos: None };
            }
            let not_fixed = |left: &Left| format!("#{} not fixed: {}", left.number, left.why);
            fix::warn(report, &fixed.left.iter().map(not_fixed).collect::<Vec<_>>());
            let ended = handed_over(begun, report, fixed);
            if ended.no_todos.is_none() && ended.unkept.is_none() {
                // Last, so that an interrupted run can be resumed before it.
                Progress { ended_in: Some(begun.terms.mode), ..Progress::of(begun) }.keep(begun);
            }
            ended
        }
        Authority::NotAllowed(why) => {
            fix::warn(report, &[not_applied(begun, why)]);
            match begun.terms.mode {
                ReviewMode::Interactive | ReviewMode::ReportOnly => shown_only(begun, report),
                // Todo files are new files and change nothing that was reviewed.
                ReviewMode::Autofix | ReviewMode::Headless => {
                    handed_over(begun, report, Fixed::default())
                }
            }
        }
        Authority::AsAsked(_) => {
            let elsewhere = fix::not_the_checkout(begun).filter(|_| begun.checkout.is_none());
            fix::warn(report, elsewhere.map(|why| not_applied(begun, &why)).as_slice());
            shown_only(begun, report)
        }
        Authority::Unasked => shown_only(begun, report),
    }
}

/// Updates the run folder and writes todo files.
fn handed_over(begun: &Begun, report: &mut Report, fixed: Fixed) -> Ended {
    if begun.terms.mode == ReviewMode::Autofix {
        leave_to_others(report);
    }
    let unkept = finish(begun, report, fixed).unkept;
    let no_todos = hand_off(begun, report);
    Ended { end: End::Finished, unkept, no_todos }
}

/// Stores the report without fixes.
fn shown_only(begun: &Begun, report: &Report) -> Ended {
    fix::store_or_warn(begun, report);
    Ended { end: End::Finished, unkept: None, no_todos: None }
}

/// The warning that nothing was applied.
fn not_applied(begun: &Begun, why: &str) -> String {
    match begun.terms.mode {
        ReviewMode::Interactive => format!("nothing was applied, and no question was asked: {why}"),
        ReviewMode::Autofix | ReviewMode::Headless | ReviewMode::ReportOnly => {
            format!("nothing was applied: {why}")
        }
    }
}

/// Assigns safe issues that autofix could not fix to `downstream-resolver`.
fn leave_to_others(report: &mut Report) {
    let unfixed = fix::safe(report);
    let issues = report.issues.iter_mut().chain(&mut report.over_cap);
    for issue in issues.filter(|issue| unfixed.contains(&issue.number)) {
        (issue.owner, issue.queue) = (Owner::DownstreamResolver, Queue::Residual);
    }
}

/// Writes todo files in autofix mode. In other modes, callers route the issues themselves. Returns
/// the failure, if any.
fn hand_off(begun: &Begun, report: &mut Report) -> Option<Failure> {
    if begun.terms.mode != ReviewMode::Autofix {
        return None;
    }
    let said_before = report.warnings.clone();
    // Drop the warning of an earlier attempt.
    report.warnings.retain(|warning| !warning.starts_with(NO_TODOS));
    let failure = match todos::write(begun, report, &begun.settings) {
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
    if report.warnings != said_before {
        fix::store_or_warn(begun, report);
    }
    failure
}

fn finish(begun: &Begun, report: &mut Report, mut fixed: Fixed) -> Fixed {
    fix::up_to_date(begun, report);
    fixed.unkept = fix::store(begun, report, &fixed.left).err().map(|why| why.to_string());
    fixed
}

/// Applies safe fixes in an interactive review.
pub(crate) fn safe_fixes(
    begun: &Begun,
    report: &mut Report,
    verbosity: Verbosity,
    environment: &Environment,
) -> Fixed {
    let fixed = rounds_of_fixes(begun, report, ROUNDS, verbosity, environment);
    finish(begun, report, fixed)
}

/// Applies the chosen fixes in one pass, and reviews the edited files again.
pub(crate) fn chosen_fixes(
    begun: &Begun,
    report: &mut Report,
    numbers: &BTreeSet<u32>,
    verbosity: Verbosity,
    environment: &Environment,
) -> Result<Fixed, Failure> {
    let _watch = InterruptGuard::watch(|| {})?;
    let mut fixed = fix::fix(begun, report, numbers, asker(begun), environment)?;
    if !fixed.applied.is_empty() {
        // After the rounds of safe fixes.
        let round = ROUNDS + 1;
        let looked = looked_again(begun, report, &fixed.applied, round, verbosity, environment);
        fixed.is_stopped |= looked == Looked::Stopped;
    }
    Ok(finish(begun, report, fixed))
}

/// Fixes and reviews again until nothing safe is left, the rounds are used up, a round did not
/// help, or the user stops it.
fn rounds_of_fixes(
    begun: &Begun,
    report: &mut Report,
    rounds: u32,
    verbosity: Verbosity,
    environment: &Environment,
) -> Fixed {
    let Some(run) = begun.place.folder().filter(|_| fix::not_the_checkout(begun).is_none()) else {
        let why = fix::not_the_checkout(begun).unwrap_or_default();
        fix::warn(report, &[not_applied(begun, &why)]);
        return Fixed::default();
    };
    // Without a handler, the first Ctrl-C ends the process.
    let _watch = InterruptGuard::watch(|| {}).ok();
    for left in fix::unverifiable(begun, report, &fix::safe(report), asker(begun)) {
        ui::note(&format!("crh does not fix #{}: {}", left.number, left.why));
    }
    let mut progress = Progress::of(begun);
    // Issues that another command skipped are tried again: the model or the verification command
    // may have changed.
    let mut all = match progress.has_tried {
        true => Fixed::leaving(fix::left_before(run)),
        false => Fixed::default(),
    };
    while progress.rounds < rounds && !all.is_stopped {
        // Fixes of an interrupted run are not repeated, only reviewed.
        let standing = Standing::of(run).unwrap_or_default();
        let mut waiting = standing.applied_after(progress.looked_at);
        waiting.retain(|fix| fix.outcome != FixOutcome::FoundAgain);
        let is_waiting = |number: u32| waiting.iter().any(|fix| fix.number == number);
        let is_open = |number: u32| !report.is_fixed(number) || is_waiting(number);
        let open = report.all_issues().filter(|issue| is_open(issue.number)).count();
        let applied = match waiting.is_empty() || rounds == 1 {
            false => waiting,
            true => {
                let fixed = one_round(begun, report, &all, environment);
                let applied = fixed.applied.clone();
                if !fixed.is_stopped {
                    progress.has_tried = true;
                    progress.keep(begun);
                }
                all = all.and(fixed);
                applied
            }
        };
        if applied.is_empty() {
            break;
        }
        let looked = match rounds > 1 && !all.is_stopped {
            true => {
                let round = progress.rounds + 1;
                looked_again(begun, report, &applied, round, verbosity, environment)
            }
            false => Looked::Over,
        };
        all.is_stopped |= looked == Looked::Stopped || interrupts::is_pressed();
        if looked != Looked::Over || all.is_stopped {
            break;
        }
        let looked_at = Standing::of(run).unwrap_or_default().last();
        progress = Progress { rounds: progress.rounds + 1, looked_at, ..progress };
        all.unkept = fix::store(begun, report, &all.left).err().map(|why| why.to_string());
        if all.unkept.is_some() {
            break;
        }
        progress.keep(begun);
        if report.open_issues().count() >= open {
            break;
        }
    }
    all
}

/// Applies safe fixes once, without issues that failed before.
fn one_round(
    begun: &Begun,
    report: &mut Report,
    before: &Fixed,
    environment: &Environment,
) -> Fixed {
    let mut numbers = fix::safe(report);
    numbers.retain(|number| before.left.iter().all(|left| left.number != *number));
    if numbers.is_empty() {
        return Fixed::default();
    }
    match fix::fix(begun, report, &numbers, asker(begun), environment) {
        Ok(fixed) => fixed,
        Err(failure) => {
            fix::warn(report, &[format!("nothing was applied: {:#}", failure.error)]);
            Fixed::default()
        }
    }
}

/// Result of a repeated review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Looked {
    Over,
    /// The error is in a warning.
    Failed,
    Stopped,
}

fn looked_again(
    begun: &Begun,
    report: &mut Report,
    applied: &[AppliedFix],
    round: u32,
    verbosity: Verbosity,
    environment: &Environment,
) -> Looked {
    match again::review(begun, report, applied, round, verbosity, environment) {
        Ok(End::Finished) => Looked::Over,
        Ok(End::Interrupted) => Looked::Stopped,
        Err(failure) => {
            let why = format!("{:#}", failure.error);
            fix::warn(report, &[format!("the fixes were not reviewed again: {why}")]);
            let files: BTreeSet<String> =
                applied.iter().flat_map(|fix| fix.files.iter().cloned()).collect();
            again::mark_coverage(report, &files, &files);
            Looked::Failed
        }
    }
}

/// Origin of the fixes.
fn asker(begun: &Begun) -> Asker {
    match begun.terms.mode {
        ReviewMode::Interactive => Asker::Questions,
        ReviewMode::Autofix | ReviewMode::Headless | ReviewMode::ReportOnly => Asker::Mode,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crh_pipeline::sinks::ForgeName;

    #[test]
    fn posted_review_applies_no_fixes() {
        for (posts, place) in [
            (Posts::To(ForgeName::GitHub), "pull request"),
            (Posts::To(ForgeName::Launchpad), "merge proposal"),
        ] {
            for mode in [ReviewMode::Autofix, ReviewMode::Headless] {
                let why =
                    format!("the review is posted, and the fixes would not be in the {place}");
                let timing = SafeFixTiming::AfterAgreement;
                let authority = authority(mode, timing, posts, Questions::AtTerminal);
                assert_eq!(authority, Authority::NotAllowed(why));
            }
        }
    }
}
