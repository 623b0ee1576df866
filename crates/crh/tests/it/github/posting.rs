//! Posting: what is posted, when nothing is, and that repeating changes nothing.

use std::fs;

use expect_test::expect;
use serde_json::{Value, json};

use super::{GitHubScenario, NAME};
use crh_testkit::fake_github::{Fault, FaultKind};

/// Folder of a run of the pull request that is not posted.
fn run(hub: &GitHubScenario) -> String {
    let args = ["check", &hub.url(), "--run-dir", "runs"];
    let output = hub.crh(hub.elsewhere.path(), &args).run();
    assert_eq!(output.code, 1, "{}", output.shown());
    let runs = fs::read_dir(hub.elsewhere.path().join("runs")).unwrap();
    let mut names: Vec<_> = runs.map(|entry| entry.unwrap().file_name()).collect();
    names.retain(|name| name.to_str().unwrap().contains('_'));
    format!("runs/{}", names[0].to_str().unwrap())
}

/// `crh post` with its usual flags, and more.
fn post(hub: &GitHubScenario, run: &str, more: &[&str]) -> crh_testkit::Output {
    let (number, head) = (hub.pull.number.to_string(), hub.repo.id("feature"));
    let usual = ["post", run, "--repo", NAME, "--pr", &number, "--head", &head];
    hub.crh(hub.elsewhere.path(), &[&usual, more].concat()).run()
}

#[test]
fn posting_twice_changes_nothing() {
    let hub = GitHubScenario::new();
    let args = ["check", &hub.url(), "--sink", "github"];
    let output = hub.crh(hub.elsewhere.path(), &args).run();
    assert_eq!(output.code, 1, "{}", output.shown());
    let (threads, comments) = (hub.github.threads(&hub.pull), hub.github.comments(&hub.pull));
    assert!(!threads.is_empty() && comments.len() == 1, "{threads:?} {comments:?}");
    let said = |output: &crh_testkit::Output, became: &str| {
        let place = format!("{}#issuecomment-{}", hub.url(), comments[0].id);
        let line = format!("summary {became}: {place}");
        assert!(output.stderr.contains(&line), "{line} {}", output.stderr);
    };
    said(&output, "posted");
    let before = hub.github.render(&hub.pull);
    let output = hub.crh(hub.elsewhere.path(), &args).run();
    said(&output, "unchanged");
    assert_eq!(output.code, 1, "{}", output.shown());
    assert_eq!(hub.github.threads(&hub.pull).len(), threads.len());
    assert_eq!(hub.github.comments(&hub.pull).len(), 1);
    assert_eq!(hub.github.render(&hub.pull), before);
    assert_eq!(hub.github.surprises(), Vec::<String>::new());
}

