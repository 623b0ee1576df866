//! How well confidences fit: whether of the reports that are called 80 % sure, 80 % are matched.

use super::Bin;
use super::Calibration;
use super::graded::Graded;
use crate::eval::bootstrap::rounded;
use crate::finding::Confidence;

/// How many bins the confidences are put into: the usual number, and about what a few hundred reports can fill.
const BINS: usize = 10;

/// How well confidences fit what was matched. A report that nobody has labelled counts as not matched, as it does in the
/// precision.
pub(super) fn calibration(cases: &[&Graded<'_>]) -> Option<Calibration> {
    let mut bins: [Vec<(f64, f64)>; BINS] = Default::default();
    for run in cases.iter().flat_map(|case| &case.runs) {
        for (at, reported) in run.reported.iter().enumerate() {
            let Some(confidence) = reported.confidence.map(Confidence::value) else {
                continue;
            };
            let is_matched = run.sorted.matched.iter().any(|(_, reported)| *reported == at);
            // Confidences are thousandths, so that this is exact enough to hit the right bin.
            let bin = ((confidence * 1000.0).round() as usize / (1000 / BINS)).min(BINS - 1);
            bins[bin].push((confidence, f64::from(u8::from(is_matched))));
        }
    }
    let reports: usize = bins.iter().map(Vec::len).sum();
    if reports == 0 {
        return None;
    }
    let mut calibration = Calibration {
        reports: u32::try_from(reports).unwrap_or(u32::MAX),
        ..Calibration::default()
    };
    for (at, bin) in bins.iter().enumerate().filter(|(_, bin)| !bin.is_empty()) {
        let mean =
            |value: fn(&(f64, f64)) -> f64| bin.iter().map(value).sum::<f64>() / bin.len() as f64;
        let (confidence, matched) = (mean(|report| report.0), mean(|report| report.1));
        let weight = bin.len() as f64 / reports as f64;
        calibration.brier += weight * mean(|(confidence, matched)| (confidence - matched).powi(2));
        calibration.expected_calibration_error += weight * (confidence - matched).abs();
        calibration.bins.push(Bin {
            from: rounded(at as f64 / BINS as f64),
            to: rounded((at + 1) as f64 / BINS as f64),
            reports: u32::try_from(bin.len()).unwrap_or(u32::MAX),
            confidence: rounded(confidence),
            matched: rounded(matched),
        });
    }
    calibration.brier = rounded(calibration.brier);
    calibration.expected_calibration_error = rounded(calibration.expected_calibration_error);
    Some(calibration)
}
