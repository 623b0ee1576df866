//! The answer of `delegate_review`: findings with ids, summaries of the sub-agents, files not
//! reviewed. The JSON has a bounded length; if not everything fits, the least severe findings are
//! left out.

use serde::Serialize;
use serde_json::{Value, json};

use super::board::FindingId;
use crate::runs::RunRecord;
use crate::text::{cut, one_line};
use crate::tools::ToolLimits;
use crh_review::finding::Finding;
use crh_review::report::CoverageState;

/// Maximum characters of an answer, as for any tool.
const CHARS_MAX: usize = ToolLimits::USUAL.chars;

/// Maximum characters of each list, and of all summaries together. The findings get the rest of the
/// answer.
const LIST_CHARS: usize = CHARS_MAX / 8;

/// Maximum characters of a path.
const PATH_CHARS: usize = 500;

/// Maximum characters of each text of a finding. The record keeps the full text.
const TEXT_CHARS: usize = 1_200;

/// Failure of a sub-agent without a report. The specification of a harness with sub-agents
/// prescribes the text (see `docs/adr/0030-differences-from-the-specifications.md`).
pub(super) const NO_REPORT: &str = "sub-agent ended without calling report_findings";

#[derive(Debug, PartialEq, Eq)]
pub(super) struct DelegateAnswer {
    /// JSON for the model.
    pub(super) text: String,
    /// Findings in the answer.
    pub(super) shown_ids: Vec<FindingId>,
    /// Number of findings that did not fit.
    pub(super) left_out: usize,
}

#[derive(Debug, Serialize)]
struct FindingEntry<'a> {
    id: String,
    severity: crh_review::finding::Severity,
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff_line: Option<u32>,
    title: &'a str,
    confidence: f64,
    why_it_matters: String,
    evidence: String,
}

/// Builds the answer. `scope_notes` describe how the scopes differ from the request.
pub(super) fn build_answer<'a>(
    runs: impl IntoIterator<Item = (u32, &'a RunRecord)>,
    scope_notes: &[String],
) -> DelegateAnswer {
    let runs: Vec<(u32, &RunRecord)> = runs.into_iter().collect();
    let mut findings_by_id: Vec<(FindingId, &Finding)> = Vec::new();
    for (slot, record) in &runs {
        let findings = (1..).zip(&record.members);
        findings_by_id.extend(
            findings.map(|(number, member)| (FindingId { slot: *slot, number }, &member.finding)),
        );
    }
    findings_by_id.sort_by_key(|(id, finding)| {
        (finding.severity, std::cmp::Reverse(finding.confidence), *id)
    });
    let fields = context_fields(&runs, scope_notes);
    let entries: Vec<Value> =
        findings_by_id.iter().map(|(id, finding)| json!(finding_entry(*id, finding))).collect();
    let max_chars =
        CHARS_MAX.saturating_sub(answer_json(&fields, &[], entries.len()).chars().count());
    let fitting_count = count_fitting(&entries, max_chars);
    DelegateAnswer {
        text: answer_json(&fields, &entries[..fitting_count], findings_by_id.len() - fitting_count),
        shown_ids: findings_by_id[..fitting_count].iter().map(|(id, _)| *id).collect(),
        left_out: findings_by_id.len() - fitting_count,
    }
}

/// All fields except the findings.
fn context_fields(runs: &[(u32, &RunRecord)], scope_notes: &[String]) -> Value {
    let chars_per_run = LIST_CHARS / runs.len().max(1);
    let summary: Vec<String> = runs
        .iter()
        .map(|(slot, record)| {
            let text = record.ended.failure().unwrap_or(&record.summary);
            let line = format!("[{slot}] {}: {}", record.assignment.label, one_line(text));
            cut(&line, chars_per_run)
        })
        .collect();
    let coverage = runs.iter().flat_map(|(_, record)| &record.coverage);
    let not_reviewed = coverage.filter(|file| match file.state {
        CoverageState::NotReviewed | CoverageState::Truncated => true,
        CoverageState::Reviewed | CoverageState::OutOfScope | CoverageState::ReviewedBefore => {
            false
        }
    });
    let not_reviewed: Vec<String> =
        not_reviewed.map(|file| format!("{}: {}", file.path, file.reason)).collect();
    let mut fields = json!({
        "summary": summary.join("\n"),
        "not_reviewed": bounded_list(&not_reviewed),
    });
    if !scope_notes.is_empty() {
        fields["scopes_changed"] = bounded_list(scope_notes);
    }
    fields
}

fn finding_entry<'a>(id: FindingId, finding: &'a Finding) -> FindingEntry<'a> {
    let evidence = finding.evidence.first().map_or("", |piece| piece.snippet.as_str());
    FindingEntry {
        id: id.to_string(),
        severity: finding.severity,
        file: cut(&finding.file, PATH_CHARS),
        line: finding.line_start.map(std::num::NonZeroU32::get),
        diff_line: finding.diff_line.map(std::num::NonZeroU32::get),
        title: &finding.title,
        confidence: finding.confidence.value(),
        why_it_matters: cut(&finding.why_it_matters, TEXT_CHARS),
        evidence: cut(evidence, TEXT_CHARS),
    }
}

fn answer_json(fields: &Value, findings: &[Value], left_out: usize) -> String {
    let mut value = fields.clone();
    value["findings"] = json!(findings);
    if left_out > 0 {
        value["left_out"] = json!(format!(
            "{left_out} less severe findings did not fit; they are kept without your decision"
        ));
    }
    json_line(&value)
}

/// JSON on one line, with sorted keys.
fn json_line(value: &Value) -> String {
    // Serialising a JSON value cannot fail.
    crh_review::stable_json_line(value).unwrap_or_default()
}

/// How many of the first entries fit into `max_chars`.
fn count_fitting(entries: &[Value], max_chars: usize) -> usize {
    let mut used_chars = 0;
    let fits = |entry: &&Value| {
        // One more for the comma.
        used_chars += json_line(entry).chars().count() + 1;
        used_chars <= max_chars
    };
    entries.iter().take_while(fits).count()
}

/// The first texts that fit into [`LIST_CHARS`].
fn bounded_list(texts: &[String]) -> Value {
    let mut used_chars = 0;
    let fits = |text: &&String| {
        used_chars += json_line(&json!(text)).chars().count() + 1;
        used_chars <= LIST_CHARS
    };
    let mut list: Vec<String> = texts.iter().take_while(fits).cloned().collect();
    if list.len() < texts.len() {
        list.push(format!("and {} more", texts.len() - list.len()));
    }
    json!(list)
}

#[cfg(test)]
mod tests;
