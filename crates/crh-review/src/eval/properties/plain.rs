//! A second, slow implementation of the scores, to check the fast one.

use std::collections::BTreeMap;

use crate::eval::case::{Expected, Labels, Span};
use crate::eval::evaluation::{CaseRun, CaseRuns, Ending, Evaluation, Reported};
use crate::eval::matching::{Rule, classify_reports};
use crate::finding::Category;

/// Scores counted from a plain list of reports.
#[derive(Debug, Default, PartialEq)]
pub(super) struct NaiveScores {
    pub(super) expected: u32,
    pub(super) reported: u32,
    pub(super) matched: u32,
    pub(super) duplicates: u32,
    pub(super) known_bad: u32,
    pub(super) on_clean: u32,
    pub(super) unlabelled: u32,
    pub(super) changes: u32,
    pub(super) clean: u32,
    pub(super) clean_reported: u32,
    pub(super) flagged: u32,
}

impl NaiveScores {
    pub(super) fn from_evaluation(evaluation: &Evaluation) -> Self {
        let mut scores = Self::default();
        for case in evaluation.cases.iter().filter(|case| case.labels.twin_of.is_none()) {
            for run in &case.runs {
                match run.ending {
                    Ending::NotRun(_) => {}
                    Ending::Failed(_) => scores.add_run(&case.labels, &[], evaluation.rule),
                    Ending::Reviewed | Ending::Incomplete(_) => {
                        scores.add_run(&case.labels, &run.reported, evaluation.rule);
                    }
                }
            }
        }
        scores
    }

    /// Harmonic mean of precision and recall; 0 without reports, `None` if nothing is expected.
    pub(super) fn f1(&self) -> Option<f64> {
        let precision = ratio(self.matched, self.reported);
        ratio(self.matched, self.expected).map(|recall| match precision {
            Some(precision) if precision + recall > 0.0 => {
                2.0 * precision * recall / (precision + recall)
            }
            Some(_) | None => 0.0,
        })
    }

    fn add_run(&mut self, labels: &Labels, reported: &[Reported], rule: Rule) {
        let matching_reports = reported
            .iter()
            .filter(|report| labels.expected.iter().any(|issue| matches(rule, issue, report)));
        let matched = max_matches(rule, &labels.expected, &mut reported.to_vec());
        self.expected += labels.expected.len() as u32;
        self.reported += reported.len() as u32;
        self.matched += matched;
        self.duplicates += matching_reports.count() as u32 - matched;
        for report in reported {
            let is_bad = labels.known_bad.iter().any(|label| is_near(&label.span, &report.span));
            if labels.expected.iter().any(|issue| matches(rule, issue, report)) {
                continue;
            } else if is_bad {
                self.known_bad += 1;
            } else if labels.expected.is_empty() {
                self.on_clean += 1;
            } else {
                self.unlabelled += 1;
            }
        }
        self.changes += 1;
        if labels.expected.is_empty() {
            self.clean += 1;
            self.clean_reported += reported.len() as u32;
            self.flagged += u32::from(!reported.is_empty());
        }
    }
}

fn is_near(span: &Span, other: &Span) -> bool {
    let wider = span.line_start().saturating_sub(3)..=span.line_end() + 3;
    let mut lines = other.line_start()..=other.line_end();
    span.file() == other.file()
        && span.side() == other.side()
        && lines.any(|line| wider.contains(&line))
}

fn matches(rule: Rule, issue: &Expected, reported: &Reported) -> bool {
    category_matches(rule, issue, reported)
        && issue.spans.iter().any(|span| is_near(span, &reported.span))
}

fn category_matches(rule: Rule, issue: &Expected, reported: &Reported) -> bool {
    match (rule, reported.category) {
        (Rule::Category, category) => category == issue.category,
        // Two of the three categories belong to one family.
        (Rule::Family, category) => {
            category.is_some()
                && (category == Some(Category::Security))
                    == (issue.category == Some(Category::Security))
        }
        (Rule::FileLine, _) => true,
        (Rule::Text | Rule::Judge, _) => unreachable!(),
    }
}

/// Maximum number of matches, by brute force.
fn max_matches(rule: Rule, expected: &[Expected], reports: &mut Vec<Reported>) -> u32 {
    let Some((issue, others)) = expected.split_first() else { return 0 };
    let mut best = max_matches(rule, others, reports);
    for index in 0..reports.len() {
        if matches(rule, issue, &reports[index]) {
            let report = reports.remove(index);
            best = best.max(1 + max_matches(rule, others, reports));
            reports.insert(index, report);
        }
    }
    best
}

