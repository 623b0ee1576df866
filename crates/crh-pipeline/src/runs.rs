//! What came of assignments. A run that failed is a row like the others, never the end of a review.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::plan::Assignment;
use crh_agent::{Driven, Limit, Outcome, Totals};
use crh_review::Judgement;
use crh_review::finding::{Finding, Member};
use crh_review::report::{CoverageState, Dropped, FileCoverage};

/// One assignment carried out. Stored when it ends, so that nobody pays for it twice.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// What it was to do.
    pub assignment: Assignment,
    /// How it ended.
    pub ended: RunEnd,
    /// A limit that it met on the way: its work may be incomplete.
    pub limited: Option<Limit>,
    /// The findings that have the right shape.
    pub members: Vec<Member>,
    /// Those that do not, nits, and what was dropped since, each with its fate.
    pub set_aside: Vec<Dropped>,
    /// What a second look inside this run said of findings that are in `members`.
    pub checked: Vec<Checked>,
    /// Risks that remain.
    pub residual_risks: Vec<String>,
    /// Behaviour that no test covers.
    pub testing_gaps: Vec<String>,
    /// What the run said about itself.
    pub summary: String,
    /// What it returned that is no finding: notes, the scout's word, what it judged.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub answer: Value,
    /// What it reviewed of each file it was given.
    pub coverage: Vec<FileCoverage>,
    /// What a reader should know: rules that were broken and enforced, files that were left out.
    pub notes: Vec<String>,
    /// The models that were asked, in the order in which they first were.
    pub models: Vec<String>,
    /// What it used, runs inside it not included.
    pub totals: Totals,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
    /// How long models were at work in it, in milliseconds.
    pub model_ms: u64,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEnd {
    /// It returned.
    Completed,
    /// It did not, and why.
    Failed(String),
    /// The user stopped the review first.
    Cancelled,
}

/// A finding that was looked at again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// The finding, as it stands in `members`.
    pub finding: Finding,
    /// What was said of it.
    pub judgement: Judgement,
}

/// Everything that the runs of a review brought.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Runs {
    /// The runs, in the order of their assignments.
    pub records: Vec<RunRecord>,
    /// What the reader should know about how they went.
    pub notes: Vec<String>,
}

impl RunEnd {
    /// How a run ended that came to this.
    pub(crate) fn of<A>(outcome: &Outcome<A>) -> Self {
        match outcome {
            Outcome::Answered(_) => Self::Completed,
            Outcome::Cancelled => Self::Cancelled,
            failed @ (Outcome::NoAnswer
            | Outcome::BadAnswer(_)
            | Outcome::Stuck
            | Outcome::OutOfBudget(_)
            | Outcome::ContextFull
            | Outcome::Model(_)
            | Outcome::Aborted(_)) => Self::Failed(failed.failure().unwrap_or_default()),
        }
    }

    /// Why it did not return; none if it did.
    pub fn failure(&self) -> Option<&str> {
        match self {
            Self::Completed => None,
            Self::Failed(why) => Some(why),
            Self::Cancelled => Some("stopped by the user"),
        }
    }
}

impl RunRecord {
    /// A run that has brought nothing yet.
    pub fn begun(assignment: Assignment) -> Self {
        Self {
            assignment,
            ended: RunEnd::Completed,
            limited: None,
            members: Vec::new(),
            set_aside: Vec::new(),
            checked: Vec::new(),
            residual_risks: Vec::new(),
            testing_gaps: Vec::new(),
            summary: String::new(),
            answer: Value::Null,
            coverage: Vec::new(),
            notes: Vec::new(),
            models: Vec::new(),
            totals: Totals::default(),
            took_ms: 0,
            model_ms: 0,
        }
    }

    /// A run that failed: nothing of what it was given counts as reviewed.
    pub fn failed(assignment: Assignment, why: impl Into<String>) -> Self {
        let why = why.into();
        let coverage = assignment.parts.iter().map(|part| FileCoverage {
            path: part.path.clone(),
            state: CoverageState::NotReviewed,
            reason: format!("{} failed", assignment.name),
        });
        let coverage = coverage.collect();
        Self { coverage, ended: RunEnd::Failed(why), ..Self::begun(assignment) }
    }

    /// A run that was given files and could look at none of them has failed, whatever it returned.
    pub(crate) fn fail_if_nothing_was_seen(&mut self) {
        let was_not_seen = |file: &FileCoverage| file.state == CoverageState::NotReviewed;
        let Some(first) = self.coverage.first().filter(|_| self.coverage.iter().all(was_not_seen))
        else {
            return;
        };
        if self.ended == RunEnd::Completed {
            self.ended = RunEnd::Failed(format!("not carried out: {}", first.reason));
        }
    }

    /// A run that the user stopped before it brought anything.
    pub(crate) fn stopped(assignment: Assignment) -> Self {
        let mut record = Self::failed(assignment, "");
        record.ended = RunEnd::Cancelled;
        for file in &mut record.coverage {
            "the review was stopped first".clone_into(&mut file.reason);
        }
        record
    }

    /// Books what asking a model took, on top of what was booked before.
    pub(crate) fn book<A>(&mut self, driven: &Driven<A>, model: &str) {
        self.totals = self.totals.plus(&driven.totals);
        self.model_ms = self.model_ms.saturating_add(milliseconds(driven.model_time));
        if driven.totals.llm_calls > 0 && !self.models.iter().any(|asked| asked == model) {
            self.models.push(model.to_owned());
        }
    }
}

/// A time as records and events have it.
pub(crate) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
