//! `crh demo`: the README's first command.

use crate::crh;
use crate::user::User;
use crh_testkit::Program;

/// Runs the demo in a clean environment: no API key, no settings.
fn demo(args: &[&str]) -> Program {
    crh(&[&["demo"], args].concat())
}

#[test]
fn demo_works_without_key_and_leaves_no_files() {
    let output = demo(&["--format", "json"]).run();
    assert_eq!(output.code, 0, "{}", output.stderr);
    let report: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(report["status"], "ok", "{}", report["warnings"]);
    assert_eq!(report["verdict"], "Not ready");
    assert_eq!(report["strategy"], "panel");
    let by_model = |issue: &&serde_json::Value| issue["reviewers"][0] != "secrets";
    assert!(report["issues"].as_array().unwrap().iter().any(|issue| by_model(&issue)));
    assert!(output.stderr.contains("answers come from a recording"), "{}", output.stderr);
    assert!(!output.stderr.contains(".crh/runs"), "{}", output.stderr);
}

#[test]
fn failed_demo_has_failing_exit_code() {
    let unreachable = "openai:unreachable@http://127.0.0.1:9/v1";
    let output = demo(&["--model", unreachable]).run();
    assert_ne!(output.code, 0, "{}", output.stdout);
}

#[test]
fn kept_demo_is_a_run_of_the_user() {
    let user = User::new();
    let output = user.crh(&user.path(""), &["demo", "--keep", "kept"]).run();
    assert_eq!(output.code, 0, "{}", output.shown());
    let output = user.crh(&user.path("kept/tickets"), &["dismiss", "1", "an example"]).run();
    assert_eq!(output.code, 0, "{}", output.shown());
}
