//! Applies fixes to the reviewed checkout.
//!
//! Invariants: fixes are computed and checked on a copy; the checkout is written last, completely
//! or not at all, and only where it is as it was reviewed; crh stages, commits and pushes nothing
//! here.

mod applied_fixes;
pub(crate) mod edit_authority;
mod edits;
mod fix_judge;
mod fix_review;
mod fixed_file;
pub(crate) mod found_on;
pub(crate) mod interrupted_fix;
pub(crate) mod journal;
mod later_findings;
mod missing_fixes;
pub(crate) mod moved_checkout;
pub(crate) mod outcome;
mod planned_fixes;
mod refusal;
mod repair;
pub(crate) mod residual;
pub(crate) mod review_marks;
mod reviewed_checkout;
mod reviewed_report;
mod surroundings;
mod tree;
mod verification;

use std::collections::BTreeSet;
use std::path::Path;

use self::applied_fixes::add_fix;
pub(crate) use self::applied_fixes::{AppliedFixes, FixReviewResult};
use self::fix_review::is_reviewed_again;
pub(crate) use self::fix_review::unverifiable;
pub(crate) use self::found_on::REVIEWED;
pub(crate) use self::journal::FixOrigin;
use self::journal::{LockedCheckout, Purpose, UNDISTURBED};
pub(crate) use self::later_findings::{EarlierFindings, keep_later_findings, raise};
use self::missing_fixes::{MissingFixes, find_again, restore_issues};
pub(crate) use self::missing_fixes::{drop_missing_fixes, files_without_fixes, find_missing_fixes};
use self::moved_checkout::MovedCheckout;
use self::outcome::{FixPass, SkipKind, SkippedIssue};
use self::planned_fixes::{PlannedFixes, plan_fixes};
use self::residual::{RESIDUAL, residual, with_kept};
use self::review_marks::{FixReviewEnd, mark_files};
use self::reviewed_checkout::{FIXES, FixWriteFailure, ReviewedCheckout, reason_if_edited};
pub(crate) use self::reviewed_checkout::{FixObstacle, fixes_of, with_crlf};
pub(crate) use self::reviewed_report::report_before_fixes;
pub(crate) use self::surroundings::{lines_after, open_places_at};
use crate::commands::interrupts;
use crate::commands::interrupts::InterruptGuard;
use crate::commands::review::session::ReviewSession;
use crate::config::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_pipeline::assemble::{mask, mask_keys, recount_summary, with_spending};
use crh_pipeline::change_secrets::ChangeSecrets;
use crh_pipeline::run_folder::{FileWriteError, RunFolder};
use crh_review::diff::Diff;
use crh_review::finding::Member;
use crh_review::report::{Action, AppliedFix, FixAuthor, FixOutcome, Issue, Queue, Report};
use crh_review::{Location, Sources, narrow_to_places, refresh_verdict, report};

/// Files of the run folder.
const APPLIED: &str = "applied-fixes.json";
const ADVISORY: &str = "advisory.json";

/// Reason for an issue whose replacement did not help. crh would apply the same replacement again.
const FOUND_AGAIN: &str = "its fix is applied, but the review of the fix found the issue again";

