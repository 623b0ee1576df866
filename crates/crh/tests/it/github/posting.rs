//! What is posted, when nothing is, and that a second time changes nothing.

use std::fs;

use expect_test::expect;
use serde_json::json;

use super::{Hub, NAME};
use crh_testkit::fake_github::{Fault, How};

/// The run of the pull request, reviewed and not posted: its folder.
fn run(hub: &Hub) -> String {
    let args = ["check", &hub.url(), "--run-dir", "runs"];
    let output = hub.crh(hub.elsewhere.path(), &args).run();
    assert_eq!(output.code, 1, "{}", output.shown());
    let runs = fs::read_dir(hub.elsewhere.path().join("runs")).unwrap();
    let mut names: Vec<_> = runs.map(|entry| entry.unwrap().file_name()).collect();
    names.retain(|name| name.to_str().unwrap().contains('_'));
    format!("runs/{}", names[0].to_str().unwrap())
}

/// `crh post` with its usual flags, and more.
fn post(hub: &Hub, run: &str, more: &[&str]) -> crh_testkit::Output {
    let (number, head) = (hub.pull.number.to_string(), hub.repo.id("feature"));
    let usual = ["post", run, "--repo", NAME, "--pr", &number, "--head", &head];
    hub.crh(hub.elsewhere.path(), &[&usual, more].concat()).run()
}

#[test]
fn a_review_is_posted_and_posting_it_again_changes_nothing() {
    let hub = Hub::new();
    let args = ["check", &hub.url(), "--sink", "github"];
    let output = hub.crh(hub.elsewhere.path(), &args).run();
    assert_eq!(output.code, 1, "{}", output.shown());
    let (threads, comments) = (hub.github.threads(&hub.pull), hub.github.comments(&hub.pull));
    assert!(!threads.is_empty() && comments.len() == 1, "{threads:?} {comments:?}");
    let said = |output: &crh_testkit::Output, became: &str| {
        let place = format!("{}#issuecomment-{}", hub.url(), comments[0].id);
        let line = format!("the summary {became}: {place}");
        assert!(output.stderr.contains(&line), "{line} {}", output.stderr);
    };
    said(&output, "posted");
    let before = hub.github.shown(&hub.pull);
    let output = hub.crh(hub.elsewhere.path(), &args).run();
    said(&output, "left as it was");
    assert_eq!(output.code, 1, "{}", output.shown());
    assert_eq!(hub.github.threads(&hub.pull).len(), threads.len());
    assert_eq!(hub.github.comments(&hub.pull).len(), 1);
    assert_eq!(hub.github.shown(&hub.pull), before);
    assert_eq!(hub.github.surprises(), Vec::<String>::new());
}

#[test]
fn a_stored_run_is_posted_to_what_the_flags_name() {
    let hub = Hub::new();
    let run = run(&hub);
    assert_eq!(hub.github.writes_received(), 0);
    let output = post(&hub, &run, &[]);
    assert_eq!(output.code, 0, "{}", output.shown());
    assert_eq!(hub.github.comments(&hub.pull).len(), 1);
    let writes = hub.github.writes_received();
    let output = post(&hub, &run, &[]);
    assert_eq!(output.code, 0, "{}", output.shown());
    assert_eq!(hub.github.writes_received(), writes, "nothing was left to write");
}

#[test]
fn the_event_of_ci_says_where_a_run_goes() {
    let hub = Hub::new();
    let run = run(&hub);
    let event = json!({
        "repository": {"full_name": NAME},
        "pull_request": {"number": hub.pull.number, "head": {"sha": hub.repo.id("feature")}, "base": {"repo": {"full_name": NAME}}},
    });
    hub.user.write("event.json", &event.to_string());
    let program = hub.crh(hub.elsewhere.path(), &["post", &run]);
    let event = hub.user.path("event.json");
    let output = program
        .env("GITHUB_EVENT_PATH", event.to_str().unwrap())
        .env("GITHUB_REPOSITORY", NAME)
        .run();
    assert_eq!(output.code, 0, "{}", output.shown());
    assert_eq!(hub.github.comments(&hub.pull).len(), 1);
}

