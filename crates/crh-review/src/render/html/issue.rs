//! One issue as the page shows it: what was said beside the code that it is about.

use serde::Serialize;

use super::excerpt::Excerpt;
use super::prose::{Prose, prose};
use super::{Fact, fact};
use crate::clean::{path, visible};
use crate::diff::Diff;
use crate::finding::{Severity, Side};
use crate::place::Quote;
use crate::render::{place, second_look};
use crate::report::{Issue, Report};

/// One issue.
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
    replacement: Option<String>,
    replaces: String,
    facts: Vec<Fact>,
    excerpt: Option<Excerpt>,
    quotes: Vec<QuoteView>,
}

#[derive(Serialize)]
struct QuoteView {
    place: String,
    text: String,
}

impl IssueView {
    pub(super) fn of(issue: &Issue, report: &Report, diff: Option<&Diff>) -> Self {
        let excerpt = diff.and_then(|diff| Excerpt::of(issue, diff));
        let is_shown = |quote: &&Quote| {
            excerpt.as_ref().is_some_and(|excerpt| {
                excerpt.shows(&quote.file, quote.side, quote.line, &quote.snippet)
            })
        };
        let quotes = issue.evidence.iter().filter(|quote| !is_shown(quote));
        let quotes = quotes
            .map(|quote| QuoteView { place: quote_place(quote), text: visible(&quote.snippet) });
        let quotes = quotes.collect();
        let (start, end) = (issue.location.line_start, issue.location.line_end);
        Self {
            number: issue.number,
            severity: issue.severity.to_string(),
            word: severity_word(issue.severity),
            title: prose(&issue.title),
            place: place(issue),
            fixed: report.is_fixed(issue.number),
            why: prose(&issue.why_it_matters),
            fix: issue.suggested_fix.as_deref().map(prose),
            replacement: issue.replacement.as_deref().map(visible),
            replaces: if start == end {
                format!("line {start}")
            } else {
                format!("lines {start} to {end}")
            },
            facts: issue_facts(issue),
            excerpt,
            quotes,
        }
    }
}

fn quote_place(quote: &Quote) -> String {
    let before = match quote.side {
        Side::New => "",
        Side::Old => " (before the change)",
    };
    format!("{}:{}{before}", path(&quote.file), quote.line)
}

/// What a severity means for the author.
pub(super) fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::P0 => "must be fixed",
        Severity::P1 => "should be fixed",
        Severity::P2 => "narrow",
        Severity::P3 => "author's choice",
    }
}

fn issue_facts(issue: &Issue) -> Vec<Fact> {
    let by = issue.disagreement.clone().unwrap_or_else(|| issue.reviewers.join(", "));
    let checked = second_look(issue.validation).unwrap_or("not looked at again");
    let moved = issue.relocated_from.map(|line| format!("cited on line {line}, found here"));
    let mut facts = vec![
        fact("Kind", &spaced(&issue.category)),
        fact("Reported by", &by),
        fact("Confidence", &issue.confidence.to_string()),
        fact("Checked", checked),
        fact(
            "Next",
            &format!(
                "{}; {}, {}",
                spaced(&issue.action),
                spaced(&issue.autofix_class),
                issue.owner
            ),
        ),
    ];
    facts.extend(issue.rule.as_ref().map(|rule| fact("Rule", rule)));
    facts.extend(moved.map(|moved| fact("Moved", &moved)));
    facts
}

/// A word of ours as it stands in a sentence.
fn spaced(word: &impl ToString) -> String {
    word.to_string().replace('_', " ")
}
