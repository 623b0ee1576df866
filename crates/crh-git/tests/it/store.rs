//! The private store: the user's repository is never written.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use crh_git::{EMPTY_TREE, HiddenVariables, OpenError, Repository, SnapshotScope, Store};
use crh_testkit::Repo;

fn repo() -> Repo {
    Repo::from_fixture(
        "
        //- a.rs
        fn a() {}
        //- kept.rs
        fn kept() {}
        //- head
        //- a.rs
        fn a() { changed() }
        ",
    )
}

fn open(repo: &Repo) -> (TempDir, Store) {
    let folder = TempDir::new().unwrap();
    let repository = Repository::discover(repo.path()).unwrap();
    let store =
        Store::open(&folder.path().join("store"), &repository, HiddenVariables::default()).unwrap();
    (folder, store)
}

#[test]
fn read_only_index_can_be_snapshotted() {
    use std::os::unix::fs::PermissionsExt;
    let repo = repo();
    repo.write("a.rs", "fn a() { changed_again() }\n");
    let index = repo.path().join(".git/index");
    fs::set_permissions(&index, fs::Permissions::from_mode(0o444)).unwrap();
    let (_folder, store) = open(&repo);
    let head = repo.id("HEAD");
    let first = store.snapshot(SnapshotScope::Tracked, Some(&head)).unwrap();
    assert_ne!(first, head);
    assert_eq!(store.snapshot(SnapshotScope::Tracked, Some(&head)).unwrap(), first);
    assert_eq!(fs::metadata(&index).unwrap().permissions().mode() & 0o777, 0o444);
}

#[test]
fn opening_a_store_removes_stale_locks() {
    fn check(open: impl Fn(&Path) -> Store) {
        let folder = TempDir::new().unwrap();
        let folder = folder.path();
        drop(open(folder));
        let before = bytes(folder);
        fs::create_dir_all(folder.join("refs/remotes/origin")).unwrap();
        let beside_refs = ["refs/crh%2Fhead.lock", "refs/remotes/origin/main.lock"];
        for lock in
            ["shallow.lock", "packed-refs.lock", "config.lock"].into_iter().chain(beside_refs)
        {
            fs::write(folder.join(lock), "").unwrap();
        }
        drop(open(folder));
        assert_eq!(bytes(folder), before);
    }
    let repo = repo();
    let repository = Repository::discover(repo.path()).unwrap();
    check(|folder| Store::open(folder, &repository, HiddenVariables::default()).unwrap());
    check(|folder| Store::open_standalone(folder).unwrap());
}

/// Contents of all files below a folder.
fn bytes(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => all.extend(bytes(&path)),
            false => drop(all.insert(path.clone(), fs::read(&path).unwrap())),
        }
    }
    all
}

#[test]
fn repository_is_found_from_any_subfolder() {
    let repo = repo();
    repo.write("deep/er/file", "");
    let root = fs::canonicalize(repo.path()).unwrap();
    let repository = Repository::discover(&repo.path().join("deep/er")).unwrap();
    assert_eq!(repository.work_tree, Some(root.clone()));
    assert_eq!((repository.git_dir, repository.common_dir), (root.join(".git"), root.join(".git")));
    let outside = TempDir::new().unwrap();
    let error = Repository::discover(outside.path()).unwrap_err();
    assert!(matches!(error, OpenError::NotARepository(_)), "{error}");
}

#[test]
fn working_tree_set_by_core_worktree_is_refused() {
    let repo = repo();
    repo.write("part/file", "");
    let repository = Repository::discover(repo.path()).unwrap();
    let outside = TempDir::new().unwrap();
    for folder in [outside.path(), repo.path().parent().unwrap()] {
        repo.git(&["config", "core.worktree", folder.to_str().unwrap()]);
        let store = TempDir::new().unwrap();
        let opened = Store::open(store.path(), &repository, HiddenVariables::default());
        let error = opened.unwrap_err().to_string();
        assert!(error.contains("`core.worktree`"), "{error}");
    }
}

