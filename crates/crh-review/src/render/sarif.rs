//! SARIF 2.1.0, for code-scanning uploads and editors.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use serde_json::{Value, json};

use super::text::percent_encode;
use super::{issue_remarks, warnings_beside_failures};
use crate::finding::{Category, Confidence, Member, Origin, Severity, Side};
use crate::report::{Fate, Issue, Report};
use crate::sanitise::one_line;
use crate::stable_json;
use crate::verdict::{command_of, incomplete_reasons};

/// URL of the SARIF schema.
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// Name of the fingerprint. Its value is the dedupe key.
const FINGERPRINT: &str = "crhDedupeKey/v1";

/// Maximum number of results. Code scanning shows no more per upload.
const MAX_RESULTS: usize = 5_000;

/// One result: an issue, or a static finding over the limit on issues.
pub(super) struct ResultRow<'a> {
    rule: Option<&'a str>,
    pub(super) severity: Severity,
    category: Category,
    pub(super) title: &'a str,
    pub(super) why: &'a str,
    fix: Option<&'a str>,
    replacement: Option<&'a str>,
    pub(super) file: &'a str,
    pub(super) side: Side,
    pub(super) lines: (u32, u32),
    /// Only issues have one.
    pub(super) dedupe_key: Option<&'a str>,
    confidence: Confidence,
    reviewers: Vec<&'a str>,
    route: String,
    /// The texts of [`issue_remarks`].
    remarks: Vec<String>,
}

/// The open issues as a SARIF log, with static findings over the limit on issues. Fixed issues,
/// pre-existing ones and suppressed findings are left out, because code scanning ignores
/// `suppressions` and would raise an alert for each.
pub fn sarif(report: &Report) -> serde_json::Result<String> {
    let rows = result_rows(report);
    // The first result of a rule describes it.
    let mut first_rows: BTreeMap<String, &ResultRow<'_>> = BTreeMap::new();
    for row in &rows {
        first_rows.entry(row.rule_id()).or_insert(row);
    }
    let ids: Vec<&String> = first_rows.keys().collect();
    let rules: Vec<Value> = first_rows.iter().map(|(id, row)| rule(id, row)).collect();
    let results: Vec<Value> = rows.iter().map(|row| result(row, &ids)).collect();
    let gaps = incomplete_reasons(report, command_of(report));
    let mut run = json!({
        "tool": { "driver": {
            "name": "crh",
            "semanticVersion": env!("CARGO_PKG_VERSION"),
            "rules": rules,
        }},
        "columnKind": "unicodeCodePoints",
        "invocations": [{
            // Viewers show an incomplete review as failed, so that an empty list is not mistaken
            // for a clean change.
            "executionSuccessful": gaps.is_empty(),
            "toolExecutionNotifications": notifications(report, &gaps),
        }],
        "results": results,
    });
    if !report.review_id.is_empty() {
        run["automationDetails"] = json!({ "id": format!("crh/{}", report.review_id) });
    }
    stable_json(&json!({ "$schema": SCHEMA, "version": "2.1.0", "runs": [run] }))
}

/// The open issues, and static findings over the limit on issues.
pub(super) fn result_rows(report: &Report) -> Vec<ResultRow<'_>> {
    let issues = report.shown_open_issues().map(ResultRow::from_issue);
    issues.chain(findings_over_cap(report)).take(MAX_RESULTS).collect()
}

/// Static findings over the limit on issues that this run has not fixed, most severe first, without
/// duplicates.
fn findings_over_cap(report: &Report) -> Vec<ResultRow<'_>> {
    let over_cap = report.suppressed.iter().filter(|dropped| dropped.fate == Fate::OverCap);
    let members = over_cap.filter_map(|dropped| dropped.member.as_ref());
    let fixed = report.over_cap.iter().filter(|issue| report.is_fixed(issue.number));
    let fixed: BTreeSet<&Member> = fixed.flat_map(|issue| &issue.members).collect();
    let static_members =
        members.filter(|member| member.origin == Origin::Code && !fixed.contains(member));
    let mut rows: Vec<ResultRow<'_>> = static_members.filter_map(ResultRow::from_member).collect();
    rows.sort_by_key(|row| (row.severity, row.file, row.lines, row.rule, row.title));
    rows.dedup_by_key(|row| (row.file, row.lines, row.rule, row.title));
    rows
}

