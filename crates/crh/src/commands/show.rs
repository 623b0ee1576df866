//! `crh show`: a stored run in any form.

use super::{render, run_place, runs};
use crate::cli::{FormatArg, ListingArg, ShowArgs, ShownArgs};
use crate::config::environment::Environment;
use crate::failure::Failure;

pub(crate) fn run(args: ShowArgs, environment: &Environment) -> Result<(), Failure> {
    let ShowArgs { run, list, format, look, place } = args;
    let run_dir = place.run_dir.as_deref();
    if list {
        return runs::list(listing(format)?, environment, run_dir);
    }
    let folder = run_place::run_folder(environment, run_dir, run.as_deref())?;
    let report = folder.report().map_err(run_place::failed)?;
    let diff = folder.diff();
    render::show(&report, diff.as_ref(), ShownArgs { format, look }, environment)
}

/// The form of a list, which has fewer than a report.
fn listing(format: FormatArg) -> Result<ListingArg, Failure> {
    match format {
        FormatArg::Text => Ok(ListingArg::Text),
        FormatArg::Json => Ok(ListingArg::Json),
        FormatArg::Markdown
        | FormatArg::Sarif
        | FormatArg::Envelope
        | FormatArg::Comment
        | FormatArg::Html
        | FormatArg::Quickfix
        | FormatArg::Annotations => Err(Failure::usage("a list of runs is shown as text or JSON")
            .hint("`--list --format json`, or leave `--list` out")),
    }
}
