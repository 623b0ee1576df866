//! Classification of checkouts.

use super::*;
use crh_testkit::Repo;

#[test]
fn checkout_kind_follows_from_branch_base_and_pull_request() {
    let defaults = ["main".to_owned()];
    for (base, pr, branch, expected) in [
        ("refs/heads/main", "", Some("topic"), Checkout::Branch),
        ("refs/remotes/origin/main", "", Some("topic"), Checkout::Branch),
        ("refs/heads/main", "", Some("main"), Checkout::Base),
        ("refs/heads/release", "", Some("release"), Checkout::Base),
        ("refs/remotes/up/release", "", Some("release"), Checkout::Base),
        // Compared with a commit or with another branch.
        ("0123abcd", "", Some("main"), Checkout::Base),
        ("refs/heads/release", "", Some("main"), Checkout::Base),
        ("refs/tags/main", "", Some("topic"), Checkout::Branch),
        ("refs/heads/main", "", None, Checkout::Base),
        ("main", "7", Some("topic"), Checkout::PullRequest),
        // A fork may propose its own `main`.
        ("main", "7", Some("main"), Checkout::PullRequest),
    ] {
        let change = ReviewedChange {
            base_ref: base.to_owned(),
            pr_number: pr.to_owned(),
            ..ReviewedChange::default()
        };
        let place = CheckoutPosition { head: None, branch: branch.map(str::to_owned) };
        assert_eq!(checkout_at(&change, &place, &defaults), expected, "{base} {pr} {branch:?}");
    }
}

#[test]
fn branch_name_is_read_from_ref() {
    for (name, expected) in [
        ("refs/heads/main", Some("main")),
        ("refs/heads/a/b", Some("a/b")),
        ("refs/remotes/origin/a/b", Some("a/b")),
        ("refs/tags/v1", None),
        ("HEAD~3", None),
        ("main", None),
    ] {
        assert_eq!(branch_named(name), expected, "{name}");
    }
}

#[test]
fn checkout_moves_with_another_branch_or_commit() {
    let place = |head: &str, branch: &str| CheckoutPosition {
        head: Some(head.to_owned()),
        branch: Some(branch.to_owned()),
    };
    let check =
        |now: CheckoutPosition, expected| assert_eq!(place("c1", "topic").left_for(&now), expected);
    check(place("c1", "topic"), None);
    check(place("c2", "topic"), Some("`HEAD` has moved since the fixes"));
    check(place("c1", "other"), Some("another branch is checked out now"));
}

#[test]
fn fixes_go_only_to_the_branch_of_the_pull_request() {
    let origin = Repo::from_fixture("//- a.txt\na\n");
    let repo = origin.cloned(&[]);
    let seen = repo.id("HEAD");
    repo.git(&["checkout", "--quiet", "-b", "topic", "--track", "origin/main"]);
    repo.git(&["checkout", "--quiet", "-b", "local", "--track", "main"]);
    let repository = Repository::discover(repo.path()).unwrap();
    let check = |pr: &str, head: &str, branch: &str| {
        let (pr_number, head_ref) = (pr.to_owned(), "refs/heads/main".to_owned());
        let change = ReviewedChange { pr_number, head_ref, ..ReviewedChange::default() };
        let report = Report { change, ..Report::default() };
        let place = CheckoutPosition { head: None, branch: Some(branch.to_owned()) };
        followed_by_pull(&repository, &report, head, &place).map(|to| to.branch)
    };
    let other = "the branch tracks `main` of `origin`, which is not the branch of the pull request";
    assert_eq!(check("7", &seen, "main"), Ok("main".to_owned()));
    // A fork proposes its own `main`.
    assert_eq!(check("7", "0123abcd", "main"), Err(other.to_owned()));
    // Found by the name of the branch.
    assert_eq!(check("", &seen, "main"), Ok("main".to_owned()));
    assert_eq!(check("", &seen, "topic"), Err(other.to_owned()));
    assert_eq!(check("", &seen, "local"), Err(FOLLOWS_NOTHING.to_owned()));
}
