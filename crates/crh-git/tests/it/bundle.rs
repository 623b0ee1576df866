//! A bundle is the same bytes from every kind of clone, and holds what the tools read.

use std::collections::BTreeSet;
use std::fs;

use crh_git::BundleError;
use crh_git::Objects;
use crh_git::Repository;
use crh_git::Store;
use crh_git::Withheld;
use crh_git::bundle;
use crh_git::unbundle;
use crh_testkit::Repo;
use tempfile::TempDir;

fn repo() -> Repo {
    let repo = Repo::new();
    for number in 0..60 {
        repo.write("a.txt", format!("{number}\n"));
        repo.write(&format!("dir/{number}.txt"), "same content\n");
        repo.commit(&format!("commit {number}"));
    }
    repo
}

fn bundled(repo: &Repo, base: &str, head: &str) -> Vec<u8> {
    let folder = TempDir::new().unwrap();
    let repository = Repository::discover(repo.path()).unwrap();
    let store = Store::open(folder.path(), &repository, Withheld::default()).unwrap();
    bundle(store.bare(), base, head, &BTreeSet::new()).unwrap()
}

#[test]
fn a_bundle_is_the_same_from_loose_objects_packs_and_bare_or_shallow_clones() {
    let repo = repo();
    let (base, head) = (repo.id("HEAD~3"), repo.id("HEAD"));
    let bytes = bundled(&repo, &base, &head);
    let bare = repo.cloned(&["--bare"]);
    // Base and the 49 before it, and the three of the change.
    let shallow = repo.cloned(&["--depth=53"]);
    assert_eq!(bundled(&bare, &base, &head), bytes);
    assert_eq!(bundled(&shallow, &base, &head), bytes);
    repo.git(&["gc", "--quiet", "--aggressive"]);
    assert_eq!(bundled(&repo, &base, &head), bytes);
    let file = TempDir::new().unwrap();
    fs::write(file.path().join("b"), &bytes).unwrap();
    let path = file.path().join("b").display().to_string();
    repo.git(&["bundle", "verify", "--quiet", &path]);
}

#[test]
fn a_bundle_can_be_read_without_the_repository() {
    let repo = repo();
    let (base, head) = (repo.id("HEAD~3"), repo.id("HEAD"));
    let bytes = bundled(&repo, &base, &head);
    drop(repo);
    let folder = TempDir::new().unwrap();
    unbundle(&bytes, folder.path()).unwrap();
    let objects = Objects::open(folder.path()).unwrap();
    assert_eq!(objects.file(&base, "a.txt").unwrap(), b"56\n");
    assert_eq!(objects.file(&head, "dir/0.txt").unwrap(), b"same content\n");
}

#[test]
fn what_is_no_bundle_is_said_to_be_none() {
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
    let cut = unbundle(b"# v2 git bundle\n\n\nPACK", folder.path()).unwrap_err();
    assert!(matches!(cut, BundleError::Git(_)), "{cut}");
}
