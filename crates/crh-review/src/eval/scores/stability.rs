//! Agreement of repeats.
//!
//! `returns`, `hit_variance` and `class_changes` are unbiased: their expected value does not depend
//! on the number of repeats.

use std::collections::{BTreeMap, BTreeSet};

use super::Stability;
use super::graded::{GradedCase, GradedRun, grade_cases};
use super::quality::count;
use super::tally::Tally;
use crate::eval::bootstrap::{Counts, ratio, rounded};
use crate::eval::evaluation::{Evaluation, Reported};
use crate::eval::matching::{MAX_LINE_GAP, ReportClasses, Rule};
use crate::finding::{Category, Severity, Side};

/// Severity and category of a report.
type Class = (Option<Severity>, Option<Category>);

/// Identity of a report across repeats: the expected issue, or else the first line. Category and
/// the tool's own id do not count, because the id may depend on the category.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ReportPlace<'a> {
    Expected(usize),
    Line(&'a str, Side, u32),
}

/// Agreement over the cases with at least two runs.
pub(super) fn stability(evaluation: &Evaluation, cases: &[&GradedCase<'_>]) -> Option<Stability> {
    if cases.iter().all(|case| case.runs.len() < 2) {
        return None;
    }
    let complete: Vec<_> = cases
        .iter()
        .copied()
        .filter(|case| u32::try_from(case.runs.len()) == Ok(evaluation.repeats))
        .collect();
    let by_place = grade_cases(evaluation, Rule::FileLine);
    let reports: Vec<_> =
        by_place.iter().filter(|case| !case.is_twin()).map(CaseReports::new).collect();
    Some(Stability {
        repeats: evaluation.repeats,
        complete_cases: count(complete.len() as u64),
        returns: recurrence(&reports).map(rounded),
        by_runs: comments_by_runs(
            by_place.iter().filter(|case| !case.is_twin()),
            evaluation.repeats,
        ),
        hit_variance: hit_variance(cases).map(rounded),
        class_changes: class_changes(&reports).map(rounded),
        f1_deviation: f1_deviation(&complete).map(rounded),
    })
}

/// Reports of the runs of a case.
struct CaseReports<'a> {
    runs: usize,
    /// Reports at each place, once per run.
    classes: BTreeMap<ReportPlace<'a>, Vec<Class>>,
}

impl<'a> CaseReports<'a> {
    fn new(case: &GradedCase<'a>) -> Self {
        let mut classes: BTreeMap<_, Vec<Class>> = BTreeMap::new();
        for run in &case.runs {
            let mut run_classes: BTreeMap<_, Class> = BTreeMap::new();
            for (place, reported) in places(run) {
                let class = (reported.severity, reported.category);
                // Of two reports at one place, one counts: one without a severity, or else the more
                // severe.
                run_classes
                    .entry(place)
                    .and_modify(|existing| *existing = class.min(*existing))
                    .or_insert(class);
            }
            for (place, class) in run_classes {
                classes.entry(place).or_default().push(class);
            }
        }
        Self { runs: case.runs.len(), classes }
    }
}

/// Reports without duplicates, with their place.
fn places<'a>(run: &GradedRun<'a>) -> impl Iterator<Item = (ReportPlace<'a>, &'a Reported)> {
    let ReportClasses { matched, known_bad, on_clean, unlabelled, duplicates: _, missed: _ } =
        &run.classes;
    let reported = run.reported;
    let matched = matched
        .iter()
        .map(move |(issue, report)| (ReportPlace::Expected(*issue), &reported[*report]));
    let other_reports =
        known_bad.iter().map(|(_, report)| report).chain(on_clean).chain(unlabelled);
    matched.chain(other_reports.map(move |report| {
        let span = &reported[*report].span;
        (ReportPlace::Line(span.file(), span.side(), span.line_start()), &reported[*report])
    }))
}

