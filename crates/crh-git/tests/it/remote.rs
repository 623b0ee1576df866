//! What a partial clone left out is fetched before anybody asks for it.

use tempfile::TempDir;

use crh_git::{MissingError, Network, Objects, Repository, Store, Withheld};
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
fn every_object_of_a_partial_clone_is_fetched_into_the_store() {
    for filter in ["--filter=blob:none", "--filter=tree:0"] {
        let origin = origin();
        let clone = origin.cloned(&[filter, "--no-checkout"]);
        let folder = TempDir::new().unwrap();
        let repository = Repository::discover(clone.path()).unwrap();
        let store = Store::open(folder.path(), &repository, Withheld::default()).unwrap();
        let (base, head) = (origin.id("HEAD~1"), origin.id("HEAD"));
        let offline = store.complete(&[&base, &head], Network::Offline).unwrap_err();
        assert!(matches!(offline, MissingError::Objects { .. }), "{offline}");
        store.complete(&[&base, &head], Network::Online).unwrap();
        drop(origin);
        let objects = Objects::open(store.bare().folder()).unwrap();
        assert_eq!(objects.file(&base, "a.txt").unwrap(), b"before\n", "{filter}");
        assert_eq!(objects.file(&head, "deep/er/kept.txt").unwrap(), b"kept\n", "{filter}");
        assert!(!store.bare().diff(&base, &head).unwrap().is_empty(), "{filter}");
    }
}

#[test]
fn the_branch_that_changes_go_to_is_the_one_that_remotes_say() {
    let origin = Repo::from_fixture("//- a.txt\na\n");
    origin.git(&["checkout", "--quiet", "-b", "release/next"]);
    let clone = origin.cloned(&[]);
    let defaults = || Repository::discover(clone.path()).unwrap().default_branches();
    assert_eq!(defaults(), ["release/next", "main", "master", "develop", "trunk"]);
    clone.git(&["remote", "set-head", "origin", "--delete"]);
    assert_eq!(defaults(), ["main", "master", "develop", "trunk"]);
}
