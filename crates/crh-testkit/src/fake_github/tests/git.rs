//! The real git against the fake.

use super::super::{FakeGitHub, Permission, TOKEN};
use super::{opened, shop};
use crate::Repo;

#[test]
fn force_pushed_commit_is_fetchable_by_hash() {
    let repo = shop();
    let (github, pull) = opened(&repo);
    let before = github.head(&pull);
    repo.git(&["commit", "--quiet", "--amend", "--message", "other"]);
    github.push(&pull);
    assert_ne!(github.head(&pull), before);
    let clone = Repo::new();
    clone.git(&["fetch", "--quiet", "--depth=1", &github.git_url("acme/shop"), &before]);
    assert_eq!(clone.id("FETCH_HEAD"), before);
}

#[test]
fn compressed_git_request_is_read() {
    let repo = Repo::new();
    repo.write("a", "1");
    repo.commit("first");
    for number in 0..60 {
        repo.git(&["branch", &format!("b{number}")]);
        repo.commit(&format!("commit {number}"));
    }
    let github = FakeGitHub::start();
    github.repository("acme/shop", &repo);
    let clone = Repo::new();
    clone.git(&[
        "fetch",
        "--quiet",
        &github.git_url("acme/shop"),
        "refs/heads/*:refs/heads/*",
        "--update-head-ok",
    ]);
    assert_eq!(clone.id("main"), repo.id("main"));
    let packed = github.requests().iter().any(|one| one.header("content-encoding") == Some("gzip"));
    assert!(packed, "git did not pack its request, so this test shows nothing");
}

#[test]
fn private_repository_needs_a_token() {
    let (github, _) = opened(&shop());
    github.make_private("acme/shop").token("ghs_blind", "blind[bot]", &[Permission::ReadPulls]);
    let clone = Repo::new();
    let url = github.git_url("acme/shop");
    let ends = |token: Option<&str>| {
        use base64::Engine;
        let pair = token.map(|token| format!("x-access-token:{token}"));
        let pair = pair.map(|pair| base64::engine::general_purpose::STANDARD.encode(pair));
        let header = pair.map(|pair| format!("http.extraHeader=Authorization: Basic {pair}"));
        let mut args = vec!["-c", "credential.helper=", "-c", "core.askPass=true"];
        args.extend(header.iter().flat_map(|header| ["-c", header]));
        args.extend(["ls-remote", &url, "refs/pull/*"]);
        String::from_utf8(clone.git_or_nothing(&args)).unwrap()
    };
    assert!(ends(Some(TOKEN)).ends_with("\trefs/pull/1/head\n"));
    for token in [None, Some("ghp_unknown"), Some("ghs_blind")] {
        assert_eq!(ends(token), "", "{token:?}");
    }
}
