//! Generated sentences of a report: scope line, warnings, summary.

use std::collections::BTreeMap;

use super::{ReportInputs, is_reviewer, reviewer_rows, unique};
use crate::assignment::{ORCHESTRATOR, SUB_AGENT};
use crate::change_under_review::ChangeUnderReview;
use crate::runs::{RunEnd, RunRecord};
use crate::scope::{ScopeDecision, SkipEffect, SkipReason, short_commit};
use crate::text::{one_line, plural};
use crh_review::finding::Severity;
use crh_review::render::HiddenCounts;
use crh_review::report::{CoverageState, Issue, Report, ReviewerRow, RunOutcome, Strategy};
use crh_review::verdict::counted_hidden;

/// Any count above 1, to get the plural of a noun.
const PLURAL: usize = 2;
/// Maximum characters of one run's summary: a few sentences.
const SUMMARY_CHARS: usize = 2_000;

/// The scope in one line: `12 of 14 files, +120 -33; 2 left out (1 binary, 1 lock file)`. A
/// change that is too large for one prompt adds `reviewed in N parts`, and an incremental review
/// `changed since COMMIT`.
pub(super) fn scope_line(change: &ChangeUnderReview, parts: usize) -> String {
    let mut line = files_line(change);
    if parts > 1 {
        line.push_str(&format!("; reviewed in {parts} parts"));
    }
    if let Some(previous) = &change.incremental {
        line.push_str(&format!("; changed since {}", short_commit(&previous.head)));
    }
    line
}

fn files_line(change: &ChangeUnderReview) -> String {
    let diff_files = change.diff.files();
    let (mut added, mut removed) = (0_u64, 0_u64);
    for (_, file) in change.files() {
        added += u64::from(file.additions);
        removed += u64::from(file.deletions);
    }
    let mut skip_counts: BTreeMap<&str, (&SkipReason, usize)> = BTreeMap::new();
    for file in &change.scope.files {
        match &file.decision {
            ScopeDecision::In => {}
            // The coverage lists such a file as not reviewed.
            ScopeDecision::Out(_) if file.effect == SkipEffect::Incomplete => {}
            ScopeDecision::Out(reason) => {
                skip_counts.entry(reason.counted(PLURAL)).or_insert((reason, 0)).1 += 1;
            }
        }
    }
    let skipped_count: usize = skip_counts.values().map(|(_, count)| count).sum();
    let files = plural(diff_files.len(), "file");
    let lines = format!("+{added} -{removed}");
    if skipped_count == 0 {
        return format!("{files}, {lines}");
    }
    let skip_texts: Vec<String> = skip_counts
        .values()
        .map(|(reason, count)| format!("{count} {}", reason.counted(*count)))
        .collect();
    format!(
        "{} of {files}, {lines}; {skipped_count} left out ({})",
        diff_files.len() - skipped_count,
        skip_texts.join(", ")
    )
}

