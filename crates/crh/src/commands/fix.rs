//! `crh fix`: fixes issues of a stored run in the reviewed checkout, or undoes its fixes.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;

use super::review::{Begun, Reopening};
use super::{review, run_lookup};
use crate::cli::FixArgs;
use crate::config::environment::Environment;
use crate::config::keys::RawSettings;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::fix::journal::{Locked, NotApplied, Recovered};
use crate::fix::outcome::Fixed;
use crate::fix::{Asker, Standing};
use crate::{fix, ui};
use crh_git::{OpenError, Repository};
use crh_pipeline::review_options::ReviewOptions;
use crh_pipeline::run_folder::{OPTIONS_FILE, RunFolder};
use crh_review::report::Report;

/// Note if no open issue has a safe fix.
const NO_SAFE_FIX: &str = "no open issue has a safe fix; use `--issue N` to fix one anyway";

pub(crate) fn run(args: FixArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    require_repository(environment)?;
    roll_back_interrupted_fix(environment)?;
    if let Some(run) = &args.undo {
        return undo(run, &args, environment).map(|()| ExitCode::SUCCESS);
    }
    let found =
        run_lookup::run_folder(environment, args.runs.run_dir.as_deref(), args.run.as_deref())?;
    let mut report = found.report().map_err(run_lookup::folder_failure)?;
    let mut flags = RawSettings::default();
    args.fix.set(&mut flags);
    args.model.set(&mut flags)?;
    args.analysers.set(&mut flags);
    args.display.set(&mut flags);
    let reopening = Reopening { run: &found, trust: args.trust, flags };
    let begun = review::reopened(reopening, environment)?;
    if let Some(checkout) =
        begun.checkout.as_ref().filter(|it| !is_current_checkout(environment, it))
    {
        return Err(NotApplied::Elsewhere { checkout: checkout.clone() }.into());
    }
    // First: an unreadable journal must stop the command.
    let standing = begun.place.folder().map(Standing::of).transpose()?.unwrap_or_default();
    if let Some(why) = fix::not_the_checkout(&begun) {
        return Err(Failure::usage(format!("cannot fix this run: {why}"))
            .hint("review the checkout itself, for example with `crh review`"));
    }
    fix::settled(&begun, &mut report)?;
    let numbers: BTreeSet<u32> = match args.issue.is_empty() {
        true => fix::safe(&report),
        false => args.issue.iter().copied().collect(),
    };
    if numbers.is_empty() {
        ui::note(NO_SAFE_FIX);
    }
    if !standing.is_empty() {
        note_changed_file(&begun, &found)?;
    }
    if args.dry_run {
        let (patch, fixed) = fix::would_fix(&begun, &report, &numbers, environment)?;
        warn_not_fixed(&fixed);
        print_patch(&patch)?;
        return Ok(exit_code(&fixed));
    }
    let fixed = fix::fix(&begun, &mut report, &numbers, Asker::Command, environment)?;
    warn_not_fixed(&fixed);
    ui::result_text(&fixes_text(&fixed))?;
    match &fixed.unkept {
        None => Ok(exit_code(&fixed)),
        Some(why) => {
            let what = match fixed.applied.is_empty() {
                true => "nothing was fixed",
                false => "the fixes are applied",
            };
            Err(report_not_updated(what, why, &format!("crh fix {}", found.run_id())))
        }
    }
}

