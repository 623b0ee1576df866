//! What a checkout is.

use super::*;

#[test]
fn a_checkout_is_known_by_its_branch_its_base_and_its_pull_request() {
    let defaults = ["main".to_owned()];
    for (base, pr, branch, expected) in [
        ("refs/heads/main", "", Some("topic"), Checkout::Branch),
        ("refs/remotes/origin/main", "", Some("topic"), Checkout::Branch),
        ("refs/heads/main", "", Some("main"), Checkout::Base),
        ("refs/heads/release", "", Some("release"), Checkout::Base),
        ("refs/remotes/up/release", "", Some("release"), Checkout::Base),
        // Compared with a commit of its own, or with another branch.
        ("0123abcd", "", Some("main"), Checkout::Base),
        ("refs/heads/release", "", Some("main"), Checkout::Base),
        ("refs/tags/main", "", Some("topic"), Checkout::Branch),
        ("refs/heads/main", "", None, Checkout::Base),
        ("main", "7", Some("topic"), Checkout::PullRequest),
        // A fork may propose its own `main`.
        ("main", "7", Some("main"), Checkout::PullRequest),
    ] {
        let change =
            Change { base_ref: base.to_owned(), pr_number: pr.to_owned(), ..Change::default() };
        let place = Place { head: None, branch: branch.map(str::to_owned) };
        assert_eq!(checkout_at(&change, &place, &defaults), expected, "{base} {pr} {branch:?}");
    }
}

#[test]
fn a_branch_is_known_by_its_ref() {
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
fn a_checkout_is_elsewhere_with_another_branch_or_commit() {
    let place = |head: &str, branch: &str| Place {
        head: Some(head.to_owned()),
        branch: Some(branch.to_owned()),
    };
    let check = |now: Place, expected| assert_eq!(place("c1", "topic").left_for(&now), expected);
    check(place("c1", "topic"), None);
    check(place("c2", "topic"), Some("`HEAD` is another commit than before the fixes"));
    check(place("c1", "other"), Some("another branch is checked out than before the fixes"));
}
