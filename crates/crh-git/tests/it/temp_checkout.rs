//! The files of a commit in a folder that is thrown away.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use expect_test::expect;
use tempfile::TempDir;

use crh_git::{Bare, Difference, Differs, Repository, Snapshot, Store, Withheld, WorkTree};
use crh_testkit::Repo;

/// A repository with everything that a tree can hold, and some that it must not.
fn repo() -> Repo {
    let repo = Repo::new();
    repo.write("src/a.rs", "fn a() {}\n");
    repo.write("src/dos.txt", "one\r\ntwo\r\n");
    repo.write("bin/run", "#!/bin/sh\n");
    let run = repo.path().join("bin/run");
    fs::set_permissions(run, fs::Permissions::from_mode(0o755)).unwrap();
    // Filters, line ends and export settings of the repository, none of which count.
    repo.write(".gitattributes", "*.rs filter=evil text eol=crlf ident\n*.txt export-ignore\n");
    for (link, target) in [
        ("inside", "src/a.rs"),
        ("src/up", "../bin"),
        ("out", "../../secret"),
        ("absolute", "/etc/passwd"),
        ("src/back", "up/../../.."),
    ] {
        symlink(target, repo.path().join(link)).unwrap();
    }
    repo.commit("all");
    let id = repo.id("HEAD");
    repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{id},module")]);
    repo.git(&["commit", "--quiet", "--message", "a submodule"]);
    repo.git(&["config", "filter.evil.smudge", "touch ran; cat"]);
    repo.git(&["config", "core.hooksPath", "bin"]);
    repo
}

fn bare(repo: &Repo) -> Bare {
    Bare::new(&repo.path().join(".git"))
}

fn laid_out(repo: &Repo) -> WorkTree {
    WorkTree::of(&bare(repo), &repo.id("HEAD")).unwrap()
}

/// Everything below a folder, a row each.
fn rows(folder: &Path) -> String {
    let mut rows = Vec::new();
    let mut left = vec![folder.to_owned()];
    while let Some(at) = left.pop() {
        for entry in fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            let shown = path.strip_prefix(folder).unwrap().display().to_string();
            let metadata = fs::symlink_metadata(&path).unwrap();
            if metadata.is_dir() {
                left.push(path);
            } else if metadata.is_symlink() {
                rows.push(format!("{shown} -> {}\n", fs::read_link(&path).unwrap().display()));
            } else {
                let run = if metadata.permissions().mode() & 0o100 == 0 { "" } else { " (runs)" };
                let text = fs::read_to_string(&path).unwrap();
                rows.push(format!("{shown}{run} {text:?}\n"));
            }
        }
    }
    rows.sort_unstable();
    rows.concat()
}

fn differences(tree: &WorkTree) -> String {
    let row = |Difference { path, what }: Difference| {
        let path = String::from_utf8_lossy(&path).into_owned();
        match what {
            Differs::Text { before, after } => {
                let text = |it: Option<Vec<u8>>| it.map(|it| String::from_utf8(it).unwrap());
                format!("{path}: {:?} -> {:?}\n", text(before), text(after))
            }
            Differs::More(what) => format!("{path}: {what}\n"),
        }
    };
    tree.differences().unwrap().into_iter().map(row).collect()
}

