//! Outcomes of a case, used to sort cases by trouble.

use std::collections::BTreeSet;

use crate::eval::scores::graded::graded;
use crate::eval::{CaseRun, CaseRuns, Ending, Evaluation, Sorted};

/// Outcome of a case, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    NotReviewed,
    Missed,
    FalseAlarm,
    Unlabelled,
    Found,
    Quiet,
}

impl Outcome {
    pub(super) const ALL: [Self; 6] = [
        Self::NotReviewed,
        Self::Missed,
        Self::FalseAlarm,
        Self::Unlabelled,
        Self::Found,
        Self::Quiet,
    ];

    /// Display name.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::NotReviewed => "Not reviewed in full",
            Self::Missed => "Missed",
            Self::FalseAlarm => "False alarms",
            Self::Unlabelled => "Unlabelled",
            Self::Found => "Found",
            Self::Quiet => "Rightly quiet",
        }
    }

    /// CSS class.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::NotReviewed => "not-reviewed",
            Self::Missed => "missed",
            Self::FalseAlarm => "false-alarm",
            Self::Unlabelled => "unlabelled",
            Self::Found => "found",
            Self::Quiet => "quiet",
        }
    }

    /// All outcomes of a run.
    fn of(run: &CaseRun, sorted: &Sorted) -> BTreeSet<Self> {
        let is_so = |outcome: Self| match outcome {
            Self::NotReviewed => run.ending != Ending::Reviewed,
            Self::Missed => !sorted.missed.is_empty(),
            Self::FalseAlarm => !sorted.known_bad.is_empty() || !sorted.on_clean.is_empty(),
            Self::Unlabelled => !sorted.unlabelled.is_empty(),
            Self::Found => !sorted.matched.is_empty(),
            Self::Quiet => false,
        };
        let mut outcomes: BTreeSet<Self> = Self::ALL.into_iter().filter(|of| is_so(*of)).collect();
        if outcomes.is_empty() {
            outcomes.insert(Self::Quiet);
        }
        outcomes
    }
}

/// A case with the matching of each run.
pub(super) struct Told<'a> {
    pub(super) case: &'a CaseRuns,
    /// One per run, as scored: a failed run missed everything, and a run that was not started does
    /// not count.
    pub(super) sorted: Vec<Sorted>,
}

impl Told<'_> {
    /// All outcomes in any run.
    pub(super) fn outcomes(&self) -> BTreeSet<Outcome> {
        let runs = self.case.runs.iter().zip(&self.sorted);
        let mut all: BTreeSet<Outcome> =
            runs.flat_map(|(run, sorted)| Outcome::of(run, sorted)).collect();
        // Quiet only if all runs were.
        if all.len() > 1 {
            all.remove(&Outcome::Quiet);
        }
        all
    }

    /// The worst outcome of each started run, with the run.
    pub(super) fn begun_runs(&self) -> impl Iterator<Item = (Outcome, &CaseRun)> {
        self.case
            .runs
            .iter()
            .zip(&self.sorted)
            .filter(|(run, _)| run.ending.is_begun())
            .filter_map(|(run, sorted)| Some((Outcome::of(run, sorted).first().copied()?, run)))
    }
}

/// The cases, the worst first, without duplicate ids.
pub(super) fn told(evaluation: &Evaluation) -> Vec<Told<'_>> {
    let mut seen = BTreeSet::new();
    let cases = graded(evaluation, evaluation.rule).into_iter();
    let cases = cases.filter(|graded| seen.insert(graded.case.labels.id.as_str()));
    let mut cases: Vec<Told<'_>> = cases
        .map(|graded| {
            let mut sorted = vec![Sorted::default(); graded.case.runs.len()];
            for run in graded.runs {
                sorted[run.repeat] = run.sorted;
            }
            Told { case: graded.case, sorted }
        })
        .collect();
    cases
        .sort_by_cached_key(|told| (told.outcomes().first().copied(), told.case.labels.id.clone()));
    cases
}
