//! Names of repositories.

use crh_git::{Repository, repository_identity};
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
