use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

fn shown_of(text: &str) -> String {
    let ids = BTreeSet::from(["python-fees", "python-fees~twin", "go-cache"]);
    let found = rows(text.as_bytes()).and_then(|rows| read_findings(rows, &ids));
    match found {
        Ok(external) => {
            let mut shown = format!("{} repeats\n", external.repeats);
            for (case, findings) in &external.findings {
                for (repeat, reports) in findings {
                    for report in reports {
                        let report = serde_json::to_string(report).unwrap();
                        shown += &format!("{case} {repeat}: {report}\n");
                    }
                }
            }
            shown
        }
        Err((place, wrong)) => {
            let failure = wrong.at(format!("`x`{place}"));
            let hint = failure.hint.map(|hint| format!("hint: {hint}\n")).unwrap_or_default();
            format!("error: {:#}\n{hint}", failure.error)
        }
    }
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&shown_of(text));
}

#[test]
fn json_array_equals_json_lines() {
    let rows = [
        r#"{"case": "go-cache", "file": "a.go", "line": 3, "text": "Races.\nTwo writers."}"#,
        r#"{"case": "go-cache", "file": "./b.go", "line_start": 3, "line_end": 5, "side": "LEFT", "title": "Gone", "body": "Why?", "category": "api_contract", "severity": "Critical", "confidence": 0.5, "repeat": 2, "id": 7, "tool": "x"}"#,
        r#"{"case": "python-fees~twin", "file": "a.py", "line": 1, "line_start": 2, "side": null, "title": "Same", "description": "Same", "body": "not read", "severity": "minor", "category": null}"#,
    ];
    let lines = rows.join("\n\n");
    assert_eq!(shown_of(&lines), shown_of(&format!(" [{}]", rows.join(","))));
    check(
        &lines,
        expect![[r#"
        2 repeats
        go-cache 1: {"file":"a.go","line_start":3,"line_end":3,"side":"new","title":"Races.","text":"Races.\nTwo writers.","evidence":"","key":"","reviewers":[]}
        go-cache 2: {"file":"b.go","line_start":3,"line_end":5,"side":"old","title":"Gone","text":"Why?","evidence":"","category":"api_contract","severity":"P0","confidence":0.5,"key":"","reviewers":[]}
        python-fees~twin 1: {"file":"a.py","line_start":2,"line_end":2,"side":"new","title":"Same","text":"","evidence":"","severity":"P2","key":"","reviewers":[]}
    "#]],
    );
}

#[test]
fn empty_result_is_valid() {
    check(
        "[]",
        expect![[r#"
        1 repeats
    "#]],
    );
    check(
        "\n",
        expect![[r#"
        1 repeats
    "#]],
    );
}

#[test]
fn each_case_has_one_run_per_repeat() {
    let row = r#"{"case": "b", "file": "a.go", "line": 3, "text": "Races.", "repeat": 2}"#;
    let case = |id: &str| {
        let labels = json!({"id": id, "language": "go", "lines": 1, "expected": []});
        json!({"labels": labels, "title": id, "runs": []})
    };
    let mut evaluation: Evaluation = serde_json::from_value(json!({
        "schema_version": 1, "about": {}, "rule": "text", "repeats": 1, "cases": [case("a"), case("b")],
    }))
    .unwrap();
    let ids = BTreeSet::from(["a", "b"]);
    read_findings(rows(row.as_bytes()).unwrap(), &ids)
        .unwrap()
        .fill(&mut evaluation, Twins::IfNamed);
    assert_eq!(evaluation.repeats, 2);
    let runs = |case: &CaseRuns| -> Vec<(Ending, usize)> {
        case.runs.iter().map(|run| (run.ending.clone(), run.reported.len())).collect()
    };
    let silent = (Ending::Reviewed, 0);
    assert_eq!(runs(&evaluation.cases[0]), [silent.clone(), silent.clone()]);
    assert_eq!(runs(&evaluation.cases[1]), [silent, (Ending::Reviewed, 1)]);
}

#[test]
fn invalid_rows_are_reported_with_line() {
    // A valid row with one part replaced.
    let row = |from: &str, to: &str| {
        let row = r#"{"case": "go-cache", "file": "a.go", "line": 3, "text": "Races."}"#;
        assert!(row.contains(from));
        shown_of(&row.replace(from, to))
    };
    let shown = [
        row("go-cache", "go-cach"),
        row("go-cache", "\\u001b[2Jx\\nhint: y"),
        row("a.go", "/a.go"),
        row("3", "0"),
        row("3", "-1"),
        row("\"line\": 3, ", ""),
        row("3", "3, \"line_end\": 2"),
        row("Races.", " "),
        row("3", "3, \"severity\": \"bad\""),
        row("3", "3, \"category\": \"correctness\""),
        row("3", "3, \"confidence\": 700"),
        row("3", "3, \"repeat\": 0"),
        row("3", "3, \"side\": \"top\""),
        row("\"file\"", "\"path\""),
        shown_of("[{}, 3]"),
        shown_of("[3]"),
        shown_of("\n{\"case\": \"go-cache\"\n"),
        shown_of("[{]"),
    ];
    expect![[r#"
        error: `x`, line 1: the suite has no case `go-cach`
        hint: did you mean `go-cache`?
        error: `x`, line 1: the suite has no case `\u{1b}[2Jx hint: y`
        hint: did you mean `go-cache`?
        error: `x`, line 1: `/a.go` is not a valid path of a file in a case
        hint: write it relative to the repository root, with `/`, without `..` and `.git`
        error: `x`, line 1: invalid lines 0 to 0 of `a.go`
        hint: lines are counted from 1, and `line_end` must not be before `line_start`
        error: `x`, line 1: `line`: invalid value: integer `-1`, expected u32
        error: `x`, line 1: `line` and `line_start` are missing
        hint: give the line of the file, counted from 1
        error: `x`, line 1: invalid lines 3 to 2 of `a.go`
        hint: lines are counted from 1, and `line_end` must not be before `line_start`
        error: `x`, line 1: `text` and `title` are missing
        hint: give the text of the finding
        error: `x`, line 1: `severity`: unknown severity `bad`, expected one of `P0`, `P1`, `P2`, `P3`
        error: `x`, line 1: `category`: unknown variant `correctness`, expected one of `security`, `bug`, `error_handling`, `performance`, `style`, `logic`, `concurrency`, `api_contract`, `data`, `testing`, `maintainability`, `standards`, `requirements`
        error: `x`, line 1: `confidence`: `700` is not between 0.0 and 1.0
        error: `x`, line 1: `repeat` is 0
        hint: repeats are counted from 1 to 100
        error: `x`, line 1: `side`: unknown variant `top`, expected one of `NEW`, `RIGHT`, `after`, `new`, `right`, `LEFT`, `OLD`, `before`, `left`, `old`
        error: `x`, line 1: missing field `file`
        error: `x`[0]: missing field `case`
        error: `x`[0]: not a JSON object
        hint: `{case, file, line, text}`
        error: `x`, line 2: invalid JSON: EOF while parsing an object at line 1 column 19
        hint: give a JSON array, or one object per line
        error: `x`: invalid JSON: key must be a string at line 1 column 3
        hint: give a JSON array, or one object per line
    "#]].assert_eq(&shown.concat());
}

#[test]
fn findings_per_case_are_limited() {
    let row = r#"{"case": "go-cache", "file": "a.go", "line": 3, "text": "Races."}"#;
    check(
        &vec![row; REPORTS_MAX + 1].join("\n"),
        expect![[r#"
            error: `x`, line 1001: more than 1000 reports about one case
            hint: give only the reports that a person would see
        "#]],
    );
}
