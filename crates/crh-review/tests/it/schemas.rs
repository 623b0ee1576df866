//! Validates output against schemas: SARIF against the official one, reports and returns against
//! crh's own.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crh_review::diff::Diff;
use crh_review::finding::Origin;
use crh_review::report::{Report, ReviewerRow, RunOutcome, SCHEMA_VERSION};
use crh_review::schema::{FileMeta, FileRow, schema};
use crh_review::verdict::CommandKind;
use crh_review::{
    Dialect, PastDecisions, Sources, apply_judgements, consolidate, into_report, parse_return,
    render,
};

const DIFF: &str = "diff --git a/sub dir/ä.rs b/sub dir/ä.rs\n--- a/sub dir/ä.rs\n+++ b/sub dir/ä.rs\n\
    @@ -1,2 +1,2 @@\n-let removed = check(1);\n+let added = call(1);\n let kept = call(2);\n";

/// A return with findings on both sides, a replacement, and all severities.
fn reviewer_return() -> Value {
    let finding = |severity: &str, category: &str, side: &str, quote: &str| {
        json!({
            "title": format!("Trouble {severity} | \"{category}\""), "severity": severity, "category": category,
            "file": "sub dir/ä.rs", "line_start": 1, "side": side, "confidence": 0.9,
            "evidence": [{"snippet": quote}], "why_it_matters": "It fails.\nTwice.",
            "suggested_fix": "Call it differently.", "replacement": "let added = other(1);\n",
            "autofix_class": "safe_auto", "owner": "review-fixer",
            "requires_verification": true, "pre_existing": false,
        })
    };
    json!({
        "reviewer": "correctness",
        "findings": [
            finding("P0", "security", "new", "let added = call(1);"),
            finding("P1", "testing", "old", "let removed = check(1);"),
            finding("P2", "performance", "new", "let added = call(1);"),
            finding("P3", "bug", "new", "let added = call(1);"),
        ],
    })
}

fn report() -> Report {
    let text = reviewer_return().to_string();
    let parsed = parse_return(text.as_bytes(), Dialect::Native, "").unwrap();
    let sources = Sources::new(Diff::read(DIFF));
    let all = consolidate(parsed.members, &sources, &PastDecisions::default(), &BTreeSet::new());
    let row = |name: &str, outcome| ReviewerRow {
        origin: Origin::Model,
        name: name.to_owned(),
        why: String::new(),
        outcome,
        note: "timed out".to_owned(),
    };
    let started = Report {
        schema_version: SCHEMA_VERSION,
        review_id: "0123456789abcdef".to_owned(),
        reviewers: vec![
            row("correctness", RunOutcome::Completed),
            row("security", RunOutcome::Failed),
        ],
        warnings: vec!["a warning".to_owned()],
        ..Report::default()
    };
    into_report(started, apply_judgements(all, &Default::default()), CommandKind::Review, 15)
}

fn assert_valid(schema: &Value, instance: &Value) {
    let validator = jsonschema::validator_for(schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(instance).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert_eq!(errors, Vec::<String>::new());
}

#[test]
fn sarif_validates_against_official_schema() {
    let mut official: Value =
        serde_json::from_str(include_str!("../data/sarif-2.1.0.schema.json")).unwrap();
    // This pattern has a bracket that some regex engines reject. crh does not write the field.
    for part in ["run", "toolComponent"] {
        let language = &mut official["definitions"][part]["properties"]["language"];
        language.as_object_mut().unwrap().remove("pattern").unwrap();
    }
    let report = report();
    assert_eq!(report.issues.len(), 4);
    let log: Value = serde_json::from_str(&render::sarif(&report).unwrap()).unwrap();
    assert_valid(&official, &log);
    assert_eq!(log["runs"][0]["results"].as_array().unwrap().len(), 4);
    let empty: Value = serde_json::from_str(&render::sarif(&Report::default()).unwrap()).unwrap();
    assert_valid(&official, &empty);
    // Make sure that validation can fail.
    let validator = jsonschema::validator_for(&official).unwrap();
    assert!(!validator.is_valid(&json!({"version": "2.1.0"})));
}

#[test]
fn report_validates_and_round_trips() {
    let report = report();
    let text = render::json(&report).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_valid(&schema("report").unwrap(), &value);
    assert_eq!(serde_json::from_value::<Report>(value).unwrap(), report);
}

/// One return for each of the three other dialects.
fn other_returns() -> [(&'static str, Dialect, Value); 3] {
    let crh = json!({"summary": "s", "findings": [
        {"severity": "major", "path": "sub dir/ä.rs", "line": 6, "comment": "It fails."}]});
    let agent = json!({"summary": "s", "issues": [{
        "file": "sub dir/ä.rs", "line_start": 1, "severity": "high", "category": "bug",
        "description": "It fails.", "evidence_snippet": "let added = call(1);", "confidence": 0.9}]});
    let ce = json!({"reviewer": "testing", "residual_risks": [], "testing_gaps": [], "findings": [{
        "title": "T", "severity": "P1", "file": "sub dir/ä.rs", "line": 1, "confidence": 0.9,
        "autofix_class": "manual", "owner": "human", "requires_verification": false, "pre_existing": false}]});
    [
        ("return-crh", Dialect::Crh, crh),
        ("return-agent", Dialect::Agent, agent),
        ("return-ce", Dialect::Ce, ce),
    ]
}

#[test]
fn schema_valid_returns_are_parsed() {
    let mut all = vec![("return", Dialect::Native, reviewer_return())];
    all.extend(other_returns());
    for (name, dialect, value) in all {
        assert_valid(&schema(name).unwrap(), &value);
        let parsed = parse_return(value.to_string().as_bytes(), dialect, "r").unwrap();
        assert_eq!(parsed.dropped, [], "{name}");
        assert!(!parsed.members.is_empty(), "{name}");
    }
}

#[test]
fn schema_rejects_what_the_parser_rejects() {
    let validator = jsonschema::validator_for(&schema("return").unwrap()).unwrap();
    for (field, bad) in [
        ("rule", json!("unknown")),
        ("confidence", json!(1.5)),
        ("line_start", json!(0)),
        ("title", json!("")),
        ("evidence", json!([])),
    ] {
        let mut value = reviewer_return();
        value["findings"][0][field] = bad;
        assert!(!validator.is_valid(&value), "{field}");
        let parsed = parse_return(value.to_string().as_bytes(), Dialect::Native, "r").unwrap();
        assert_eq!(parsed.dropped.len(), 1, "{field}");
    }
}

#[test]
fn diff_output_validates_against_schema() {
    let diff = Diff::read(DIFF);
    let file = &diff.files()[0];
    let rows = serde_json::to_value([FileRow::from_file(file)]).unwrap();
    assert_valid(&schema("diff-files").unwrap(), &rows);
    let meta = FileMeta { row: FileRow::from_file(file), line_map: diff.line_map(file) };
    assert_valid(&schema("diff-map").unwrap(), &serde_json::to_value([meta]).unwrap());
}
