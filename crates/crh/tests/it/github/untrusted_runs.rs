//! Forged runs.

use std::fs;
use std::fs::File;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{GitHubScenario, NAME};
use crh_testkit::Output;

/// The report of a run.
const REPORT: &str = "review.json";

/// Folder and report of a run.
fn run(hub: &GitHubScenario) -> (PathBuf, Value) {
    let args = ["check", &hub.url(), "--run-dir", "runs"];
    assert_eq!(hub.crh(hub.elsewhere.path(), &args).run().code, 1);
    let runs = fs::read_dir(hub.elsewhere.path().join("runs")).unwrap();
    let run = runs.map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap();
    let written = fs::read(run.join(REPORT)).unwrap();
    hub.github.forget_requests();
    (run, serde_json::from_slice(&written).unwrap())
}

/// Posts a run.
fn post(hub: &GitHubScenario, run: &Path, more: &[&str]) -> Output {
    let (number, head) = (hub.pull.number.to_string(), hub.repo.id("feature"));
    let args = ["post", run.to_str().unwrap(), "--repo", NAME, "--pr", &number, "--head", &head];
    hub.crh(hub.elsewhere.path(), &[&args[..], more].concat()).run()
}

#[test]
fn oversized_or_misnamed_run_is_refused_offline() {
    let hub = GitHubScenario::new();
    let (run, written) = run(&hub);
    let file = run.join(REPORT);
    let refused = |reason: &str| {
        let output = post(&hub, &run, &[]);
        assert_eq!(output.code, 2, "{}", output.shown());
        assert!(output.stderr.contains(reason), "{}", output.shown());
        assert!(output.stderr.contains("hint: "), "{}", output.shown());
        assert!(hub.github.requests().is_empty());
    };
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut report = written.clone();
        change(&mut report);
        fs::write(&file, report.to_string()).unwrap();
    };
    changed(&|report| report["review_id"] = json!("0123456789abcdef --> <b>"));
    refused("the `review_id` of the report must be 16 lower-case hex digits");
    changed(&|report| report["issues"][0]["dedupe_key"] = json!("0123456789ABCDEF"));
    refused("the `dedupe_key` of issue 1 must be 16 lower-case hex digits");
    changed(&|report| {
        let issue = report["issues"][0].clone();
        report["issues"].as_array_mut().unwrap().push(issue);
    });
    refused("issues 1 and 1 have the same `dedupe_key`");
    File::create(&file).unwrap().set_len((64 << 20) + 1).unwrap();
    refused("it is larger than 67108864 bytes");
}