/// Fixes these issues in the reviewed tree, and updates the report and the run folder.
pub(crate) fn fix(
    session: &ReviewSession,
    report: &mut Report,
    numbers: &BTreeSet<u32>,
    asker: FixOrigin,
    environment: &Environment,
) -> Result<FixPass, Failure> {
    let mut fixed = fix_in_tree(session, report, numbers, asker, environment)?;
    for fix in &fixed.applied {
        add_fix(&mut report.applied_fixes, fix.clone());
    }
    move_to_open_places(report, &fixed.applied, &session.subject.diff);
    if is_reviewed_again(asker, session.terms.mode) {
        let files = fixed.applied.iter().flat_map(|fix| fix.files.iter().cloned()).collect();
        mark_unreviewed(session, report, &files);
    }
    // An earlier command may have warned, and this one tried again.
    let not_tried = fixed.left.iter().filter(|left| left.kind == SkipKind::NotTried);
    let not_tried: BTreeSet<u32> = not_tried.map(|left| left.number).collect();
    let tried: BTreeSet<u32> = numbers.difference(&not_tried).copied().collect();
    let is_retried =
        |warning: &str| tried.iter().any(|number| is_not_fixed_warning(warning, *number));
    report
        .warnings
        .retain(|warning| !warning.starts_with(fix_judge::NOT_VERIFIED) && !is_retried(warning));
    report.not_fixed.retain(|number| !tried.contains(number));
    warn(report, &fixed.warnings);
    match asker {
        FixOrigin::Command | FixOrigin::Questions => warn_not_fixed(report, &fixed.left),
        // A mode warns after its last round.
        FixOrigin::Mode => {}
    }
    up_to_date(session, report);
    fixed.store_error = store(session, report, &fixed.left).err().map(|why| why.to_string());
    Ok(fixed)
}

/// Computes the patch and the skipped issues without changing the checkout.
pub(crate) fn would_fix(
    session: &ReviewSession,
    report: &Report,
    numbers: &BTreeSet<u32>,
    environment: &Environment,
) -> Result<(Vec<u8>, FixPass), Failure> {
    with_planned_fixes(
        (session, report, numbers, FixOrigin::Command, environment),
        |reviewed_checkout, _, planned| {
            let PlannedFixes {
                from, commit, fixes: applied, already_fixed, left, warnings, ..
            } = planned;
            let patch = reviewed_checkout.bare.diff(&from, &commit);
            let fixed = FixPass { applied, already_fixed, left, warnings, ..FixPass::default() };
            Ok((patch.or_fail(FailureKind::External)?, fixed))
        },
    )
}

/// Whether crh stores what it learns about the fixes of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UpdateStorage {
    Stored,
    /// For a dry run.
    InMemory,
}

/// Updates a report from the journals and the checkout. Opens the issues of fixes that are no longer
/// in the checkout, with a note.
pub(crate) fn update_report(
    session: &ReviewSession,
    report: &mut Report,
    storage: UpdateStorage,
) -> Result<(), Failure> {
    update_from_journals(session, report, storage)?;
    let before = report.applied_fixes.clone();
    let missing = match missing_in_checkout(session, report) {
        Ok(missing) => missing,
        Err(failure) => {
            ui::warn(&format!(
                "crh did not check that the checkout has the fixes: {:#}",
                failure.error
            ));
            return Ok(());
        }
    };
    let missing = drop_missing_fixes(session, report, missing, storage)?;
    if missing.is_empty() {
        return Ok(());
    }
    note_open_again(&missing, &before, report);
    warn_skipped(report, &missing);
    up_to_date(session, report);
    match storage {
        UpdateStorage::Stored => store(session, report, &missing).or_fail(FailureKind::External),
        UpdateStorage::InMemory => Ok(()),
    }
}

/// As [`find_missing_fixes`], unless another commit is checked out: its files say nothing about the
/// fixes.
fn missing_in_checkout(session: &ReviewSession, report: &Report) -> Result<MissingFixes, Failure> {
    match report.applied_fixes.is_empty() || MovedCheckout::since_review(session)?.is_some() {
        true => Ok(MissingFixes::default()),
        false => find_missing_fixes(session, report),
    }
}

