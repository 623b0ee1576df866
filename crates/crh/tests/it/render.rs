//! `crh render` and `crh schema`.

use expect_test::expect;

use crate::{crh, read};

const REPORT: &str = "crates/crh-review/tests/data/render/report.json";

#[test]
fn a_stored_report_is_shown_in_every_form() {
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
fn a_page_shows_the_code_of_the_diff_it_is_given() {
    let diff = "crates/crh-review/tests/data/render/change.diff";
    let output = crh(&["render", "--format", "html", "--diff", diff, REPORT]).run();
    let expected = read("crates/crh-review/tests/data/render/report.html");
    assert_eq!(output.shown(), format!("exit 0\n---\n{expected}"));
    let output = crh(&["render", "--format", "html", REPORT]).run();
    assert_eq!((output.code, output.stdout.contains("<table class=\"diff\">")), (0, false));
    expect![[r#"
        exit 2
        error: standard input can be read only once
        hint: give the report or the diff as a file
        ---
    "#]]
    .assert_eq(&crh(&["render", "--diff", "-"]).stdin("{}").run().shown());
}

#[test]
fn colours_come_when_asked_for() {
    let colour = |args: &[&str]| {
        crh(&["render", "--format", "text", REPORT]).args(args).run().stdout.contains('\u{1b}')
    };
    assert!(!colour(&[]), "not into a pipe");
    assert!(colour(&["--color", "always"]));
    assert!(!colour(&["--color", "never"]));
    let no_color =
        crh(&["render", "--format", "text", "--color", "always", REPORT]).env("NO_COLOR", "1");
    assert!(
        no_color.run().stdout.contains('\u{1b}'),
        "a flag counts for more than the environment"
    );
}

#[test]
fn what_is_no_report_is_refused() {
    let shown = |stdin: &str| crh(&["render"]).stdin(stdin).run().shown();
    expect![[r#"
        exit 2
        error: standard input is not a report of crh: missing field `schema_version`
        hint: give it what `crh merge` printed; `crh schema report` prints the shape
        ---
    "#]]
    .assert_eq(&shown("{}"));
    expect![[r#"
        exit 2
        error: standard input is not a report of crh: expected value at line 1 column 1
        hint: give it what `crh merge` printed; `crh schema report` prints the shape
        ---
    "#]]
    .assert_eq(&shown("# Review"));
    expect![[r#"
        exit 2
        error: standard input is not a report of crh: missing field `number`
        hint: give it what `crh merge` printed; `crh schema report` prints the shape
        ---
    "#]]
    .assert_eq(&shown("{\"schema_version\": 1, \"issues\": [{}]}"));
    expect![[r#"
        exit 2
        error: standard input is not a report of crh: expected a JSON object
        hint: give it what `crh merge` printed; `crh schema report` prints the shape
        ---
    "#]]
    .assert_eq(&shown("[1]"));
    let report = read(REPORT).replacen("\"line_start\": 12", "\"line_start\": 0", 1);
    expect![[r#"
        exit 2
        error: standard input: issue 1 is on lines 0 to 12, which no file has
        hint: give it what `crh merge` printed; `crh schema report` prints the shape
        ---
    "#]]
    .assert_eq(&shown(&report));
    let output = crh(&["render", "--instance", "a-->", REPORT]).run();
    expect![[r#"
        exit 2
        error: invalid value 'a-->' for '--instance <NAME>': use letters, digits, `.`, `_` and single `-`, at most 64 of them

        For more information, try '--help'.
        ---
    "#]].assert_eq(&output.shown());
}

#[test]
fn every_schema_is_printed_and_no_other() {
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
