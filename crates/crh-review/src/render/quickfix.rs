//! Quickfix list for editors: `file:line:col: text`, one line per issue.

use crate::finding::Side;
use crate::report::Report;
use crate::sanitise::{one_line, path};

/// The open issues as a quickfix list, without pre-existing ones.
pub fn quickfix(report: &Report) -> String {
    report
        .issues
        .iter()
        .filter(|issue| !report.is_fixed(issue.number))
        .map(|issue| {
            // A removed line has no line in the new file; its old number is the best guess.
            let side_note = match issue.location.side {
                Side::New => "",
                Side::Old => " (removed line)",
            };
            let rule_or_category = issue.rule.clone().unwrap_or_else(|| issue.category.to_string());
            format!(
                "{}:{}:1: {} {}: {}{side_note}\n",
                path(&issue.location.file),
                issue.location.line_start,
                issue.severity,
                one_line(&rule_or_category),
                one_line(&issue.title),
            )
        })
        .collect()
}
