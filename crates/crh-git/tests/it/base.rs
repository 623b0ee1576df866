//! The base of a change in typical repositories.

use tempfile::TempDir;

use crh_git::{
    Base, BaseError, BaseRequest, HiddenVariables, NetworkMode, Repository, Store, find_base,
};
use crh_testkit::Repo;

/// A repository with three commits on its main branch.
fn upstream() -> Repo {
    let repo = Repo::new();
    for text in ["one", "two", "three"] {
        repo.write("file", text);
        repo.commit(text);
    }
    repo
}

/// Creates a branch with one commit in a clone.
fn work(clone: &Repo, branch: &str) -> String {
    clone.git(&["switch", "--quiet", "--create", branch]);
    clone.write("work", branch);
    clone.commit(branch)
}

fn base_of(repo: &Repo, network: NetworkMode) -> Result<Base, BaseError> {
    base_with(repo, |request| BaseRequest { network, ..request })
}

fn base_with(
    repo: &Repo,
    change: impl FnOnce(BaseRequest<'static>) -> BaseRequest<'static>,
) -> Result<Base, BaseError> {
    let folder = TempDir::new().unwrap();
    let repository = Repository::discover(repo.path()).unwrap();
    let store = Store::open(folder.path(), &repository, HiddenVariables::default()).unwrap();
    let request = BaseRequest {
        branch: None,
        repository: None,
        reviewed_branch: None,
        network: NetworkMode::Online,
    };
    find_base(&store, &repo.id("HEAD"), &change(request))
}

fn base_text(result: Result<Base, BaseError>) -> String {
    match result {
        Ok(base) => base.display_name(),
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn stale_base_is_refreshed() {
    let upstream = upstream();
    let clone = upstream.cloned(&[]);
    // The branch starts at a commit of main that the clone has not fetched under that name.
    upstream.write("file", "four");
    let four = upstream.commit("four");
    clone.git(&["fetch", "--quiet", "origin", &four]);
    clone.git(&["switch", "--quiet", "--detach", "FETCH_HEAD"]);
    work(&clone, "feature");
    let stale = clone.id("origin/main");
    assert_eq!(
        base_of(&clone, NetworkMode::Offline).unwrap().commit,
        stale,
        "all that is known offline"
    );
    assert_eq!(base_of(&clone, NetworkMode::Online).unwrap().commit, four);
    assert_eq!(clone.id("origin/main"), stale, "the user's own ref is left alone");
}

#[test]
fn renamed_default_branch_is_used() {
    let upstream = upstream();
    let clone = upstream.cloned(&[]);
    work(&clone, "feature");
    upstream.git(&["branch", "--move", "main", "production"]);
    assert_eq!(base_text(base_of(&clone, NetworkMode::Offline)), "origin/main");
    assert_eq!(base_text(base_of(&clone, NetworkMode::Online)), "origin/production");
}

#[test]
fn fork_that_is_behind_is_not_the_base() {
    let upstream = upstream();
    let fork = upstream.cloned(&["--bare"]);
    upstream.write("file", "four");
    upstream.commit("four");
    let clone = fork.cloned(&[]);
    clone.git(&["remote", "add", "upstream", &upstream.url()]);
    clone.git(&["fetch", "--quiet", "upstream"]);
    clone.git(&["switch", "--quiet", "--detach", "upstream/main"]);
    work(&clone, "feature");
    assert_eq!(base_text(base_of(&clone, NetworkMode::Online)), "upstream/main");
    clone.git(&["config", "remote.origin.gh-resolved", "base"]);
    assert_eq!(
        base_text(base_of(&clone, NetworkMode::Online)),
        "origin/main",
        "what the user has chosen"
    );
}

#[test]
fn forge_repository_selects_the_remote() {
    let (upstream, other) = (upstream(), upstream());
    let clone = other.cloned(&[]);
    work(&clone, "feature");
    clone.git(&["remote", "add", "a-longer-name", &format!("{}-fork", upstream.url())]);
    clone.git(&["remote", "add", "right", &upstream.url()]);
    let repository: &'static str = String::leak(upstream.path().display().to_string());
    let base = base_with(&clone, |request| BaseRequest {
        repository: Some(repository),
        branch: Some("main"),
        ..request
    });
    assert_eq!(base_text(base), "right/main");
    let missing = base_with(&clone, |request| BaseRequest { branch: Some("release"), ..request });
    assert_eq!(
        base_text(missing),
        "error: Unable to resolve PR base branch release locally. Fetch the base branch and rerun so the review scope stays aligned with the PR."
    );
}

#[test]
fn shallow_clone_is_deepened_to_the_merge_base() {
    let upstream = upstream();
    let parting = upstream.id("HEAD");
    upstream.git(&["switch", "--quiet", "--create", "feature"]);
    for text in ["a", "b", "c"] {
        upstream.write("work", text);
        upstream.commit(text);
    }
    upstream.git(&["switch", "--quiet", "main"]);
    upstream.write("file", "four");
    upstream.commit("four");
    let clone = upstream.cloned(&["--depth=1", "--branch=feature"]);
    let before = std::fs::read(clone.path().join(".git/shallow")).unwrap();
    assert!(base_of(&clone, NetworkMode::Offline).is_err());
    let base = base_of(&clone, NetworkMode::Online).unwrap();
    assert_eq!((base.commit, base.branch.as_str()), (parting, "main"));
    assert_eq!(std::fs::read(clone.path().join(".git/shallow")).unwrap(), before);
}

#[test]
fn without_a_remote_the_nearest_local_branch_is_used() {
    let repo = upstream();
    let on_main = |request| BaseRequest { reviewed_branch: Some("main"), ..request };
    assert_eq!(
        base_text(base_with(&repo, on_main)),
        "error: there is nothing to compare `main` with: the repository has no remote and no other main branch"
    );
    work(&repo, "develop");
    work(&repo, "feature");
    assert_eq!(base_text(base_of(&repo, NetworkMode::Online)), "develop");
    repo.git(&["switch", "--quiet", "--create", "hotfix", "main"]);
    work(&repo, "fix");
    assert_eq!(
        base_text(base_of(&repo, NetworkMode::Online)),
        "main",
        "of two at one commit, the first name"
    );
}

#[test]
fn contributor_remote_does_not_choose_the_base() {
    // The contributor's main branch has a commit that no other repository has.
    let repo = upstream();
    let fork = repo.cloned(&[]);
    fork.write("hidden", "");
    fork.commit("hidden");
    work(&fork, "feature");
    let fetch = |repo: &Repo| {
        repo.git(&["remote", "add", "contributor", &fork.url()]);
        repo.git(&["fetch", "--quiet", "contributor"]);
        repo.git(&["switch", "--quiet", "--create", "feature", "contributor/feature"]);
    };
    fetch(&repo);
    let review = |repo: &Repo| {
        let reviewed_branch = Some("feature");
        base_text(base_with(repo, |request| BaseRequest { reviewed_branch, ..request }))
    };
    assert_eq!(review(&repo), "main", "the local branch, which tracks no remote");

    repo.git(&["switch", "--quiet", "main"]);
    let clone = repo.cloned(&["--origin", "company"]);
    fetch(&clone);
    assert_eq!(review(&clone), "company/main", "the remote that the local branch tracks");

    // Without a local main branch, crh cannot tell which remote is the user's.
    clone.git(&["branch", "--quiet", "--delete", "--force", "main"]);
    assert_eq!(
        review(&clone),
        "error: cannot determine the base: no remote is called `origin` or `upstream`, and no local main branch tracks one of `company`, `contributor`"
    );
    // A local branch with another name that tracks the contributor's main branch.
    repo.git(&["switch", "--quiet", "--create", "master", "contributor/main"]);
    let reviewed_branch = Some("master");
    let base = base_with(&repo, |request| BaseRequest { reviewed_branch, ..request });
    assert_eq!(base_text(base), "main");
}

#[test]
fn ambiguous_base_is_an_error() {
    let repo = upstream();
    // Two main branches that diverged after the feature merged both.
    repo.git(&["switch", "--quiet", "--create", "master", "main"]);
    repo.write("only-master", "");
    repo.commit("only master");
    repo.git(&["switch", "--quiet", "main"]);
    repo.write("only-main", "");
    repo.commit("only main");
    repo.git(&["switch", "--quiet", "--create", "feature"]);
    repo.git(&["merge", "--quiet", "--no-edit", "master"]);
    work(&repo, "more");
    assert_eq!(
        base_text(base_of(&repo, NetworkMode::Online)),
        "error: the base is ambiguous: `main` and `master` are equally near"
    );
}

#[test]
fn unrelated_histories_have_no_base() {
    let repo = upstream();
    repo.git(&["switch", "--quiet", "--orphan", "island"]);
    repo.commit("island");
    let error = base_text(base_with(&repo, |request| BaseRequest {
        reviewed_branch: Some("island"),
        ..request
    }));
    assert_eq!(error, "error: `main` and `island` have no commit in common");
}

#[test]
fn unreachable_remote_is_an_error() {
    let upstream = upstream();
    let clone = upstream.cloned(&[]);
    work(&clone, "feature");
    clone.git(&["remote", "set-url", "origin", "file:///nowhere/at/all"]);
    let error = base_of(&clone, NetworkMode::Online).unwrap_err();
    assert!(matches!(error, BaseError::Remote { .. }), "{error}");
    assert_eq!(base_text(base_of(&clone, NetworkMode::Offline)), "origin/main");
}

#[test]
fn conditional_git_config_applies_to_remotes() {
    let upstream = upstream();
    let clone = upstream.cloned(&[]);
    work(&clone, "feature");
    clone.git(&["remote", "set-url", "origin", "nowhere:upstream"]);
    // Set only in a file that git includes for this git folder.
    let extra = clone.path().join(".git/extra");
    let key = format!("url.{}.insteadOf", upstream.url());
    clone.git(&["config", "--file", extra.to_str().unwrap(), &key, "nowhere:upstream"]);
    let condition = format!("includeIf.gitdir:{}/.path", clone.path().display());
    clone.git(&["config", &condition, extra.to_str().unwrap()]);
    assert_eq!(base_text(base_of(&clone, NetworkMode::Online)), "origin/main");
}
