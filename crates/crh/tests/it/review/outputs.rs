//! Sinks, formats and exit codes.

use std::fs;

use expect_test::expect;
use serde_json::Value;

use super::script::{confirms, delegates, finding, submits, works};
use super::{MAIL, ORDERS, ReviewFixture, items, json};
use crh_testkit::FakeModel;

const FORMATS: [&str; 9] =
    ["text", "json", "markdown", "sarif", "envelope", "comment", "quickfix", "annotations", "html"];

/// A model with a severe and a minor finding.
fn model() -> FakeModel {
    let findings = [
        finding("P1", "The total is divided", "shop/orders.py:5", "return result / len(items)"),
        finding("P2", "A failed mail is swallowed", "shop/mail.py:4", "except Exception:"),
    ];
    FakeModel::start()
        .on("orchestrator", [delegates(&[("all", &[ORDERS, MAIL])]), submits(&["1.1", "1.2"], &[])])
        .on("sub-agent-1", works(&[ORDERS, MAIL], &findings))
        .on("validate-1", [confirms()])
}

#[test]
fn file_sink_format_follows_extension() {
    let desk = ReviewFixture::new();
    let places = ["report.json", "report.md", "report.sarif"].map(|name| desk.user.path(name));
    let sinks = places.each_ref().map(|path| format!("file:{}", path.display()));
    let mut args = Vec::new();
    for sink in &sinks {
        args.extend(["--sink", sink.as_str()]);
    }
    let reviewed = desk.review(&model(), &args);
    assert_eq!(reviewed.output.code, 1);
    assert!(reviewed.output.stdout.starts_with("Scope:  2 files"), "{}", reviewed.output.stdout);
    assert_eq!(json(&places[0]), reviewed.report);
    let shown = |format: &str| desk.crh(&["show", "--format", format]).run().stdout;
    assert_eq!(fs::read_to_string(&places[1]).unwrap(), shown("markdown"));
    assert_eq!(fs::read_to_string(&places[2]).unwrap(), shown("sarif"));
    let receipts = json(&desk.runs()[0].join("stages/sinks.json"));
    assert_eq!(items(&receipts).len(), 3, "{receipts}");
}

#[test]
fn unknown_sink_is_rejected_before_any_model_call() {
    let desk = ReviewFixture::new();
    let unused_model = FakeModel::start();
    let mut said = String::new();
    for sink in ["mail", "github"] {
        said += &desk.shown(&desk.review(&unused_model, &["--sink", sink]).output);
    }
    assert!(desk.runs().is_empty());
    expect![[r#"
        exit 2
        error: unknown sink `mail`; use `stdout`, `file:PATH`, `github`, `github-comment`, `github-check`, `github-sarif`, `launchpad`, `gitlab`, `gitlab-comment`, `gitlab-status`, `gitea`, `gitea-comment` or `gitea-status`
        ---
        exit 2
        error: `--sink github` needs a pull request
        hint: pass its address, `OWNER/NAME#N`, or `N` inside a clone
        ---
    "#]]
    .assert_eq(&said);
}

#[test]
fn failed_sink_is_an_error_and_report_is_printed() {
    let desk = ReviewFixture::new();
    let reviewed = desk.review(&model(), &["--sink", "file:nowhere/report.json"]);
    assert_eq!(reviewed.output.code, 1);
    assert!(reviewed.output.stdout.starts_with("Scope:  2 files"), "{}", reviewed.output.stdout);
    let error = reviewed.output.stderr.lines().find(|line| line.starts_with("error: "));
    expect!["error: cannot deliver the report to `file:nowhere/report.json`: cannot write `nowhere/report.json`: No such file or directory (os error 2)"].assert_eq(error.unwrap());
    // A script that waits for the file must not see success.
    let passed = desk.review(&model(), &["--fail-on", "never"]);
    let undelivered =
        desk.review(&model(), &["--fail-on", "never", "--sink", "file:nowhere/report.json", "-q"]);
    assert_eq!((passed.output.code, undelivered.output.code), (0, 3));
    assert!(undelivered.output.stderr.starts_with("error: cannot deliver the report to "));
}

#[test]
fn show_prints_the_same_as_review_in_every_format() {
    let desk = ReviewFixture::new();
    let shown = |format: &str| desk.crh(&["show", "--format", format]).run();
    for format in ["text", "json", "html"] {
        let reviewed = desk.review(&model(), &["--format", format]);
        assert_eq!(reviewed.output.stdout, shown(format).stdout, "{format}");
    }
    for format in FORMATS {
        let shown = shown(format);
        assert_eq!(shown.code, 0, "{format}");
        assert!(shown.stdout.contains("divided"), "{format}: {}", shown.stdout);
    }
    let headless = desk.review(&model(), &["--mode", "headless"]);
    let envelope = desk.crh(&["show", "--format", "envelope"]).run();
    assert_eq!(headless.output.stdout, envelope.stdout);
}

#[test]
fn exit_code_counts_hidden_issues() {
    let check = |args: &[&str], code: i32, shown: usize| {
        let desk = ReviewFixture::new();
        let reviewed = desk.review(&model(), args);
        let issues = items(&reviewed.report["issues"]).len();
        assert_eq!((reviewed.output.code, issues), (code, shown), "{args:?}");
        assert_eq!(reviewed.end().2, "Ready with fixes", "{args:?}");
    };
    check(&["--fail-on", "P0"], 0, 2);
    check(&["--min-severity", "P0"], 1, 0);
    check(&["--min-severity", "P1", "--fail-on", "P3"], 1, 1);
}

#[test]
fn quiet_is_silent_and_debug_prints_json_events() {
    let desk = ReviewFixture::new();
    let quiet = desk.review(&model(), &["-q"]);
    assert_eq!(quiet.output.stderr, "", "the report is on standard output");
    assert!(quiet.output.stdout.contains("Ready with fixes"));
    let debug = desk.review(&model(), &["--debug"]);
    let (events, others): (Vec<&str>, Vec<&str>) =
        debug.output.stderr.lines().partition(|line| line.starts_with('{'));
    for event in &events {
        let event: Value = serde_json::from_str(event).unwrap();
        assert!(event["at_ms"].is_u64(), "{event}");
    }
    assert!(events.len() > 20, "{events:?}");
    assert_eq!(others.len(), 1, "the closing line alone: {others:?}");
}
