//! Turns issues into diagnostics. Pure.

use tower_lsp_server::ls_types::{
    Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, Location as EditorLocation,
    NumberOrString, Range, Uri,
};

use super::place::{ColumnUnit, find_issue, position};
use crh_review::escape_invisible;
use crh_review::finding::{Severity, Side};
use crh_review::report::Issue;

/// Name that the editor shows as the source of a diagnostic.
pub(super) const SOURCE: &str = "crh";

/// An issue at its place in the current text of a file.
#[derive(Debug, Clone)]
pub(super) struct PlacedIssue {
    pub(super) issue: Issue,
    pub(super) diagnostic: Diagnostic,
}

/// Places the issues of a file in its current text. `uri_of` gives the address of another file.
pub(super) fn place_issues<'i>(
    issues: impl IntoIterator<Item = &'i Issue>,
    text: &str,
    unit: ColumnUnit,
    uri_of: impl Fn(&str) -> Option<Uri>,
) -> Vec<PlacedIssue> {
    let place = |issue: &Issue| {
        let range = find_issue(issue, text, unit)?;
        let diagnostic = diagnostic(issue, range, &uri_of);
        Some(PlacedIssue { issue: issue.clone(), diagnostic })
    };
    issues.into_iter().filter_map(place).collect()
}

fn diagnostic(issue: &Issue, range: Range, uri_of: impl Fn(&str) -> Option<Uri>) -> Diagnostic {
    let severity = match issue.severity {
        Severity::P0 | Severity::P1 => DiagnosticSeverity::ERROR,
        Severity::P2 => DiagnosticSeverity::WARNING,
        Severity::P3 => DiagnosticSeverity::INFORMATION,
    };
    let mut message = format!("{} {}\n{}", issue.severity, issue.title, issue.description);
    match (issue.location.side, crh_review::render::quote_note(issue.rule.as_deref())) {
        (Side::Old, _) => message += "\nThis is about a removed line.",
        // The note speaks of a quote. An editor marks the line instead, so the words differ here.
        (Side::New, Some(_)) => message += "\nThis line only shows where the removed code was.",
        (Side::New, None) => {}
    }
    if !issue.suggestion.is_empty() {
        message += &format!("\nFix: {}", issue.suggestion);
    }
    let places = issue.other_places.iter().map(|place| (&place.file, place.line_start));
    let related = places.filter_map(|(file, line)| {
        let start = position(line.saturating_sub(1) as usize, 0);
        let location = EditorLocation { uri: uri_of(file)?, range: Range { start, end: start } };
        let message = "the same problem".to_owned();
        Some(DiagnosticRelatedInformation { location, message })
    });
    let related: Vec<_> = related.collect();
    let rule_or_category = issue.rule.clone().unwrap_or_else(|| issue.category.to_string());
    Diagnostic {
        range,
        severity: Some(severity),
        code: Some(NumberOrString::String(rule_or_category)),
        source: Some(SOURCE.to_owned()),
        message: escape_invisible(message.trim_end()),
        related_information: (!related.is_empty()).then_some(related),
        ..Diagnostic::default()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crh_review::report::Report;

    /// An issue with one quote in the new file.
    pub(in crate::lsp) fn issue(file: &str, line: u32, snippet: &str) -> Issue {
        let json = include_str!("../../../crh-review/tests/data/render/report.json");
        let report: Report = serde_json::from_str(json).unwrap();
        let mut issue = report.issues[0].clone();
        issue.location.file = file.to_owned();
        issue.location.side = Side::New;
        (issue.location.line_start, issue.location.line_end) = (line, line);
        issue.evidence.truncate(1);
        issue.evidence[0].file = file.to_owned();
        issue.evidence[0].side = Side::New;
        issue.evidence[0].line = line;
        issue.evidence[0].snippet = snippet.to_owned();
        issue.evidence_snippet = snippet.to_owned();
        issue.other_places.clear();
        issue
    }

    /// `references/removed` is at the line that replaced the removed one, which may be any line.
    #[test]
    fn line_in_place_of_removed_code_is_not_blamed() {
        let mut issue = issue("a.py", 1, "# helpers");
        let message = |issue: &Issue| {
            let placed = place_issues([issue], "# helpers\n", ColumnUnit::Utf16, |_| None);
            placed[0].diagnostic.message.clone()
        };
        let note = "This line only shows where the removed code was.";
        assert!(!message(&issue).contains(note));
        issue.rule = Some("references/removed".to_owned());
        assert!(message(&issue).contains(note), "{}", message(&issue));
        let page = super::super::evidence::page(&issue, "`crh check`");
        let note = "The quoted line only shows where the removed code was.";
        assert!(page.contains(&format!("# helpers\n```\n\n{note}\n")), "{page}");
    }

    #[test]
    fn severities_map_to_those_of_the_editor() {
        let mut all = Vec::new();
        for severity in [Severity::P0, Severity::P1, Severity::P2, Severity::P3] {
            let mut issue = issue("a.py", 1, "x");
            issue.severity = severity;
            issue.title = "Bell\u{7}".to_owned();
            let placed = place_issues([&issue], "x\n", ColumnUnit::Utf16, |_| None);
            assert!(placed[0].diagnostic.message.starts_with(&format!("{severity} Bell\\u{{7}}")));
            all.push(placed[0].diagnostic.severity.unwrap());
        }
        let (error, warning, information) = (
            DiagnosticSeverity::ERROR,
            DiagnosticSeverity::WARNING,
            DiagnosticSeverity::INFORMATION,
        );
        assert_eq!(all, [error, error, warning, information]);
    }
}
