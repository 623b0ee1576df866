//! Where a report goes, in which form, and what the exit code says.

use std::fs;

use expect_test::expect;
use serde_json::Value;

use super::script::{confirms, delegates, finding, submits, works};
use super::{Desk, MAIL, ORDERS, items, json};
use crh_testkit::FakeModel;

const FORMATS: [&str; 9] =
    ["text", "json", "markdown", "sarif", "envelope", "comment", "quickfix", "annotations", "html"];

/// A model that finds something severe and something mild.
fn model() -> FakeModel {
    let findings = [
        finding("P1", "The total is divided", "shop/orders.py:5", "return result / len(items)"),
        finding("P3", "A failed mail is swallowed", "shop/mail.py:4", "except Exception:"),
    ];
    FakeModel::start()
        .on("orchestrator", [delegates(&[("all", &[ORDERS, MAIL])]), submits(&["1.1", "1.2"], &[])])
        .on("sub-agent-1", works(&[ORDERS, MAIL], &findings))
        .on("validate-1", [confirms()])
}

#[test]
fn a_file_gets_the_report_in_the_form_of_its_name_and_standard_output_the_usual_one() {
    let desk = Desk::new();
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
fn standard_output_as_a_sink_is_one_line_of_json_and_nothing_else() {
    let desk = Desk::new();
    let reviewed = desk.review(&model(), &["--sink", "stdout", "--format", "text"]);
    let stdout = &reviewed.output.stdout;
    assert_eq!(stdout.matches('\n').count(), 1, "{stdout}");
    assert_eq!(serde_json::from_str::<Value>(stdout).unwrap(), reviewed.report);
}

#[test]
fn a_sink_that_nobody_knows_is_refused_before_anything_is_paid_for() {
    let desk = Desk::new();
    let nobody = FakeModel::start();
    let mut said = String::new();
    for sink in ["mail", "file:", "github"] {
        said += &desk.shown(&desk.review(&nobody, &["--sink", sink]).output);
    }
    assert!(desk.runs().is_empty());
    expect![[r#"
        exit 2
        error: there is no sink `mail`; there are `stdout`, `file:PATH`, `github`, `github-comment`, `github-check`, `github-sarif` and `launchpad`
        ---
        exit 2
        error: `file:` needs a path, as in `file:review.json`
        ---
        exit 2
        error: `--sink github` is for a pull request, and this is none
        hint: name one: its address, `OWNER/NAME#N`, or `N` inside a clone
        ---
    "#]]
    .assert_eq(&said);
}

#[test]
fn a_sink_that_fails_is_said_and_the_report_is_shown_all_the_same() {
    let desk = Desk::new();
    let reviewed = desk.review(&model(), &["--sink", "file:nowhere/report.json"]);
    assert_eq!(reviewed.output.code, 1);
    assert!(reviewed.output.stdout.starts_with("Scope:  2 files"), "{}", reviewed.output.stdout);
    let warning = reviewed.output.stderr.lines().find(|line| line.starts_with("warning: "));
    expect!["warning: the report did not go to `file:nowhere/report.json`: writing `nowhere/report.json`: No such file or directory (os error 2)"].assert_eq(warning.unwrap());
    // Whoever waits for the file must not take this for a good end.
    let passed = desk.review(&model(), &["--fail-on", "never"]);
    let undelivered =
        desk.review(&model(), &["--fail-on", "never", "--sink", "file:nowhere/report.json"]);
    assert_eq!((passed.output.code, undelivered.output.code), (0, 3));
}

#[test]
fn every_form_of_a_review_is_what_show_makes_of_the_stored_run() {
    let desk = Desk::new();
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
fn the_exit_code_follows_the_bar_and_what_is_hidden_still_counts() {
    let check = |args: &[&str], code: i32, shown: usize| {
        let desk = Desk::new();
        let reviewed = desk.review(&model(), args);
        let issues = items(&reviewed.report["issues"]).len();
        assert_eq!((reviewed.output.code, issues), (code, shown), "{args:?}");
        assert_eq!(reviewed.end().2, "Ready with fixes", "{args:?}");
    };
    check(&["--fail-on", "P0"], 0, 2);
    check(&["--fail-on", "P1"], 1, 2);
    check(&["--fail-on", "never"], 0, 2);
    check(&["--min-severity", "P2"], 1, 1);
    check(&["--min-severity", "P0"], 1, 0);
    check(&["--min-severity", "P1", "--fail-on", "P3"], 1, 1);
}

#[test]
fn quiet_says_nothing_and_debug_says_everything_in_json() {
    let desk = Desk::new();
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
