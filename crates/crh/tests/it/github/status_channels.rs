//! A check run and the alerts of code scanning, beside or instead of comments.

use std::fs;

use expect_test::expect;
use serde_json::{Value, json};

use super::{Hub, NAME};
use crh_testkit::Output;
use crh_testkit::fake_github::{Fault, How, Permission};

/// A token such as Actions has: that of an App.
const OF_APP: &str = "ghs_ofAnApp0123456789";

/// Checks the pull request with these sinks, as an App that may do everything.
fn checked(hub: &Hub, more: &[&str]) -> Output {
    hub.github.token(OF_APP, "actions[bot]", &Permission::ALL);
    as_token(hub, OF_APP, more)
}

fn as_token(hub: &Hub, token: &str, more: &[&str]) -> Output {
    let url = hub.url();
    let args = [&["check", &url, "--run-dir", "runs"], more].concat();
    let environment = hub.github.environment_with(token);
    hub.with_environment(hub.elsewhere.path(), &args, &environment).run()
}

/// The categories of everything that was sent to code scanning.
fn categories(hub: &Hub) -> Vec<String> {
    let sarifs = hub.github.sarifs(NAME).into_iter();
    let id = |sarif: Value| sarif["runs"][0]["automationDetails"]["id"].as_str().map(str::to_owned);
    let ids = sarifs.filter_map(|sarif| id(sarif.report));
    ids.map(|id| id.rsplit_once('/').unwrap().0.to_owned()).collect()
}

#[test]
fn a_check_run_shows_the_review_once() {
    let hub = Hub::new();
    let output = checked(&hub, &["--sink", "github-check"]);
    assert_eq!(output.code, 1, "{}", output.shown());
    let runs = hub.github.check_runs(NAME);
    assert_eq!(runs.len(), 1);
    assert_eq!((&runs[0]["name"], &runs[0]["conclusion"]), (&json!("crh"), &json!("failure")));
    assert!(!runs[0]["output"]["annotations"].as_array().unwrap().is_empty());
    assert_eq!(hub.github.comments(&hub.pull).len(), 0, "nothing but what was asked for");
    let writes = hub.github.writes_received();
    let output = checked(&hub, &["--sink", "github-check"]);
    assert_eq!(output.code, 1, "{}", output.shown());
    assert_eq!(hub.github.writes_received(), writes);
    assert_eq!(hub.github.surprises(), Vec::<String>::new());
}

#[test]
fn a_check_run_of_which_nobody_knows_whether_it_is_there_is_not_made_twice() {
    for how in [How::StatusBefore(502), How::StatusAfter(502), How::CutAfter] {
        let hub = Hub::new();
        hub.github.fail(Fault::on("POST", "*/check-runs", how));
        let output = checked(&hub, &["--sink", "github-check"]);
        assert_eq!(output.code, 1, "{}", output.shown());
        assert_eq!(hub.github.check_runs(NAME).len(), 1, "{}", output.shown());
    }
}

#[test]
fn what_is_sent_to_code_scanning_again_takes_the_place_of_what_was_sent_before() {
    let hub = Hub::new();
    for _ in 0..2 {
        let output = checked(&hub, &["--sink", "github-sarif"]);
        assert_eq!(output.code, 1, "{}", output.shown());
    }
    checked(&hub, &["--sink", "github-sarif", "--instance", "team-a"]);
    assert_eq!(categories(&hub), ["crh", "crh", "team-a"]);
    let sarif = &hub.github.sarifs(NAME)[0];
    assert_eq!(sarif.commit, hub.repo.id("feature"));
    assert_eq!(sarif.reference, format!("refs/pull/{}/head", hub.pull.number));
}

#[test]
fn a_dry_run_shows_the_writes_to_all_places_in_one_list() {
    let hub = Hub::new();
    let sinks = ["--sink", "github", "--sink", "github-check", "--sink", "github-sarif"];
    let output = checked(&hub, &[&sinks[..], &["--dry-run"]].concat());
    let writes: Value = serde_json::from_str(&output.stdout).unwrap();
    let paths = writes.as_array().unwrap().iter().map(|write| write["path"].as_str().unwrap());
    let expected = [
        "/repos/acme/shop/pulls/1/reviews",
        "/repos/acme/shop/issues/1/comments",
        "/repos/acme/shop/check-runs",
        "/repos/acme/shop/code-scanning/sarifs",
    ];
    assert_eq!(paths.collect::<Vec<_>>(), expected);
    assert_eq!(hub.github.writes_received(), 0);
}

