use std::sync::Barrier;

use expect_test::{Expect, expect};
use serde_json::json;
use tempfile::TempDir;

use super::super::tests_support::{issue, key, report};
use super::*;
use crate::config::hand_off::TodoFolder;
use crh_review::report::{AppliedFix, FixOutcome};

fn as_it_is(text: &str) -> String {
    text.to_owned()
}

fn root() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn folder(root: &TempDir) -> PathBuf {
    root.path().join(TodoFolder::default().path())
}

fn write_in(root: &TempDir, report: &Report) -> Result<Vec<PathBuf>, Failure> {
    write_masked(root.path(), TodoFolder::default().path(), report, &as_it_is)
}

fn names(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| format!("{}\n", path.file_name().unwrap().display())).collect()
}

fn refused(root: &TempDir, report: &Report, expected: Expect) {
    let failure = write_in(root, report).unwrap_err();
    let said = format!("{:#}\nhint: {}\n", failure.error, failure.hint.unwrap_or_default());
    expected.assert_eq(&said.replace(&root.path().display().to_string(), "ROOT"));
}

#[test]
fn only_open_downstream_issues_become_todos() {
    let root = root();
    let all = report(vec![
        issue(1, json!({"severity": "P0"})),
        issue(2, json!({"severity": "P2", "autofix_class": "gated_auto"})),
        issue(3, json!({"severity": "P3", "autofix_class": "safe_auto"})),
        issue(4, json!({"owner": "human", "queue": "report"})),
        issue(5, json!({"owner": "release", "queue": "report"})),
        issue(6, json!({"owner": "review-fixer", "autofix_class": "safe_auto", "queue": "fixer"})),
        issue(7, json!({"autofix_class": "advisory", "queue": "report"})),
        issue(8, json!({"pre_existing": true})),
        issue(9, json!({})),
    ]);
    let (description, files) = (String::new(), Vec::new());
    let fixed = AppliedFix {
        number: 9,
        description,
        files,
        outcome: FixOutcome::Done,
        ..AppliedFix::default()
    };
    let all = Report { applied_fixes: vec![fixed], ..all };
    expect![[r#"
        001-ready-p1-trouble-1.md
        002-ready-p2-trouble-2.md
        003-ready-p3-trouble-3.md
    "#]]
    .assert_eq(&names(&write_in(&root, &all).unwrap()));
}

#[test]
fn no_folder_is_created_without_todos() {
    let root = root();
    assert_eq!(write_in(&root, &report(Vec::new())).unwrap(), [] as [PathBuf; 0]);
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
}

#[test]
fn issue_has_one_todo_in_any_status() {
    let root = root();
    let first = report(vec![issue(1, json!({})), issue(2, json!({}))]);
    let paths = write_in(&root, &first).unwrap();
    let before = fs::read_to_string(&paths[0]).unwrap();
    let complete = folder(&root).join("001-complete-p1-trouble-1.md");
    fs::rename(&paths[0], &complete).unwrap();
    let again = report(vec![issue(1, json!({"title": "Other words"})), issue(3, json!({}))]);
    expect!["003-ready-p1-trouble-3.md\n"].assert_eq(&names(&write_in(&root, &again).unwrap()));
    assert_eq!(fs::read_to_string(&complete).unwrap(), before);
    let twice = report(vec![issue(4, json!({})), issue(5, json!({"dedupe_key": key(4)}))]);
    expect!["004-ready-p1-trouble-4.md\n"].assert_eq(&names(&write_in(&root, &twice).unwrap()));
}

#[test]
fn next_id_is_the_highest_ever_used_plus_one() {
    let root = root();
    fs::create_dir_all(root.path().join("todos")).unwrap();
    fs::create_dir_all(folder(&root)).unwrap();
    for name in ["todos/041-pending-p2-old.md", "todos/20260101123456-notes.md", "todos/7.md"] {
        fs::write(root.path().join(name), "").unwrap();
    }
    fs::create_dir(folder(&root).join("050-a-folder")).unwrap();
    let write = |number| write_in(&root, &report(vec![issue(number, json!({}))])).unwrap();
    let path = write(1);
    expect!["051-ready-p1-trouble-1.md\n"].assert_eq(&names(&path));
    fs::remove_file(&path[0]).unwrap();
    fs::remove_dir(folder(&root).join("050-a-folder")).unwrap();
    expect!["052-ready-p1-trouble-1.md\n"].assert_eq(&names(&write(1)));
    fs::write(folder(&root).join("1234-pending-p3-by-hand.md"), "").unwrap();
    expect!["1235-ready-p1-trouble-2.md\n"].assert_eq(&names(&write(2)));
}

#[test]
fn todos_are_deterministic_and_mask_secrets() {
    let said = report(vec![issue(1, json!({"why_it_matters": "It prints hunter2."}))]);
    let text = || {
        let root = root();
        let mask = |text: &str| text.replace("hunter2", "***");
        let paths = write_masked(root.path(), TodoFolder::default().path(), &said, &mask).unwrap();
        fs::read_to_string(&paths[0]).unwrap()
    };
    assert_eq!(text(), text());
    assert!(text().contains("It prints ***."), "{}", text());
}

#[test]
fn unwritable_todos_report_the_reason() {
    let one = report(vec![issue(1, json!({}))]);
    let linked = root();
    let elsewhere = root();
    std::os::unix::fs::symlink(elsewhere.path(), linked.path().join(".context")).unwrap();
    refused(
        &linked,
        &one,
        expect![[r#"
        `ROOT/.context` is a symlink or a file
        hint: make it a folder, or set another one with `dir` in `[todos]`
    "#]],
    );
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    let odd = root();
    fs::create_dir_all(folder(&odd)).unwrap();
    fs::write(folder(&odd).join(HIGHEST), "many\n").unwrap();
    refused(
        &odd,
        &one,
        expect![[r#"
        `ROOT/.context/compound-engineering/todos/.highest-id` contains no id
        hint: write the highest todo id ever used into it
    "#]],
    );
    let full = root();
    fs::create_dir_all(folder(&full)).unwrap();
    fs::write(folder(&full).join("999999999-ready-p1-x.md"), "").unwrap();
    refused(
        &full,
        &one,
        expect![[r#"
        no todo id is left in `ROOT/.context/compound-engineering/todos`
        hint: rename the todo that starts with 999999999, and delete `.highest-id`
    "#]],
    );
}

#[test]
fn concurrent_writers_use_no_id_twice() {
    const WRITERS: u32 = 8;
    const EACH: u32 = 6;
    let root = root();
    let begin = Barrier::new(WRITERS as usize);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (root, begin) = (&root, &begin);
            scope.spawn(move || {
                // All writers share the first issue; the others are unique.
                let own = (1..EACH).map(|at| issue(writer * 100 + at + 1, json!({})));
                let issues = std::iter::once(issue(1, json!({}))).chain(own).collect();
                begin.wait();
                write_in(root, &report(issues)).unwrap();
            });
        }
    });
    let taken = ExistingTodos::load(&folder(&root), &root.path().join(LEGACY)).unwrap();
    let todos = WRITERS * (EACH - 1) + 1;
    assert_eq!(taken.keys.len(), todos as usize);
    assert_eq!(taken.highest, u64::from(todos));
    let ids = fs::read_dir(folder(&root)).unwrap();
    let ids = ids.filter_map(|entry| id_of(&entry.unwrap().file_name().to_string_lossy()));
    let mut ids: Vec<u64> = ids.collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=u64::from(todos)).collect::<Vec<_>>());
    let drafts = fs::read_dir(folder(&root)).unwrap();
    let drafts = drafts
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with(DRAFT));
    assert_eq!(drafts.count(), 0);
}
