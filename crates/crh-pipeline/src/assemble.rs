//! Stage "report": builds the report.
//!
//! Invariant: the report does not depend on the order in which runs ended.

mod coverage;
mod hidden;
mod mask;
mod notes;
mod report_text;
mod status;

use std::collections::BTreeSet;

use coverage::ReviewEnd;
pub use hidden::hide_below;
pub use mask::{mask, mask_keys};
pub use report_text::recount_summary;

use crate::assignment::is_static;
use crate::change_under_review::ChangeUnderReview;
use crate::checks::is_analyser;
use crate::collect::ReviewFindings;
use crate::context::PanelContext;
use crate::edit::EditOutcome;
use crate::plan::Plan;
use crate::requirements;
use crate::review_options::ReviewOptions;
use crate::runs::{RunEnd, RunRecord, RunResults};
use crate::validate::ValidationOutcome;
use crh_agent::UsageTotals;
use crh_review::finding::{Origin, Severity};
use crh_review::identity::{ReviewKey, review_id};
use crh_review::report::{
    CoverageState, Decimal, FileCoverage, Report, ReviewerRow, RunOutcome, SCHEMA_VERSION, Scope,
    Stats, Strategy, TokensUsed,
};
use crh_review::{MergeResult, into_report, report};

/// Everything that goes into a report.
#[derive(Debug)]
pub struct ReportInputs<'a> {
    /// The change under review.
    pub change: &'a ChangeUnderReview,
    /// Options of the review.
    pub options: &'a ReviewOptions,
    /// Intent, team and requirements document of a panel.
    pub context: &'a PanelContext,
    /// The plan.
    pub plan: &'a Plan,
    /// Results of all runs.
    pub runs: &'a RunResults,
    /// Requirements with their judgements.
    pub requirements: Option<report::Plan>,
    /// Results of the editor.
    pub edit: &'a EditOutcome,
    /// Collected findings. Its `dropped` findings are not part of `merged`.
    pub collected: &'a ReviewFindings,
    /// Issues that the editor and validation left, numbered.
    pub merged: MergeResult,
    /// Results of validation.
    pub validation: &'a ValidationOutcome,
    /// Names of the models of all roles, joined by `+`. Empty without a model.
    pub models: String,
    /// Hash of the prompts.
    pub prompt_version: String,
    /// Id of this review: the name of its run folder, if there is one.
    pub run_id: String,
    /// Path of the run folder. Empty if there is none.
    pub artifact: String,
    /// Usage of all runs, validation included.
    pub spent: UsageTotals,
    /// Duration so far, in milliseconds.
    pub took_ms: u64,
    /// Whether the user cancelled the review.
    pub interrupted: bool,
    /// Errors from writing the run folder.
    pub write_errors: Vec<String>,
    /// Issues below this severity count for the verdict but are hidden.
    pub min_severity: Option<Severity>,
}

/// Builds the report.
pub fn assemble(inputs: ReportInputs<'_>) -> Report {
    let records = sort_by_plan(&inputs.runs.records, inputs.plan);
    let review_runs: Vec<&RunRecord> = records
        .iter()
        .copied()
        .filter(|record| counts_as_review(record, inputs.plan.strategy))
        .collect();
    let end = if inputs.interrupted { ReviewEnd::Stopped } else { ReviewEnd::Completed };
    let coverage = coverage::coverage(inputs.change, end, &review_runs, &records);
    let report = Report {
        schema_version: SCHEMA_VERSION,
        review_id: review_id_for(&inputs),
        run_id: inputs.run_id.clone(),
        artifact: inputs.artifact.clone(),
        mode: inputs.options.mode,
        strategy: inputs.plan.strategy,
        status: status::status(&inputs, &review_runs, &coverage),
        is_stopped: inputs.interrupted,
        model_used: models_used(&inputs),
        model_set: inputs.models.clone(),
        warnings: report_text::warnings(&inputs, &records),
        change: inputs.change.report_change.clone(),
        scope: report_scope(inputs.change, inputs.context.parts.len()),
        intent: inputs.context.intent.text.clone(),
        plan: inputs.requirements.clone(),
        reviewers: reviewer_rows(&records, inputs.plan.strategy),
        notes: notes::notes(inputs.context, &records),
        suppressed: inputs.collected.dropped.clone(),
        residual_risks: unique(records.iter().flat_map(|record| &record.residual_risks)),
        testing_gaps: unique(records.iter().flat_map(|record| &record.testing_gaps)),
        files_reviewed: reviewed_paths(&coverage),
        coverage,
        stats: stats(&inputs),
        ..Report::default()
    };
    let (command, cap) = (inputs.options.command, inputs.options.budget.issues);
    let mut report = into_report(report, inputs.merged, command, cap);
    if let Some(min) = inputs.min_severity {
        report = hide_below(report, min);
    }
    // The summary counts what the report shows, so it must be built last.
    report.summary = report_text::summary(&report, &records);
    report
}

