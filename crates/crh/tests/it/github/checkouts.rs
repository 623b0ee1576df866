//! Where a pull request is checked out, and what of the checkout counts.

use std::time::Duration;

use crh_testkit::FakeModel;
use crh_testkit::Repo;
use serde_json::json;

use super::Hub;
use crate::review::script::delegates;
use crate::review::with_model;
use crate::user::assert_same;
use crate::user::tree;

/// Longer than any test takes.
const NEVER: Duration = Duration::from_secs(3_600);

#[test]
fn the_merge_that_ci_checks_out_is_not_taken_for_work_of_the_user() {
    let hub = Hub::new();
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
fn what_was_found_before_ctrl_c_is_not_posted() {
    let hub = Hub::new();
    let scopes = delegates(&[("all", &["shop/orders.py", "AGENTS.md"])]);
    let model = FakeModel::start().on("orchestrator", [scopes.delayed(NEVER)]);
    let args = ["review", &hub.url(), "--sink", "github", "--sink", "file:report.json"];
    let running = with_model(hub.crh(hub.elsewhere.path(), &args), &model).start();
    model.wait_for("orchestrator", 1);
    running.interrupt();
    let output = running.end();
    assert_eq!(output.code, 130, "{}", output.shown());
    let why = "warning: the report did not go to `github`: the review was stopped; `crh post RUN` posts what was found so far\n";
    assert!(output.stderr.contains(why), "{}", output.stderr);
    assert_eq!(hub.github.writes_received(), 0);
    assert!(hub.elsewhere.path().join("report.json").exists());
}

#[test]
fn a_summary_that_was_posted_changes_nothing_of_a_workspace() {
    let repo = Repo::new();
    repo.write("a.py", "a = 1\n");
    repo.commit("base");
    repo.git(&["checkout", "--quiet", "-b", "feature"]);
    repo.write("a.py", "a = 2\n");
    repo.commit("nothing to say about");
    let hub = Hub::with(repo);
    let of_hub = || {
        hub.prepared(hub.elsewhere.path(), &[&hub.url()]);
        tree(&hub.user.path("out"))
    };
    let before = of_hub();
    let args = ["check", &hub.url(), "--sink", "github"];
    assert_eq!(hub.crh(hub.elsewhere.path(), &args).run().code, 0);
    assert_eq!(hub.github.comments(&hub.pull).len(), 1);
    assert_same(&before, &of_hub(), "after it was reviewed");
}

#[test]
fn a_dirty_checkout_of_a_pull_request_has_no_date() {
    let hub = Hub::new();
    let clone = hub.clone();
    clone.write("shop/orders.py", "def total(items):\n    return 0\n");
    hub.prepared(clone.path(), &[&hub.pull.number.to_string()]);
    let rounds = hub.json("preview-diffs/index.json");
    let rounds: Vec<_> = rounds
        .as_array()
        .unwrap()
        .iter()
        .map(|round| (round["createdAt"].is_null(), round["isLatest"].as_bool().unwrap()))
        .collect();
    assert_eq!(rounds, [(false, false), (true, true)]);
}
