//! Writes that a fixer may not make.

use std::fs;
use std::os::unix::fs::symlink;

use expect_test::expect;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::scene::{CART, ISSUES, NEW, OLD, Scene, edit, render, reports, tool_replies};
use crh_testkit::fake_model::{calls, calls_all};
use crh_testkit::{FakeModel, Repo};

fn write(path: &str) -> (&'static str, Value) {
    ("write_file", json!({ "path": path, "content": "x = 1\n" }))
}

#[tokio::test]
async fn foreign_paths_are_refused_and_counted() {
    let outside = TempDir::new().unwrap();
    let absolute = outside.path().join("written").display().to_string();
    let model = FakeModel::start().on(
        "fixer-1",
        [
            calls_all([
                write(&absolute),
                write("../written"),
                write("shop/../cart.py"),
                write("./cart.py"),
                write("other.py"),
                write(".git/hooks/post-checkout"),
                write(""),
                ("edit_file", json!({ "path": "other.py", "old": "1", "new": "2" })),
            ]),
            calls("read_worktree", json!({ "path": "../../etc/passwd" })),
            calls("delegate_review", json!({ "scopes": [] })),
            edit("cart.py", OLD, NEW),
            reports(&[(1, "done")]),
        ],
    );
    let scene = Scene::new(&model);
    let repair = scene.repair().await;
    expect![[r##"
        #1 done: It is done.
        #2 not done: the fixer did not report about it
        cart.py for {1}: OLD is NEW
        fixer-1 Completed
        ! 9 tool calls of the fixer were refused, the first one: `/written` is no path inside the repository: write it from the root, without `..`
    "##]].assert_eq(&render(&repair).replace(&absolute, "/written"));
    let messages = scene.refusals().replace(&absolute, "/written");
    expect![[r#"
        `/written` is no path inside the repository: write it from the root, without `..`
        `../written` is no path inside the repository: write it from the root, without `..`
        `shop/../cart.py` is no path inside the repository: write it from the root, without `..`
        `./cart.py` is no path inside the repository: write it from the root, without `..`
        `other.py` is none of your files: you may change `cart.py`, `label.py`, and nothing else
        `.git/hooks/post-checkout` is none of your files: you may change `cart.py`, `label.py`, and nothing else
        `` is no path inside the repository: write it from the root, without `..`
        `other.py` is none of your files: you may change `cart.py`, `label.py`, and nothing else
        `../../etc/passwd` is no path inside the repository: write it from the root, without `..`
    "#]].assert_eq(&messages);
    assert_eq!(repair.edits.len(), 1);
    assert!(!outside.path().join("written").exists());
}

#[tokio::test]
async fn symlink_is_neither_followed_nor_replaced() {
    let repo = Repo::from_fixture(CART);
    symlink("other.py", repo.path().join("link.py")).unwrap();
    symlink("/etc/passwd", repo.path().join("out.py")).unwrap();
    symlink("shop", repo.path().join("folder")).unwrap();
    repo.write("shop/a.py", "a = 1\n");
    repo.write("cart.py", "def total(lines):\n    return sum(lines) / len(lines)\n");
    repo.commit("links");
    let table = r#"a cart.py:2 P1 0.9 "An empty order divides by zero""#;
    let model = FakeModel::start().on(
        "fixer-1",
        [
            calls_all([write("link.py"), write("out.py"), write("folder/a.py"), write("folder")]),
            reports(&[(1, "not_done")]),
        ],
    );
    let files = ["cart.py", "link.py", "out.py", "folder/a.py", "folder"];
    let scene = Scene::from_repo(&model, repo, table).with_files(&files);
    scene.check(expect![[r#"
        #1 not done: It is not_done.
        fixer-1 Completed
        ! 4 tool calls of the fixer were refused, the first one: `link.py` is or lies behind a link: none is followed
    "#]]).await;
    expect![[r#"
        `link.py` is or lies behind a link: none is followed
        `out.py` cannot be changed: a link that leads out of the tree
        `folder/a.py` is or lies behind a link: none is followed
        `folder` is or lies behind a link: none is followed
    "#]]
    .assert_eq(&tool_replies(&model));
}

#[tokio::test]
async fn binary_and_large_files_are_refused() {
    let repo = Repo::new();
    repo.write("image.png", b"PNG\0one");
    repo.write("latin.py", b"name = '\xe9'\n");
    repo.write("large.py", "x = 1\n".repeat(200_000));
    repo.write("grows.py", format!("one\n{}", "x = 1\n".repeat(174_700)));
    repo.commit("what is not part of the change");
    repo.write("cart.py", "def total(lines):\n    return sum(lines) / len(lines)\n");
    repo.commit("change");
    let table = r#"a cart.py:2 P1 0.9 "An empty order divides by zero""#;
    let change = |path: &str| ("edit_file", json!({ "path": path, "old": "one", "new": "two" }));
    let grows = json!({ "path": "grows.py", "old": "one", "new": "x".repeat(1_000) });
    let model = FakeModel::start().on(
        "fixer-1",
        [
            calls_all([
                change("image.png"),
                change("latin.py"),
                change("large.py"),
                write("image.png"),
                ("edit_file", grows),
                ("write_file", json!({ "path": "new.py", "content": "a\0b" })),
            ]),
            reports(&[(1, "not_done")]),
        ],
    );
    let files = ["cart.py", "grows.py", "image.png", "large.py", "latin.py", "new.py"];
    let scene = Scene::from_repo(&model, repo, table).with_files(&files);
    scene
        .check(expect![[r#"
            #1 not done: It is not_done.
            fixer-1 Completed
            ! 4 tool calls of the fixer were refused, the first one: `image.png` is no text in UTF-8
        "#]])
        .await;
    expect![[r#"
        `image.png` is no text in UTF-8
        `latin.py` is no text in UTF-8
        `large.py` would have more than 1048576 bytes, which are too many for a fixer
        `image.png` is there already: `edit_file` changes it
        `grows.py` would have more than 1048576 bytes, which are too many for a fixer
        `content` has a NUL character, which no text has
    "#]]
    .assert_eq(&tool_replies(&model));
    assert_eq!(fs::read(scene.tree.path().join("image.png")).unwrap(), b"PNG\0one");
}

/// Changes that no fixer tool makes, but that would be detected.
async fn check_found(intrude: impl FnOnce(&std::path::Path), expected: &str) {
    let model =
        FakeModel::start().on("fixer-1", [edit("cart.py", OLD, NEW), reports(&[(1, "done")])]);
    let scene = Scene::from_repo(&model, Repo::from_fixture(CART), ISSUES);
    intrude(scene.tree.path());
    let repair = scene.repair().await;
    assert!(repair.edits.is_empty());
    let why = format!("it {expected}; all its work is rejected");
    let not_done = |number| format!("#{number} not done: the fixer failed: {why}\n");
    let expected = format!("{}{}fixer-1 Failed({why:?})\n", not_done(1), not_done(2));
    assert_eq!(render(&repair), expected);
}

#[tokio::test]
async fn unexpected_change_of_the_tree_rejects_the_repair() {
    let foreign = "changed `other.py`, which is not one of its files";
    check_found(|tree| fs::write(tree.join("other.py"), "SECRET = 2\n").unwrap(), foreign).await;
    check_found(|tree| fs::remove_file(tree.join("other.py")).unwrap(), foreign).await;
    let added = "changed `added.py`, which is not one of its files";
    check_found(|tree| fs::write(tree.join("added.py"), "").unwrap(), added).await;
    let replace = |tree: &std::path::Path| {
        fs::remove_file(tree.join("label.py")).unwrap();
        symlink("other.py", tree.join("label.py")).unwrap();
    };
    let link = "changed `label.py`, but not its text (it is no plain file any more)";
    check_found(replace, link).await;
    check_found(|tree| fs::remove_file(tree.join("label.py")).unwrap(), "deleted `label.py`").await;
    let empty = |tree: &std::path::Path| fs::write(tree.join("label.py"), "\n \r\n\t").unwrap();
    check_found(empty, "emptied `label.py`").await;
}
