//! A bundle has the same bytes from every kind of clone and contains what tools read.

use std::collections::BTreeSet;
use std::fs;

use tempfile::TempDir;

use crh_git::{
    AttributeState, BundleError, Git, HiddenVariables, Objects, ReadError, Repository, Store,
    attribute_objects, create_bundle, read_attributes, unbundle,
};
use crh_testkit::Repo;

fn repo() -> Repo {
    let repo = Repo::new();
    for number in 0..60 {
        repo.write("a.txt", format!("{number}\n"));
        repo.write(&format!("dir/{number}.txt"), "same content\n");
        repo.commit(&format!("commit {number}"));
    }
    repo
}

fn bundle_of(repo: &Repo, base: &str, head: &str) -> Vec<u8> {
    bundle_with(repo, base, head, &BTreeSet::new())
}

fn bundle_with(repo: &Repo, base: &str, head: &str, also: &BTreeSet<String>) -> Vec<u8> {
    let folder = TempDir::new().unwrap();
    let repository = Repository::discover(repo.path()).unwrap();
    let store = Store::open(folder.path(), &repository, HiddenVariables::default()).unwrap();
    create_bundle(store.bare(), base, head, also).unwrap()
}

#[test]
fn bundle_is_the_same_for_every_kind_of_clone() {
    let repo = repo();
    let (base, head) = (repo.id("HEAD~3"), repo.id("HEAD"));
    let bytes = bundle_of(&repo, &base, &head);
    let bare = repo.cloned(&["--bare"]);
    // The base, 49 commits before it, and three of the change.
    let shallow = repo.cloned(&["--depth=53"]);
    assert_eq!(bundle_of(&bare, &base, &head), bytes);
    assert_eq!(bundle_of(&shallow, &base, &head), bytes);
    repo.git(&["gc", "--quiet", "--aggressive"]);
    assert_eq!(bundle_of(&repo, &base, &head), bytes);
    let file = TempDir::new().unwrap();
    fs::write(file.path().join("b"), &bytes).unwrap();
    let path = file.path().join("b").display().to_string();
    repo.git(&["bundle", "verify", "--quiet", &path]);
}

#[test]
fn bundle_is_readable_without_the_repository() {
    let repo = repo();
    let (base, head) = (repo.id("HEAD~3"), repo.id("HEAD"));
    let bytes = bundle_of(&repo, &base, &head);
    drop(repo);
    let folder = TempDir::new().unwrap();
    unbundle(&bytes, folder.path()).unwrap();
    let objects = Objects::open(folder.path()).unwrap();
    assert_eq!(objects.file(&base, "a.txt").unwrap(), b"56\n");
    assert_eq!(objects.file(&head, "dir/0.txt").unwrap(), b"same content\n");
}

/// A change on a branch, and a newer `main` with `.gitattributes` files and other files.
fn diverged_repo() -> Repo {
    let repo = Repo::new();
    repo.write("made/here/a.py", "1\n");
    repo.write("linked/a.py", "1\n");
    repo.commit("base");
    repo.git(&["checkout", "--quiet", "-b", "feature"]);
    repo.write("made/here/a.py", "2\n");
    repo.commit("change");
    repo.git(&["checkout", "--quiet", "main"]);
    repo.write(".gitattributes", "*.md linguist-generated\n");
    repo.write("made/here/.gitattributes", "*.py linguist-generated\n");
    repo.write("linked/to", "* linguist-generated\n");
    std::os::unix::fs::symlink("to", repo.path().join("linked/.gitattributes")).unwrap();
    repo.write("folder/.gitattributes/file", "*.py linguist-generated\n");
    for folder in ["", "made/", "made/here/", "folder/"] {
        repo.write(&format!("{folder}other.txt"), format!("of {folder}\n"));
    }
    repo.commit("what the change does not know of");
    repo
}

/// Full object id.
fn object(repo: &Repo, name: &str) -> String {
    let printed = repo.git(&["rev-parse", "--verify", name]);
    String::from_utf8(printed).unwrap().trim().to_owned()
}

