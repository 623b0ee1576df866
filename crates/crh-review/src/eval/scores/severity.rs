//! Agreement of severities for matched issues.

use super::SeverityAgreement;
use super::graded::Graded;
use crate::eval::bootstrap::rounded;
use crate::finding::Severity;

/// Agreement over all matches with a severity.
pub(super) fn severity_agreement(cases: &[&Graded<'_>]) -> Option<SeverityAgreement> {
    let mut agreement = SeverityAgreement::default();
    for case in cases {
        for run in &case.runs {
            for (issue, at) in &run.sorted.matched {
                let expected = steps(case.case.labels.expected[*issue].severity);
                if let Some(reported) = run.reported[*at].severity {
                    agreement.table[expected][steps(reported)] += 1;
                }
            }
        }
    }
    let (mut same, mut within_one, mut milder) = (0, 0, 0);
    for (expected, row) in (0_i64..).zip(&agreement.table) {
        for (reported, count) in (0_i64..).zip(row) {
            let off = reported - expected;
            agreement.matches += count;
            same += if off == 0 { *count } else { 0 };
            within_one += if off.abs() <= 1 { *count } else { 0 };
            milder += off * i64::from(*count);
        }
    }
    if agreement.matches == 0 {
        return None;
    }
    let of_matches = |part: f64| rounded(part / f64::from(agreement.matches));
    agreement.same = of_matches(f64::from(same));
    agreement.within_one = of_matches(f64::from(within_one));
    agreement.milder_by = of_matches(milder as f64);
    Some(agreement)
}

fn steps(severity: Severity) -> usize {
    match severity {
        Severity::P0 => 0,
        Severity::P1 => 1,
        Severity::P2 => 2,
        Severity::P3 => 3,
    }
}
