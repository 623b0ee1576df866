//! How many findings a review has at each step, from the raised findings to the published comments,
//! and how many expected issues they cover.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::bootstrap::count;
use super::case::{Labels, Span};
use super::evaluation::{CaseRun, REPORTS_MAX, Reported};
use super::matching::{Rule, matching_pairs};
use crate::finding::Member;
use crate::merge::MergeResult;
use crate::place::Location;
use crate::report::{DroppedFinding, Fate, Issue};

/// A step of a review before its comments are published.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FunnelStep {
    /// Reported by a reviewer.
    Raised,
    /// In the required format, and kept by the rules of its reviewer.
    Shape,
    /// The quoted code exists.
    Evidence,
    /// Merged into an issue of the change.
    Merged,
    /// Kept by the editor and by validation.
    Edited,
}

/// A finding or issue, with the steps that it reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunnelReport {
    /// The finding or issue.
    #[serde(flatten)]
    pub reported: Reported,
    /// Steps at which it is present in this form.
    pub steps: Vec<FunnelStep>,
}

/// A finding of a reviewer, with the last step that it reached on its own.
#[derive(Debug, Clone)]
pub struct RaisedFinding {
    /// The finding.
    pub finding: DroppedFinding,
    /// The place that it cites, if crh can locate it.
    pub location: Option<Location>,
    /// `Raised`, `Shape` or `Evidence`.
    pub last_step: FunnelStep,
}

/// Findings and issues of one review before publication. The published comments are the reports of
/// the run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Funnel {
    /// Findings and issues.
    pub reports: Vec<FunnelReport>,
    /// Raised findings that cannot be read, or that come after the first `REPORTS_MAX`.
    #[serde(default)]
    pub unreadable: u32,
    /// Matches found by the judge, as (expected, report); absent without a judge. Reports that
    /// equal a published comment are not judged twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<Vec<(usize, usize)>>,
}

/// Numbers of one step, over all runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FunnelCounts {
    /// The step; absent for the published comments.
    pub step: Option<FunnelStep>,
    /// Findings, issues or comments at this step.
    pub reports: u32,
    /// Expected issues that at least one of them matches.
    pub found: u32,
    /// Expected issues.
    pub expected: u32,
}

impl FunnelStep {
    /// All steps, in the order of a review.
    pub const ALL: [Self; 5] =
        [Self::Raised, Self::Shape, Self::Evidence, Self::Merged, Self::Edited];
}

impl Funnel {
    /// The funnel of a review. `merged` are the issues before the editor and validation, `edited`
    /// those after them.
    pub fn new(raised: &[RaisedFinding], merged: &[Issue], edited: &[Issue]) -> Self {
        let mut funnel = Self::default();
        for raised_finding in raised {
            funnel.add_finding(raised_finding.reported(), raised_finding.last_step);
        }
        funnel.add_issues(merged, FunnelStep::Merged);
        funnel.add_issues(edited, FunnelStep::Edited);
        funnel
    }

    /// Adds a raised finding that reached the step `last`.
    fn add_finding(&mut self, reported: Option<Reported>, last: FunnelStep) {
        match reported {
            Some(reported) if self.reports.len() < REPORTS_MAX => {
                let steps = FunnelStep::ALL.into_iter().filter(|step| *step <= last).collect();
                self.reports.push(FunnelReport { reported, steps });
            }
            Some(_) | None => self.unreadable = self.unreadable.saturating_add(1),
        }
    }

    fn add_issues(&mut self, issues: &[Issue], step: FunnelStep) {
        for reported in issues.iter().filter_map(Reported::from_issue) {
            let reported = reported.without_details();
            let is_same = |it: &FunnelReport| it.reported == reported && !it.steps.contains(&step);
            match self.reports.iter().position(is_same) {
                Some(known) => self.reports[known].steps.push(step),
                None if self.reports.len() < REPORTS_MAX => {
                    self.reports.push(FunnelReport { reported, steps: vec![step] });
                }
                None => {}
            }
        }
    }

    /// Indices of the reports that the judge has to judge, because they equal no published comment.
    pub fn unpublished(&self, published: &[Reported]) -> Vec<usize> {
        let is_open =
            |index: &usize| published_as(&self.reports[*index].reported, published).is_none();
        (0..self.reports.len()).filter(is_open).collect()
    }

    /// Reports and found issues at each step, without the published comments.
    pub(super) fn counts(&self, labels: &Labels, run: &CaseRun, rule: Rule) -> Vec<(u32, u32)> {
        let pairs = self.pairs(labels, run, rule);
        let count_step = |step: FunnelStep| {
            let is_there = |index: usize| self.reports[index].steps.contains(&step);
            let reports = (0..self.reports.len()).filter(|index| is_there(*index)).count();
            let found: BTreeSet<usize> =
                pairs.iter().filter(|(_, report)| is_there(*report)).map(|pair| pair.0).collect();
            let unreadable = if step == FunnelStep::Raised { self.unreadable } else { 0 };
            (count(reports).saturating_add(unreadable), count(found.len()))
        };
        FunnelStep::ALL.map(count_step).to_vec()
    }

    /// Pairs of an expected issue and a report that matches it.
    fn pairs(&self, labels: &Labels, run: &CaseRun, rule: Rule) -> BTreeSet<(usize, usize)> {
        let reported: Vec<Reported> = self.reports.iter().map(|it| it.reported.clone()).collect();
        let judged = self.judged.as_ref().map(|own| {
            let mut pairs = own.clone();
            for (index, report) in reported.iter().enumerate() {
                let Some(comment) = published_as(report, &run.reported) else { continue };
                let published = run.judged.iter().flatten();
                let found = published.filter(|(_, report)| *report == comment);
                pairs.extend(found.map(|(expected, _)| (*expected, index)));
            }
            pairs
        });
        let all = CaseRun { judged, ..CaseRun::new(run.ending.clone(), reported) };
        matching_pairs(labels, &all, rule)
    }
}

