//! The head moves during a review: nothing is posted.

use std::collections::BTreeSet;
use std::fs;

use expect_test::expect;

use super::{GitHubScenario, NAME};

/// Force-pushes an unrelated head and returns its commit.
fn force_push(hub: &GitHubScenario) -> String {
    hub.repo.git(&["checkout", "--quiet", "-B", "feature", "main"]);
    hub.repo.write("shop/orders.py", "<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> other\n");
    let now = hub.repo.commit("other totals");
    hub.github.push(&hub.pull);
    now
}

#[test]
fn force_push_between_ci_jobs_posts_nothing() {
    let hub = GitHubScenario::new();
    let folder = hub.elsewhere.path();
    let (url, number, reviewed) =
        (hub.url(), hub.pull.number.to_string(), hub.github.head(&hub.pull));
    let prepared =
        hub.crh(folder, &["prepare", &url, "--head", &reviewed, "--pack", "change.tar"]).run();
    assert_eq!(prepared.code, 0, "{}", prepared.shown());
    let args = ["check", "--packed", "change.tar", "--run-dir", "runs"];
    let checked = hub.user.crh(folder, &args).run();
    assert_eq!(checked.code, 1, "{}", checked.shown());
    let now = force_push(&hub);
    let post = |head: &str, sink: &str| {
        let place = ["post", "--run-dir", "runs", "--repo", NAME, "--pr", &number];
        let output =
            hub.crh(folder, &[&place[..], &["--head", head, "--sink", sink]].concat()).run();
        output.shown().replace(&reviewed, "REVIEWED").replace(&now, "NOW")
    };
    // With the first event and with the event of the push.
    let mut shown = BTreeSet::new();
    for sink in ["github", "github-comment", "github-check", "github-sarif"] {
        shown.insert(post(&reviewed, sink));
    }
    expect![[r#"
        exit 3
        error: the head of the pull request moved from REVIEWED to NOW
        hint: nothing was posted; review the new head and post that
        ---
    "#]]
    .assert_eq(&Vec::from_iter(shown).concat());
    expect![[r#"
        exit 3
        error: the run is for commit `REVIEWED`, not for `NOW`
        hint: nothing was posted; name a run of `NOW`, or review that commit first
        ---
    "#]]
    .assert_eq(&post(&now, "github"));
    assert_eq!(hub.github.writes_received(), 0);
}

#[test]
fn unexpected_head_is_not_reviewed() {
    let hub = GitHubScenario::new();
    let folder = hub.elsewhere.path();
    let (url, expected) = (hub.url(), hub.github.head(&hub.pull));
    let now = force_push(&hub);
    let mut shown = String::new();
    let clone = hub.clone();
    for (folder, args) in [
        (folder, vec!["prepare", &url, "--head", &expected, "--pack", "change.tar"]),
        (folder, vec!["check", &url, "--head", &expected, "--sink", "github", "--run-dir", "runs"]),
        (folder, vec!["review", &url, "--head", &expected, "--run-dir", "runs"]),
        (folder, vec!["check", &url, "--head", "feature"]),
        (clone.path(), vec!["check", "main..HEAD", "--head", &expected]),
    ] {
        let output = hub.crh(folder, &args).run();
        shown += &output.shown().replace(&expected, "EXPECTED").replace(&now, "NOW");
    }
    expect![[r#"
        exit 3
        error: the head of the pull request is `NOW`, not `EXPECTED`
        hint: the branch was pushed to, so nothing was reviewed; leave out `--head` to review the current head
        ---
        exit 3
        error: the head of the pull request is `NOW`, not `EXPECTED`
        hint: the branch was pushed to, so nothing was reviewed; leave out `--head` to review the current head
        ---
        exit 3
        error: the head of the pull request is `NOW`, not `EXPECTED`
        hint: the branch was pushed to, so nothing was reviewed; leave out `--head` to review the current head
        ---
        exit 2
        error: the value of `--head` is not a full commit id
        hint: `git rev-parse HEAD` prints it
        ---
        exit 2
        error: `--head` needs a pull request or merge proposal
        hint: name one: its address, `OWNER/NAME#N`, or `N` inside a clone
        ---
    "#]].assert_eq(&shown);
    assert_eq!(fs::read_dir(folder).unwrap().count(), 0, "nothing is left");
    assert_eq!(hub.github.writes_received(), 0);
    let by_git = hub.github.requests().into_iter().map(|request| request.path);
    let by_git: Vec<String> = by_git.filter(|path| !path.starts_with("/api/")).collect();
    assert_eq!(by_git, Vec::<String>::new(), "nothing was fetched");
    let args = ["check", &url, "--head", &now.to_uppercase(), "--sink", "github"];
    let output = hub.crh(folder, &args).run();
    assert_eq!(output.code, 1, "{}", output.shown());
    assert_eq!(hub.github.comments(&hub.pull).len(), 1);
}