#[test]
fn a_token_that_may_not_is_told_what_it_needs_and_the_others_are_served() {
    let hub = Hub::new();
    let may = [Permission::ReadPulls, Permission::WritePulls, Permission::Contents];
    hub.github.token("ghp_pulls0123456789", "person", &may);
    let sinks = ["--sink", "github-check", "--sink", "github-sarif", "--sink", "github-comment"];
    let more = [&sinks[..], &["--fail-on", "never", "--format", "quickfix"]].concat();
    let output = as_token(&hub, "ghp_pulls0123456789", &more);
    assert_eq!(output.code, 3, "{}", output.shown());
    let warnings: String = output
        .stderr
        .lines()
        .filter(|line| line.contains("did not go to"))
        .map(|line| format!("{line}\n"))
        .collect();
    expect![[r#"
        warning: the report did not go to `github-check`: the token may not do `GET /repos/acme/shop/commits/8eb36afa10b8357289816e3297aeff326b999264/check-runs`: Resource not accessible by personal access token; a check run needs `checks: write` and a token of Actions or of an App; a personal one cannot make any
        warning: the report did not go to `github-sarif`: the token may not do `POST /repos/acme/shop/code-scanning/sarifs`: Resource not accessible by personal access token; code scanning needs `security-events: write`, and has to be switched on for the repository
    "#]].assert_eq(&warnings);
    assert_eq!(hub.github.comments(&hub.pull).len(), 1);
}

#[test]
fn a_stored_run_goes_to_several_places() {
    let hub = Hub::new();
    checked(&hub, &[]);
    let (number, head) = (hub.pull.number.to_string(), hub.repo.id("feature"));
    let args = [
        "post",
        "--run-dir",
        "runs",
        "--repo",
        NAME,
        "--pr",
        &number,
        "--head",
        &head,
        "--sink",
        "github",
        "--sink",
        "github-check",
        "--sink",
        "github-sarif",
    ];
    let environment = hub.github.environment_with(OF_APP);
    let post = || hub.with_environment(hub.elsewhere.path(), &args, &environment).run();
    let first = post();
    assert_eq!(first.code, 0, "{}", first.shown());
    let outcome: Value = serde_json::from_str(&first.stdout).unwrap();
    let of = |outcome: &Value, item: &str| {
        let receipts = outcome["receipts"].as_array().unwrap().iter();
        let found = receipts.filter(|receipt| receipt["item"] == item);
        found.map(|receipt| receipt["delivery"].clone()).collect::<Vec<_>>()
    };
    for item in ["summary", "check_run", "code_scanning"] {
        assert_eq!(of(&outcome, item), [json!("posted")], "{item}: {outcome:#}");
    }
    let second: Value = serde_json::from_str(&post().stdout).unwrap();
    assert_eq!(of(&second, "check_run"), [json!({"skipped": "it stands already"})]);
    assert_eq!(hub.github.check_runs(NAME).len(), 1);
    assert_eq!(hub.github.comments(&hub.pull).len(), 1);
}

#[test]
fn a_head_that_has_moved_gets_no_check_run_either() {
    let hub = Hub::new();
    checked(&hub, &[]);
    let reviewed = hub.repo.id("feature");
    hub.repo.git(&["checkout", "--quiet", "feature"]);
    hub.repo.write("more.py", "z = 1\n");
    hub.repo.commit("pushed meanwhile");
    hub.github.push(&hub.pull);
    let number = hub.pull.number.to_string();
    for sink in ["github-check", "github-sarif"] {
        let place = ["post", "--run-dir", "runs", "--repo", NAME, "--pr", &number];
        let args = [&place[..], &["--head", &reviewed, "--sink", sink]].concat();
        let environment = hub.github.environment_with(OF_APP);
        let output = hub.with_environment(hub.elsewhere.path(), &args, &environment).run();
        assert_eq!(output.code, 3, "{}", output.shown());
    }
    assert_eq!(hub.github.writes_received(), 0);
}

#[test]
fn what_became_of_each_place_is_in_the_run() {
    let hub = Hub::new();
    checked(&hub, &["--sink", "github-comment", "--sink", "github-check"]);
    let runs = fs::read_dir(hub.elsewhere.path().join("runs")).unwrap();
    let run = runs.map(|entry| entry.unwrap().path()).find(|path| path.join("stages").is_dir());
    let stages = run.unwrap().join("stages");
    for (file, part) in
        [("posted-github-comment.json", "summary"), ("posted-github-check.json", "check_run")]
    {
        let text = fs::read_to_string(stages.join(file)).unwrap();
        assert!(text.contains(part), "{file}: {text}");
    }
}
