//! A second look at what a fix has changed, and at nothing else: what it finds is new in the report, and nothing that was open is
//! closed by not being found again.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::opened::AttributesAt;
use super::super::{opened, run_place};
use super::begin::Begun;
use super::desk;
use super::outcome::End;
use crate::config::environment::Environment;
use crate::failure::{Failure, Kind, OrFail};
use crate::fix;
use crate::fix::Standing;
use crate::ui::Verbosity;
use crh_git::Bare;
use crh_pipeline::revisions::Revisions;
use crh_pipeline::since::{Moved, Since};
use crh_pipeline::subject::Subject;
use crh_pipeline::tools::{Bench, ToolError};
use crh_pipeline::workspace::Workspace;
use crh_pipeline::{prepare, target, workspace};
use crh_review::diff::Diff;
use crh_review::report::{AppliedFix, Decimal, Issue, Report, RunOutcome, Stats};

/// What is said of a second look that somebody stopped.
pub(super) const LOOK_STOPPED: &str = "looking again at what was fixed was stopped";

/// Reviews the files that fixes have changed, and adds what is found to the report.
pub(super) fn review(
    begun: &Begun,
    report: &mut Report,
    applied: &[AppliedFix],
    round: u32,
    verbosity: Verbosity,
    environment: &Environment,
) -> Result<End, Failure> {
    let Some((bare, reviewed)) = &begun.files else { return Ok(End::Finished) };
    let Some(run) = begun.place.folder() else { return Ok(End::Finished) };
    let standing = Standing::of(run)?;
    let Some(now) = standing.commit() else { return Ok(End::Finished) };
    let spent = run.spent_before().map_err(run_place::failed)?;
    let folder = run.round(round).or_fail(Kind::Outside)?;
    let changed: BTreeSet<String> =
        applied.iter().flat_map(|fix| fix.files.iter().cloned()).collect();
    let subject = subject(begun, (bare, reviewed, now), &changed, &folder.workspace())?;
    let (second, end) = desk::look_again(begun, &subject, &folder, spent, verbosity, environment)?;
    let second = match end {
        End::Finished => second,
        // That they did not come to their end is nobody's failure.
        End::Interrupted => Report { reviewers: Vec::new(), ..second },
    };
    let TakenIn { new, found_again } = take_in(report, second, &changed);
    fix::keep_found_on(run, &new, now).or_fail(Kind::Outside)?;
    if !found_again.is_empty() {
        standing.keep_found_again(run, found_again).or_fail(Kind::Outside)?;
    }
    if end == End::Interrupted {
        fix::warn(report, &[LOOK_STOPPED.to_owned()]);
    }
    fix::up_to_date(begun, report);
    Ok(end)
}

/// The change with the fixes in it, of which only the files that they change are reviewed.
fn subject(
    begun: &Begun,
    (bare, reviewed, now): (&Bare, &str, &str),
    changed: &BTreeSet<String>,
    folder: &std::path::Path,
) -> Result<Subject, Failure> {
    let before = &begun.subject;
    let base = before.change.base_sha.clone();
    let diff = Diff::read(bare.diff(&base, now).or_fail(Kind::Outside)?);
    let objects = bare.objects().or_fail(Kind::Outside)?;
    let body = before.workspace().map(|workspace| workspace.metadata().body.clone());
    let change = target::Change {
        base: Some(base.clone()),
        head: Some(now.to_owned()),
        source: before.change.head_ref.clone(),
        target: before.change.base_ref.clone(),
        title: before.change.title.clone(),
        body: body.unwrap_or_default(),
        author: before.change.author.clone(),
        created_at: None,
        commits: Vec::new(),
        diff,
        untracked: Vec::new(),
        notes: Vec::new(),
        proposed: None,
    };
    let (scope, _) = opened::scope_of(
        &begun.settings,
        &change.diff,
        Some((&base, now)),
        Some(&objects),
        &AttributesAt::Old,
    )?;
    let paths = change.diff.files().iter().map(|file| file.path.shown().into_owned());
    let unchanged = paths.filter(|path| !changed.contains(path)).collect();
    let (contents, notes) = prepare::contents(change, Some(&objects)).or_fail(Kind::Outside)?;
    workspace::write(&contents, folder).or_fail(Kind::Outside)?;
    let workspace = Workspace::open(folder).or_fail(Kind::Outside)?;
    let Some(round) = workspace.latest() else {
        return Err(Failure::usage("the workspace of the fixes has no diff"));
    };
    let diff: Arc<Diff> = workspace.diff(&round.id).or_fail(Kind::Outside)?;
    let revisions = Revisions::new(bare.clone(), &base, now).or_fail(Kind::Outside)?;
    let analysers = begun.checks.analysers.clone();
    let bench = Bench::new().with_workspace(workspace).with_analysers(analysers);
    let bench = bench.with_repository(move || Ok::<_, ToolError>(revisions));
    let subject = Subject {
        bench,
        diff,
        scope,
        change: before.change.clone(),
        untracked: Vec::new(),
        notes,
        since: None,
    };
    let head = reviewed.to_owned();
    Ok(subject.since(Since { head, moved: Moved::On, unchanged, issues: Vec::new() }))
}

