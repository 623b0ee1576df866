//! Agreement of severities for matched issues.

use super::SeverityAgreement;
use super::graded::GradedCase;
use crate::eval::bootstrap::rounded;
use crate::finding::Severity;

/// Agreement over all matches with a severity.
pub(super) fn severity_agreement(cases: &[&GradedCase<'_>]) -> Option<SeverityAgreement> {
    let mut agreement = SeverityAgreement::default();
    for case in cases {
        for run in &case.runs {
            for (issue, report) in &run.classes.matched {
                let expected = severity_level(case.case.labels.expected[*issue].severity);
                if let Some(reported) = run.reported[*report].severity {
                    agreement.table[expected][severity_level(reported)] += 1;
                }
            }
        }
    }
    let (mut same, mut within_one, mut milder) = (0, 0, 0);
    for (expected, row) in (0_i64..).zip(&agreement.table) {
        for (reported, count) in (0_i64..).zip(row) {
            let difference = reported - expected;
            agreement.matches += count;
            same += if difference == 0 { *count } else { 0 };
            within_one += if difference.abs() <= 1 { *count } else { 0 };
            milder += difference * i64::from(*count);
        }
    }
    if agreement.matches == 0 {
        return None;
    }
    let per_match = |part: f64| rounded(part / f64::from(agreement.matches));
    agreement.same = per_match(f64::from(same));
    agreement.within_one = per_match(f64::from(within_one));
    agreement.milder_by = per_match(milder as f64);
    Some(agreement)
}

fn severity_level(severity: Severity) -> usize {
    match severity {
        Severity::P0 => 0,
        Severity::P1 => 1,
        Severity::P2 => 2,
        Severity::P3 => 3,
    }
}