/// Notes the first file that differs from what the fixes left. The user may have undone them with
/// git, which the run cannot know.
fn note_changed_file(begun: &Begun, run: &RunFolder) -> Result<(), Failure> {
    let Some(root) = &begun.checkout else { return Ok(()) };
    let changed = Locked::take(root)?.not_as_left(&fix::fixes_of(run))?;
    if let Some(path) = changed {
        let run = run.run_id();
        ui::note(&format!(
            "`{path}` was changed after the fixes of this run; if you undid them with git, run `crh fix --undo {run}` to update the run"
        ));
    }
    Ok(())
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

/// Rolls back an interrupted fix and says so.
pub(super) fn roll_back_interrupted_fix(environment: &Environment) -> Result<(), Failure> {
    match fix::recover(environment) {
        fix::Recovery::Nothing => Ok(()),
        fix::Recovery::RolledBack(recovered) => {
            ui::note(&recovery_message(&recovered));
            Ok(())
        }
        fix::Recovery::Not(why) => Err(why.into()),
    }
}

fn recovery_message(Recovered { files, is_taking_back }: &Recovered) -> String {
    let what = match is_taking_back {
        true => "an undo was interrupted, and the fixes are in place again",
        false => "rolled back an interrupted fix",
    };
    format!("{what}: {}", files.join(", "))
}

/// Undoes all fixes of a run.
fn undo(run: &str, args: &FixArgs, environment: &Environment) -> Result<(), Failure> {
    let found = run_lookup::run_folder(environment, args.runs.run_dir.as_deref(), Some(run))?;
    let folder = RunFolder::resume(found.path()).map_err(run_lookup::folder_failure)?;
    let repository = Repository::discover(&environment.folder).or_fail(FailureKind::Usage)?;
    let Some(root) = &repository.work_tree else {
        return Err(Failure::usage("this repository has no working tree")
            .hint("run the command in the fixed checkout"));
    };
    let files = Locked::take(root)
        .and_then(|locked| locked.undo(&fix::fixes_of(&folder), fix::journal::UNDISTURBED))?;
    let report = folder.report().map_err(run_lookup::folder_failure)?;
    if !report.applied_fixes.is_empty() && !fix::journal::is_any(&fix::fixes_of(&folder)) {
        let why = anyhow::anyhow!("the journals of this run's fixes are missing");
        return Err(Failure::new(FailureKind::External, why)
            .hint("nothing was changed; undo the fixes with git"));
    }
    // An earlier undo may have ended before it updated the report.
    if !files.is_empty() || !report.applied_fixes.is_empty() {
        let terms: ReviewOptions = folder.read(OPTIONS_FILE).map_err(run_lookup::folder_failure)?;
        let mut report = report_before_fixes(&folder, report);
        crh_review::refresh_verdict(&mut report, terms.command);
        crh_pipeline::assemble::recount_summary(&mut report);
        if let Err(why) = fix::store_in(&folder, &report, &[]) {
            print_restored(&files)?;
            let again = format!("crh fix --undo {}", folder.run_id());
            return Err(report_not_updated("the fixes are undone", &why, &again));
        }
    }
    if files.is_empty() {
        ui::note("nothing to undo: no fix of this run is in the checkout");
        return Ok(());
    }
    print_restored(&files)
}

fn print_restored(files: &[String]) -> Result<(), Failure> {
    let lines: String = files.iter().map(|file| format!("{file}\n")).collect();
    ui::result_text(&crh_review::escape_invisible(&format!("Restored:\n{lines}")))
}

/// Error: the checkout was changed, but the run folder could not be updated.
fn report_not_updated(what: &str, why: &dyn Display, again: &str) -> Failure {
    let message = format!("{what}, but the stored report could not be updated: {why}");
    Failure::new(FailureKind::External, anyhow::anyhow!(message))
        .hint(format!("make the run folder writable, then run `{again}` to update it"))
}

/// The report of the review without later findings and warnings. The cost stays.
fn report_before_fixes(folder: &RunFolder, report: Report) -> Report {
    match folder.read::<Report>(fix::REVIEWED) {
        Ok(reviewed) => Report { stats: report.stats, ..reviewed },
        Err(_) => Report { applied_fixes: Vec::new(), ..report },
    }
}

/// Prints the patch as it is for programs, and escaped for terminals.
fn print_patch(patch: &[u8]) -> Result<(), Failure> {
    match ui::stdout_is_terminal() {
        true => ui::result_text(&crh_review::escape_invisible(&String::from_utf8_lossy(patch))),
        false => ui::result(|out| out.write_all(patch)),
    }
}

fn warn_not_fixed(fixed: &Fixed) {
    for left in &fixed.left {
        ui::warn(&format!("#{} not fixed: {}", left.number, left.why));
    }
    for warning in &fixed.warnings {
        ui::warn(warning);
    }
}

fn fixes_text(fixed: &Fixed) -> String {
    let lines = fixed
        .applied
        .iter()
        .map(|fix| format!("#{} {} ({})\n", fix.number, fix.description, fix.files.join(", ")));
    let count = fixed.applied.len();
    let fixes = if count == 1 { "1 issue fixed" } else { &format!("{count} issues fixed") };
    crh_review::escape_invisible(&format!("{}{fixes}.\n", lines.collect::<String>()))
}

/// A skipped issue must not look like success.
fn exit_code(fixed: &Fixed) -> ExitCode {
    match fixed.is_stopped {
        true => ExitCode::from(ui::INTERRUPTED),
        false => ExitCode::from(u8::from(!fixed.left.is_empty())),
    }
}
