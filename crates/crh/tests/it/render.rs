//! `crh render` and `crh schema`.

use expect_test::expect;

use crate::{crh, read};

const REPORT: &str = "crates/crh-review/tests/data/render/report.json";

#[test]
fn stored_report_renders_in_every_format() {
    for (format, golden) in [
        ("json", "report.json"),
        ("markdown", "report.md"),
        ("text", "report.txt"),
        ("envelope", "envelope.txt"),
        ("comment", "comment.md"),
        ("sarif", "report.sarif"),
        ("quickfix", "quickfix.txt"),
        ("annotations", "annotations.txt"),
    ] {
        let output = crh(&["render", "--format", format, REPORT]).run();
        let expected = read(&format!("crates/crh-review/tests/data/render/{golden}"));
        assert_eq!(output.shown(), format!("exit 0\n---\n{expected}"), "{format}");
    }
}

#[test]
fn html_shows_code_of_the_given_diff() {
    let diff = "crates/crh-review/tests/data/render/change.diff";
    let output = crh(&["render", "--format", "html", "--diff", diff, REPORT]).run();
    let expected = read("crates/crh-review/tests/data/render/report.html");
    assert_eq!(output.shown(), format!("exit 0\n---\n{expected}"));
    let output = crh(&["render", "--format", "html", REPORT]).run();
    assert_eq!((output.code, output.stdout.contains("<table class=\"diff\">")), (0, false));
    expect![[r#"
        exit 2
        error: standard input can be read only once
        hint: pass the report or the diff as a file
        ---
    "#]]
    .assert_eq(&crh(&["render", "--diff", "-"]).stdin("{}").run().shown());
}

#[test]
fn invalid_report_is_rejected() {
    let shown = |stdin: &str| crh(&["render"]).stdin(stdin).run().shown();
    expect![[r#"
        exit 2
        error: standard input is not a crh report: missing field `schema_version`
        hint: pass a report of `crh review --format json` or `crh merge`; `crh schema report` prints the format
        ---
    "#]]
    .assert_eq(&shown("{}"));
    expect![[r#"
        exit 2
        error: standard input is not a crh report: expected value at line 1 column 1
        hint: pass a report of `crh review --format json` or `crh merge`; `crh schema report` prints the format
        ---
    "#]]
    .assert_eq(&shown("# Review"));
    expect![[r#"
        exit 2
        error: standard input is not a crh report: missing field `number`
        hint: pass a report of `crh review --format json` or `crh merge`; `crh schema report` prints the format
        ---
    "#]]
    .assert_eq(&shown("{\"schema_version\": 1, \"issues\": [{}]}"));
    expect![[r#"
        exit 2
        error: standard input is not a crh report: expected a JSON object
        hint: pass a report of `crh review --format json` or `crh merge`; `crh schema report` prints the format
        ---
    "#]]
    .assert_eq(&shown("[1]"));
    let report = read(REPORT).replacen("\"line_start\": 12", "\"line_start\": 0", 1);
    expect![[r#"
        exit 2
        error: standard input: issue 1 has an invalid line range: 0 to 12
        hint: pass a report of `crh review --format json` or `crh merge`; `crh schema report` prints the format
        ---
    "#]]
    .assert_eq(&shown(&report));
    let output = crh(&["render", "--instance", "a-->", REPORT]).run();
    expect![[r#"
        exit 2
        error: invalid value 'a-->' for '--instance <NAME>': use at most 64 letters, digits, `.`, `_` and `-`, but not `--`

        For more information, try '--help'.
        ---
    "#]].assert_eq(&output.shown());
}

#[test]
fn every_schema_is_printed() {
    for name in crh_review::schema::NAMES {
        let output = crh(&["schema", name]).run();
        assert_eq!(output.code, 0);
        let schema: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
        assert!(schema["$schema"].is_string(), "{name}");
    }
    expect![[r#"
        exit 2
        error: invalid value 'reprot' for '<NAME>'
          [possible values: report, return, return-crh, return-agent, return-ce, diff-files, diff-map]

          tip: a similar value exists: 'report'

        For more information, try '--help'.
        ---
    "#]].assert_eq(&crh(&["schema", "reprot"]).run().shown());
}
