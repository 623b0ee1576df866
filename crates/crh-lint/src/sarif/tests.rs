use serde_json::{Value, json};

use super::*;
use crate::testing::Fixture;

const CHANGE: &str = "//- src/a b.py\nold = 1\neval(old)\n//- head\n//- src/a b.py\nold = 1\neval(old)\nnew = 2\neval(new)\n";

fn at(uri: &str, line: u32) -> Value {
    json!({ "locations": [{ "physicalLocation": {
        "artifactLocation": { "uri": uri }, "region": { "startLine": line } } }],
        "ruleId": "py/eval", "message": { "text": "This calls [eval](1). It is bad." } })
}

fn with(mut result: Value, more: Value) -> Value {
    for (key, value) in more.as_object().unwrap() {
        result[key] = value.clone();
    }
    result
}

fn log(run: Value) -> SarifFile {
    let log = json!({ "version": "2.1.0", "runs": [run] });
    SarifFile::read(log.to_string().as_bytes()).unwrap()
}

fn sarif_file(results: &[Value]) -> SarifFile {
    log(json!({ "tool": { "driver": { "name": "Code QL!" } }, "results": results }))
}

fn format_findings(head: &SarifFile, base: Option<&SarifFile>, fixture: &str) -> String {
    let (head, base) = (std::slice::from_ref(head), base.map(std::slice::from_ref));
    let compared = base.map_or(SarifComparison::AddedLines, SarifComparison::BaseFiles);
    let mut out = String::new();
    for row in Fixture::new(fixture).with(|change| review(head, compared, change)) {
        out += &format!("{}\n", row.tool);
        let line = |it: &StaticFinding| {
            let finding = &it.finding;
            let (file, line) = (&finding.file, finding.line_start.unwrap());
            let (severity, category) = (finding.severity, finding.category);
            format!(
                "{file}:{line} {} {severity} {category}: {} | {}",
                it.rule, finding.title, finding.why_it_matters
            )
        };
        out.extend(row.findings.iter().map(|it| format!("  {}\n", line(it))));
        out.extend(row.suppressed.iter().map(|(it, why)| format!("  ({}) {why}\n", line(it))));
        out.extend(row.notes.iter().map(|note| format!("  note: {note}\n")));
    }
    out
}

/// Output for results without a base, of the first tool.
fn first_output(results: &[Value], fixture: &str) -> SarifToolOutput {
    output_of(sarif_file(results), fixture)
}

fn output_of(head: SarifFile, fixture: &str) -> SarifToolOutput {
    Fixture::new(fixture)
        .with(|change| review(&[head], SarifComparison::AddedLines, change))
        .remove(0)
}

