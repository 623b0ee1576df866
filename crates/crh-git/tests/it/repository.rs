//! What crh finds out about a repository without asking git more than once.

use tempfile::TempDir;

use crh_git::{BareRepository, HiddenVariables, Repository, Store};
use crh_testkit::Repo;

/// A repository with one commit and a branch of this name.
fn repo_with_branch(name: &str) -> Repo {
    let repo = Repo::new();
    repo.write("a.txt", "a");
    repo.commit("a");
    repo.git(&["update-ref", &format!("refs/heads/{name}"), "HEAD"]);
    repo
}

#[test]
fn branch_is_plain_if_its_name_means_nothing_else() {
    let check = |name: &str, other_ref: Option<&str>, is_plain: bool| {
        let repo = repo_with_branch(name);
        if let Some(other_ref) = other_ref {
            repo.git(&["update-ref", other_ref, "HEAD"]);
        }
        let repository = Repository::discover(repo.path()).unwrap();
        let expected = is_plain.then(|| repo.id("HEAD"));
        assert_eq!(repository.plain_branch(name), expected, "{name} {other_ref:?}");
    };
    check("work", None, true);
    check("fix/v1.0_a-b", Some("refs/tags/other"), true);
    // Refs below the name are other names.
    check("work", Some("refs/tags/work/1"), true);
    for kind in ["refs/work", "refs/tags/work", "refs/remotes/work", "refs/remotes/work/HEAD"] {
        check("work", Some(kind), false);
    }
    check("ORIG_HEAD", None, false);
    check("config", None, false);
    check("1234567890123456789012345678901234567890", None, false);
    check("a@b", None, false);
}

#[test]
fn symbolic_and_missing_branches_are_not_plain() {
    let repo = repo_with_branch("work");
    repo.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/work"]);
    let repository = Repository::discover(repo.path()).unwrap();
    assert_eq!(repository.plain_branch("work"), Some(repo.id("HEAD")));
    assert_eq!(repository.plain_branch("alias"), None);
    assert_eq!(repository.plain_branch("missing"), None);
    assert_eq!(repository.plain_branch(""), None);
}

#[test]
fn promisor_in_included_config_is_found() {
    let is_partial = |repo: &Repo| {
        let (folder, repository) =
            (TempDir::new().unwrap(), Repository::discover(repo.path()).unwrap());
        let store = Store::open(folder.path(), &repository, HiddenVariables::default()).unwrap();
        store.is_partial()
    };
    let repo = repo_with_branch("work");
    assert!(!is_partial(&repo));
    repo.write(".git/more", "[remote \"origin\"]\n\tPromisor = true\n");
    repo.git(&["config", "include.path", "more"]);
    assert!(is_partial(&repo));
}

#[test]
fn objects_include_later_commits_and_survive_repacking() {
    let repo = repo_with_branch("work");
    let bare = BareRepository::new(&repo.path().join(".git"));
    let first = repo.id("HEAD");
    // More reads than without the object database.
    for _ in 0..40 {
        assert_eq!(bare.objects().unwrap().file(&first, "a.txt").unwrap(), b"a");
    }
    repo.write("b.txt", "b");
    let second = repo.commit("b");
    repo.git(&["gc", "--quiet", "--prune=now"]);
    let objects = bare.objects().unwrap();
    assert_eq!(objects.file(&first, "a.txt").unwrap(), b"a");
    assert_eq!(objects.file(&second, "b.txt").unwrap(), b"b");
    assert!(bare.has(&second) && !bare.has("1234567890123456789012345678901234567890"));
}
