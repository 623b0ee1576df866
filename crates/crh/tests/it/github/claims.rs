//! Runs that no crh has written, posted by somebody who trusts them.

use std::fs;
use std::fs::File;

use serde_json::Value;
use serde_json::json;

use super::Hub;
use super::NAME;

#[test]
fn a_run_that_is_too_large_or_misnamed_is_refused_before_anything_is_asked() {
    let hub = Hub::new();
    let args = ["check", &hub.url(), "--run-dir", "runs"];
    assert_eq!(hub.crh(hub.elsewhere.path(), &args).run().code, 1);
    let runs = fs::read_dir(hub.elsewhere.path().join("runs")).unwrap();
    let run = runs.map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap();
    let file = run.join("review.json");
    let written: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    hub.github.forget_requests();
    let refused = |reason: &str| {
        let (number, head) = (hub.pull.number.to_string(), hub.repo.id("feature"));
        let args =
            ["post", run.to_str().unwrap(), "--repo", NAME, "--pr", &number, "--head", &head];
        let output = hub.crh(hub.elsewhere.path(), &args).run();
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
    refused("the `review_id` of the report is not 16 digits of a hash");
    changed(&|report| report["issues"][0]["dedupe_key"] = json!("0123456789ABCDEF"));
    refused("the `dedupe_key` of issue 1 is not 16 digits of a hash");
    changed(&|report| {
        let issue = report["issues"][0].clone();
        report["issues"].as_array_mut().unwrap().resize(501, issue);
    });
    refused("the report has 501 issues, and at most 500 are posted");
    File::create(&file).unwrap().set_len((64 << 20) + 1).unwrap();
    refused("it is larger than 67108864 bytes");
}
