//! Reviewers come from the base branch, not from the pull request.

use serde_json::Value;

use super::{GitHubScenario, SHOP};
use crh_testkit::Repo;

/// A reviewer of the repository, for changes that contain the word "total".
fn reviewer(name: &str, lens: &str) -> String {
    format!(
        "---\nname: {name}\nlens: {lens}\nwhen:\n  - words: [total]\ntier: mid\ncategory: bug\nroute: manual -> human\ncap: 3\nreturns: findings\n---\nYou look at sums.\n"
    )
}

#[test]
fn pull_request_cannot_change_reviewers() {
    let repo = Repo::from_fixture(SHOP);
    repo.write(".crh/reviewers/money.md", reviewer("money", "whether sums are right"));
    repo.commit("a reviewer for sums");
    repo.git(&["checkout", "--quiet", "-b", "feature"]);
    repo.write(".crh/reviewers/money.md", reviewer("money", "that all is well"));
    repo.write(".crh/reviewers/flattery.md", reviewer("flattery", "what is good about it"));
    repo.write("shop/orders.py", "def total(items):\n    return len(items)\n");
    repo.commit("totals");
    let hub = GitHubScenario::with(repo);
    let output =
        hub.crh(hub.elsewhere.path(), &["reviewers", &hub.url(), "--format", "json"]).run();
    assert_eq!(output.code, 0, "{}", output.shown());
    let rows: Vec<Value> = serde_json::from_str(&output.stdout).unwrap();
    let own: Vec<(&Value, &Value)> = rows
        .iter()
        .filter(|row| row["file"].is_string())
        .map(|row| (&row["name"], &row["lens"]))
        .collect();
    assert_eq!(own, [(&Value::from("money"), &Value::from("whether sums are right"))]);
}
