//! What `delegate_review` answers: the findings with their ids, what each sub-agent said, what was not reviewed. It is
//! JSON of a bounded length; where not everything fits, the least severe findings are left out.

use serde::Serialize;
use serde_json::{Value, json};

use super::board::Id;
use crate::runs::RunRecord;
use crate::text::{cut, one_line};
use crate::tools::Limits;
use crh_review::finding::Finding;
use crh_review::report::CoverageState;

/// The most characters of an answer, as of any tool's.
const CHARS_MAX: usize = Limits::USUAL.chars;

/// The part of it for lists and summaries each; the findings have the rest.
const LIST_CHARS: usize = CHARS_MAX / 8;

/// The longest path that is shown, in characters.
const PATH_CHARS: usize = 500;

/// The longest text of a finding that is shown, in characters. The orchestrator decides by it; the whole stays in the
/// record.
const TEXT_CHARS: usize = 1_200;

/// Said for a sub-agent that brought nothing: the words of the specification.
pub(super) const NO_REPORT: &str = "sub-agent ended without calling report_findings";

/// What is answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// For the model.
    pub(super) text: String,
    /// The findings in it.
    pub(super) told: Vec<Id>,
    /// How many findings did not fit.
    pub(super) left_out: usize,
}

#[derive(Debug, Serialize)]
struct Row<'a> {
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

/// The answer for some runs. `said` is where the scopes are not what was wanted.
pub(super) fn answer<'a>(
    runs: impl IntoIterator<Item = (u32, &'a RunRecord)>,
    said: &[String],
) -> Answer {
    let runs: Vec<(u32, &RunRecord)> = runs.into_iter().collect();
    let mut rows: Vec<(Id, &Finding)> = Vec::new();
    for (slot, record) in &runs {
        let findings = (1..).zip(&record.members);
        rows.extend(findings.map(|(number, member)| (Id { slot: *slot, number }, &member.finding)));
    }
    rows.sort_by_key(|(id, finding)| {
        (finding.severity, std::cmp::Reverse(finding.confidence), *id)
    });
    let beside = beside(&runs, said);
    let shown: Vec<Value> = rows.iter().map(|(id, finding)| json!(row(*id, finding))).collect();
    let room = CHARS_MAX.saturating_sub(whole(&beside, &[], shown.len()).chars().count());
    let fitting = fitting(&shown, room);
    Answer {
        text: whole(&beside, &shown[..fitting], rows.len() - fitting),
        told: rows[..fitting].iter().map(|(id, _)| *id).collect(),
        left_out: rows.len() - fitting,
    }
}

/// Everything but the findings.
fn beside(runs: &[(u32, &RunRecord)], said: &[String]) -> Value {
    let each = LIST_CHARS / runs.len().max(1);
    let summary: Vec<String> = runs
        .iter()
        .map(|(slot, record)| {
            let text = record.ended.failure().unwrap_or(&record.summary);
            let line = format!("[{slot}] {}: {}", record.assignment.label, one_line(text));
            cut(&line, each)
        })
        .collect();
    let coverage = runs.iter().flat_map(|(_, record)| &record.coverage);
    let missing = coverage.filter(|file| match file.state {
        CoverageState::NotReviewed | CoverageState::Truncated => true,
        CoverageState::Reviewed | CoverageState::OutOfScope | CoverageState::ReviewedBefore => {
            false
        }
    });
    let missing: Vec<String> =
        missing.map(|file| format!("{}: {}", file.path, file.reason)).collect();
    let mut beside = json!({
        "summary": summary.join("\n"),
        "not_reviewed": listed(&missing),
    });
    if !said.is_empty() {
        beside["scopes_changed"] = listed(said);
    }
    beside
}

fn row<'a>(id: Id, finding: &'a Finding) -> Row<'a> {
    let evidence = finding.evidence.first().map_or("", |piece| piece.snippet.as_str());
    Row {
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

fn whole(beside: &Value, findings: &[Value], left_out: usize) -> String {
    let mut value = beside.clone();
    value["findings"] = json!(findings);
    if left_out > 0 {
        value["left_out"] = json!(format!(
            "{left_out} less severe findings did not fit; they are kept without your decision"
        ));
    }
    line(&value)
}

/// JSON on one line: keys in an order that does not depend on how the value was made.
fn line(value: &Value) -> String {
    // A value that is JSON already can be printed.
    crh_review::stable_json_line(value).unwrap_or_default()
}

/// How many of the first rows fit.
fn fitting(rows: &[Value], room: usize) -> usize {
    let mut used = 0;
    let fits = |row: &&Value| {
        // A comma stands between two.
        used += line(row).chars().count() + 1;
        used <= room
    };
    rows.iter().take_while(fits).count()
}

/// The first texts of a list, as many as its share of the answer takes.
fn listed(texts: &[String]) -> Value {
    let mut used = 0;
    let fits = |text: &&String| {
        used += line(&json!(text)).chars().count() + 1;
        used <= LIST_CHARS
    };
    let mut shown: Vec<String> = texts.iter().take_while(fits).cloned().collect();
    if shown.len() < texts.len() {
        shown.push(format!("and {} more", texts.len() - shown.len()));
    }
    json!(shown)
}

#[cfg(test)]
mod tests;
