//! Issues and reports for the tests of this module.

use serde_json::{Value, json};

use crh_review::report::{Issue, Report};

pub(super) fn key(number: u32) -> String {
    format!("{number:016x}")
}

/// An issue owned by `downstream-resolver`, with changed fields.
pub(super) fn issue(number: u32, changes: Value) -> Issue {
    let mut issue = json!({
        "number": number, "dedupe_key": key(number), "title": format!("Trouble {number}"),
        "severity": "P1", "category": "bug", "file": "src/pay.rs", "side": "new",
        "line_start": 12, "line_end": 12, "confidence": 0.8,
        "why_it_matters": "Customers pay twice.", "description": "Customers pay twice.",
        "suggested_fix": "Charge once.", "suggestion": "Charge once.",
        "evidence_snippet": "charge();",
        "evidence": [{"file": "src/pay.rs", "side": "new", "line": 12, "snippet": "charge();"}],
        "reviewers": ["correctness"], "language": "rust", "tier": "primary",
        "validation": "confirmed", "autofix_class": "manual", "owner": "downstream-resolver",
        "queue": "residual", "action": "apply", "requires_verification": false,
        "pre_existing": false, "members": [],
    });
    for (name, value) in changes.as_object().unwrap() {
        issue[name] = value.clone();
    }
    serde_json::from_value(issue).unwrap()
}

pub(super) fn report(issues: Vec<Issue>) -> Report {
    let run_id = "20260101-000000_0123456789abcdef".to_owned();
    Report { issues, run_id, ..Report::default() }
}
