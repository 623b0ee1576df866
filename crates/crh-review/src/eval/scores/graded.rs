//! The runs that count (all that were started), with the matching of their reports.

use std::collections::BTreeSet;

use crate::eval::case::{Labels, Span};
use crate::eval::evaluation::{CaseRun, CaseRuns, Ending, Evaluation, Reported};
use crate::eval::matching::{ReportClasses, Rule, classify_reports, matching_pairs};
use crate::finding::{Category, Side};

/// A case with the runs that count.
pub(in crate::eval) struct GradedCase<'a> {
    pub(in crate::eval) case: &'a CaseRuns,
    pub(in crate::eval) runs: Vec<GradedRun<'a>>,
}

/// A run that counts.
pub(in crate::eval) struct GradedRun<'a> {
    /// Number of the repeat.
    pub(in crate::eval) repeat: usize,
    pub(in crate::eval) run: &'a CaseRun,
    /// Reports; empty if the run failed.
    pub(in crate::eval) reported: &'a [Reported],
    /// Classification of the reports.
    pub(in crate::eval) classes: ReportClasses,
    /// Counts with the published comment as the unit.
    pub(in crate::eval) comments: CommentCounts,
}

/// Counts with the published comment as the unit: one comment can find several issues, and several
/// comments about one issue are all right.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::eval) struct CommentCounts {
    /// Expected issues that at least one comment matches.
    pub(in crate::eval) found: usize,
    /// Comments that match no expected issue.
    pub(in crate::eval) unmatched: usize,
}

impl CommentCounts {
    fn new(labels: &Labels, run: &CaseRun, rule: Rule) -> Self {
        let pairs = matching_pairs(labels, run, rule);
        let found: BTreeSet<usize> = pairs.iter().map(|(issue, _)| *issue).collect();
        let matched: BTreeSet<usize> = pairs.iter().map(|(_, report)| *report).collect();
        Self { found: found.len(), unmatched: run.reported.len() - matched.len() }
    }
}

/// Identity of a report across runs: the tool's own id, or else place and category. Words do not
/// count, because a model seldom repeats them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::eval) enum ReportIdentity<'a> {
    Key(&'a str),
    Place(&'a str, Side, u32, Option<Category>),
}

impl GradedCase<'_> {
    pub(in crate::eval) fn is_twin(&self) -> bool {
        self.case.labels.twin_of.is_some()
    }

    /// Whether nothing is expected.
    pub(in crate::eval) fn is_clean(&self) -> bool {
        self.case.labels.expected.is_empty()
    }
}

impl GradedRun<'_> {
    /// Whether the run looked at the change. A failed run did not.
    pub(in crate::eval) fn is_reviewed(&self) -> bool {
        match self.run.ending {
            Ending::Reviewed | Ending::Incomplete(_) => true,
            Ending::Failed(_) | Ending::NotRun(_) => false,
        }
    }
}

impl<'a> ReportIdentity<'a> {
    pub(in crate::eval) fn new(reported: &'a Reported) -> Self {
        let span: &Span = &reported.span;
        match reported.key.as_str() {
            "" => Self::Place(span.file(), span.side(), span.line_start(), reported.category),
            key => Self::Key(key),
        }
    }
}

/// The cases with the runs that count, matched by a rule.
pub(in crate::eval) fn grade_cases(evaluation: &Evaluation, rule: Rule) -> Vec<GradedCase<'_>> {
    let cases = evaluation.cases.iter().map(|case| {
        let runs = case.runs.iter().enumerate().filter_map(|(repeat, run)| {
            let (reported, classes, comments) = match run.ending {
                Ending::Reviewed | Ending::Incomplete(_) => (
                    run.reported.as_slice(),
                    classify_reports(&case.labels, run, rule),
                    CommentCounts::new(&case.labels, run, rule),
                ),
                Ending::Failed(_) => {
                    let missed = (0..case.labels.expected.len()).collect();
                    let classes = ReportClasses { missed, ..ReportClasses::default() };
                    (Default::default(), classes, CommentCounts::default())
                }
                Ending::NotRun(_) => return None,
            };
            Some(GradedRun { repeat, run, reported, classes, comments })
        });
        GradedCase { case, runs: runs.collect() }
    });
    cases.collect()
}
