//! Fetching commits from a URL with a token: each is fetched once, and the token does not leak.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crh_git::{
    ChangeHistory, FetchAddress, GitError, HISTORY_BEFORE_BASE, HiddenVariables, MissingError,
    PinnedCommit, Repository, Store,
};
use crh_testkit::fake_github::{Pull, TOKEN};
use crh_testkit::{FakeGitHub, Repo};

const NAME: &str = "acme/shop";

/// A fake GitHub with a private repository, whose branch `feature` starts after this many commits
/// of `main`.
fn served_repository(before: usize) -> (FakeGitHub, Repo) {
    let repo = Repo::new();
    for number in 0..before {
        repo.write("a.txt", format!("{number}\n"));
        repo.commit(&format!("commit {number}"));
    }
    repo.git(&["checkout", "--quiet", "-b", "feature"]);
    repo.write("a.txt", "changed\n");
    repo.commit("a change");
    repo.git(&["checkout", "--quiet", "main"]);
    repo.write("b.txt", "later\n");
    repo.commit("later");
    let github = FakeGitHub::start();
    github.repository(NAME, &repo).make_private(NAME);
    github.pull(NAME, Pull { head: "feature".to_owned(), ..Pull::default() });
    (github, repo)
}

fn address(github: &FakeGitHub, token: Option<&str>) -> FetchAddress {
    FetchAddress::new(&github.git_url(NAME), token.map(Into::into)).unwrap()
}

fn pins<'a>(base: &'a str, head: &'a str) -> [PinnedCommit<'a>; 2] {
    let by = |by| Some(by);
    [
        PinnedCommit { commit: base, via_ref: by("refs/heads/main") },
        PinnedCommit { commit: head, via_ref: by("refs/pull/1/head") },
    ]
}

/// Files below a folder that contain these bytes.
fn files_containing(folder: &Path, bytes: &[u8]) -> Vec<String> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_containing(&path, bytes));
        } else if fs::read(&path).unwrap().windows(bytes.len()).any(|part| part == bytes) {
            files.push(path.display().to_string());
        }
    }
    files
}

#[test]
fn base_and_head_are_fetched_once() {
    let (github, repo) = served_repository(3);
    let folder = TempDir::new().unwrap();
    let store = Store::open_standalone(&folder.path().join("of/acme/shop")).unwrap();
    let (base, head) = (repo.id("main"), repo.id("feature"));
    let address = address(&github, Some(TOKEN));
    store.fetch_pinned(&address, &pins(&base, &head)).unwrap();
    store.deepen_from_address(&address, &base, &head).unwrap();
    let parting = store.bare().merge_base(&base, &head).unwrap();
    assert_eq!(parting, Some(repo.id("main~1")));
    let objects = store.bare().objects().unwrap();
    assert_eq!(objects.file(&head, "a.txt").unwrap(), b"changed\n");
    assert_eq!(objects.file(&base, "b.txt").unwrap(), b"later\n");
    assert_eq!(files_containing(folder.path(), TOKEN.as_bytes()), Vec::<String>::new());
    github.forget_requests();
    store.fetch_pinned(&address, &pins(&base, &head)).unwrap();
    store.deepen_from_address(&address, &base, &head).unwrap();
    assert_eq!(github.requests().len(), 0);
}

#[test]
fn incomplete_commit_is_fetched_again() {
    let (github, repo) = served_repository(3);
    let folder = TempDir::new().unwrap();
    let store = Store::open_standalone(folder.path()).unwrap();
    let (base, head) = (repo.id("main"), repo.id("feature"));
    // The commit exists, but none of its files.
    let commit_text = repo.git(&["cat-file", "commit", &head]);
    let path = repo.path().join("commit");
    fs::write(&path, commit_text).unwrap();
    let git_dir = format!("--git-dir={}", store.bare().folder().display());
    let write = ["hash-object", "-t", "commit", "-w", path.to_str().unwrap()];
    repo.git(&[&[git_dir.as_str()], &write[..]].concat());
    assert!(store.bare().has(&head));
    store.fetch_pinned(&address(&github, Some(TOKEN)), &pins(&base, &head)).unwrap();
    let objects = store.bare().objects().unwrap();
    assert_eq!(objects.file(&head, "a.txt").unwrap(), b"changed\n");
}

