//! What the check says about a finding, and what the merge makes of it.

use std::collections::BTreeSet;

use expect_test::expect;
use serde_json::{Value, json};

use super::*;
use crate::diff::Diff;
use crate::finding::{Finding, Severity, Side};
use crate::merge::{PastDecisions, apply_judgements, consolidate, into_report};
use crate::report::{CoverageState, DroppedFinding, FileCoverage, Report, Strategy};
use crate::returns::{Dialect, parse_return_value};
use crate::shape::drop_diff_prefixes;
use crate::verdict::CommandKind;

/// `a.c` with a changed line 3, which is line 8 of the diff.
const DIFF: &str = "diff --git a/a.c b/a.c\n--- a/a.c\n+++ b/a.c\n@@ -1,5 +1,5 @@\n int n = read_count();\n if (n > limit)\n-    n -= 1;\n+    n -= 2;\n store_count(n);\n }\n";

fn sources() -> Sources {
    let text = "int n = read_count();\nif (n > limit)\n    n -= 2;\nstore_count(n);\n}\n";
    let old = text.replace("2;", "1;");
    Sources::new(Diff::read(DIFF))
        .with_file(Side::New, "a.c", text)
        .with_file(Side::Old, "a.c", old)
        .with_file(Side::New, "b.c", "void store_count(int n);\n")
}

/// A finding on line 3 with changed fields; `null` removes a field.
fn finding(changes: Value) -> Value {
    let mut finding = json!({
        "title": "Wrong step", "severity": "P0", "category": "bug", "file": "a.c", "line_start": 3,
        "confidence": 0.9, "evidence": [{ "snippet": "n -= 2;" }], "why_it_matters": "It is off by one.",
        "autofix_class": "manual", "owner": "human", "requires_verification": false, "pre_existing": false,
    });
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(finding.as_object_mut().unwrap().remove(name)),
            value => finding[name] = value.clone(),
        }
    }
    finding
}

/// Checks findings by the reviewers `0`, `1` and so on, and merges them into a complete report.
fn checked(findings: &[Value]) -> String {
    let mut members = Vec::new();
    let mut actual = String::new();
    for (index, finding) in findings.iter().enumerate() {
        let value = json!({ "reviewer": index.to_string(), "findings": [finding] });
        let parsed = parse_return_value(value, Dialect::Native, "").unwrap();
        let dropped = parsed.dropped.iter();
        actual.extend(dropped.map(|dropped| format!("{}: {}\n", dropped.fate, dropped.reason)));
        members.extend(parsed.members);
    }
    for FindingCheck { problem, conflict, .. } in check_findings(&members, &sources()) {
        if let Some(FindingProblem { fate, reason, similar_line }) = problem {
            let similar_line = similar_line.unwrap_or_default();
            actual += &format!("{fate}: {reason}; {similar_line}\n");
        }
        actual.extend(conflict.map(|conflict| format!("conflict: {conflict}\n")));
    }
    let merged = consolidate(members, &sources(), &PastDecisions::default(), &BTreeSet::new());
    let merged = apply_judgements(merged, &std::collections::BTreeMap::new());
    let state = CoverageState::Reviewed;
    let coverage = vec![FileCoverage { path: "a.c".to_owned(), state, reason: String::new() }];
    let report = Report { strategy: Strategy::Panel, coverage, ..Report::default() };
    let report = into_report(report, merged, CommandKind::Review, 10);
    for issue in &report.issues {
        let location = &issue.location;
        let quotes: Vec<&str> = issue.evidence.iter().map(|quote| quote.snippet.as_str()).collect();
        actual += &format!("{location}-{} {quotes:?} {:?}", location.line_end, issue.title);
        actual += &format!(" fix {:?} {:?}\n", issue.replacement, issue.suggested_fix);
    }
    actual + &format!("{}: {}\n", report.verdict, report.verdict_reason)
}

