//! Where a pull request is checked out, and what of the checkout counts.

use serde_json::json;

use super::Hub;

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
