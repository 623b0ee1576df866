//! Error messages for invalid returns, and the mapping of other dialects.

use expect_test::expect;
use serde_json::json;

use super::*;

fn describe(text: &str, dialect: Dialect) -> String {
    let parsed = match parse_return(text.as_bytes(), dialect, "stem") {
        Ok(parsed) => parsed,
        Err(error) => return format!("refused: {error}\n"),
    };
    let mut out = format!("{}: {}\n", parsed.reviewer, parsed.summary);
    for member in &parsed.members {
        let finding = serde_json::to_string(&member.finding).unwrap();
        out += &format!("{:?} {finding}\n", member.proof);
    }
    for dropped in &parsed.dropped {
        out += &format!("{}: {}\n", dropped.fate, dropped.reason);
    }
    out
}

fn checked(value: Value, dialect: Dialect) -> String {
    describe(&value.to_string(), dialect)
}

/// A native finding with changed fields; `null` removes a field.
fn changed(changes: Value) -> Value {
    let mut finding = serde_json::to_value(crate::finding::tests_support::finding()).unwrap();
    for (name, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(finding.as_object_mut().unwrap().remove(name)),
            value => finding[name] = value.clone(),
        }
    }
    finding
}

#[test]
fn valid_return_is_parsed() {
    expect![[r#"
            correctness: one
            Quotes {"title":"Off by one","severity":"P1","category":"bug","file":"a.rs","line_start":2,"confidence":0.75,"evidence":[{"snippet":"for i in 0..=n {"}],"why_it_matters":"The last index is out of range.","autofix_class":"manual","owner":"downstream-resolver","requires_verification":false,"pre_existing":false}
        "#]].assert_eq(&checked(json!({"reviewer": "correctness", "findings": [changed(json!({}))], "summary": "one"}),
        Dialect::Native));
}

