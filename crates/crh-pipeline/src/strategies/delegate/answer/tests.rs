use expect_test::expect;
use proptest::prelude::*;

use super::*;
use crate::runs::RunEnd;
use crate::strategies::delegate::board::tests::record;
use crh_review::finding::Severity;
use crh_review::report::FileCoverage;

#[test]
fn findings_have_ids_and_are_sorted_by_severity() {
    let mut first = record(1, &[Severity::P2, Severity::P0]);
    first.summary = "Two \"things\",\nboth real.".to_owned();
    let mut second = record(2, &[]);
    second.ended = RunEnd::Failed(format!("{NO_REPORT}: the model did not submit an answer"));
    second.coverage.push(FileCoverage {
        path: "b.rs".to_owned(),
        state: CoverageState::NotReviewed,
        reason: "sub-agent-2 failed".to_owned(),
    });
    let notes = ["`x.rs` of scope `scope 1` is not a file under review".to_owned()];
    let answer = build_answer([(1, &first), (2, &second)], &notes);
    assert_eq!(
        answer.shown_ids,
        [FindingId { slot: 1, number: 2 }, FindingId { slot: 1, number: 1 }]
    );
    assert_eq!(answer.left_out, 0);
    let value: Value = serde_json::from_str(&answer.text).unwrap();
    expect![[r#"
        {
          "findings": [
            {
              "confidence": 0.75,
              "evidence": "for i in 0..=n {",
              "file": "a.rs",
              "id": "1.2",
              "line": 2,
              "severity": "P0",
              "title": "finding 1.2",
              "why_it_matters": "The last index is out of range."
            },
            {
              "confidence": 0.75,
              "evidence": "for i in 0..=n {",
              "file": "a.rs",
              "id": "1.1",
              "line": 2,
              "severity": "P2",
              "title": "finding 1.1",
              "why_it_matters": "The last index is out of range."
            }
          ],
          "not_reviewed": [
            "b.rs: sub-agent-2 failed"
          ],
          "scopes_changed": [
            "`x.rs` of scope `scope 1` is not a file under review"
          ],
          "summary": "[1] scope 1: Two \"things\", both real.\n[2] scope 2: sub-agent ended without calling report_findings: the model did not submit an answer"
        }
    "#]].assert_eq(&crh_review::stable_json(&value).unwrap());
}

/// Builds an answer with many findings and checks its size.
fn check(slots: u32, findings: usize, text: &str) -> (DelegateAnswer, Value) {
    let mut records = Vec::new();
    for slot in 1..=slots {
        let severities = [Severity::P3, Severity::P0, Severity::P1];
        let severities: Vec<Severity> = severities.into_iter().cycle().take(findings).collect();
        let mut record = record(slot, &severities);
        record.summary = text.to_owned();
        for member in &mut record.members {
            member.finding.why_it_matters = text.to_owned();
        }
        record.coverage = vec![FileCoverage {
            path: text.to_owned(),
            state: CoverageState::NotReviewed,
            reason: text.to_owned(),
        }];
        records.push(record);
    }
    let notes = vec![text.to_owned(); 20];
    let answer = build_answer((1..).zip(&records), &notes);
    assert!(answer.text.chars().count() <= CHARS_MAX, "{}", answer.text.chars().count());
    assert_eq!(answer.shown_ids.len() + answer.left_out, slots as usize * findings);
    let value = serde_json::from_str(&answer.text).unwrap();
    (answer, value)
}

#[test]
fn least_severe_findings_are_left_out_first() {
    let (answer, value) = check(20, 30, &"The index is out of range. ".repeat(30));
    assert!(answer.left_out > 0);
    let findings = value["findings"].as_array().unwrap();
    assert_eq!(findings.len(), answer.shown_ids.len());
    assert!(findings.iter().all(|finding| finding["severity"] == "P0"), "P0 come first");
    let expected_text = format!(
        "{} less severe findings did not fit; they are kept without your decision",
        answer.left_out
    );
    assert_eq!(value["left_out"], expected_text);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// For any text of the sub-agents, the answer is valid JSON within its bound.
    #[test]
    fn answer_is_always_json_within_the_limit(
        slots in 0_u32..40,
        findings in 0_usize..20,
        text in "(.|[\"\\\\\u{1}\n]){0,200}",
        times in 1_usize..40,
    ) {
        check(slots, findings, &text.repeat(times));
    }
}
