//! Precision, recall and F1.

use super::Quality;
use super::tally::Tally;
use crate::eval::bootstrap::ResampledCounts;

/// Quality of the reports.
pub(super) fn quality(resampled: &ResampledCounts<Tally>) -> Quality {
    let total = &resampled.total;
    Quality {
        expected: count(total.expected),
        reported: count(total.reported),
        matched: count(total.matched),
        duplicates: count(total.duplicates),
        known_bad: count(total.known_bad),
        on_clean: count(total.on_clean),
        unlabelled: count(total.unlabelled),
        clean_reported: count(total.clean_reported),
        precision: resampled.estimate(Tally::precision),
        precision_labelled: resampled.estimate(Tally::precision_labelled),
        recall: resampled.estimate(Tally::recall),
        f1: resampled.estimate(Tally::f1),
        findings_per_change: resampled.estimate(Tally::findings_per_change),
        clean_flagged: resampled.estimate(Tally::clean_flagged),
    }
}

/// A count as `u32`. Real counts are far below the maximum.
pub(super) fn count(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