pub(super) fn is_close(value: Option<f64>, plain: Option<f64>) -> bool {
    match (value, plain) {
        (Some(value), Some(plain)) => (value - plain).abs() < 1e-6,
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

pub(super) fn ratio(part: u32, whole: u32) -> Option<f64> {
    if whole == 0 { None } else { Some(f64::from(part) / f64::from(whole)) }
}

/// Counts of pairs: expected, matched, also on the twin, reported, on twins.
pub(super) type Pairs = [u32; 5];

/// Scores of pairs, by place; `None` without a common repeat.
pub(super) fn pairs(evaluation: &Evaluation) -> Option<(u32, Pairs)> {
    let mut sums = BTreeMap::new();
    for case in originals(evaluation).filter(|case| !case.labels.expected.is_empty()) {
        let id = &case.labels.id;
        let twin = evaluation.cases.iter().find(|twin| twin.labels.twin_of.as_ref() == Some(id));
        for (run, twin) in case.runs.iter().zip(twin.iter().flat_map(|twin| &twin.runs)) {
            if matches!(run.ending, Ending::NotRun(_)) || !is_reviewed(twin) {
                continue;
            }
            let expected = &case.labels.expected;
            let issues = found_issues(case, run, evaluation.rule);
            let on_twin = |issue: &&usize| {
                let issue = &expected[**issue];
                twin.reported.iter().any(|report| {
                    category_matches(evaluation.rule, issue, report)
                        && issue.on_twin.iter().any(|span| is_near(span, &report.span))
                })
            };
            let on_twins = twin.reported.len();
            let reported = if is_reviewed(run) { run.reported.len() } else { 0 };
            let counts = [
                expected.len(),
                issues.len(),
                issues.keys().filter(on_twin).count(),
                reported + on_twins,
                on_twins,
            ];
            let sum: &mut Pairs = sums.entry(id).or_default();
            sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count as u32);
        }
    }
    let pairs = sums.len() as u32;
    let add = |all: Pairs, of_case: Pairs| {
        let mut all = all;
        all.iter_mut().zip(of_case).for_each(|(all, count)| *all += count);
        all
    };
    (pairs > 0).then(|| (pairs, sums.into_values().fold(Pairs::default(), add)))
}

/// Agreement of repeats: recurrence, variance of "found", changes of class, and deviation of F1.
pub(super) fn stability(evaluation: &Evaluation) -> Option<[Option<f64>; 4]> {
    let started_runs = |case: &CaseRuns| -> Vec<CaseRun> {
        let runs = case.runs.iter().filter(|run| !matches!(run.ending, Ending::NotRun(_)));
        runs.cloned().collect()
    };
    let (mut returned, mut possible, mut changed) = (0, 0, 0);
    let mut variances = Vec::new();
    let mut is_repeated = false;
    for case in originals(evaluation) {
        let runs = started_runs(case);
        is_repeated |= runs.len() > 1;
        let reports_by_run: Vec<_> = runs.iter().map(|run| reports_by_place(case, run)).collect();
        for (index, reports) in reports_by_run.iter().enumerate() {
            for (_, other) in reports_by_run.iter().enumerate().filter(|(other, _)| *other != index)
            {
                for (place, class) in reports {
                    possible += 1;
                    returned += u32::from(other.contains_key(place));
                    changed +=
                        u32::from(other.get(place).is_some_and(|other_class| other_class != class));
                }
            }
        }
        for issue in 0..case.labels.expected.len() {
            let is_found =
                |run: &CaseRun| found_issues(case, run, evaluation.rule).contains_key(&issue);
            let hits: Vec<f64> =
                runs.iter().map(|run| if is_found(run) { 1.0 } else { 0.0 }).collect();
            variances.extend(variance(&hits));
        }
    }
    let complete = originals(evaluation)
        .filter(|case| started_runs(case).len() == evaluation.repeats as usize);
    let complete: Vec<_> = complete.collect();
    let repeats = (0..evaluation.repeats as usize).filter_map(|repeat| {
        let of_repeat = complete
            .iter()
            .map(|case| CaseRuns { runs: vec![case.runs[repeat].clone()], ..(*case).clone() });
        let of_repeat = Evaluation { cases: of_repeat.collect(), ..evaluation.clone() };
        NaiveScores::from_evaluation(&of_repeat).f1()
    });
    let repeats: Vec<f64> = repeats.collect();
    let mean_variance = variances.iter().sum::<f64>() / variances.len() as f64;
    is_repeated.then(|| {
        [
            ratio(returned, possible),
            (!variances.is_empty()).then_some(mean_variance),
            ratio(changed, returned),
            variance(&repeats).map(f64::sqrt),
        ]
    })
}

fn originals(evaluation: &Evaluation) -> impl Iterator<Item = &CaseRuns> {
    evaluation.cases.iter().filter(|case| case.labels.twin_of.is_none())
}

fn is_reviewed(run: &CaseRun) -> bool {
    matches!(run.ending, Ending::Reviewed | Ending::Incomplete(_))
}

/// Issues that a run found, with the report.
fn found_issues(case: &CaseRuns, run: &CaseRun, rule: Rule) -> BTreeMap<usize, usize> {
    match is_reviewed(run) {
        true => classify_reports(&case.labels, run, rule).matched.into_iter().collect(),
        false => BTreeMap::new(),
    }
}

/// What a run reports at each place, without duplicates: expected issues by index, others by first
/// line.
fn reports_by_place(case: &CaseRuns, run: &CaseRun) -> BTreeMap<String, String> {
    let mut classes_by_place: BTreeMap<String, Vec<_>> = BTreeMap::new();
    let issues = found_issues(case, run, Rule::FileLine);
    for (number, report) in run.reported.iter().enumerate().filter(|_| is_reviewed(run)) {
        let issue = issues.iter().find(|(_, report)| **report == number);
        let is_duplicate =
            case.labels.expected.iter().any(|issue| matches(Rule::FileLine, issue, report));
        let place = match issue {
            Some((issue, _)) => format!("issue {issue}"),
            None if is_duplicate => continue,
            None => format!(
                "{} {} {}",
                report.span.file(),
                report.span.side(),
                report.span.line_start()
            ),
        };
        classes_by_place.entry(place).or_default().push((report.severity, report.category));
    }
    let worst =
        classes_by_place.into_iter().map(|(place, classes)| (place, classes.into_iter().min()));
    worst.map(|(place, class)| (place, format!("{class:?}"))).collect()
}

/// Sample variance; `None` for fewer than two values.
fn variance(values: &[f64]) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (values.len() > 1).then(|| squares / (values.len() - 1) as f64)
}