/// Warnings about the review itself, without duplicates.
pub(super) fn warnings(inputs: &ReportInputs<'_>, records: &[&RunRecord]) -> Vec<String> {
    let mut warnings = inputs.change.notes.clone();
    warnings
        .extend(inputs.change.diff.problems().iter().map(|problem| format!("the diff, {problem}")));
    warnings.extend_from_slice(&inputs.plan.notes);
    warnings.extend_from_slice(&inputs.collected.notes);
    let mut notes = inputs.runs.notes.clone();
    // The order must not depend on which run ended first.
    notes.sort();
    warnings.extend(notes);
    warnings.extend(not_run_note(records));
    for record in records.iter().copied().chain(&inputs.validation.runs) {
        let name = &record.assignment.name;
        warnings.extend(record.notes.iter().map(|note| format!("{name}: {note}")));
        // If the run failed, the limit is already its failure reason.
        if let (RunEnd::Completed, Some(limit)) = (&record.ended, record.limited) {
            warnings
                .push(format!("{name} reached its limit of {limit}; its review may be incomplete"));
        }
    }
    warnings.extend_from_slice(&inputs.validation.notes);
    let judges = records.iter().filter(|record| !is_reviewer(record));
    warnings.extend(judges.filter_map(|record| {
        let why = record.ended.failure()?;
        let subject = if record.answer.is_null() { "the" } else { "some" };
        Some(format!("{subject} requirements were not checked: {why}"))
    }));
    if let Some(doubt) = &inputs.context.intent.doubt {
        warnings.push(format!("unexplained in the change: {doubt}"));
    }
    warnings.extend_from_slice(&inputs.edit.notes);
    warnings.extend(over_budget_notes(inputs));
    warnings.extend(failures(records, inputs.plan.strategy));
    if inputs.merged.unlisted_pairs > 0 {
        let pair_count = inputs.merged.unlisted_pairs;
        warnings.push(format!(
            "{pair_count} more pairs of issues may be duplicates; they are listed separately"
        ));
    }
    warnings.extend_from_slice(&inputs.write_errors);
    if inputs.interrupted {
        warnings.push("the review was cancelled and is incomplete".to_owned());
    }
    unique(warnings.iter())
}

/// The checks that did not run. All have the same reason, since there is one repository or none.
fn not_run_note(records: &[&RunRecord]) -> Option<String> {
    let not_run: Vec<&RunRecord> =
        records.iter().copied().filter(|record| record.not_run.is_some()).collect();
    let why = not_run.first()?.not_run.as_deref()?;
    let names: Vec<&str> = not_run.iter().map(|record| record.assignment.name.as_str()).collect();
    let names = names.join(", ");
    Some(format!("checks not run: {names} ({why}); run crh in a checkout that matches the diff"))
}

/// Limits of the budget that the review exceeded. That can happen, since a vendor may count more
/// than crh reserved.
fn over_budget_notes(inputs: &ReportInputs<'_>) -> Vec<String> {
    let (budget, spent) = (&inputs.options.budget, &inputs.spent);
    let mut notes = Vec::new();
    if spent.money > budget.money {
        let (spent, limit) = (spent.money.as_dollars(), budget.money.as_dollars());
        notes.push(format!("over budget: the review cost ${spent:.2} of ${limit:.2}"));
    }
    let counts = [
        (u64::from(spent.llm_calls), u64::from(budget.llm_calls), "model calls"),
        (u64::from(spent.tool_calls), u64::from(budget.tool_calls), "tool calls"),
        (spent.usage.input, budget.input_tokens, "input tokens"),
    ];
    let exceeded = counts.into_iter().filter(|(spent, limit, _)| spent > limit);
    notes.extend(exceeded.map(|(spent, limit, unit)| {
        format!("over budget: the review used {spent} of {limit} {unit}")
    }));
    notes
}

/// Reviewers and checks that failed, for readers who read only `warnings`. Cancelled runs are left
/// out, since a separate warning says that the user cancelled the review.
fn failures(records: &[&RunRecord], strategy: Strategy) -> Vec<String> {
    let is_failure = |row: &ReviewerRow| {
        let mut runs = records.iter().filter(|run| run.assignment.name == row.name);
        row.outcome == RunOutcome::Failed && !runs.all(|run| run.ended == RunEnd::Cancelled)
    };
    let rows = reviewer_rows(records, strategy).into_iter();
    rows.filter(is_failure).map(|row| row.failure()).collect()
}

/// The summary: counts first, then the summaries of the runs in the order of `records`. A panel has
/// only the counts.
pub(super) fn summary(report: &Report, records: &[&RunRecord]) -> String {
    let mut paragraphs = vec![counts_sentence(report)];
    // The summaries of a panel are only in the run folder, since they repeat the issues.
    let shows_run_summaries = report.strategy != Strategy::Panel;
    let summarised_runs: Vec<&RunRecord> = records
        .iter()
        .copied()
        .filter(|record| shows_run_summaries && !record.summary.trim().is_empty())
        .collect();
    for record in &summarised_runs {
        // The summary of a model is put on one line, so it cannot imitate a line of crh.
        let text = truncate(&one_line(&record.summary));
        paragraphs.push(format!("{}{text}", run_prefix(record, summarised_runs.len())));
    }
    paragraphs.join("\n\n")
}

