//! Fixing: what is wrong with a change is put right in the checkout that was reviewed, or left with a reason.
//!
//! Invariants: everything is tried on a copy first, and the checkout is written last, all of it or nothing; it is written only where
//! it is still what was reviewed; nothing is ever staged, committed or pushed.

mod edits;
mod ground;
pub(crate) mod journal;
mod judges;
pub(crate) mod outcome;
mod proposal;
mod refusal;
mod repair;
mod residual;
mod standing;
mod surroundings;
mod tree;
mod verification;

use std::collections::BTreeSet;
use std::path::Path;

pub(crate) use self::edits::is_exact;
use self::ground::{FIXES, Ground, moved_words};
pub(crate) use self::ground::{
    Recovery, fixes_of, forget_found_on, found_on, is_interrupted, keep_found_on, recover,
    with_crlf,
};
pub(crate) use self::journal::Asker;
use self::journal::{Locked, Purpose, UNDISTURBED};
use self::outcome::{Fixed, Left};
use self::proposal::{Proposal, propose};
pub(crate) use self::residual::{forget_left, left_before};
use self::residual::{residual, with_kept};
pub(crate) use self::standing::Standing;
use crate::commands::interrupts;
use crate::commands::interrupts::Interrupts;
use crate::commands::review::Begun;
use crate::config::environment::Environment;
use crate::failure::{Failure, Kind, OrFail};
use crate::ui;
use crh_pipeline::assemble::{billed, mask, mask_keys, recount};
use crh_pipeline::credentials::Credentials;
use crh_pipeline::run_folder::{NotWritten, RunFolder};
use crh_review::report::{AppliedFix, Issue, Queue, Report};
use crh_review::settle;

/// What a run folder keeps of fixing.
const APPLIED: &str = "applied-fixes.json";
const RESIDUAL: &str = "residual-work.json";
const ADVISORY: &str = "advisory.json";
/// The report as the review has made it, before anything was fixed.
pub(crate) const REVIEWED: &str = "stages/report.json";

const NOT_ITS_TURN: &str = "fixing was stopped before it was its turn";

/// Who may change the tree. How the result looks is another question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Authority {
    /// Nobody, for nobody has asked for fixes.
    Unasked,
    /// Nobody, though fixes were asked for, and why, in a sentence without its period.
    Nobody(String),
    /// What is safe is fixed without asking, in so many rounds.
    SafeFixes { rounds: u32 },
    /// Whatever somebody asks for.
    AsAsked,
}

/// Fixes the issues of these numbers in the tree that was reviewed, and brings the report and the run folder up to date.
pub(crate) fn fix(
    begun: &Begun,
    report: &mut Report,
    numbers: &BTreeSet<u32>,
    asker: Asker,
    environment: &Environment,
) -> Result<Fixed, Failure> {
    let mut fixed = in_tree(begun, report, numbers, asker, environment)?;
    report.applied_fixes.extend(fixed.applied.iter().cloned());
    report.applied_fixes.sort_by_key(|fix| fix.number);
    warn(report, &fixed.warnings);
    up_to_date(begun, report);
    fixed.unkept = store(begun, report, &fixed.left).err().map(|why| why.to_string());
    Ok(fixed)
}

/// What fixing would do, as a patch, and what it would leave. Nothing is changed.
pub(crate) fn would_fix(
    begun: &Begun,
    report: &Report,
    numbers: &BTreeSet<u32>,
    environment: &Environment,
) -> Result<(Vec<u8>, Fixed), Failure> {
    let _watch = Interrupts::watch(|| {})?;
    let (issues, left) = wanted(report, numbers);
    let ground = match Ground::of(begun) {
        Ok(ground) => ground,
        Err(why) => return Ok((Vec::new(), refused(report, numbers, &why))),
    };
    let checkout = match ground.locked() {
        Ok(checkout) => checkout,
        Err(why) => return Ok((Vec::new(), refused(report, numbers, &why))),
    };
    let (by_code, by_model) = propose(&ground, &checkout, &issues, environment)?;
    if interrupts::is_pressed() {
        return Ok((
            Vec::new(),
            Fixed { is_stopped: true, ..refused(report, numbers, NOT_ITS_TURN) },
        ));
    }
    let Proposal { from, commit, fixes: applied, left: more, warnings, .. } =
        by_code.then(by_model);
    let patch = ground.bare.diff(&from, &commit).or_fail(Kind::Outside)?;
    let fixed = Fixed { applied, left: more, warnings, ..Fixed::default() };
    Ok((patch, fixed.and(Fixed::leaving(left))))
}

