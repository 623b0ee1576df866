//! Decides the verdict by fixed rules, never by a model.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::{Member, Proof, Severity};
use crate::grade::effective_severity;
use crate::report::{
    CoverageState, DroppedFinding, Fate, FileCoverage, Issue, PlanSource, Queue, Report,
    Requirement, RequirementState, Status, Strategy,
};
use crate::route::queue_for;

/// Whether a change can be merged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Verdict {
    /// A P0 is open, or a requirement of an explicit plan is missing.
    #[serde(rename = "Not ready")]
    NotReady,
    /// Actionable issues are open.
    #[serde(rename = "Ready with fixes")]
    ReadyWithFixes,
    /// Nothing is open, but the review is incomplete.
    #[default]
    Incomplete,
    /// Nothing is open, and the review is complete.
    #[serde(rename = "Ready to merge")]
    ReadyToMerge,
    /// Only static checks were requested, and they found nothing actionable.
    #[serde(rename = "Checks passed")]
    ChecksPassed,
}

/// Which command produced the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandKind {
    /// A review.
    Review,
    /// Static checks only (`crh check`, `--strategy static`).
    Checks,
}

/// The verdict and its reason. Call this function before the limit on issues applies.
pub fn verdict(report: &Report, command: CommandKind) -> (Verdict, String) {
    // The limit has hidden nothing yet, but the publishing threshold may have.
    let below_threshold = report.suppressed.iter().filter(|dropped| dropped.open.is_some());
    decide(report, &open_findings(report, below_threshold), command)
}

/// The verdict of a finished report. Issues hidden by the limit or by `--min-severity` count as
/// open.
pub(crate) fn verdict_with_hidden(report: &Report, command: CommandKind) -> (Verdict, String) {
    decide(report, &open_findings(report, report.hidden_open_findings()), command)
}

/// Open issues and hidden findings.
fn open_findings<'a>(
    report: &Report,
    hidden: impl Iterator<Item = &'a DroppedFinding>,
) -> Vec<OpenFinding> {
    let open_issues = report.issues.iter().filter(|issue| !report.is_fixed(issue.number));
    let shown_findings = open_issues.map(|issue| (issue.severity, issue.queue));
    let hidden_findings = hidden.filter_map(|dropped| {
        let finding = &dropped.member.as_ref()?.finding;
        let severity = dropped.open.unwrap_or(finding.severity);
        Some((severity, queue_for(finding.autofix_class, finding.owner)))
    });
    shown_findings.chain(hidden_findings).collect()
}

/// Severity and queue of an open finding.
type OpenFinding = (Severity, Queue);

fn decide(
    report: &Report,
    open_findings: &[OpenFinding],
    command: CommandKind,
) -> (Verdict, String) {
    let p0_count = open_findings.iter().filter(|(severity, _)| *severity == Severity::P0).count();
    let actionable_count =
        open_findings.iter().filter(|(severity, queue)| needs_action(*severity, *queue)).count();
    let unmet_ids = unmet_requirements(report);
    let gaps = incomplete_reasons(report, command);
    let (verdict, reason) = if p0_count > 0 {
        (
            Verdict::NotReady,
            format!("{} must be fixed before the merge", plural(p0_count, "P0 issue")),
        )
    } else if !unmet_ids.is_empty() {
        (
            Verdict::NotReady,
            format!("the change does not meet {} of the plan", unmet_ids.join(", ")),
        )
    } else if actionable_count > 0 {
        (Verdict::ReadyWithFixes, format!("{} to fix", plural(actionable_count, "issue")))
    } else {
        return verdict_without_actionable(report, open_findings, command, &gaps);
    };
    match gaps.is_empty() {
        true => (verdict, reason),
        false => (verdict, format!("{reason}. The review is incomplete: {}", gaps.join("; "))),
    }
}

/// Whether the review may have missed something.
pub fn is_incomplete(report: &Report, command: CommandKind) -> bool {
    !incomplete_reasons(report, command).is_empty()
}

/// Number of suppressed findings.
fn suppressed_count(report: &Report) -> usize {
    report.suppressed.iter().filter(|dropped| dropped.fate == Fate::Suppressed).count()
}

fn verdict_without_actionable(
    report: &Report,
    open_findings: &[OpenFinding],
    command: CommandKind,
    gaps: &[String],
) -> (Verdict, String) {
    let result = match (!open_findings.is_empty(), suppressed_count(report)) {
        (false, 0) => "nothing was found".to_owned(),
        (false, count) => {
            format!("nothing was found except {}", plural(count, "suppressed finding"))
        }
        (true, 0) => "nothing actionable was found".to_owned(),
        (true, count) => {
            format!("nothing actionable was found except {}", plural(count, "suppressed finding"))
        }
    };
    match (command, gaps.is_empty()) {
        (CommandKind::Checks, true) => (Verdict::ChecksPassed, result),
        // If no check has seen a file, the checks have not passed.
        (CommandKind::Checks, false) if nothing_is_in_scope(report) || is_missing_files(report) => {
            (Verdict::Incomplete, gaps.join("; "))
        }
        (CommandKind::Checks, false) => {
            (Verdict::ChecksPassed, format!("{result}; {}", gaps.join("; ")))
        }
        (CommandKind::Review, true) => {
            (Verdict::ReadyToMerge, "nothing actionable was found".to_owned())
        }
        (CommandKind::Review, false) => (Verdict::Incomplete, gaps.join("; ")),
    }
}

/// Whether an open issue blocks the merge.
pub(crate) fn is_actionable(issue: &Issue) -> bool {
    needs_action(issue.severity, issue.queue)
}

