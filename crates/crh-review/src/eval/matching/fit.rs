//! Whether one report fits one expected issue, and how well.
//!
//! Lines of the two sides count in different files, and which old line is near which new one is not known here. So a place
//! fits on its own side only: where a removed line is the trouble and a reader may as well point at what is left, the labels name a
//! span on each side. A renamed file has its new path on both sides, as everywhere in a report. By words, only the file has to be the same.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use super::Rule;
use super::words::{Description, Words};
use crate::eval::case::{Expected, KnownBad, Span};
use crate::eval::evaluation::{CaseRun, Reported};

/// How far a report may be from the lines of an issue: the agent specification's number.
const LINES_APART: u32 = 3;
/// Beyond so many lines it makes no difference how far away something is.
const FAR: u32 = 999;

/// An expected issue with its words, which are only looked for if they are asked for.
pub(super) struct Issue<'a> {
    expected: &'a Expected,
    description: OnceCell<Description>,
}

/// A report with its words, and where it stands in its run.
pub(super) struct Report<'a> {
    pub(super) position: usize,
    reported: &'a Reported,
    words: OnceCell<Words>,
}

/// The rule, and what the judge of the run said.
#[derive(Debug, Clone)]
pub(super) struct Fit {
    rule: Rule,
    judged: Option<BTreeSet<(usize, usize)>>,
}

/// How far a place is from the nearest of some others. Smaller is nearer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Distance {
    /// Lines from the end of the one to the start of the other; 0 if they overlap.
    apart: u32,
    /// By how many lines their beginnings and their ends differ.
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

    /// All reports of a run in an order that does not depend on the order they came in, as far as they differ.
    pub(super) fn all(run: &'a CaseRun) -> Vec<Self> {
        let mut reports: Vec<_> =
            run.reported.iter().enumerate().map(|(at, reported)| Self::new(at, reported)).collect();
        reports.sort_by(|left, right| left.order().cmp(&right.order()));
        reports
    }

    /// Everything a number depends on.
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

    /// How badly a report fits an issue, the `at`th of its case; none if it does not.
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

    /// Whether a report on the twin is one of this issue. What a judge said of a twin is about the issues of its case.
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

    /// Which of the findings that are known to be wrong a report is, the nearest first. Under the rules that go by place this is
    /// the place, so that a report there counts as known to be wrong even if it says something else; under those that go by words it
    /// is the words.
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

    /// What makes one of two fitting reports the better one. By place: that it is nearer, then that it has the category, then that it
    /// has the same lines, then that it has the same words. By words: that it has more of them, then that it is nearer. The
    /// severity is no part of it, since it is judged afterwards.
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

/// How far a place is from the nearest of `spans`; none if none is in the same file on the same side.
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
