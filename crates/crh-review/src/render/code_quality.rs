//! GitLab's Code Quality report, for the widget of a merge request.

use serde_json::{Value, json};

use super::sarif::{ResultRow, result_rows};
use crate::finding::{Severity, Side};
use crate::identity::content_id;
use crate::report::Report;
use crate::sanitise::one_line;
use crate::stable_json;

/// The open issues as a Code Quality report, with static findings over the limit on issues.
pub fn code_quality(report: &Report) -> serde_json::Result<String> {
    let entries: Vec<Value> = result_rows(report).iter().map(entry).collect();
    stable_json(&entries)
}

fn entry(row: &ResultRow<'_>) -> Value {
    let (first, last) = row.lines;
    let (check, file) = (row.rule_id(), row.file);
    let fingerprint = row.dedupe_key.map_or_else(
        || content_id(format!("{check}\0{file}\0{first}\0{}", row.title).as_bytes()),
        str::to_owned,
    );
    let severity = match row.severity {
        Severity::P0 => "blocker",
        Severity::P1 => "critical",
        Severity::P2 => "major",
        Severity::P3 => "minor",
    };
    // Lines refer to the new file.
    let removed_note = match row.side {
        Side::New => String::new(),
        Side::Old => format!(" (removed line {first})"),
    };
    let description = format!("{}. {}{removed_note}", row.title.trim_end_matches('.'), row.why);
    json!({
        "type": "issue",
        "description": one_line(&description),
        "check_name": check,
        "fingerprint": fingerprint,
        "severity": severity,
        "location": { "path": file, "lines": { "begin": first, "end": last } },
    })
}
