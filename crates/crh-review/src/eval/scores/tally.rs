//! Counts of one case with its twin, the basis of every number with an interval.

use std::collections::HashMap;

use super::graded::{GradedCase, GradedRun};
use super::pairs::pair_tally;
use crate::eval::bootstrap::{Counts, ratio};
use crate::eval::matching::Rule;

/// Counts of one case with its twin, over all started runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::eval) struct Tally {
    pub(in crate::eval) runs: u64,
    pub(in crate::eval) expected: u64,
    pub(in crate::eval) reported: u64,
    pub(in crate::eval) matched: u64,
    pub(in crate::eval) duplicates: u64,
    pub(in crate::eval) known_bad: u64,
    pub(in crate::eval) on_clean: u64,
    pub(in crate::eval) unlabelled: u64,
    /// Expected issues that at least one comment matches.
    pub(in crate::eval) found: u64,
    /// Comments that match no expected issue.
    pub(in crate::eval) unmatched: u64,
    pub(in crate::eval) clean_runs: u64,
    pub(in crate::eval) clean_reported: u64,
    pub(in crate::eval) clean_flagged: u64,
    pub(in crate::eval) pairs: u64,
    pub(in crate::eval) paired_expected: u64,
    pub(in crate::eval) paired_matched: u64,
    pub(in crate::eval) also_on_twin: u64,
    pub(in crate::eval) paired_reported: u64,
    pub(in crate::eval) on_twins: u64,
}

/// Counts of every case with a run. A twin without its case does not count.
pub(in crate::eval) fn tallies(graded: &[GradedCase<'_>], rule: Rule) -> Vec<Tally> {
    let twins = graded.iter().filter_map(|twin| Some((twin.case.labels.twin_of.as_deref()?, twin)));
    let twins: HashMap<_, _> = twins.collect();
    let cases = graded.iter().filter(|case| !case.is_twin() && !case.runs.is_empty());
    let tallies = cases.map(|case| {
        let mut tally = match twins.get(case.case.labels.id.as_str()) {
            Some(twin) if !case.is_clean() => pair_tally(case, twin, rule),
            Some(_) | None => Tally::default(),
        };
        for run in &case.runs {
            tally.add(&Tally::from_run(case, run), 1);
        }
        tally
    });
    tallies.collect()
}

impl Tally {
    /// Counts of one run, without its twin.
    pub(in crate::eval) fn from_run(case: &GradedCase<'_>, run: &GradedRun<'_>) -> Self {
        let is_clean = case.is_clean();
        Self {
            runs: 1,
            expected: case.case.labels.expected.len() as u64,
            reported: run.reported.len() as u64,
            matched: run.classes.matched.len() as u64,
            duplicates: run.classes.duplicates.len() as u64,
            known_bad: run.classes.known_bad.len() as u64,
            on_clean: run.classes.on_clean.len() as u64,
            unlabelled: run.classes.unlabelled.len() as u64,
            found: run.comments.found as u64,
            unmatched: run.comments.unmatched as u64,
            clean_runs: u64::from(is_clean),
            clean_reported: if is_clean { run.reported.len() as u64 } else { 0 },
            clean_flagged: u64::from(is_clean && !run.reported.is_empty()),
            ..Self::default()
        }
    }

    /// Precision; `None` without reports.
    pub(in crate::eval) fn precision(&self) -> Option<f64> {
        ratio(self.matched, self.reported)
    }

    /// Precision over labelled reports.
    pub(in crate::eval) fn precision_labelled(&self) -> Option<f64> {
        ratio(self.matched, self.reported - self.unlabelled)
    }

    /// Recall; `None` if nothing is expected.
    pub(in crate::eval) fn recall(&self) -> Option<f64> {
        ratio(self.matched, self.expected)
    }

    /// F1. Zero without reports.
    pub(in crate::eval) fn f1(&self) -> Option<f64> {
        f1(self.matched, self.reported, self.expected)
    }

    /// Found issues per found issue or unmatched comment; `None` without comments.
    pub(in crate::eval) fn comment_precision(&self) -> Option<f64> {
        ratio(self.found, self.found + self.unmatched)
    }

    /// Found issues per expected issue.
    pub(in crate::eval) fn comment_recall(&self) -> Option<f64> {
        ratio(self.found, self.expected)
    }

    /// F1 of precision and recall of comments. Zero without comments.
    pub(in crate::eval) fn comment_f1(&self) -> Option<f64> {
        f1(self.found, self.found + self.unmatched, self.expected)
    }

    /// Reports per change.
    pub(in crate::eval) fn findings_per_change(&self) -> Option<f64> {
        ratio(self.reported, self.runs)
    }

    /// Share of clean changes with a report.
    pub(in crate::eval) fn clean_flagged(&self) -> Option<f64> {
        ratio(self.clean_flagged, self.clean_runs)
    }

    /// Issues reported on the change and not on the twin.
    fn credited(&self) -> u64 {
        self.paired_matched - self.also_on_twin
    }

    /// Paired recall.
    pub(in crate::eval) fn paired_recall(&self) -> Option<f64> {
        ratio(self.credited(), self.paired_expected)
    }

    /// Paired precision.
    pub(in crate::eval) fn paired_precision(&self) -> Option<f64> {
        ratio(self.credited(), self.paired_reported)
    }

    /// Paired F1.
    pub(in crate::eval) fn paired_f1(&self) -> Option<f64> {
        f1(self.credited(), self.paired_reported, self.paired_expected)
    }
}

fn f1(correct: u64, reported: u64, expected: u64) -> Option<f64> {
    (expected > 0).then_some(())?;
    ratio(2 * correct, reported + expected)
}

impl Counts for Tally {
    fn add(&mut self, other: &Self, times: u64) {
        self.runs += times * other.runs;
        self.expected += times * other.expected;
        self.reported += times * other.reported;
        self.matched += times * other.matched;
        self.duplicates += times * other.duplicates;
        self.known_bad += times * other.known_bad;
        self.on_clean += times * other.on_clean;
        self.unlabelled += times * other.unlabelled;
        self.found += times * other.found;
        self.unmatched += times * other.unmatched;
        self.clean_runs += times * other.clean_runs;
        self.clean_reported += times * other.clean_reported;
        self.clean_flagged += times * other.clean_flagged;
        self.pairs += times * other.pairs;
        self.paired_expected += times * other.paired_expected;
        self.paired_matched += times * other.paired_matched;
        self.also_on_twin += times * other.also_on_twin;
        self.paired_reported += times * other.paired_reported;
        self.on_twins += times * other.on_twins;
    }
}
