//! Parts shared by todo files and tickets. Quotes are indented, so that no line of them can be read
//! as a heading.

use super::comment::prose;
use super::{issue_remarks, location_label, reported_by, validation_label};
use crate::finding::Side;
use crate::report::{Action, FixOutcome, Issue, Report, TestProof};
use crate::sanitise;

/// Maximum characters of a quote or replacement. The run folder has the full text.
const MAX_CODE: usize = 4_000;
/// Maximum number of quotes.
const MAX_QUOTES: usize = 10;

/// Severity, category, location, confidence and reviewers as a list item, and one item for each
/// text of `issue_remarks`.
pub(super) fn facts(issue: &Issue, links: Option<&str>) -> String {
    let validation_note =
        validation_label(issue.validation).map(|label| format!("; {label}")).unwrap_or_default();
    let mut out = format!(
        "- {} {} at {}, confidence {}, reported by {}{validation_note}\n",
        issue.severity,
        issue.category,
        sanitise::code_span(&location_label(issue)),
        issue.confidence,
        prose(&reported_by(issue), links),
    );
    for remark in issue_remarks(issue) {
        out.push_str(&format!("- {}\n", prose(&remark, links)));
    }
    out
}

/// The quotes as list items.
pub(super) fn quotes(issue: &Issue) -> String {
    let mut out = String::new();
    for quote in issue.evidence.iter().take(MAX_QUOTES) {
        let removed_note = if quote.side == Side::Old { " (removed)" } else { "" };
        let location = sanitise::path(&format!("{}:{}{removed_note}", quote.file, quote.line));
        out.push_str(&format!(
            "- {}\n\n{}",
            sanitise::code_span(&location),
            indented_block(&quote.snippet, &issue.language)
        ));
    }
    match issue.evidence.len().saturating_sub(MAX_QUOTES) {
        0 => {}
        count => out.push_str(&format!("- See the run folder for {count} more quotes.\n")),
    }
    out
}

/// The proposed fix and replacement.
pub(super) fn proposed_fix(issue: &Issue, links: Option<&str>) -> String {
    let mut out = String::new();
    if let Some(fix) = &issue.suggested_fix {
        out.push_str(&format!("{}\n", prose(fix, links)));
    }
    if let Some(text) = &issue.replacement {
        let separator = if out.is_empty() { "" } else { "\n" };
        let location = sanitise::code_span(&location_label(issue));
        let lines = match issue.location.line_end.saturating_sub(issue.location.line_start) {
            0 => format!("Replace the line at {location} with"),
            extra_lines => {
                format!("Replace the {} lines starting at {location} with", extra_lines + 1)
            }
        };
        out.push_str(&format!("{separator}- {lines}\n\n{}", indented_block(text, &issue.language)));
    }
    if let Some(TestProof { path, content, .. }) = &issue.proof {
        let separator = if out.is_empty() { "" } else { "\n" };
        let path = sanitise::code_span(&sanitise::path(path));
        let block = indented_block(content, &issue.language);
        out.push_str(&format!("{separator}- Add the test {path}\n\n{block}"));
    }
    match out.is_empty() {
        true => "No reviewer proposed a fix.\n".to_owned(),
        false => out,
    }
}

/// The recommended action as a sentence. It does not recommend a fix that is already applied.
pub(super) fn advice(report: &Report, issue: &Issue) -> &'static str {
    match report.fix_of(issue.number).map(|fix| fix.outcome) {
        Some(FixOutcome::FoundAgain) => {
            return "The applied fix did not help. Find another solution.";
        }
        Some(FixOutcome::Unverified) => return "Check the applied fix, which is not verified.",
        Some(FixOutcome::Partial) => return "Fix the places that the applied fix did not change.",
        Some(FixOutcome::PartlyReverted) => {
            return "Restore the part of the applied fix that is no longer in the tree.";
        }
        Some(FixOutcome::Done) | None => {}
    }
    match issue.action {
        Action::Acknowledge => "No action needed.",
        Action::Apply => "Apply the proposed solution and check the callers.",
        Action::Defer if issue.suggested_fix.is_some() || issue.replacement.is_some() => {
            "Review the proposed solution. Not every reviewer proposed it."
        }
        Action::Defer => "Find a solution. Start with the quoted code and its callers.",
        Action::Skip => "Choose a solution first: the reviewers propose different ones.",
    }
}

/// A code block inside a list item.
fn indented_block(text: &str, language: &str) -> String {
    let excerpt: String = text.chars().take(MAX_CODE).collect();
    let ellipsis = if excerpt.len() < text.len() { "\n…" } else { "" };
    let block = sanitise::code_block(&format!("{excerpt}{ellipsis}"), language);
    let lines = block.lines().map(|line| match line.is_empty() {
        true => "\n".to_owned(),
        false => format!("  {line}\n"),
    });
    lines.collect::<String>() + "\n"
}
