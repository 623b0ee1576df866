//! Common cases of two evaluations, and why the others are excluded.

use std::collections::{BTreeMap, BTreeSet};

use super::Regression;
use crate::eval::case::Labels;
use crate::eval::evaluation::{CaseRuns, Ending, Evaluation};
use crate::eval::matching::Rule;

/// Two evaluations reduced to the same cases, labels and rule.
pub(super) struct Common {
    pub(super) before: Evaluation,
    pub(super) after: Evaluation,
    /// Excluded cases, by id.
    pub(super) left_out: Vec<(String, Reason)>,
    /// Number of excluded runs of the other cases.
    pub(super) runs_left_out: u32,
}

/// Why a case is excluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    New,
    Gone,
    NotRunBefore,
    NotRunAfter,
    NoCommonRun,
    OtherLabels,
}

impl Common {
    pub(super) fn of(before: &Evaluation, after: &Evaluation) -> Self {
        let both_judged = before.judged_by.is_some() && after.judged_by.is_some();
        let rule = match after.rule {
            Rule::Judge if !both_judged => Rule::Text,
            rule @ (Rule::Category | Rule::Family | Rule::FileLine | Rule::Text | Rule::Judge) => {
                rule
            }
        };
        let mut by_id: BTreeMap<&str, [Option<&CaseRuns>; 2]> = BTreeMap::new();
        for (at, evaluation) in [before, after].into_iter().enumerate() {
            for case in &evaluation.cases {
                by_id.entry(&case.labels.id).or_default()[at] = Some(case);
            }
        }
        let mut left_out = Vec::new();
        let mut runs_left_out = 0;
        let mut cases = [Vec::new(), Vec::new()];
        for (id, both) in by_id {
            match in_common(both) {
                Ok([before, after]) => {
                    let alone = begun(before).symmetric_difference(&begun(after)).count();
                    runs_left_out += u32::try_from(alone).unwrap_or(u32::MAX);
                    let labels = after.labels.clone();
                    cases[0].push(CaseRuns { labels, ..begun_in_both(before, after) });
                    cases[1].push(begun_in_both(after, before));
                }
                Err(reason) => left_out.push((id.to_owned(), reason)),
            }
        }
        let [cases_before, cases_after] = cases;
        let of = |evaluation: &Evaluation, cases| Evaluation {
            schema_version: evaluation.schema_version,
            about: evaluation.about.clone(),
            rule,
            repeats: evaluation.repeats,
            judged_by: evaluation.judged_by.clone(),
            cases,
        };
        let [before, after] = [of(before, cases_before), of(after, cases_after)];
        Self { before, after, left_out, runs_left_out }
    }

    /// Cases of the first evaluation that can no longer be compared.
    pub(super) fn gone(&self) -> Vec<Regression> {
        let lost = [
            (Reason::Gone, "cases were removed"),
            (Reason::NotRunAfter, "cases are no longer reviewed"),
            (Reason::NoCommonRun, "cases have no common repeat and cannot be compared"),
            (Reason::OtherLabels, "cases are labelled differently and cannot be compared"),
        ];
        let found = lost.into_iter().filter_map(|(lost, what)| {
            let left_out = self.left_out.iter().filter(|(_, reason)| *reason == lost);
            let cases: Vec<String> = left_out.map(|(case, _)| case.clone()).collect();
            (!cases.is_empty()).then(|| Regression { what: what.to_owned(), cases })
        });
        found.collect()
    }
}

fn in_common(both: [Option<&CaseRuns>; 2]) -> Result<[&CaseRuns; 2], Reason> {
    let [before, after] = match both {
        [Some(before), Some(after)] => [before, after],
        [_, None] => return Err(Reason::Gone),
        [None, Some(_)] => return Err(Reason::New),
    };
    let [begun_before, begun_after] = [begun(before), begun(after)];
    if begun_before.is_empty() {
        Err(Reason::NotRunBefore)
    } else if begun_after.is_empty() {
        Err(Reason::NotRunAfter)
    } else if begun_before.is_disjoint(&begun_after) {
        Err(Reason::NoCommonRun)
    } else if is_labelled_alike(&before.labels, &after.labels) {
        Ok([before, after])
    } else {
        Err(Reason::OtherLabels)
    }
}

/// Whether the same issues are expected. Findings known to be wrong may differ; they count in both.
fn is_labelled_alike(before: &Labels, after: &Labels) -> bool {
    before.expected == after.expected && before.twin_of == after.twin_of
}

/// The started repeats of a case.
fn begun(case: &CaseRuns) -> BTreeSet<usize> {
    let runs = case.runs.iter().enumerate();
    runs.filter(|(_, run)| run.ending.is_begun()).map(|(repeat, _)| repeat).collect()
}

/// A case with only the repeats that the other evaluation started, too. The repeats keep their
/// numbers, because twins are matched by them.
fn begun_in_both(case: &CaseRuns, other: &CaseRuns) -> CaseRuns {
    let begun = begun(other);
    let mut case = case.clone();
    for (repeat, run) in case.runs.iter_mut().enumerate() {
        if !begun.contains(&repeat) {
            run.ending = Ending::NotRun("the other evaluation does not have this run".to_owned());
        }
    }
    case
}