/// Says which issues are open again, and which files no longer have the fixes that were applied
/// before.
fn note_open_again(missing: &[SkippedIssue], before: &[AppliedFix], report: &Report) {
    let is_missing = |number: u32| missing.iter().any(|left| left.number == number);
    let was_done = |fix: &&AppliedFix| fix.outcome.is_done() && is_missing(fix.number);
    let fixes: Vec<&AppliedFix> = before.iter().filter(was_done).collect();
    if fixes.is_empty() {
        return;
    }
    let issues: Vec<String> = fixes.iter().map(|fix| format!("#{}", fix.number)).collect();
    let is_left = |number: u32, file: &String| {
        report.fix_of(number).is_some_and(|fix| fix.files.contains(file))
    };
    let files = fixes.iter().flat_map(|fix| fix.files.iter().map(|file| (fix.number, file)));
    let files = files.filter(|(number, file)| !is_left(*number, file));
    let files: BTreeSet<String> = files.map(|(_, file)| format!("`{file}`")).collect();
    let (are, their) = if issues.len() == 1 { ("is", "its fix") } else { ("are", "their fixes") };
    ui::note(&format!(
        "{} {are} open again, because {their} {are} no longer in {}",
        issues.join(", "),
        files.into_iter().collect::<Vec<_>>().join(", ")
    ));
}

/// Updates a report from the journals. A process may have ended after it changed the tree and
/// before it wrote the report.
fn update_from_journals(
    session: &ReviewSession,
    report: &mut Report,
    storage: UpdateStorage,
) -> Result<(), Failure> {
    let Some(run) = session.place.folder() else { return Ok(()) };
    let (applied_fixes, found) = find_again(session, run)?;
    let mut settled = Report { applied_fixes: applied_fixes.applied(), ..report.clone() };
    if let Some(reviewed) = run.read(REVIEWED).ok().filter(|_| !found.is_empty()) {
        restore_issues(&mut settled, &reviewed, &found);
    }
    let is_new = |fix: &&AppliedFix| {
        let known = report.fix_of(fix.number);
        known.is_none_or(|known| known.outcome != fix.outcome)
    };
    let new: Vec<AppliedFix> = settled.applied_fixes.iter().filter(is_new).cloned().collect();
    move_to_open_places(&mut settled, &new, &session.subject.diff);
    mark_unreviewed(session, &mut settled, &applied_fixes.unreviewed_files(session.terms.mode));
    drop_applied_proposals(&mut settled);
    up_to_date(session, &mut settled);
    if settled.applied_fixes != report.applied_fixes {
        if storage == UpdateStorage::Stored && !found.is_empty() {
            applied_fixes.keep(run).or_fail(FailureKind::External)?;
        }
        *report = settled;
        if storage == UpdateStorage::Stored {
            store(session, report, &[]).or_fail(FailureKind::External)?;
        }
    }
    Ok(())
}

/// Marks the fixed files until a repeated review has covered them.
fn mark_unreviewed(session: &ReviewSession, report: &mut Report, files: &BTreeSet<String>) {
    if !files.is_empty() {
        mark_files(session, report, files, files, FixReviewEnd::Stopped);
    }
}

/// Adds warnings that the report does not have yet.
pub(crate) fn warn(report: &mut Report, warnings: &[String]) {
    for warning in warnings {
        if !report.warnings.contains(warning) {
            report.warnings.push(warning.clone());
        }
    }
}

/// Whether an interrupted fix needs the journals of this run for its rollback.
pub(crate) fn is_needed(run: &Path) -> bool {
    journal::is_needed(&run.join(FIXES))
}

/// Why nothing of this review can be fixed, or `None`.
pub(crate) fn obstacle(session: &ReviewSession) -> Option<FixObstacle> {
    ReviewedCheckout::open(session).err()
}

/// Numbers of the open issues with a safe fix.
pub(crate) fn safe(report: &Report) -> BTreeSet<u32> {
    let open = report.open_issues();
    open.filter(|issue| issue.queue == Queue::Fixer).map(|issue| issue.number).collect()
}

/// The warning about a skipped issue.
pub(crate) fn not_fixed_warning(left: &SkippedIssue) -> String {
    report::not_fixed_warning(left.number, &left.why)
}

fn is_not_fixed_warning(warning: &str, number: u32) -> bool {
    warning.starts_with(&report::not_fixed_warning(number, ""))
}

