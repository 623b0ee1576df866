//! Invalid ids in reports not written by crh.

use serde_json::json;

use super::*;

const KEY: &str = "0123456789abcdef";
const OTHER: &str = "fedcba9876543210";

fn issue(number: u32, key: &str) -> Issue {
    serde_json::from_value(json!({
        "number": number, "dedupe_key": key, "title": "t", "severity": "P3", "category": "bug", "file": "a.rs", "side": "new",
        "line_start": 1, "line_end": 1, "confidence": 0.8, "why_it_matters": "", "description": "", "suggestion": "",
        "evidence_snippet": "", "reviewers": [], "language": "rust", "evidence": [], "tier": "primary", "validation": "not_run",
        "autofix_class": "manual", "owner": "downstream-resolver", "queue": "residual", "action": "defer",
        "requires_verification": false, "pre_existing": false, "members": [],
    }))
    .unwrap()
}

fn check(review_id: &str, issues: &[&str], pre_existing: &[&str], expected: Option<&str>) {
    let mut numbers = 1..;
    let mut issues_with_keys = |keys: &[&str]| -> Vec<Issue> {
        keys.iter().zip(&mut numbers).map(|(key, number)| issue(number, key)).collect()
    };
    let report = Report {
        review_id: review_id.to_owned(),
        issues: issues_with_keys(issues),
        pre_existing: issues_with_keys(pre_existing),
        ..Report::default()
    };
    assert_eq!(report.id_problem().as_deref(), expected);
}

#[test]
fn invalid_and_duplicate_ids_are_reported() {
    check(KEY, &[], &[], None);
    check(KEY, &[KEY], &[OTHER], None);
    let of_review = "the `review_id` of the report must be 16 lower-case hex digits";
    check("0123456789abcdef --> <b>", &[KEY], &[], Some(of_review));
    let of_issue = "the `dedupe_key` of issue 2 must be 16 lower-case hex digits";
    check(KEY, &[KEY, "0123456789ABCDEF"], &[], Some(of_issue));
    check(KEY, &[KEY], &[""], Some(of_issue));
    let shared = "issues 1 and 3 have the same `dedupe_key`";
    check(KEY, &[KEY, OTHER, KEY], &[], Some(shared));
    check(KEY, &[KEY, OTHER], &[KEY], Some(shared));
}
