//! Decides the verdict by fixed rules, never by a model.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::{AutofixClass, Finding, Member, Origin, Proof, Severity};
use crate::grade::effective_severity;
use crate::report::{
    CoverageState, DroppedFinding, Fate, FileCoverage, Issue, PlanSource, Queue, Report,
    RequirementState, ReviewerRow, RunOutcome, Status, Strategy, Validation,
};
use crate::route::queue_for;

/// What is missing if the review has neither findings nor files.
const NOTHING_REVIEWED: &str = "nothing was reviewed";
/// How many files the reason names. The coverage section has all of them.
const NAMED_FILES_MAX: usize = 5;

/// Whether a change can be merged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Verdict {
    /// A P0 is open, or a requirement of an explicit plan is missing.
    #[serde(rename = "Not ready")]
    NotReady,
    /// Actionable issues are open.
    #[serde(rename = "Ready with fixes")]
    ReadyWithFixes,
    /// Nothing is open, but the review is incomplete. Or no reviewer finished its work, and issues
    /// to fix are open.
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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandKind {
    /// A review.
    #[default]
    Review,
    /// Static checks only (`crh check`, `--strategy static`).
    Checks,
}

impl CommandKind {
    /// Whether a review was asked for, the usual case, which reports do not write out.
    pub(crate) fn is_review(&self) -> bool {
        *self == Self::Review
    }
}

/// The verdict and its reason. Issues that a limit, the publishing threshold or `--min-severity`
/// hides count as open.
pub fn verdict(report: &Report, command: CommandKind) -> (Verdict, String) {
    let shown = report.open_issues().map(OpenFinding::from_issue);
    let hidden = report.hidden_open_findings().filter_map(OpenFinding::from_hidden);
    decide(report, &shown.chain(hidden).collect::<Vec<_>>(), command)
}

/// Hidden issues that the verdict counts nevertheless, most urgent first: those that need a fix or
/// a person, and P0 and P1 findings that are hidden because their words seem to ask for the removal
/// of a protected document.
pub fn counted_hidden(report: &Report) -> Vec<CountedHidden<'_>> {
    let over_cap = report.over_cap.iter().filter(|issue| !report.is_fixed(issue.number));
    let over_cap =
        over_cap.filter(|issue| OpenFinding::from_issue(issue).counts()).filter_map(|issue| {
            let finding = &issue.members.first()?.finding;
            let (severity, home) = (issue.severity, HiddenHome::OverCap);
            Some(CountedHidden { severity, finding, fate: Fate::OverCap, home })
        });
    let open = report.hidden_open_findings().filter_map(|dropped| {
        let open_finding = OpenFinding::from_hidden(dropped).filter(OpenFinding::counts)?;
        CountedHidden::from_dropped(dropped, open_finding.severity)
    });
    let protected = report.suppressed.iter().filter(|dropped| is_urgent_protected(dropped));
    let protected = protected.filter_map(|dropped| {
        CountedHidden::from_dropped(dropped, effective_severity(dropped.member.as_ref()?))
    });
    let mut counted: Vec<_> = over_cap.chain(open).chain(protected).collect();
    counted.sort_by_key(|hidden| hidden.severity);
    counted
}

/// A hidden issue that the verdict counts.
#[derive(Debug, Clone, Copy)]
pub struct CountedHidden<'a> {
    pub(crate) severity: Severity,
    pub(crate) finding: &'a Finding,
    pub(crate) fate: Fate,
    pub(crate) home: HiddenHome,
}

/// Which list of the report has a hidden issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HiddenHome {
    OverCap,
    Suppressed,
}

impl<'a> CountedHidden<'a> {
    /// Whether the issue is hidden only because of the limit on issues.
    pub fn is_over_cap(&self) -> bool {
        self.home == HiddenHome::OverCap
    }

    fn from_dropped(dropped: &'a DroppedFinding, severity: Severity) -> Option<Self> {
        let finding = &dropped.member.as_ref()?.finding;
        Some(Self { severity, finding, fate: dropped.fate, home: HiddenHome::Suppressed })
    }
}

