//! Calibration: whether 80 % of the reports with confidence 0.8 are matched.

use super::graded::Graded;
use super::{Bin, Calibration};
use crate::eval::bootstrap::rounded;
use crate::finding::Confidence;

/// Number of bins. Ten is usual, and a few hundred reports can fill them.
const BINS: usize = 10;

/// Unit of confidences. They have three digits, so sums are exact and do not depend on the order.
const WHOLE: i64 = 1000;

/// Confidence and outcome of a report, in thousandths.
type Said = (i64, i64);

/// Calibration over all reports. Unlabelled reports count as not matched, as in the precision.
pub(super) fn calibration(cases: &[&Graded<'_>]) -> Option<Calibration> {
    let mut bins: [Vec<Said>; BINS] = Default::default();
    for run in cases.iter().flat_map(|case| &case.runs) {
        for (at, reported) in run.reported.iter().enumerate() {
            let Some(confidence) = reported.confidence.map(Confidence::value) else {
                continue;
            };
            let said = (confidence * WHOLE as f64).round() as i64;
            let is_matched = run.sorted.matched.iter().any(|(_, reported)| *reported == at);
            let bin = (said as usize * BINS / WHOLE as usize).min(BINS - 1);
            bins[bin].push((said, WHOLE * i64::from(is_matched)));
        }
    }
    let reports: usize = bins.iter().map(Vec::len).sum();
    if reports == 0 {
        return None;
    }
    let squares: i64 = bins.iter().flatten().map(|(said, is)| (said - is).pow(2)).sum();
    let distances: i64 =
        bins.iter().map(|bin| (sum(bin, |said| said.0) - sum(bin, |said| said.1)).abs()).sum();
    let all = reports as f64;
    Some(Calibration {
        reports: u32::try_from(reports).unwrap_or(u32::MAX),
        brier: rounded(squares as f64 / (WHOLE * WHOLE) as f64 / all),
        expected_calibration_error: rounded(distances as f64 / WHOLE as f64 / all),
        bins: bins.iter().enumerate().filter_map(|(at, bin)| summed_up(at, bin)).collect(),
    })
}

/// One bin; `None` if it is empty.
fn summed_up(at: usize, bin: &[Said]) -> Option<Bin> {
    let mean = |value| rounded(sum(bin, value) as f64 / WHOLE as f64 / bin.len() as f64);
    (!bin.is_empty()).then(|| Bin {
        from: rounded(at as f64 / BINS as f64),
        to: rounded((at + 1) as f64 / BINS as f64),
        reports: u32::try_from(bin.len()).unwrap_or(u32::MAX),
        confidence: mean(|said| said.0),
        matched: mean(|said| said.1),
    })
}

fn sum(bin: &[Said], value: fn(&Said) -> i64) -> i64 {
    bin.iter().map(value).sum()
}
