//! ruff among the baselines, where it is installed. A script stands in for it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};

use super::{Bench, WRONG, Written, programs};
use crate::root;
use crh_testkit::Output;

/// A folder of programs: git, what scripts need, and a `ruff` that does this.
fn with_ruff(bench: &Bench, script: &str) -> PathBuf {
    let folder = programs(&bench.user);
    symlink(root().join("crates/crh-lint/tests/data/ruff"), folder.join("ruff")).unwrap();
    fs::write(folder.join("script"), script).unwrap();
    folder
}

fn evaluated(bench: &Bench, programs: &Path, args: &[&str]) -> Output {
    let args = [&["eval", "run", "suite", "--strategy", "static", "--out", "out"], args].concat();
    let output = bench.crh(&args).env("PATH", programs.to_str().unwrap()).run();
    assert_eq!(output.code, 0, "{}", output.stderr);
    output
}

/// The row of ruff in a stored evaluation: its name, expected, reported, matched, and credited for pairs.
fn row(bench: &Bench) -> Option<String> {
    let stored = bench.stored("out");
    let mut rows = stored["baselines"].as_array().unwrap().iter();
    let row = rows.find(|row| row["name"].as_str().unwrap().starts_with("ruff"))?;
    let quality = &row["quality"];
    let paired = &row["paired_recall"]["value"];
    Some(format!(
        "{}: {} expected, {} reported, {} matched, paired {paired}",
        row["name"], quality["expected"], quality["reported"], quality["matched"]
    ))
}

/// One that misbehaves has no row, and this is said.
fn check_without_row(script: &str, expected: Expect) {
    let bench = Bench::new();
    let output = evaluated(&bench, &with_ruff(&bench, script), &[]);
    let warnings: Vec<&str> =
        output.stderr.lines().filter(|line| line.starts_with("warning")).collect();
    expected.assert_eq(&warnings.join("\n"));
    assert_eq!(row(&bench), None);
}

#[test]
fn what_it_finds_and_did_not_find_before_stands_beside_the_tool() {
    let bench = Bench::new();
    // In one case it finds a line that was there before; in the other, two lines are new.
    let script = r#"found=$(grep -n -e round -e total | sed 's/:.*//')
    for n in $found; do
        printf '%s{"code": "F1", "message": "m", "location": {"row": %s}}' "$sep" "$n"; sep=,
    done > out; echo "[$(cat out)]""#;
    // Of a suite with other languages it is scored on Python alone.
    let ruby = Written { id: "ruby-wrong", ..WRONG };
    bench.write_in("ruby", &ruby);
    evaluated(&bench, &with_ruff(&bench, script), &[]);
    expect![[r#""ruff (Python only)": 2 expected, 2 reported, 1 matched, paired 1.0"#]]
        .assert_eq(&row(&bench).unwrap_or_default());
}

#[test]
fn one_that_prints_anything_else_costs_a_warning() {
    check_without_row(
        "echo hello",
        expect![
            "warning: the baseline `ruff` lacks 4 of 4 Python cases: what `ruff` printed is not understood"
        ],
    );
}

#[test]
fn one_that_fails_costs_a_warning() {
    check_without_row(
        "echo 'no such rule' >&2; exit 1",
        expect![
            "warning: the baseline `ruff` lacks 4 of 4 Python cases: `ruff` failed: no such rule"
        ],
    );
}

#[test]
fn where_there_is_none_nothing_is_said_unless_one_asks() {
    let bench = Bench::new();
    let programs = programs(&bench.user);
    let silent = evaluated(&bench, &programs, &[]);
    assert!(!silent.stderr.contains("ruff"), "{}", silent.stderr);
    assert_eq!(row(&bench), None);
    let verbose = evaluated(&bench, &programs, &["-v"]);
    let said: Vec<&str> = verbose.stderr.lines().filter(|line| line.contains("ruff")).collect();
    expect!["note: `ruff` is not in `PATH`, so that it is not among the baselines"]
        .assert_eq(&said.join("\n"));
}
