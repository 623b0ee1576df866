//! Which report is about which expected issue: the rules, and the best one-to-one assignment under them.
//!
//! Invariant: what becomes of a report does not depend on where it stands in its run.

mod assignment;
mod fit;
mod words;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use self::assignment::assignment;
use self::fit::{Fit, Issue, Report};
use super::case::{Expected, Labels};
use super::evaluation::CaseRun;

/// When a report counts as a report of an expected issue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Same file, same category, lines that overlap or are at most 3 apart: the agent specification's rule.
    #[default]
    Category,
    /// The same with the family of the category.
    Family,
    /// The same with any category.
    FileLine,
    /// Same file, and words that say the same.
    Text,
    /// What a judge called the same; words where it was not asked.
    Judge,
}

/// What became of everything that one run reported, and of everything that was expected. Numbers are positions in the
/// run's `reported` and in the labels' `expected`; each position stands in exactly one place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sorted {
    /// Reports of expected issues, as (expected, reported), by expected.
    pub matched: Vec<(usize, usize)>,
    /// Further reports of an issue that is matched already, as (expected, reported).
    pub duplicates: Vec<(usize, usize)>,
    /// Reports that are known to be wrong, as (known bad, reported).
    pub known_bad: Vec<(usize, usize)>,
    /// Reports on a change that is known to be clean.
    pub on_clean: Vec<usize>,
    /// Other reports: nobody has said whether they are true.
    pub unlabelled: Vec<usize>,
    /// Expected issues that nobody reported.
    pub missed: Vec<usize>,
}

/// Sorts what a run reported.
///
/// Of all ways to give every expected issue at most one report and every report at most one issue, it takes one with the most
/// matches, and of these the closest in total. What else fits an issue is a duplicate of it: had the issue been free, there
/// would be one match more. Of the rest, a report is known to be wrong if it is one of those that the labels name, whatever the
/// change; otherwise a clean change makes it wrong, and on another one nobody knows.
pub fn sort(labels: &Labels, run: &CaseRun, rule: Rule) -> Sorted {
    let issues: Vec<_> = labels.expected.iter().map(Issue::new).collect();
    let reports = Report::all(run);
    let fit = Fit::new(rule, run);
    let costs: Vec<Vec<_>> = issues
        .iter()
        .enumerate()
        .map(|(at, issue)| reports.iter().map(|report| fit.cost(at, issue, report)).collect())
        .collect();
    // What fits nothing would only make the table wider.
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

/// Every pair of an expected issue and a report that fit each other by the text rule, as (expected, reported).
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

/// Whether a run on the twin reports an issue of the change, where the twin has the same code.
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
