//! Temporary checkouts.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use expect_test::expect;
use tempfile::TempDir;

use crh_git::{
    BareRepository, CheckoutDifference, DifferenceKind, HiddenVariables, Repository, SnapshotScope,
    Store, TempCheckout,
};
use crh_testkit::Repo;

/// A repository with all kinds of tree entries, including forbidden ones.
fn repo() -> Repo {
    let repo = Repo::new();
    repo.write("src/a.rs", "fn a() {}\n");
    repo.write("src/dos.txt", "one\r\ntwo\r\n");
    repo.write("bin/run", "#!/bin/sh\n");
    let run = repo.path().join("bin/run");
    fs::set_permissions(run, fs::Permissions::from_mode(0o755)).unwrap();
    // Filters, line endings and export settings, which must not apply.
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

fn bare(repo: &Repo) -> BareRepository {
    BareRepository::new(&repo.path().join(".git"))
}

fn checkout(repo: &Repo) -> TempCheckout {
    TempCheckout::create(&bare(repo), &repo.id("HEAD")).unwrap()
}

/// Lists everything below a folder, one row each.
fn rows(folder: &Path) -> String {
    let mut rows = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            let relative_path = path.strip_prefix(folder).unwrap().display().to_string();
            let metadata = fs::symlink_metadata(&path).unwrap();
            if metadata.is_dir() {
                folders.push(path);
            } else if metadata.is_symlink() {
                rows.push(format!(
                    "{relative_path} -> {}\n",
                    fs::read_link(&path).unwrap().display()
                ));
            } else {
                let run = if metadata.permissions().mode() & 0o100 == 0 { "" } else { " (runs)" };
                let text = fs::read_to_string(&path).unwrap();
                rows.push(format!("{relative_path}{run} {text:?}\n"));
            }
        }
    }
    rows.sort_unstable();
    rows.concat()
}

fn differences(tree: &TempCheckout) -> String {
    let row = |CheckoutDifference { path, kind: what }: CheckoutDifference| {
        let path = String::from_utf8_lossy(&path).into_owned();
        match what {
            DifferenceKind::Text { before, after } => {
                let text = |bytes: Option<Vec<u8>>| bytes.map(|it| String::from_utf8(it).unwrap());
                format!("{path}: {:?} -> {:?}\n", text(before), text(after))
            }
            DifferenceKind::Other(what) => format!("{path}: {what}\n"),
        }
    };
    tree.differences().unwrap().into_iter().map(row).collect()
}

#[test]
fn checkout_is_exact_and_no_symlink_escapes() {
    let repo = repo();
    let tree = checkout(&repo);
    expect![[r##"
        .gitattributes "*.rs filter=evil text eol=crlf ident\n*.txt export-ignore\n"
        bin/run (runs) "#!/bin/sh\n"
        inside -> src/a.rs
        src/a.rs "fn a() {}\n"
        src/dos.txt "one\r\ntwo\r\n"
        src/up -> ../bin
    "##]]
    .assert_eq(&rows(tree.path()));
    let left_out = tree.skipped().iter();
    let left_out: String = left_out
        .map(|entry| format!("{}: {}\n", String::from_utf8_lossy(&entry.path), entry.reason))
        .collect();
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
fn all_differences_are_reported() {
    let repo = repo();
    let tree = checkout(&repo);
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
fn folders_are_removed_on_drop_or_by_the_next_process() {
    let repo = repo();
    let parent = TempDir::new().unwrap();
    let new = || TempCheckout::create_in(parent.path(), &bare(&repo), &repo.id("HEAD")).unwrap();
    let folders = || fs::read_dir(parent.path()).unwrap().count();
    let living = new();
    // Left by a killed process: its lock is free.
    let dead = parent.path().join("crh-tree-dead");
    fs::create_dir_all(dead.join("tree")).unwrap();
    fs::write(dead.join("lock"), "").unwrap();
    // A folder of another program, and a foreign symlink.
    let elsewhere: PathBuf = parent.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("lock"), "").unwrap();
    symlink(&elsewhere, parent.path().join("crh-tree-link")).unwrap();
    let other = new();
    assert!(!dead.exists() && elsewhere.join("lock").exists());
    assert_eq!(differences(&living), "", "a running process keeps its folder");
    assert_eq!(folders(), 4);
    drop((living, other));
    assert_eq!(folders(), 2);
}

#[test]
fn snapshot_can_be_checked_out() {
    let repo = repo();
    repo.write("src/a.rs", "fn half() {}\n");
    let folder = TempDir::new().unwrap();
    let repository = Repository::discover(repo.path()).unwrap();
    let store =
        Store::open(&folder.path().join("store"), &repository, HiddenVariables::default()).unwrap();
    let head = repo.id("HEAD");
    let snapshot = store.snapshot(SnapshotScope::WithUntracked, Some(&head)).unwrap();
    let before = repo.git(&["status", "--porcelain=v2", "--branch"]);
    let tree = TempCheckout::create(store.bare(), &snapshot).unwrap();
    assert_eq!(fs::read_to_string(tree.path().join("src/a.rs")).unwrap(), "fn half() {}\n");
    assert!(!tree.path().starts_with(repo.path()));
    assert_eq!(repo.git(&["status", "--porcelain=v2", "--branch"]), before);
    assert!(!repo.path().join("ran").exists(), "no filter has run");
}

#[test]
fn missing_commit_is_an_error() {
    let error = TempCheckout::create(&bare(&repo()), &"1".repeat(40)).unwrap_err();
    assert_eq!(error.to_string(), format!("there is no commit `{}`", "1".repeat(40)));
}