/// Adds warnings about open issues that crh tried to fix, so that the report does not recommend the
/// same fix. If crh only needs other options, the next step of the issue names them.
fn warn_not_fixed(report: &mut Report, left: &[SkippedIssue]) {
    let mut left = left.to_vec();
    left.retain(|left| {
        let issue = report.issue(left.number);
        let was_tried = match left.kind {
            SkipKind::Failed | SkipKind::Rejected => true,
            SkipKind::Unverifiable | SkipKind::NotTried | SkipKind::Reverted => false,
        };
        was_tried && issue.is_some_and(|it| applied_already(report, it).is_none())
    });
    warn_skipped(report, &left);
}

/// Adds warnings about skipped issues, and lists the issues of the report that crh could not fix.
pub(crate) fn warn_skipped(report: &mut Report, left: &[SkippedIssue]) {
    warn(report, &left.iter().map(not_fixed_warning).collect::<Vec<_>>());
    let is_failed = |left: &&SkippedIssue| match left.kind {
        SkipKind::Failed | SkipKind::Rejected => report.issue(left.number).is_some(),
        SkipKind::Unverifiable | SkipKind::NotTried | SkipKind::Reverted => false,
    };
    let failed: Vec<u32> = left.iter().filter(is_failed).map(|left| left.number).collect();
    report.not_fixed.extend(failed);
    report.not_fixed.sort_unstable();
    report.not_fixed.dedup();
}

/// The warning about an issue that the review of its fix found again.
pub(crate) fn found_again_warning(number: u32) -> String {
    format!("#{number} was found again after its fix")
}

/// Drops the warnings about issues that are fixed now.
fn drop_stale_warnings(report: &mut Report) {
    let fixed = report.applied_fixes.iter().filter(|fix| fix.outcome.is_done());
    let fixed: Vec<u32> = fixed.map(|fix| fix.number).collect();
    let is_stale = |warning: &str, number: u32| {
        is_not_fixed_warning(warning, number) || warning == found_again_warning(number)
    };
    report.warnings.retain(|warning| !fixed.iter().any(|number| is_stale(warning, *number)));
    report.not_fixed.retain(|number| !fixed.contains(number));
}

/// Removes the proposals that are in the tree from open issues: their replacements, and the
/// recommendation to apply them. A partial fix leaves places for which the recommendation holds.
pub(crate) fn drop_applied_proposals(report: &mut Report) {
    for fix in report.applied_fixes.iter().filter(|fix| !fix.outcome.is_done()) {
        let mut issues = report.issues.iter_mut().chain(&mut report.over_cap);
        let Some(issue) = issues.find(|issue| issue.number == fix.number) else { continue };
        issue.replacement = None;
        issue.action = match (fix.outcome, issue.action) {
            (FixOutcome::FoundAgain | FixOutcome::Unverified, Action::Apply) => Action::Defer,
            (_, action) => action,
        };
    }
}

/// Moves each issue that one of these new fixes closed only in part to the places that the fix left
/// open. Issues of earlier fixes are there already, and a later review may have moved them.
fn move_to_open_places(report: &mut Report, new: &[AppliedFix], diff: &Diff) {
    let is_partial = |fix: &&AppliedFix| match fix.outcome {
        FixOutcome::Partial | FixOutcome::PartlyReverted => true,
        FixOutcome::Done | FixOutcome::FoundAgain | FixOutcome::Unverified => false,
    };
    if !new.iter().any(|fix| is_partial(&fix)) {
        return;
    }
    let sources = Sources::new(diff.clone());
    for fix in new.iter().filter(is_partial) {
        let mut issues = report.issues.iter_mut().chain(&mut report.over_cap);
        if let Some(issue) = issues.find(|issue| issue.number == fix.number) {
            narrow(issue, &fix.open_places, &sources);
        }
    }
}

