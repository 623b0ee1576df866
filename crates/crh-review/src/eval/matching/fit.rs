//! Whether a report matches an expected issue, and how well.
//!
//! Old and new lines are not compared, so a place matches only on its own side. Labels name a span
//! on each side where both are reasonable. A renamed file has its new path on both sides. By words,
//! only the file has to match.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use super::Rule;
use super::words::{Description, Words};
use crate::eval::case::{Expected, KnownBad, Span};
use crate::eval::evaluation::{CaseRun, Reported};

/// Maximum distance of a report from an issue, from the agent specification.
const LINES_APART: u32 = 3;
/// Larger distances count as this many lines.
const FAR: u32 = 999;

/// An expected issue, with words if the rule needs them.
pub(super) struct Issue<'a> {
    expected: &'a Expected,
    description: OnceCell<Description>,
}

/// A report, with words and its index in the run.
pub(super) struct Report<'a> {
    pub(super) position: usize,
    reported: &'a Reported,
    words: OnceCell<Words>,
}

/// The rule and the answers of the judge.
#[derive(Debug, Clone)]
pub(super) struct Fit {
    rule: Rule,
    judged: Option<BTreeSet<(usize, usize)>>,
}

/// Distance of a place to the nearest of some others. Smaller is nearer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Distance {
    /// Lines between the two; 0 if they overlap.
    apart: u32,
    /// Difference of their starts and ends.
    differ: u32,
}

impl<'a> Issue<'a> {
    pub(super) fn new(expected: &'a Expected) -> Self {
        Self { expected, description: OnceCell::new() }
    }

    fn description(&self) -> &Description {
        let Expected { description, keywords, .. } = self.expected;
        self.description.get_or_init(|| Description::new(description, keywords))
    }

    fn text_fits(&self, report: &Report<'_>) -> bool {
        self.description().is_of(report.words())
    }
}

impl<'a> Report<'a> {
    pub(super) fn new(position: usize, reported: &'a Reported) -> Self {
        Self { position, reported, words: OnceCell::new() }
    }

    /// The reports of a run in an order that does not depend on the input order.
    pub(super) fn all(run: &'a CaseRun) -> Vec<Self> {
        let mut reports: Vec<_> =
            run.reported.iter().enumerate().map(|(at, reported)| Self::new(at, reported)).collect();
        reports.sort_by(|left, right| left.order().cmp(&right.order()));
        reports
    }

    /// Everything that a score depends on.
    fn order(&self) -> impl Ord + use<'a> {
        let Reported {
            span,
            title,
            text,
            evidence: _,
            category,
            severity,
            confidence,
            key,
            reviewers: _,
        } = self.reported;
        (span, category, title, text, severity, confidence, key)
    }

    fn words(&self) -> &Words {
        self.words
            .get_or_init(|| Words::of([self.reported.title.as_str(), self.reported.text.as_str()]))
    }
}

impl Fit {
    pub(super) fn new(rule: Rule, run: &CaseRun) -> Self {
        Self { rule, judged: run.judged.as_ref().map(|pairs| pairs.iter().copied().collect()) }
    }

    /// Cost of matching a report with the issue at index `at`; `None` if they do not match.
    pub(super) fn cost(&self, at: usize, issue: &Issue<'_>, report: &Report<'_>) -> Option<u32> {
        let distance = distance(&issue.expected.spans, &report.reported.span);
        let is_near = distance.is_some_and(Distance::is_near);
        let in_file = || in_file_of(&issue.expected.spans, &report.reported.span);
        let fits = match self.rule {
            Rule::Category | Rule::Family | Rule::FileLine => {
                is_near && self.is_of_kind(issue, report)
            }
            Rule::Text => in_file() && issue.text_fits(report),
            Rule::Judge => match &self.judged {
                Some(pairs) => pairs.contains(&(at, report.position)),
                None => in_file() && issue.text_fits(report),
            },
        };
        fits.then(|| self.closeness(distance, issue, report))
    }

