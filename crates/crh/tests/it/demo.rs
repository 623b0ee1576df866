//! `crh demo`: the README's first command.

use crate::crh;
use crh_testkit::Program;

/// Nothing that a user of a fresh clone may lack is there: no key, no settings.
fn demo(args: &[&str]) -> Program {
    crh(&[&["demo"], args].concat())
}

#[test]
fn it_shows_a_whole_review_without_a_key_and_leaves_nothing() {
    let output = demo(&["--format", "json"]).run();
    assert_eq!(output.code, 0, "{}", output.stderr);
    let report: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(report["status"], "ok", "{}", report["warnings"]);
    assert_eq!(report["verdict"], "Not ready");
    assert_eq!(report["strategy"], "panel");
    let by_model = |issue: &&serde_json::Value| issue["reviewers"][0] != "secrets";
    assert!(report["issues"].as_array().unwrap().iter().any(|issue| by_model(&issue)));
    assert!(output.stderr.contains("played from a recording"), "{}", output.stderr);
    assert!(!output.stderr.contains(".crh/runs"), "{}", output.stderr);
}

#[test]
fn a_demonstration_that_could_not_be_given_says_so_with_its_exit_code() {
    let nobody = "openai:nobody@http://127.0.0.1:9/v1";
    let output = demo(&["--model", nobody]).run();
    assert_ne!(output.code, 0, "{}", output.stdout);
}
