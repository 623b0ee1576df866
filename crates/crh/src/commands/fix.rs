//! `crh fix`: issues of a stored run are fixed in the checkout that was reviewed, or taken back.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;

use super::review::{Begun, Reopening};
use super::{review, run_place};
use crate::cli::FixArgs;
use crate::config::environment::Environment;
use crate::config::keys::RawSettings;
use crate::failure::{Failure, Kind, OrFail};
use crate::fix::journal::{Locked, NotApplied, Recovered};
use crate::fix::outcome::Fixed;
use crate::fix::{Asker, Standing};
use crate::{fix, ui};
use crh_git::{OpenError, Repository};
use crh_pipeline::run_folder::{RunFolder, TERMS};
use crh_pipeline::terms::Terms;
use crh_review::report::Report;

/// What to do where nothing is safe to be fixed without asking.
const OTHERS: &str =
    "no open issue is safe to fix without asking; `--issue N` fixes one all the same";

pub(crate) fn run(args: FixArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    in_repository(environment)?;
    rolled_back(environment)?;
    if let Some(run) = &args.undo {
        return undo(run, &args, environment).map(|()| ExitCode::SUCCESS);
    }
    let found =
        run_place::run_folder(environment, args.place.run_dir.as_deref(), args.run.as_deref())?;
    let mut report = found.report().map_err(run_place::failed)?;
    let mut flags = RawSettings::default();
    args.fix.set(&mut flags);
    args.model.set(&mut flags)?;
    args.analysers.set(&mut flags);
    args.look.set(&mut flags);
    let reopening = Reopening { run: &found, trust: args.trust, flags };
    let begun = review::reopened(reopening, environment)?;
    if let Some(checkout) = begun.checkout.as_ref().filter(|it| !is_in(environment, it)) {
        return Err(NotApplied::Elsewhere { checkout: checkout.clone() }.into());
    }
    // Before anything else: what cannot be read is no reason to review again.
    let standing = begun.place.folder().map(Standing::of).transpose()?.unwrap_or_default();
    if let Some(why) = fix::not_the_checkout(&begun) {
        return Err(Failure::usage(format!("nothing of this run can be fixed: {why}"))
            .hint("review the checkout itself to fix what is found in it"));
    }
    fix::settled(&begun, &mut report)?;
    let numbers: BTreeSet<u32> = match args.issue.is_empty() {
        true => fix::safe(&report),
        false => args.issue.iter().copied().collect(),
    };
    if numbers.is_empty() {
        ui::note(OTHERS);
    }
    if !standing.is_empty() {
        note_taken_back(&begun, &found)?;
    }
    if args.dry_run {
        let (patch, fixed) = fix::would_fix(&begun, &report, &numbers, environment)?;
        say_left(&fixed);
        say_patch(&patch)?;
        return Ok(ended(&fixed));
    }
    let fixed = fix::fix(&begun, &mut report, &numbers, Asker::Command, environment)?;
    say_left(&fixed);
    ui::result_text(&shown(&fixed))?;
    match &fixed.unkept {
        None => Ok(ended(&fixed)),
        Some(why) => {
            let what = match fixed.applied.is_empty() {
                true => "that nothing was fixed, and why",
                false => "what was fixed",
            };
            Err(not_known(what, why, &format!("crh fix {}", found.run_id())))
        }
    }
}

/// Says which file is not as the fixes of a run have left it: they may have been taken back by git, which a run cannot know.
fn note_taken_back(begun: &Begun, run: &RunFolder) -> Result<(), Failure> {
    let Some(root) = &begun.checkout else { return Ok(()) };
    let changed = Locked::take(root)?.not_as_left(&fix::fixes_of(run))?;
    if let Some(path) = changed {
        let run = run.run_id();
        ui::note(&format!(
            "`{path}` is not as the fixes of this run have left it; if they were taken back by other means, `crh fix --undo {run}` lets the run know"
        ));
    }
    Ok(())
}

