//! Missing objects of a partial clone are fetched in advance.

use tempfile::TempDir;

use crh_git::{HiddenVariables, MissingError, NetworkMode, Objects, Repository, Store};
use crh_testkit::Repo;

fn origin() -> Repo {
    let repo = Repo::from_fixture(
        "
        //- deep/er/kept.txt
        kept
        //- a.txt
        before
        //- head
        //- a.txt
        after
        ",
    );
    repo.git(&["config", "uploadpack.allowFilter", "true"]);
    repo
}

#[test]
fn missing_objects_of_partial_clone_are_fetched() {
    for filter in ["--filter=blob:none", "--filter=tree:0"] {
        let origin = origin();
        let clone = origin.cloned(&[filter, "--no-checkout"]);
        let folder = TempDir::new().unwrap();
        let repository = Repository::discover(clone.path()).unwrap();
        let store = Store::open(folder.path(), &repository, HiddenVariables::default()).unwrap();
        let (base, head) = (origin.id("HEAD~1"), origin.id("HEAD"));
        let offline = store.fetch_missing(&[&base, &head], NetworkMode::Offline).unwrap_err();
        assert!(matches!(offline, MissingError::Objects { .. }), "{offline}");
        store.fetch_missing(&[&base, &head], NetworkMode::Online).unwrap();
        drop(origin);
        let objects = Objects::open(store.bare().folder()).unwrap();
        assert_eq!(objects.file(&base, "a.txt").unwrap(), b"before\n", "{filter}");
        assert_eq!(objects.file(&head, "deep/er/kept.txt").unwrap(), b"kept\n", "{filter}");
        assert!(!store.bare().diff(&base, &head).unwrap().is_empty(), "{filter}");
    }
}

#[test]
fn default_branch_is_the_remotes_default() {
    let origin = Repo::from_fixture("//- a.txt\na\n");
    origin.git(&["checkout", "--quiet", "-b", "release/next"]);
    let clone = origin.cloned(&[]);
    let defaults = || Repository::discover(clone.path()).unwrap().default_branches();
    assert_eq!(defaults(), ["release/next", "main", "master", "develop", "trunk"]);
    clone.git(&["remote", "set-head", "origin", "--delete"]);
    assert_eq!(defaults(), ["main", "master", "develop", "trunk"]);
}
