//! What a review does about what it has found, by whoever may change the tree.

use std::collections::BTreeSet;
use std::io::IsTerminal;

use super::begin::{Begun, Posts};
use super::outcome::End;
use super::progress::Progress;
use super::{Questions, again};
use crate::commands::interrupts;
use crate::commands::interrupts::Interrupts;
use crate::config::environment::Environment;
use crate::failure::Failure;
use crate::fix::outcome::{Fixed, Left};
use crate::fix::{Asker, Authority, Standing};
use crate::hand_off::todos;
use crate::ui::Verbosity;
use crate::{fix, ui};
use crh_review::finding::Owner;
use crh_review::report::{AppliedFix, Mode, Queue, Report};

/// A fixer that has not put everything right by then does not: each round is a review of its own.
const ROUNDS: u32 = 2;
/// Programs that call for a review decide themselves whether there is another round.
const HEADLESS_ROUNDS: u32 = 1;

const FIXING_STOPPED: &str =
    "fixing was stopped: what stands under applied fixes is done, and nothing else";

/// How the warning begins that what is left to others is written nowhere.
pub(super) const NO_TODOS: &str = "the todos were not written";

/// Who may change the tree in a mode.
pub(super) fn authority(mode: Mode, posts: Posts, questions: Questions) -> Authority {
    let authority = match (mode, questions) {
        (Mode::Autofix, _) => Authority::SafeFixes { rounds: ROUNDS },
        (Mode::Headless, _) => Authority::SafeFixes { rounds: HEADLESS_ROUNDS },
        (Mode::Interactive, Questions::ToPerson) if is_talk_possible() => Authority::AsAsked,
        (Mode::Interactive | Mode::ReportOnly, _) => Authority::Unasked,
    };
    match (&authority, posts) {
        (Authority::Unasked | Authority::Nobody(_), _) => authority,
        (Authority::SafeFixes { .. } | Authority::AsAsked, Posts::ToPullRequest) => {
            posted("pull request")
        }
        (Authority::SafeFixes { .. } | Authority::AsAsked, Posts::ToMergeProposal) => {
            posted("merge proposal")
        }
        (Authority::SafeFixes { .. } | Authority::AsAsked, Posts::Nothing) => authority,
    }
}

/// The same, but nobody where a fix stands in the checkout by half: another one would be written over it.
pub(super) fn unless_half_done(authority: Authority, begun: &Begun) -> Authority {
    let Some(failure) = &begun.half_done else { return authority };
    let why = format!("{:#}", failure.error);
    if begun.terms.mode == Mode::Interactive {
        ui::warn(&format!("nobody is asked about the report: {why}"));
        failure.hint.iter().for_each(|hint| ui::note(hint));
    }
    Authority::Nobody(why)
}

/// Nobody, for others would read of fixes that they do not have.
fn posted(place: &str) -> Authority {
    Authority::Nobody(format!(
        "the review is posted, and the {place} does not have what would be fixed here"
    ))
}

fn is_talk_possible() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// How fixing came to its end.
pub(super) struct Ended {
    pub(super) end: End,
    /// Why the run folder does not know what was fixed; none if it does.
    pub(super) unkept: Option<String>,
    /// Why todos that were to be written were not; none if they were.
    pub(super) no_todos: Option<Failure>,
}

/// Fixes what may be fixed without asking, and brings the report up to date. What goes wrong is said in it: whoever waits for a report
/// gets one.
pub(super) fn fix(
    begun: &Begun,
    report: &mut Report,
    authority: &Authority,
    verbosity: Verbosity,
    environment: &Environment,
) -> Ended {
    match authority {
        Authority::SafeFixes { rounds } => {
            // Whoever goes on has not stopped.
            report.warnings.retain(|warning| {
                ![FIXING_STOPPED, again::LOOK_STOPPED].contains(&warning.as_str())
            });
            let fixed = rounds_of_fixes(begun, report, *rounds, verbosity, environment);
            if fixed.is_stopped {
                fix::warn(report, &[FIXING_STOPPED.to_owned()]);
                let unkept = finish(begun, report, fixed).unkept;
                return Ended { end: End::Interrupted, unkept, no_todos: None };
            }
            let not_fixed = |left: &Left| format!("#{} was not fixed: {}", left.number, left.why);
            fix::warn(report, &fixed.left.iter().map(not_fixed).collect::<Vec<_>>());
            let ended = handed_over(begun, report, fixed);
            if ended.no_todos.is_none() && ended.unkept.is_none() {
                // Last: whoever is ended before goes on with what is left.
                Progress { ended_in: Some(begun.terms.mode), ..Progress::of(begun) }.keep(begun);
            }
            ended
        }
        Authority::Nobody(why) => {
            fix::warn(report, &[not_applied(begun, why)]);
            match begun.terms.mode {
                Mode::Interactive | Mode::ReportOnly => shown_only(begun, report),
                // Todos are new files beside what was reviewed, and stand in nobody's way.
                Mode::Autofix | Mode::Headless => handed_over(begun, report, Fixed::default()),
            }
        }
        Authority::AsAsked => {
            let elsewhere = fix::not_the_checkout(begun).filter(|_| begun.checkout.is_none());
            fix::warn(report, elsewhere.map(|why| not_applied(begun, &why)).as_slice());
            shown_only(begun, report)
        }
        Authority::Unasked => shown_only(begun, report),
    }
}