/// What the verdict needs to know about an open finding.
struct OpenFinding {
    severity: Severity,
    queue: Queue,
    class: AutofixClass,
    /// Who reported it: a model, a static check, or several.
    origins: BTreeSet<Origin>,
}

impl OpenFinding {
    fn from_issue(issue: &Issue) -> Self {
        Self {
            severity: issue.severity,
            queue: issue.queue,
            class: issue.autofix_class,
            origins: issue.members.iter().map(|member| member.origin).collect(),
        }
    }

    fn from_member(member: &Member) -> Self {
        let finding = &member.finding;
        Self {
            severity: finding.severity,
            queue: queue_for(finding.autofix_class, finding.owner),
            class: finding.autofix_class,
            origins: BTreeSet::from([member.origin]),
        }
    }

    fn from_hidden(dropped: &DroppedFinding) -> Option<Self> {
        let finding = Self::from_member(dropped.member.as_ref()?);
        Some(Self { severity: dropped.open.unwrap_or(finding.severity), ..finding })
    }

    fn is_advisory(&self) -> bool {
        self.class == AutofixClass::Advisory
    }

    fn is_urgent_advice(&self) -> bool {
        self.is_advisory() && self.severity <= Severity::P1
    }

    /// Whether the verdict counts it.
    fn counts(&self) -> bool {
        self.needs_action() || self.is_urgent_advice()
    }

    /// Whether it has to be fixed before the merge. Advisory findings ask for no fix.
    fn needs_action(&self) -> bool {
        match self.severity {
            Severity::P0 | Severity::P1 => !self.is_advisory(),
            Severity::P2 => matches!(self.queue, Queue::Fixer | Queue::Residual),
            Severity::P3 => false,
        }
    }
}

fn decide(
    report: &Report,
    open_findings: &[OpenFinding],
    command: CommandKind,
) -> (Verdict, String) {
    let (advisory_p0s, p0s): (Vec<_>, Vec<_>) = open_findings
        .iter()
        .filter(|finding| finding.severity == Severity::P0)
        .partition(|finding| finding.is_advisory());
    let p0_count = p0s.len();
    let actionable_count = open_findings.iter().filter(|finding| finding.needs_action()).count();
    let blocking_gap = plan_gap(report, PlanSource::Explicit);
    let listed = report.shown_open_issues().filter(|issue| is_actionable(issue)).count();
    let with_hidden = |noun| {
        format!("{}{}", plural(actionable_count, noun), hidden_note(actionable_count, listed))
    };
    let gaps = incomplete_reasons(report, command);
    let (verdict, reason) = if p0_count > 0 {
        let reason = match actionable_count == p0_count {
            true => format!("{} must be fixed before the merge", with_hidden("P0 issue")),
            false => format!(
                "{} must be fixed before the merge, {p0_count} of them P0",
                with_hidden("issue")
            ),
        };
        (Verdict::NotReady, reason)
    } else if !advisory_p0s.is_empty() {
        (Verdict::NotReady, "a person must decide about a P0 before the merge".to_owned())
    } else if let Some(plan_gap) = blocking_gap {
        (Verdict::NotReady, format!("the change {plan_gap} of the plan"))
    } else if no_reviewer_answered(report) && actionable_count > 0 {
        // Fixing what was found does not make an unreviewed change ready. A reviewer may report a
        // finding without finishing a file.
        let found = with_hidden("issue");
        let to_fix = open_findings.iter().filter(|finding| finding.needs_action());
        let origins: BTreeSet<Origin> =
            to_fix.flat_map(|finding| finding.origins.iter().copied()).collect();
        // A model judges the requirements of a plan.
        let finders = match (origins.contains(&Origin::Code), origins.len()) {
            (true, 1) => "static checks",
            (true, _) => "reviewers and static checks",
            (false, _) => "reviewers",
        };
        let reason = format!("{}; {finders} found {found} to fix", gaps.join("; "));
        return (Verdict::Incomplete, with_remarks(report, open_findings, reason));
    } else if actionable_count > 0 {
        (Verdict::ReadyWithFixes, format!("{} to fix", with_hidden("issue")))
    } else if !no_reviewer_answered(report)
        && open_findings.iter().any(OpenFinding::is_urgent_advice)
    {
        // A reviewer that asks for no fix cannot make a P1 pass.
        (Verdict::ReadyWithFixes, "no issue needs a fix".to_owned())
    } else {
        let (verdict, reason) = verdict_without_actionable(report, open_findings, command, &gaps);
        return (verdict, with_remarks(report, open_findings, reason));
    };
    let reason = with_remarks(report, open_findings, reason);
    match gaps.is_empty() {
        true => (verdict, reason),
        false => (verdict, format!("{reason}. The review is incomplete: {}", gaps.join("; "))),
    }
}