/// Brings a report to what stands in the checkout, should whoever wrote it have been ended before.
pub(crate) fn settled(begun: &Begun, report: &mut Report) -> Result<(), Failure> {
    let Some(run) = begun.place.folder() else { return Ok(()) };
    let standing = Standing::of(run)?;
    let mut settled = Report { applied_fixes: standing.applied(), ..report.clone() };
    up_to_date(begun, &mut settled);
    if settled.applied_fixes != report.applied_fixes {
        *report = settled;
        store(begun, report, &[]).or_fail(Kind::Outside)?;
    }
    Ok(())
}

/// Adds what a report does not say yet.
pub(crate) fn warn(report: &mut Report, warnings: &[String]) {
    for warning in warnings {
        if !report.warnings.contains(warning) {
            report.warnings.push(warning.clone());
        }
    }
}

/// Whether a checkout is in the middle of a fix that is written down in the folder of this run: without it, there is no way back.
pub(crate) fn is_needed(run: &Path) -> bool {
    journal::is_needed(&run.join(FIXES))
}

/// Why nothing of a review can be fixed here, whatever it finds; none if something can.
pub(crate) fn not_the_checkout(begun: &Begun) -> Option<String> {
    Ground::of(begun).err()
}

/// The numbers of the open issues that are fixed without asking.
pub(crate) fn safe(report: &Report) -> BTreeSet<u32> {
    let open = report.issues.iter().filter(|issue| !report.is_fixed(issue.number));
    open.filter(|issue| issue.queue == Queue::Fixer).map(|issue| issue.number).collect()
}

/// Brings everything in a report up to date that follows from what was fixed.
pub(crate) fn up_to_date(begun: &Begun, report: &mut Report) {
    settle(report, begun.terms.asked);
    recount(report);
    // A fixer and a second look are on the bill too. What cannot be read is no reason to say less than was known.
    if let Some(Ok(spent)) = begun.place.folder().map(RunFolder::spent_before)
        && spent.llm_calls >= report.stats.llm_calls
    {
        report.stats = billed(report.stats.clone(), &spent);
    }
    // What a fixer says of its work may repeat what is secret.
    let credentials = Credentials::of(&begun.subject.diff);
    *report = mask_keys(mask(std::mem::take(report), &credentials), &begun.redactor);
}

/// Rewrites in the run folder what a fix changes. Why others were left before stays.
pub(crate) fn store(begun: &Begun, report: &Report, left: &[Left]) -> Result<(), NotWritten> {
    match begun.place.folder() {
        Some(folder) => store_in(folder, report, &with_kept(folder, left)),
        None => Ok(()),
    }
}

/// The same for a run that is not opened again, with these reasons and no others.
pub(crate) fn store_in(
    folder: &RunFolder,
    report: &Report,
    left: &[Left],
) -> Result<(), NotWritten> {
    let folder = folder.clone().lasting();
    folder.store(APPLIED, &report.applied_fixes)?;
    folder.store(RESIDUAL, &residual(report, left))?;
    folder.store(ADVISORY, &advisory(report))?;
    // The report comes last, and only after all of the rest: where it says what stands in the tree, so do they.
    folder.rewrite(report)
}

/// The same where it does not matter to anybody but the user whether it can be written.
pub(crate) fn store_or_warn(begun: &Begun, report: &Report) {
    if let Err(why) = store(begun, report, &[]) {
        ui::warn(&why.to_string());
    }
}

fn advisory(report: &Report) -> Vec<&Issue> {
    report.issues.iter().filter(|issue| issue.queue == Queue::Report).collect()
}

