//! Tests of quotes and reviewer names.

use super::*;

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
        let issue = serde_json::json!({
            "key": "k", "title": "t", "severity": "P1", "category": "bug",
            "file": "a.py", "side": "new", "line_start": 1, "line_end": 1,
            "reviewers": given, "confidence": 0.85, "since": "abc", "validation": "confirmed",
            "autofix_class": "manual", "owner": "human",
        });
        let old: OpenIssue = serde_json::from_value(issue).unwrap();
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
