//! The head of a pull request is replaced while a review of it is under way: nothing is posted, and that is said.

use std::collections::BTreeSet;
use std::fs;

use expect_test::expect;

use super::{Hub, NAME};

/// Replaces the head by a commit that does not go on from it, as after a rebase; its name.
fn force_push(hub: &Hub) -> String {
    hub.repo.git(&["checkout", "--quiet", "-B", "feature", "main"]);
    hub.repo.write("shop/orders.py", "<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> other\n");
    let now = hub.repo.commit("other totals");
    hub.github.push(&hub.pull);
    now
}

#[test]
fn a_force_push_between_the_jobs_of_ci_gets_nothing() {
    let hub = Hub::new();
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
    // By the event that began it, and by that of the push.
    let mut shown = BTreeSet::new();
    for sink in ["github", "github-comment", "github-check", "github-sarif"] {
        shown.insert(post(&reviewed, sink));
    }
    expect![[r#"
        exit 3
        error: the review is about REVIEWED, and the head of the pull request is NOW
        hint: nothing was posted; review the new head, and post that
        ---
    "#]]
    .assert_eq(&Vec::from_iter(shown).concat());
    expect![[r#"
        exit 3
        error: the run is about the commit `REVIEWED`, and not about `NOW`
        hint: nothing was posted; if somebody has pushed, review this commit and post that; otherwise name the run of this commit
        ---
    "#]]
    .assert_eq(&post(&now, "github"));
    assert_eq!(hub.github.writes_received(), 0);
}

#[test]
fn a_head_that_is_not_the_one_of_the_event_is_not_reviewed() {
    let hub = Hub::new();
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
        error: the head of the pull request is `NOW`, and not `EXPECTED`
        hint: nothing was reviewed, since somebody has pushed; leave `--head` out to take what is there now
        ---
        exit 3
        error: the head of the pull request is `NOW`, and not `EXPECTED`
        hint: nothing was reviewed, since somebody has pushed; leave `--head` out to take what is there now
        ---
        exit 3
        error: the head of the pull request is `NOW`, and not `EXPECTED`
        hint: nothing was reviewed, since somebody has pushed; leave `--head` out to take what is there now
        ---
        exit 2
        error: `--head` is not the whole name of a commit
        hint: `git rev-parse HEAD` prints it
        ---
        exit 2
        error: `--head` is for a pull request, and this is none
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
