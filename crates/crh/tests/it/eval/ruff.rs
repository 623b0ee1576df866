//! ruff as a baseline. A script replaces ruff.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use expect_test::expect;

use super::{Bench, TestCase, WRONG, programs};
use crate::root;
use crh_testkit::Output;

/// A folder for `PATH` with git, the programs that scripts need, and a `ruff` that runs `script`.
fn with_ruff(bench: &Bench, script: &str) -> PathBuf {
    let folder = programs(&bench.user);
    symlink(root().join("crates/crh-lint/tests/data/ruff"), folder.join("ruff")).unwrap();
    fs::write(folder.join("script"), script).unwrap();
    folder
}

fn run_eval(bench: &Bench, programs: &Path, args: &[&str]) -> Output {
    let args = [&["eval", "run", "suite", "--strategy", "static", "--out", "out"], args].concat();
    let output = bench.crh(&args).env("PATH", programs.to_str().unwrap()).run();
    assert_eq!(output.code, 0, "{}", output.stderr);
    output
}

/// ruff's row in a stored evaluation: name, expected, reported, matched, paired recall.
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

#[test]
fn ruff_baseline_counts_new_findings_only() {
    let bench = Bench::new();
    // In one case ruff reports a line that was there before; in the other, two new lines.
    let script = r#"found=$(grep -n -e round -e total | sed 's/:.*//')
    for n in $found; do
        printf '%s{"code": "F1", "message": "m", "location": {"row": %s}}' "$sep" "$n"; sep=,
    done > out; echo "[$(cat out)]""#;
    // If the suite has other languages, ruff is scored on Python only.
    let ruby = TestCase { id: "ruby-wrong", ..WRONG };
    bench.write_in("ruby", &ruby);
    // In a Python case without a changed Python file, ruff checks nothing.
    let labels = WRONG.labels.replace("bill.py", "bill.txt");
    let (base, head) = ([("bill.txt", WRONG.base[0].1)], [("bill.txt", WRONG.head[0].1)]);
    bench.write(&TestCase {
        id: "python-text",
        base: &base,
        head: &head,
        labels: &labels,
        ..WRONG
    });
    run_eval(&bench, &with_ruff(&bench, script), &[]);
    expect![[r#""ruff (Python only)": 2 expected, 2 reported, 1 matched, paired 1.0"#]]
        .assert_eq(&row(&bench).unwrap_or_default());
}

#[test]
fn missing_ruff_is_mentioned_only_with_verbose() {
    let bench = Bench::new();
    let programs = programs(&bench.user);
    let silent = run_eval(&bench, &programs, &[]);
    assert!(!silent.stderr.contains("ruff"), "{}", silent.stderr);
    assert_eq!(row(&bench), None);
    let verbose = run_eval(&bench, &programs, &["-v"]);
    let said: Vec<&str> = verbose.stderr.lines().filter(|line| line.contains("ruff")).collect();
    expect!["note: ruff is not installed, so it is missing among the baselines"]
        .assert_eq(&said.join("\n"));
}
