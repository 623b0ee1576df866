//! SARIF 2.1.0, for code-scanning uploads and editors.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde_json::{Value, json};

use crate::clean::one_line;
use crate::finding::{Category, Confidence, Member, Origin, Severity, Side};
use crate::report::{Fate, Issue, Report, Status};
use crate::stable_json;

/// Where the format is defined.
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// Its name and version enter every fingerprint's key.
const FINGERPRINT: &str = "crhDedupeKey/v1";

/// The most results of a log: code scanning shows no more of one upload.
const RESULTS_MAX: usize = 5_000;

/// A result: an issue, or a finding of a program that a limit keeps out of the list of issues.
struct Row<'a> {
    rule: Option<&'a str>,
    severity: Severity,
    category: Category,
    title: &'a str,
    why: &'a str,
    fix: Option<&'a str>,
    replacement: Option<&'a str>,
    file: &'a str,
    side: Side,
    lines: (u32, u32),
    /// Only an issue has one.
    dedupe_key: Option<&'a str>,
    confidence: Confidence,
    reviewers: Vec<&'a str>,
    route: String,
}

/// The issues as a SARIF log, and what programs have found beyond the limit of issues. What was there before is not part of it,
/// nor what is silenced: code scanning would raise an alert for each, since it does not read `suppressions`.
pub fn sarif(report: &Report) -> serde_json::Result<String> {
    let rows: Vec<Row<'_>> =
        report.issues.iter().map(Row::of_issue).chain(beyond(report)).take(RESULTS_MAX).collect();
    // The first issue of a rule describes it.
    let mut first: BTreeMap<String, &Row<'_>> = BTreeMap::new();
    for row in &rows {
        first.entry(row.rule_id()).or_insert(row);
    }
    let ids: Vec<&String> = first.keys().collect();
    let rules: Vec<Value> = first.iter().map(|(id, row)| rule(id, row)).collect();
    let results: Vec<Value> = rows.iter().map(|row| result(row, &ids)).collect();
    let mut run = json!({
        "tool": { "driver": {
            "name": "crh",
            "semanticVersion": env!("CARGO_PKG_VERSION"),
            "rules": rules,
        }},
        "columnKind": "unicodeCodePoints",
        "invocations": [{
            "executionSuccessful": report.status != Status::Error,
            "toolExecutionNotifications": notifications(report),
        }],
        "results": results,
    });
    if !report.review_id.is_empty() {
        run["automationDetails"] = json!({ "id": format!("crh/{}", report.review_id) });
    }
    stable_json(&json!({ "$schema": SCHEMA, "version": "2.1.0", "runs": [run] }))
}

/// What programs have found and a limit has cut off, the worst first; each once, whoever has said it.
fn beyond(report: &Report) -> Vec<Row<'_>> {
    let cut = report.suppressed.iter().filter(|dropped| dropped.fate == Fate::OverCap);
    let members = cut.filter_map(|dropped| dropped.member.as_ref());
    let by_code = members.filter(|member| member.origin == Origin::Code);
    let mut rows: Vec<Row<'_>> = by_code.filter_map(Row::of_member).collect();
    rows.sort_by_key(|row| (row.severity, row.file, row.lines, row.rule, row.title));
    rows.dedup_by_key(|row| (row.file, row.lines, row.rule, row.title));
    rows
}

impl<'a> Row<'a> {
    fn of_issue(issue: &'a Issue) -> Self {
        let location = &issue.location;
        Self {
            rule: issue.rule.as_deref(),
            severity: issue.severity,
            category: issue.category,
            title: &issue.title,
            why: &issue.why_it_matters,
            fix: issue.suggested_fix.as_deref(),
            replacement: issue.replacement.as_deref(),
            file: &location.file,
            side: location.side,
            lines: (location.line_start, location.line_end),
            dedupe_key: Some(&issue.dedupe_key),
            confidence: issue.confidence,
            reviewers: issue.reviewers.iter().map(String::as_str).collect(),
            route: format!("{} -> {}", issue.autofix_class, issue.owner),
        }
    }

    /// None if it does not say where it is.
    fn of_member(member: &'a Member) -> Option<Self> {
        let finding = &member.finding;
        let first = finding.line_start?.get();
        Some(Self {
            rule: member.rule.as_deref(),
            severity: finding.severity,
            category: finding.category,
            title: &finding.title,
            why: &finding.why_it_matters,
            fix: finding.suggested_fix.as_deref(),
            replacement: finding.replacement.as_deref(),
            file: &finding.file,
            side: finding.side.unwrap_or(Side::New),
            lines: (first, finding.line_end.map_or(first, NonZeroU32::get)),
            dedupe_key: None,
            confidence: finding.confidence,
            reviewers: vec![&member.reviewer],
            route: format!("{} -> {}", finding.autofix_class, finding.owner),
        })
    }