/// All object ids of a repository.
fn all_objects(git: &Git) -> BTreeSet<String> {
    let args = ["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"];
    git.text(args).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn bundle_contains_only_attributes_of_the_tip() {
    let repo = diverged_repo();
    let (base, head, tip) = (repo.id("feature~1"), repo.id("feature"), repo.id("main"));
    let paths: [&[u8]; 4] =
        [b"made/here/a.py", b"linked/a.py", b"folder/new/a.py", b"nowhere/deep/a.md"];
    let objects = Objects::open(&repo.path().join(".git")).unwrap();
    let also = attribute_objects(&objects, &tip, paths.into_iter()).unwrap();
    let names = [
        "main",
        "main:",
        "main:made",
        "main:made/here",
        "main:linked",
        "main:folder",
        "main:.gitattributes",
        "main:made/here/.gitattributes",
    ];
    assert_eq!(also, names.map(|name| object(&repo, name)).into());
    let bytes = bundle_with(&repo, &base, &head, &also);
    let unpacked = |bytes: &[u8]| {
        let folder = TempDir::new().unwrap();
        unbundle(bytes, folder.path()).unwrap();
        let all = all_objects(&Git::with_git_dir(folder.path()));
        (folder, all)
    };
    let (folder, all) = unpacked(&bytes);
    let (_, without) = unpacked(&bundle_of(&repo, &base, &head));
    assert_eq!(all, &without | &also);
    let objects = Objects::open(folder.path()).unwrap();
    let attributes = read_attributes(&objects, &tip, &paths, &["linguist-generated"]).unwrap();
    assert_eq!(attributes.unreadable_files, []);
    let (set, not) = (AttributeState::Set, AttributeState::Unspecified);
    assert_eq!(attributes.states, [&set, &not, &not, &set].map(|state| vec![state.clone()]));
    for name in ["other.txt", "made/other.txt", "made/here/other.txt", "linked/to"] {
        assert!(objects.entry(&tip, name).is_ok(), "{name}");
        assert!(objects.file(&tip, name).is_err(), "{name}");
    }
}

#[test]
fn missing_folder_is_an_error_but_a_file_is_not() {
    let repo = diverged_repo();
    let objects = || Objects::open(&repo.path().join(".git")).unwrap();
    let looked_up = |commit: &str, path: &[u8]| {
        attribute_objects(&objects(), commit, std::iter::once(path)).map(|ids| ids.len())
    };
    // The commit, its root tree and `.gitattributes`.
    assert_eq!(looked_up(&repo.id("main"), b"other.txt/a.py"), Ok(3));
    let module = repo.id("feature");
    repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{module},module")]);
    repo.git(&["commit", "--quiet", "-m", "a module"]);
    assert_eq!(looked_up(&repo.id("main"), b"module/deep/a.py"), Ok(3));
    let none = "1".repeat(40);
    assert_eq!(looked_up(&none, b"a.py"), Err(ReadError::NoCommit(none.clone())));
    let lost = object(&repo, "main:made");
    fs::remove_file(repo.path().join(".git/objects").join(&lost[..2]).join(&lost[2..])).unwrap();
    let error = looked_up(&repo.id("main"), b"made/here/a.py").unwrap_err();
    assert!(matches!(error, ReadError::Broken { .. }), "{error}");
}

#[test]
fn invalid_bundle_is_reported() {
    for bytes in [
        &b""[..],
        b"PACK",
        b"# v2 git bundle\n",
        b"# v2 git bundle\nnonsense refs/crh/head\n\nPACK",
    ] {
        let folder = TempDir::new().unwrap();
        let error = unbundle(bytes, folder.path()).unwrap_err();
        assert!(matches!(error, BundleError::NotABundle(_)), "{error}");
    }
    let folder = TempDir::new().unwrap();
    let cut_error = unbundle(b"# v2 git bundle\n\n\nPACK", folder.path()).unwrap_err();
    assert!(matches!(cut_error, BundleError::Git(_)), "{cut_error}");
}
