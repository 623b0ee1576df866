//! Agreement of repeats.
//!
//! All numbers are unbiased: their expected value does not depend on the number of repeats.

use std::collections::BTreeMap;

use super::Stability;
use super::graded::{Graded, GradedRun, graded};
use super::quality::count;
use super::tally::Tally;
use crate::eval::bootstrap::{Counts, rounded, share};
use crate::eval::evaluation::{Evaluation, Reported};
use crate::eval::matching::{Rule, Sorted};
use crate::finding::{Category, Severity, Side};

/// Severity and category of a report.
type Class = (Option<Severity>, Option<Category>);

/// Identity of a report across repeats: the expected issue, or else the first line. Category and
/// the tool's own id do not count, because the id may depend on the category.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place<'a> {
    Expected(usize),
    Line(&'a str, Side, u32),
}

/// Agreement over the cases with at least two runs.
pub(super) fn stability(evaluation: &Evaluation, cases: &[&Graded<'_>]) -> Option<Stability> {
    if cases.iter().all(|case| case.runs.len() < 2) {
        return None;
    }
    let complete: Vec<_> = cases
        .iter()
        .copied()
        .filter(|case| u32::try_from(case.runs.len()) == Ok(evaluation.repeats))
        .collect();
    let by_place = graded(evaluation, Rule::FileLine);
    let said: Vec<_> = by_place.iter().filter(|case| !case.is_twin()).map(Said::of).collect();
    Some(Stability {
        repeats: evaluation.repeats,
        complete_cases: count(complete.len() as u64),
        returns: returns(&said).map(rounded),
        hit_variance: hit_variance(cases).map(rounded),
        class_changes: class_changes(&said).map(rounded),
        f1_deviation: f1_deviation(&complete).map(rounded),
    })
}

/// Reports of the runs of a case.
struct Said<'a> {
    runs: usize,
    /// Reports at each place, once per run.
    classes: BTreeMap<Place<'a>, Vec<Class>>,
}

impl<'a> Said<'a> {
    fn of(case: &Graded<'a>) -> Self {
        let mut classes: BTreeMap<_, Vec<Class>> = BTreeMap::new();
        for run in &case.runs {
            let mut of_run: BTreeMap<_, Class> = BTreeMap::new();
            for (place, reported) in places(run) {
                let class = (reported.severity, reported.category);
                // Two reports at one place count as one, the more severe of them.
                of_run.entry(place).and_modify(|first| *first = class.min(*first)).or_insert(class);
            }
            for (place, class) in of_run {
                classes.entry(place).or_default().push(class);
            }
        }
        Self { runs: case.runs.len(), classes }
    }
}

/// Reports without duplicates, with their place.
fn places<'a>(run: &GradedRun<'a>) -> impl Iterator<Item = (Place<'a>, &'a Reported)> {
    let Sorted { matched, known_bad, on_clean, unlabelled, duplicates: _, missed: _ } = &run.sorted;
    let reported = run.reported;
    let matched = matched.iter().map(move |(issue, at)| (Place::Expected(*issue), &reported[*at]));
    let others = known_bad.iter().map(|(_, at)| at).chain(on_clean).chain(unlabelled);
    matched.chain(others.map(move |at| {
        let span = &reported[*at].span;
        (Place::Line(span.file(), span.side(), span.line_start()), &reported[*at])
    }))
}

/// How often a report of one run occurs in another run of the case.
fn returns(said: &[Said<'_>]) -> Option<f64> {
    let (mut returned, mut possible) = (0, 0);
    for case in said {
        for classes in case.classes.values() {
            let times = classes.len() as u64;
            returned += times * (times - 1);
            possible += times * (case.runs as u64 - 1);
        }
    }
    share(returned, possible)
}

/// How often two runs with the same report differ in its class.
fn class_changes(said: &[Said<'_>]) -> Option<f64> {
    let (mut different, mut pairs) = (0, 0);
    for classes in said.iter().flat_map(|case| case.classes.values()) {
        for (at, first) in classes.iter().enumerate() {
            for second in &classes[at + 1..] {
                pairs += 1;
                different += u64::from(first != second);
            }
        }
    }
    share(different, pairs)
}

/// Variance of "found", as a sample variance.
fn hit_variance(cases: &[&Graded<'_>]) -> Option<f64> {
    let mut variances = Vec::new();
    for case in cases.iter().filter(|case| case.runs.len() > 1) {
        let runs = case.runs.len() as f64;
        for at in 0..case.case.labels.expected.len() {
            let is_hit = |sorted: &[(usize, usize)]| sorted.iter().any(|(issue, _)| *issue == at);
            let hits = case.runs.iter().filter(|run| is_hit(&run.sorted.matched)).count();
            let rate = hits as f64 / runs;
            variances.push(rate * (1.0 - rate) * runs / (runs - 1.0));
        }
    }
    mean(&variances)
}

/// Standard deviation of F1 over the repeats, for cases with all repeats.
fn f1_deviation(complete: &[&Graded<'_>]) -> Option<f64> {
    let mut repeats: BTreeMap<usize, Tally> = BTreeMap::new();
    for case in complete {
        for run in &case.runs {
            repeats.entry(run.repeat).or_default().add(&Tally::of_run(case, run), 1);
        }
    }
    let scores: Vec<f64> = repeats.values().filter_map(Tally::f1).collect();
    let mean = mean(&scores)?;
    let squares: f64 = scores.iter().map(|score| (score - mean).powi(2)).sum();
    // Sample variance, hence n - 1.
    (scores.len() > 1).then(|| (squares / (scores.len() - 1) as f64).sqrt())
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