/// Narrows an issue to these places. Its findings may cite a renamed file by its old path.
fn narrow(issue: &mut Issue, places: &[Location], sources: &Sources) {
    let as_cited = issue.members.clone();
    for Member { finding, .. } in &mut issue.members {
        let quoted = finding.evidence.iter_mut().filter_map(|quote| quote.file.as_mut());
        for file in quoted.chain([&mut finding.file]) {
            *file = sources.current_path(file);
        }
    }
    narrow_to_places(issue, places);
    issue.members = as_cited;
}

/// Recomputes everything in a report that depends on the fixes.
pub(crate) fn up_to_date(session: &ReviewSession, report: &mut Report) {
    drop_stale_warnings(report);
    refresh_verdict(report, session.terms.command);
    recount_summary(report);
    // Includes the cost of fixers and repeated reviews. If the stored cost cannot be read, the
    // report keeps its own.
    if let Some(Ok(spent)) = session.place.folder().map(RunFolder::spent_before)
        && spent.llm_calls >= report.stats.llm_calls
    {
        report.stats = with_spending(report.stats.clone(), &spent);
    }
    // The description of a fixer may contain a secret.
    let credentials = ChangeSecrets::from_diff(&session.subject.diff);
    *report = mask_keys(mask(std::mem::take(report), &credentials), &session.redactor);
}

/// Stores the report and the files about fixes. Keeps earlier reasons of issues that crh has not
/// tried to fix now.
pub(crate) fn store(
    session: &ReviewSession,
    report: &Report,
    left: &[SkippedIssue],
) -> Result<(), FileWriteError> {
    match session.place.folder() {
        Some(folder) => {
            let mut tried = left.to_vec();
            tried.retain(|left| left.kind != SkipKind::NotTried);
            store_in(folder, report, &with_kept(folder, &tried))
        }
        None => Ok(()),
    }
}

/// Like [`store`], but keeps no earlier reasons.
pub(crate) fn store_in(
    folder: &RunFolder,
    report: &Report,
    left: &[SkippedIssue],
) -> Result<(), FileWriteError> {
    let folder = folder.clone().with_synced_writes();
    folder.store(APPLIED, &report.applied_fixes)?;
    folder.store(RESIDUAL, &residual(report, left))?;
    folder.store(ADVISORY, &advisory(report))?;
    // The report comes last: if it mentions a fix, the other files do too.
    folder.rewrite_report(report)
}

/// Stores the report and only warns if that fails.
pub(crate) fn store_or_warn(session: &ReviewSession, report: &Report) {
    if let Err(why) = store(session, report, &[]) {
        ui::warn(&why.to_string());
    }
}

fn advisory(report: &Report) -> Vec<&Issue> {
    report.all_issues().filter(|issue| issue.queue == Queue::Report).collect()
}

fn fix_in_tree(
    session: &ReviewSession,
    report: &Report,
    numbers: &BTreeSet<u32>,
    asker: FixOrigin,
    environment: &Environment,
) -> Result<FixPass, Failure> {
    let (_, fixed) = with_planned_fixes(
        (session, report, numbers, asker, environment),
        |reviewed_checkout, checkout, planned| {
            Ok(((), apply_planned(reviewed_checkout, checkout, planned, asker)))
        },
    )?;
    Ok(fixed)
}

/// Session, report, numbers of the issues, and the origin of a fix pass.
type FixRequest<'r> =
    (&'r ReviewSession, &'r Report, &'r BTreeSet<u32>, FixOrigin, &'r Environment);

