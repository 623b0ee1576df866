//! Outcomes of a case, used to sort cases by trouble.

use std::collections::BTreeSet;

use crate::eval::scores::graded::grade_cases;
use crate::eval::{CaseRun, CaseRuns, Ending, Evaluation, ReportClasses};

/// Outcome of a case, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CaseOutcome {
    NotReviewed,
    Missed,
    FalseAlarm,
    Unlabelled,
    Found,
    Quiet,
}

impl CaseOutcome {
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
    fn for_run(run: &CaseRun, classes: &ReportClasses) -> BTreeSet<Self> {
        let applies = |outcome: Self| match outcome {
            Self::NotReviewed => run.ending != Ending::Reviewed,
            Self::Missed => !classes.missed.is_empty(),
            Self::FalseAlarm => !classes.known_bad.is_empty() || !classes.on_clean.is_empty(),
            Self::Unlabelled => !classes.unlabelled.is_empty(),
            Self::Found => !classes.matched.is_empty(),
            Self::Quiet => false,
        };
        let mut outcomes: BTreeSet<Self> =
            Self::ALL.into_iter().filter(|outcome| applies(*outcome)).collect();
        if outcomes.is_empty() {
            outcomes.insert(Self::Quiet);
        }
        outcomes
    }
}

/// A case with the classified reports of each run.
pub(super) struct ClassifiedCase<'a> {
    pub(super) case: &'a CaseRuns,
    /// One per run, as scored: a failed run missed everything, and a run that was not started does
    /// not count.
    pub(super) classes: Vec<ReportClasses>,
}

impl ClassifiedCase<'_> {
    /// All outcomes in any run.
    pub(super) fn outcomes(&self) -> BTreeSet<CaseOutcome> {
        let runs = self.case.runs.iter().zip(&self.classes);
        let mut outcomes: BTreeSet<CaseOutcome> =
            runs.flat_map(|(run, classes)| CaseOutcome::for_run(run, classes)).collect();
        // A case is quiet only if all its runs are.
        if outcomes.len() > 1 {
            outcomes.remove(&CaseOutcome::Quiet);
        }
        outcomes
    }

    /// The worst outcome of each started run, with the run.
    pub(super) fn started_runs(&self) -> impl Iterator<Item = (CaseOutcome, &CaseRun)> {
        self.case
            .runs
            .iter()
            .zip(&self.classes)
            .filter(|(run, _)| run.ending.is_started())
            .filter_map(|(run, classes)| {
                Some((CaseOutcome::for_run(run, classes).first().copied()?, run))
            })
    }
}

/// The cases, the worst first, without duplicate ids.
pub(super) fn classified_cases(evaluation: &Evaluation) -> Vec<ClassifiedCase<'_>> {
    let mut seen_ids = BTreeSet::new();
    let cases = grade_cases(evaluation, evaluation.rule).into_iter();
    let cases = cases.filter(|graded| seen_ids.insert(graded.case.labels.id.as_str()));
    let mut cases: Vec<ClassifiedCase<'_>> = cases
        .map(|graded| {
            let mut classes = vec![ReportClasses::default(); graded.case.runs.len()];
            for run in graded.runs {
                classes[run.repeat] = run.classes;
            }
            ClassifiedCase { case: graded.case, classes }
        })
        .collect();
    cases
        .sort_by_cached_key(|case| (case.outcomes().first().copied(), case.case.labels.id.clone()));
    cases
}
