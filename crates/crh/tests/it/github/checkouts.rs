//! Pull requests in a checkout, and what counts of the checkout.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use super::{GitHubScenario, NAME, SHOP};
use crate::review::script::{answers, confirms, delegates, finding, with};
use crate::review::with_model;
use crate::user::{assert_same, tree};
use crh_testkit::fake_github::{Fault, FaultKind, Pull, REVIEWER};
use crh_testkit::{FakeModel, Repo};

/// Longer than any test takes.
const NEVER: Duration = Duration::from_secs(3_600);

#[test]
fn ci_merge_commit_is_not_local_work() {
    let hub = GitHubScenario::new();
    let clone = hub.clone();
    clone.git(&["checkout", "--quiet", "--detach", "origin/main"]);
    clone.git(&["merge", "--quiet", "--no-ff", "-m", "a merge for trying it", "feature"]);
    clone.write("later.txt", "touched by an earlier step\n");
    let number = hub.pull.number.to_string();
    let output = hub.crh(clone.path(), &["check", &number, "--sink", "github"]).run();
    assert_eq!(output.code, 1, "{}", output.shown());
    assert_eq!(hub.github.comments(&hub.pull).len(), 1);
    let (_, summary) = hub.prepared(clone.path(), &[&number]);
    assert_eq!(summary["headRev"], json!(hub.repo.id("feature")));
}

#[test]
fn interrupted_review_is_not_posted() {
    let hub = GitHubScenario::new();
    let scopes = delegates(&[("all", &["shop/orders.py", "AGENTS.md"])]);
    let model = FakeModel::start().on("orchestrator", [scopes.delayed(NEVER)]);
    let args = ["review", &hub.url(), "--sink", "github", "--sink", "file:report.json"];
    let running = with_model(hub.crh(hub.elsewhere.path(), &args), &model).start();
    model.wait_for("orchestrator", 1);
    running.interrupt();
    let output = running.end();
    assert_eq!(output.code, 130, "{}", output.shown());
    let why = "error: cannot deliver the report to `github`: the review was stopped; `crh post RUN` posts the findings so far\n";
    assert!(output.stderr.contains(why), "{}", output.stderr);
    assert_eq!(hub.github.writes_received(), 0);
    assert!(hub.elsewhere.path().join("report.json").exists());
}

#[test]
fn invisible_local_changes_keep_the_workspace() {
    let repo = Repo::new();
    repo.write("a.py", "a = 1\n");
    repo.commit("base");
    repo.git(&["checkout", "--quiet", "-b", "feature"]);
    repo.write("a.py", "a = 2\n");
    repo.commit("nothing to say about");
    let hub = GitHubScenario::with(repo);
    let of_hub = || {
        hub.prepared(hub.elsewhere.path(), &[&hub.url()]);
        tree(&hub.user.path("out"))
    };
    let before = of_hub();
    let args = ["check", &hub.url(), "--sink", "github"];
    assert_eq!(hub.crh(hub.elsewhere.path(), &args).run().code, 0);
    assert_eq!(hub.github.comments(&hub.pull).len(), 1);
    assert_same(&before, &of_hub(), "after it was reviewed");
    let said = hub.github.comment(&hub.pull, "member", "Is this ready?");
    hub.github.delete_comment(&hub.pull, said);
    assert_same(&before, &of_hub(), "after a comment was deleted");
}

/// A clone with the branch of a fork checked out that has a pull request.
fn checked_out(hub: &GitHubScenario, owner: &str) -> Repo {
    let fork = hub.repo.cloned(&[]);
    fork.git(&["checkout", "--quiet", "-b", "patch", "origin/main"]);
    fork.write("new.py", "x = 1\n");
    fork.commit("from a fork");
    let name = format!("{owner}/shop");
    hub.github.fork(&name, NAME, &fork);
    hub.github.pull(NAME, Pull { head: format!("{owner}:patch"), ..Pull::default() });
    let clone = hub.clone();
    clone.git(&["fetch", "--quiet", &fork.url(), "+patch:refs/remotes/theirs/patch"]);
    clone.git(&["remote", "add", "theirs", &hub.github.git_url(&name)]);
    clone.git(&["checkout", "--quiet", "-b", "patch", "--track", "theirs/patch"]);
    clone
}

#[test]
fn checked_out_foreign_change_is_untrusted() {
    for (owner, expected) in [("stranger", "forge"), (REVIEWER, "repository")] {
        let hub = GitHubScenario::new();
        let clone = checked_out(&hub, owner);
        let output = hub.crh(clone.path(), &["check", "--run-dir", "runs"]).run();
        assert_eq!(output.code, 0, "{}", output.shown());
        let run = fs::read_dir(clone.path().join("runs")).unwrap().map(|entry| entry.unwrap());
        let run = run.map(|entry| entry.path()).find(|path| path.join("stages").exists()).unwrap();
        let found = fs::read(run.join("stages/found.json")).unwrap();
        let found: Value = serde_json::from_slice(&found).unwrap();
        assert_eq!(found["change"]["repo"], json!(NAME));
        assert_eq!(found["origin"], json!(expected), "{owner}");
    }
}

