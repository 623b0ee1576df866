//! Commits from an address with a token: what is needed comes, once, and the token is nowhere.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crh_git::{
    Address, GitError, HISTORY_BEFORE_BASE, History, MissingError, Pin, Repository, Store, Withheld,
};
use crh_testkit::fake_github::{Pull, TOKEN};
use crh_testkit::{FakeGitHub, Repo};

const NAME: &str = "acme/shop";

/// A GitHub with a private repository, whose branch `feature` leaves `main` where that has this many commits.
fn served(before: usize) -> (FakeGitHub, Repo) {
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

fn address(github: &FakeGitHub, token: Option<&str>) -> Address {
    Address::new(&github.git_url(NAME), token.map(Into::into)).unwrap()
}

fn pins<'a>(base: &'a str, head: &'a str) -> [Pin<'a>; 2] {
    let by = |by| Some(by);
    [
        Pin { commit: base, by: by("refs/heads/main") },
        Pin { commit: head, by: by("refs/pull/1/head") },
    ]
}

/// Every file below a folder that has these bytes in it.
fn with(folder: &Path, bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(with(&path, bytes));
        } else if fs::read(&path).unwrap().windows(bytes.len()).any(|part| part == bytes) {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn both_ends_come_into_a_store_without_a_clone_and_come_once() {
    let (github, repo) = served(3);
    let folder = TempDir::new().unwrap();
    let store = Store::alone(&folder.path().join("of/acme/shop")).unwrap();
    let (base, head) = (repo.id("main"), repo.id("feature"));
    let address = address(&github, Some(TOKEN));
    store.fetch_pins(&address, &pins(&base, &head)).unwrap();
    store.deepen_by(&address, &base, &head).unwrap();
    let parting = store.bare().merge_base(&base, &head).unwrap();
    assert_eq!(parting, Some(repo.id("main~1")));
    let objects = store.bare().objects().unwrap();
    assert_eq!(objects.file(&head, "a.txt").unwrap(), b"changed\n");
    assert_eq!(objects.file(&base, "b.txt").unwrap(), b"later\n");
    assert_eq!(with(folder.path(), TOKEN.as_bytes()), Vec::<String>::new());
    github.forget_requests();
    store.fetch_pins(&address, &pins(&base, &head)).unwrap();
    store.deepen_by(&address, &base, &head).unwrap();
    assert_eq!(github.requests().len(), 0);
}

#[test]
fn what_a_fetch_that_was_killed_has_left_is_fetched_again() {
    let (github, repo) = served(3);
    let folder = TempDir::new().unwrap();
    let store = Store::alone(folder.path()).unwrap();
    let (base, head) = (repo.id("main"), repo.id("feature"));
    // The commit was written, and nothing of what is in it.
    let kept = repo.git(&["cat-file", "commit", &head]);
    let path = repo.path().join("commit");
    fs::write(&path, kept).unwrap();
    let git_dir = format!("--git-dir={}", store.bare().folder().display());
    let write = ["hash-object", "-t", "commit", "-w", path.to_str().unwrap()];
    repo.git(&[&[git_dir.as_str()], &write[..]].concat());
    assert!(store.bare().has(&head));
    store.fetch_pins(&address(&github, Some(TOKEN)), &pins(&base, &head)).unwrap();
    let objects = store.bare().objects().unwrap();
    assert_eq!(objects.file(&head, "a.txt").unwrap(), b"changed\n");
}

#[test]
fn a_long_history_comes_as_far_as_a_review_looks() {
    let (github, repo) = served(200);
    let folder = TempDir::new().unwrap();
    let store = Store::alone(folder.path()).unwrap();
    let (base, head) = (repo.id("main"), repo.id("feature"));
    let address = address(&github, Some(TOKEN));
    store.fetch_pins(&address, &pins(&base, &head)).unwrap();
    store.deepen_by(&address, &base, &head).unwrap();
    assert!(store.bare().is_shallow(), "it does not come whole");
    assert!(store.parting_is_known(&base, &head).unwrap());
    let parting = store.bare().merge_base(&base, &head).unwrap().unwrap();
    let history = History::of(store.bare(), &parting, &head).unwrap();
    assert_eq!(history.commits().count(), HISTORY_BEFORE_BASE + 1);
    // A branch that left long ago: its parting is fetched, however far that is.
    repo.git(&["checkout", "--quiet", "-b", "old", "main~150"]);
    repo.write("c.txt", "old\n");
    let old = repo.commit("an old change");
    github.refresh(NAME);
    store.fetch_pins(&address, &[Pin { commit: &old, by: None }]).unwrap();
    store.deepen_by(&address, &base, &old).unwrap();
    assert!(store.parting_is_known(&base, &old).unwrap());
    assert_eq!(store.bare().merge_base(&base, &old).unwrap(), Some(repo.id("main~150")));
}

#[test]
fn what_a_clone_has_is_not_fetched_again() {
    let (github, repo) = served(3);
    let clone = repo.cloned(&[]);
    repo.git(&["checkout", "--quiet", "feature"]);
    repo.write("a.txt", "changed again\n");
    let head = repo.commit("another change");
    github.refresh(NAME);
    let folder = TempDir::new().unwrap();
    let repository = Repository::discover(clone.path()).unwrap();
    let store = Store::open(folder.path(), &repository, Withheld::default()).unwrap();
    let address = address(&github, Some(TOKEN));
    let base = repo.id("main");
    store.fetch_pins(&address, &[Pin { commit: &base, by: None }]).unwrap();
    assert_eq!(github.requests().len(), 0);
    store.fetch_pins(&address, &pins(&base, &head)).unwrap();
    assert!(store.bare().has(&head) && !store.bare().is_shallow());
    assert!(repository.commit(&head).is_none(), "the clone is left alone");
}

#[test]
fn without_the_right_token_nothing_comes_and_the_token_is_not_repeated() {
    let (github, repo) = served(2);
    let (base, head) = (repo.id("main"), repo.id("feature"));
    for token in [None, Some("ghp_wrongToken0123456789")] {
        let folder = TempDir::new().unwrap();
        let store = Store::alone(folder.path()).unwrap();
        let error = store.fetch_pins(&address(&github, token), &pins(&base, &head)).unwrap_err();
        let MissingError::Git(GitError::Failed { message, .. }) = &error else {
            panic!("{error}");
        };
        assert!(!message.contains("ghp_wrong") && !message.contains("Basic"), "{message}");
        assert!(!store.bare().has(&head));
    }
}

#[test]
fn a_commit_that_is_gone_is_said_to_be() {
    let (github, _repo) = served(2);
    let folder = TempDir::new().unwrap();
    let store = Store::alone(folder.path()).unwrap();
    let gone = "1234567890123456789012345678901234567890";
    let pin = Pin { commit: gone, by: Some("refs/pull/1/head") };
    let error = store.fetch_pins(&address(&github, Some(TOKEN)), &[pin]).unwrap_err();
    assert!(matches!(&error, MissingError::Gone { commit, .. } if commit == gone), "{error}");
}
