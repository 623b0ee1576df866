//! Whether a report matches an expected issue, and how well.
//!
//! Line numbers of the old and of the new side are not compared, so a place matches only on its own
//! side. If a report may be on either side, the label names a span on each. A renamed file has its
//! new path on both sides. Under a rule by words, only the file has to match.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use super::Rule;
use super::words::{Description, WordSet};
use crate::eval::case::{Expected, KnownBad, Span};
use crate::eval::evaluation::{CaseRun, Reported};

/// Maximum number of lines between a report and an issue.
pub(in crate::eval) const MAX_LINE_GAP: u32 = 3;
/// Larger distances count as this many lines.
const MAX_COUNTED_LINES: u32 = 999;

/// An expected issue, with words if the rule needs them.
pub(super) struct IssueToMatch<'a> {
    expected: &'a Expected,
    description: OnceCell<Description>,
}

/// A report, with words and its index in the run.
pub(super) struct ReportToMatch<'a> {
    pub(super) position: usize,
    reported: &'a Reported,
    words: OnceCell<WordSet>,
}

/// The rule and the answers of the judge.
#[derive(Debug, Clone)]
pub(super) struct Matcher {
    rule: Rule,
    judged_pairs: Option<BTreeSet<(usize, usize)>>,
}

/// Distance of a report to the nearest place of an issue. Smaller is nearer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Distance {
    /// Lines between report and place; 0 if they overlap.
    line_gap: u32,
    /// Difference of the first lines plus difference of the last lines.
    boundary_difference: u32,
}

/// Distance of a report without a place in the file and on the side of the issue.
const FAR_AWAY: Distance =
    Distance { line_gap: MAX_COUNTED_LINES, boundary_difference: MAX_COUNTED_LINES };

impl<'a> IssueToMatch<'a> {
    pub(super) fn new(expected: &'a Expected) -> Self {
        Self { expected, description: OnceCell::new() }
    }

    fn description(&self) -> &Description {
        let Expected { description, keywords, .. } = self.expected;
        self.description.get_or_init(|| Description::new(description, keywords))
    }

    fn text_matches(&self, report: &ReportToMatch<'_>) -> bool {
        self.description().matches(report.words())
    }
}

impl<'a> ReportToMatch<'a> {
    pub(super) fn new(position: usize, reported: &'a Reported) -> Self {
        Self { position, reported, words: OnceCell::new() }
    }

    /// The reports of a run in an order that does not depend on the input order.
    pub(super) fn all(run: &'a CaseRun) -> Vec<Self> {
        let mut reports: Vec<_> = run
            .reported
            .iter()
            .enumerate()
            .map(|(index, reported)| Self::new(index, reported))
            .collect();
        reports.sort_by(|left, right| left.sort_key().cmp(&right.sort_key()));
        reports
    }

    /// Sort key: everything that a score depends on.
    fn sort_key(&self) -> impl Ord + use<'a> {
        let Reported {
            span,
            also,
            title,
            text,
            evidence: _,
            category,
            severity,
            confidence,
            key,
            reviewers,
        } = self.reported;
        (span, also, category, title, text, severity, confidence, key, reviewers)
    }

    fn words(&self) -> &WordSet {
        self.words.get_or_init(|| {
            WordSet::from_texts([self.reported.title.as_str(), self.reported.text.as_str()])
        })
    }
}

impl Matcher {
    pub(super) fn new(rule: Rule, run: &CaseRun) -> Self {
        Self {
            rule,
            judged_pairs: run.judged.as_ref().map(|pairs| pairs.iter().copied().collect()),
        }
    }

    /// Cost of matching a report with an issue; `None` if they do not match.
    pub(super) fn cost(
        &self,
        issue_index: usize,
        issue: &IssueToMatch<'_>,
        report: &ReportToMatch<'_>,
    ) -> Option<u32> {
        let spans = &issue.expected.spans;
        let distance = distance(spans, report.reported);
        let in_file = || spans.is_empty() || is_in_same_file(spans, report.reported);
        let is_match = self.is_match(issue_index, issue, report, distance, in_file);
        is_match.then(|| self.match_cost(distance.unwrap_or(FAR_AWAY), issue, report))
    }