#[test]
fn invalid_checkout_settings_do_not_stop_the_review() {
    let repo = Repo::new();
    repo.write("crh.toml", "broken\n");
    repo.write("a.py", "a = 1\n");
    repo.commit("base");
    repo.git(&["checkout", "--quiet", "-b", "feature"]);
    repo.write("crh.toml", "[review]\nlanguage = \"de\"\n");
    repo.commit("mends the settings");
    let hub = GitHubScenario::with(repo);
    let output = hub.crh(hub.elsewhere.path(), &["check", &hub.url(), "--format", "json"]).run();
    assert_eq!(output.code, 0, "{}", output.shown());
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    let said = "ignoring the repository's settings: ";
    let warnings = report["warnings"].as_array().unwrap().iter();
    let warnings: Vec<_> = warnings.filter(|it| it.as_str().unwrap().contains(said)).collect();
    assert_eq!(warnings.len(), 1, "{report:#}");
    assert!(output.stderr.contains(&format!("warning: {said}")), "{}", output.stderr);
}

#[test]
fn checkout_settings_are_not_read() {
    let hub = GitHubScenario::new();
    let clone = hub.clone();
    clone.git(&["checkout", "--quiet", "--detach"]);
    clone.write("crh.toml", "broken\n");
    hub.prepared(clone.path(), &[&hub.pull.number.to_string()]);
    // Nor for a branch whose pull request was found.
    clone.git(&["checkout", "--quiet", "feature"]);
    let (_, summary) = hub.prepared(clone.path(), &[]);
    assert_eq!(summary["title"], json!("Totals of several items"));
}

#[test]
fn unfetchable_found_pull_request_is_left_out() {
    let hub = GitHubScenario::new();
    let clone = hub.clone();
    hub.repo.git(&["checkout", "--quiet", "feature"]);
    hub.repo.write("more.py", "z = 1\n");
    hub.repo.commit("pushed by another person");
    hub.github.push(&hub.pull);
    // Twice with the token (by commit and by branch), then from the remote.
    let refused = Fault::on("GET", "/acme/shop.git/*", FaultKind::StatusBefore(403));
    hub.github.fail(refused.times(2));
    let (output, summary) = hub.prepared(clone.path(), &[]);
    let note = "note: reviewing without the pull request of this branch: cannot fetch from ";
    assert!(output.stderr.contains(note), "{}", output.stderr);
    assert_eq!(summary["title"], json!("totals of several items"));
    // A named pull request is required.
    let refused = Fault::on("GET", "/acme/shop.git/*", FaultKind::StatusBefore(403));
    hub.github.fail(refused.times(2));
    let number = hub.pull.number.to_string();
    let output = hub.crh(clone.path(), &["check", &number]).run();
    assert_eq!(output.code, 3, "{}", output.shown());
}

#[test]
fn fixes_apply_only_to_the_pull_request_checkout() {
    let repo = Repo::from_fixture(SHOP);
    repo.git(&["checkout", "--quiet", "-b", "feature"]);
    let line = "return sum(item.price for item in items) / 2";
    repo.write("shop/orders.py", format!("def total(items):\n    {line}\n"));
    repo.commit("half of it");
    let hub = GitHubScenario::with(repo);
    let half = with(
        finding("P2", "Half of the total", "shop/orders.py:2", line),
        json!({
            "replacement": "    return sum(item.price for item in items)",
            "autofix_class": "safe_auto", "owner": "review-fixer",
        }),
    );
    let (url, fixed) = (hub.url(), " M shop/orders.py\n");
    for (branch, target, count, status) in
        [("feature", url.as_str(), 1, fixed), ("main", "feature", 0, "")]
    {
        let clone = hub.clone();
        clone.git(&["checkout", "--quiet", branch]);
        let model = FakeModel::start().on("single", [answers(std::slice::from_ref(&half))]);
        let model = model.on("validate-1", [confirms()]);
        let args = ["review", target, "--strategy", "single", "--mode", "headless"];
        let output = with_model(hub.crh(clone.path(), &args), &model).run();
        let applied = format!("\nApplied {count} safe_auto fixes.\n");
        assert!(output.stdout.contains(&applied), "{branch} {target}: {}", output.shown());
        let why = "nothing was applied: the reviewed change is not the current checkout";
        assert_eq!(output.stdout.contains(why), count == 0, "{branch} {target}");
        let found = clone.git(&["status", "--porcelain"]);
        assert_eq!(String::from_utf8(found).unwrap(), status, "{branch} {target}");
    }
}

#[test]
fn posting_from_checkout_writes_todos() {
    let hub = GitHubScenario::new();
    for (branch, count) in [("feature", 1), ("main", 0)] {
        let clone = hub.clone();
        clone.git(&["checkout", "--quiet", branch]);
        // The static check finds the conflict, and its fix is manual.
        let model = FakeModel::start().on("single", [answers(&[])]);
        let url = hub.url();
        let args = ["review", &url, "--strategy", "single", "--mode", "autofix"];
        let args = [&args, &["--sink", "github", "--dry-run"][..]].concat();
        let output = with_model(hub.crh(clone.path(), &args), &model).run();
        let written = output.stderr.matches("wrote todo ").count();
        assert_eq!(written, count, "{branch}: {}", output.shown());
        assert_eq!(clone.path().join(".context").exists(), count == 1, "{branch}");
    }
}
