//! `crh runs`: lists stored runs, and deletes old ones.

use std::path::Path;
use std::time::Duration;

use super::dismiss::DismissalCache;
use super::run_lookup;
use crate::cli::{ListFormatArg, RunsCommand, RunsPruneArgs};
use crate::config::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::{fix, ui};
use crh_pipeline::run_folder;
use crh_pipeline::run_folder::{AgeLimit, RunSummary, RunTrust, RunsToKeep, Timestamp};
use crh_review::report::Report;
use crh_review::verdict::Verdict;
use crh_review::{columns, stable_json, truncate};

/// Runs that `crh runs prune` keeps by default: the work of a few weeks.
const DEFAULT_KEEP: usize = 20;
/// Maximum width of a title, so that a row fits into 120 columns.
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
    let runs_folder = run_lookup::runs_folder(environment, run_dir)?;
    let key = run_lookup::stamp_key(environment)?;
    let trust = match run_dir {
        None => key.as_ref().map_or(RunTrust::Nothing, RunTrust::Stamped),
        Some(_) => RunTrust::Named,
    };
    let mut dismissals = DismissalCache::load(environment)?;
    let mut update = |report: &mut Report| dismissals.hide_or_warn(report);
    let summaries = run_folder::list_runs(&runs_folder, trust, &mut update)
        .map_err(run_lookup::folder_failure)?;
    match format {
        ListFormatArg::Text if summaries.is_empty() => {
            ui::note(&format!("no runs in `{}`", environment.display_path(&runs_folder)));
            Ok(())
        }
        ListFormatArg::Text => ui::result_text(&table(&summaries)),
        ListFormatArg::Json => ui::result_text(&stable_json(&summaries).or_fail(FailureKind::Bug)?),
    }
}

fn prune(args: &RunsPruneArgs, environment: &Environment) -> Result<(), Failure> {
    let runs_folder = run_lookup::runs_folder(environment, args.runs.run_dir.as_deref())?;
    let keep = match (args.keep, args.older_than) {
        (Some(count), _) => RunsToKeep::Newest(count),
        (None, Some(_)) => RunsToKeep::NoMinimum,
        (None, None) => RunsToKeep::Newest(DEFAULT_KEEP),
    };
    let age = args.older_than.map_or(AgeLimit::Any, |days| AgeLimit::Over(DAY * days));
    let now = Timestamp::from_system_time(environment.now());
    let prunable =
        run_folder::prunable(&runs_folder, keep, age, now).map_err(run_lookup::folder_failure)?;
    let mut deleted_names = String::new();
    let mut failures = Vec::new();
    let (needed_by_fix, deletable): (Vec<_>, Vec<_>) =
        prunable.into_iter().partition(|path| fix::is_needed(path));
    for path in &needed_by_fix {
        let name = path.file_name().unwrap_or_default().display();
        ui::warn(&format!(
            "keeping `{name}`: it holds the original files of an interrupted fix; run `crh fix` in that checkout to roll it back"
        ));
    }
    for path in &deletable {
        let result = if args.dry_run { Ok(()) } else { run_folder::remove_run(path) };
        match result {
            Ok(()) => {
                deleted_names += &format!("{}\n", path.file_name().unwrap_or_default().display());
            }
            Err(error) => failures.push(format!("`{}`: {error}", path.display())),
        }
    }
    ui::result_text(&deleted_names)?;
    let count = deletable.len() - failures.len();
    let run_count = if count == 1 { "1 run".to_owned() } else { format!("{count} runs") };
    match args.dry_run {
        true => ui::note(&format!("{run_count} would be deleted")),
        false => ui::note(&format!("deleted {run_count}")),
    }
    match failures.as_slice() {
        [] => Ok(()),
        [first, more @ ..] => {
            let more_text =
                if more.is_empty() { String::new() } else { format!(" (and {} more)", more.len()) };
            Err(Failure::new(
                FailureKind::External,
                anyhow::anyhow!("cannot delete a run: {first}{more_text}"),
            ))
        }
    }
}

/// Table of runs: name, verdict, open issues, cost, title.
fn table(summaries: &[RunSummary]) -> String {
    let cells: Vec<[String; 5]> = summaries.iter().map(cells).collect();
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

fn cells(run: &RunSummary) -> [String; 5] {
    let verdict = match (&run.problem, run.verdict, &run.completed_at) {
        _ if run.is_foreign => "not created on this machine".to_owned(),
        (Some(_), _, _) => "damaged".to_owned(),
        (None, None, _) => "not finished".to_owned(),
        (None, Some(verdict), None) => format!("{verdict} (stopped)"),
        (None, Some(verdict), Some(_)) if run.is_incomplete && verdict != Verdict::Incomplete => {
            format!("{verdict} (incomplete)")
        }
        (None, Some(verdict), Some(_)) => verdict.to_string(),
    };
    let issues = run.issues.iter().map(|(severity, count)| format!("{count} {severity}"));
    let mut issues = issues.collect::<Vec<_>>().join(", ");
    if run.hidden_issues > 0 {
        issues += &format!(" ({} hidden)", run.hidden_issues);
    }
    let cost = run.cost_usd.map(ui::dollars);
    let title = truncate(&crh_review::one_line(&run.title), TITLE_SHOWN);
    [run.run_id.clone(), verdict, issues, cost.unwrap_or_default(), title]
}