/// What a second look has brought into a report, by the numbers of the issues.
struct TakenIn {
    new: Vec<u32>,
    /// Those that were fixed, and are found all the same.
    found_again: Vec<u32>,
}

/// Adds what a second look at some files has found and the report does not have, and opens again what it has as fixed. The numbers
/// go on.
fn take_in(report: &mut Report, second: Report, changed: &BTreeSet<String>) -> TakenIn {
    let known = |issue: &Issue| {
        let all = || report.issues.iter().chain(&report.pre_existing);
        let same = all().find(|it| it.dedupe_key == issue.dedupe_key);
        // A fix changes the lines by which an issue is known.
        let is_fixed = |it: &&Issue| {
            report.is_fixed(it.number)
                && (&it.title, &it.location.file) == (&issue.title, &issue.location.file)
        };
        same.or_else(|| all().find(is_fixed)).map(|it| it.number)
    };
    let (mut new, mut found_again) = (Vec::new(), BTreeSet::new());
    for issue in second.issues {
        if !changed.contains(&issue.location.file) {
            continue;
        }
        match known(&issue) {
            Some(number) => {
                found_again.insert(number);
            }
            None => new.push(issue),
        }
    }
    let found_again = reopen(report, &found_again);
    let last = report.issues.iter().chain(&report.pre_existing).map(|issue| issue.number).max();
    let numbers: Vec<u32> = (last.unwrap_or_default() + 1..).take(new.len()).collect();
    report
        .issues
        .extend(numbers.iter().copied().zip(new).map(|(number, issue)| Issue { number, ..issue }));
    let failed = second.reviewers.into_iter().filter(|row| row.outcome == RunOutcome::Failed);
    let failed: Vec<String> = failed.map(|row| row.name).collect();
    if !failed.is_empty() {
        let names = failed.join(", ");
        report
            .warnings
            .push(format!("of those who looked again at what was fixed, these failed: {names}"));
    }
    report.stats = both(&report.stats, &second.stats);
    TakenIn { new: numbers, found_again }
}

/// Takes fixes back out of the report whose issues are still found; the numbers of those.
fn reopen(report: &mut Report, found_again: &BTreeSet<u32>) -> Vec<u32> {
    let fixed: Vec<u32> =
        found_again.iter().copied().filter(|number| report.is_fixed(*number)).collect();
    let warnings = fixed.iter().map(|number| format!("#{number} was found again after its fix"));
    fix::warn(report, &warnings.collect::<Vec<_>>());
    report.applied_fixes.retain(|fix| !found_again.contains(&fix.number));
    fixed
}

/// How long both took; what they cost together follows from their transcripts.
fn both(one: &Stats, other: &Stats) -> Stats {
    let llm = one.latency_seconds_llm.0.saturating_add(other.latency_seconds_llm.0);
    Stats {
        latency_seconds_e2e: other.latency_seconds_e2e.max(one.latency_seconds_e2e),
        latency_seconds_llm: Decimal(llm),
        ..one.clone()
    }
}
