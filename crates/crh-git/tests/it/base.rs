//! Which base a change is compared with, in repositories as people have them.

use tempfile::TempDir;

use crh_git::{Base, BaseError, Network, Repository, Store, Wanted, Withheld, base};
use crh_testkit::Repo;

/// A repository whose main branch has three commits.
fn upstream() -> Repo {
    let repo = Repo::new();
    for text in ["one", "two", "three"] {
        repo.write("file", text);
        repo.commit(text);
    }
    repo
}

/// Starts a branch with one commit in a clone.
fn work(clone: &Repo, branch: &str) -> String {
    clone.git(&["switch", "--quiet", "--create", branch]);
    clone.write("work", branch);
    clone.commit(branch)
}

fn found(repo: &Repo, network: Network) -> Result<Base, BaseError> {
    found_with(repo, |wanted| Wanted { network, ..wanted })
}

fn found_with(
    repo: &Repo,
    change: impl FnOnce(Wanted<'static>) -> Wanted<'static>,
) -> Result<Base, BaseError> {
    let folder = TempDir::new().unwrap();
    let repository = Repository::discover(repo.path()).unwrap();
    let store = Store::open(folder.path(), &repository, Withheld::default()).unwrap();
    let wanted =
        Wanted { branch: None, repository: None, under_review: None, network: Network::Online };
    base(&store, &repo.id("HEAD"), &change(wanted))
}

fn shown(result: Result<Base, BaseError>) -> String {
    match result {
        Ok(base) => base.shown(),
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn a_stale_base_is_refreshed_before_it_is_used() {
    let upstream = upstream();
    let clone = upstream.cloned(&[]);
    // The branch grows from a commit of the main branch that the clone has never heard of under that name.
    upstream.write("file", "four");
    let four = upstream.commit("four");
    clone.git(&["fetch", "--quiet", "origin", &four]);
    clone.git(&["switch", "--quiet", "--detach", "FETCH_HEAD"]);
    work(&clone, "feature");
    let stale = clone.id("origin/main");
    assert_eq!(found(&clone, Network::Offline).unwrap().commit, stale, "all that is known offline");
    assert_eq!(found(&clone, Network::Online).unwrap().commit, four);
    assert_eq!(clone.id("origin/main"), stale, "the user's own ref is left alone");
}

#[test]
fn a_renamed_default_branch_is_noticed() {
    let upstream = upstream();
    let clone = upstream.cloned(&[]);
    work(&clone, "feature");
    upstream.git(&["branch", "--move", "main", "production"]);
    assert_eq!(shown(found(&clone, Network::Offline)), "origin/main");
    assert_eq!(shown(found(&clone, Network::Online)), "origin/production");
}

#[test]
fn a_fork_that_is_behind_is_not_the_base() {
    let upstream = upstream();
    let fork = upstream.cloned(&["--bare"]);
    upstream.write("file", "four");
    upstream.commit("four");
    let clone = fork.cloned(&[]);
    clone.git(&["remote", "add", "upstream", &upstream.url()]);
    clone.git(&["fetch", "--quiet", "upstream"]);
    clone.git(&["switch", "--quiet", "--detach", "upstream/main"]);
    work(&clone, "feature");
    assert_eq!(shown(found(&clone, Network::Online)), "upstream/main");
    clone.git(&["config", "remote.origin.gh-resolved", "base"]);
    assert_eq!(shown(found(&clone, Network::Online)), "origin/main", "what the user has chosen");
}

#[test]
fn the_forge_says_which_repository_counts_and_a_longer_name_is_another() {
    let (upstream, other) = (upstream(), upstream());
    let clone = other.cloned(&[]);
    work(&clone, "feature");
    clone.git(&["remote", "add", "a-longer-name", &format!("{}-fork", upstream.url())]);
    clone.git(&["remote", "add", "right", &upstream.url()]);
    let repository: &'static str = String::leak(upstream.path().display().to_string());
    let base = found_with(&clone, |wanted| Wanted {
        repository: Some(repository),
        branch: Some("main"),
        ..wanted
    });
    assert_eq!(shown(base), "right/main");
    let missing = found_with(&clone, |wanted| Wanted { branch: Some("release"), ..wanted });
    assert_eq!(
        shown(missing),
        "error: Unable to resolve PR base branch release locally. Fetch the base branch and rerun so the review scope stays aligned with the PR."
    );
}

#[test]
fn a_shallow_clone_is_deepened_until_the_histories_meet() {
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
    assert!(found(&clone, Network::Offline).is_err());
    let base = found(&clone, Network::Online).unwrap();
    assert_eq!((base.commit, base.branch.as_str()), (parting, "main"));
    assert_eq!(std::fs::read(clone.path().join(".git/shallow")).unwrap(), before);
}

#[test]
fn without_a_remote_the_nearest_of_the_common_names_is_the_base() {
    let repo = upstream();
    let on_main = |wanted| Wanted { under_review: Some("main"), ..wanted };
    assert_eq!(
        shown(found_with(&repo, on_main)),
        "error: cannot tell what `main` is to be compared with: there is no remote, and `main` cannot be its own base"
    );
    work(&repo, "develop");
    work(&repo, "feature");
    assert_eq!(shown(found(&repo, Network::Online)), "develop");
    repo.git(&["switch", "--quiet", "--create", "hotfix", "main"]);
    work(&repo, "fix");
    assert_eq!(
        shown(found(&repo, Network::Online)),
        "main",
        "of two at one commit, the first name"
    );
}

#[test]
fn what_is_ambiguous_is_an_error() {
    let repo = upstream();
    // Two main branches that both went on after the feature had taken something from each.
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
        shown(found(&repo, Network::Online)),
        "error: cannot tell what this is to be compared with: `main` and `master` are equally near"
    );
}

#[test]
fn histories_that_never_meet_have_no_base() {
    let repo = upstream();
    repo.git(&["switch", "--quiet", "--orphan", "island"]);
    repo.commit("island");
    let error =
        shown(found_with(&repo, |wanted| Wanted { under_review: Some("island"), ..wanted }));
    assert_eq!(error, "error: `main` and `island` have no commit in common");
}

#[test]
fn a_remote_that_does_not_answer_is_an_error_and_not_a_stale_base() {
    let upstream = upstream();
    let clone = upstream.cloned(&[]);
    work(&clone, "feature");
    clone.git(&["remote", "set-url", "origin", "file:///nowhere/at/all"]);
    let error = found(&clone, Network::Online).unwrap_err();
    assert!(matches!(error, BaseError::Remote { .. }), "{error}");
    assert_eq!(shown(found(&clone, Network::Offline)), "origin/main");
}

#[test]
fn settings_that_hold_for_the_folder_of_a_repository_hold_for_its_remotes() {
    let upstream = upstream();
    let clone = upstream.cloned(&[]);
    work(&clone, "feature");
    clone.git(&["remote", "set-url", "origin", "nowhere:upstream"]);
    // Only said in a file that git includes for this git folder alone.
    let extra = clone.path().join(".git/extra");
    let key = format!("url.{}.insteadOf", upstream.url());
    clone.git(&["config", "--file", extra.to_str().unwrap(), &key, "nowhere:upstream"]);
    let condition = format!("includeIf.gitdir:{}/.path", clone.path().display());
    clone.git(&["config", &condition, extra.to_str().unwrap()]);
    assert_eq!(shown(found(&clone, Network::Online)), "origin/main");
}