#[test]
fn invalid_return_is_rejected_with_advice() {
    expect![[r#"
        refused: this is not JSON: expected value at line 1 column 1; return one JSON object and nothing else
    "#]].assert_eq(&describe("Sure! Here is my review", Dialect::Native));
    expect![[r#"
        refused: expected a JSON object
    "#]]
    .assert_eq(&describe("[]", Dialect::Native));
    expect![[r#"
        refused: missing field `reviewer`
    "#]]
    .assert_eq(&checked(json!({"findings": []}), Dialect::Native));
    expect![[r#"
        refused: `findings`: invalid type: map, expected a sequence
    "#]]
    .assert_eq(&checked(json!({"reviewer": "a", "findings": {}}), Dialect::Native));
    expect![[r#"
        refused: `verdict`: unknown field `verdict`, expected one of `reviewer`, `findings`, `residual_risks`, `testing_gaps`, `summary`
    "#]].assert_eq(&checked(json!({"reviewer": "a", "findings": [], "verdict": "ok"}),
        Dialect::Native));
}

#[test]
fn malformed_finding_is_dropped_alone() {
    let findings = [
        json!({}),
        json!({"title": null}),
        json!({"severity": "high"}),
        json!({"severity": "nit"}),
        json!({"confidence": 1.5}),
        json!({"line_start": 0}),
        json!({"line_start": null}),
        json!({"line_end": 1}),
        json!({"diff_line": 7}),
        json!({"evidence": []}),
        json!({"evidence": [{"snippet": "x", "lines": 3}]}),
        json!({"title": "x".repeat(101), "why_it_matters": " ", "file": "../a"}),
        json!({"title": "two\nlines", "file": "/etc/passwd"}),
        json!({"rule_id": "E501"}),
        json!({"requires_verification": "yes"}),
    ];
    let mut findings: Vec<_> = findings.into_iter().map(changed).collect();
    findings.push(json!("not an object"));
    expect![[r#"
            a: 
            Quotes {"title":"Off by one","severity":"P1","category":"bug","file":"a.rs","line_start":2,"confidence":0.75,"evidence":[{"snippet":"for i in 0..=n {"}],"why_it_matters":"The last index is out of range.","autofix_class":"manual","owner":"downstream-resolver","requires_verification":false,"pre_existing":false}
            Quotes {"title":"Off by one","severity":"P1","category":"bug","file":"a.rs","line_start":2,"diff_line":7,"confidence":0.75,"evidence":[{"snippet":"for i in 0..=n {"}],"why_it_matters":"The last index is out of range.","autofix_class":"manual","owner":"downstream-resolver","requires_verification":false,"pre_existing":false}
            malformed: findings[1]: missing field `title`
            malformed: findings[2]: `severity`: unknown variant `high`, expected one of `P0`, `P1`, `P2`, `P3`
            nit: the reviewer calls it a nit
            malformed: findings[4]: `confidence`: `1.5` is not between 0.0 and 1.0
            malformed: findings[5]: `line_start`: invalid value: integer `0`, expected a whole number from 1
            malformed: findings[6]: `line_start` is missing: cite a line
            malformed: findings[7]: `line_end` is before `line_start`: swap them
            malformed: findings[9]: `evidence` is empty: quote the line that proves it
            malformed: findings[10]: `evidence[0].lines`: unknown field `lines`, expected one of `file`, `line`, `side`, `snippet`
            malformed: findings[11]: `file`: has `.`, `..` or an empty part: write the path as the diff does; `why_it_matters` is empty: say what goes wrong and for whom
            malformed: findings[12]: `file`: absolute: write the path from the repository root
            malformed: findings[13]: `rule_id`: unknown field `rule_id`, expected one of `title`, `severity`, `category`, `file`, `line_start`, `line_end`, `side`, `diff_line`, `confidence`, `evidence`, `why_it_matters`, `suggested_fix`, `replacement`, `autofix_class`, `owner`, `requires_verification`, `pre_existing`
            malformed: findings[14]: `requires_verification`: invalid type: string "yes", expected a boolean
            malformed: findings[15]: expected a JSON object
        "#]].assert_eq(&checked(json!({"reviewer": "a", "findings": findings}),
        Dialect::Native));
}

#[test]
fn crh_dialect_cites_the_numbered_diff() {
    expect![[r#"
            stem: s
            CitedLine {"title":"Leaks the token","severity":"P0","category":"bug","file":"a.rs","diff_line":7,"confidence":0.75,"evidence":[],"why_it_matters":"It goes to the log.","autofix_class":"manual","owner":"downstream-resolver","requires_verification":false,"pre_existing":false}
            nit: the reviewer calls it a nit
            malformed: findings[2]: `severity`: unknown variant `P1`, expected one of `blocker`, `major`, `minor`, `info`, `nit`
            malformed: findings[3]: `line`: invalid type: string "3-4", expected a whole number from 1
        "#]].assert_eq(&checked(json!({"summary": "s", "findings": [
            {"severity": "blocker", "path": "a.rs", "line": 7, "comment": "Leaks the token. It goes to the log."},
            {"severity": "nit", "path": "a.rs", "line": 8, "comment": "Rename it"},
            {"severity": "P1", "path": "a.rs", "line": 8, "comment": "Wrong word"},
            {"severity": "major", "path": "a.rs", "line": "3-4", "comment": "Range"},
        ]}),
        Dialect::Crh));
}

#[test]
fn agent_dialect_keeps_the_snippet() {
    expect![[r#"
            stem: s
            Quotes {"title":"SQL injection","severity":"P0","category":"security","file":"a.py","line_start":3,"line_end":4,"confidence":0.9,"evidence":[{"snippet":"db.execute(q)"}],"why_it_matters":"Anyone can read everything.","autofix_class":"manual","owner":"downstream-resolver","requires_verification":false,"pre_existing":false}
        "#]].assert_eq(&checked(json!({"review_id": "x", "status": "ok", "summary": "s", "issues": [{
            "file": "a.py", "line_start": 3, "line_end": 4, "severity": "critical", "category": "security",
            "description": "SQL injection. Anyone can read everything.", "suggestion": "",
            "evidence_snippet": "db.execute(q)", "confidence": 0.9, "dedupe_key": "k", "language": "python",
        }]}),
        Dialect::Agent));
}

#[test]
fn ce_dialect_is_parsed_compact_and_full() {
    let compact = json!({
        "title": "Missing owner check", "severity": "P0", "file": "a.rb", "line": 42, "confidence": 0.92,
        "autofix_class": "gated_auto", "owner": "downstream-resolver", "requires_verification": true,
        "pre_existing": false, "suggested_fix": "Add a guard",
    });
    let mut full = compact.clone();
    full["why_it_matters"] = json!("Any user can read any account.");
    full["evidence"] =
        json!(["line 42 calls `Account.find(params[:id])` unguarded", "account.save!"]);
    expect![[r#"
            ce-security-reviewer: 
            CitedLine {"title":"Missing owner check","severity":"P0","category":"security","file":"a.rb","line_start":42,"confidence":0.92,"evidence":[],"why_it_matters":"Missing owner check","suggested_fix":"Add a guard","autofix_class":"gated_auto","owner":"downstream-resolver","requires_verification":true,"pre_existing":false}
            Quotes {"title":"Missing owner check","severity":"P0","category":"security","file":"a.rb","line_start":42,"confidence":0.92,"evidence":[{"snippet":"Account.find(params[:id])"}],"why_it_matters":"Any user can read any account.","suggested_fix":"Add a guard","autofix_class":"gated_auto","owner":"downstream-resolver","requires_verification":true,"pre_existing":false}
        "#]].assert_eq(&checked(json!({"reviewer": "ce-security-reviewer", "findings": [compact, full], "residual_risks": [], "testing_gaps": []}),
        Dialect::Ce));
    expect![[r#"
        refused: missing field `residual_risks`
    "#]]
    .assert_eq(&checked(json!({"reviewer": "security", "findings": []}), Dialect::Ce));
}

#[test]
fn too_many_findings_are_rejected() {
    let findings = vec![json!(1); MAX_FINDINGS + 1];
    expect![[r#"
            refused: 10001 findings are more than 10000; return the ones that matter
        "#]]
    .assert_eq(&checked(json!({"reviewer": "a", "findings": findings}), Dialect::Native));
}

#[test]
fn harmless_deviations_are_repaired() {
    let titles = |findings: Vec<Value>| {
        let value = json!({ "reviewer": "a", "findings": findings });
        let parsed = parse_return_value(value, Dialect::Native, "a").unwrap();
        assert_eq!(parsed.dropped, []);
        parsed.members.into_iter().map(|member| member.finding).collect::<Vec<_>>()
    };
    let long = format!("The sum of all {} is wrong", "very ".repeat(30));
    let findings = titles(vec![
        changed(json!({ "title": long })),
        changed(json!({ "title": "x".repeat(150) })),
        changed(json!({ "title": "two\nlines" })),
    ]);
    let cut: Vec<String> = findings.into_iter().map(|finding| finding.title).collect();
    expect![[r#"
        [
            "The sum of all very very very very very very very very very very very very very very very very very…",
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…",
            "two lines",
        ]
    "#]].assert_debug_eq(&cut);
    assert!(cut.iter().all(|title| title.chars().count() <= 100));
    let findings = titles(vec![
        changed(json!({ "line_start": 8.0, "line_end": "9", "confidence": "75%" })),
        changed(json!({ "line_start": "8.0", "line_end": 9.0, "confidence": "0.75" })),
        changed(json!({ "line_start": 8, "line_end": 9, "confidence": 0.75 })),
    ]);
    assert_eq!(findings[0], findings[2]);
    assert_eq!(findings[1], findings[2]);
    let code = "for i in 0..=n {";
    let findings = titles(vec![
        changed(json!({})),
        changed(json!({ "severity": "p1", "file": "./a.rs", "evidence": code })),
        changed(json!({ "evidence": [code] })),
        changed(json!({ "evidence": { "snippet": code } })),
    ]);
    assert!(findings.iter().all(|finding| *finding == findings[0]), "{findings:?}");
    let [shown, written] = [
        json!({
            "severity": "P1", "category": "error_handling", "autofix_class": "safe_auto",
            "owner": "review-fixer", "side": "new", "line_start": 12, "line_end": null,
            "pre_existing": false, "requires_verification": true,
        }),
        json!({
            "severity": "p1: high", "category": "Error handling", "autofix_class": "SAFE-AUTO",
            "owner": "Review_Fixer", "side": "New", "line_start": "L12", "line_end": null,
            "pre_existing": "False", "requires_verification": null,
        }),
    ];
    let findings = titles(vec![changed(shown), changed(written)]);
    assert_eq!(findings[0], findings[1]);
    let quote = json!([{ "snippet": code, "line": 2.0 }]);
    let findings = titles(vec![changed(json!({ "evidence": quote, "confidence": 1 }))]);
    assert_eq!(findings[0].evidence[0].line.map(std::num::NonZeroU32::get), Some(2));
}
