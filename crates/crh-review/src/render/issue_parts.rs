//! The parts of one issue that a todo and a ticket have in common. No line of a quote starts at the margin, where a reader that
//! looks for headings would take it for one.

use super::comment::prose;
use super::{place, reported_by, second_look};
use crate::clean;
use crate::finding::Side;
use crate::report::{Action, Issue};

/// How much of one quote or replacement is shown, in characters: a screen or two. The run folder has all of it.
const CODE_MAX: usize = 4_000;
/// How many quotes are shown.
const QUOTES_MAX: usize = 10;

/// How bad it is, where, by whom and how sure, as an item of a list.
pub(super) fn facts(issue: &Issue, links: Option<&str>) -> String {
    let look = second_look(issue.validation).map(|look| format!("; {look}")).unwrap_or_default();
    format!(
        "- {} {} at {}, confidence {}, reported by {}{look}\n",
        issue.severity,
        issue.category,
        clean::code_span(&place(issue)),
        issue.confidence,
        prose(&reported_by(issue), links),
    )
}

/// What was quoted, each an item of a list.
pub(super) fn quotes(issue: &Issue) -> String {
    let mut out = String::new();
    for quote in issue.evidence.iter().take(QUOTES_MAX) {
        let removed = if quote.side == Side::Old { " (removed)" } else { "" };
        let place = clean::path(&format!("{}:{}{removed}", quote.file, quote.line));
        out.push_str(&format!(
            "- {}\n\n{}",
            clean::code_span(&place),
            block(&quote.snippet, &issue.language)
        ));
    }
    match issue.evidence.len().saturating_sub(QUOTES_MAX) {
        0 => {}
        more => out.push_str(&format!("- {more} more quotes are in the run folder.\n")),
    }
    out
}

/// What was proposed; that nothing was, if so.
pub(super) fn proposed(issue: &Issue, links: Option<&str>) -> String {
    let mut out = String::new();
    if let Some(fix) = &issue.suggested_fix {
        out.push_str(&format!("{}\n", prose(fix, links)));
    }
    if let Some(text) = &issue.replacement {
        let gap = if out.is_empty() { "" } else { "\n" };
        let place = clean::code_span(&place(issue));
        let lines = match issue.location.line_end.saturating_sub(issue.location.line_start) {
            0 => format!("Replace the line at {place} with"),
            more => format!("Replace the {} lines from {place} on with", more + 1),
        };
        out.push_str(&format!("{gap}- {lines}\n\n{}", block(text, &issue.language)));
    }
    match out.is_empty() {
        true => "No reviewer proposed a solution.\n".to_owned(),
        false => out,
    }
}

/// What to do with an issue, as a sentence.
pub(super) fn advice(issue: &Issue) -> &'static str {
    match issue.action {
        Action::Acknowledge => "Take note of it.",
        Action::Apply => "Apply the proposed solution, and check it where the code is used.",
        Action::Defer if issue.suggested_fix.is_some() || issue.replacement.is_some() => {
            "Weigh the proposed solution: not every reviewer has named it."
        }
        Action::Defer => "Find a solution: look at the quoted code and at what uses it.",
        Action::Skip => "Decide first: the reviewers contradict each other about the solution.",
    }
}

/// Code inside an item of a list.
fn block(text: &str, language: &str) -> String {
    let shown: String = text.chars().take(CODE_MAX).collect();
    let rest = if shown.len() < text.len() { "\n…" } else { "" };
    let block = clean::code_block(&format!("{shown}{rest}"), language);
    let lines = block.lines().map(|line| match line.is_empty() {
        true => "\n".to_owned(),
        false => format!("  {line}\n"),
    });
    lines.collect::<String>() + "\n"
}
