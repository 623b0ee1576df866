//! Matches reports to expected issues: the rules, and the best one-to-one assignment.
//!
//! Invariant: the result does not depend on the order of the reports.

mod assignment;
mod fit;
mod words;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use self::assignment::assignment;
pub(super) use self::fit::MAX_LINE_GAP;
use self::fit::{IssueToMatch, Matcher, ReportToMatch};
use super::case::{Expected, Labels};
use super::evaluation::CaseRun;

/// When a report counts as an expected issue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Same file, same category, and lines that overlap or are at most 3 apart.
    #[default]
    Category,
    /// Like `Category`, but the same family of categories is enough.
    Family,
    /// Like `Category`, but with any category.
    FileLine,
    /// Same file and similar words.
    Text,
    /// The judge, a model, decides. Without a judge, like `Text`.
    Judge,
}

/// What happened to the reports and expected issues of one run. Numbers are indices into the run's
/// reports and into the labels of its case. Each report occurs in one list, and each expected
/// issue in either `matched` or `missed`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReportClasses {
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
/// so. Otherwise it is in `on_clean` on a clean change, and unlabelled on any other.
pub fn classify_reports(labels: &Labels, run: &CaseRun, rule: Rule) -> ReportClasses {
    let issues: Vec<_> = labels.expected.iter().map(IssueToMatch::new).collect();
    let reports = ReportToMatch::all(run);
    let matcher = Matcher::new(rule, run);
    let costs: Vec<Vec<_>> = issues
        .iter()
        .enumerate()
        .map(|(issue_index, issue)| {
            reports.iter().map(|report| matcher.cost(issue_index, issue, report)).collect()
        })
        .collect();
    // Leave out reports that match no issue: they would only widen the cost table.
    let fitting_columns: Vec<_> = (0..reports.len())
        .filter(|column| costs.iter().any(|row| row[*column].is_some()))
        .collect();
    let table: Vec<Vec<_>> = costs
        .iter()
        .map(|row| fitting_columns.iter().map(|column| row[*column]).collect())
        .collect();

    let mut classes = ReportClasses::default();
    let mut matched_rows = vec![None; reports.len()];
    for (row, column) in assignment(&table) {
        matched_rows[fitting_columns[column]] = Some(row);
    }
    for (column, report) in reports.iter().enumerate() {
        let closest = || {
            let rows = costs.iter().enumerate();
            rows.filter_map(|(row, costs)| Some((costs[column]?, row))).min().map(|(_, row)| row)
        };
        if let Some(row) = matched_rows[column] {
            classes.matched.push((row, report.position));
        } else if let Some(row) = closest() {
            classes.duplicates.push((row, report.position));
        } else if let Some(label) = matcher.known_bad(&labels.known_bad, report) {
            classes.known_bad.push((label, report.position));
        } else if labels.expected.is_empty() {
            classes.on_clean.push(report.position);
        } else {
            classes.unlabelled.push(report.position);
        }
    }
    let is_matched = |row: &usize| matched_rows.contains(&Some(*row));
    classes.missed = (0..issues.len()).filter(|row| !is_matched(row)).collect();
    classes.matched.sort_unstable();
    classes.duplicates.sort_unstable();
    classes.known_bad.sort_unstable();
    classes.on_clean.sort_unstable();
    classes.unlabelled.sort_unstable();
    classes
}

/// All pairs that match by a rule, as (expected, reported). A report can match several issues, and
/// an issue several reports.
pub(super) fn matching_pairs(
    labels: &Labels,
    run: &CaseRun,
    rule: Rule,
) -> BTreeSet<(usize, usize)> {
    let matcher = Matcher::new(rule, run);
    let reports = ReportToMatch::all(run);
    let issues: Vec<_> = labels.expected.iter().map(IssueToMatch::new).collect();
    let pairs = issues.iter().enumerate().flat_map(|(issue_index, issue)| {
        let matcher = &matcher;
        reports
            .iter()
            .filter(move |report| matcher.cost(issue_index, issue, report).is_some())
            .map(move |report| (issue_index, report.position))
    });
    pairs.collect()
}

/// Whether a run on the twin reports an issue of the change at the same code.
pub(super) fn is_reported_on_twin(
    issue_index: usize,
    expected: &Expected,
    run: &CaseRun,
    rule: Rule,
) -> bool {
    let matcher = Matcher::new(rule, run);
    let issue = IssueToMatch::new(expected);
    run.reported.iter().enumerate().any(|(position, reported)| {
        matcher.is_reported_on_twin(issue_index, &issue, &ReportToMatch::new(position, reported))
    })
}

#[cfg(test)]
mod tests;
