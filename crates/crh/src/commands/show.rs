//! `crh show`: shows a stored run in any format.

use super::dismiss::DismissalCache;
use super::{render, run_lookup, runs};
use crate::cli::{FormatArg, ListFormatArg, RenderOutputArgs, ShowArgs};
use crate::config::environment::Environment;
use crate::failure::Failure;

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
    render::print_report(&report, diff.as_ref(), output, environment)
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