#[test]
fn a_tree_is_laid_out_byte_for_byte_and_nothing_in_it_leads_out() {
    let repo = repo();
    let tree = laid_out(&repo);
    expect![[r##"
        .gitattributes "*.rs filter=evil text eol=crlf ident\n*.txt export-ignore\n"
        bin/run (runs) "#!/bin/sh\n"
        inside -> src/a.rs
        src/a.rs "fn a() {}\n"
        src/dos.txt "one\r\ntwo\r\n"
        src/up -> ../bin
    "##]]
    .assert_eq(&rows(tree.path()));
    let left_out = tree.left_out().iter();
    let left_out: String =
        left_out.map(|it| format!("{}: {}\n", String::from_utf8_lossy(&it.path), it.why)).collect();
    expect![[r#"
        absolute: a link that leads out of the tree
        module: its content is in another repository
        out: a link that leads out of the tree
        src/back: a link that leads out of the tree
    "#]]
    .assert_eq(&left_out);
    assert_eq!(differences(&tree), "");
}

#[test]
fn everything_that_differs_afterwards_is_told() {
    let repo = repo();
    let tree = laid_out(&repo);
    let at = |path: &str| tree.path().join(path);
    fs::write(at("src/a.rs"), "fn b() {}\n").unwrap();
    fs::remove_file(at("src/dos.txt")).unwrap();
    fs::create_dir_all(at("new/empty")).unwrap();
    fs::write(at("new/file"), "").unwrap();
    fs::set_permissions(at("bin/run"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::remove_file(at("inside")).unwrap();
    symlink("bin/run", at("inside")).unwrap();
    symlink("/etc", at("etc")).unwrap();
    fs::write(at("out"), "where the tree has a link that was left out").unwrap();
    fs::create_dir(at(".git")).unwrap();
    fs::write(at(".git/config"), "").unwrap();
    expect![[r#"
        .git/config: None -> Some("")
        bin/run: its mode is another one
        etc: it is no plain file
        inside: the link leads elsewhere
        new/file: None -> Some("")
        out: the tree has something else there
        src/a.rs: Some("fn a() {}\n") -> Some("fn b() {}\n")
        src/dos.txt: Some("one\r\ntwo\r\n") -> None
    "#]]
    .assert_eq(&differences(&tree));
}

#[test]
fn the_folder_goes_with_its_value_and_those_of_the_dead_with_the_next() {
    let repo = repo();
    let parent = TempDir::new().unwrap();
    let new = || WorkTree::below(parent.path(), &bare(&repo), &repo.id("HEAD")).unwrap();
    let folders = || fs::read_dir(parent.path()).unwrap().count();
    let living = new();
    // What a process leaves that was killed: its lock is free.
    let dead = parent.path().join("crh-tree-dead");
    fs::create_dir_all(dead.join("tree")).unwrap();
    fs::write(dead.join("lock"), "").unwrap();
    // What another program has there, and what a stranger's link leads to.
    let elsewhere: PathBuf = parent.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("lock"), "").unwrap();
    symlink(&elsewhere, parent.path().join("crh-tree-link")).unwrap();
    let other = new();
    assert!(!dead.exists() && elsewhere.join("lock").exists());
    assert_eq!(differences(&living), "", "whoever lives keeps its folder");
    assert_eq!(folders(), 4);
    drop((living, other));
    assert_eq!(folders(), 2);
}

#[test]
fn what_is_not_committed_is_laid_out_from_the_private_store() {
    let repo = repo();
    repo.write("src/a.rs", "fn half() {}\n");
    let folder = TempDir::new().unwrap();
    let repository = Repository::discover(repo.path()).unwrap();
    let store =
        Store::open(&folder.path().join("store"), &repository, Withheld::default()).unwrap();
    let head = repo.id("HEAD");
    let snapshot = store.snapshot(Snapshot::WithUntracked, Some(&head)).unwrap();
    let before = repo.git(&["status", "--porcelain=v2", "--branch"]);
    let tree = WorkTree::of(store.bare(), &snapshot).unwrap();
    assert_eq!(fs::read_to_string(tree.path().join("src/a.rs")).unwrap(), "fn half() {}\n");
    assert!(!tree.path().starts_with(repo.path()));
    assert_eq!(repo.git(&["status", "--porcelain=v2", "--branch"]), before);
    assert!(!repo.path().join("ran").exists(), "no filter has run");
}

#[test]
fn a_commit_that_is_not_there_is_an_error() {
    let error = WorkTree::of(&bare(&repo()), &"1".repeat(40)).unwrap_err();
    assert_eq!(error.to_string(), format!("there is no commit `{}`", "1".repeat(40)));
}
