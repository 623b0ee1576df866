//! `crh fix`: fixes issues of a stored run in the reviewed checkout, or undoes the fixes of a run.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;

use super::dismiss::load_past_decisions;
use super::review::ReopenRequest;
use super::review::session::ReviewSession;
use super::run_lookup::run_dir_flag;
use super::{review, run_lookup};
use crate::cli::FixArgs;
use crate::config::environment::Environment;
use crate::config::keys::{RawSettings, Settings};

use crate::failure::{Failure, FailureKind, OrFail};
use crate::fix::found_on::forget_found_on;
use crate::fix::interrupted_fix::roll_back_interrupted_fix;
use crate::fix::journal::{ApplyError, LockedCheckout};
use crate::fix::moved_checkout::MovedCheckout;
use crate::fix::outcome::{FixPass, SkipKind, SkippedIssue};
use crate::fix::residual::left_before;
use crate::fix::{AppliedFixes, FixObstacle, FixOrigin, UpdateStorage};
use crate::hand_off::todos;
use crate::{fix, ui};
use crh_git::{OpenError, Repository};
use crh_pipeline::review_options::ReviewOptions;
use crh_pipeline::run_folder;
use crh_pipeline::run_folder::{OPTIONS_FILE, RunFolder, RunTrust};
use crh_review::report::{AppliedFix, Report, ReviewedChange};

/// Characters of an abbreviated commit hash, as in reports.
const COMMIT_CHARS: usize = 12;

/// The issues with a safe fix, without those that the user dismissed after the review, and the
/// issues whose fix was rejected before. `--issue N` fixes all of them. `name` is the run as words
/// of a command.
fn safe_to_try(
    report: &Report,
    settings: &Settings,
    (run, name): (&RunFolder, &str),
) -> Result<(BTreeSet<u32>, Vec<SkippedIssue>), Failure> {
    let safe = fix::safe(report);
    let mut numbers = without_dismissed(safe.clone(), report, settings)?;
    if numbers.is_empty() {
        ui::note(&format!(
            "no open issue has a safe fix; `crh show {name}` shows what each issue needs"
        ));
    }
    let failed = left_before(run).into_iter().filter(|left| left.kind == SkipKind::Rejected);
    let (mut rejected, mut others): (Vec<SkippedIssue>, Vec<SkippedIssue>) =
        failed.partition(|left| numbers.remove(&left.number));
    others.retain(|left| !safe.contains(&left.number));
    note_earlier_failures(&others, report, settings)?;
    for left in &mut rejected {
        let SkippedIssue { number, why, .. } = left;
        *why = format!("it failed before, and `--issue {number}` tries it again: {why}");
    }
    Ok((numbers, rejected))
}

/// Prints why an earlier fix of each of these issues failed, unless the issue is closed now.
/// Autofix gives a safe issue that it could not fix to another owner, so [`fix::safe`] leaves it
/// out.
fn note_earlier_failures(
    failed: &[SkippedIssue],
    report: &Report,
    settings: &Settings,
) -> Result<(), Failure> {
    let is_failed = |number: &u32| failed.iter().any(|left| left.number == *number);
    let open = report.open_issues().map(|issue| issue.number).filter(is_failed).collect();
    let open = without_dismissed(open, report, settings)?;
    for SkippedIssue { number, why, .. } in failed.iter().filter(|it| open.contains(&it.number)) {
        ui::note(&format!(
            "an earlier fix of #{number} failed, and `--issue {number}` tries it again: {why}"
        ));
    }
    Ok(())
}

/// Leaves out the issues that the user dismissed after the review.
fn without_dismissed(
    mut numbers: BTreeSet<u32>,
    report: &Report,
    settings: &Settings,
) -> Result<BTreeSet<u32>, Failure> {
    let dismissed = load_past_decisions(settings, &report.change.repo)?.dismissed;
    numbers.retain(|number| {
        let key = report.issue(*number).map(|issue| issue.dedupe_key.as_str());
        let is_dismissed = key.is_some_and(|key| dismissed.contains_key(key));
        if is_dismissed {
            ui::note(&format!("#{number} is dismissed, so crh does not fix it"));
        }
        !is_dismissed
    });
    Ok(numbers)
}

/// Leaves out the chosen issues that are already fixed.
fn without_fixed(chosen: &[u32], report: &Report) -> BTreeSet<u32> {
    let (fixed, open): (BTreeSet<u32>, BTreeSet<u32>) =
        chosen.iter().copied().partition(|number| report.is_fixed(*number));
    note_already_fixed(&fixed);
    open
}

