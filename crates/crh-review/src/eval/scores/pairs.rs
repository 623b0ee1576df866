//! Pairs of a change and its twin, the reversed change. An issue is credited only if the tool
//! reports it on the change and not on the twin.

use super::Paired;
use super::graded::{GradedCase, GradedRun};
use super::quality::count;
use super::tally::Tally;
use crate::eval::bootstrap::ResampledCounts;
use crate::eval::matching::{Rule, is_reported_on_twin};

/// Scores of the pairs; `None` without pairs.
pub(super) fn paired(resampled: &ResampledCounts<Tally>) -> Option<Paired> {
    let total = &resampled.total;
    (total.pairs > 0).then(|| Paired {
        pairs: count(total.pairs),
        expected: count(total.paired_expected),
        matched: count(total.paired_matched),
        also_on_twin: count(total.also_on_twin),
        reported: count(total.paired_reported),
        on_twins: count(total.on_twins),
        recall: resampled.estimate(Tally::paired_recall),
        precision: resampled.estimate(Tally::paired_precision),
        f1: resampled.estimate(Tally::paired_f1),
    })
}

/// Counts of a case with its twin, over all runs of the case.
///
/// A repeat counts only if the twin was reviewed in the same repeat. A failed review of the twin
/// reports nothing, which would count as correct. Another repeat of the twin is no substitute,
/// because it would count twice.
pub(super) fn pair_tally(case: &GradedCase<'_>, twin: &GradedCase<'_>, rule: Rule) -> Tally {
    let mut tally = Tally::default();
    let expected = &case.case.labels.expected;
    for run in &case.runs {
        let Some(twin_run) = twin_run(twin, run.repeat) else { continue };
        let also_on_twin = run.classes.matched.iter().filter(|(issue, _)| {
            is_reported_on_twin(*issue, &expected[*issue], twin_run.run, rule)
        });
        let on_twins = twin_run.reported.len() as u64;
        tally.pairs = 1;
        tally.paired_expected += expected.len() as u64;
        tally.paired_matched += run.classes.matched.len() as u64;
        tally.also_on_twin += also_on_twin.count() as u64;
        tally.paired_reported += run.reported.len() as u64 + on_twins;
        tally.on_twins += on_twins;
    }
    tally
}

/// The run of the twin for a repeat.
fn twin_run<'g, 'a>(twin: &'g GradedCase<'a>, repeat: usize) -> Option<&'g GradedRun<'a>> {
    twin.runs.iter().find(|run| run.repeat == repeat && run.is_reviewed())
}
