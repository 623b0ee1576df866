//! Report: everything that is known about a review becomes one value.
//!
//! Invariant: the report does not depend on the order in which runs ended.

mod coverage;
mod hidden;
mod mask;
mod notes;
#[path = "assemble/status.rs"]
mod standing;
#[path = "assemble/report_text.rs"]
mod words;

use std::collections::BTreeSet;

use coverage::End;
pub use hidden::below;
pub use mask::{mask, mask_keys};
pub use words::recount;

use crate::collect::Collected;
use crate::context::Context;
use crate::plan::{Plan, is_static};
use crate::requirements;
use crate::runs::{RunRecord, Runs};
use crate::subject::Subject;
use crate::terms::Terms;
use crate::validate::Validated;
use crh_agent::Totals;
use crh_review::finding::{Origin, Severity};
use crh_review::identity::{ReviewKey, review_id};
use crh_review::report::{
    CoverageState, Decimal, FileCoverage, Report, ReviewerRow, RunOutcome, SCHEMA_VERSION, Scope,
    Stats, Strategy, Tokens,
};
use crh_review::{Merged, into_report, report};

/// What a report is made of.
#[derive(Debug)]
pub struct Assembly<'a> {
    /// What was reviewed.
    pub subject: &'a Subject,
    /// On what terms.
    pub terms: &'a Terms,
    /// What the panel knew before.
    pub context: &'a Context,
    /// The plan.
    pub plan: &'a Plan,
    /// The runs.
    pub runs: &'a Runs,
    /// What the change has of what its plan asks for.
    pub promised: Option<report::Plan>,
    /// The run that decided which issues are one, if one did.
    pub paired: Option<&'a RunRecord>,
    /// What it left undecided.
    pub undecided: Vec<String>,
    /// What they brought, of which `set_aside` is not in `merged`.
    pub collected: &'a Collected,
    /// The issues after validation, numbered.
    pub merged: Merged,
    /// What validation said.
    pub validated: &'a Validated,
    /// The names of the models, joined by `+`; empty if none was asked.
    pub models: String,
    /// The hash of the prompts.
    pub prompt_version: String,
    /// Names this run.
    pub run_id: String,
    /// Where the run folder is; empty if there is none.
    pub artifact: String,
    /// What was spent, validation included.
    pub spent: Totals,
    /// From the start to here, in milliseconds.
    pub took_ms: u64,
    /// Whether the user stopped it.
    pub interrupted: bool,
    /// What of it could not be written down.
    pub not_written: Vec<String>,
    /// Issues below this are counted for the verdict and not shown.
    pub min_severity: Option<Severity>,
}

/// Puts the report together.
pub fn assemble(assembly: Assembly<'_>) -> Report {
    let records = in_order(&assembly.runs.records, assembly.plan);
    let counting: Vec<&RunRecord> =
        records.iter().copied().filter(|record| counts(record, assembly.plan.strategy)).collect();
    let end = if assembly.interrupted { End::Stopped } else { End::Reached };
    let coverage = coverage::coverage(assembly.subject, end, &counting);
    let report = Report {
        schema_version: SCHEMA_VERSION,
        review_id: named(&assembly),
        run_id: assembly.run_id.clone(),
        artifact: assembly.artifact.clone(),
        mode: assembly.terms.mode,
        strategy: assembly.plan.strategy,
        status: standing::status(&assembly, &counting, &coverage),
        model_used: assembly.models.clone(),
        warnings: words::warnings(&assembly, &records),
        change: assembly.subject.change.clone(),
        scope: scope(assembly.subject),
        intent: assembly.context.intent.text.clone(),
        plan: assembly.promised.clone(),
        reviewers: rows(&records, assembly.plan.strategy),
        notes: notes::notes(assembly.context, &records),
        suppressed: assembly.collected.set_aside.clone(),
        residual_risks: unique(records.iter().flat_map(|record| &record.residual_risks)),
        testing_gaps: unique(records.iter().flat_map(|record| &record.testing_gaps)),
        files_reviewed: reviewed(&coverage),
        coverage,
        stats: stats(&assembly),
        ..Report::default()
    };
    let (asked, cap) = (assembly.terms.asked, assembly.terms.allowance.issues);
    let mut report = into_report(report, assembly.merged, asked, cap);
    if let Some(min) = assembly.min_severity {
        report = below(report, min);
    }
    // Last: it counts what the report shows.
    report.summary = words::summary(&report, &records);
    report
}

/// The files that somebody has looked at to the end, in runs that count.
pub(crate) fn judged(subject: &Subject, runs: &Runs, strategy: Strategy) -> BTreeSet<String> {
    let counting: Vec<&RunRecord> =
        runs.records.iter().filter(|record| counts(record, strategy)).collect();
    // How they ended only says how the others are called.
    let coverage = coverage::coverage(subject, End::Reached, &counting);
    reviewed(&coverage).into_iter().collect()
}

