//! SARIF 2.1.0, for code-scanning uploads and editors.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::json;

use crate::clean::one_line;
use crate::finding::Category;
use crate::finding::Severity;
use crate::finding::Side;
use crate::report::Issue;
use crate::report::Report;
use crate::report::Status;
use crate::stable_json;

/// Where the format is defined.
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// Its name and version enter every fingerprint's key.
const FINGERPRINT: &str = "crhDedupeKey/v1";

/// The issues as a SARIF log. What was there before is not part of it, nor what is silenced: code scanning would raise an alert
/// for each, since it does not read `suppressions`.
pub fn sarif(report: &Report) -> serde_json::Result<String> {
    // The first issue of a rule describes it.
    let mut first: BTreeMap<String, &Issue> = BTreeMap::new();
    for issue in &report.issues {
        first.entry(rule_id(issue)).or_insert(issue);
    }
    let ids: Vec<&String> = first.keys().collect();
    let rules: Vec<Value> = first.iter().map(|(id, issue)| rule(id, issue)).collect();
    let results: Vec<Value> = report.issues.iter().map(|issue| result(issue, &ids)).collect();
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

/// A rule: that of the program which found the issue, or its category where there is none.
fn rule(id: &str, issue: &Issue) -> Value {
    let category = issue.category;
    let (name, describes) = match &issue.rule {
        Some(_) => (id.to_owned(), one_line(&issue.title)),
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

fn rule_id(issue: &Issue) -> String {
    match &issue.rule {
        Some(rule) => one_line(rule),
        None => format!("crh/{}", issue.category),
    }
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

fn result(issue: &Issue, rules: &[&String]) -> Value {
    let rule_id = rule_id(issue);
    let level = match issue.severity {
        Severity::P0 | Severity::P1 => "error",
        Severity::P2 => "warning",
        Severity::P3 => "note",
    };
    let mut message = format!("{}. {}", one_line(&issue.title), one_line(&issue.why_it_matters));
    if let Some(fix) = &issue.suggested_fix {
        message.push_str(&format!(" Fix: {}", one_line(fix)));
    }
    let mut result = json!({
        "ruleIndex": rules.binary_search(&&rule_id).ok(),
        "ruleId": rule_id,
        "level": level,
        "message": { "text": unlinked(&message) },
        "locations": [{ "physicalLocation": physical_location(issue) }],
        "partialFingerprints": { FINGERPRINT: issue.dedupe_key },
        "rank": issue.confidence.percent(),
        "properties": {
            "severity": issue.severity,
            "confidence": issue.confidence,
            "reviewers": issue.reviewers,
            "route": format!("{} -> {}", issue.autofix_class, issue.owner),
        },
    });
    if let Some(fix) = fix(issue) {
        result["fixes"] = json!([fix]);
    }
    result
}

fn physical_location(issue: &Issue) -> Value {
    let location = &issue.location;
    let artifact = json!({ "uri": uri(&location.file), "uriBaseId": "%SRCROOT%" });
    match location.side {
        Side::New => json!({
            "artifactLocation": artifact,
            "region": { "startLine": location.line_start, "endLine": location.line_end },
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
fn fix(issue: &Issue) -> Option<Value> {
    let replacement = issue.replacement.as_ref().filter(|_| issue.location.side == Side::New)?;
    let (start, end) = (issue.location.line_start, issue.location.line_end);
    // Without a column, a region covers its lines but not the last newline, so the new text goes without its
    // own. Nothing in place of the lines takes their newlines too.
    let region = match replacement.is_empty() {
        true => {
            json!({ "startLine": start, "startColumn": 1, "endLine": end.saturating_add(1), "endColumn": 1 })
        }
        false => json!({ "startLine": start, "endLine": end }),
    };
    let text = replacement.strip_suffix('\n').unwrap_or(replacement);
    let what = issue.suggested_fix.as_deref().unwrap_or(&issue.title);
    Some(json!({
        "description": { "text": unlinked(&one_line(what)) },
        "artifactChanges": [{
            "artifactLocation": { "uri": uri(&issue.location.file), "uriBaseId": "%SRCROOT%" },
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