    /// Whether a report on the twin is about this issue. Judge answers for a twin refer to the
    /// issues of its case.
    pub(super) fn is_on_twin(&self, at: usize, issue: &Issue<'_>, report: &Report<'_>) -> bool {
        let Expected { spans, on_twin, .. } = issue.expected;
        let span = &report.reported.span;
        let in_file = || in_file_of(spans, span) || in_file_of(on_twin, span);
        match self.rule {
            Rule::Category | Rule::Family | Rule::FileLine => {
                distance(on_twin, span).is_some_and(Distance::is_near)
                    && self.is_of_kind(issue, report)
            }
            Rule::Text => in_file() && issue.text_fits(report),
            Rule::Judge => match &self.judged {
                Some(pairs) => pairs.contains(&(at, report.position)),
                None => in_file() && issue.text_fits(report),
            },
        }
    }

    /// The nearest known-bad label that a report matches. Rules by place compare the place, so any
    /// report there counts; rules by words compare the words.
    pub(super) fn known_bad(&self, known_bad: &[KnownBad], report: &Report<'_>) -> Option<usize> {
        let span = &report.reported.span;
        let fitting = known_bad.iter().enumerate().filter_map(|(at, bad)| {
            let spans = std::slice::from_ref(&bad.span);
            let distance = distance(spans, span);
            let fits = match self.rule {
                Rule::Category | Rule::Family | Rule::FileLine => {
                    distance.is_some_and(Distance::is_near)
                }
                Rule::Text | Rule::Judge => {
                    in_file_of(spans, span)
                        && Description::new(&bad.description, &[]).is_of(report.words())
                }
            };
            fits.then_some((distance.unwrap_or(Distance { apart: FAR, differ: FAR }), at))
        });
        fitting.min().map(|(_, at)| at)
    }

    fn is_of_kind(&self, issue: &Issue<'_>, report: &Report<'_>) -> bool {
        let expected = issue.expected.category;
        match self.rule {
            Rule::Category => report.reported.category == Some(expected),
            Rule::Family => {
                report.reported.category.is_some_and(|said| said.family() == expected.family())
            }
            Rule::FileLine | Rule::Text | Rule::Judge => true,
        }
    }

    /// Ranks two matching reports. By place: distance, category, same lines, same words. By words:
    /// number of words, then distance. The severity does not count, because it is scored later.
    fn closeness(&self, distance: Option<Distance>, issue: &Issue<'_>, report: &Report<'_>) -> u32 {
        let other_words = 1000 - issue.description().likeness(report.words());
        let is_other_kind = u32::from(report.reported.category != Some(issue.expected.category));
        let Distance { apart, differ } = distance.unwrap_or(Distance { apart: FAR, differ: FAR });
        match self.rule {
            Rule::Category | Rule::Family | Rule::FileLine => {
                ((apart * 2 + is_other_kind) * (FAR + 1) + differ.min(FAR)) * 1001 + other_words
            }
            Rule::Text | Rule::Judge => other_words * (FAR + 1) + apart.min(FAR),
        }
    }
}

impl Distance {
    fn is_near(self) -> bool {
        self.apart <= LINES_APART
    }
}

/// Distance to the nearest of `spans`; `None` if none is in the same file and side.
fn distance(spans: &[Span], place: &Span) -> Option<Distance> {
    let same_file =
        spans.iter().filter(|span| span.file() == place.file() && span.side() == place.side());
    let distances = same_file.map(|span| Distance {
        apart: span
            .line_start()
            .saturating_sub(place.line_end())
            .max(place.line_start().saturating_sub(span.line_end())),
        differ: span
            .line_start()
            .abs_diff(place.line_start())
            .saturating_add(span.line_end().abs_diff(place.line_end())),
    });
    distances.min()
}

fn in_file_of(spans: &[Span], place: &Span) -> bool {
    spans.iter().any(|span| span.file() == place.file())
}
