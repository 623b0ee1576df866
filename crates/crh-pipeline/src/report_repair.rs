//! Sends findings back to their reviewer once. crh lists all findings of a report that the merge
//! would drop, each with its problem and the nearest text in the code.
//!
//! The next report replaces the listed findings. The other findings of the first report are kept,
//! even if the model leaves them out of the next one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::change_under_review::ChangeUnderReview;
use crate::consolidate::check_findings;
use crate::text::{cut, one_line};
use crh_review::finding::{Finding, Member, Severity};
use crh_review::report::{DroppedFinding, Fate};
use crh_review::{ReviewerReturn, normalise_title};

/// Maximum findings in a message. A report with more problems is not repaired in one turn.
const LISTED_MAX: usize = 30;
/// Maximum characters of a problem in a message.
const PROBLEM_CHARS: usize = 600;

/// Checks the reports of one run.
#[derive(Debug)]
pub(crate) struct ReportRepair {
    change: Arc<ChangeUnderReview>,
    /// Further check of a finding. Returns the problem.
    extra_check: fn(&Finding) -> Option<&'static str>,
    policy: RepairPolicy,
    state: Mutex<RepairState>,
}

/// Which findings are worth another call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RepairPolicy {
    /// Every finding with a problem.
    Every,
    /// Findings with a problem, if one of them is P0 or P1, or if all findings of the report have a
    /// problem. Otherwise the call is saved for the editor.
    UrgentOrAll,
}

/// Result of a run's repair.
#[derive(Debug, Default)]
pub(crate) struct RepairOutcome {
    /// The last refused report. crh uses it if no other report followed.
    pub(crate) refused_report: Option<ReviewerReturn>,
    /// Notes on findings whose positions contradict each other.
    pub(crate) notes: Vec<String>,
}

#[derive(Debug, Default)]
struct RepairState {
    refused: Option<RefusedReport>,
    findings: FindingsState,
    notes: Vec<String>,
}

/// Whether findings were sent back.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum FindingsState {
    #[default]
    NotSentBack,
    SentBack,
}

/// A report that was sent back.
#[derive(Debug)]
struct RefusedReport {
    /// The report without the listed findings.
    accepted: ReviewerReturn,
    /// The listed findings, with the fate that they get if the next report leaves them out.
    listed: Vec<DroppedFinding>,
}

impl ReportRepair {
    pub(crate) fn new(
        change: &Arc<ChangeUnderReview>,
        extra_check: fn(&Finding) -> Option<&'static str>,
        policy: RepairPolicy,
    ) -> Self {
        Self { change: change.clone(), extra_check, policy, state: Mutex::default() }
    }

    /// Returns the final report, or a message for the model. `other_problem` is a problem that is
    /// not about a finding.
    pub(crate) fn check(
        &self,
        report: ReviewerReturn,
        other_problem: Option<String>,
    ) -> Result<ReviewerReturn, String> {
        let mut state = self.state();
        let mut report = match state.refused.take() {
            Some(refused) => refused.replaced_by(report),
            None => report,
        };
        let problems = self.member_problems(&report.members, &mut state.notes);
        let listed = match state.findings {
            FindingsState::NotSentBack => take_listed(&mut report, problems),
            FindingsState::SentBack => Vec::new(),
        };
        let is_worth_a_call = match self.policy {
            RepairPolicy::Every => !listed.is_empty(),
            RepairPolicy::UrgentOrAll => {
                listed.iter().any(is_urgent) || report.members.is_empty() && !listed.is_empty()
            }
        };
        if !is_worth_a_call && other_problem.is_none() {
            return Ok(RefusedReport { accepted: report, listed }.restore());
        }
        if !listed.is_empty() {
            state.findings = FindingsState::SentBack;
        }
        let message = [other_problem, message(&listed)].into_iter().flatten();
        let message = message.collect::<Vec<_>>().join("\n");
        state.refused = Some(RefusedReport { accepted: report, listed });
        Err(message)
    }

    /// The last refused report and the notes, after the run.
    pub(crate) fn finish(&self) -> RepairOutcome {
        let mut state = self.state();
        RepairOutcome {
            refused_report: state.refused.take().map(RefusedReport::restore),
            notes: std::mem::take(&mut state.notes),
        }
    }

    fn state(&self) -> MutexGuard<'_, RepairState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The problem of each finding. Replaces `notes` by notes on contradicting positions.
    fn member_problems(&self, members: &[Member], notes: &mut Vec<String>) -> Vec<Option<String>> {
        notes.clear();
        let checks = check_findings(members, &self.change);
        let pairs = checks.into_iter().zip(members);
        let problems = pairs.map(|(check, member)| {
            notes.extend(check.conflict);
            let extra_problem = || (self.extra_check)(&member.finding).map(str::to_owned);
            check.problem.map(|problem| problem.to_string()).or_else(extra_problem)
        });
        problems.collect()
    }
}

impl RefusedReport {
    /// The report as the model sent it.
    fn restore(self) -> ReviewerReturn {
        let mut report = self.accepted;
        for listed in self.listed {
            match listed.member {
                Some(member) => report.members.push(member),
                None => report.dropped.push(listed),
            }
        }
        report
    }

