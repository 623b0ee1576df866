//! Names of repositories.

use std::fs;

use tempfile::TempDir;

use crh_git::{HiddenVariables, Repository, Store, repository_identity};
use crh_testkit::Repo;

fn identity_with_remotes(remotes: &[(&str, &str)]) -> String {
    let repo = Repo::from_fixture(
        "
        //- a.txt
        one
        ",
    );
    for (name, url) in remotes {
        repo.git(&["remote", "add", name, url]);
    }
    repository_identity(&Repository::discover(repo.path()).unwrap()).unwrap()
}

#[test]
fn fork_has_the_name_of_its_upstream() {
    let (fork, parent) = ("https://example.com/me/tool.git", "https://example.com/team/tool.git");
    assert_eq!(identity_with_remotes(&[("origin", parent)]), "team/tool");
    assert_eq!(identity_with_remotes(&[("origin", fork), ("upstream", parent)]), "team/tool");
    assert_eq!(
        identity_with_remotes(&[("origin", fork), ("upstream", "/srv/git/tool.git")]),
        "me/tool"
    );
}

#[test]
fn without_a_remote_the_first_commit_is_the_name() {
    let name = identity_with_remotes(&[]);
    assert!(name.len() == 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit()), "{name}");
}

#[test]
fn store_remembers_first_commit_of_one_head() {
    let repo = Repo::new();
    let first = repo.commit("a");
    let folder = TempDir::new().unwrap();
    let repository = Repository::discover(repo.path()).unwrap();
    let store = Store::open(folder.path(), &repository, HiddenVariables::default()).unwrap();
    assert_eq!(store.repository_identity().unwrap(), first);
    let file = folder.path().join("crh-first-commit");
    let known = "0123456789012345678901234567890123456789";
    fs::write(&file, format!("{first} {known}\n")).unwrap();
    assert_eq!(store.repository_identity().unwrap(), known);
    // A shallow clone may get more history later.
    repo.write(".git/shallow", format!("{first}\n"));
    assert_eq!(store.repository_identity().unwrap(), first);
    fs::remove_file(repo.path().join(".git/shallow")).unwrap();
    // Another commit may have another history.
    repo.commit("b");
    assert_eq!(store.repository_identity().unwrap(), first);
    fs::write(&file, format!("{} damaged", repo.id("HEAD"))).unwrap();
    assert_eq!(store.repository_identity().unwrap(), first);
}