fn note_already_fixed(numbers: &BTreeSet<u32>) {
    for number in numbers {
        ui::note(&format!("#{number} is already fixed"));
    }
}

pub(crate) fn run(args: FixArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    require_repository(environment)?;
    roll_back_interrupted_fix(environment)?;
    if let Some(run) = &args.undo {
        return undo(run.as_deref(), &args, environment).map(|()| ExitCode::SUCCESS);
    }
    let run_dir = args.runs.run_dir.as_deref();
    let stored_run = run_lookup::own_run_folder(environment, run_dir, args.run.as_deref())?;
    let mut report = stored_run.report().map_err(run_lookup::folder_failure)?;
    let mut flags = RawSettings::default();
    args.fix.set(&mut flags);
    args.model.set(&mut flags)?;
    args.analysers.set(&mut flags);
    args.display.set(&mut flags);
    let reopening = ReopenRequest { run: &stored_run, trust: args.trust, flags };
    let session = review::reopened(reopening, environment)?;
    // An unreadable journal must be the first error: `check_checkout` would say that nothing can be
    // fixed, and not that the journal is damaged.
    session.place.folder().map(AppliedFixes::load).transpose()?;
    check_checkout(&session, &report, environment)?;
    let storage = if args.dry_run { UpdateStorage::InMemory } else { UpdateStorage::Stored };
    fix::update_report(&session, &mut report, storage)?;
    let run = format!("{}{}", ui::shell_word(&stored_run.run_id()), run_dir_flag(run_dir));
    let (numbers, rejected) = match args.issue.is_empty() {
        true => safe_to_try(&report, &session.settings, (&stored_run, &run))?,
        false => (without_fixed(&args.issue, &report), Vec::new()),
    };
    let rejected = FixPass::leaving(rejected);
    // Warn before crh pays for a fixer.
    let warned = fix::unverifiable(&session, &report, &numbers, FixOrigin::Command);
    warned.iter().for_each(warn_skipped);
    if args.dry_run {
        let (patch, outcome) = fix::would_fix(&session, &report, &numbers, environment)?;
        let outcome = rejected.and(outcome);
        note_already_fixed(&outcome.already_fixed);
        warn_not_fixed(&outcome, &warned);
        print_patch(&patch)?;
        return Ok(exit_code(&outcome));
    }
    let outcome = fix::fix(&session, &mut report, &numbers, FixOrigin::Command, environment)?;
    let outcome = rejected.and(outcome);
    note_already_fixed(&outcome.already_fixed);
    warn_not_fixed(&outcome, &warned);
    ui::result_text(&fixes_text(&outcome))?;
    let has_new_fix = new_fixes(&outcome).next().is_some();
    if has_new_fix {
        ui::note(&format!("undo with `crh fix --undo {run}`"));
    }
    match &outcome.store_error {
        None => Ok(exit_code(&outcome)),
        Some(reason) => {
            let state = if has_new_fix { "the fixes are applied" } else { "nothing was fixed" };
            Err(report_not_updated(state, reason, &format!("crh fix {run}")))
        }
    }
}

/// Fails if the reviewed change is not the checkout of the current folder.
fn check_checkout(
    session: &ReviewSession,
    report: &Report,
    environment: &Environment,
) -> Result<(), Failure> {
    if let Some(checkout) =
        session.checkout.as_ref().filter(|path| !is_current_checkout(environment, path))
    {
        return Err(ApplyError::Elsewhere { checkout: checkout.clone() }.into());
    }
    let moved_failure = |moved: &MovedCheckout, next: &str| {
        let hint = format!("run `{}`{next}", moved.switch_command());
        unfixable(report, &moved.reason()).hint(hint)
    };
    let repository = Repository::discover(&environment.folder).or_fail(FailureKind::Usage)?;
    let reason = match fix::obstacle(session) {
        None => {
            return match MovedCheckout::since_review(session)? {
                Some(moved) => Err(moved_failure(&moved, ", then run `crh fix` again")),
                None => Ok(()),
            };
        }
        Some(FixObstacle::NotCheckedOut) => {
            if let Some(moved) = MovedCheckout::from_branch(&report.change, &repository) {
                return Err(moved_failure(&moved, ", then review it with `crh review`"));
            }
            format!("it reviewed {}, not the current checkout", change_name(&report.change))
        }
        Some(obstacle) => obstacle.to_string(),
    };
    Err(unfixable(report, &reason)
        .hint("check out what you want to fix, and review it with `crh review`"))
}

fn unfixable(report: &Report, reason: &str) -> Failure {
    Failure::usage(format!("cannot fix the issues of run `{}`: {reason}", report.run_id))
}

