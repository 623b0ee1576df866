//! Current state of a review, derived from its events.

use std::collections::BTreeSet;
use std::time::Duration;

use super::one_line;
use crh_agent::UsageTotals;
use crh_llm::Money;
use crh_pipeline::events::{ReviewEvent, Stage};

/// Current state of a review. All texts are escaped and on one line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ProgressState {
    pub(super) stage: Option<Stage>,
    /// Number of files under review; none before planning.
    pub(super) files: Option<usize>,
    /// Cost limit; none before planning.
    pub(super) budget: Option<Money>,
    /// Files marked as reviewed.
    pub(super) reviewed: BTreeSet<String>,
    /// Active runs, oldest first.
    pub(super) runs: Vec<ActiveRun>,
    /// Findings of finished runs.
    pub(super) findings: usize,
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
            ReviewEvent::Planned { files, budget } => {
                self.files = Some(*files);
                self.budget = Some(*budget);
            }
            ReviewEvent::RunStarted { run, label, .. } => self.runs.push(ActiveRun {
                name: one_line(run),
                label: one_line(label),
                last_tool_call: String::new(),
                started_at: elapsed,
            }),
            ReviewEvent::ToolCalled { run, tool, about } => {
                let tool_call = one_line(&format!("{tool} {about}"));
                let name = one_line(run);
                if let Some(run) = self.runs.iter_mut().find(|active| active.name == name) {
                    run.last_tool_call = tool_call;
                }
            }
            ReviewEvent::FileReviewed { path } => {
                self.reviewed.insert(path.clone());
            }
            ReviewEvent::RunEnded { run, findings, .. } => {
                let name = one_line(run);
                self.runs.retain(|active| active.name != name);
                self.findings += findings;
            }
            ReviewEvent::Spent { totals } => self.totals = *totals,
            ReviewEvent::StageEnded { .. }
            | ReviewEvent::TeamChosen { .. }
            | ReviewEvent::Refused { .. }
            | ReviewEvent::Warning { .. } => {}
        }
    }

    /// Number of reviewed files, at most the number of files under review.
    pub(super) fn reviewed_count(&self) -> usize {
        self.reviewed.len().min(self.files.unwrap_or(usize::MAX))
    }
}