fn needs_action(severity: Severity, queue: Queue) -> bool {
    match severity {
        Severity::P0 | Severity::P1 => true,
        Severity::P2 => matches!(queue, Queue::Fixer | Queue::Residual),
        Severity::P3 => false,
    }
}

fn unmet_requirements(report: &Report) -> Vec<String> {
    let explicit_plans = report.plan.iter().filter(|plan| plan.plan_source == PlanSource::Explicit);
    explicit_plans
        .flat_map(|plan| &plan.requirements)
        .filter(|requirement| !requirement.waived)
        .filter(|requirement| match requirement.state {
            RequirementState::NotAddressed | RequirementState::PartiallyAddressed => true,
            RequirementState::Met | RequirementState::NotJudged => false,
        })
        .map(|requirement| requirement.id.clone())
        .collect()
}

/// Which requirements of an explicit plan were not judged. Inferred plans do not count.
fn unjudged_requirements(report: &Report) -> Option<String> {
    let plan = report.plan.as_ref().filter(|plan| plan.plan_source == PlanSource::Explicit)?;
    let open_requirements: Vec<&Requirement> =
        plan.requirements.iter().filter(|requirement| !requirement.waived).collect();
    let is_not_judged =
        |requirement: &&&Requirement| requirement.state == RequirementState::NotJudged;
    match open_requirements.iter().filter(is_not_judged).count() {
        0 => None,
        count if count == open_requirements.len() => {
            Some("the plan's requirements were not judged".to_owned())
        }
        count => Some(format!(
            "{count} of {} of the plan not judged",
            plural(open_requirements.len(), "requirement")
        )),
    }
}

/// Whether the change has files, but none is in scope.
fn nothing_is_in_scope(report: &Report) -> bool {
    let is_out_of_scope = |file: &FileCoverage| file.state == CoverageState::OutOfScope;
    !report.coverage.is_empty() && report.coverage.iter().all(is_out_of_scope)
}

/// Whether base and head differ, but the report lists no files.
fn is_missing_files(report: &Report) -> bool {
    report.coverage.is_empty() && report.change.base_sha != report.change.head_sha
}

/// Why the review may be incomplete.
fn incomplete_reasons(report: &Report, command: CommandKind) -> Vec<String> {
    let mut gaps = coverage_problems(report);
    match command {
        CommandKind::Review if report.strategy == Strategy::Static => {
            gaps.push("only static checks ran".to_owned());
        }
        // `crh merge` has no coverage; checks always have.
        CommandKind::Checks if is_missing_files(report) => {
            gaps.push("no file of the change was reviewed".to_owned());
        }
        CommandKind::Review | CommandKind::Checks => {}
    }
    gaps
}

/// Gaps in the coverage.
fn coverage_problems(report: &Report) -> Vec<String> {
    let mut gaps = Vec::new();
    let failed_names: Vec<_> =
        report.failed_reviewers().map(|reviewer| reviewer.name.as_str()).collect();
    if !failed_names.is_empty() {
        gaps.push(format!("failed reviewers: {}", failed_names.join(", ")));
    }
    let gap_count = report
        .coverage
        .iter()
        .filter(|file| match file.state {
            CoverageState::Truncated | CoverageState::NotReviewed => true,
            CoverageState::Reviewed | CoverageState::OutOfScope | CoverageState::ReviewedBefore => {
                false
            }
        })
        .count();
    if gap_count > 0 {
        gaps.push(format!("{} not fully reviewed", plural(gap_count, "file")));
    }
    if nothing_is_in_scope(report) {
        gaps.push("no file of the change was reviewed".to_owned());
    }
    let malformed_count = report.fates().get(&Fate::Malformed).copied().unwrap_or_default();
    if malformed_count > 0 {
        gaps.push(format!("{} could not be read", plural(malformed_count, "finding")));
    }
    let unproven_count =
        report.suppressed.iter().filter(|dropped| is_unproven_urgent(dropped)).count();
    if unproven_count > 0 {
        gaps.push(format!(
            "the quotes of {} were not found",
            plural(unproven_count, "P0 or P1 finding")
        ));
    }
    gaps.extend(unjudged_requirements(report));
    match report.status {
        Status::Ok | Status::Degraded => {}
        Status::Truncated => gaps.push("the review was cut short".to_owned()),
        Status::Error => gaps.push("nothing was reviewed".to_owned()),
    }
    gaps
}

/// Whether a dropped finding is a P0 or P1 whose quotes were not found. An issue of an earlier review
/// whose code is gone has no quotes and does not count.
fn is_unproven_urgent(dropped: &DroppedFinding) -> bool {
    let is_urgent = |member: &Member| {
        let is_gone = member.proof == Proof::Quotes && member.finding.evidence.is_empty();
        effective_severity(member) <= Severity::P1 && !is_gone
    };
    dropped.fate == Fate::Unsupported && dropped.member.as_ref().is_some_and(is_urgent)
}

pub(crate) fn plural(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

impl Verdict {
    /// Label for readers that know only three verdicts. `Incomplete` maps to "Not ready". "Checks
    /// passed" stays, because checks are not a review.
    pub fn three_state_label(self) -> &'static str {
        match self {
            Self::NotReady | Self::Incomplete => "Not ready",
            Self::ReadyWithFixes => "Ready with fixes",
            Self::ReadyToMerge => "Ready to merge",
            Self::ChecksPassed => "Checks passed",
        }
    }

    /// The verdict in the CRH specification.
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