#[test]
fn stored_run_is_posted_to_the_flags_target() {
    let hub = GitHubScenario::new();
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
fn issue_that_is_fixed_only_in_a_checkout_is_posted_as_open() {
    let hub = GitHubScenario::new();
    let run = run(&hub);
    let path = hub.elsewhere.path().join(&run).join("review.json");
    let reviewed: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let mut report = reviewed.clone();
    let file = report["issues"][0]["file"].clone();
    let issues = reviewed["issues"].as_array().unwrap().iter();
    let fix =
        |issue: &Value| json!({ "number": issue["number"], "description": "x", "files": [file] });
    report["applied_fixes"] = issues.map(fix).collect::<Vec<_>>().into();
    report["verdict"] = json!("Ready to merge");
    // The review of the fixes found a P0 in code without a fix.
    let mut repeated = reviewed.clone();
    let mut later = reviewed["issues"][0].clone();
    later["number"] = json!(98);
    later["dedupe_key"] = json!(format!("{:016x}", 98));
    later["severity"] = json!("P0");
    later["title"] = json!("Found later");
    repeated["issues"].as_array_mut().unwrap().push(later);
    let stored = hub.elsewhere.path().join(&run).join("stages/report.json");
    let first = reviewed["verdict"].as_str().unwrap();
    for (copy, verdict) in [(Some(&reviewed), first), (Some(&repeated), "Not ready"), (None, first)]
    {
        fs::write(&path, report.to_string()).unwrap();
        match copy {
            Some(copy) => fs::write(&stored, copy.to_string()).unwrap(),
            None => fs::remove_file(&stored).unwrap(),
        }
        let output = post(&hub, &run, &["--allow-approve"]);
        assert_eq!(output.code, 0, "{}", output.shown());
        let body = &hub.github.comments(&hub.pull)[0].body;
        assert!(!body.contains("(fixed)") && body.contains(verdict), "{verdict}: {body}");
        let reviews = hub.github.reviews(&hub.pull);
        assert!(reviews.iter().all(|review| review.state != "APPROVED"), "{reviews:?}");
    }
}

#[test]
fn run_for_another_target_is_refused() {
    let hub = GitHubScenario::new();
    let run = run(&hub);
    let head = hub.repo.id("feature");
    let mut shown = String::new();
    for (repo, pr, head) in
        [(NAME, "2", head.as_str()), (NAME, "1", &"0".repeat(40)), (NAME, "1", "short")]
    {
        let args = ["post", &run, "--repo", repo, "--pr", pr, "--head", head];
        let output = hub.crh(hub.elsewhere.path(), &args).run();
        shown += &output.shown();
    }
    let output = hub.crh(hub.elsewhere.path(), &["post", &run]).run();
    shown += &output.shown();
    let shown = shown.replace(&head, "HEAD");
    expect![[r#"
        exit 2
        error: the run is for `acme/shop#1`, not for `acme/shop#2`
        hint: nothing was posted; name the run of this pull request
        ---
        exit 3
        error: the run is for commit `HEAD`, not for `0000000000000000000000000000000000000000`
        hint: nothing was posted; name a run of `0000000000000000000000000000000000000000`, or review that commit first
        ---
        exit 2
        error: the value of `--head` is not a full commit id
        hint: `git rev-parse HEAD` prints it
        ---
        exit 2
        error: no repository given
        hint: use `--repo OWNER/NAME`; in CI the pull request event provides it
        ---
    "#]].assert_eq(&shown);
    assert_eq!(hub.github.writes_received(), 0);
}

#[test]
fn impossible_posting_is_refused_early() {
    let hub = GitHubScenario::new();
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
        error: `--sink github` needs a pull request
        hint: pass its address, `OWNER/NAME#N`, or `N` inside a clone
        ---
        exit 2
        note: the review includes local changes on top of the head of the pull request, `8eb36afa10b8`
        error: the reviewed commit is not the head of the pull request
        hint: push your commits, or leave out the `--sink` that posts
        ---
        exit 2
        error: `--dry-run` needs a sink that posts
        hint: add `--sink github` or `--sink launchpad` or `--sink gitlab` or `--sink gitea`
        ---
    "#]]
    .assert_eq(&shown);
    assert_eq!(hub.github.writes_received(), 0);
}

#[test]
fn conflicting_sinks_are_refused() {
    let hub = GitHubScenario::new();
    let args = ["check", &hub.url(), "--sink", "github", "--sink", "github-comment"];
    let output = hub.crh(hub.elsewhere.path(), &args).run();
    expect![[r#"
        exit 2
        error: `github` and `github-comment` cannot be combined: both write the summary
        hint: `--sink github` posts inline comments and the summary, `--sink github-comment` only the summary
        ---
    "#]]
    .assert_eq(&output.shown());
    assert_eq!(hub.github.requests().len(), 0);
}

#[test]
fn failed_posting_hints_at_crh_post() {
    let hub = GitHubScenario::new();
    for number in 1..=4 {
        hub.github.fail(Fault::on_write(number, FaultKind::StatusBefore(403)));
    }
    let args = ["check", &hub.url(), "--sink", "github", "--run-dir", "runs"];
    let output = hub.crh(hub.elsewhere.path(), &args).run();
    assert!(output.stderr.contains("note: run `crh post "), "{}", output.stderr);
}

#[test]
fn empty_diff_is_refused() {
    let hub = GitHubScenario::new();
    hub.prepared(hub.elsewhere.path(), &[&hub.url()]);
    let out = hub.user.path("out");
    fs::write(out.join("preview-diffs/latest/diff/raw.diff"), "").unwrap();
    let place = ["check", "--workspace", out.to_str().unwrap()];
    let args = [&place[..], &["--repo", hub.repo.path().to_str().unwrap()]].concat();
    let output = hub.crh(hub.elsewhere.path(), &args).run();
    expect![[r#"
        exit 2
        error: the diff of the workspace is empty, but its change is not
        hint: write it again with `crh prepare`
        ---
    "#]]
    .assert_eq(&output.shown());
}