/// Refuses to look for runs where there can be no checkout.
fn in_repository(environment: &Environment) -> Result<(), Failure> {
    match Repository::discover(&environment.folder) {
        Err(error @ OpenError::NotARepository(_)) => Err(Failure::new(Kind::Usage, error)
            .hint("`crh fix` changes a checkout: go into the one that was reviewed")),
        // Whoever needs more of it says what is wrong with it.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Whether the folder that the user is in belongs to a checkout.
fn is_in(environment: &Environment, checkout: &Path) -> bool {
    let repository = Repository::discover(&environment.folder);
    repository.is_ok_and(|repository| repository.work_tree.as_deref() == Some(checkout))
}

/// Rolls back what an earlier one was interrupted in, and says so.
pub(super) fn rolled_back(environment: &Environment) -> Result<(), Failure> {
    match fix::recover(environment) {
        fix::Recovery::Nothing => Ok(()),
        fix::Recovery::RolledBack(recovered) => {
            ui::note(&rolled_back_words(&recovered));
            Ok(())
        }
        fix::Recovery::Not(why) => Err(why.into()),
    }
}

fn rolled_back_words(Recovered { files, is_taking_back }: &Recovered) -> String {
    let what = match is_taking_back {
        true => "taking fixes back was interrupted, and they stand again",
        false => "a fix was interrupted and is rolled back",
    };
    format!("{what}: {}", files.join(", "))
}

/// Takes back what was fixed after a run.
fn undo(run: &str, args: &FixArgs, environment: &Environment) -> Result<(), Failure> {
    let found = run_place::run_folder(environment, args.place.run_dir.as_deref(), Some(run))?;
    let folder = RunFolder::resume(found.path()).map_err(run_place::failed)?;
    let repository = Repository::discover(&environment.folder).or_fail(Kind::Usage)?;
    let Some(root) = &repository.work_tree else {
        return Err(Failure::usage("this repository has no checkout")
            .hint("go into the checkout that was fixed"));
    };
    let files = Locked::take(root)
        .and_then(|locked| locked.undo(&fix::fixes_of(&folder), fix::journal::UNDISTURBED))?;
    let report = folder.report().map_err(run_place::failed)?;
    if !report.applied_fixes.is_empty() && !fix::journal::is_any(&fix::fixes_of(&folder)) {
        let why =
            anyhow::anyhow!("what the fixes of this run have changed is not written down any more");
        return Err(
            Failure::new(Kind::Outside, why).hint("nothing was changed; take them back by git")
        );
    }
    // Whoever took them back before may have been ended before the report knew of it.
    if !files.is_empty() || !report.applied_fixes.is_empty() {
        let terms: Terms = folder.read(TERMS).map_err(run_place::failed)?;
        let mut report = as_reviewed(&folder, report);
        crh_review::settle(&mut report, terms.asked);
        crh_pipeline::assemble::recount(&mut report);
        if let Err(why) = fix::store_in(&folder, &report, &[]) {
            say_as_before(&files)?;
            let again = format!("crh fix --undo {}", folder.run_id());
            return Err(not_known("that the fixes are taken back", &why, &again));
        }
    }
    if files.is_empty() {
        ui::note("nothing that was fixed after this run stands in the checkout");
        return Ok(());
    }
    say_as_before(&files)
}

fn say_as_before(files: &[String]) -> Result<(), Failure> {
    let lines: String = files.iter().map(|file| format!("{file}\n")).collect();
    ui::result_text(&crh_review::visible(&format!("As before the fixes:\n{lines}")))
}

/// The checkout is changed, and its run could not be: what has to be known, and what does that.
fn not_known(what: &str, why: &dyn Display, again: &str) -> Failure {
    let message = format!("the report of the run does not say {what}: {why}");
    Failure::new(Kind::Outside, anyhow::anyhow!(message))
        .hint(format!("once it can be written, `{again}` writes it"))
}

/// A report without what came after the review: what was found in code that is gone, and what was said about fixes. What it has cost
/// has been paid.
fn as_reviewed(folder: &RunFolder, report: Report) -> Report {
    match folder.read::<Report>(fix::REVIEWED) {
        Ok(reviewed) => Report { stats: report.stats, ..reviewed },
        Err(_) => Report { applied_fixes: Vec::new(), ..report },
    }
}

/// A patch is for programs as it is; for a person, nothing in it may act on the terminal.
fn say_patch(patch: &[u8]) -> Result<(), Failure> {
    match ui::shows_to_person() {
        true => ui::result_text(&crh_review::visible(&String::from_utf8_lossy(patch))),
        false => ui::result(|out| out.write_all(patch)),
    }
}

fn say_left(fixed: &Fixed) {
    for left in &fixed.left {
        ui::warn(&format!("#{} is left: {}", left.number, left.why));
    }
    for warning in &fixed.warnings {
        ui::warn(warning);
    }
}

fn shown(fixed: &Fixed) -> String {
    let lines = fixed
        .applied
        .iter()
        .map(|fix| format!("#{} {} ({})\n", fix.number, fix.description, fix.files.join(", ")));
    let count = fixed.applied.len();
    let fixes =
        if count == 1 { "1 issue was fixed" } else { &format!("{count} issues were fixed") };
    crh_review::visible(&format!("{}{fixes}.\n", lines.collect::<String>()))
}

/// Whoever asked for fixes and did not get all of them must not take this for a good end.
fn ended(fixed: &Fixed) -> ExitCode {
    match fixed.is_stopped {
        true => ExitCode::from(ui::INTERRUPTED),
        false => ExitCode::from(u8::from(!fixed.left.is_empty())),
    }
}
