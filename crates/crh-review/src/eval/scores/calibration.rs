//! Calibration: whether 80 % of the reports with confidence 0.8 are matched.

use super::graded::GradedCase;
use super::{Bin, Calibration};
use crate::eval::bootstrap::{count, rounded};
use crate::finding::Confidence;

/// Number of bins. Ten is usual, and a few hundred reports can fill them.
const BINS: usize = 10;

/// Confidences are counted in thousandths. They have three digits, so sums are exact and do not
/// depend on the order.
const CONFIDENCE_UNIT: i64 = 1000;

/// Confidence and outcome of a report, in thousandths.
type ConfidenceOutcome = (i64, i64);

/// Calibration over all reports. Unlabelled reports count as not matched, as in the precision.
pub(super) fn calibration(cases: &[&GradedCase<'_>]) -> Option<Calibration> {
    let mut bins: [Vec<ConfidenceOutcome>; BINS] = Default::default();
    for run in cases.iter().flat_map(|case| &case.runs) {
        for (index, reported) in run.reported.iter().enumerate() {
            let Some(confidence) = reported.confidence.map(Confidence::value) else {
                continue;
            };
            let thousandths = (confidence * CONFIDENCE_UNIT as f64).round() as i64;
            let is_matched = run.classes.matched.iter().any(|(_, reported)| *reported == index);
            let bin = (thousandths as usize * BINS / CONFIDENCE_UNIT as usize).min(BINS - 1);
            bins[bin].push((thousandths, CONFIDENCE_UNIT * i64::from(is_matched)));
        }
    }
    let reports: usize = bins.iter().map(Vec::len).sum();
    if reports == 0 {
        return None;
    }
    let squares: i64 =
        bins.iter().flatten().map(|(confidence, outcome)| (confidence - outcome).pow(2)).sum();
    let distances: i64 =
        bins.iter().map(|bin| (sum(bin, |pair| pair.0) - sum(bin, |pair| pair.1)).abs()).sum();
    let report_count = reports as f64;
    Some(Calibration {
        reports: count(reports),
        brier: rounded(squares as f64 / (CONFIDENCE_UNIT * CONFIDENCE_UNIT) as f64 / report_count),
        expected_calibration_error: rounded(
            distances as f64 / CONFIDENCE_UNIT as f64 / report_count,
        ),
        bins: bins
            .iter()
            .enumerate()
            .filter_map(|(index, bin)| summarise_bin(index, bin))
            .collect(),
    })
}

/// One bin; `None` if it is empty.
fn summarise_bin(index: usize, bin: &[ConfidenceOutcome]) -> Option<Bin> {
    let mean = |value| rounded(sum(bin, value) as f64 / CONFIDENCE_UNIT as f64 / bin.len() as f64);
    (!bin.is_empty()).then(|| Bin {
        from: rounded(index as f64 / BINS as f64),
        to: rounded((index + 1) as f64 / BINS as f64),
        reports: count(bin.len()),
        confidence: mean(|pair| pair.0),
        matched: mean(|pair| pair.1),
    })
}

fn sum(bin: &[ConfidenceOutcome], value: fn(&ConfidenceOutcome) -> i64) -> i64 {
    bin.iter().map(value).sum()
}