/// How many of these issues the report does not list: ` (1 hidden)`. Empty if it lists all.
fn hidden_note(count: usize, listed: usize) -> String {
    match (listed, count.saturating_sub(listed)) {
        (_, 0) => String::new(),
        (0, 1) => " (hidden)".to_owned(),
        (0, _) => " (all hidden)".to_owned(),
        (_, hidden) => format!(" ({hidden} hidden)"),
    }
}

/// Whether no reviewer returned a result: all failed, or the user cancelled the review before.
fn no_reviewer_answered(report: &Report) -> bool {
    let mut model_rows =
        report.reviewers.iter().filter(|reviewer| reviewer.origin == Origin::Model).peekable();
    match report.status {
        Status::Ok | Status::Degraded => false,
        Status::Error => true,
        Status::Truncated => {
            model_rows.peek().is_some() && model_rows.all(|row| row.outcome == RunOutcome::Failed)
        }
    }
}

/// Adds what needs no fix, but must be read, to a reason: advisory P0 and P1, and unmet or unjudged
/// requirements of an inferred plan, which may be the wrong plan.
fn with_remarks(report: &Report, open_findings: &[OpenFinding], reason: String) -> String {
    let reason = match open_findings.iter().filter(|it| it.is_urgent_advice()).count() {
        0 => reason,
        count => format!("{reason}; read {}", urgent(count, "advisory issue")),
    };
    let Some(path) = report.plan.as_ref().map(|plan| &plan.path) else { return reason };
    let gap = plan_gap(report, PlanSource::Inferred);
    let gap = gap.map(|gap| format!(". The change {gap} of the inferred plan {path}"));
    let unjudged = unjudged_requirements(report, PlanSource::Inferred);
    let unjudged = unjudged.map(|(count, total)| {
        let requirements = plural(total, "requirement");
        format!(". crh could not judge {count} of {requirements} of the inferred plan {path}")
    });
    [Some(reason), gap, unjudged].into_iter().flatten().collect()
}

/// Whether the review may have missed something.
pub fn is_incomplete(report: &Report, command: CommandKind) -> bool {
    !incomplete_reasons(report, command).is_empty()
}

/// Whether the report itself shows that the review is incomplete, for every command.
pub fn has_gaps(report: &Report) -> bool {
    !coverage_problems(report).is_empty()
}

/// Whether a finding could not be read, or crh did not find the code that an urgent one quotes.
pub fn has_lost_findings(report: &Report) -> bool {
    report
        .suppressed
        .iter()
        .any(|dropped| dropped.fate == Fate::Malformed || is_unproven_urgent(dropped))
}

/// The command that produced a report. A report with passed checks is one of checks, even an old
/// report without the field `command`.
pub fn command_of(report: &Report) -> CommandKind {
    match report.verdict {
        Verdict::ChecksPassed => CommandKind::Checks,
        Verdict::NotReady
        | Verdict::ReadyWithFixes
        | Verdict::Incomplete
        | Verdict::ReadyToMerge => report.command,
    }
}

/// Whether outputs mark the review as incomplete.
pub fn is_marked_incomplete(report: &Report) -> bool {
    report.verdict == Verdict::Incomplete || is_incomplete(report, command_of(report))
}