/// Name of the reviewed change for a message: its address, or its base and head.
fn change_name(change: &ReviewedChange) -> String {
    let ReviewedChange { url, base_ref, head_ref, base_sha, head_sha, .. } = change;
    let name = |name: &str, commit: &str| match name.is_empty() || name == commit {
        true => commit.chars().take(COMMIT_CHARS).collect::<String>(),
        false => name.trim_start_matches("refs/heads/").to_owned(),
    };
    if !url.is_empty() {
        return format!("`{url}`");
    }
    if base_ref.is_empty() && head_ref.is_empty() {
        return "a diff".to_owned();
    }
    format!("`{}..{}`", name(base_ref, base_sha), name(head_ref, head_sha))
}

/// Fails outside a repository.
fn require_repository(environment: &Environment) -> Result<(), Failure> {
    match Repository::discover(&environment.folder) {
        Err(error @ OpenError::NotARepository(_)) => {
            Err(Failure::new(FailureKind::Usage, error)
                .hint("run `crh fix` in the reviewed checkout"))
        }
        // Later code reports other errors.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Whether the current folder belongs to this checkout.
fn is_current_checkout(environment: &Environment, checkout: &Path) -> bool {
    let repository = Repository::discover(&environment.folder);
    repository.is_ok_and(|repository| repository.work_tree.as_deref() == Some(checkout))
}

/// Undoes all fixes of a run, by default of the newest run that was fixed.
fn undo(run: Option<&str>, args: &FixArgs, environment: &Environment) -> Result<(), Failure> {
    let run_dir = args.runs.run_dir.as_deref();
    let newest = match run {
        Some(_) => None,
        None => newest_fixed_run(environment, run_dir)?,
    };
    let run = run.or(newest.as_deref());
    let stored_run = run_lookup::own_run_folder(environment, run_dir, run)?;
    let folder = stored_run.resume().map_err(run_lookup::folder_failure)?;
    let repository = Repository::discover(&environment.folder).or_fail(FailureKind::Usage)?;
    let Some(root) = &repository.work_tree else {
        return Err(Failure::usage("this repository has no working tree")
            .hint("run the command in the fixed checkout"));
    };
    let run = ui::shell_word(&folder.run_id());
    let retry_command = format!("crh fix --undo {run}{}", run_dir_flag(run_dir));
    let files = LockedCheckout::take(root, folder.stamp_key())
        .and_then(|locked| locked.undo(&fix::fixes_of(&folder), fix::journal::UNDISTURBED))
        .map_err(|error| undo_failure(error, &folder, &repository, &retry_command))?;
    let report = folder.report().map_err(run_lookup::folder_failure)?;
    if !report.applied_fixes.is_empty() && !fix::journal::has_journal(&fix::fixes_of(&folder)) {
        let error = anyhow::anyhow!("crh's copies of the original files are missing");
        return Err(Failure::new(FailureKind::External, error).hint(
            "crh changed no file; restore the fixed files with git, such as `git restore FILE`",
        ));
    }
    // An earlier undo may have ended before it updated the report.
    let is_updated = !files.is_empty() || !report.applied_fixes.is_empty();
    // An unreadable config must not prevent the undo.
    let todos = todos::of_report(root, &report, environment).unwrap_or_default();
    if is_updated {
        let options: ReviewOptions =
            folder.read(OPTIONS_FILE).map_err(run_lookup::folder_failure)?;
        let report = fix::report_before_fixes(Some(&folder), report, options.command);
        let stored = forget_found_on(&folder).and_then(|()| fix::store_in(&folder, &report, &[]));
        if let Err(error) = stored {
            print_restored(&files)?;
            return Err(report_not_updated("the fixes are undone", &error, &retry_command));
        }
    }
    if files.is_empty() {
        ui::note(&match (is_updated, &newest) {
            (true, _) => "the checkout had no fixes any more; the report of the run lists none now"
                .to_owned(),
            // The next older run may be one that the user wants to keep.
            (false, Some(run)) => format!(
                "the fixes of run `{run}` are already undone; to undo the fixes of an older review, name it: `crh fix --undo RUN`"
            ),
            (false, None) => {
                "nothing to undo: no stored review has fixes applied in this checkout".to_owned()
            }
        });
    }
    print_restored(&files)?;
    if is_updated && !todos.is_empty() {
        let todos: Vec<String> = todos.iter().map(|todo| format!("`{}`", todo.display())).collect();
        ui::note(&format!("the todo files of this review stay: {}", todos.join(", ")));
    }
    Ok(())
}

/// The failure of an undo. If a file differs from the fix because another branch is checked out, the
/// message says so.
fn undo_failure(
    error: ApplyError,
    run: &RunFolder,
    repository: &Repository,
    retry_command: &str,
) -> Failure {
    let is_edited = matches!(error, ApplyError::Edited { .. });
    let moved = MovedCheckout::since_fixes(run, repository).filter(|_| is_edited);
    let Some(moved) = moved else { return error.into() };
    let (run, reason) = (run.run_id(), moved.reason());
    Failure::usage(format!("cannot undo the fixes of run `{run}`: {reason}")).hint(format!(
        "crh changed nothing; run `{}`, then run `{retry_command}` again",
        moved.switch_command()
    ))
}

/// Name of the newest run that was fixed, even if its fixes are undone now.
fn newest_fixed_run(
    environment: &Environment,
    run_dir: Option<&Path>,
) -> Result<Option<String>, Failure> {
    let key = run_lookup::stamp_key(environment)?;
    let trust = key.as_ref().map_or(RunTrust::Nothing, RunTrust::Stamped);
    let runs = run_lookup::runs_folder(environment, run_dir)?;
    let names =
        run_folder::list_runs(&runs, trust, &mut |_| {}).map_err(run_lookup::folder_failure)?;
    let was_fixed = |name: &String| {
        let Ok(folder) = trust.open(&runs.join(name)) else { return false };
        // The journals may be lost, or written without the report.
        fix::journal::has_applied(&fix::fixes_of(&folder))
            || folder.report().is_ok_and(|report| !report.applied_fixes.is_empty())
    };
    Ok(names.into_iter().map(|run| run.run_id).find(was_fixed))
}

fn print_restored(files: &[String]) -> Result<(), Failure> {
    if files.is_empty() {
        return Ok(());
    }
    let lines: String = files.iter().map(|file| format!("{file}\n")).collect();
    ui::result_text(&crh_review::escape_invisible(&format!("Restored:\n{lines}")))
}

/// The failure if crh cannot update the stored report. `state` says what became of the fixes.
fn report_not_updated(state: &str, reason: &dyn Display, retry_command: &str) -> Failure {
    let message = format!("{state}, but the stored report could not be updated: {reason}");
    Failure::new(FailureKind::External, anyhow::anyhow!(message))
        .hint(format!("make the run folder writable, then run `{retry_command}` to update it"))
}

/// Prints the patch: byte for byte for programs, with escaped control characters on a terminal.
fn print_patch(patch: &[u8]) -> Result<(), Failure> {
    match ui::stdout_is_terminal() {
        true => ui::result_text(&crh_review::escape_invisible(&String::from_utf8_lossy(patch))),
        false => ui::result(|out| out.write_all(patch)),
    }
}

/// Warns about skipped issues that are not in `warned`.
fn warn_not_fixed(outcome: &FixPass, warned: &[SkippedIssue]) {
    outcome.left.iter().filter(|skipped| !warned.contains(skipped)).for_each(warn_skipped);
    for warning in &outcome.warnings {
        ui::warn(warning);
    }
}

fn warn_skipped(skipped: &SkippedIssue) {
    ui::warn(&fix::not_fixed_warning(skipped));
}

/// The fixes whose edits were not in the checkout before.
fn new_fixes(outcome: &FixPass) -> impl Iterator<Item = &AppliedFix> {
    outcome.applied.iter().filter(|fix| !outcome.already_fixed.contains(&fix.number))
}

fn fixes_text(outcome: &FixPass) -> String {
    let lines = new_fixes(outcome).map(|fix| {
        let (files, note) = (fix.files.join(", "), fix.outcome.note());
        format!("#{} {} ({files}){note}\n", fix.number, fix.description)
    });
    let count = new_fixes(outcome).filter(|fix| fix.outcome.is_done()).count();
    let fixes = if count == 1 { "1 issue fixed" } else { &format!("{count} issues fixed") };
    crh_review::escape_invisible(&format!("{}{fixes}.\n", lines.collect::<String>()))
}

/// 1 if an issue was skipped or stays open, so that a partial fix does not look like success. Ctrl-C
/// has its own code.
fn exit_code(outcome: &FixPass) -> ExitCode {
    match outcome.is_stopped {
        true => ExitCode::from(ui::INTERRUPTED),
        false => {
            let is_open = outcome.applied.iter().any(|fix| !fix.outcome.is_done());
            ExitCode::from(u8::from(is_open || !outcome.left.is_empty()))
        }
    }
}