/// Updates the counts in the summary, and in the note about issues over the limit, after issues were
/// fixed.
pub fn recount_summary(report: &mut Report) {
    report.recount_over_cap();
    let rest = report.summary.split_once("\n\n").map(|(_, rest)| format!("\n\n{rest}"));
    report.summary = format!("{}{}", counts_sentence(report), rest.unwrap_or_default());
}

fn run_prefix(record: &RunRecord, run_count: usize) -> String {
    let assignment = &record.assignment;
    match assignment.name.strip_prefix(SUB_AGENT) {
        Some(slot) => format!("[{slot}] {}: ", assignment.label),
        None if run_count == 1 || assignment.name == ORCHESTRATOR => String::new(),
        None => format!("{}: ", assignment.name),
    }
}

/// `3 issues (1 P0, 2 P1) in 12 reviewed files. 2 findings left out (1 nitpick, 1 refuted).`
fn counts_sentence(report: &Report) -> String {
    let reviewed_count =
        report.coverage.iter().filter(|file| file.state == CoverageState::Reviewed).count();
    let hidden_fixed = report.fixed_over_cap();
    let counted = counted_hidden(report);
    let counted_over_cap = counted.iter().filter(|hidden| hidden.is_over_cap()).count();
    let over_cap = report.over_cap.len().saturating_sub(counted_over_cap + hidden_fixed);
    let hidden_count = counted.len();
    let issues = match report.issues.len() {
        0 if !report.over_cap.is_empty() || hidden_count > 0 => "No issues shown".to_owned(),
        0 => "No issues".to_owned(),
        issues => format!("{}{}", plural(issues, "issue"), severity_counts(&report.issues)),
    };
    let fixed = report.issues.iter().filter(|issue| report.is_fixed(issue.number)).count();
    let fixed = match fixed {
        0 => String::new(),
        fixed => format!(", {fixed} of them fixed,"),
    };
    let mut text = match reviewed_count {
        0 => format!("{issues}{}; no file was fully reviewed", fixed.trim_end_matches(',')),
        count => format!("{issues}{fixed} in {}", plural(count, "reviewed file")),
    };
    match hidden_fixed {
        0 => {}
        1 => text += "; 1 more issue is fixed and not shown",
        count => text += &format!("; {count} more issues are fixed and not shown"),
    }
    let cause = if counted_over_cap == hidden_count { " because of the limit" } else { "" };
    match hidden_count {
        0 => {}
        1 => text += &format!("; 1 more issue is hidden{cause}, but counts for the verdict"),
        count => {
            text += &format!("; {count} more issues are hidden{cause}, but count for the verdict");
        }
    }
    match over_cap {
        0 => {}
        1 => text += "; 1 more issue is over the limit",
        count => text += &format!("; {count} more issues are over the limit"),
    }
    if !report.pre_existing.is_empty() {
        text += &format!("; {} from before the change", plural(report.pre_existing.len(), "issue"));
    }
    text.push('.');
    if let Some(hidden) = HiddenCounts::new(report).with_reasons() {
        text += &format!(" {hidden}.");
    }
    text
}

fn severity_counts(issues: &[Issue]) -> String {
    let mut count_by_severity: BTreeMap<Severity, usize> = BTreeMap::new();
    for issue in issues {
        *count_by_severity.entry(issue.severity).or_default() += 1;
    }
    let texts: Vec<String> =
        count_by_severity.iter().map(|(severity, number)| format!("{number} {severity}")).collect();
    format!(" ({})", texts.join(", "))
}

fn truncate(text: &str) -> String {
    match text.char_indices().nth(SUMMARY_CHARS) {
        Some((end, _)) => format!("{}… [cut]", &text[..end]),
        None => text.to_owned(),
    }
}
