//! Two evaluations of the same cases: which differences are real, which cases flipped, and what has become worse.

mod common;
mod differences;
mod flips;

use serde::Serialize;

use self::common::Common;
use self::differences::Differences;
use self::flips::flips;
use super::evaluation::Evaluation;
use super::scores::Estimate;
use super::scores::graded::{Graded, graded};

/// Two evaluations on the cases that both have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// What the first is called, for people.
    pub before: String,
    /// What the second is called.
    pub after: String,
    /// How many cases both have, twins included.
    pub cases: u32,
    /// Cases that only one has, that are labelled differently, or of which no repeat was begun in both; they do not count.
    pub left_out: Vec<String>,
    /// Runs of the other cases that were begun in one of them alone; they do not count. A case that has more runs on one side
    /// weighs more there, and a number would differ without anything having changed.
    pub runs_left_out: u32,
    /// The numbers that differ or could.
    pub differences: Vec<Difference>,
    /// What one found and the other did not.
    pub flips: Vec<Flip>,
}

/// One number of both.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// The number, such as `recall`.
    pub metric: String,
    /// In the first.
    pub before: Option<f64>,
    /// In the second.
    pub after: Option<f64>,
    /// The second less the first, with its interval by a paired bootstrap over cases.
    pub change: Estimate,
    /// Whether the interval has no zero in it, and so many cases differ that it is more than chance.
    pub is_real: bool,
    /// Whether more of it is better.
    pub better: Better,
}

/// Which way a number has to go to be better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is better.
    More,
    /// Less is better.
    Less,
    /// It may change without anything being better or worse.
    Neither,
}

/// A case in which one evaluation did better.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Flip {
    /// The case.
    pub case: String,
    /// Whether the second did better.
    pub is_better: bool,
    /// What happened, in a sentence.
    pub what: String,
}

/// Something that has become worse.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Regression {
    /// What, in a sentence.
    pub what: String,
    /// The cases that show it.
    pub cases: Vec<String>,
}

/// Compares two evaluations, both by the rule and the labels of the second; by words, if only one of them was judged. Runs are compared
/// repeat by repeat: one that was not begun in one of them counts in neither.
pub fn compare(before: &Evaluation, after: &Evaluation) -> Comparison {
    let common = Common::of(before, after);
    let (Differences { quality, effort }, flips) = compared(&common);
    Comparison {
        before: before.about.name(),
        after: after.about.name(),
        cases: u32::try_from(common.after.cases.len()).unwrap_or(u32::MAX),
        left_out: common.left_out.iter().map(|(case, _)| case.clone()).collect(),
        runs_left_out: common.runs_left_out,
        differences: quality.into_iter().chain(effort).collect(),
        flips,
    }
}

/// What has become worse for real. Where chance had no part in either, every lost issue and every new report on a clean change
/// is, and so are more reports that nobody has judged: they may be true, but somebody has to say so; otherwise what the paired bootstrap says. A case of the first that can no longer be compared is one too: otherwise a case
/// that fails could be mended by taking it away.
pub fn regressions(before: &Evaluation, after: &Evaluation) -> Vec<Regression> {
    let common = Common::of(before, after);
    let (differences, flips) = compared(&common);
    let worse = flips.iter().filter(|flip| !flip.is_better);
    let mut regressions = common.gone();
    if before.about.is_repeatable && after.about.is_repeatable {
        let each = worse
            .map(|flip| Regression { what: flip.what.clone(), cases: vec![flip.case.clone()] });
        regressions.extend(each);
        regressions.extend(unjudged(&common));
    } else {
        let mut cases: Vec<String> = worse.map(|flip| flip.case.clone()).collect();
        cases.dedup();
        let losses = differences.quality.iter().filter_map(Difference::loss);
        regressions.extend(losses.map(|what| Regression { what, cases: cases.clone() }));
    }
    regressions
}

/// Cases with more reports than before that are neither matched nor known to be wrong.
fn unjudged(common: &Common) -> Option<Regression> {
    let [before, after] =
        [&common.before, &common.after].map(|evaluation| graded(evaluation, evaluation.rule));
    let count = |case: &Graded<'_>| -> usize {
        let runs = case.runs.iter().map(|run| &run.sorted);
        runs.map(|sorted| sorted.unlabelled.len() + sorted.duplicates.len()).sum()
    };
    let more = |(before, after): (&Graded<'_>, &Graded<'_>)| count(after) > count(before);
    let cases = before.iter().zip(&after).filter(|pair| more(*pair));
    let cases: Vec<String> = cases.map(|(_, after)| after.case.labels.id.clone()).collect();
    let what =
        "more reports that nobody has judged: read them, and label them or write the baseline anew";
    (!cases.is_empty()).then(|| Regression { what: what.to_owned(), cases })
}

fn compared(common: &Common) -> (Differences, Vec<Flip>) {
    let [before, after] =
        [&common.before, &common.after].map(|evaluation| graded(evaluation, evaluation.rule));
    let flips = before.iter().zip(&after).flat_map(|(before, after)| flips(before, after));
    let flips = flips.collect();
    (Differences::of(common, before, after), flips)
}

#[cfg(test)]
mod tests;
