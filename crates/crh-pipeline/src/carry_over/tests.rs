//! Tests of quotes, reviewer names and dropped issues.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::incremental::HeadChange;
use crate::prompts::sample;

fn open_issue(title: &str, reviewers: &[&str], evidence: Value) -> OpenIssue {
    let issue = json!({
        "key": "k", "title": title, "severity": "P1", "category": "bug",
        "file": "shop/orders.py", "side": "new", "line_start": 1, "line_end": 1,
        "reviewers": reviewers, "confidence": 0.85, "since": "abc", "validation": "confirmed",
        "autofix_class": "manual", "owner": "human", "evidence": evidence,
    });
    serde_json::from_value(issue).unwrap()
}

fn lines(text: &str) -> NumberedLines {
    (1..).zip(text.lines().map(str::to_owned)).collect()
}

#[test]
fn short_quote_is_extended_by_a_line() {
    let check = |text: &str, count, expected: Option<&str>| {
        assert_eq!(snippet_of(&lines(text), count).as_deref(), expected, "{text}");
    };
    check("let total = 1;\nmore", 1, Some("let total = 1;"));
    check("}\nlet total = 1;\nmore", 1, Some("}\nlet total = 1;"));
    check("}\n}\nmore", 2, Some("}\n}"));
    check(&"x".repeat(SNIPPET_MAX + 1), 1, None);
}

#[test]
fn invalid_reviewer_names_are_replaced() {
    let check = |given: &[&str], expected: &[&str]| {
        let old = open_issue("t", given, json!([]));
        let members = members(&old, to_finding(&old, 0, Vec::new()));
        let names: Vec<&str> = members.iter().map(|member| member.reviewer.as_str()).collect();
        assert_eq!(names, expected);
        let agreed = if expected.len() > 1 {
            AGREEMENT_BONUS
        } else {
            crh_review::finding::Confidence::ZERO
        };
        assert_eq!(members[0].finding.confidence.raised(agreed), old.confidence);
    };
    check(&["single"], &["single"]);
    check(&["single", "secrets", "single"], &["secrets", "single"]);
    check(&["<script>", ""], &[UNKNOWN_REVIEWER]);
    check(&[], &[UNKNOWN_REVIEWER]);
}

#[test]
fn issue_whose_code_is_gone_is_dropped_with_a_note() {
    let (_folder, change) = sample::change_under_review(&sample::contents(sample::DIFF));
    let quote = |side: &str, snippet: &str| json!([{ "file": "shop/orders.py", "side": side, "line": 2, "snippet": snippet }]);
    let change = change.into_incremental(IncrementalReview {
        head: "1".repeat(40),
        head_change: HeadChange::Moved,
        unchanged_files: BTreeSet::new(),
        issues: vec![
            open_issue("Gone", &["single"], quote("new", "return a_removed_line")),
            open_issue("Here", &["single"], quote("old", "return sum(order.lines)")),
        ],
    });
    let (findings, runs) = (ReviewFindings::default(), RunResults::default());
    let collected = carry_over(findings, &change, &runs, Strategy::Single);
    let titles: Vec<&str> =
        collected.members.iter().map(|member| member.finding.title.as_str()).collect();
    assert_eq!(titles, ["Here"]);
    let dropped = collected.dropped.iter().map(|it| (it.fate, it.reason.as_str()));
    let reason = "reported by the review of 111111111111; the quoted code no longer exists";
    assert_eq!(dropped.collect::<Vec<_>>(), [(Fate::Unsupported, reason)]);
    let notes = [
        "carried over from the review of `111111111111`: Here (shop/orders.py:1)",
        "no longer there from the review of `111111111111`: Gone (shop/orders.py:1)",
    ];
    assert_eq!(collected.notes, notes);
}