/// Plans fixes of these issues, and uses the plan while the checkout is locked. Returns its output,
/// and the result of the pass. A real run and a dry run differ only in `use_plan`.
fn with_planned_fixes<T: Default>(
    (session, report, numbers, asker, environment): FixRequest<'_>,
    use_plan: impl FnOnce(
        &ReviewedCheckout<'_>,
        &LockedCheckout,
        PlannedFixes,
    ) -> Result<(T, FixPass), Failure>,
) -> Result<(T, FixPass), Failure> {
    let (issues, left) = verifiable(session, report, numbers, asker);
    let left = FixPass::leaving(left);
    if issues.is_empty() {
        return Ok((T::default(), left));
    }
    // The code below checks itself whether Ctrl-C was pressed.
    let _watch = InterruptGuard::watch(|| {})?;
    let all = |why: &str| Ok((T::default(), skip_all(report, numbers, why)));
    let mut reviewed_checkout = match ReviewedCheckout::open(session) {
        Ok(reviewed_checkout) => reviewed_checkout,
        Err(obstacle) => return all(&obstacle.to_string()),
    };
    reviewed_checkout.take_restored_issues(report);
    let checkout = match reviewed_checkout.locked() {
        Ok(checkout) => checkout,
        Err(why) => return all(&format!("nothing was applied: {why}")),
    };
    reviewed_checkout.take_reverted_files(&checkout)?;
    let (by_code, by_model) = plan_fixes(&reviewed_checkout, &checkout, &issues, environment)?;
    if interrupts::is_pressed() {
        let left = skip_each(report, numbers, SkippedIssue::not_tried);
        return Ok((T::default(), FixPass { is_stopped: true, ..left }));
    }
    let by_model = drop_if_tree_changed(&reviewed_checkout, &checkout, by_model)?;
    let planned = by_code.then(by_model).with_open_places(&reviewed_checkout, &issues)?;
    let (output, fixed) = use_plan(&reviewed_checkout, &checkout, planned)?;
    Ok((output, left.and(fixed)))
}

/// Rejects the work of a fixer if the tree changed meanwhile.
fn drop_if_tree_changed(
    reviewed_checkout: &ReviewedCheckout<'_>,
    checkout: &LockedCheckout,
    by_model: PlannedFixes,
) -> Result<PlannedFixes, Failure> {
    if by_model.fixes.is_empty() {
        return Ok(by_model);
    }
    Ok(match reason_if_edited(&reviewed_checkout.edited_since_review(checkout)?) {
        None => by_model,
        Some(why) => by_model.refused(&why),
    })
}

/// Writes planned fixes to the checkout, completely or not at all.
fn apply_planned(
    reviewed_checkout: &ReviewedCheckout<'_>,
    checkout: &LockedCheckout,
    planned: PlannedFixes,
    asker: FixOrigin,
) -> FixPass {
    let PlannedFixes { from, commit, fixes, paths, edited, already_fixed, left, warnings } =
        planned;
    let left = FixPass { left, warnings, ..FixPass::default() };
    if fixes.is_empty() {
        return left;
    }
    let purpose = Purpose { asker, after: Some(&commit), fixes: &fixes, edited: &edited };
    let edits = reviewed_checkout.edits(checkout, (&from, &commit), &paths, &fixes);
    let done = edits.and_then(|edits| {
        let done = checkout.apply(&reviewed_checkout.fixes(), &edits, purpose, UNDISTURBED);
        done.map_err(FixWriteFailure::from)
    });
    match done {
        Ok(()) => left.and(FixPass { applied: fixes, already_fixed, ..FixPass::default() }),
        Err(failure) => left.and(not_applied(&fixes, &failure)),
    }
}

/// The open issues with these numbers whose fixes need no verification or can be verified, and why
/// the others cannot be fixed.
fn verifiable<'r>(
    session: &ReviewSession,
    report: &'r Report,
    numbers: &BTreeSet<u32>,
    asker: FixOrigin,
) -> (Vec<&'r Issue>, Vec<SkippedIssue>) {
    let (mut issues, mut left) = select_issues(report, numbers);
    let unverifiable = unverifiable(session, report, numbers, asker);
    issues.retain(|issue| unverifiable.iter().all(|left| left.number != issue.number));
    left.extend(unverifiable);
    (issues, left)
}