impl<'a> ResultRow<'a> {
    fn from_issue(issue: &'a Issue) -> Self {
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
            remarks: issue_remarks(issue),
        }
    }

    /// `None` without a line.
    fn from_member(member: &'a Member) -> Option<Self> {
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
            remarks: Vec::new(),
        })
    }

    pub(super) fn rule_id(&self) -> String {
        match self.rule {
            Some(rule) => one_line(rule),
            None => format!("crh/{}", self.category),
        }
    }
}

/// The rule of the static check, or the category for model findings. The description fits each result
/// of the rule.
fn rule(id: &str, row: &ResultRow<'_>) -> Value {
    let category = row.category;
    let name = row.rule.map_or_else(|| category.to_string(), |_| id.to_owned());
    let mut rule = json!({
        "id": id,
        "name": name,
        "shortDescription": { "text": category_description(category) },
        "properties": { "tags": [category.to_string()] },
    });
    if category == Category::Security {
        // Code scanning sorts security rules by this number and lists rules without it as quality
        // problems.
        rule["properties"]["security-severity"] = json!("8.0");
    }
    rule
}

fn category_description(category: Category) -> &'static str {
    match category {
        Category::Security => "Security problem that an attacker can exploit",
        Category::Bug => "Incorrect behaviour",
        Category::ErrorHandling => "Error swallowed, misreported or not handled",
        Category::Performance => "Excessive time or memory use",
        Category::Style => "Style problem without effect on behaviour",
        Category::Logic => "Logic error",
        Category::Concurrency => "Race condition or wrong order of events",
        Category::ApiContract => "Breaks callers or stored data of another version",
        Category::Data => "Stored data lost, mixed up or migrated incorrectly",
        Category::Testing => "Tests do not prove what they claim",
        Category::Maintainability => "Code that is hard to change safely",
        Category::Standards => "Violation of a project rule",
        Category::Requirements => "Missing requirement",
    }
}

fn result(row: &ResultRow<'_>, rules: &[&String]) -> Value {
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
    for remark in &row.remarks {
        message.push_str(&format!(" {}", one_line(remark)));
    }
    let mut result = json!({
        "ruleIndex": rules.binary_search(&&rule_id).ok(),
        "ruleId": rule_id,
        "level": level,
        "message": { "text": escape_links(&message) },
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

fn physical_location(row: &ResultRow<'_>) -> Value {
    let artifact = json!({ "uri": percent_encode(row.file.as_bytes()), "uriBaseId": "%SRCROOT%" });
    match row.side {
        Side::New => json!({
            "artifactLocation": artifact,
            "region": { "startLine": row.lines.0, "endLine": row.lines.1 },
        }),
        // A removed line has no region in the scanned file.
        Side::Old => json!({ "artifactLocation": artifact }),
    }
}

/// Escapes brackets, which SARIF viewers turn into links.
fn escape_links(text: &str) -> String {
    text.replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]")
}

/// An exact replacement of whole lines.
fn fix(row: &ResultRow<'_>) -> Option<Value> {
    let replacement = row.replacement.filter(|_| row.side == Side::New)?;
    let (start, end) = row.lines;
    // Without columns, a region covers its lines but not the last newline, so the new text ends
    // without one. An empty replacement also removes the newlines.
    let region = match replacement.is_empty() {
        true => {
            json!({ "startLine": start, "startColumn": 1, "endLine": end.saturating_add(1), "endColumn": 1 })
        }
        false => json!({ "startLine": start, "endLine": end }),
    };
    let text = replacement.strip_suffix('\n').unwrap_or(replacement);
    let description = row.fix.unwrap_or(row.title);
    Some(json!({
        "description": { "text": escape_links(&one_line(description)) },
        "artifactChanges": [{
            "artifactLocation": { "uri": percent_encode(row.file.as_bytes()), "uriBaseId": "%SRCROOT%" },
            "replacements": [{
                "deletedRegion": region,
                "insertedContent": { "text": text },
            }],
        }],
    }))
}

/// Failed reviewers, what the review did not cover, then its warnings.
fn notifications(report: &Report, gaps: &[String]) -> Vec<Value> {
    let notification =
        |level: &str, text: &str| json!({ "level": level, "message": { "text": one_line(text) } });
    let failures = report.failures().into_iter();
    let failures =
        failures.map(|(failed, note)| notification("error", &format!("{failed} failed: {note}")));
    let gaps = (!gaps.is_empty())
        .then(|| notification("error", &format!("the review is incomplete: {}", gaps.join("; "))));
    let warnings = warnings_beside_failures(report, report.all_warnings());
    let warnings = warnings.iter().map(|warning| notification("warning", warning));
    failures.chain(gaps).chain(warnings).collect()
}