#[test]
fn diff_ignores_configuration_and_attributes() {
    let repo = repo();
    let (_folder, store) = open(&repo);
    let plain = store.bare().diff("HEAD~1", "HEAD");
    assert!(plain.is_err(), "the store has no refs: everything is pinned");
    let (base, head) = (store.commit("HEAD~1").unwrap(), store.commit("HEAD").unwrap());
    let plain = store.bare().diff(&base, &head).unwrap();
    for setting in [
        ["diff.noprefix", "true"],
        ["diff.context", "1"],
        ["diff.external", "echo hijacked"],
        ["color.ui", "always"],
        ["diff.algorithm", "patience"],
    ] {
        repo.git(&["config", setting[0], setting[1]]);
    }
    fs::write(repo.path().join(".git/info/attributes"), "*.rs -diff\n").unwrap();
    assert_eq!(store.bare().diff(&base, &head).unwrap(), plain);
    let text = String::from_utf8(plain).unwrap();
    assert!(text.starts_with("diff --git a/a.rs b/a.rs\n"), "{text}");
}

#[test]
fn snapshot_of_dirty_checkout_touches_no_user_file() {
    let repo = repo();
    repo.write("a.rs", "fn a() { staged() }\n");
    repo.git(&["add", "a.rs"]);
    repo.write("a.rs", "fn a() { unstaged() }\n");
    repo.write("new.rs", "fn new() {}\n");
    let before = bytes(repo.path());
    let (_folder, store) = open(&repo);
    let head = store.commit("HEAD").unwrap();
    let added = |scope: SnapshotScope| {
        let snapshot = store.snapshot(scope, Some(&head)).unwrap();
        assert_eq!(store.snapshot(scope, Some(&head)).unwrap(), snapshot, "the same every time");
        let diff = String::from_utf8(store.bare().diff(&head, &snapshot).unwrap()).unwrap();
        let added = diff.lines().filter(|line| line.starts_with('+') && !line.starts_with("+++"));
        added.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(added(SnapshotScope::Staged), ["+fn a() { staged() }"]);
    assert_eq!(added(SnapshotScope::Tracked), ["+fn a() { unstaged() }"]);
    assert_eq!(added(SnapshotScope::WithUntracked), ["+fn a() { unstaged() }", "+fn new() {}"]);
    assert_eq!(Repository::discover(repo.path()).unwrap().untracked().unwrap(), [b"new.rs"]);
    assert_eq!(bytes(repo.path()), before, "byte for byte");
}

#[test]
fn snapshot_of_clean_checkout_is_its_commit() {
    let repo = repo();
    let (_folder, store) = open(&repo);
    let head = repo.id("HEAD");
    assert_eq!(store.snapshot(SnapshotScope::WithUntracked, Some(&head)).unwrap(), head);
}

#[test]
fn snapshot_keeps_the_times_of_objects() {
    let repo = repo();
    let objects = || {
        let is_object = |path: &PathBuf| path.to_string_lossy().contains(".git/objects/");
        let paths = bytes(repo.path()).into_keys().filter(is_object);
        paths.map(|path| repo.path().join(path)).collect::<Vec<_>>()
    };
    let long_ago = std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    for object in objects() {
        fs::set_permissions(&object, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
        fs::File::options().append(true).open(&object).unwrap().set_modified(long_ago).unwrap();
    }
    let (_folder, store) = open(&repo);
    let head = repo.id("HEAD");
    for scope in [SnapshotScope::Staged, SnapshotScope::Tracked, SnapshotScope::WithUntracked] {
        store.snapshot(scope, Some(&head)).unwrap();
    }
    // The index does not tell whether a file of the same second is unchanged.
    let times = objects().into_iter().map(|path| fs::metadata(path).unwrap().modified().unwrap());
    assert!(times.into_iter().all(|time| time == long_ago));
}

#[test]
fn racy_change_of_equal_size_is_detected() {
    let repo = repo();
    let head = repo.id("HEAD");
    let (file, index) = (repo.path().join("a.rs"), repo.path().join(".git/index"));
    let then = fs::metadata(&index).unwrap().modified().unwrap() - Duration::from_secs(60);
    let back_to_then = |path: &Path| {
        fs::File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
    };
    // As if everything happened within one clock tick, so that only the content differs.
    repo.git(&["config", "core.trustctime", "false"]);
    back_to_then(&file);
    repo.git(&["update-index", "--refresh"]);
    back_to_then(&index);
    repo.write("a.rs", "fn a() { CHANGED() }\n");
    back_to_then(&file);
    let (_folder, store) = open(&repo);
    assert_ne!(store.snapshot(SnapshotScope::Tracked, Some(&head)).unwrap(), head);
}

#[test]
fn repository_without_commits_can_be_snapshotted() {
    let repo = Repo::new();
    repo.write("a.rs", "fn a() {}\n");
    let (_folder, store) = open(&repo);
    let head = store.snapshot(SnapshotScope::WithUntracked, None).unwrap();
    let diff = String::from_utf8(store.bare().diff(EMPTY_TREE, &head).unwrap()).unwrap();
    assert!(diff.contains("+fn a() {}"), "{diff}");
}

#[test]
fn checkout_without_files_can_be_snapshotted() {
    let repo = Repo::new();
    repo.write("a.rs", "fn a() {}\n");
    repo.commit("a");
    repo.git(&["rm", "-q", "a.rs"]);
    repo.commit("empty");
    let (_folder, store) = open(&repo);
    let head = repo.id("HEAD");
    for scope in [SnapshotScope::Staged, SnapshotScope::Tracked, SnapshotScope::WithUntracked] {
        assert_eq!(store.snapshot(scope, Some(&head)).unwrap(), head, "{scope:?}");
    }
}

#[test]
fn snapshot_normalises_line_endings_like_git() {
    let repo = repo();
    repo.git(&["config", "core.autocrlf", "true"]);
    repo.write("a.rs", "fn a() { changed() }\r\n");
    let (_folder, store) = open(&repo);
    let head = repo.id("HEAD");
    assert_eq!(store.snapshot(SnapshotScope::Tracked, Some(&head)).unwrap(), head);
}

#[test]
fn attributes_of_a_branch_do_not_change_its_committed_bytes() {
    for (attribute, content) in [
        ("ident", b"x = '$Id: key $'\n".as_slice()),
        ("working-tree-encoding=UTF-16LE", b"x = 'key' # \xff\n"),
    ] {
        let repo = repo();
        repo.write(".gitattributes", format!("*.py {attribute}\n"));
        repo.commit("attributes");
        repo.write("content", content);
        let id = repo.git(&["hash-object", "-w", "--no-filters", "content"]);
        let entry = format!("100644,{},a/k.py", String::from_utf8_lossy(&id).trim());
        repo.git(&["update-index", "--add", "--cacheinfo", &entry]);
        repo.git(&["commit", "--quiet", "--message", "k"]);
        // Like `git switch`: the bytes that git writes, with a time that differs from the index.
        repo.git(&["checkout-index", "--force", "--all"]);
        let head = repo.id("HEAD");
        let (_folder, store) = open(&repo);
        let snapshot = store.snapshot(SnapshotScope::Tracked, Some(&head)).unwrap();
        assert_eq!(snapshot, head, "{attribute}");
        // An edited file has changed.
        repo.write("a/k.py", "y = 2\n");
        assert_ne!(store.snapshot(SnapshotScope::Tracked, Some(&head)).unwrap(), head);
    }
}

#[test]
fn shallow_boundary_is_kept() {
    let clone = repo().cloned(&["--depth=1"]);
    let (_folder, store) = open(&clone);
    let head = store.commit("HEAD").unwrap();
    let log = store.bare().git().text(["log", "--format=%s", &head]).unwrap();
    assert_eq!(log, "change", "the missing parent is no error");
    assert_eq!(store.commit("HEAD~1"), None);
}

#[test]
fn alternate_may_have_any_folder_name() {
    let parent = TempDir::new().unwrap();
    let folder = parent.path().join("a:b\"c\\d # é");
    let original = repo();
    original.git(&["clone", "--quiet", ".", folder.to_str().unwrap()]);
    let repository = Repository::discover(&folder).unwrap();
    let store =
        Store::open(&parent.path().join("store"), &repository, HiddenVariables::default()).unwrap();
    fs::write(folder.join("a.rs"), "fn dirty() {}\n").unwrap();
    let head = original.id("HEAD");
    let snapshot = store.snapshot(SnapshotScope::Tracked, Some(&head)).unwrap();
    assert!(!store.bare().diff(&head, &snapshot).unwrap().is_empty());
}

#[test]
fn lfs_filter_runs_and_caches_in_the_store() {
    let repo = repo();
    // A stand-in for Git LFS: a filter commits pointers and keeps copies.
    let storage = r#"mkdir -p "$(git config lfs.storage || echo .git/lfs)""#;
    let clean = format!(r#"{storage}; printf 'pointer %s\n' "$(wc -c)""#);
    repo.git(&["config", "filter.lfs.clean", &clean]);
    repo.write(".gitattributes", "*.bin filter=lfs\n");
    repo.write("large.bin", "content\n");
    let head = repo.commit("a large file");
    fs::remove_dir_all(repo.path().join(".git/lfs")).unwrap();
    // The file has a new time and the same content. Only the filter can tell that.
    repo.write("large.bin", "content\n");
    let (_folder, store) = open(&repo);
    assert_eq!(store.snapshot(SnapshotScope::Tracked, Some(&head)).unwrap(), head);
    assert!(!repo.path().join(".git/lfs").exists());
}

#[test]
fn shallow_boundary_follows_the_users_clone() {
    let repo = Repo::new();
    for text in ["one", "two", "three"] {
        repo.write("file", text);
        repo.commit(text);
    }
    let clone = repo.cloned(&["--depth=2"]);
    let folder = TempDir::new().unwrap();
    let log = |clone: &Repo| {
        let repository = Repository::discover(clone.path()).unwrap();
        let store = Store::open(folder.path(), &repository, HiddenVariables::default()).unwrap();
        store.bare().git().text(["log", "--format=%s", &clone.id("HEAD")]).unwrap()
    };
    assert_eq!(log(&clone), "three\ntwo");
    // The clone gets shallower: the parents still exist in the object store, but not their trees.
    for text in ["four", "five"] {
        repo.write("file", text);
        repo.commit(text);
    }
    clone.git(&["fetch", "--quiet", "--depth=1"]);
    clone.git(&["reset", "--quiet", "--hard", "origin/main"]);
    clone.git(&["reflog", "expire", "--expire=now", "--all"]);
    clone.git(&["gc", "--quiet", "--prune=now"]);
    assert_eq!(log(&clone), "five");
    clone.git(&["fetch", "--quiet", "--unshallow"]);
    assert_eq!(log(&clone), "five\nfour\nthree\ntwo\none");
}

#[test]
fn diff_over_the_limit_is_an_error() {
    let repo = repo();
    let text = "a line of the text\n".repeat(600_000);
    for name in ["a.txt", "b.txt", "c.txt"] {
        repo.write(name, &text);
    }
    let base = repo.id("HEAD");
    let head = repo.commit("large");
    let (_folder, store) = open(&repo);
    let error = store.bare().diff(&base, &head).unwrap_err();
    assert_eq!(error.to_string(), "`git diff` printed more than 32 MB, the limit");
}

#[test]
fn change_with_deep_folders_names_the_depth() {
    let repo = repo();
    let base = repo.id("HEAD");
    let blob = String::from_utf8(repo.git(&["rev-parse", "HEAD:a.rs"])).unwrap();
    let entry = format!("100644,{},{}a", blob.trim(), "d/".repeat(600));
    repo.git(&["update-index", "--add", "--cacheinfo", &entry]);
    repo.git(&["commit", "--quiet", "--message", "deep"]);
    let (_folder, store) = open(&repo);
    let error = store.bare().diff(&base, &repo.id("HEAD")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the change has folders that are more than 500 levels deep, the limit"
    );
}

#[test]
fn store_with_unusual_commit_is_not_damaged() {
    let repo = repo();
    let (folder, store) = open(&repo);
    drop(store);
    let store = folder.path().join("store");
    let commit = folder.path().join("commit");
    let text = format!("tree {EMPTY_TREE}\nauthor a 1 +0000\ncommitter a <a> 1 +0000\n\nx\n");
    fs::write(&commit, text).unwrap();
    let (git_dir, file) = (store.to_str().unwrap(), commit.to_str().unwrap());
    let hash = ["hash-object", "-t", "commit", "-w", "--literally", file];
    repo.git(&[&["--git-dir", git_dir], &hash[..]].concat());
    assert!(!Store::delete_if_damaged(&store).unwrap());
    assert!(store.join("HEAD").exists());
}
