//! Tests of ruff as a reviewer with a script instead of ruff, including scripts that misbehave.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use expect_test::{Expect, expect};
use tempfile::TempDir;

use super::*;
use crh_review::eval::{About, CaseRun, CaseRuns, Labels, Rule, SCHEMA_VERSION};

/// A fake `ruff` script that can write to `$log`.
fn ruff(script: &str, time: Duration) -> (TempDir, Ruff) {
    let folder = tempfile::tempdir().unwrap();
    let stand_in = concat!(env!("CARGO_MANIFEST_DIR"), "/../crh-lint/tests/data/ruff");
    symlink(stand_in, folder.path().join("ruff")).unwrap();
    let script = format!("log=${{0%/*}}/log\n{script}");
    fs::write(folder.path().join("script"), script).unwrap();
    let path = std::env::join_paths([folder.path(), Path::new("/bin"), Path::new("/usr/bin")]);
    let ruff = Ruff::find(&path.unwrap(), time).unwrap();
    (folder, ruff)
}

fn case(id: &str, language: &str, ending: Ending) -> CaseRuns {
    let run = CaseRun::new(ending, Vec::new());
    let labels = Labels {
        id: id.to_owned(),
        language: language.to_owned(),
        lines: 1,
        twin_of: None,
        expected: Vec::new(),
        known_bad: Vec::new(),
    };
    CaseRuns { labels, title: String::new(), runs: vec![run] }
}

/// Five cases: four in Python (one was not run, one has unknown files) and one in another language.
fn evaluation() -> Evaluation {
    let not_run = Ending::NotRun("no money".to_owned());
    Evaluation {
        schema_version: SCHEMA_VERSION,
        about: About { tool: "crh".to_owned(), ..About::default() },
        rule: Rule::Category,
        repeats: 1,
        judged_by: None,
        cases: vec![
            case("a", "python", Ending::Reviewed),
            case("b", "python", not_run),
            case("c", "python", Ending::Failed("broken".to_owned())),
            case("diff", "python", Ending::Reviewed),
            case("other", "go", Ending::Reviewed),
        ],
    }
}

/// Results of the Python cases with known files.
fn check(ruff: &Ruff, expected: Expect) {
    let cases = ["a", "b", "c"].map(|id| {
        let file = PythonFile { path: "shop/a.py", old: Some(b"y = 1\n"), new: b"x = 1\ny = 1\n" };
        PythonCase { id, files: vec![file] }
    });
    let result = run_ruff(ruff, &evaluation(), &cases, 1);
    assert_eq!(result.evaluation.about.tool, "ruff (Python only)");
    let mut shown = String::new();
    for case in &result.evaluation.cases {
        shown.push_str(&format!("{} {:?}\n", case.labels.id, case.runs[0].ending));
        for Reported { span, title, text, category, .. } in &case.runs[0].reported {
            let (file, line) = (span.file(), span.line_start());
            shown.push_str(&format!("  {file}:{line} {text} {title} {category:?}\n"));
        }
    }
    shown.push_str(&format!("failed: {} of {} {:?}\n", result.failed, result.all, result.why));
    expected.assert_eq(&shown);
}

#[test]
fn new_findings_are_reported_for_run_cases() {
    // Reports a finding on every line.
    let script = r#"n=0; while read line; do n=$((n + 1))
        printf '%s{"code": "S1", "message": "m", "location": {"row": %s}}' "$sep" "$n"; sep=,
    done > out; echo "[$(cat out)]""#;
    let (_folder, ruff) = ruff(script, Duration::from_secs(60));
    check(
        &ruff,
        expect![[r#"
            a Reviewed
              shop/a.py:1 S1 m Some(Security)
            b NotRun("not run")
            c Reviewed
              shop/a.py:1 S1 m Some(Security)
            diff NotRun("no whole Python file that changed")
            other NotRun("not a Python case")
            failed: 0 of 2 None
        "#]],
    );
}

#[test]
fn failing_ruff_is_a_failed_case() {
    let (_folder, ruff) = ruff("echo no >&2; exit 1", Duration::from_secs(60));
    check(
        &ruff,
        expect![[r#"
            a Failed("`ruff` failed: no")
            b NotRun("not run")
            c Failed("`ruff` failed: no")
            diff NotRun("no whole Python file that changed")
            other NotRun("not a Python case")
            failed: 2 of 2 Some("`ruff` failed: no")
        "#]],
    );
}

#[test]
fn hanging_ruff_is_not_started_again() {
    let (folder, ruff) = ruff("echo >> $log; sleep 1000", Duration::from_millis(200));
    check(
        &ruff,
        expect![[r#"
            a Failed("`ruff` did not finish within 0 seconds")
            b NotRun("not run")
            c Failed("`ruff` did not finish within 0 seconds")
            diff NotRun("no whole Python file that changed")
            other NotRun("not a Python case")
            failed: 2 of 2 Some("`ruff` did not finish within 0 seconds")
        "#]],
    );
    // On a busy machine the script may be killed before it writes.
    let log = fs::read_to_string(folder.path().join("log")).unwrap_or_default();
    assert!(log.lines().count() <= 1, "{log:?}");
}

#[test]
fn rule_prefix_determines_category() {
    let check = |rule: &str, expected: Category| assert_eq!(category(rule), expected, "{rule}");
    check("S608", Category::Security);
    check("ASYNC210", Category::Concurrency);
    check("BLE001", Category::ErrorHandling);
    check("PERF203", Category::Performance);
    check("B006", Category::Bug);
    check("invalid-syntax", Category::Bug);
}