/// What a person or a rule turned off, as the end of a sentence: ` except 1 dismissed issue`. Empty
/// if there are none.
fn silenced_findings(report: &Report) -> String {
    let fates = report.fates();
    let count = |fate| fates.get(&fate).copied().unwrap_or_default();
    let suppressed = |count| plural(count, "suppressed finding");
    let dismissed = |count| plural(count, "dismissed issue");
    let by_rule_or_person = match (count(Fate::Suppressed), report.dismissed_issues()) {
        (0, 0) => String::new(),
        (by_rule, 0) => format!(" except {}", suppressed(by_rule)),
        (0, by_person) => format!(" except {}", dismissed(by_person)),
        (by_rule, by_person) => {
            format!(" except {} and {}", suppressed(by_rule), dismissed(by_person))
        }
    };
    match count(Fate::Lesson) {
        0 => by_rule_or_person,
        held_back => {
            let start = if by_rule_or_person.is_empty() { " except" } else { " and" };
            let findings = plural(held_back, "finding");
            format!("{by_rule_or_person}{start} {findings} hidden by a lesson")
        }
    }
}

/// Whether something was found that no person and no rule turned off, although nothing is open: for
/// example a finding that is too uncertain, or an issue that existed before the change.
fn has_other_findings(report: &Report) -> bool {
    let is_silenced = |fate: Fate| match fate {
        // A merged finding is a part of an issue.
        Fate::Suppressed | Fate::Dismissed | Fate::Lesson | Fate::Merged => true,
        Fate::Kept
        | Fate::Minor
        | Fate::Malformed
        | Fate::Nit
        | Fate::Unsupported
        | Fate::PreExisting
        | Fate::Refuted
        | Fate::BelowGate
        | Fate::Softened
        | Fate::ProtectedPath
        | Fate::OverCap
        | Fate::OutsidePaths => false,
    };
    !report.pre_existing.is_empty()
        || report.suppressed.iter().any(|dropped| !is_silenced(dropped.fate))
}

fn verdict_without_actionable(
    report: &Report,
    open_findings: &[OpenFinding],
    command: CommandKind,
    gaps: &[String],
) -> (Verdict, String) {
    let silenced = silenced_findings(report);
    let nothing_actionable = match report.fixed_count() {
        0 if report.all_issues().next().is_none() => {
            format!("nothing actionable was found{silenced}")
        }
        0 => format!("no issue must be fixed before the merge{silenced}"),
        _ => format!("nothing actionable is left{silenced}"),
    };
    match (command, gaps.is_empty()) {
        (CommandKind::Checks, true) if open_findings.is_empty() && !has_other_findings(report) => {
            (Verdict::ChecksPassed, format!("nothing was found{silenced}"))
        }
        (CommandKind::Checks, true) => (Verdict::ChecksPassed, nothing_actionable),
        (CommandKind::Review, true) => (Verdict::ReadyToMerge, nothing_actionable),
        // A check that failed has not passed.
        (CommandKind::Checks | CommandKind::Review, false) => {
            (Verdict::Incomplete, gaps.join("; "))
        }
    }
}

/// Whether an open issue blocks the merge.
pub fn is_actionable(issue: &Issue) -> bool {
    OpenFinding::from_issue(issue).needs_action()
}

/// Which requirements of a plan the change does not meet: `does not meet R2 and meets only a part
/// of R3`. `None` if it meets all of them, or if the plan has another source.
fn plan_gap(report: &Report, source: PlanSource) -> Option<String> {
    let plan = report.plan.as_ref().filter(|plan| plan.plan_source == source)?;
    let ids_in = |state: RequirementState| {
        let requirements = plan.requirements.iter();
        let matching = requirements.filter(|it| !it.waived && it.state == state);
        matching.map(|it| it.id.as_str()).collect::<Vec<_>>().join(", ")
    };
    let unmet_ids = ids_in(RequirementState::NotAddressed);
    let partly_met_ids = ids_in(RequirementState::PartiallyAddressed);
    match (unmet_ids.as_str(), partly_met_ids.as_str()) {
        ("", "") => None,
        (unmet_ids, "") => Some(format!("does not meet {unmet_ids}")),
        ("", partly_met_ids) => Some(format!("meets only a part of {partly_met_ids}")),
        (unmet_ids, partly_met_ids) => {
            Some(format!("does not meet {unmet_ids} and meets only a part of {partly_met_ids}"))
        }
    }
}