/// The open issues with these numbers, and why the others cannot be fixed.
fn select_issues<'r>(
    report: &'r Report,
    numbers: &BTreeSet<u32>,
) -> (Vec<&'r Issue>, Vec<SkippedIssue>) {
    let (mut issues, mut left) = (Vec::new(), Vec::new());
    for number in numbers {
        match report.issue(*number) {
            Some(issue) => match applied_already(report, issue) {
                Some(why) => left.push(SkippedIssue::new(*number, why)),
                None => issues.push(issue),
            },
            None if report.pre_existing.iter().any(|issue| issue.number == *number) => {
                left.push(SkippedIssue::new(*number, "it is pre-existing"));
            }
            None => left.push(SkippedIssue::new(*number, "the report has no such issue")),
        }
    }
    (issues, left)
}

/// Why an issue with an applied fix is not fixed again. `None` if it can be fixed.
fn applied_already(report: &Report, issue: &Issue) -> Option<&'static str> {
    let fix = report.fix_of(issue.number)?;
    match fix.outcome {
        FixOutcome::Done => Some("it is already fixed"),
        FixOutcome::Unverified => Some("its fix is applied, but not verified"),
        // A fixer may find another fix, even if findings of the issue have replacements, which crh
        // could not use.
        FixOutcome::FoundAgain => {
            (fix.author == FixAuthor::Code || issue.has_exact_fix()).then_some(FOUND_AGAIN)
        }
        FixOutcome::Partial | FixOutcome::PartlyReverted => None,
    }
}

/// Skips all issues for the same reason.
fn skip_all(report: &Report, numbers: &BTreeSet<u32>, why: &str) -> FixPass {
    skip_each(report, numbers, |number| SkippedIssue::new(number, why))
}

fn skip_each(
    report: &Report,
    numbers: &BTreeSet<u32>,
    skipped: impl Fn(u32) -> SkippedIssue,
) -> FixPass {
    let (issues, left) = select_issues(report, numbers);
    let more = issues.iter().map(|issue| skipped(issue.number)).collect();
    FixPass::leaving(left).and(FixPass::leaving(more))
}