    /// The next report, with the accepted findings and texts of this report that it leaves out.
    fn replaced_by(self, mut next: ReviewerReturn) -> ReviewerReturn {
        let Self { accepted, listed } = self;
        let reported_again: Vec<FindingName> = next
            .members
            .iter()
            .map(FindingName::from_member)
            .chain(next.dropped.iter().map(FindingName::from_dropped))
            .collect();
        let (repeated, omitted): (Vec<Member>, Vec<Member>) = accepted
            .members
            .into_iter()
            .partition(|member| reported_again.contains(&FindingName::from_member(member)));
        let repeated: Vec<_> = repeated.iter().map(FindingName::from_member).collect();
        let new_names: Vec<FindingName> =
            reported_again.into_iter().filter(|name| !repeated.contains(name)).collect();
        next.dropped.extend(withdrawn(listed, new_names));
        next.members.extend(omitted);
        for dropped in accepted.dropped {
            if !next.dropped.contains(&dropped) {
                next.dropped.push(dropped);
            }
        }
        for (texts, earlier) in [
            (&mut next.residual_risks, accepted.residual_risks),
            (&mut next.testing_gaps, accepted.testing_gaps),
        ] {
            if texts.is_empty() {
                *texts = earlier;
            }
        }
        if next.summary.trim().is_empty() {
            next.summary = accepted.summary;
        }
        next
    }
}

/// The listed findings without a counterpart among the new ones. A model may change the title when
/// it repairs a finding, so any new finding of the same file counts as a counterpart.
fn withdrawn(listed: Vec<DroppedFinding>, mut new_names: Vec<FindingName>) -> Vec<DroppedFinding> {
    let mut take = |is_counterpart: &dyn Fn(&FindingName) -> bool| {
        let index = new_names.iter().position(is_counterpart);
        index.map(|index| new_names.swap_remove(index))
    };
    let same_title = listed.into_iter().filter(|finding| {
        let name = FindingName::from_dropped(finding);
        take(&|new_name| *new_name == name).is_none()
    });
    let unmatched: Vec<DroppedFinding> = same_title.collect();
    let same_file = unmatched.into_iter().filter(|finding| {
        let file = FindingName::from_dropped(finding).file;
        take(&|new_name| file.is_empty() || new_name.file == file).is_none()
    });
    let withdrawn = same_file.map(|finding| match finding.fate {
        Fate::Refuted => {
            let reason = format!("its reviewer took it back: {}", finding.reason);
            DroppedFinding { reason, ..finding }
        }
        _ => finding,
    });
    withdrawn.collect()
}

/// File and normalised title, which identify a finding between two reports.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FindingName {
    file: String,
    title: String,
}

impl FindingName {
    pub(crate) fn from_member(member: &Member) -> Self {
        Self::new(&member.finding.file, &member.finding.title)
    }

    /// The name of a dropped finding. Its parts are empty if a malformed finding has none.
    pub(crate) fn from_dropped(dropped: &DroppedFinding) -> Self {
        if let Some(member) = &dropped.member {
            return Self::from_member(member);
        }
        let field =
            |name: &str| dropped.raw.as_ref().and_then(|raw| raw.get(name)).and_then(Value::as_str);
        Self::new(field("file").unwrap_or_default(), field("title").unwrap_or_default())
    }

    fn new(file: &str, title: &str) -> Self {
        // crh cuts long titles, so only the beginning of a title is compared.
        let title: String = normalise_title(title).chars().take(60).collect();
        Self { file: file.to_owned(), title }
    }
}

/// Takes the findings with a problem out of a report, up to the limit of a message.
fn take_listed(report: &mut ReviewerReturn, problems: Vec<Option<String>>) -> Vec<DroppedFinding> {
    let (malformed, dropped): (Vec<_>, Vec<_>) = std::mem::take(&mut report.dropped)
        .into_iter()
        .partition(|dropped| dropped.fate == Fate::Malformed);
    report.dropped = dropped;
    let mut listed = malformed;
    let mut accepted = Vec::new();
    for (member, problem) in std::mem::take(&mut report.members).into_iter().zip(problems) {
        match problem {
            // If the reviewer leaves a listed finding out of its next report, it withdraws the
            // finding.
            Some(reason) if listed.len() < LISTED_MAX => listed.push(DroppedFinding {
                fate: Fate::Refuted,
                reason,
                into: None,
                open: None,
                reviewer: member.reviewer.clone(),
                member: Some(member),
                raw: None,
            }),
            Some(_) | None => accepted.push(member),
        }
    }
    report.members = accepted;
    listed
}

/// Whether a finding with a problem claims to be P0 or P1.
fn is_urgent(dropped: &DroppedFinding) -> bool {
    let raw_severity = || dropped.raw.as_ref()?.get("severity")?.as_str();
    match &dropped.member {
        Some(member) => member.finding.severity <= Severity::P1,
        None => raw_severity().is_none_or(|severity| !matches!(severity, "P2" | "P3")),
    }
}

/// The message about the listed findings. None if there are none.
fn message(listed: &[DroppedFinding]) -> Option<String> {
    if listed.is_empty() {
        return None;
    }
    let lines: Vec<String> = listed.iter().take(LISTED_MAX).map(problem_line).collect();
    Some(format!(
        "these findings cannot be used as they are:\n{}\nRepair each of them and report it again with all its fields. Quotes must be verbatim. Leave a finding out only if the code does not prove it. crh keeps the findings that are not listed here.",
        lines.join("\n")
    ))
}

fn problem_line(finding: &DroppedFinding) -> String {
    let problem = cut(&one_line(&finding.reason), PROBLEM_CHARS);
    let member_title = finding.member.as_ref().map(|member| member.finding.title.as_str());
    let raw_title = || finding.raw.as_ref()?.get("title")?.as_str();
    match member_title.or_else(raw_title) {
        Some(title) => format!("- `{}`: {problem}", cut(&one_line(title), PROBLEM_CHARS)),
        None => format!("- {problem}"),
    }
}
