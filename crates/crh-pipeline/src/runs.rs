//! Records of runs. A failed run has a record like the others and does not end the review.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::assignment::Assignment;
use crh_agent::{AgentOutcome, FinishedRun, LimitKind, UsageTotals};
use crh_llm::ModelError;
use crh_review::Judgement;
use crh_review::finding::{Finding, Member};
use crh_review::report::{CoverageState, DroppedFinding, FileCoverage};

/// What to do if a server supports no tools.
const TOOLS_HINT: &str = "choose a model that supports tools";

/// Why a cancelled run did not review a file.
pub(crate) const STOPPED_BEFORE_FILE: &str = "the review was stopped before this file was reviewed";

/// The result of one assignment. Stored when the run ends, so that a resumed review does not pay
/// for it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The assignment of the run.
    pub assignment: Assignment,
    /// How it ended.
    pub ended: RunEnd,
    /// Why a static check did not run: it had no repository to read from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_run: Option<String>,
    /// A limit that the run hit. Its work may be incomplete.
    pub limited: Option<LimitKind>,
    /// Well-formed findings, each with its reviewer.
    pub members: Vec<Member>,
    /// Malformed findings, nits and findings dropped later, each with its fate.
    #[serde(rename = "set_aside")]
    pub dropped: Vec<DroppedFinding>,
    /// Judgements of a validation run on findings of other runs. Empty for other runs.
    pub checked: Vec<CheckedFinding>,
    /// Risks that remain.
    pub residual_risks: Vec<String>,
    /// Behaviour that no test covers.
    pub testing_gaps: Vec<String>,
    /// The summary that the model wrote.
    pub summary: String,
    /// An answer that is not a finding: notes, the scout's report, judgements.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub answer: Value,
    /// Coverage of each file of the assignment.
    pub coverage: Vec<FileCoverage>,
    /// Notes for the reader: refused calls, files left out.
    pub notes: Vec<String>,
    /// Whether a server may have cut a prompt of the run. A note has the counts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_have_cut_prompt: bool,
    /// Models that were asked, in order of first use.
    pub models: Vec<String>,
    /// Usage of this run, without that of sub-agents.
    pub totals: UsageTotals,
    /// Duration in milliseconds.
    pub took_ms: u64,
    /// Time spent waiting for models, in milliseconds.
    pub model_ms: u64,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEnd {
    /// The run returned an answer.
    Completed,
    /// The run failed, for this reason.
    Failed(String),
    /// The user cancelled the review first.
    Cancelled,
}

/// A finding that a validation run checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckedFinding {
    /// The finding, as it is in the issue.
    pub finding: Finding,
    /// Result of the check.
    pub judgement: Judgement,
}

/// Results of all runs of a review.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunResults {
    /// Records of all runs, static checks first.
    pub records: Vec<RunRecord>,
    /// Notes for the reader about the runs.
    pub notes: Vec<String>,
}

impl RunEnd {
    /// Converts the end of an agent run. If the server supports no tools, and the model gave no
    /// valid answer without them, the reason says so.
    pub(crate) fn from_run<A>(finished: &FinishedRun<A>) -> Self {
        let outcome = &finished.end.outcome;
        let failure = outcome.failure().unwrap_or_default();
        match outcome {
            AgentOutcome::Answered(_) => Self::Completed,
            AgentOutcome::Cancelled => Self::Cancelled,
            AgentOutcome::NoAnswer
            | AgentOutcome::BadAnswer(_)
            | AgentOutcome::Stuck
            | AgentOutcome::Model(ModelError::BadRequest { .. }) => {
                Self::Failed(with_tool_refusal(failure, finished.tool_refusal.as_deref()))
            }
            AgentOutcome::OutOfBudget(_)
            | AgentOutcome::ContextFull(_)
            | AgentOutcome::Model(_)
            | AgentOutcome::Aborted(_) => Self::Failed(failure),
        }
    }

    /// Why the run did not complete. None if it did.
    pub fn failure(&self) -> Option<&str> {
        match self {
            Self::Completed => None,
            Self::Failed(why) => Some(why),
            Self::Cancelled => Some("stopped by the user"),
        }
    }
}

impl RunRecord {
    /// An empty record of a completed run.
    pub fn new(assignment: Assignment) -> Self {
        Self {
            assignment,
            ended: RunEnd::Completed,
            not_run: None,
            limited: None,
            members: Vec::new(),
            dropped: Vec::new(),
            checked: Vec::new(),
            residual_risks: Vec::new(),
            testing_gaps: Vec::new(),
            summary: String::new(),
            answer: Value::Null,
            coverage: Vec::new(),
            notes: Vec::new(),
            may_have_cut_prompt: false,
            models: Vec::new(),
            totals: UsageTotals::default(),
            took_ms: 0,
            model_ms: 0,
        }
    }

