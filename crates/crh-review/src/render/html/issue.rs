//! The view of one issue on the HTML page: text next to code.

use serde::Serialize;
use serde_json::{Value, json};

use super::excerpt::Excerpt;
use super::prose::{Prose, prose, prose_list};
use super::{LabelledValue, labelled_value};
use crate::diff::Diff;
use crate::finding::{Severity, Side};
use crate::place::Quote;
use crate::render::{issue_remarks, location_label, next_step_in, validation_label};
use crate::report::{Issue, Report};
use crate::sanitise::{escape_invisible, path};
use crate::verdict::is_actionable;

#[derive(Serialize)]
pub(super) struct IssueView {
    number: u32,
    severity: String,
    word: &'static str,
    title: Prose,
    place: String,
    fixed: bool,
    why: Prose,
    fix: Option<Prose>,
    /// The texts of `issue_remarks`.
    remarks: Vec<Prose>,
    replacement: Option<String>,
    replaces: String,
    facts: Vec<LabelledValue>,
    excerpt: Option<Excerpt>,
    quotes: Vec<Value>,
    /// The test that proves the issue.
    proof: Option<Value>,
}

impl IssueView {
    pub(super) fn new(issue: &Issue, report: &Report, diff: Option<&Diff>) -> Self {
        let excerpt = diff.and_then(|diff| Excerpt::for_issue(issue, diff));
        let is_shown = |quote: &&Quote| {
            excerpt.as_ref().is_some_and(|excerpt| {
                excerpt.shows(&quote.file, quote.side, quote.line, &quote.snippet)
            })
        };
        let quotes = issue.evidence.iter().filter(|quote| !is_shown(quote));
        let quotes = quotes
            .map(|quote| json!({ "place": quote_place(quote), "text": escape_invisible(&quote.snippet) }))
            .collect();
        let proof = issue.proof.as_ref().map(
            |proof| json!({ "path": path(&proof.path), "text": escape_invisible(&proof.content) }),
        );
        let (start, end) = (issue.location.line_start, issue.location.line_end);
        Self {
            number: issue.number,
            severity: issue.severity.to_string(),
            word: urgency(issue),
            title: prose(&issue.title),
            place: location_label(issue),
            fixed: report.is_fixed(issue.number),
            why: prose(&issue.why_it_matters),
            fix: issue.suggested_fix.as_deref().map(prose),
            remarks: prose_list(&issue_remarks(issue)),
            replacement: issue.replacement.as_deref().map(escape_invisible),
            replaces: if start == end {
                format!("line {start}")
            } else {
                format!("lines {start} to {end}")
            },
            facts: issue_values(issue, report),
            excerpt,
            quotes,
            proof,
        }
    }
}

fn quote_place(quote: &Quote) -> String {
    let side_note = match quote.side {
        Side::New => "",
        Side::Old => " (before the change)",
    };
    format!("{}:{}{side_note}", path(&quote.file), quote.line)
}

/// What the verdict expects of the author.
fn urgency(issue: &Issue) -> &'static str {
    match issue.severity {
        _ if is_actionable(issue) => "must be fixed",
        Severity::P0 | Severity::P1 => "read this",
        Severity::P2 | Severity::P3 => "optional",
    }
}

fn issue_values(issue: &Issue, report: &Report) -> Vec<LabelledValue> {
    let reporters = issue.disagreement.clone().unwrap_or_else(|| issue.reviewers.join(", "));
    let validation = validation_label(issue.validation).unwrap_or("by the reviewer only");
    let relocation = issue.relocated_from.map(|line| format!("the reviewer cited line {line}"));
    let mut facts = vec![
        labelled_value("Category", &issue.category.to_string().replace('_', " ")),
        labelled_value("Reported by", &reporters),
        labelled_value("Confidence", &issue.confidence.to_string()),
        labelled_value("Checked", validation),
    ];
    facts.extend(issue.probability.map(|probability| {
        labelled_value("Probability that maintainers agree", &probability.to_string())
    }));
    // crh fixes no pre-existing issues.
    if !issue.pre_existing && !report.is_fixed(issue.number) {
        let step = next_step_in(report, issue).to_string().replace('`', "");
        facts.push(labelled_value("Next step", &step));
    }
    facts.extend(issue.rule.as_ref().map(|rule| labelled_value("Rule", rule)));
    facts.extend(relocation.map(|moved| labelled_value("Line corrected", &moved)));
    facts
}