#[test]
fn a_run_that_claims_something_else_is_refused() {
    let hub = Hub::new();
    let run = run(&hub);
    let head = hub.repo.id("feature");
    let mut shown = String::new();
    for (repo, pr, head) in [
        ("other/shop", "1", head.as_str()),
        (NAME, "2", &head),
        (NAME, "1", &"0".repeat(40)),
        (NAME, "1", "short"),
    ] {
        let args = ["post", &run, "--repo", repo, "--pr", pr, "--head", head];
        let output = hub.crh(hub.elsewhere.path(), &args).run();
        shown += &output.shown();
    }
    let output = hub.crh(hub.elsewhere.path(), &["post", &run]).run();
    shown += &output.shown();
    let shown = shown.replace(&head, "HEAD");
    expect![[r#"
        exit 2
        error: the run is about `acme/shop#1`, and not about `other/shop#1`
        hint: nothing was posted; name the run of this pull request
        ---
        exit 2
        error: the run is about `acme/shop#1`, and not about `acme/shop#2`
        hint: nothing was posted; name the run of this pull request
        ---
        exit 3
        error: the run is about the commit `HEAD`, and not about `0000000000000000000000000000000000000000`
        hint: nothing was posted; if somebody has pushed, review this commit and post that; otherwise name the run of this commit
        ---
        exit 2
        error: `--head` is not the whole name of a commit
        hint: `git rev-parse HEAD` prints it
        ---
        exit 2
        error: nothing says which repository is meant
        hint: give `--repo OWNER/NAME`; in CI, the event of a pull request says it
        ---
    "#]].assert_eq(&shown);
    assert_eq!(hub.github.writes_received(), 0);
}

#[test]
fn a_head_that_has_moved_gets_nothing() {
    let hub = Hub::new();
    let run = run(&hub);
    let reviewed = hub.repo.id("feature");
    hub.repo.git(&["checkout", "--quiet", "feature"]);
    hub.repo.write("more.py", "z = 1\n");
    let now = hub.repo.commit("pushed meanwhile");
    hub.github.push(&hub.pull);
    let number = hub.pull.number.to_string();
    let args = ["post", &run, "--repo", NAME, "--pr", &number, "--head", &reviewed];
    let output = hub.crh(hub.elsewhere.path(), &args).run();
    let shown = output.shown().replace(&reviewed, "REVIEWED").replace(&now, "NOW");
    expect![[r#"
        exit 3
        error: the review is about REVIEWED, and the head of the pull request is NOW
        hint: nothing was posted; review the new head, and post that
        ---
    "#]]
    .assert_eq(&shown);
    assert_eq!(hub.github.writes_received(), 0);
}

#[test]
fn a_dry_run_prints_every_write_and_makes_none() {
    let hub = Hub::new();
    let args = ["check", &hub.url(), "--sink", "github", "--dry-run"];
    let output = hub.crh(hub.elsewhere.path(), &args).run();
    let writes: serde_json::Value = serde_json::from_str(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", output.shown()));
    let paths: Vec<_> = writes
        .as_array()
        .unwrap()
        .iter()
        .map(|write| {
            format!("{} {}", write["method"].as_str().unwrap(), write["path"].as_str().unwrap())
        })
        .collect();
    assert_eq!(
        paths,
        ["POST /repos/acme/shop/pulls/1/reviews", "POST /repos/acme/shop/issues/1/comments"]
    );
    assert_eq!(hub.github.writes_received(), 0);
}

#[test]
fn what_cannot_be_posted_is_refused_before_anything_is_done() {
    let hub = Hub::new();
    let clone = hub.clone();
    clone.write("more.py", "z = 1\n");
    clone.commit("not pushed");
    let number = hub.pull.number.to_string();
    let mut shown = String::new();
    for (folder, args) in [
        (clone.path(), vec!["check", "main..HEAD", "--sink", "github"]),
        (clone.path(), vec!["check", &number, "--sink", "github"]),
        (clone.path(), vec!["check", "main..HEAD", "--dry-run"]),
    ] {
        shown += &hub.crh(folder, &args).run().shown();
    }
    expect![[r#"
        exit 2
        error: `--sink github` is for a pull request, and this is none
        hint: name one: its address, `OWNER/NAME#N`, or `N` inside a clone
        ---
        exit 2
        note: the review has what was done here since the head of the pull request, `8eb36afa10b8`
        error: what is reviewed here is not the head of the pull request
        hint: push what is not there yet, or leave `--sink github` out
        ---
        exit 2
        error: `--dry-run` says how something is posted, and nothing is
        hint: `--sink github` or `--sink launchpad` posts the review
        ---
    "#]]
    .assert_eq(&shown);
    assert_eq!(hub.github.writes_received(), 0);
}

#[test]
fn ci_that_found_something_and_posted_nothing_says_so() {
    let hub = Hub::new();
    let output = hub.crh(hub.elsewhere.path(), &["check", &hub.url()]).env("CI", "true").run();
    assert!(output.stderr.contains("found and posted nowhere"), "{}", output.stderr);
    let output = hub.crh(hub.elsewhere.path(), &["check", &hub.url()]).run();
    assert!(!output.stderr.contains("posted nowhere"), "{}", output.stderr);
}

#[test]
fn what_a_member_said_no_to_is_not_raised_again() {
    let hub = Hub::new();
    hub.github.association(NAME, "member", "MEMBER");
    let args = ["check", &hub.url(), "--sink", "github", "--format", "json"];
    let report = |output: &crh_testkit::Output| -> serde_json::Value {
        serde_json::from_str(&output.stdout).unwrap()
    };
    let first = report(&hub.crh(hub.elsewhere.path(), &args).run());
    let threads = hub.github.threads(&hub.pull);
    for thread in &threads {
        hub.github.reply(&thread.id, "member", "won't fix");
    }
    let second = report(&hub.crh(hub.elsewhere.path(), &args).run());
    let conflict = "A merge conflict was left in the file";
    let raised = |report: &serde_json::Value| {
        report["issues"].as_array().unwrap().iter().any(|issue| issue["title"] == conflict)
    };
    assert_eq!((raised(&first), raised(&second)), (true, false), "{second:#}");
    let dismissed = second["suppressed"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|dropped| dropped["fate"] == "dismissed");
    assert!(dismissed.count() >= 1, "{second:#}");
}

#[test]
fn a_push_after_a_review_is_a_new_round_and_nothing_is_repeated() {
    let hub = Hub::new();
    let args = ["check", &hub.url(), "--sink", "github"];
    hub.crh(hub.elsewhere.path(), &args).run();
    let threads = hub.github.threads(&hub.pull).len();
    let first = hub.repo.id("feature");
    hub.repo.git(&["checkout", "--quiet", "feature"]);
    hub.repo.write("more.py", "z = 1\n");
    let second = hub.repo.commit("more");
    hub.github.push(&hub.pull);
    hub.prepared(hub.elsewhere.path(), &[&hub.url()]);
    let rounds = hub.json("preview-diffs/index.json");
    let heads: Vec<_> = rounds.as_array().unwrap().iter().map(|round| &round["headRev"]).collect();
    assert_eq!(heads, [&json!(first), &json!(second)]);
    hub.crh(hub.elsewhere.path(), &args).run();
    assert_eq!(hub.github.threads(&hub.pull).len(), threads, "the conflict was raised before");
    assert_eq!(hub.github.comments(&hub.pull).len(), 1);
}

#[test]
fn two_sinks_that_write_one_comment_are_refused() {
    let hub = Hub::new();
    let args = ["check", &hub.url(), "--sink", "github", "--sink", "github-comment"];
    let output = hub.crh(hub.elsewhere.path(), &args).run();
    expect![[r#"
        exit 2
        error: `github` and `github-comment` cannot be combined: both write the summary
        hint: `--sink github` posts comments on lines and the summary, `--sink github-comment` the summary alone
        ---
    "#]]
    .assert_eq(&output.shown());
    assert_eq!(hub.github.requests().len(), 0);
}

#[test]
fn a_review_that_could_not_be_posted_says_how_it_is_posted_later() {
    let hub = Hub::new();
    for number in 1..=4 {
        hub.github.fail(Fault::on_write(number, How::StatusBefore(403)));
    }
    let args = ["check", &hub.url(), "--sink", "github", "--run-dir", "runs"];
    let output = hub.crh(hub.elsewhere.path(), &args).run();
    assert!(output.stderr.contains("note: `crh post "), "{}", output.stderr);
}

#[test]
fn an_empty_diff_of_a_change_is_refused() {
    let hub = Hub::new();
    hub.prepared(hub.elsewhere.path(), &[&hub.url()]);
    let out = hub.user.path("out");
    fs::write(out.join("preview-diffs/latest/diff/raw.diff"), "").unwrap();
    let place = ["check", "--workspace", out.to_str().unwrap()];
    let args = [&place[..], &["--repo", hub.repo.path().to_str().unwrap()]].concat();
    let output = hub.crh(hub.elsewhere.path(), &args).run();
    expect![[r#"
        exit 2
        error: the diff of the workspace is empty, and its change is not
        hint: write it again with `crh prepare`
        ---
    "#]]
    .assert_eq(&output.shown());
}
