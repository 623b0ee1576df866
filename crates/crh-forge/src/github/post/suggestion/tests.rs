//! When a click is offered, and every reason why not.

use serde_json::json;

use super::super::position::Point;
use super::*;
use crh_review::{Location, Quote};

const HEAD: [&str; 7] = [
    "fn pay(order: &Order) {",
    "    let total = sum(order);",
    "    if total > 0 {",
    "        charge(total);",
    "    }",
    "",
    "}",
];

fn issue(first: u32, last: u32, replacement: &str) -> Issue {
    let mut issue: Issue = serde_json::from_value(json!({
        "number": 1, "dedupe_key": "00112233445566aa", "title": "t", "severity": "P1", "category": "bug",
        "file": "a.rs", "side": "new", "line_start": first, "line_end": last, "confidence": 0.8,
        "why_it_matters": "w", "description": "w", "suggestion": "", "evidence_snippet": "", "evidence": [],
        "reviewers": [], "language": "rust", "tier": "primary", "validation": "not_run",
        "autofix_class": "manual", "owner": "human", "queue": "report", "action": "defer",
        "requires_verification": false, "pre_existing": false, "members": [],
    })).unwrap();
    issue.replacement = Some(replacement.to_owned());
    issue
}

fn anchor(first: u32, last: u32) -> Anchor {
    let point = |line| Point { side: Side::New, line };
    let start = (first != last).then(|| point(first));
    Anchor { path: "a.rs".to_owned(), end: point(last), start }
}

fn check(issue: &Issue, expected: Result<(), NoButton>) {
    let Location { line_start, line_end, .. } = issue.location;
    let head = HEAD.map(str::to_owned);
    assert_eq!(button(issue, &anchor(line_start, line_end), Some(&head)), expected, "{issue:?}");
}

#[test]
fn what_applies_cleanly_has_a_button() {
    check(&issue(4, 4, "        charge(total)?;\n"), Ok(()));
    check(&issue(3, 5, "    if total > 0 {\n        charge(total, fee(total));\n    }"), Ok(()));
    check(&issue(2, 2, "    let total = sum(order);\n    log(total);"), Ok(()));
    // What is replaced ends as the next line does, too.
    check(&issue(5, 5, "    } // done\n    }"), Err(NoButton::Brackets));
}

#[test]
fn whatever_is_not_certain_has_none() {
    check(&issue(4, 4, " \n"), Err(NoButton::Empty));
    check(&issue(4, 4, "        charge(total);\n"), Err(NoButton::Same));
    check(&issue(4, 4, "        charge(total;"), Err(NoButton::Brackets));
    check(&issue(3, 3, "    if total > 0"), Err(NoButton::Brackets));
    check(&issue(4, 4, "    if total > 0 {\n        charge(1);\n    }"), Err(NoButton::Repeats));
    check(&issue(2, 2, "    let total = 1;\n    if total > 0 {\n    }"), Ok(()));
    check(&issue(4, 4, "charge(total)?;"), Err(NoButton::Indentation));
    check(&issue(4, 4, "        charge(total); // ```"), Err(NoButton::Unsafe));
    check(&issue(4, 4, "        <!-- crh:crh:summary -->"), Err(NoButton::Unsafe));
    check(&issue(4, 4, "        charge(\u{202e}total)?;"), Err(NoButton::Unsafe));
    check(&issue(8, 8, "x"), Err(NoButton::Changed));
    check(&issue(4, 9, "x"), Err(NoButton::Changed));
    check(&Issue { replacement: None, ..issue(4, 4, "") }, Err(NoButton::None));
    let mut old = issue(4, 4, "        x();");
    old.location.side = Side::Old;
    check(&old, Err(NoButton::OtherLines));
}

#[test]
fn the_comment_must_be_on_all_lines_that_are_replaced() {
    let head = HEAD.map(str::to_owned);
    let issue = issue(3, 5, "    charge(total);");
    assert_eq!(button(&issue, &anchor(5, 5), Some(&head)), Err(NoButton::OtherLines));
    assert_eq!(button(&issue, &anchor(3, 5), None), Err(NoButton::Changed));
    let windows = HEAD.map(|line| format!("{line}\r"));
    assert_eq!(button(&issue, &anchor(3, 5), Some(&windows)), Err(NoButton::LineEnds));
}

#[test]
fn what_was_quoted_must_still_stand_there() {
    let quote = |line, snippet: &str| Quote {
        file: "a.rs".to_owned(),
        side: Side::New,
        line,
        snippet: snippet.to_owned(),
    };
    let with = |quote| Issue { evidence: vec![quote], ..issue(4, 4, "        charge(total)?;") };
    check(&with(quote(4, "charge( total);")), Err(NoButton::Changed));
    check(&with(quote(4, "+        charge(total);")), Ok(()));
    check(&with(quote(3, "if total > 0 {\n   charge(total);\n}")), Ok(()));
    check(&with(quote(2, "charge(total);")), Err(NoButton::Changed));
}