#[test]
fn without_a_base_only_results_on_added_lines_count() {
    let log = sarif_file(&[at("src/a%20b.py", 2), at("src/a%20b.py", 4), at("gone.py", 1)]);
    expect_test::expect![[r#"
        code-ql
          src/a b.py:4 code-ql/py/eval P2 bug: This calls eval | This calls eval. It is bad.
          note: 1 result on lines that this change does not add is left out; pass `--sarif-base FILE` to compare with the base
          note: 1 result has no line in a file of the reviewed tree and is left out
    "#]]
    .assert_eq(&format_findings(&log, None, CHANGE));
}

#[test]
fn base_results_are_not_new_after_a_move() {
    let fixture =
        "//- a.py\neval(old)\n//- head\n//- b.py from a.py\nx = 1\n  eval(old)\neval(new)\n";
    let (head, base) = (sarif_file(&[at("b.py", 2), at("b.py", 3)]), sarif_file(&[at("a.py", 1)]));
    expect_test::expect![[r#"
        code-ql
          b.py:3 code-ql/py/eval P2 bug: This calls eval | This calls eval. It is bad.
    "#]]
    .assert_eq(&format_findings(&head, Some(&base), fixture));
}

#[test]
fn every_location_style_is_resolved() {
    let check = |location: Value, run: Value| {
        let result = json!({ "message": { "text": "x" }, "locations": [{ "physicalLocation": {
            "artifactLocation": location, "region": { "startLine": 4 } } }] });
        let tool = json!({ "tool": { "driver": { "name": "t" } }, "results": [result] });
        let output = format_findings(&log(with(tool, run)), None, CHANGE);
        assert_eq!(
            output.contains("src/a b.py:4"),
            !output.contains("no line in a file"),
            "{output}"
        );
        output.contains("src/a b.py:4")
    };
    assert!(check(json!({ "uri": "src/a b.py" }), json!({})));
    assert!(check(json!({ "uri": "./src/a%20b.py" }), json!({})));
    assert!(check(json!({ "uri": "file:///home/ci/checkout/src/a%20b.py" }), json!({})));
    assert!(check(json!({ "uri": "/home/dev/project/src/a%20b.py" }), json!({})));
    assert!(check(json!({ "uri": "C:\\code\\src\\a b.py" }), json!({})));
    assert!(check(
        json!({ "uri": "a%20b.py", "uriBaseId": "SRC" }),
        json!({ "originalUriBaseIds": {
            "SRC": { "uri": "src/", "uriBaseId": "ROOT" }, "ROOT": { "uri": "file:///x/" } } }),
    ));
    assert!(check(
        json!({ "index": 0 }),
        json!({ "artifacts": [{ "location": { "uri": "src/a%20b.py" } }] }),
    ));
    assert!(!check(json!({ "uri": "https://example.com/src/a%20b.py" }), json!({})));
    assert!(!check(json!({ "uri": "../../a%20b.py" }), json!({})));
    assert!(!check(json!({ "uri": "src%2Fa%20b.py" }), json!({})));
}

#[test]
fn base_is_applied_before_the_tree_is_searched() {
    let tree = "//- a.py\nold = 1\n//- src/a.py\nold = 1\n//- head\n//- a.py\nold = 1\neval(old)\n//- src/a.py\nold = 1\neval(old)\n";
    for (uri, base) in [("a.py", "src/"), ("../src/a.py", "lib/")] {
        let location = json!({ "uri": uri, "uriBaseId": "BASE" });
        let result = json!({ "message": { "text": "x" }, "locations": [{ "physicalLocation": {
            "artifactLocation": location, "region": { "startLine": 2 } } }] });
        let run = json!({ "tool": { "driver": { "name": "t" } }, "results": [result],
            "originalUriBaseIds": { "BASE": { "uri": base } } });
        let output = format_findings(&log(run), None, tree);
        assert!(output.contains(" src/a.py:2 "), "{output}");
    }
}

#[test]
fn rules_set_severity_and_title() {
    let rules = json!([
        { "id": "py/eval", "shortDescription": { "text": "Code injection." },
          "properties": { "security-severity": "9.3", "tags": ["security"] } },
        { "id": "slow", "defaultConfiguration": { "level": "note" },
          "messageStrings": { "default": { "text": "{0} is slow" } },
          "properties": { "tags": ["performance"] } },
    ]);
    let results = json!([
        at("src/a b.py", 4),
        with(
            at("src/a b.py", 4),
            json!({ "ruleId": "", "ruleIndex": 1,
            "message": { "id": "default", "arguments": ["eval"] } })
        ),
        with(at("src/a b.py", 4), json!({ "ruleId": "e", "level": "error" })),
        with(at("src/a b.py", 4), json!({ "ruleId": "p", "kind": "pass" })),
        with(at("src/a b.py", 4), json!({ "ruleId": "b", "baselineState": "unchanged" })),
        with(
            at("src/a b.py", 4),
            json!({ "ruleId": "s", "suppressions": [{ "kind": "inSource", "justification": "ok" }] })
        ),
        with(
            at("src/a b.py", 4),
            json!({ "ruleId": "r", "suppressions": [{ "kind": "external", "status": "rejected" }] })
        ),
    ]);
    let log = log(json!({ "results": results, "tool": {
        "driver": { "name": "T", "rules": rules } } }));
    expect_test::expect![[r#"
        t
          src/a b.py:4 t/e P1 bug: This calls eval | This calls eval. It is bad.
          src/a b.py:4 t/py/eval P0 security: This calls eval | This calls eval. It is bad.
          src/a b.py:4 t/r P2 bug: This calls eval | This calls eval. It is bad.
          src/a b.py:4 t/slow P3 performance: eval is slow | eval is slow
          (src/a b.py:4 t/s P2 bug: This calls eval | This calls eval. It is bad.) the SARIF file marks it as suppressed in the source: ok
    "#]].assert_eq(&format_findings(&log, None, CHANGE));
}

#[test]
fn fix_within_the_lines_becomes_a_replacement() {
    let check = |region: Value, text: &str, expected: Option<&str>| {
        let result = with(
            at("src/a b.py", 4),
            json!({ "fixes": [{ "artifactChanges": [{
            "artifactLocation": { "uri": "src/a%20b.py" },
            "replacements": [{ "deletedRegion": region, "insertedContent": { "text": text } }] }] }] }),
        );
        let output = first_output(&[result], CHANGE);
        assert_eq!(output.findings[0].finding.replacement.as_deref(), expected, "{region}");
    };
    check(json!({ "startLine": 4, "startColumn": 1, "endColumn": 5 }), "int", Some("int(new)\n"));
    check(json!({ "startLine": 4 }), "pass", Some("pass\n"));
    check(json!({ "startLine": 4, "startColumn": 1, "endLine": 5, "endColumn": 1 }), "", Some(""));
    check(json!({ "startLine": 3, "endLine": 4 }), "x", None);
    check(json!({ "startLine": 4, "startColumn": 99 }), "x", None);
}

#[test]
fn invalid_sarif_is_rejected_with_a_reason() {
    let check = |text: &str, expected: expect_test::Expect| {
        expected.assert_eq(&SarifFile::read(text.as_bytes()).unwrap_err().to_string());
    };
    check("<xml/>", expect_test::expect!["not a SARIF file: expected value at line 1 column 1"]);
    check(
        "[]",
        expect_test::expect![
            "not a SARIF file: invalid length 0, expected struct RawLog with 2 elements at line 1 column 2"
        ],
    );
    check(
        r#"{"version": "2.0.0", "runs": []}"#,
        expect_test::expect!["SARIF version `2.0.0` is not supported (only `2.1.0`)"],
    );
    check(
        r#"{"version": "2.1.0", "runs": [{}]}"#,
        expect_test::expect!["not a SARIF file: missing field `tool` at line 1 column 32"],
    );
}

#[test]
fn hostile_messages_are_cleaned_and_truncated() {
    let text = format!("a\u{1b}[31m\nb {}", "x".repeat(100_000));
    let message = json!({ "ruleId": "a `b`\n/c", "message": { "text": text } });
    let output = first_output(&[with(at("src/a b.py", 4), message)], CHANGE);
    let StaticFinding { rule, finding } = &output.findings[0];
    assert_eq!(rule, "code-ql/ab/c");
    assert!(!finding.why_it_matters.contains(['\u{1b}', '\n']));
    assert_eq!(
        (finding.title.chars().count(), finding.why_it_matters.chars().count()),
        (100, 1_000)
    );
}

#[test]
fn moved_line_needs_the_same_old_result() {
    let change = "//- a.py\none = 1\neval(x)\n//- b.py\ntwo = 2\n//- head\n//- a.py\none = 1\n//- b.py\ntwo = 2\neval(x)\n";
    let head = sarif_file(&[at("b.py", 2)]);
    let is_reported = |base: Option<&SarifFile>| {
        format_findings(&head, base, change).contains("b.py:2 code-ql/py/eval")
    };
    assert!(!is_reported(Some(&sarif_file(&[at("a.py", 2)]))), "it moved");
    assert!(is_reported(Some(&sarif_file(&[at("a.py", 1)]))), "there was a guard before it");
    assert!(is_reported(None), "the old results are unknown");
}

#[test]
fn line_that_leaves_a_file_that_comes_into_use_is_not_new() {
    let change = "//- vendor/a.py\neval(y)\neval(x)\n//- b.py\ntwo = 2\n//- head\n//- a.py from vendor/a.py, now in use\neval(y)\n//- b.py\ntwo = 2\neval(x)\n";
    let base = sarif_file(&[at("vendor/a.py", 1), at("vendor/a.py", 2)]);
    let head = sarif_file(&[at("a.py", 1), at("b.py", 2)]);
    let found = format_findings(&head, Some(&base), change);
    assert!(!found.contains("b.py:2 "), "{found}");
    assert!(found.contains("a.py:1 code-ql/py/eval"), "a file that comes into use is new: {found}");
}

#[test]
fn quoted_credential_is_masked() {
    let key = format!("AKIA{}3EGQW5RTYUIOPAS", 'Z');
    let change = format!("//- a.py\nx = 1\n//- head\n//- a.py\nx = 1\nA = \"{key}\"\n");
    let message = json!({ "message": { "text": format!("A password: {key}") } });
    let output = first_output(&[with(at("a.py", 2), message)], &change);
    let finding = &output.findings[0].finding;
    assert_eq!(finding.title, "A password: ****");
    assert!(!format!("{finding:?}").contains(&key), "{finding:?}");
    assert_eq!(finding.evidence[0].snippet, "A = \"****\"");
}

#[test]
fn limit_drops_least_severe_after_deduplication() {
    let lines: String = (0..2_100).map(|at| format!("x{at} = 1\n")).collect();
    let change = format!("//- a.py\n\n//- head\n//- a.py\n{lines}");
    let suppressed = json!({ "suppressions": [{ "kind": "external" }] });
    let mut results: Vec<Value> = (1..=1_100).map(|line| at("a.py", line)).collect();
    results.extend((1..=2).map(|_| with(at("a.py", 2_000), json!({ "level": "error" }))));
    results.extend((1..=2_000).map(|_| with(at("a.py", 2_001), suppressed.clone())));
    let row = first_output(&results, &change);
    assert_eq!(row.findings.len(), FINDINGS_MAX);
    let worst = row.findings.iter().filter(|it| it.finding.severity == Severity::P1).count();
    assert_eq!((worst, row.suppressed.len()), (1, 1));
    assert_eq!(row.notes, ["101 more findings are not listed"]);
}

#[test]
fn title_is_the_first_sentence_of_the_message() {
    let rules = json!([{ "id": "r", "shortDescription": { "text": "{0} is bad." },
        "messageStrings": { "m": { "text": "{0} of {1} in {0}" } } }]);
    let check = |message: Value, expected: &str| {
        let result = with(at("src/a b.py", 4), json!({ "ruleId": "r", "message": message }));
        let driver = json!({ "name": "t", "rules": rules,
            "globalMessageStrings": { "g": { "text": "All of {0}." } } });
        let head = log(json!({ "tool": { "driver": driver }, "results": [result] }));
        let output = output_of(head, CHANGE);
        assert_eq!(output.findings[0].finding.title, expected, "{message}");
    };
    check(json!({ "id": "m", "arguments": ["{1}", "b"] }), "{1} of b in {1}");
    check(json!({ "id": "m", "arguments": ["a"] }), "a of … in a");
    check(json!({ "id": "g", "arguments": ["it"] }), "All of it");
    check(json!({ "text": "One {0}.\nTwo.", "arguments": ["x"] }), "One x");
    check(json!({ "text": "a dict {0} stays" }), "a dict {0} stays");
    check(json!({ "text": "{{0}} of {{{0}}}", "arguments": ["x"] }), "{0} of {x}");
    check(json!({ "text": "[a](1) or [b[0]](2) or [c\\[0\\]](3)" }), "a or b[0] or c[0]");
    check(
        json!({ "text": r"no link: \[a](1), [b](x), [c], [[d](1)" }),
        r"no link: \[a](1), [b](x), [c], [d",
    );
    check(json!({ "markdown": "`x` is new" }), "`x` is new");
    check(json!({}), "t/r");
}

#[test]
fn malformed_result_is_skipped_alone() {
    for line in [json!(0), json!(-1), json!("4"), json!(99), json!(4.5), json!(1_u64 << 40)] {
        let mut bad = at("src/a b.py", 4);
        bad["locations"][0]["physicalLocation"]["region"]["startLine"] = line.clone();
        let output = format_findings(&sarif_file(&[bad, at("src/a b.py", 4)]), None, CHANGE);
        assert_eq!(output.matches("src/a b.py:4").count(), 1, "{line}: {output}");
        assert_eq!(output.matches("note: 1 result ").count(), 1, "{line}: {output}");
    }
    let mut long = at("src/a b.py", 4);
    long["locations"][0]["physicalLocation"]["region"]["endLine"] = json!(4_000);
    assert_eq!(first_output(&[long], CHANGE).findings[0].finding.line_end, None);
}

#[test]
fn tool_named_like_a_reviewer_gets_a_suffix() {
    for reviewer in crate::REVIEWERS {
        let driver = json!({ "name": reviewer.to_uppercase() });
        let run = json!({ "tool": { "driver": driver }, "results": [at("src/a b.py", 4)] });
        let output = format_findings(&log(run), None, CHANGE);
        assert!(output.starts_with(&format!("{reviewer}-tool\n")), "{output}");
        assert!(output.contains(&format!(" {reviewer}-tool/py/eval ")), "{output}");
    }
}