/// Files that were fully covered by runs that count as review.
pub(crate) fn reviewed_files(
    change: &ChangeUnderReview,
    runs: &RunResults,
    strategy: Strategy,
) -> BTreeSet<String> {
    let review_runs: Vec<&RunRecord> =
        runs.records.iter().filter(|record| counts_as_review(record, strategy)).collect();
    // `ReviewEnd` only affects the reason for files that were not covered.
    let all_runs: Vec<&RunRecord> = runs.records.iter().collect();
    let coverage = coverage::coverage(change, ReviewEnd::Completed, &review_runs, &all_runs);
    reviewed_paths(&coverage).into_iter().collect()
}

/// Runs in plan order, then runs that are not in the plan, such as sub-agents, by name.
fn sort_by_plan<'a>(records: &'a [RunRecord], plan: &Plan) -> Vec<&'a RunRecord> {
    let mut records: Vec<&RunRecord> = records.iter().collect();
    records.sort_by_cached_key(|record| {
        let name = record.assignment.name.as_str();
        let plan_index = plan.assignments.iter().position(|planned| planned.name == name);
        let prefix = name.trim_end_matches(|char: char| char.is_ascii_digit());
        // `sub-agent-10` comes after `sub-agent-9`.
        let number: u64 = name[prefix.len()..].parse().unwrap_or_default();
        (plan_index.unwrap_or(usize::MAX), prefix.to_owned(), number)
    });
    records
}

/// Whether the files that a run looked at count as reviewed.
fn counts_as_review(record: &RunRecord, strategy: Strategy) -> bool {
    match strategy {
        Strategy::Static => true,
        Strategy::Single | Strategy::Delegate | Strategy::Panel => {
            !is_static(&record.assignment.name)
        }
    }
}

/// Whether the report lists a run as a reviewer. It does not list the run that judges requirements,
/// since the results of that run have their own section.
fn is_reviewer(record: &RunRecord) -> bool {
    record.assignment.name != requirements::REVIEWER
}

/// Whether a check could not run. No file counts as checked by it, and a warning says why.
fn was_skipped(record: &RunRecord) -> bool {
    let is_missing_analyser = is_analyser(&record.assignment.name)
        && record.assignment.parts.is_empty()
        && record.ended == RunEnd::Completed;
    is_missing_analyser || record.not_run.is_some()
}

/// The runs of all stages.
fn all_runs<'a>(inputs: &'a ReportInputs<'_>) -> impl Iterator<Item = &'a RunRecord> {
    let later_runs = inputs.edit.run.iter().chain(&inputs.validation.runs);
    inputs.context.scout.iter().chain(&inputs.runs.records).chain(later_runs)
}

/// Names of the models that answered, sorted and joined by `+`.
fn models_used(inputs: &ReportInputs<'_>) -> String {
    let names: BTreeSet<&str> =
        all_runs(inputs).flat_map(|run| &run.models).map(String::as_str).collect();
    names.into_iter().collect::<Vec<_>>().join("+")
}

fn review_id_for(inputs: &ReportInputs<'_>) -> String {
    let change = &inputs.change.report_change;
    review_id(&ReviewKey {
        repo: &change.repo,
        pr_number: &change.pr_number,
        base_sha: &change.base_sha,
        head_sha: &change.head_sha,
        prompt_version: &inputs.prompt_version,
        model: &inputs.models,
        budget_profile: &inputs.options.budget.name,
        strategy: &inputs.options.strategy.to_string(),
    })
}

/// `parts` is the number of parts into which crh split the change for its reviewers.
fn report_scope(change: &ChangeUnderReview, parts: usize) -> Scope {
    let files = change.diff.files();
    Scope {
        line: report_text::scope_line(change, parts),
        files: u32::try_from(files.len()).unwrap_or(u32::MAX),
        additions: files.iter().map(|file| file.additions).sum(),
        deletions: files.iter().map(|file| file.deletions).sum(),
        untracked: change.untracked.clone(),
    }
}

