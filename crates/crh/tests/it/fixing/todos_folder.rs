//! The configured folder of todo files.

use super::*;

/// Sets the folder in the user's config.
fn with_folder(folder: &str) -> Desk {
    let desk = Desk::new();
    desk.user.write(".config/crh/config.toml", &format!("[todos]\ndir = \"{folder}\"\n"));
    desk
}

/// The todo files and the id file.
fn todos(desk: &Desk) -> Vec<String> {
    let is_todo = |name: &String| name.ends_with(".md") || name.ends_with(".highest-id");
    desk.files().into_keys().filter(is_todo).collect()
}

#[test]
fn todos_go_to_the_configured_folder() {
    let desk = with_folder("docs/todos");
    let output = desk.review(&says(&[unpaid()]), &["--mode", "autofix"]);
    assert_eq!(output.code, 1, "{}", output.shown());
    assert_eq!(
        todos(&desk),
        ["docs/todos/.highest-id", "docs/todos/001-ready-p1-a-refund-of-what-was-not-paid.md"]
    );
}

#[test]
fn change_does_not_choose_the_folder() {
    let desk = Desk::new();
    desk.repo.write("crh.toml", "[todos]\ndir = \".claude/commands\"\n");
    desk.repo.git(&["add", "crh.toml"]);
    desk.repo.git(&["commit", "--quiet", "--amend", "--no-edit"]);
    let output = desk.review(&says(&[unpaid()]), &["--mode", "autofix"]);
    assert_eq!(output.code, 1, "{}", output.shown());
    assert!(output.stderr.contains("earlier values of `todos.dir`"), "{}", output.shown());
    let todos = todos(&desk);
    assert!(todos.iter().all(|name| name.starts_with(".context/")), "{todos:?}");
    assert_eq!(todos.len(), 2, "{todos:?}");
}

/// Writes a todo while something else is in place of the folder.
fn check_barred(what: &str, bar: impl Fn(&Desk)) {
    let desk = with_folder("docs/todos");
    bar(&desk);
    let before = desk.files();
    let output = desk.review(&says(&[unpaid()]), &["--mode", "autofix"]);
    assert_eq!(output.code, 1, "{what}: {}", output.shown());
    let said = "\nerror: todo files not written: `REPO/docs` is a symlink or a file\n";
    assert!(desk.shown(&output).contains(said), "{what}: {}", output.shown());
    assert_eq!(desk.files(), before, "{what}");
}

#[test]
fn file_or_symlink_instead_of_folder_is_reported() {
    check_barred("a file", |desk| desk.repo.write("docs", "mine\n"));
    let elsewhere = tempfile::tempdir().unwrap();
    check_barred("a link", |desk| {
        std::os::unix::fs::symlink(elsewhere.path(), desk.repo.path().join("docs")).unwrap();
    });
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}