fn not_applied(fixes: &[AppliedFix], failure: &FixWriteFailure) -> FixPass {
    let why = format!("nothing was applied: {}", failure.why);
    let left = |fix: &AppliedFix| match failure.refuses(&fix.files) {
        true => SkippedIssue::rejected(fix.number, &why),
        false => SkippedIssue::new(fix.number, &why),
    };
    FixPass::leaving(fixes.iter().map(left).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn member(file: &str, replacement: Option<String>) -> Member {
        let member = json!({
            "reviewer": "correctness", "origin": "model", "proof": "quotes",
            "finding": {
                "title": "It is wrong", "severity": "P2", "category": "bug", "file": file,
                "line_start": 3, "line_end": 3, "confidence": 0.8, "why_it_matters": "It fails.",
                "evidence": [{ "line": 3, "snippet": "a = b / c" }], "autofix_class": "safe_auto",
                "owner": "review-fixer", "requires_verification": false, "pre_existing": false,
                "replacement": replacement,
            },
        });
        serde_json::from_value(member).unwrap()
    }

    #[test]
    fn narrowed_issue_has_the_texts_of_its_open_place() {
        let diff = "\
diff --git a/old.py b/new.py
similarity index 100%
rename from old.py
rename to new.py
";
        let sources = Sources::new(Diff::read(diff.as_bytes().to_vec()));
        let first = edits::tests::issue(1, (9, 9), "one", None);
        let place = Location { file: "new.py".to_owned(), ..first.location.clone() };
        let group = Issue {
            title: "One cause".to_owned(),
            why_it_matters: "Both fail. Also at new.py:9.".to_owned(),
            other_places: vec![place.clone()],
            ..first
        };
        let check = |members: Vec<Member>, title: &str, text: &str, quote: &str| {
            let mut issue = Issue { members: members.clone(), ..group.clone() };
            narrow(&mut issue, std::slice::from_ref(&place), &sources);
            assert_eq!((issue.title.as_str(), issue.why_it_matters.as_str()), (title, text));
            assert_eq!((issue.evidence_snippet.as_str(), issue.members), (quote, members));
            assert_eq!(issue.location, place);
        };
        check(vec![member("old.py", None)], "It is wrong", "It fails.", "a = b / c");
        // Without a finding there, the texts stay, but they do not name the place again.
        check(Vec::new(), "One cause", "Both fail.", "");
    }

    #[test]
    fn issue_that_a_fixer_fixed_in_vain_can_be_fixed_again() {
        let mut issue = edits::tests::issue(1, (3, 3), "a", None);
        // crh uses no replacement if those of the findings differ.
        let replacements = ["b", "c"].map(|text| Some(text.to_owned()));
        issue.members = replacements.map(|replacement| member("a.py", replacement)).to_vec();
        let check = |author, outcome, expected| {
            let fix = AppliedFix { number: 1, outcome, author, ..AppliedFix::default() };
            let report = Report { applied_fixes: vec![fix], ..Report::default() };
            assert_eq!(applied_already(&report, &issue), expected);
        };
        let (code, model) = (FixAuthor::Code, FixAuthor::Model);
        check(model, FixOutcome::FoundAgain, None);
        check(code, FixOutcome::FoundAgain, Some(FOUND_AGAIN));
        check(model, FixOutcome::Done, Some("it is already fixed"));
    }

    #[test]
    fn proposal_that_is_in_the_tree_is_not_offered_again() {
        let check = |outcome, expected| {
            let fix = AppliedFix { number: 1, outcome, ..AppliedFix::default() };
            let issue = edits::tests::issue(1, (3, 3), "a", Some("b"));
            let mut report =
                Report { issues: vec![issue], applied_fixes: vec![fix], ..Report::default() };
            drop_applied_proposals(&mut report);
            let issue = &report.issues[0];
            assert_eq!((issue.action, issue.replacement.is_some()), expected, "{outcome:?}");
        };
        check(FixOutcome::FoundAgain, (Action::Defer, false));
        check(FixOutcome::Unverified, (Action::Defer, false));
        check(FixOutcome::Partial, (Action::Apply, false));
        check(FixOutcome::Done, (Action::Apply, true));
    }

    #[test]
    fn only_failed_issues_of_the_report_are_listed_as_not_fixed() {
        let issues = (1..=4).map(|number| edits::tests::issue(number, (3, 3), "a", None));
        let mut report = Report { issues: issues.collect(), ..Report::default() };
        let skipped = [
            SkippedIssue::new(1, "why"),
            SkippedIssue::rejected(2, "why"),
            SkippedIssue { kind: SkipKind::Unverifiable, ..SkippedIssue::new(3, "why") },
            SkippedIssue::not_tried(4),
            SkippedIssue::new(9, "the report has no such issue"),
        ];
        warn_skipped(&mut report, &skipped);
        assert_eq!(report.not_fixed, [1, 2]);
        assert_eq!(report.warnings, skipped.map(|left| not_fixed_warning(&left)));
    }

    #[test]
    fn warnings_about_fixed_issues_are_dropped() {
        let fix = |number, outcome| AppliedFix {
            number,
            description: String::new(),
            files: Vec::new(),
            outcome,
            ..AppliedFix::default()
        };
        let skipped = |number| not_fixed_warning(&SkippedIssue::new(number, "why"));
        let warnings = [1, 2, 11].map(|number| [skipped(number), found_again_warning(number)]);
        let mut report = Report {
            applied_fixes: vec![fix(1, FixOutcome::Done), fix(2, FixOutcome::FoundAgain)],
            warnings: warnings.concat(),
            ..Report::default()
        };
        drop_stale_warnings(&mut report);
        assert_eq!(report.warnings, warnings[1..].concat());
    }
}
