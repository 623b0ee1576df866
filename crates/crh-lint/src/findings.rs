//! The output of static reviewers, and a draft type for building findings.

use std::num::NonZeroU32;

use crate::LintRule;
use crate::whitespace::fold_whitespace;
use crh_review::finding::{
    AutofixClass, Category, Confidence, Evidence, Finding, Owner, Severity, Side, TITLE_MAX,
};

/// Maximum characters of a snippet, which only has to identify a line. Longer lines are mostly
/// generated.
const SNIPPET_CHARS: usize = 240;

/// Maximum findings per reviewer, counted after ignore comments. If there are more, they are mostly
/// in generated code.
pub(crate) const FINDINGS_MAX: usize = 1_000;

/// Output of a static reviewer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StaticOutput {
    /// Findings, by file and line.
    pub findings: Vec<StaticFinding>,
    /// Notes for the report: what was left out, and why.
    pub notes: Vec<String>,
}

impl StaticOutput {
    /// Truncates the findings and adds a note about the rest.
    pub(crate) fn with_limit(mut self) -> Self {
        let omitted_count = self.findings.len().saturating_sub(FINDINGS_MAX);
        if omitted_count > 0 {
            self.notes.push(format!("{omitted_count} more findings are not listed"));
            self.findings.truncate(FINDINGS_MAX);
        }
        self
    }
}

/// A finding of a static rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaticFinding {
    /// Rule id, such as `leftovers/debugger`.
    pub rule: String,
    /// The finding.
    pub finding: Finding,
}

/// Severity, category and confidence of the findings of a rule.
pub(crate) type RuleRating = (Severity, Category, Confidence);

/// A finding under construction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FindingDraft {
    pub(crate) rule: String,
    pub(crate) file: String,
    pub(crate) line: u32,
    /// The text that contains the line; `None` means the new text.
    pub(crate) side: Option<Side>,
    /// Last line, if the finding covers several.
    pub(crate) end: Option<u32>,
    pub(crate) severity: Severity,
    pub(crate) category: Category,
    pub(crate) confidence: Confidence,
    pub(crate) title: String,
    pub(crate) why: String,
    pub(crate) owner: Owner,
    pub(crate) fix: String,
    /// Exact new text for the lines.
    pub(crate) replacement: Option<String>,
    /// The line as shown, with secrets masked.
    pub(crate) snippet: String,
    /// Other places as evidence: file, line, and text of the line.
    pub(crate) witnesses: Vec<(String, u32, String)>,
    pub(crate) pre_existing: bool,
}

impl FindingDraft {
    pub(crate) fn new(rule: &LintRule, file: &str, line: u32, snippet: &str) -> Self {
        let rating = (rule.severity, rule.category, rule.confidence);
        Self::with_rating(rule.id.to_owned(), rating, file, line, snippet)
    }

    /// A finding of a rule that is not built in.
    pub(crate) fn with_rating(
        rule: String,
        (severity, category, confidence): RuleRating,
        file: &str,
        line: u32,
        snippet: &str,
    ) -> Self {
        Self {
            rule,
            file: file.to_owned(),
            line,
            side: None,
            end: None,
            severity,
            category,
            confidence,
            title: String::new(),
            why: String::new(),
            owner: Owner::DownstreamResolver,
            fix: String::new(),
            replacement: None,
            snippet: snippet.trim_end().to_owned(),
            witnesses: Vec::new(),
            pre_existing: false,
        }
    }

    /// Sets title, explanation and suggested fix.
    pub(crate) fn with_text(
        mut self,
        title: impl Into<String>,
        why: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        (self.title, self.why, self.fix) = (title.into(), why.into(), fix.into());
        self
    }

    pub(crate) fn into_finding(self) -> StaticFinding {
        let line = |number: u32| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
        let own_evidence = Evidence {
            file: None,
            line: Some(line(self.line)),
            side: self.side,
            snippet: truncate_snippet(&self.snippet),
        };
        let witnesses = self.witnesses.iter().map(|(file, number, text)| Evidence {
            file: Some(file.clone()),
            line: Some(line(*number)),
            side: self.side.map(|_| Side::New),
            snippet: truncate_snippet(text.trim_end()),
        });
        let finding = Finding {
            title: one_line_title(&self.title),
            severity: self.severity,
            category: self.category,
            file: self.file,
            line_start: Some(line(self.line)),
            line_end: self.end.filter(|end| *end > self.line).map(line),
            side: self.side,
            diff_line: None,
            confidence: self.confidence,
            evidence: std::iter::once(own_evidence).chain(witnesses).collect(),
            why_it_matters: self.why,
            suggested_fix: Some(self.fix).filter(|fix| !fix.is_empty()),
            autofix_class: match self.replacement {
                Some(_) => AutofixClass::GatedAuto,
                None => AutofixClass::Manual,
            },
            replacement: self.replacement,
            owner: self.owner,
            requires_verification: false,
            pre_existing: self.pre_existing,
        };
        StaticFinding { rule: self.rule, finding }
    }
}

/// A title on one line, truncated. Titles contain names from the change.
pub(crate) fn one_line_title(title: &str) -> String {
    let title = fold_whitespace(title);
    match title.char_indices().nth(TITLE_MAX) {
        Some(_) => title.chars().take(TITLE_MAX - 1).chain(['…']).collect(),
        None => title,
    }
}

fn truncate_snippet(text: &str) -> String {
    match text.char_indices().nth(SNIPPET_CHARS) {
        Some((end, _)) => format!("{} [cut]", &text[..end]),
        None => text.to_owned(),
    }
}