/// The runs in the order of the plan; those that it does not know, such as sub-agents, behind it by their names.
fn in_order<'a>(records: &'a [RunRecord], plan: &Plan) -> Vec<&'a RunRecord> {
    let mut records: Vec<&RunRecord> = records.iter().collect();
    records.sort_by_cached_key(|record| {
        let name = record.assignment.name.as_str();
        let place = plan.assignments.iter().position(|planned| planned.name == name);
        let word = name.trim_end_matches(|char: char| char.is_ascii_digit());
        // `sub-agent-10` comes after `sub-agent-9`.
        let number: u64 = name[word.len()..].parse().unwrap_or_default();
        (place.unwrap_or(usize::MAX), word.to_owned(), number)
    });
    records
}

/// Whether what a run looked at counts as reviewed.
fn counts(record: &RunRecord, strategy: Strategy) -> bool {
    match strategy {
        Strategy::Static => true,
        Strategy::Single | Strategy::Delegate | Strategy::Panel => {
            !is_static(&record.assignment.name)
        }
    }
}

/// Whether a run is one of the reviewers. Whoever judges the plan is not: what it said stands beside the requirements.
fn is_reviewer(record: &RunRecord) -> bool {
    record.assignment.name != requirements::REVIEWER
}

fn named(assembly: &Assembly<'_>) -> String {
    let change = &assembly.subject.change;
    review_id(&ReviewKey {
        repo: &change.repo,
        pr_number: &change.pr_number,
        head_sha: &change.head_sha,
        prompt_version: &assembly.prompt_version,
        model: &assembly.models,
        budget_profile: &assembly.terms.allowance.name,
    })
}

fn scope(subject: &Subject) -> Scope {
    let files = subject.diff.files();
    Scope {
        line: words::scope_line(subject),
        files: u32::try_from(files.len()).unwrap_or(u32::MAX),
        additions: files.iter().map(|file| file.additions).sum(),
        deletions: files.iter().map(|file| file.deletions).sum(),
        untracked: subject.untracked.clone(),
    }
}

/// The reviewers. One of a panel is one, in however many parts it has looked at the change; elsewhere every run is one.
fn rows(records: &[&RunRecord], strategy: Strategy) -> Vec<ReviewerRow> {
    let records: Vec<&RunRecord> = records.iter().copied().filter(|it| is_reviewer(it)).collect();
    match strategy {
        Strategy::Panel => records
            .chunk_by(|one, next| one.assignment.reviewer == next.assignment.reviewer)
            .map(row)
            .collect(),
        Strategy::Single | Strategy::Delegate | Strategy::Static => {
            records.chunks(1).map(row).collect()
        }
    }
}

/// Runs of one reviewer as a row. One that was stopped has not returned, so it is a failed one.
fn row(runs: &[&RunRecord]) -> ReviewerRow {
    let failures: Vec<String> = runs
        .iter()
        .filter_map(|run| {
            let why = run.ended.failure()?;
            Some(if runs.len() == 1 {
                why.to_owned()
            } else {
                format!("{}: {why}", run.assignment.label)
            })
        })
        .collect();
    let (outcome, note) = if failures.is_empty() {
        (RunOutcome::Completed, unique(runs.iter().map(|run| &run.summary)).join(" "))
    } else {
        (RunOutcome::Failed, failures.join("; "))
    };
    let assignment = runs.first().map(|run| &run.assignment);
    let name = assignment.map(|it| it.name.clone()).unwrap_or_default();
    let why = assignment.map(|it| it.why.clone()).unwrap_or_default();
    let origin = if is_static(&name) { Origin::Code } else { Origin::Model };
    ReviewerRow { name, origin, why, outcome, note }
}

fn reviewed(coverage: &[FileCoverage]) -> Vec<String> {
    let reviewed = coverage.iter().filter(|file| file.state == CoverageState::Reviewed);
    let paths: BTreeSet<&str> = reviewed.map(|file| file.path.as_str()).collect();
    paths.into_iter().map(str::to_owned).collect()
}

/// Each text once, where it first stands.
fn unique<'a>(texts: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    texts.filter(|text| !text.is_empty() && seen.insert(text.as_str())).cloned().collect()
}

fn stats(assembly: &Assembly<'_>) -> Stats {
    let spent = &assembly.spent;
    let beside = assembly.context.scout.iter().chain(assembly.paired);
    let runs = assembly.runs.records.iter().chain(&assembly.validated.runs).chain(beside);
    let model_ms: u64 = runs.map(|record| record.model_ms).sum();
    let seconds = |ms: u64| Decimal(ms.saturating_mul(1_000));
    let times = Stats {
        latency_seconds_e2e: seconds(assembly.took_ms),
        latency_seconds_llm: seconds(model_ms),
        ..Stats::default()
    };
    billed(times, spent)
}

/// The same with what was spent.
pub fn billed(stats: Stats, spent: &Totals) -> Stats {
    Stats {
        tokens_used: Tokens {
            input: spent.usage.input,
            output: spent.usage.output,
            cached: spent.usage.cache_read,
        },
        // Casting rounds to millionths; no review costs what does not fit.
        cost_usd: Decimal((spent.money.as_dollars() * 1e6).round() as u64),
        llm_calls: spent.llm_calls,
        tool_calls: spent.tool_calls,
        ..stats
    }
}
