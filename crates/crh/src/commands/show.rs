//! `crh show`: shows a stored run in any format.

use std::path::Path;

use super::dismiss::DismissalCache;
use super::{render, run_lookup, runs};
use crate::cli::{FormatArg, ListFormatArg, RenderOutputArgs, ShowArgs};
use crate::config::environment::Environment;
use crate::failure::Failure;
use crate::fix::moved_checkout::MovedCheckout;
use crate::{fix, ui};
use crh_git::Repository;
use crh_pipeline::run_folder::RunFolder;
use crh_review::report::Report;

pub(crate) fn run(args: ShowArgs, environment: &Environment) -> Result<(), Failure> {
    let ShowArgs { run, list, format, all, display, runs } = args;
    let run_dir = runs.run_dir.as_deref();
    if list {
        return runs::list(list_format(format)?, environment, run_dir);
    }
    let folder = run_lookup::run_folder(environment, run_dir, run.as_deref())?;
    let mut report = folder.report().map_err(run_lookup::folder_failure)?;
    DismissalCache::load(environment)?.hide_or_warn(&mut report);
    let diff = folder.diff();
    let output = RenderOutputArgs { format, all, display };
    render::print_report(&report, diff.as_ref(), output, environment)?;
    // At the end, where the verdict is.
    warn_of_missing_fixes(&folder, &report, run_dir, environment);
    Ok(())
}

/// Warns if the checkout of the current folder is the fixed one, and its files no longer have the
/// fixes of the report. Changes nothing. Says nothing if the checkout cannot be read.
fn warn_of_missing_fixes(
    folder: &RunFolder,
    report: &Report,
    run_dir: Option<&Path>,
    environment: &Environment,
) {
    let is_own = || {
        let key = run_lookup::stamp_key(environment).ok().flatten();
        key.is_some_and(|key| key.has_stamped(folder.path()))
    };
    if report.applied_fixes.is_empty() || !is_own() {
        return;
    }
    let Ok(repository) = Repository::discover(&environment.folder) else { return };
    let Some(root) = &repository.work_tree else { return };
    if MovedCheckout::since_fixes(folder, &repository).is_some() {
        return;
    }
    let Ok(files) = fix::files_without_fixes(folder, report, root) else { return };
    if !files.is_empty() {
        let have = if files.len() == 1 { "has" } else { "have" };
        let files: Vec<String> = files.iter().map(|file| format!("`{file}`")).collect();
        let (files, run) = (files.join(", "), ui::shell_word(&folder.run_id()));
        let run = format!("{run}{}", run_lookup::run_dir_flag(run_dir));
        ui::warn(&format!(
            "{files} no longer {have} the fixes of this run, so its report is not up to date; run `crh fix {run}` to update it and apply the safe fixes again, or `crh fix --undo {run}` to undo all fixes"
        ));
    }
}

/// The format of a list, which supports only text and JSON.
fn list_format(format: FormatArg) -> Result<ListFormatArg, Failure> {
    match format {
        FormatArg::Text => Ok(ListFormatArg::Text),
        FormatArg::Json => Ok(ListFormatArg::Json),
        FormatArg::Markdown
        | FormatArg::Sarif
        | FormatArg::CodeQuality
        | FormatArg::Envelope
        | FormatArg::Comment
        | FormatArg::Html
        | FormatArg::Quickfix
        | FormatArg::Annotations => {
            Err(Failure::usage("a list of runs has only the formats `text` and `json`")
                .hint("use `--list --format json`, or remove `--list`"))
        }
    }
}