/// Brings the run folder to what was done, and leaves the rest to others.
fn handed_over(begun: &Begun, report: &mut Report, fixed: Fixed) -> Ended {
    if begun.terms.mode == Mode::Autofix {
        leave_to_others(report);
    }
    let unkept = finish(begun, report, fixed).unkept;
    let no_todos = hand_off(begun, report);
    Ended { end: End::Finished, unkept, no_todos }
}

/// Nothing is done that the run folder would have to know of.
fn shown_only(begun: &Begun, report: &Report) -> Ended {
    fix::store_or_warn(begun, report);
    Ended { end: End::Finished, unkept: None, no_todos: None }
}

/// That nothing of what was asked for is done, and why.
fn not_applied(begun: &Begun, why: &str) -> String {
    match begun.terms.mode {
        Mode::Interactive => format!("nothing was applied, and nobody was asked: {why}"),
        Mode::Autofix | Mode::Headless | Mode::ReportOnly => format!("nothing was applied: {why}"),
    }
}

/// What autofix could not fix has nobody else than whoever works on what a review leaves.
fn leave_to_others(report: &mut Report) {
    let unfixed = fix::safe(report);
    for issue in report.issues.iter_mut().filter(|issue| unfixed.contains(&issue.number)) {
        (issue.owner, issue.queue) = (Owner::DownstreamResolver, Queue::Residual);
    }
}

/// What autofix leaves to others becomes todo files; programs that call for a review route that themselves. Why that cannot be done,
/// none if it was.
fn hand_off(begun: &Begun, report: &mut Report) -> Option<Failure> {
    if begun.terms.mode != Mode::Autofix {
        return None;
    }
    let said_before = report.warnings.clone();
    // That was an earlier attempt.
    report.warnings.retain(|warning| !warning.starts_with(NO_TODOS));
    let failure = match todos::write(begun, report, &begun.settings) {
        Ok(new) => {
            for path in new {
                ui::note(&format!("a todo was written: `{}`", path.display()));
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

/// Fixes what is safe, as a review does that asks about the rest.
pub(crate) fn safe_fixes(
    begun: &Begun,
    report: &mut Report,
    verbosity: Verbosity,
    environment: &Environment,
) -> Fixed {
    let fixed = rounds_of_fixes(begun, report, ROUNDS, verbosity, environment);
    finish(begun, report, fixed)
}

/// Fixes what somebody has chosen, in one pass, and looks once more at what was changed.
pub(crate) fn chosen_fixes(
    begun: &Begun,
    report: &mut Report,
    numbers: &BTreeSet<u32>,
    verbosity: Verbosity,
    environment: &Environment,
) -> Result<Fixed, Failure> {
    let _watch = Interrupts::watch(|| {})?;
    let mut fixed = fix::fix(begun, report, numbers, asker(begun), environment)?;
    if !fixed.applied.is_empty() {
        // After those of what is safe.
        let round = ROUNDS + 1;
        let looked = looked_again(begun, report, &fixed.applied, round, verbosity, environment);
        fixed.is_stopped |= looked == Looked::Stopped;
    }
    Ok(finish(begun, report, fixed))
}

/// Fixes and looks again at what was changed, until there is nothing more to fix, the rounds are over, one did not help, or somebody
/// stops it.
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
    // If Ctrl-C cannot be waited for, the first one ends everything.
    let _watch = Interrupts::watch(|| {}).ok();
    let mut progress = Progress::of(begun);
    // What others have left may be another matter with the model or the command of today.
    let mut all = match progress.has_tried {
        true => Fixed::leaving(fix::left_before(run)),
        false => Fixed::default(),
    };
    while progress.rounds < rounds && !all.is_stopped {
        // What was fixed before somebody was ended is not fixed again, but looked at.
        let standing = Standing::of(run).unwrap_or_default();
        let waiting = standing.applied_after(progress.looked_at);
        let open = open(report) + waiting.len();
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
        if self::open(report) >= open {
            break;
        }
    }
    all
}

/// Fixes what is safe, once, but for what was left before: it would be left again.
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

/// What came of looking again at what was fixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Looked {
    Over,
    /// It could not be done, which is said.
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
            fix::warn(report, &[format!("what was fixed was not looked at again: {why}")]);
            Looked::Failed
        }
    }
}

/// Who asks for the fixes of a review.
fn asker(begun: &Begun) -> Asker {
    match begun.terms.mode {
        Mode::Interactive => Asker::Questions,
        Mode::Autofix | Mode::Headless | Mode::ReportOnly => Asker::Mode,
    }
}

/// How many issues are open.
fn open(report: &Report) -> usize {
    report.issues.iter().filter(|issue| !report.is_fixed(issue.number)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_review_is_posted_nothing_is_fixed_in_the_words_of_the_place() {
        for (posts, place) in
            [(Posts::ToPullRequest, "pull request"), (Posts::ToMergeProposal, "merge proposal")]
        {
            for mode in [Mode::Autofix, Mode::Headless] {
                let why = format!(
                    "the review is posted, and the {place} does not have what would be fixed here"
                );
                let authority = authority(mode, posts, Questions::ToPerson);
                assert_eq!(authority, Authority::Nobody(why));
            }
        }
    }
}
