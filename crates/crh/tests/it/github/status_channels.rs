//! Check runs and code scanning alerts.

use expect_test::expect;
use serde_json::{Value, json};

use super::{GitHubScenario, NAME};
use crh_testkit::Output;
use crh_testkit::fake_github::Permission;

/// A token of an App, as in Actions.
const OF_APP: &str = "ghs_ofAnApp0123456789";

/// Checks the pull request with these sinks, as an App with all permissions.
fn checked(hub: &GitHubScenario, more: &[&str]) -> Output {
    hub.github.token(OF_APP, "actions[bot]", &Permission::ALL);
    as_token(hub, OF_APP, more)
}

fn as_token(hub: &GitHubScenario, token: &str, more: &[&str]) -> Output {
    let url = hub.url();
    let args = [&["check", &url, "--run-dir", "runs"], more].concat();
    let environment = hub.github.environment_with(token);
    hub.with_environment(hub.elsewhere.path(), &args, &environment).run()
}

/// Categories of all uploads to code scanning.
fn categories(hub: &GitHubScenario) -> Vec<String> {
    let sarifs = hub.github.sarifs(NAME).into_iter();
    let id = |sarif: Value| sarif["runs"][0]["automationDetails"]["id"].as_str().map(str::to_owned);
    let ids = sarifs.filter_map(|sarif| id(sarif.report));
    ids.map(|id| id.rsplit_once('/').unwrap().0.to_owned()).collect()
}

#[test]
fn second_sarif_upload_replaces_the_first() {
    let hub = GitHubScenario::new();
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
fn dry_run_lists_writes_of_all_sinks() {
    let hub = GitHubScenario::new();
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
fn missing_permission_is_named_and_other_sinks_work() {
    let hub = GitHubScenario::new();
    let may = [Permission::ReadPulls, Permission::WritePulls, Permission::Contents];
    hub.github.token("ghp_pulls0123456789", "person", &may);
    let sinks = ["--sink", "github-check", "--sink", "github-sarif", "--sink", "github-comment"];
    let more = [&sinks[..], &["--fail-on", "never", "--format", "quickfix"]].concat();
    let output = as_token(&hub, "ghp_pulls0123456789", &more);
    assert_eq!(output.code, 3, "{}", output.shown());
    let warnings: String = output
        .stderr
        .lines()
        .filter(|line| line.contains("cannot deliver the report"))
        .map(|line| format!("{line}\n"))
        .collect();
    expect![[r#"
        error: cannot deliver the report to `github-check`: the token does not permit `GET /repos/acme/shop/commits/8eb36afa10b8357289816e3297aeff326b999264/check-runs`: Resource not accessible by personal access token; a check run needs `checks: write` and a token of Actions or of an App; personal tokens cannot create check runs
        error: cannot deliver the report to `github-sarif`: the token does not permit `POST /repos/acme/shop/code-scanning/sarifs`: Resource not accessible by personal access token; code scanning needs `security-events: write` and must be enabled for the repository
    "#]].assert_eq(&warnings);
    assert_eq!(hub.github.comments(&hub.pull).len(), 1);
}

#[test]
fn stored_run_is_posted_to_several_sinks() {
    let hub = GitHubScenario::new();
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
    assert_eq!(of(&second, "check_run"), [json!({"skipped": "already posted"})]);
    assert_eq!(hub.github.check_runs(NAME).len(), 1);
    assert_eq!(hub.github.comments(&hub.pull).len(), 1);
}