#[test]
fn long_history_is_fetched_to_the_review_depth() {
    let (github, repo) = served_repository(200);
    let folder = TempDir::new().unwrap();
    let store = Store::open_standalone(folder.path()).unwrap();
    let (base, head) = (repo.id("main"), repo.id("feature"));
    let address = address(&github, Some(TOKEN));
    store.fetch_pinned(&address, &pins(&base, &head)).unwrap();
    store.deepen_from_address(&address, &base, &head).unwrap();
    assert!(store.bare().is_shallow(), "it does not come whole");
    assert!(store.merge_base_is_known(&base, &head).unwrap());
    let parting = store.bare().merge_base(&base, &head).unwrap().unwrap();
    let history = ChangeHistory::load(store.bare(), &parting, &head).unwrap();
    assert_eq!(history.commits().count(), HISTORY_BEFORE_BASE + 1);
    // An old branch: its merge base is fetched, however far back.
    repo.git(&["checkout", "--quiet", "-b", "old", "main~150"]);
    repo.write("c.txt", "old\n");
    let old = repo.commit("an old change");
    github.refresh(NAME);
    store.fetch_pinned(&address, &[PinnedCommit { commit: &old, via_ref: None }]).unwrap();
    store.deepen_from_address(&address, &base, &old).unwrap();
    assert!(store.merge_base_is_known(&base, &old).unwrap());
    assert_eq!(store.bare().merge_base(&base, &old).unwrap(), Some(repo.id("main~150")));
}

#[test]
fn existing_commits_are_not_fetched_again() {
    let (github, repo) = served_repository(3);
    let clone = repo.cloned(&[]);
    repo.git(&["checkout", "--quiet", "feature"]);
    repo.write("a.txt", "changed again\n");
    let head = repo.commit("another change");
    github.refresh(NAME);
    let folder = TempDir::new().unwrap();
    let repository = Repository::discover(clone.path()).unwrap();
    let store = Store::open(folder.path(), &repository, HiddenVariables::default()).unwrap();
    let address = address(&github, Some(TOKEN));
    let base = repo.id("main");
    store.fetch_pinned(&address, &[PinnedCommit { commit: &base, via_ref: None }]).unwrap();
    assert_eq!(github.requests().len(), 0);
    store.fetch_pinned(&address, &pins(&base, &head)).unwrap();
    assert!(store.bare().has(&head) && !store.bare().is_shallow());
    assert!(repository.commit(&head).is_none(), "the clone is left alone");
}

#[test]
fn wrong_token_fails_without_leaking_it() {
    let (github, repo) = served_repository(2);
    let (base, head) = (repo.id("main"), repo.id("feature"));
    for token in [None, Some("ghp_wrongToken0123456789")] {
        let folder = TempDir::new().unwrap();
        let store = Store::open_standalone(folder.path()).unwrap();
        let error = store.fetch_pinned(&address(&github, token), &pins(&base, &head)).unwrap_err();
        let MissingError::Git(GitError::Failed { message, .. }) = &error else {
            panic!("{error}");
        };
        assert!(!message.contains("ghp_wrong") && !message.contains("Basic"), "{message}");
        assert!(!store.bare().has(&head));
    }
}

#[test]
fn deleted_commit_is_reported() {
    let (github, _repo) = served_repository(2);
    let folder = TempDir::new().unwrap();
    let store = Store::open_standalone(folder.path()).unwrap();
    let gone = "1234567890123456789012345678901234567890";
    let pin = PinnedCommit { commit: gone, via_ref: Some("refs/pull/1/head") };
    let error = store.fetch_pinned(&address(&github, Some(TOKEN)), &[pin]).unwrap_err();
    assert!(matches!(&error, MissingError::Gone { commit, .. } if commit == gone), "{error}");
}