    /// A failed run. None of its files counts as reviewed.
    pub fn failed(assignment: Assignment, why: impl Into<String>) -> Self {
        let why = why.into();
        let coverage = assignment.parts.iter().map(|part| FileCoverage {
            path: part.path.clone(),
            state: CoverageState::NotReviewed,
            reason: format!("{} failed", assignment.name),
        });
        let coverage = coverage.collect();
        Self { coverage, ended: RunEnd::Failed(why), ..Self::new(assignment) }
    }

    /// Marks the run as failed if it had files and could read none of them. A check that did not run
    /// has not failed.
    pub(crate) fn fail_if_no_file_was_read(&mut self) {
        let is_not_reviewed = |file: &FileCoverage| file.state == CoverageState::NotReviewed;
        let all_unreviewed = self.coverage.iter().all(is_not_reviewed);
        let Some(first) = self.coverage.first().filter(|_| all_unreviewed) else {
            return;
        };
        if self.ended == RunEnd::Completed && self.not_run.is_none() {
            // The failure already names this reason.
            self.notes.retain(|note| !note.ends_with(&first.reason));
            self.ended = RunEnd::Failed(format!("could not read any file: {}", first.reason));
        }
    }

    /// A run that the user cancelled before it returned anything.
    pub(crate) fn cancelled(assignment: Assignment) -> Self {
        let mut record = Self::failed(assignment, "");
        record.ended = RunEnd::Cancelled;
        for file in &mut record.coverage {
            STOPPED_BEFORE_FILE.clone_into(&mut file.reason);
        }
        record
    }

    /// Adds the usage of one agent run.
    pub(crate) fn add_usage<A>(&mut self, finished: &FinishedRun<A>, model: &str) {
        self.totals = self.totals.plus(&finished.totals);
        self.model_ms = self.model_ms.saturating_add(milliseconds(finished.model_time));
        self.notes.extend(finished.doubtful_count.map(|count| count.to_string()));
        self.may_have_cut_prompt |= finished.doubtful_count.is_some();
        if finished.totals.llm_calls > 0 && !self.models.iter().any(|name| name == model) {
            self.models.push(model.to_owned());
        }
    }
}

/// Adds the server's message that it supports no tools, unless the reason has it already, and what
/// to do.
fn with_tool_refusal(why: String, refusal: Option<&str>) -> String {
    match refusal {
        None => why,
        Some(refusal) if why.contains(refusal) => format!("{why}; {TOOLS_HINT}"),
        Some(refusal) => format!("{why}, and before: {refusal}; {TOOLS_HINT}"),
    }
}

/// Note on a run that failed after crh refused its first report.
pub(crate) fn refused_report_note(why: &str) -> String {
    format!(
        "crh uses the first report, which it had refused, because the run failed afterwards: {why}"
    )
}

/// Why no reviewer saw a line of a file, if the model's context was too small for any request.
pub(crate) fn missing_context_reason(tokens: u64) -> String {
    format!("the model's context is too small by about {tokens} tokens")
}

/// Converts a duration for records and events.
pub(crate) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crh_agent::AgentRunEnd;

    fn failure(outcome: AgentOutcome<()>) -> String {
        let finished = FinishedRun {
            end: AgentRunEnd { outcome, limit_reached: None },
            totals: UsageTotals::default(),
            duration: Duration::ZERO,
            model_time: Duration::ZERO,
            transcript_error: None,
            doubtful_count: None,
            tool_refusal: Some("gemma:2b does not support tools".to_owned()),
        };
        RunEnd::from_run(&finished).failure().unwrap_or_default().to_owned()
    }

    #[test]
    fn failure_names_missing_tool_support() {
        assert_eq!(
            failure(AgentOutcome::NoAnswer),
            "the model did not submit an answer, and before: gemma:2b does not support tools; choose a model that supports tools"
        );
        let message = "gemma:2b does not support tools".to_owned();
        assert_eq!(
            failure(AgentOutcome::Model(ModelError::BadRequest { message })),
            "the model rejected the request: gemma:2b does not support tools; choose a model that supports tools"
        );
        let aborted = failure(AgentOutcome::Aborted("full disk".to_owned()));
        assert_eq!(aborted, "a tool stopped the run: full disk");
        assert_eq!(failure(AgentOutcome::Answered(())), "");
    }
}
