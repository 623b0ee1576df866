//! One line an issue, as editors read compiler errors: `file:line:col: text`.

use crate::clean::{one_line, path};
use crate::finding::Side;
use crate::report::Report;

/// The issues as a quickfix list. What was there before, and what is fixed, is not part of it.
pub fn quickfix(report: &Report) -> String {
    report
        .issues
        .iter()
        .filter(|issue| !report.is_fixed(issue.number))
        .map(|issue| {
            // A removed line has no place in the file as it is now; its old number is the nearest.
            let side = match issue.location.side {
                Side::New => "",
                Side::Old => " (removed line)",
            };
            let kind = issue.rule.clone().unwrap_or_else(|| issue.category.to_string());
            format!(
                "{}:{}:1: {} {}: {}{side}\n",
                path(&issue.location.file),
                issue.location.line_start,
                issue.severity,
                one_line(&kind),
                one_line(&issue.title),
            )
        })
        .collect()
}
