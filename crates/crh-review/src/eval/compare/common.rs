//! Common cases of two evaluations, and why the others are excluded.

use std::collections::{BTreeMap, BTreeSet};

use super::Regression;
use crate::eval::case::Labels;
use crate::eval::evaluation::{CaseRuns, Ending, Evaluation};
use crate::eval::matching::Rule;

/// Two evaluations reduced to the same cases, labels and rule.
pub(super) struct CommonCases {
    pub(super) before: Evaluation,
    pub(super) after: Evaluation,
    /// Excluded cases, by id.
    pub(super) excluded: Vec<(String, ExclusionReason)>,
    /// Number of excluded runs in cases that are not excluded.
    pub(super) excluded_runs: u32,
}

/// Why a case is excluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExclusionReason {
    New,
    Removed,
    NotRunBefore,
    NotRunAfter,
    NoCommonRun,
    OtherLabels,
}

impl CommonCases {
    pub(super) fn new(before: &Evaluation, after: &Evaluation) -> Self {
        let are_both_judged = before.judged_by.is_some() && after.judged_by.is_some();
        let rule = match after.rule {
            Rule::Judge if !are_both_judged => Rule::Text,
            rule @ (Rule::Category | Rule::Family | Rule::FileLine | Rule::Text | Rule::Judge) => {
                rule
            }
        };
        let mut by_id: BTreeMap<&str, [Option<&CaseRuns>; 2]> = BTreeMap::new();
        for (side_index, evaluation) in [before, after].into_iter().enumerate() {
            for case in &evaluation.cases {
                by_id.entry(&case.labels.id).or_default()[side_index] = Some(case);
            }
        }
        let mut excluded = Vec::new();
        let mut excluded_runs = 0;
        let mut cases = [Vec::new(), Vec::new()];
        for (id, case_pair) in by_id {
            match comparable_runs(case_pair) {
                Ok([before, after]) => {
                    let unshared_repeats = started_repeats(before)
                        .symmetric_difference(&started_repeats(after))
                        .count();
                    excluded_runs += u32::try_from(unshared_repeats).unwrap_or(u32::MAX);
                    let labels = after.labels.clone();
                    cases[0].push(CaseRuns { labels, ..with_common_repeats(before, after) });
                    cases[1].push(with_common_repeats(after, before));
                }
                Err(reason) => excluded.push((id.to_owned(), reason)),
            }
        }
        let [cases_before, cases_after] = cases;
        let reduced = |evaluation: &Evaluation, cases| Evaluation {
            schema_version: evaluation.schema_version,
            about: evaluation.about.clone(),
            rule,
            repeats: evaluation.repeats,
            judged_by: evaluation.judged_by.clone(),
            cases,
        };
        let [before, after] = [reduced(before, cases_before), reduced(after, cases_after)];
        Self { before, after, excluded, excluded_runs }
    }

    /// Cases of the first evaluation that can no longer be compared.
    pub(super) fn removed_cases(&self) -> Vec<Regression> {
        let descriptions = [
            (ExclusionReason::Removed, "cases were removed"),
            (ExclusionReason::NotRunAfter, "cases are no longer reviewed"),
            (ExclusionReason::NoCommonRun, "cases have no common repeat and cannot be compared"),
            (ExclusionReason::OtherLabels, "cases are labelled differently and cannot be compared"),
        ];
        let regressions =
            descriptions.into_iter().filter_map(|(regression_reason, description)| {
                let excluded_cases =
                    self.excluded.iter().filter(|(_, reason)| *reason == regression_reason);
                let cases: Vec<String> = excluded_cases.map(|(case, _)| case.clone()).collect();
                (!cases.is_empty()).then(|| Regression { what: description.to_owned(), cases })
            });
        regressions.collect()
    }
}

fn comparable_runs(case_pair: [Option<&CaseRuns>; 2]) -> Result<[&CaseRuns; 2], ExclusionReason> {
    let [before, after] = match case_pair {
        [Some(before), Some(after)] => [before, after],
        [_, None] => return Err(ExclusionReason::Removed),
        [None, Some(_)] => return Err(ExclusionReason::New),
    };
    let [started_before, started_after] = [started_repeats(before), started_repeats(after)];
    if started_before.is_empty() {
        Err(ExclusionReason::NotRunBefore)
    } else if started_after.is_empty() {
        Err(ExclusionReason::NotRunAfter)
    } else if started_before.is_disjoint(&started_after) {
        Err(ExclusionReason::NoCommonRun)
    } else if have_same_labels(&before.labels, &after.labels) {
        Ok([before, after])
    } else {
        Err(ExclusionReason::OtherLabels)
    }
}

/// Whether the same issues are expected. The findings that are known to be wrong may differ: those
/// of the second evaluation apply to both.
fn have_same_labels(before: &Labels, after: &Labels) -> bool {
    before.expected == after.expected && before.twin_of == after.twin_of
}

/// The started repeats of a case.
fn started_repeats(case: &CaseRuns) -> BTreeSet<usize> {
    let runs = case.runs.iter().enumerate();
    runs.filter(|(_, run)| run.ending.is_started()).map(|(repeat, _)| repeat).collect()
}

/// A case with only the repeats that the other evaluation started, too. The repeats keep their
/// numbers, by which a run is paired with the run of its twin.
fn with_common_repeats(case: &CaseRuns, other: &CaseRuns) -> CaseRuns {
    let started = started_repeats(other);
    let mut case = case.clone();
    for (repeat, run) in case.runs.iter_mut().enumerate() {
        if !started.contains(&repeat) {
            run.ending = Ending::NotRun("the other evaluation does not have this run".to_owned());
        }
    }
    case
}