/// Rows for reviewers. With `Single` and `Panel`, the runs of one reviewer share a row. Otherwise
/// each run has its own row.
fn reviewer_rows(records: &[&RunRecord], strategy: Strategy) -> Vec<ReviewerRow> {
    let is_listed = |run: &&RunRecord| is_reviewer(run) && !was_skipped(run);
    let records: Vec<&RunRecord> = records.iter().copied().filter(is_listed).collect();
    match strategy {
        Strategy::Single | Strategy::Panel => records
            .chunk_by(|run, next| run.assignment.reviewer == next.assignment.reviewer)
            .map(reviewer_row)
            .collect(),
        Strategy::Delegate | Strategy::Static => records.chunks(1).map(reviewer_row).collect(),
    }
}

/// One row for the runs of a reviewer. A cancelled run counts as failed.
fn reviewer_row(runs: &[&RunRecord]) -> ReviewerRow {
    let failures = failures(runs);
    let (outcome, note) = if failures.is_empty() {
        (RunOutcome::Completed, unique(runs.iter().map(|run| &run.summary)).join(" "))
    } else {
        (RunOutcome::Failed, failures.join("; "))
    };
    let assignment = runs.first().map(|run| &run.assignment);
    let name = assignment.map(|assignment| assignment.name.clone()).unwrap_or_default();
    let why = assignment.map(|assignment| assignment.why.clone()).unwrap_or_default();
    let origin = if is_static(&name) { Origin::Code } else { Origin::Model };
    ReviewerRow { name, origin, why, outcome, note }
}

/// Why runs of one reviewer failed: each reason once, with the numbers of the runs that failed for
/// it. The report calls each run a part.
fn failures(runs: &[&RunRecord]) -> Vec<String> {
    let mut parts_by_reason: Vec<(&str, Vec<String>)> = Vec::new();
    for (number, run) in (1..).zip(runs) {
        let Some(why) = run.ended.failure() else { continue };
        let number = number.to_string();
        match parts_by_reason.iter_mut().find(|(known, _)| *known == why) {
            Some((_, parts)) => parts.push(number),
            None => parts_by_reason.push((why, vec![number])),
        }
    }
    let count = runs.len();
    let texts = parts_by_reason.into_iter().map(|(why, parts)| match parts.as_slice() {
        _ if count == 1 => why.to_owned(),
        [number] => format!("part {number} of {count}: {why}"),
        all if all.len() == count => format!("all {count} parts: {why}"),
        several => format!("parts {} of {count}: {why}", several.join(", ")),
    });
    texts.collect()
}

fn reviewed_paths(coverage: &[FileCoverage]) -> Vec<String> {
    let reviewed = coverage.iter().filter(|file| file.state == CoverageState::Reviewed);
    let paths: BTreeSet<&str> = reviewed.map(|file| file.path.as_str()).collect();
    paths.into_iter().map(str::to_owned).collect()
}

/// Removes empty and duplicate texts.
fn unique<'a, T: AsRef<str> + ?Sized + 'a>(texts: impl Iterator<Item = &'a T>) -> Vec<String> {
    let mut seen_texts = BTreeSet::new();
    let texts = texts.map(AsRef::as_ref);
    texts.filter(|text| !text.is_empty() && seen_texts.insert(*text)).map(str::to_owned).collect()
}

fn stats(inputs: &ReportInputs<'_>) -> Stats {
    let spent = &inputs.spent;
    let model_ms: u64 = all_runs(inputs).map(|record| record.model_ms).sum();
    let seconds = |ms: u64| Decimal(ms.saturating_mul(1_000));
    let times = Stats {
        latency_seconds_e2e: seconds(inputs.took_ms),
        latency_seconds_llm: seconds(model_ms),
        ..Stats::default()
    };
    with_spending(times, spent)
}

/// Fills in usage and cost.
pub fn with_spending(stats: Stats, spent: &UsageTotals) -> Stats {
    Stats {
        tokens_used: TokensUsed {
            input: spent.usage.input,
            output: spent.usage.output,
            cached: spent.usage.cache_read,
        },
        // In millionths of a dollar. No review costs enough to overflow the cast.
        cost_usd: Decimal((spent.money.as_dollars() * 1e6).round() as u64),
        llm_calls: spent.llm_calls,
        failed_calls: spent.failed_calls,
        tool_calls: spent.tool_calls,
        ..stats
    }
}
