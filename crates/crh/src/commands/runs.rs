//! `crh runs`: lists stored runs, and deletes old ones.

use std::path::Path;
use std::time::Duration;

use super::run_lookup;
use crate::cli::{ListFormatArg, RunsCommand, RunsPruneArgs};
use crate::config::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::{fix, ui};
use crh_pipeline::run_folder;
use crh_pipeline::run_folder::{AgeLimit, RunSummary, RunsToKeep, Timestamp};
use crh_review::{columns, stable_json, truncate};

/// A few weeks of work.
const DEFAULT_KEEP: usize = 20;
/// So that a row fits 120 columns.
const TITLE_SHOWN: usize = 48;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) fn run(command: RunsCommand, environment: &Environment) -> Result<(), Failure> {
    match command {
        RunsCommand::List(args) => list(args.format, environment, args.runs.run_dir.as_deref()),
        RunsCommand::Prune(args) => prune(&args, environment),
    }
}

/// Prints all runs, newest first.
pub(super) fn list(
    format: ListFormatArg,
    environment: &Environment,
    run_dir: Option<&Path>,
) -> Result<(), Failure> {
    let runs = run_lookup::runs_folder(environment, run_dir)?;
    let rows = run_folder::list_runs(&runs).map_err(run_lookup::folder_failure)?;
    match format {
        ListFormatArg::Text if rows.is_empty() => {
            ui::note(&format!("no runs in `{}`", environment.display_path(&runs)));
            Ok(())
        }
        ListFormatArg::Text => ui::result_text(&table(&rows)),
        ListFormatArg::Json => ui::result_text(&stable_json(&rows).or_fail(FailureKind::Bug)?),
    }
}

fn prune(args: &RunsPruneArgs, environment: &Environment) -> Result<(), Failure> {
    let runs = run_lookup::runs_folder(environment, args.runs.run_dir.as_deref())?;
    let kept = match (args.keep, args.older_than) {
        (Some(count), _) => RunsToKeep::Newest(count),
        (None, Some(_)) => RunsToKeep::NoMinimum,
        (None, None) => RunsToKeep::Newest(DEFAULT_KEEP),
    };
    let age = args.older_than.map_or(AgeLimit::Any, |days| AgeLimit::Over(DAY * days));
    let now = Timestamp::from_system_time(environment.now());
    let old = run_folder::prunable(&runs, kept, age, now).map_err(run_lookup::folder_failure)?;
    let mut gone = String::new();
    let mut failures = Vec::new();
    let (needed, old): (Vec<_>, Vec<_>) = old.into_iter().partition(|path| fix::is_needed(path));
    for path in &needed {
        let name = path.file_name().unwrap_or_default().display();
        ui::warn(&format!(
            "keeping `{name}`: it holds the original files of an interrupted fix; run `crh fix` in that checkout to roll it back"
        ));
    }
    for path in &old {
        let removed = if args.dry_run { Ok(()) } else { run_folder::remove_run(path) };
        match removed {
            Ok(()) => gone += &format!("{}\n", path.file_name().unwrap_or_default().display()),
            Err(error) => failures.push(format!("`{}`: {error}", path.display())),
        }
    }
    ui::result_text(&gone)?;
    let count = old.len() - failures.len();
    let runs = if count == 1 { "1 run".to_owned() } else { format!("{count} runs") };
    match args.dry_run {
        true => ui::note(&format!("{runs} would be deleted")),
        false => ui::note(&format!("deleted {runs}")),
    }
    match failures.as_slice() {
        [] => Ok(()),
        [first, more @ ..] => {
            let more =
                if more.is_empty() { String::new() } else { format!(" (and {} more)", more.len()) };
            Err(Failure::new(
                FailureKind::External,
                anyhow::anyhow!("cannot delete a run: {first}{more}"),
            ))
        }
    }
}

/// Table of runs: name, verdict, issues, cost, title.
fn table(rows: &[RunSummary]) -> String {
    let cells: Vec<[String; 5]> = rows.iter().map(cells).collect();
    let width =
        |column: usize| cells.iter().map(|cells| columns(&cells[column])).max().unwrap_or_default();
    let widths: [usize; 5] = std::array::from_fn(width);
    let line = |cells: &[String; 5]| {
        let padded = cells.iter().zip(widths).map(|(cell, width)| {
            format!("{cell}{}", " ".repeat(width.saturating_sub(columns(cell))))
        });
        let line = padded.collect::<Vec<_>>().join("  ");
        format!("{}\n", line.trim_end())
    };
    cells.iter().map(line).collect()
}

fn cells(row: &RunSummary) -> [String; 5] {
    let verdict = match (&row.problem, row.verdict, &row.completed_at) {
        (Some(_), _, _) => "damaged".to_owned(),
        (None, None, _) => "not finished".to_owned(),
        (None, Some(verdict), None) => format!("{verdict} (stopped)"),
        (None, Some(verdict), Some(_)) => verdict.to_string(),
    };
    let issues = row.issues.iter().map(|(severity, count)| format!("{count} {severity}"));
    let issues = issues.collect::<Vec<_>>().join(", ");
    let cost = row.cost_usd.map(ui::dollars);
    let title = truncate(&ui::one_line(&row.title), TITLE_SHOWN);
    [row.run_id.clone(), verdict, issues, cost.unwrap_or_default(), title]
}