    /// Whether a report on the twin is about this issue. Judge answers for a twin refer to the
    /// issues of its case.
    pub(super) fn is_reported_on_twin(
        &self,
        issue_index: usize,
        issue: &IssueToMatch<'_>,
        report: &ReportToMatch<'_>,
    ) -> bool {
        let Expected { spans, on_twin, .. } = issue.expected;
        let reported = report.reported;
        let in_file = || is_in_same_file(spans, reported) || is_in_same_file(on_twin, reported);
        self.is_match(issue_index, issue, report, distance(on_twin, reported), in_file)
    }

    fn is_match(
        &self,
        issue_index: usize,
        issue: &IssueToMatch<'_>,
        report: &ReportToMatch<'_>,
        distance: Option<Distance>,
        in_file: impl Fn() -> bool,
    ) -> bool {
        match (self.rule, &self.judged_pairs) {
            (Rule::Category | Rule::Family | Rule::FileLine, _) => {
                distance.is_some_and(Distance::is_near) && self.category_matches(issue, report)
            }
            (Rule::Judge, Some(pairs)) => pairs.contains(&(issue_index, report.position)),
            (Rule::Text | Rule::Judge, _) => in_file() && issue.text_matches(report),
        }
    }

    /// The nearest known-bad label that a report matches. Rules by place compare the place, so any
    /// report there counts; rules by words compare the words.
    pub(super) fn known_bad(
        &self,
        known_bad: &[KnownBad],
        report: &ReportToMatch<'_>,
    ) -> Option<usize> {
        let matching_labels = known_bad.iter().enumerate().filter_map(|(index, label)| {
            let spans = std::slice::from_ref(&label.span);
            let distance = distance(spans, report.reported);
            let is_match = match self.rule {
                Rule::Category | Rule::Family | Rule::FileLine => {
                    distance.is_some_and(Distance::is_near)
                }
                Rule::Text | Rule::Judge => {
                    is_in_same_file(spans, report.reported)
                        && Description::new(&label.description, &[]).matches(report.words())
                }
            };
            is_match.then_some((distance.unwrap_or(FAR_AWAY), index))
        });
        matching_labels.min().map(|(_, index)| index)
    }

    fn category_matches(&self, issue: &IssueToMatch<'_>, report: &ReportToMatch<'_>) -> bool {
        let Some(expected) = issue.expected.category else { return true };
        match self.rule {
            Rule::Category => report.reported.category == Some(expected),
            Rule::Family => report
                .reported
                .category
                .is_some_and(|category| category.family() == expected.family()),
            Rule::FileLine | Rule::Text | Rule::Judge => true,
        }
    }

    /// Cost of a match, lower for a better one. Rules by place compare distance, category, first
    /// and last lines, then words. Rules by words compare words, then distance. The severity does
    /// not count, because it is scored later.
    fn match_cost(
        &self,
        Distance { line_gap, boundary_difference }: Distance,
        issue: &IssueToMatch<'_>,
        report: &ReportToMatch<'_>,
    ) -> u32 {
        let word_difference = 1000 - issue.description().similarity(report.words());
        let category_difference = u32::from(report.reported.category != issue.expected.category);
        match self.rule {
            Rule::Category | Rule::Family | Rule::FileLine => {
                ((line_gap * 2 + category_difference) * (MAX_COUNTED_LINES + 1)
                    + boundary_difference.min(MAX_COUNTED_LINES))
                    * 1001
                    + word_difference
            }
            Rule::Text | Rule::Judge => {
                word_difference * (MAX_COUNTED_LINES + 1) + line_gap.min(MAX_COUNTED_LINES)
            }
        }
    }
}

impl Distance {
    fn is_near(self) -> bool {
        self.line_gap <= MAX_LINE_GAP
    }
}

/// Distance of the nearest place of a report to the nearest of `spans`; `None` if none is in the
/// same file and side.
fn distance(spans: &[Span], reported: &Reported) -> Option<Distance> {
    reported.places().filter_map(|place| place_distance(spans, place)).min()
}

fn place_distance(spans: &[Span], place: &Span) -> Option<Distance> {
    let same_file =
        spans.iter().filter(|span| span.file() == place.file() && span.side() == place.side());
    let distances = same_file.map(|span| Distance {
        line_gap: span
            .line_start()
            .saturating_sub(place.line_end())
            .max(place.line_start().saturating_sub(span.line_end())),
        boundary_difference: span
            .line_start()
            .abs_diff(place.line_start())
            .saturating_add(span.line_end().abs_diff(place.line_end())),
    });
    distances.min()
}

fn is_in_same_file(spans: &[Span], reported: &Reported) -> bool {
    let mut places = reported.places();
    places.any(|place| spans.iter().any(|span| span.file() == place.file()))
}
