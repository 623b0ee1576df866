//! The run folder after the questions.

use std::fs;

use expect_test::Expect;

use super::*;
use crate::fixing::issues;
use crh_review::stable_json_line;

impl Scene {
    /// Compares a summary of the run folder.
    pub(super) fn keeps(&self, expected: &Expect) {
        let run = self.run();
        let stored = |name: &str| -> Value {
            serde_json::from_slice(&fs::read(run.join(name)).unwrap()).unwrap()
        };
        let (report, metadata) = (stored("review.json"), stored("metadata.json"));
        let line = |value: &Value| stable_json_line(value).unwrap();
        let rest = [
            ("queues: ", line(&report["queues"])),
            ("fix order: ", line(&report["fix_order"])),
            ("applied-fixes.json: ", line(&stored("applied-fixes.json"))),
            ("residual-work.json:\n", left(&stored("residual-work.json"))),
            ("advisory.json:\n", left(&stored("advisory.json"))),
            ("questions.json: ", line(&stored("stages/questions.json"))),
        ];
        let rest: String = rest.iter().map(|(name, text)| format!("{name}{text}")).collect();
        expected.assert_eq(&format!("{}{rest}", issues(&report)));
        // Both are written when the questions end.
        assert_eq!(report["applied_fixes"], stored("applied-fixes.json"));
        assert_eq!(metadata["run_id"].as_str(), run.file_name().unwrap().to_str());
        assert!(metadata["completed_at"].is_string(), "{metadata}");
        let shown = fs::read_to_string(run.join("review.md")).unwrap();
        let has_fixes = !report["applied_fixes"].as_array().unwrap().is_empty();
        assert_eq!(shown.contains("Applied Fixes"), has_fixes, "{shown}");
    }
}

/// The issues of a list, with reasons.
fn left(list: &Value) -> String {
    let row = |item: &Value| {
        let issue = if item["issue"].is_null() { item } else { &item["issue"] };
        let why = item["left"].as_str().map(|why| format!(" ({why})")).unwrap_or_default();
        format!("  #{} {}{why}\n", issue["number"], issue["title"].as_str().unwrap())
    };
    list.as_array().unwrap().iter().map(row).collect()
}
