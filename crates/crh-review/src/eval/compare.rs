//! Compares two evaluations of the same cases: significant differences, flipped cases and
//! regressions.

mod common;
mod differences;
mod flips;

use serde::Serialize;

use self::common::CommonCases;
use self::differences::Differences;
use self::flips::flips;
use super::evaluation::Evaluation;
use super::scores::Estimate;
use super::scores::graded::{GradedCase, grade_cases};

/// Comparison of two evaluations on their common cases.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Name of the first evaluation.
    pub before: String,
    /// Name of the second evaluation.
    pub after: String,
    /// Number of common cases, including twins.
    pub cases: u32,
    /// Excluded cases: only in one evaluation, labelled differently, or without a repeat that both
    /// started.
    pub left_out: Vec<String>,
    /// Excluded runs: started in only one evaluation. Otherwise a case with more runs on one side
    /// would weigh more there.
    pub runs_left_out: u32,
    /// Metrics of both evaluations.
    pub differences: Vec<Difference>,
    /// Facts of a case, such as a found issue, that hold in only one evaluation.
    pub flips: Vec<Flip>,
}

/// One metric in both evaluations.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// Name, such as `recall`.
    pub metric: String,
    /// Value in the first evaluation.
    pub before: Option<f64>,
    /// Value in the second evaluation.
    pub after: Option<f64>,
    /// Second minus first, with an interval by paired bootstrap over cases.
    pub change: Estimate,
    /// Whether the interval excludes zero and enough cases differ.
    pub is_real: bool,
    /// Which direction is better.
    pub better: Better,
}

/// Which direction of a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is better.
    More,
    /// Less is better.
    Less,
    /// Neither direction is better.
    Neither,
}

/// A case in which one evaluation did better.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Flip {
    /// The case.
    pub case: String,
    /// Whether the second evaluation did better.
    pub is_better: bool,
    /// What changed.
    pub what: String,
}

/// A way in which the second evaluation is worse.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Regression {
    /// Description.
    pub what: String,
    /// Cases that show the regression.
    pub cases: Vec<String>,
}

/// Compares two evaluations with the rule and labels of the second. Unless both were judged, the
/// rule `Judge` becomes `Text`. Runs are compared repeat by repeat; a run that only one evaluation
/// started is ignored.
pub fn compare(before: &Evaluation, after: &Evaluation) -> Comparison {
    let common = CommonCases::new(before, after);
    let (Differences { quality, effort }, flips) = compare_common_cases(&common);
    Comparison {
        before: before.about.name(),
        after: after.about.name(),
        cases: u32::try_from(common.after.cases.len()).unwrap_or(u32::MAX),
        left_out: common.excluded.iter().map(|(case, _)| case.clone()).collect(),
        runs_left_out: common.excluded_runs,
        differences: quality.into_iter().chain(effort).collect(),
        flips,
    }
}

/// The regressions. If both evaluations are deterministic: every lost issue, every new report that
/// is known to be wrong or on a clean change, every new failure, and more unlabelled or duplicate
/// reports. Otherwise: significant losses in the paired bootstrap. A case that can no longer be
/// compared also counts, so that removing a failing case does not hide it.
pub fn regressions(before: &Evaluation, after: &Evaluation) -> Vec<Regression> {
    let common = CommonCases::new(before, after);
    let (differences, flips) = compare_common_cases(&common);
    let worse_flips = flips.iter().filter(|flip| !flip.is_better);
    let mut regressions = common.removed_cases();
    if before.about.is_repeatable && after.about.is_repeatable {
        let flip_regressions = worse_flips
            .map(|flip| Regression { what: flip.what.clone(), cases: vec![flip.case.clone()] });
        regressions.extend(flip_regressions);
        regressions.extend(more_unlabelled_reports(&common));
    } else {
        let mut cases: Vec<String> = worse_flips.map(|flip| flip.case.clone()).collect();
        cases.dedup();
        let losses = differences.quality.iter().filter_map(Difference::regression);
        regressions.extend(losses.map(|what| Regression { what, cases: cases.clone() }));
    }
    regressions
}

/// Cases with more unlabelled or duplicate reports than before.
fn more_unlabelled_reports(common: &CommonCases) -> Option<Regression> {
    let [before, after] =
        [&common.before, &common.after].map(|evaluation| grade_cases(evaluation, evaluation.rule));
    let count = |case: &GradedCase<'_>| -> usize {
        let runs = case.runs.iter().map(|run| &run.classes);
        runs.map(|classes| classes.unlabelled.len() + classes.duplicates.len()).sum()
    };
    let has_more =
        |(before, after): (&GradedCase<'_>, &GradedCase<'_>)| count(after) > count(before);
    let cases = before.iter().zip(&after).filter(|pair| has_more(*pair));
    let cases: Vec<String> = cases.map(|(_, after)| after.case.labels.id.clone()).collect();
    let description = "more unlabelled reports: read and label them, or write a new baseline";
    (!cases.is_empty()).then(|| Regression { what: description.to_owned(), cases })
}

fn compare_common_cases(common: &CommonCases) -> (Differences, Vec<Flip>) {
    let [before, after] =
        [&common.before, &common.after].map(|evaluation| grade_cases(evaluation, evaluation.rule));
    let flips = before.iter().zip(&after).flat_map(|(before, after)| flips(before, after));
    let flips = flips.collect();
    (Differences::new(common, before, after), flips)
}

#[cfg(test)]
mod tests;