/// How many requirements of a plan were not judged, and how many the plan has. `None` if all were
/// judged, or if the plan has another source.
fn unjudged_requirements(report: &Report, source: PlanSource) -> Option<(usize, usize)> {
    let plan = report.plan.as_ref().filter(|plan| plan.plan_source == source)?;
    let open_requirements = plan.requirements.iter().filter(|requirement| !requirement.waived);
    let states: Vec<RequirementState> = open_requirements.map(|it| it.state).collect();
    let count = states.iter().filter(|state| **state == RequirementState::NotJudged).count();
    (count > 0).then_some((count, states.len()))
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
pub(crate) fn incomplete_reasons(report: &Report, command: CommandKind) -> Vec<String> {
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

/// Why the review is incomplete, as far as the report itself shows it for every command.
fn coverage_problems(report: &Report) -> Vec<String> {
    let mut gaps = Vec::new();
    // A stopped reviewer has not failed, but reports list it among the failed ones.
    let outcome = if report.is_stopped { "unfinished" } else { "failed" };
    if report.is_stopped {
        gaps.push("the review was stopped".to_owned());
    }
    let (failed_checks, failed_reviewers): (Vec<&ReviewerRow>, Vec<&ReviewerRow>) =
        report.failed_reviewers().partition(|reviewer| reviewer.origin == Origin::Code);
    for (kind, rows) in [("reviewers", failed_reviewers), ("checks", failed_checks)] {
        let names: Vec<&str> = rows.iter().map(|reviewer| reviewer.name.as_str()).collect();
        if !names.is_empty() {
            gaps.push(format!("{outcome} {kind}: {}", names.join(", ")));
        }
    }
    if report.fix_review_gaps.iter().any(|gap| gap.is_stopped) {
        gaps.push("the repeated review of the fixes was stopped".to_owned());
    }
    // "Nothing was reviewed" follows in that case.
    let is_nothing_reviewed =
        report.status == Status::Error && missing_review(report) == NOTHING_REVIEWED;
    gaps.extend(unreviewed_files(report).filter(|_| !is_nothing_reviewed));
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
            "crh did not find the quoted code of {}",
            urgent(unproven_count, "finding")
        ));
    }
    let protected_count =
        report.suppressed.iter().filter(|dropped| is_urgent_protected(dropped)).count();
    if protected_count > 0 {
        gaps.push(format!(
            "crh hid {} about a protected document",
            urgent(protected_count, "finding")
        ));
    }
    gaps.extend(self_suppressed(report));
    let unjudged = unjudged_requirements(report, PlanSource::Explicit);
    gaps.extend(unjudged.map(|(count, total)| match count == total {
        true => "the plan's requirements were not judged".to_owned(),
        false => format!("{count} of {} of the plan not judged", plural(total, "requirement")),
    }));
    match report.status {
        Status::Truncated if gaps.is_empty() => gaps.push(
            unvalidated_issues(report).unwrap_or_else(|| "a part of the review is missing".into()),
        ),
        // The gaps so far say more than the status. The coverage section has the reason. A failed
        // second look is a gap, whether or not a limit ended it.
        Status::Ok | Status::Degraded | Status::Truncated => {
            gaps.extend(failed_validations(report));
        }
        Status::Error => {
            gaps.extend(failed_validations(report));
            gaps.push(missing_review(report).to_owned());
        }
    }
    gaps
}

/// What is missing in a review with the status `error`. A reviewer may report a finding and mark no
/// file. Static checks may have found issues.
pub(crate) fn missing_review(report: &Report) -> &'static str {
    match (report.has_model_findings(), report.all_issues().next()) {
        (true, _) => "no file was marked as reviewed",
        (false, Some(_)) => "no model reviewed the change",
        (false, None) => NOTHING_REVIEWED,
    }
}