/// How often a report of one run occurs in another run of the case.
fn recurrence(cases: &[CaseReports<'_>]) -> Option<f64> {
    let (mut returned, mut possible) = (0, 0);
    for case in cases {
        for classes in case.classes.values() {
            let times = classes.len() as u64;
            returned += times * (times - 1);
            possible += times * (case.runs as u64 - 1);
        }
    }
    ratio(returned, possible)
}

/// Number of comments that occur in exactly one run, in exactly two runs, and so on, over the cases
/// with all repeats.
fn comments_by_runs<'a>(cases: impl Iterator<Item = &'a GradedCase<'a>>, repeats: u32) -> Vec<u32> {
    let repeats = usize::try_from(repeats).unwrap_or_default();
    let mut by_runs = vec![0; repeats];
    for case in cases.filter(|case| case.runs.len() == repeats) {
        let mut comments: Vec<(ReportPlace<'_>, usize)> = case
            .runs
            .iter()
            .flat_map(|run| places(run).map(|(place, _)| (place, run.repeat)))
            .collect();
        comments.sort_unstable();
        for group in comments.chunk_by(|(left, _), (right, _)| left.is_near(*right)) {
            let runs: BTreeSet<usize> = group.iter().map(|(_, repeat)| *repeat).collect();
            if let Some(number) = by_runs.get_mut(runs.len() - 1) {
                *number += 1;
            }
        }
    }
    by_runs
}

impl ReportPlace<'_> {
    /// Whether two places of different runs count as the same.
    fn is_near(self, other: ReportPlace<'_>) -> bool {
        match (self, other) {
            (ReportPlace::Expected(left), ReportPlace::Expected(right)) => left == right,
            (
                ReportPlace::Line(file, side, line),
                ReportPlace::Line(other_file, other_side, next),
            ) => file == other_file && side == other_side && line.abs_diff(next) <= MAX_LINE_GAP,
            (ReportPlace::Expected(_), ReportPlace::Line(..))
            | (ReportPlace::Line(..), ReportPlace::Expected(_)) => false,
        }
    }
}

/// How often two runs with the same report differ in its class.
fn class_changes(cases: &[CaseReports<'_>]) -> Option<f64> {
    let (mut different, mut pairs) = (0, 0);
    for classes in cases.iter().flat_map(|case| case.classes.values()) {
        for (index, first) in classes.iter().enumerate() {
            for second in &classes[index + 1..] {
                pairs += 1;
                different += u64::from(first != second);
            }
        }
    }
    ratio(different, pairs)
}

/// Variance of "found", as a sample variance.
fn hit_variance(cases: &[&GradedCase<'_>]) -> Option<f64> {
    let mut variances = Vec::new();
    for case in cases.iter().filter(|case| case.runs.len() > 1) {
        let runs = case.runs.len() as f64;
        for issue_index in 0..case.case.labels.expected.len() {
            let is_hit =
                |matched: &[(usize, usize)]| matched.iter().any(|(issue, _)| *issue == issue_index);
            let hits = case.runs.iter().filter(|run| is_hit(&run.classes.matched)).count();
            let rate = hits as f64 / runs;
            variances.push(rate * (1.0 - rate) * runs / (runs - 1.0));
        }
    }
    mean(&variances)
}

/// Standard deviation of F1 over the repeats, for cases with all repeats.
fn f1_deviation(complete: &[&GradedCase<'_>]) -> Option<f64> {
    let mut repeats: BTreeMap<usize, Tally> = BTreeMap::new();
    for case in complete {
        for run in &case.runs {
            repeats.entry(run.repeat).or_default().add(&Tally::from_run(case, run), 1);
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

#[cfg(test)]
mod tests {
    use crate::eval::matching::Rule;
    use crate::eval::scores::score;
    use crate::eval::tests_support::evaluation;

    #[test]
    fn comments_are_counted_by_the_runs_that_have_them() {
        // The expected issue is in two runs, the comment on lines 60 to 62 in three, two others in
        // one. Case `b` misses a run.
        let table = "
            case a
            expect f:10
            run
            report f:10 bug
            report f:60
            report g:1
            run
            report f:11 bug
            report f:62
            report f:61
            run
            report f:60
            report f:90
            case b
            run
            report f:1
            run not-run
            run
            report f:1
            ";
        let stability = score(&evaluation(Rule::Category, table)).stability.unwrap();
        assert_eq!((stability.complete_cases, stability.by_runs), (1, vec![2, 1, 1]));
    }
}
