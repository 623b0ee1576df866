//! When a suggestion is offered, and every reason not to.

use serde_json::json;

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
    let point =
        |line| DiffPoint { side: Side::New, line, numbers: (0, line), kind: LineKind::Added };
    let start = (first != last).then(|| point(first));
    Anchor { path: "a.rs".to_owned(), old_path: None, end: point(last), start }
}

fn check(issue: &Issue, expected: Result<(), NoSuggestion>) {
    let Location { line_start, line_end, .. } = issue.location;
    let head = HEAD.map(str::to_owned);
    assert_eq!(
        check_suggestion(issue, &anchor(line_start, line_end), Some(&head)),
        expected,
        "{issue:?}"
    );
}

#[test]
fn clean_fix_is_suggested() {
    check(&issue(4, 4, "        charge(total)?;\n"), Ok(()));
    check(&issue(3, 5, "    if total > 0 {\n        charge(total, fee(total));\n    }"), Ok(()));
    check(&issue(2, 2, "    let total = sum(order);\n    log(total);"), Ok(()));
    // The replaced lines end like the next line, too.
    check(&issue(5, 5, "    } // done\n    }"), Err(NoSuggestion::Brackets));
}

#[test]
fn doubtful_fix_is_not_suggested() {
    check(&issue(4, 4, " \n"), Err(NoSuggestion::Empty));
    check(&issue(4, 4, "        charge(total);\n"), Err(NoSuggestion::Same));
    check(&issue(4, 4, "        charge(total;"), Err(NoSuggestion::Brackets));
    check(&issue(3, 3, "    if total > 0"), Err(NoSuggestion::Brackets));
    check(
        &issue(4, 4, "    if total > 0 {\n        charge(1);\n    }"),
        Err(NoSuggestion::Repeats),
    );
    check(&issue(2, 2, "    let total = 1;\n    if total > 0 {\n    }"), Ok(()));
    check(&issue(4, 4, "charge(total)?;"), Err(NoSuggestion::Indentation));
    check(&issue(4, 4, "        charge(total); // ```"), Err(NoSuggestion::Unsafe));
    check(&issue(4, 4, "        <!-- crh:crh:summary -->"), Err(NoSuggestion::Unsafe));
    check(&issue(4, 4, "        charge(\u{202e}total)?;"), Err(NoSuggestion::Unsafe));
    check(&issue(4, 4, "        x();\n/merge"), Err(NoSuggestion::Unsafe));
    check(&issue(8, 8, "x"), Err(NoSuggestion::Changed));
    check(&issue(4, 9, "x"), Err(NoSuggestion::Changed));
    check(&Issue { replacement: None, ..issue(4, 4, "") }, Err(NoSuggestion::NoReplacement));
    let mut old = issue(4, 4, "        x();");
    old.location.side = Side::Old;
    check(&old, Err(NoSuggestion::OtherLines));
}

#[test]
fn suggestion_needs_comment_on_all_replaced_lines() {
    let head = HEAD.map(str::to_owned);
    let issue = issue(3, 5, "    charge(total);");
    assert_eq!(check_suggestion(&issue, &anchor(5, 5), Some(&head)), Err(NoSuggestion::OtherLines));
    assert_eq!(check_suggestion(&issue, &anchor(3, 5), None), Err(NoSuggestion::Changed));
    let windows = HEAD.map(|line| format!("{line}\r"));
    assert_eq!(
        check_suggestion(&issue, &anchor(3, 5), Some(&windows)),
        Err(NoSuggestion::LineEnds)
    );
}

#[test]
fn suggestion_needs_matching_quotes() {
    let quote = |line, snippet: &str| Quote {
        file: "a.rs".to_owned(),
        side: Side::New,
        line,
        snippet: snippet.to_owned(),
    };
    let with = |quote| Issue { evidence: vec![quote], ..issue(4, 4, "        charge(total)?;") };
    check(&with(quote(4, "charge( total);")), Err(NoSuggestion::Changed));
    check(&with(quote(4, "+        charge(total);")), Ok(()));
    check(&with(quote(3, "if total > 0 {\n   charge(total);\n}")), Ok(()));
    check(&with(quote(2, "charge(total);")), Err(NoSuggestion::Changed));
}

#[test]
fn replacement_changes_only_its_lines() {
    let file = HEAD.join("\n");
    let fixed = apply_replacement(&issue(4, 4, "        charge(total)?;\n"), &file).unwrap();
    assert_eq!(fixed, file.replace("charge(total);", "charge(total)?;"));
    let three = "    if total > 0 {\n        charge(total, fee(total));\n        log();\n    }";
    let fixed = apply_replacement(&issue(3, 5, three), &format!("{file}\n")).unwrap();
    assert_eq!(fixed.lines().count(), HEAD.len() + 1);
    assert!(fixed.ends_with("\n    }\n\n}\n"), "{fixed}");
    let refused = |issue: &Issue| apply_replacement(issue, &file).unwrap_err();
    assert_eq!(refused(&issue(4, 9, "x")), "its lines are not as they were reviewed");
    let masked = issue(4, 4, "        charge(\"[redacted: key]\");");
    assert_eq!(refused(&masked), "its replacement contains a hidden credential");
    let none = Issue { replacement: None, ..issue(4, 4, "") };
    assert_eq!(refused(&none), "the report contains no code for this fix");
}

#[test]
fn replacement_keeps_the_line_ends_of_its_lines() {
    let file = format!("{}\r\n", HEAD.join("\r\n"));
    let two = issue(4, 4, "        charge(total)?;\n        log();\n");
    let fixed = apply_replacement(&two, &file).unwrap();
    let lines = "        charge(total)?;\r\n        log();";
    assert_eq!(fixed, file.replace("        charge(total);", lines));
    let returns = issue(4, 4, "        charge(total)?;\r\n        log();\r\n");
    assert_eq!(apply_replacement(&returns, &file).unwrap(), fixed);
    // The last line of the file has no line end.
    let last = apply_replacement(&issue(7, 7, "}\n// end"), file.trim_end()).unwrap();
    assert!(last.ends_with("\r\n}\r\n// end"), "{last:?}");
}
