//! What a repository is called.

use crh_git::{Repository, identity};
use crh_testkit::Repo;

fn named(remotes: &[(&str, &str)]) -> String {
    let repo = Repo::from_fixture(
        "
        //- a.txt
        one
        ",
    );
    for (name, url) in remotes {
        repo.git(&["remote", "add", name, url]);
    }
    identity(&Repository::discover(repo.path()).unwrap()).unwrap()
}

#[test]
fn a_fork_is_called_as_the_repository_it_was_made_from() {
    let (fork, parent) = ("https://example.com/me/tool.git", "https://example.com/team/tool.git");
    assert_eq!(named(&[("origin", parent)]), "team/tool");
    assert_eq!(named(&[("origin", fork), ("upstream", parent)]), "team/tool");
    assert_eq!(named(&[("origin", fork), ("upstream", "/srv/git/tool.git")]), "me/tool");
}

#[test]
fn a_repository_without_a_remote_is_called_by_its_first_commit() {
    let name = named(&[]);
    assert!(name.len() == 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit()), "{name}");
}
