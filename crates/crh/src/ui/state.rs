//! Current state of a review, derived from its events.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crh_agent::UsageTotals;
use crh_llm::Money;
use crh_pipeline::assignment::is_static;
use crh_pipeline::events::{ReviewEvent, Stage};
use crh_review::one_line;

/// Current state of a review. All texts but the errors are escaped and on one line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ProgressState {
    pub(super) stage: Option<Stage>,
    /// Cost limit; none before planning.
    pub(super) budget: Option<Money>,
    /// Number of reviewers that the panel chose; zero in other strategies.
    pub(super) team_size: usize,
    /// Names of the reviewers and sub-agents that started, without static checks.
    pub(super) started_reviewers: BTreeSet<String>,
    /// Active runs, oldest first.
    pub(super) runs: Vec<ActiveRun>,
    /// Findings of finished runs.
    pub(super) findings: usize,
    /// Errors of failed runs, with the number of runs that had the error.
    pub(super) failures: BTreeMap<String, usize>,
    pub(super) totals: UsageTotals,
}

/// An active run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ActiveRun {
    /// Name of the reviewer or sub-agent.
    pub(super) name: String,
    /// Part of the change; empty for the whole change.
    pub(super) label: String,
    /// Last tool call; empty before the first.
    pub(super) last_tool_call: String,
    /// Start time, relative to the start of the review.
    pub(super) started_at: Duration,
}

impl ProgressState {
    /// Applies an event. `elapsed` is the time since the start of the review.
    pub(super) fn apply(&mut self, event: &ReviewEvent, elapsed: Duration) {
        match event {
            ReviewEvent::StageStarted { stage } => self.stage = Some(*stage),
            ReviewEvent::Planned { budget, .. } => self.budget = Some(*budget),
            ReviewEvent::TeamChosen { team } => self.team_size = team.len(),
            ReviewEvent::RunStarted { run, label, .. } => {
                if self.stage == Some(Stage::Review) && !is_static(run) {
                    self.started_reviewers.insert(one_line(run));
                }
                let name = one_line(run);
                // A run that waited for a busy server starts again.
                self.runs.retain(|active| active.name != name);
                self.runs.push(ActiveRun {
                    name,
                    label: one_line(label),
                    last_tool_call: String::new(),
                    started_at: elapsed,
                });
            }
            ReviewEvent::ToolCalled { run, tool, about } => {
                let tool_call = one_line(&format!("{tool} {about}"));
                let name = one_line(run);
                if let Some(run) = self.runs.iter_mut().find(|active| active.name == name) {
                    run.last_tool_call = tool_call;
                }
            }
            ReviewEvent::RunEnded { run, findings, failure, .. } => {
                if let Some(failure) = failure {
                    *self.failures.entry(failure.clone()).or_default() += 1;
                }
                let name = one_line(run);
                self.runs.retain(|active| active.name != name);
                self.findings += findings;
            }
            ReviewEvent::Spent { totals } => self.totals = *totals,
            ReviewEvent::StageEnded { .. }
            | ReviewEvent::FileReviewed { .. }
            | ReviewEvent::Refused { .. }
            | ReviewEvent::Warning { .. } => {}
        }
    }

    /// How many reviewers are done, and of how many; `None` outside of the review stage.
    pub(super) fn reviewer_progress(&self) -> Option<(usize, usize)> {
        let is_active = |name: &&String| self.runs.iter().any(|run| run.name == **name);
        let started_count = self.started_reviewers.len();
        let active_count = self.started_reviewers.iter().filter(is_active).count();
        // More runs may start than the panel has reviewers, because a reviewer may have several
        // runs.
        let total = started_count.max(self.team_size);
        (self.stage == Some(Stage::Review) && total > 0)
            .then_some((started_count - active_count, total))
    }
}