/// How many urgent issues were not validated: `1 P0 or P1 issue not validated`.
fn unvalidated_issues(report: &Report) -> Option<String> {
    let shown = report.all_issues().filter(|issue| issue.is_urgent_and_unvalidated()).count();
    let hidden =
        report.hidden_open_findings().filter(|dropped| dropped.is_urgent_and_unvalidated()).count();
    not_validated(shown + hidden)
}

/// How many urgent issues were not validated because the run that checked them failed.
fn failed_validations(report: &Report) -> Option<String> {
    let has_failed = |issue: &&Issue| {
        issue.validation == Validation::Degraded && issue.is_urgent_and_unvalidated()
    };
    let has_failed_hidden = |dropped: &&DroppedFinding| {
        dropped.validation == Some(Validation::Degraded) && dropped.is_urgent_and_unvalidated()
    };
    let shown = report.open_issues().filter(has_failed).count();
    not_validated(shown + report.hidden_open_findings().filter(has_failed_hidden).count())
}

fn not_validated(count: usize) -> Option<String> {
    (count > 0).then(|| format!("{} not validated", urgent(count, "issue")))
}

/// Which files were not fully reviewed: `2 files not fully reviewed (a.sh, lib/b.py)`.
pub(crate) fn unreviewed_files(report: &Report) -> Option<String> {
    let is_gap = |file: &&FileCoverage| match file.state {
        CoverageState::Truncated | CoverageState::NotReviewed => true,
        CoverageState::Reviewed | CoverageState::OutOfScope | CoverageState::ReviewedBefore => {
            false
        }
    };
    let files: Vec<&FileCoverage> = report.coverage.iter().filter(is_gap).collect();
    let mut names: Vec<String> =
        files.iter().take(NAMED_FILES_MAX).map(|file| crate::sanitise::path(&file.path)).collect();
    if let more_count @ 1.. = files.len().saturating_sub(NAMED_FILES_MAX) {
        names.push(format!("and {more_count} more"));
    }
    let count = plural(files.len(), "file");
    (!files.is_empty()).then(|| format!("{count} not fully reviewed ({})", names.join(", ")))
}

/// How many findings about itself the change suppresses. Only findings that the verdict would count
/// matter. A change must not become green by its own ignore comments.
fn self_suppressed(report: &Report) -> Option<String> {
    let needs_action = |dropped: &&DroppedFinding| {
        dropped.is_suppressed_by_change()
            && dropped
                .member
                .as_ref()
                .is_none_or(|member| OpenFinding::from_member(member).counts())
    };
    let count = report.suppressed.iter().filter(needs_action).count();
    (count > 0).then(|| format!("the change suppresses {} about itself", plural(count, "finding")))
}

/// Whether a dropped finding is a P0 or P1 whose quotes were not found. An issue of an earlier
/// review whose code is gone has no quotes and does not count.
fn is_unproven_urgent(dropped: &DroppedFinding) -> bool {
    let is_urgent = |member: &Member| {
        let is_gone = member.proof == Proof::Quotes && member.finding.evidence.is_empty();
        effective_severity(member) <= Severity::P1 && !is_gone
    };
    dropped.fate == Fate::Unsupported && dropped.member.as_ref().is_some_and(is_urgent)
}

/// Whether a dropped finding is a P0 or P1 that seems to ask for the removal of a protected
/// document. A rule about words must not make a review green.
fn is_urgent_protected(dropped: &DroppedFinding) -> bool {
    let is_urgent = |member: &Member| effective_severity(member) <= Severity::P1;
    dropped.fate == Fate::ProtectedPath && dropped.member.as_ref().is_some_and(is_urgent)
}

/// `2 findings of severity P0 or P1`: in "2 P0 or P1 findings", the number seems to count the P0.
fn urgent(count: usize, noun: &str) -> String {
    format!("{} of severity P0 or P1", plural(count, noun))
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
