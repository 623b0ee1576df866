//! What a review does about what it has found, by whoever may change the tree.

use std::collections::BTreeSet;
use std::io::IsTerminal;

use crh_review::finding::Owner;
use crh_review::report::Mode;
use crh_review::report::Queue;
use crh_review::report::Report;

use super::super::fix::rolled_back_words;
use super::again;
use super::begin::Begun;
use super::begin::Posts;
use crate::config::environment::Environment;
use crate::failure::Failure;
use crate::fix;
use crate::fix::Authority;
use crate::fix::Recovery;
use crate::fix::outcome::Fixed;
use crate::hand_off::todos;
use crate::ui;
use crate::ui::Verbosity;

/// A fixer that has not put everything right by then does not: each round is a review of its own.
const ROUNDS: u32 = 2;
/// Programs that call for a review decide themselves whether there is another round.
const HEADLESS_ROUNDS: u32 = 1;

const REPORT_ONLY: &str = "the mode is `report-only`";
const NOBODY_THERE: &str = "nobody is there to be asked";
const POSTED: &str =
    "the review is posted, and the pull request does not have what would be fixed here";

/// Who may change the tree in a mode. What an earlier fix was interrupted in is rolled back before anything is looked at.
pub(super) fn authority(mode: Mode, posts: Posts, environment: &Environment) -> Authority {
    let authority = match mode {
        Mode::ReportOnly => Authority::Nobody(REPORT_ONLY.to_owned()),
        Mode::Autofix => Authority::SafeFixes { rounds: ROUNDS },
        Mode::Headless => Authority::SafeFixes { rounds: HEADLESS_ROUNDS },
        Mode::Interactive if is_talk_possible() => Authority::AsAsked,
        Mode::Interactive => Authority::Nobody(NOBODY_THERE.to_owned()),
    };
    match (&authority, posts) {
        (Authority::Nobody(_), _) => return authority,
        (
            Authority::SafeFixes { .. } | Authority::AsAsked,
            Posts::ToPullRequest | Posts::ToMergeProposal,
        ) => {
            return Authority::Nobody(POSTED.to_owned());
        }
        (Authority::SafeFixes { .. } | Authority::AsAsked, Posts::Nothing) => {}
    }
    match fix::recover(environment) {
        Recovery::Nothing => authority,
        Recovery::RolledBack(files) => {
            ui::note(&rolled_back_words(&files));
            authority
        }
        Recovery::Not(why) => Authority::Nobody(why.to_string()),
    }
}

fn is_talk_possible() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Fixes what may be fixed without asking, and brings the report up to date. What goes wrong is said in it: whoever waits for a report
/// gets one.
pub(super) fn fix(
    begun: &Begun,
    report: &mut Report,
    authority: &Authority,
    verbosity: Verbosity,
    environment: &Environment,
) {
    let wants_fixes = match begun.terms.mode {
        Mode::Autofix | Mode::Headless => true,
        Mode::Interactive | Mode::ReportOnly => false,
    };
    match authority {
        Authority::SafeFixes { rounds } => {
            let fixed = rounds_of_fixes(begun, report, *rounds, verbosity, environment);
            for left in &fixed.left {
                report.warnings.push(format!("#{} was not fixed: {}", left.number, left.why));
            }
            if begun.terms.mode == Mode::Autofix {
                leave_to_others(report);
            }
            finish(begun, report, &fixed);
            hand_off(begun, report);
        }
        Authority::Nobody(why) if wants_fixes => {
            report.warnings.push(format!("nothing was applied: {why}"));
            finish(begun, report, &Fixed::default());
        }
        Authority::Nobody(_) | Authority::AsAsked => {
            fix::store(begun, report, &[]);
        }
    }
}

/// What autofix could not fix has nobody else than whoever works on what a review leaves.
fn leave_to_others(report: &mut Report) {
    let unfixed = fix::safe(report);
    for issue in report.issues.iter_mut().filter(|issue| unfixed.contains(&issue.number)) {
        (issue.owner, issue.queue) = (Owner::DownstreamResolver, Queue::Residual);
    }
}

/// What autofix leaves to others becomes todo files; programs that call for a review route that themselves.
fn hand_off(begun: &Begun, report: &Report) {
    if begun.terms.mode != Mode::Autofix || fix::not_the_checkout(begun).is_some() {
        return;
    }
    match todos::write(begun, report, &begun.settings) {
        Ok(new) => {
            for path in new {
                ui::note(&format!("a todo was written: `{}`", path.display()));
            }
        }
        Err(failure) => ui::warn(&format!("{:#}", failure.error)),
    }
}

fn finish(begun: &Begun, report: &mut Report, fixed: &Fixed) {
    fix::up_to_date(begun, report);
    fix::store(begun, report, &fixed.left);
}

/// Fixes what is safe, as a review does that asks about the rest.
pub(crate) fn safe_fixes(
    begun: &Begun,
    report: &mut Report,
    verbosity: Verbosity,
    environment: &Environment,
) -> Fixed {
    let fixed = rounds_of_fixes(begun, report, ROUNDS, verbosity, environment);
    finish(begun, report, &fixed);
    fixed
}

/// Fixes what somebody has chosen, in one pass, and looks once more at what was changed.
pub(crate) fn chosen_fixes(
    begun: &Begun,
    report: &mut Report,
    numbers: &BTreeSet<u32>,
    verbosity: Verbosity,
    environment: &Environment,
) -> Result<Fixed, Failure> {
    let fixed = fix::fix(begun, report, numbers, environment)?;
    if !fixed.applied.is_empty() {
        // After those of what is safe.
        let round = ROUNDS + 1;
        let looked = again::review(begun, report, &fixed.applied, round, verbosity, environment);
        if let Err(failure) = looked {
            let why = format!("{:#}", failure.error);
            report.warnings.push(format!("what was fixed was not looked at again: {why}"));
        }
    }
    finish(begun, report, &fixed);
    Ok(fixed)
}

/// Fixes and looks again at what was changed, until there is nothing more to fix, the rounds are over, or one did not help.
fn rounds_of_fixes(
    begun: &Begun,
    report: &mut Report,
    rounds: u32,
    verbosity: Verbosity,
    environment: &Environment,
) -> Fixed {
    if let Some(why) = fix::not_the_checkout(begun) {
        report.warnings.push(format!("nothing was applied: {why}"));
        return Fixed::default();
    }
    let mut all = Fixed::default();
    for round in 1..=rounds {
        let open = open(report);
        let mut numbers = fix::safe(report);
        // What was left once would be left again.
        numbers.retain(|number| all.left.iter().all(|left| left.number != *number));
        if numbers.is_empty() {
            break;
        }
        let fixed = match fix::fix(begun, report, &numbers, environment) {
            Ok(fixed) => fixed,
            Err(failure) => {
                report.warnings.push(format!("nothing was applied: {:#}", failure.error));
                break;
            }
        };
        let is_idle = fixed.applied.is_empty();
        let again = (!is_idle && rounds > 1).then(|| fixed.applied.clone());
        all = all.and(fixed);
        if let Some(applied) = again {
            let looked = again::review(begun, report, &applied, round, verbosity, environment);
            if let Err(failure) = looked {
                let why = format!("{:#}", failure.error);
                report.warnings.push(format!("what was fixed was not looked at again: {why}"));
                break;
            }
        }
        if is_idle || self::open(report) >= open {
            break;
        }
    }
    all
}

/// How many issues are open.
fn open(report: &Report) -> usize {
    report.issues.iter().filter(|issue| !report.is_fixed(issue.number)).count()
}
