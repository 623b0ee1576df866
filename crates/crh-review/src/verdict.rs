//! The verdict: a table, never a model's choice.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::Severity;
use crate::report::{
    CoverageState, Fate, FileCoverage, Issue, PlanSource, Queue, Report, Requirement,
    RequirementState, Status, Strategy,
};
use crate::route::queue;

/// What a review says about merging.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Verdict {
    /// A P0 is open, or something that was promised is missing.
    #[serde(rename = "Not ready")]
    NotReady,
    /// Something actionable is open.
    #[serde(rename = "Ready with fixes")]
    ReadyWithFixes,
    /// Nothing is open, but not everything was looked at.
    #[default]
    Incomplete,
    /// Nothing is open and everything was looked at.
    #[serde(rename = "Ready to merge")]
    ReadyToMerge,
    /// Only checks were asked for, and they found nothing.
    #[serde(rename = "Checks passed")]
    ChecksPassed,
}

/// What the user asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// A review.
    Review,
    /// Only what needs no model (`crh check`, `--strategy static`).
    Checks,
}

/// The verdict on a report, and why. It reads the issues before any of them is cut off by a cap.
pub fn verdict(report: &Report, asked: Asked) -> (Verdict, String) {
    let shown = report.issues.iter().filter(|issue| !report.is_fixed(issue.number));
    let open: Vec<Open> = shown.map(|issue| (issue.severity, issue.queue)).collect();
    verdict_on(report, &open, asked)
}

/// The same for a report that is whole: what a cap or `--min-severity` hides is open, too.
pub(crate) fn verdict_with_hidden(report: &Report, asked: Asked) -> (Verdict, String) {
    let shown = report.issues.iter().filter(|issue| !report.is_fixed(issue.number));
    let shown = shown.map(|issue| (issue.severity, issue.queue));
    let hidden = report.withheld().filter_map(|dropped| {
        let finding = &dropped.member.as_ref()?.finding;
        Some((finding.severity, queue(finding.autofix_class, finding.owner)))
    });
    let open: Vec<Open> = shown.chain(hidden).collect();
    verdict_on(report, &open, asked)
}

/// Something that is open: how bad it is, and where it waits.
type Open = (Severity, Queue);

fn verdict_on(report: &Report, open: &[Open], asked: Asked) -> (Verdict, String) {
    let blockers = open.iter().filter(|(severity, _)| *severity == Severity::P0).count();
    let actionable = open.iter().filter(|(severity, queue)| acts(*severity, *queue)).count();
    let unmet = unmet_requirements(report);
    let doubts = doubts(report, asked);
    let (verdict, reason) = if blockers > 0 {
        (
            Verdict::NotReady,
            format!("{} must be fixed before the merge", count(blockers, "P0 issue")),
        )
    } else if !unmet.is_empty() {
        (
            Verdict::NotReady,
            format!("the plan asks for {}, which this change does not have", unmet.join(", ")),
        )
    } else if actionable > 0 {
        (Verdict::ReadyWithFixes, format!("{} to fix", count(actionable, "issue")))
    } else {
        return nothing_actionable(report, open, asked, &doubts);
    };
    match doubts.is_empty() {
        true => (verdict, reason),
        false => (verdict, format!("{reason}; the review is incomplete: {}", doubts.join(", "))),
    }
}

/// Whether a review may have missed something: not everything that was asked for was looked at.
pub fn is_incomplete(report: &Report, asked: Asked) -> bool {
    !doubts(report, asked).is_empty()
}

/// How many findings somebody has silenced.
fn silenced(report: &Report) -> usize {
    report.suppressed.iter().filter(|it| it.fate == Fate::Suppressed).count()
}

fn nothing_actionable(
    report: &Report,
    open: &[Open],
    asked: Asked,
    doubts: &[String],
) -> (Verdict, String) {
    let found = match (!open.is_empty(), silenced(report)) {
        (false, 0) => "nothing was found".to_owned(),
        (false, some) => format!("nothing was found but {}", count(some, "silenced finding")),
        (true, 0) => "nothing actionable was found".to_owned(),
        (true, some) => {
            format!("nothing actionable was found beside {}", count(some, "silenced finding"))
        }
    };
    match (asked, doubts.is_empty()) {
        (Asked::Checks, true) => (Verdict::ChecksPassed, found),
        // What nobody has looked at has passed nothing.
        (Asked::Checks, false) if nothing_is_in_scope(report) || has_lost_files(report) => {
            (Verdict::Incomplete, doubts.join(", "))
        }
        (Asked::Checks, false) => {
            (Verdict::ChecksPassed, format!("{found}; {}", doubts.join(", ")))
        }
        (Asked::Review, true) => (Verdict::ReadyToMerge, "nothing actionable was found".to_owned()),
        (Asked::Review, false) => (Verdict::Incomplete, doubts.join(", ")),
    }
}

/// Whether an open issue keeps a change from being merged as it is.
pub(crate) fn is_actionable(issue: &Issue) -> bool {
    acts(issue.severity, issue.queue)
}