fn in_tree(
    begun: &Begun,
    report: &Report,
    numbers: &BTreeSet<u32>,
    asker: Asker,
    environment: &Environment,
) -> Result<Fixed, Failure> {
    let (issues, left) = wanted(report, numbers);
    let left = Fixed::leaving(left);
    if issues.is_empty() {
        return Ok(left);
    }
    // Whoever is at work here looks whether it was pressed.
    let _watch = Interrupts::watch(|| {})?;
    let all = |why: &str| refused(report, numbers, why);
    let ground = match Ground::of(begun) {
        Ok(ground) => ground,
        Err(why) => return Ok(all(&why)),
    };
    let checkout = match ground.locked() {
        Ok(checkout) => checkout,
        Err(why) => return Ok(all(&format!("nothing was applied: {why}"))),
    };
    let (by_code, by_model) = propose(&ground, &checkout, &issues, environment)?;
    if interrupts::is_pressed() {
        return Ok(Fixed { is_stopped: true, ..all(NOT_ITS_TURN) });
    }
    let by_model = still_fitting(&ground, &checkout, by_model)?;
    Ok(left.and(applied(&ground, &checkout, by_code.then(by_model), asker)))
}

/// What a fixer did, if the tree is the one that was reviewed: it may have changed while the fixer was at work.
fn still_fitting(
    ground: &Ground<'_>,
    checkout: &Locked,
    by_model: Proposal,
) -> Result<Proposal, Failure> {
    if by_model.fixes.is_empty() {
        return Ok(by_model);
    }
    Ok(match moved_words(&ground.moved(checkout)?) {
        None => by_model,
        Some(why) => by_model.refused(&why),
    })
}

/// Puts what is proposed into the checkout, all of it or nothing.
fn applied(ground: &Ground<'_>, checkout: &Locked, proposal: Proposal, asker: Asker) -> Fixed {
    let Proposal { from, commit, fixes, paths, edited, left, warnings } = proposal;
    let left = Fixed { left, warnings, ..Fixed::default() };
    if fixes.is_empty() {
        return left;
    }
    let purpose = Purpose { asker, after: Some(&commit), fixes: &fixes, edited: &edited };
    let edits = ground.edits(checkout, (&from, &commit), &paths, &fixes);
    let done = edits.and_then(|edits| {
        let done = checkout.apply(&ground.fixes(), &edits, purpose, UNDISTURBED);
        done.map_err(|why| why.to_string())
    });
    match done {
        Ok(()) => left.and(Fixed { applied: fixes, ..Fixed::default() }),
        Err(why) => left.and(not_applied(&fixes, &why)),
    }
}

/// The issues of these numbers that are open; and those that are not to be had.
fn wanted<'r>(report: &'r Report, numbers: &BTreeSet<u32>) -> (Vec<&'r Issue>, Vec<Left>) {
    let (mut issues, mut left) = (Vec::new(), Vec::new());
    for number in numbers {
        match report.issues.iter().find(|issue| issue.number == *number) {
            Some(_) if report.is_fixed(*number) => {
                left.push(Left::new(*number, "it is fixed already"));
            }
            Some(issue) => issues.push(issue),
            None if report.pre_existing.iter().any(|issue| issue.number == *number) => {
                left.push(Left::new(*number, "it was there before the change"));
            }
            None => left.push(Left::new(*number, "the report has no such issue")),
        }
    }
    (issues, left)
}

/// Nothing is done about any of these.
fn refused(report: &Report, numbers: &BTreeSet<u32>, why: &str) -> Fixed {
    let (issues, left) = wanted(report, numbers);
    let more = issues.iter().map(|issue| Left::new(issue.number, why)).collect();
    Fixed::leaving(left).and(Fixed::leaving(more))
}

fn not_applied(fixes: &[AppliedFix], why: &str) -> Fixed {
    let why = format!("nothing was applied: {why}");
    Fixed::leaving(fixes.iter().map(|fix| Left::new(fix.number, &why)).collect())
}
