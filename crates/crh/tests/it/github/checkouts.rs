//! Where a pull request is checked out, and what of the checkout counts.

use std::time::Duration;

use crh_testkit::FakeModel;
use serde_json::json;

use super::Hub;
use crate::review::script::delegates;
use crate::review::with_model;

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
