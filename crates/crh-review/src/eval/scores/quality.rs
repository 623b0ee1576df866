//! Precision, recall and F1.

use super::Quality;
use super::tally::Tally;
use crate::eval::bootstrap::Resampled;

/// Quality of the reports.
pub(super) fn quality(resampled: &Resampled<Tally>) -> Quality {
    let whole = &resampled.whole;
    Quality {
        expected: count(whole.expected),
        reported: count(whole.reported),
        matched: count(whole.matched),
        duplicates: count(whole.duplicates),
        known_bad: count(whole.known_bad),
        on_clean: count(whole.on_clean),
        unlabelled: count(whole.unlabelled),
        clean_reported: count(whole.clean_reported),
        precision: resampled.estimate(Tally::precision),
        precision_labelled: resampled.estimate(Tally::precision_labelled),
        recall: resampled.estimate(Tally::recall),
        f1: resampled.estimate(Tally::f1),
        findings_per_change: resampled.estimate(Tally::findings_per_change),
        clean_flagged: resampled.estimate(Tally::clean_flagged),
    }
}

/// A count as `u32`, which is always enough.
pub(super) fn count(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