    fn rule_id(&self) -> String {
        match self.rule {
            Some(rule) => one_line(rule),
            None => format!("crh/{}", self.category),
        }
    }
}

/// A rule: that of the program which found the issue, or its category where there is none.
fn rule(id: &str, row: &Row<'_>) -> Value {
    let category = row.category;
    let (name, describes) = match row.rule {
        Some(_) => (id.to_owned(), one_line(row.title)),
        None => (category.to_string(), describes(category).to_owned()),
    };
    let mut rule = json!({
        "id": id,
        "name": name,
        "shortDescription": { "text": unlinked(&describes) },
        "properties": { "tags": [category.to_string()] },
    });
    if category == Category::Security {
        // Code scanning sorts security rules by this number and hides others among "quality".
        rule["properties"]["security-severity"] = json!("8.0");
    }
    rule
}

fn describes(category: Category) -> &'static str {
    match category {
        Category::Security => "An attacker gains something",
        Category::Bug => "The code does something else than it should",
        Category::ErrorHandling => "A failure is swallowed, misreported or not expected",
        Category::Performance => "Time or memory grows where it matters",
        Category::Style => "How it is written, not what it does",
        Category::Logic => "The reasoning of the code is wrong",
        Category::Concurrency => "The order of events can break it",
        Category::ApiContract => "Callers or stored data of another version break",
        Category::Data => "Stored data is lost, mixed up or migrated wrongly",
        Category::Testing => "The tests do not prove what they seem to",
        Category::Maintainability => "The next editor will go wrong here",
        Category::Standards => "A rule the project wrote down is broken",
        Category::Requirements => "Something that was asked for is missing",
    }
}

fn result(row: &Row<'_>, rules: &[&String]) -> Value {
    let rule_id = row.rule_id();
    let level = match row.severity {
        Severity::P0 | Severity::P1 => "error",
        Severity::P2 => "warning",
        Severity::P3 => "note",
    };
    let mut message = format!("{}. {}", one_line(row.title), one_line(row.why));
    if let Some(fix) = row.fix {
        message.push_str(&format!(" Fix: {}", one_line(fix)));
    }
    let mut result = json!({
        "ruleIndex": rules.binary_search(&&rule_id).ok(),
        "ruleId": rule_id,
        "level": level,
        "message": { "text": unlinked(&message) },
        "locations": [{ "physicalLocation": physical_location(row) }],
        "rank": row.confidence.percent(),
        "properties": {
            "severity": row.severity,
            "confidence": row.confidence,
            "reviewers": row.reviewers,
            "route": row.route,
        },
    });
    if let Some(key) = row.dedupe_key {
        result["partialFingerprints"] = json!({ FINGERPRINT: key });
    }
    if let Some(fix) = fix(row) {
        result["fixes"] = json!([fix]);
    }
    result
}

fn physical_location(row: &Row<'_>) -> Value {
    let artifact = json!({ "uri": uri(row.file), "uriBaseId": "%SRCROOT%" });
    match row.side {
        Side::New => json!({
            "artifactLocation": artifact,
            "region": { "startLine": row.lines.0, "endLine": row.lines.1 },
        }),
        // A removed line has no region in the file that is scanned.
        Side::Old => json!({ "artifactLocation": artifact }),
    }
}

/// Text in which a viewer finds no link: brackets make one, and a backslash takes them apart.
fn unlinked(text: &str) -> String {
    text.replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]")
}

/// An exact replacement of whole lines.
fn fix(row: &Row<'_>) -> Option<Value> {
    let replacement = row.replacement.filter(|_| row.side == Side::New)?;
    let (start, end) = row.lines;
    // Without a column, a region covers its lines but not the last newline, so the new text goes without its
    // own. Nothing in place of the lines takes their newlines too.
    let region = match replacement.is_empty() {
        true => {
            json!({ "startLine": start, "startColumn": 1, "endLine": end.saturating_add(1), "endColumn": 1 })
        }
        false => json!({ "startLine": start, "endLine": end }),
    };
    let text = replacement.strip_suffix('\n').unwrap_or(replacement);
    let what = row.fix.unwrap_or(row.title);
    Some(json!({
        "description": { "text": unlinked(&one_line(what)) },
        "artifactChanges": [{
            "artifactLocation": { "uri": uri(row.file), "uriBaseId": "%SRCROOT%" },
            "replacements": [{
                "deletedRegion": region,
                "insertedContent": { "text": text },
            }],
        }],
    }))
}

/// A path as a relative URI reference.
fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

fn notifications(report: &Report) -> Vec<Value> {
    let failed = report.failed_reviewers().map(|row| {
        json!({ "level": "error", "message": { "text": one_line(&format!("reviewer {} failed: {}", row.name, row.note)) } })
    });
    let warnings = report
        .warnings
        .iter()
        .map(|warning| json!({ "level": "warning", "message": { "text": one_line(warning) } }));
    failed.chain(warnings).collect()
}