/// The published comment with the same place and words.
fn published_as(report: &Reported, published: &[Reported]) -> Option<usize> {
    published.iter().position(|comment| {
        comment.span == report.span && comment.title == report.title && comment.text == report.text
    })
}

impl RaisedFinding {
    /// A finding that went into the merge.
    pub fn from_member(member: &Member, location: Option<Location>, merged: &MergeResult) -> Self {
        let is_same = |dropped: &&DroppedFinding| dropped.member.as_ref() == Some(member);
        let fate = merged.dropped.iter().find(is_same).map_or(Fate::Kept, |dropped| dropped.fate);
        let last_step = match fate {
            Fate::Malformed => FunnelStep::Raised,
            Fate::Unsupported | Fate::ProtectedPath => FunnelStep::Shape,
            _ => FunnelStep::Evidence,
        };
        let finding = DroppedFinding::new(member.clone(), fate, String::new());
        Self { finding, location, last_step }
    }

    /// A finding that was dropped before the merge.
    pub fn from_dropped(finding: &DroppedFinding, location: Option<Location>) -> Self {
        let last_step = match finding.fate {
            Fate::Malformed => FunnelStep::Raised,
            _ => FunnelStep::Shape,
        };
        Self { finding: finding.clone(), location, last_step }
    }

    /// The finding as the reviewer wrote it. Reads what it can from a finding in the wrong format.
    fn reported(&self) -> Option<Reported> {
        let member = self.finding.member.as_ref();
        let raw = match (member, &self.finding.raw) {
            (Some(member), _) => &serde_json::to_value(&member.finding).ok()?,
            (None, raw) => raw.as_ref()?,
        };
        let text = |key: &str| raw[key].as_str().unwrap_or_default().to_owned();
        let line = |key: &str| raw[key].as_u64().and_then(|line| u32::try_from(line).ok());
        let span = match &self.location {
            Some(place) => Span::new(&place.file, place.line_start, place.line_end, place.side)?,
            None => {
                let first = line("line_start")?;
                let last = line("line_end").map_or(first, |last| last.max(first));
                let side = serde_json::from_value(raw["side"].clone()).unwrap_or_default();
                Span::new(raw["file"].as_str()?, first, last, side)?
            }
        };
        Some(Reported {
            text: text("why_it_matters"),
            category: serde_json::from_value(raw["category"].clone()).ok(),
            severity: serde_json::from_value(raw["severity"].clone()).ok(),
            confidence: serde_json::from_value(raw["confidence"].clone()).ok(),
            reviewers: vec![self.finding.reviewer.clone()],
            ..Reported::new(span, text("title"))
        })
    }
}

impl Reported {
    /// The report without the fields that the funnel does not need.
    fn without_details(self) -> Self {
        Self { evidence: String::new(), key: String::new(), ..self }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn member(title: &str) -> Member {
        let finding = json!({
            "title": title, "severity": "P1", "category": "bug", "file": "a.rs", "line_start": 3,
            "confidence": 0.75, "evidence": [{ "snippet": "let total = 1;" }],
            "why_it_matters": "It is wrong.", "autofix_class": "manual", "owner": "human",
            "requires_verification": false, "pre_existing": false,
        });
        Member::new("correctness", serde_json::from_value(finding).unwrap())
    }

    fn malformed(raw: serde_json::Value) -> DroppedFinding {
        DroppedFinding {
            fate: Fate::Malformed,
            reason: "a title of 101 letters".to_owned(),
            cause: None,
            into: None,
            open: None,
            validation: None,
            reviewer: "correctness".to_owned(),
            member: None,
            raw: Some(raw),
        }
    }

    #[test]
    fn finding_leaves_the_funnel_at_its_fate() {
        let (kept, unsupported, low) = (member("kept"), member("unsupported"), member("low"));
        let dropped =
            |member: &Member, fate| DroppedFinding::new(member.clone(), fate, "for a reason");
        let merged = MergeResult {
            dropped: vec![dropped(&unsupported, Fate::Unsupported), dropped(&low, Fate::BelowGate)],
            ..MergeResult::default()
        };
        let mut raised: Vec<RaisedFinding> = [&kept, &unsupported, &low]
            .map(|member| RaisedFinding::from_member(member, None, &merged))
            .to_vec();
        let long = json!({ "title": "long", "file": "a.rs", "line_start": 9, "mood": "bad" });
        raised.push(RaisedFinding::from_dropped(&malformed(long), None));
        raised.push(RaisedFinding::from_dropped(&malformed(json!("no object")), None));
        raised.push(RaisedFinding::from_dropped(&dropped(&member("nit"), Fate::Nit), None));
        let funnel = Funnel::new(&raised, &[], &[]);
        let last = |report: &FunnelReport| (report.reported.title.clone(), report.steps.len());
        let last: Vec<_> = funnel.reports.iter().map(last).collect();
        let owned = |(title, steps): (&str, usize)| (title.to_owned(), steps);
        let expected =
            [("kept", 3), ("unsupported", 2), ("low", 3), ("long", 1), ("nit", 2)].map(owned);
        assert_eq!((last.as_slice(), funnel.unreadable), (&expected[..], 1));
    }
}
