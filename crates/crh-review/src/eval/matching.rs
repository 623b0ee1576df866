//! Matches reports to expected issues: the rules, and the best one-to-one assignment.
//!
//! Invariant: the result does not depend on the order of the reports.

mod assignment;
mod fit;
mod words;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use self::assignment::assignment;
use self::fit::{Fit, Issue, Report};
use super::case::{Expected, Labels};
use super::evaluation::CaseRun;

/// When a report counts as an expected issue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Same file, same category, and lines that overlap or are at most 3 apart (the agent
    /// specification).
    #[default]
    Category,
    /// Same, with the family of the category.
    Family,
    /// Same, with any category.
    FileLine,
    /// Same file and similar words.
    Text,
    /// The judge decides, or words without a judge.
    Judge,
}

/// What happened to the reports and expected issues of one run. Numbers are indices into `reported`
/// and `expected`; each index occurs exactly once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sorted {
    /// Reports of expected issues, as (expected, reported), sorted by expected.
    pub matched: Vec<(usize, usize)>,
    /// Further reports of a matched issue, as (expected, reported).
    pub duplicates: Vec<(usize, usize)>,
    /// Reports known to be wrong, as (known bad, reported).
    pub known_bad: Vec<(usize, usize)>,
    /// Reports on a clean change.
    pub on_clean: Vec<usize>,
    /// Unlabelled reports.
    pub unlabelled: Vec<usize>,
    /// Missed issues.
    pub missed: Vec<usize>,
}

/// Classifies the reports of a run.
///
/// Chooses the assignment with the most matches, and among those the closest. A further report that
/// fits a matched issue is a duplicate. Of the rest, a report is known to be wrong if a label says
/// so; otherwise it is wrong on a clean change and unlabelled on any other.
pub fn sort(labels: &Labels, run: &CaseRun, rule: Rule) -> Sorted {
    let issues: Vec<_> = labels.expected.iter().map(Issue::new).collect();
    let reports = Report::all(run);
    let fit = Fit::new(rule, run);
    let costs: Vec<Vec<_>> = issues
        .iter()
        .enumerate()
        .map(|(at, issue)| reports.iter().map(|report| fit.cost(at, issue, report)).collect())
        .collect();
    // Reports that fit nothing would only widen the table.
    let fitting: Vec<_> = (0..reports.len())
        .filter(|column| costs.iter().any(|row| row[*column].is_some()))
        .collect();
    let table: Vec<Vec<_>> =
        costs.iter().map(|row| fitting.iter().map(|column| row[*column]).collect()).collect();

    let mut sorted = Sorted::default();
    let mut match_of = vec![None; reports.len()];
    for (row, column) in assignment(&table) {
        match_of[fitting[column]] = Some(row);
    }
    for (column, report) in reports.iter().enumerate() {
        let closest = || {
            let rows = costs.iter().enumerate();
            rows.filter_map(|(row, costs)| Some((costs[column]?, row))).min().map(|(_, row)| row)
        };
        if let Some(row) = match_of[column] {
            sorted.matched.push((row, report.position));
        } else if let Some(row) = closest() {
            sorted.duplicates.push((row, report.position));
        } else if let Some(bad) = fit.known_bad(&labels.known_bad, report) {
            sorted.known_bad.push((bad, report.position));
        } else if labels.expected.is_empty() {
            sorted.on_clean.push(report.position);
        } else {
            sorted.unlabelled.push(report.position);
        }
    }
    let is_matched = |row: &usize| match_of.contains(&Some(*row));
    sorted.missed = (0..issues.len()).filter(|row| !is_matched(row)).collect();
    sorted.matched.sort_unstable();
    sorted.duplicates.sort_unstable();
    sorted.known_bad.sort_unstable();
    sorted.on_clean.sort_unstable();
    sorted.unlabelled.sort_unstable();
    sorted
}

/// All pairs that match by the text rule, as (expected, reported).
pub(super) fn fitting_by_text(labels: &Labels, run: &CaseRun) -> BTreeSet<(usize, usize)> {
    let fit = Fit::new(Rule::Text, run);
    let reports = Report::all(run);
    let issues: Vec<_> = labels.expected.iter().map(Issue::new).collect();
    let pairs = issues.iter().enumerate().flat_map(|(at, issue)| {
        let fit = &fit;
        reports
            .iter()
            .filter(move |report| fit.cost(at, issue, report).is_some())
            .map(move |report| (at, report.position))
    });
    pairs.collect()
}

/// Whether a run on the twin reports an issue of the change at the same code.
pub(super) fn is_on_twin(at: usize, expected: &Expected, run: &CaseRun, rule: Rule) -> bool {
    let fit = Fit::new(rule, run);
    let issue = Issue::new(expected);
    run.reported
        .iter()
        .enumerate()
        .any(|(position, reported)| fit.is_on_twin(at, &issue, &Report::new(position, reported)))
}

#[cfg(test)]
mod tests;