#[test]
fn short_quote_counts_if_it_is_the_whole_cited_line() {
    for snippet in ["n -= 2;", "    n  -=  2;\n", "+    n -= 2;"] {
        let findings = [finding(json!({ "evidence": [{ "snippet": snippet }] }))];
        let members: Vec<Member> = findings
            .map(|finding| Member::new("a", serde_json::from_value(finding).unwrap()))
            .into();
        assert_eq!(check_findings(&members, &sources()), [FindingCheck::default()], "{snippet}");
    }
    expect![[r#"
        a.c:3-3 ["n -= 2;"] "Wrong step" fix None None
        Not ready: 1 P0 issue must be fixed before the merge
    "#]]
    .assert_eq(&checked(&[finding(json!({}))]));
    let removed = finding(json!({ "side": "old", "evidence": [{ "snippet": "-    n -= 1;" }] }));
    expect![[r#"
        a.c:3 (removed)-3 ["-    n -= 1;"] "Wrong step" fix None None
        Not ready: 1 P0 issue must be fixed before the merge
    "#]]
    .assert_eq(&checked(&[removed]));
}

#[test]
fn short_quote_elsewhere_makes_the_review_incomplete() {
    let part = finding(json!({ "evidence": [{ "snippet": "-= 2" }] }));
    expect![[r#"
        unsupported: the quote `-= 2` is too short: quote the whole cited line, or at least 8 visible characters; line 3 of `a.c` is `n -= 2;`
        Incomplete: crh did not find the quoted code of 1 finding of severity P0 or P1
    "#]].assert_eq(&checked(&[part]));
    let other_line = finding(json!({ "line_start": 4 }));
    expect![[r#"
        unsupported: the quote `n -= 2;` is too short: quote the whole cited line, or at least 8 visible characters; line 3 of `a.c` is `n -= 2;`
        Incomplete: crh did not find the quoted code of 1 finding of severity P0 or P1
    "#]].assert_eq(&checked(&[other_line]));
}

#[test]
fn missing_quote_comes_with_the_most_similar_line() {
    let paraphrased = finding(json!({ "evidence": [{ "snippet": "store_counts(n - 1);" }] }));
    expect![[r#"
        unsupported: the quote `store_counts(n - 1);` is not in `a.c`; line 4 of `a.c` is `store_count(n);`
        Incomplete: crh did not find the quoted code of 1 finding of severity P0 or P1
    "#]].assert_eq(&checked(&[paraphrased]));
    let low =
        finding(json!({ "severity": "P2", "evidence": [{ "snippet": "free(everything);" }] }));
    expect![[r#"
        unsupported: the quote `free(everything);` is not in `a.c`; line 1 of `a.c` is `int n = read_count();`
        Ready to merge: nothing actionable was found
    "#]].assert_eq(&checked(&[low]));
}

#[test]
fn quote_that_begins_or_ends_inside_a_number_is_missing() {
    let diff = DIFF.replace("n -= 2;", "n = 100 - n / 10;");
    let text = "int n = read_count();\nif (n > limit)\n    n = 100 - n / 10;\nstore_count(n);\n}\n";
    let sources = Sources::new(Diff::read(diff.as_bytes())).with_file(Side::New, "a.c", text);
    let is_found = |snippet: &str| {
        let finding = finding(json!({ "evidence": [{ "snippet": snippet }] }));
        let value = json!({ "reviewer": "r", "findings": [finding] });
        let members = parse_return_value(value, Dialect::Native, "").unwrap().members;
        check_findings(&members, &sources).iter().all(|check| check.problem.is_none())
    };
    assert!(!is_found("= 100 - n / 1") && !is_found("00 - n / 10"));
    // Models cut long quotes.
    assert!(is_found("= 100 - n / 10") && is_found("int n = read_cou"));
}

#[test]
fn quote_with_line_numbers_is_found() {
    let is_found = |snippet: &str| {
        let finding = finding(json!({ "evidence": [{ "snippet": snippet }] }));
        let value = json!({ "reviewer": "r", "findings": [finding] });
        let members = parse_return_value(value, Dialect::Native, "").unwrap().members;
        check_findings(&members, &sources()).iter().all(|check| check.problem.is_none())
    };
    for snippet in [
        "8  +    n -= 2;",
        "7  -    n -= 1;\n8  +    n -= 2;\n9   store_count(n);",
        "    3  n -= 2;\n    4  store_count(n);",
        "3 | n -= 2;",
        "3: n -= 2;",
        "+3: n -= 2;",
    ] {
        assert!(is_found(snippet), "{snippet}");
    }
    // A part of a line is no copy of a numbered line.
    assert!(!is_found("1: count(n);"));
    assert!(!is_found("8  -    n -= 2;"), "a wrong sign");
    assert!(!is_found("3 | n -= 2;\nstore_count(n);\n"), "a line without a number");
    expect![[r#"
        a.c:3-3 ["+    n -= 2;"] "Wrong step" fix None None
        Not ready: 1 P0 issue must be fixed before the merge
    "#]]
    .assert_eq(&checked(&[finding(json!({ "evidence": [{ "snippet": "8  +    n -= 2;" }] }))]));
}

#[test]
fn diff_prefix_is_removed_from_paths() {
    let cited = |file: &str, files: &[&str]| {
        let changes = json!({ "file": file, "evidence": [{ "snippet": "n -= 2;", "file": file }] });
        let value = json!({ "reviewer": "r", "findings": [finding(changes)] });
        let mut members = parse_return_value(value, Dialect::Native, "").unwrap().members;
        drop_diff_prefixes(&mut members, &Diff::read(DIFF), |path| files.contains(&path));
        let Finding { file, evidence, .. } = members.remove(0).finding;
        assert_eq!(evidence[0].file.as_ref(), Some(&file));
        file
    };
    assert_eq!(cited("a/a.c", &[]), "a.c");
    assert_eq!(cited("./b/a.c", &[]), "a.c");
    assert_eq!(cited("b/a.c", &["b/a.c"]), "b/a.c", "there is a file with this path");
    assert_eq!(cited("a/b.c", &[]), "a/b.c", "`b.c` is not changed");
}

#[test]
fn further_quote_that_is_missing_costs_only_itself() {
    let evidence = json!([
        { "snippet": "n -= 2;" }, { "snippet": "not in the file" }, { "snippet": "}" },
        { "snippet": "void store_count", "file": "b.c", "line": 1 },
    ]);
    expect![[r#"
        a.c:3-3 ["n -= 2;", "void store_count"] "Wrong step" fix None None
        Not ready: 1 P0 issue must be fixed before the merge
    "#]]
    .assert_eq(&checked(&[finding(json!({ "evidence": evidence }))]));
}

#[test]
fn found_quote_replaces_a_missing_first_quote() {
    let evidence = json!([{ "snippet": "n -= 3; // typo" }, { "snippet": "if (n > limit)" }]);
    let on_changed_line = finding(json!({ "evidence": evidence }));
    expect![[r#"
        a.c:3-3 ["if (n > limit)"] "Wrong step" fix None None
        Not ready: 1 P0 issue must be fixed before the merge
    "#]]
    .assert_eq(&checked(&[on_changed_line]));
    let on_other_line = finding(json!({ "evidence": evidence, "line_start": 5 }));
    expect![[r#"
        a.c:2-2 ["if (n > limit)"] "Wrong step" fix None None
        Not ready: 1 P0 issue must be fixed before the merge
    "#]]
    .assert_eq(&checked(&[on_other_line]));
    let other_file =
        json!([{ "snippet": "n -= 3; // typo" }, { "snippet": "void store_count", "file": "b.c" }]);
    expect![[r#"
        unsupported: the quote `n -= 3; // typo` is not in `a.c`; line 3 of `a.c` is `n -= 2;`
        Incomplete: crh did not find the quoted code of 1 finding of severity P0 or P1
    "#]]
    .assert_eq(&checked(&[finding(json!({ "evidence": other_file }))]));
}

#[test]
fn diff_line_counts_before_other_positions() {
    let redundant = finding(json!({ "diff_line": 8, "line_end": 4 }));
    expect![[r#"
        a.c:3-4 ["n -= 2;"] "Wrong step" fix None None
        Not ready: 1 P0 issue must be fixed before the merge
    "#]]
    .assert_eq(&checked(&[redundant]));
    let contradicting = finding(json!({ "diff_line": 8, "line_start": 1, "replacement": "n--;" }));
    expect![[r#"
        conflict: `diff_line` 8 is a.c:3, but the finding also cites a.c:1; crh uses `diff_line`
        a.c:3-3 ["n -= 2;"] "Wrong step" fix None None
        Not ready: 1 P0 issue must be fixed before the merge
    "#]]
    .assert_eq(&checked(&[contradicting]));
    let no_diff_line = finding(json!({ "diff_line": 99 }));
    expect![[r#"
        conflict: `diff_line` 99 is not a line inside a hunk of the diff; crh uses a.c:3
        a.c:3-3 ["n -= 2;"] "Wrong step" fix None None
        Not ready: 1 P0 issue must be fixed before the merge
    "#]]
    .assert_eq(&checked(&[no_diff_line]));
    let only_wrong = finding(json!({ "diff_line": 99, "line_start": null }));
    expect![[r#"
        malformed: `diff_line` 99 is not a line inside a hunk of the diff; 
        Incomplete: 1 finding could not be read
    "#]]
    .assert_eq(&checked(&[only_wrong]));
}

#[test]
fn cluster_keeps_the_best_fix_of_its_members() {
    let sure = json!({ "confidence": 1.0 });
    let words = json!({ "suggested_fix": "Subtract one." });
    let exact = json!({ "replacement": "    n -= 1;", "confidence": 0.7 });
    let other_lines = json!({ "line_end": 4, "replacement": "    n -= 1;\nstore_count(n);" });
    expect![[r#"
        a.c:3-3 ["n -= 2;"] "Wrong step" fix None Some("Subtract one.")
        Not ready: 1 P0 issue must be fixed before the merge
    "#]]
    .assert_eq(&checked(&[finding(sure.clone()), finding(words.clone())]));
    expect![[r#"
        a.c:3-3 ["n -= 2;"] "Wrong step" fix Some("    n -= 1;") Some("Subtract one.")
        Not ready: 1 P0 issue must be fixed before the merge
    "#]]
    .assert_eq(&checked(&[finding(sure.clone()), finding(words.clone()), finding(exact)]));
    expect![[r#"
        a.c:3-3 ["n -= 2;"] "Wrong step" fix None Some("Subtract one.")
        Not ready: 1 P0 issue must be fixed before the merge
    "#]]
    .assert_eq(&checked(&[finding(sure), finding(words), finding(other_lines)]));
}

#[test]
fn issue_of_an_earlier_review_whose_code_is_gone_is_no_gap() {
    let mut member =
        Member::new("a", serde_json::from_value(finding(json!({ "evidence": [] }))).unwrap());
    member.finding.severity = Severity::P0;
    let mut report = Report { strategy: Strategy::Panel, ..Report::default() };
    let reason = "the quoted code no longer exists";
    report.suppressed.push(DroppedFinding::new(member, Fate::Unsupported, reason));
    assert!(!crate::verdict::is_incomplete(&report, CommandKind::Review));
}