fn acts(severity: Severity, queue: Queue) -> bool {
    match severity {
        Severity::P0 | Severity::P1 => true,
        Severity::P2 => matches!(queue, Queue::Fixer | Queue::Residual),
        Severity::P3 => false,
    }
}

fn unmet_requirements(report: &Report) -> Vec<String> {
    let explicit = report.plan.iter().filter(|plan| plan.plan_source == PlanSource::Explicit);
    explicit
        .flat_map(|plan| &plan.requirements)
        .filter(|requirement| !requirement.waived)
        .filter(|requirement| match requirement.state {
            RequirementState::NotAddressed | RequirementState::PartiallyAddressed => true,
            RequirementState::Met | RequirementState::NotJudged => false,
        })
        .map(|requirement| requirement.id.clone())
        .collect()
}

/// What of an explicit plan nobody has judged, in words; none if all was. A guessed plan is no contract.
fn unjudged_requirements(report: &Report) -> Option<String> {
    let plan = report.plan.as_ref().filter(|plan| plan.plan_source == PlanSource::Explicit)?;
    let open: Vec<&Requirement> = plan.requirements.iter().filter(|it| !it.waived).collect();
    let not_judged = |it: &&&Requirement| it.state == RequirementState::NotJudged;
    match open.iter().filter(not_judged).count() {
        0 => None,
        all if all == open.len() => Some("the plan's requirements were not judged".to_owned()),
        some => {
            Some(format!("{some} of {} of the plan not judged", count(open.len(), "requirement")))
        }
    }
}

/// Whether there are files and none of them was for review.
fn nothing_is_in_scope(report: &Report) -> bool {
    let is_out = |file: &FileCoverage| file.state == CoverageState::OutOfScope;
    !report.coverage.is_empty() && report.coverage.iter().all(is_out)
}

/// Whether a change is said to lead somewhere, and no file of it is known.
fn has_lost_files(report: &Report) -> bool {
    report.coverage.is_empty() && report.change.base_sha != report.change.head_sha
}

/// Why what was asked for may not have been done.
fn doubts(report: &Report, asked: Asked) -> Vec<String> {
    let mut doubts = coverage_doubts(report);
    match asked {
        Asked::Review if report.strategy == Strategy::Static => {
            doubts.push("only checks that need no model ran".to_owned());
        }
        // Findings that are merged come without the files that were looked at; checks know theirs.
        Asked::Checks if has_lost_files(report) => {
            doubts.push("no file of the change was reviewed".to_owned());
        }
        Asked::Review | Asked::Checks => {}
    }
    doubts
}

/// Why a review may have missed something.
fn coverage_doubts(report: &Report) -> Vec<String> {
    let mut doubts = Vec::new();
    let failed: Vec<_> = report.failed_reviewers().map(|row| row.name.as_str()).collect();
    if !failed.is_empty() {
        doubts.push(format!("failed reviewers: {}", failed.join(", ")));
    }
    let partly = report
        .coverage
        .iter()
        .filter(|file| match file.state {
            CoverageState::Truncated | CoverageState::NotReviewed => true,
            CoverageState::Reviewed | CoverageState::OutOfScope | CoverageState::ReviewedBefore => {
                false
            }
        })
        .count();
    if partly > 0 {
        doubts.push(format!("{} not wholly reviewed", count(partly, "file")));
    }
    if nothing_is_in_scope(report) {
        doubts.push("no file of the change was reviewed".to_owned());
    }
    let malformed = report.fates().get(&Fate::Malformed).copied().unwrap_or_default();
    if malformed > 0 {
        doubts.push(format!("{} of the reviewers could not be read", count(malformed, "finding")));
    }
    doubts.extend(unjudged_requirements(report));
    match report.status {
        Status::Ok | Status::Degraded => {}
        Status::Truncated => doubts.push("the review was cut short".to_owned()),
        Status::Error => doubts.push("nothing was reviewed".to_owned()),
    }
    doubts
}

fn count(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

impl Verdict {
    /// The word for readers that know three and would take a fourth for green: an incomplete review is
    /// not ready. Checks that passed keep their own words, for they are no review.
    pub fn of_three(self) -> &'static str {
        match self {
            Self::NotReady | Self::Incomplete => "Not ready",
            Self::ReadyWithFixes => "Ready with fixes",
            Self::ReadyToMerge => "Ready to merge",
            Self::ChecksPassed => "Checks passed",
        }
    }

    /// CRH's word.
    pub fn crh_word(self) -> &'static str {
        match self {
            Self::NotReady | Self::ReadyWithFixes => "needs-work",
            Self::Incomplete | Self::ChecksPassed => "abstain",
            Self::ReadyToMerge => "approve",
        }
    }

    /// The vote on Launchpad.
    pub fn launchpad_vote(self) -> &'static str {
        match self {
            Self::NotReady | Self::ReadyWithFixes => "Needs Fixing",
            Self::Incomplete | Self::ChecksPassed => "Abstain",
            Self::ReadyToMerge => "Approve",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

#[cfg(test)]
mod tests;
