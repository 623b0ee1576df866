//! What a review is doing now, as far as its events tell.

use std::collections::BTreeSet;
use std::time::Duration;

use super::on_one_line;
use crh_agent::Totals;
use crh_llm::Money;
use crh_pipeline::events::{Event, Stage};

/// What a review is doing now. Every text in it is safe to show and on one line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct State {
    /// The stage it is in; none before the first.
    pub(super) stage: Option<Stage>,
    /// How many files are under review; none before that is known.
    pub(super) files: Option<usize>,
    /// What it may cost; none before that is known.
    pub(super) budget: Option<Money>,
    /// The files that were marked as reviewed.
    pub(super) reviewed: BTreeSet<String>,
    /// The runs at work, in the order in which they began.
    pub(super) runs: Vec<Running>,
    /// How many findings the ended runs brought.
    pub(super) findings: usize,
    /// What was spent.
    pub(super) totals: Totals,
}

/// A run at work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Running {
    /// The name of its assignment.
    pub(super) name: String,
    /// What it is about; empty if it is about everything.
    pub(super) label: String,
    /// The tool it called last, and with what; empty before the first.
    pub(super) doing: String,
    /// When it began, from the start of the review.
    pub(super) since: Duration,
}

impl State {
    /// Takes in something that happened, at a time from the start of the review.
    pub(super) fn take_in(&mut self, event: &Event, at: Duration) {
        match event {
            Event::StageStarted { stage } => self.stage = Some(*stage),
            Event::Planned { files, budget } => {
                self.files = Some(*files);
                self.budget = Some(*budget);
            }
            Event::RunStarted { run, label, .. } => self.runs.push(Running {
                name: on_one_line(run),
                label: on_one_line(label),
                doing: String::new(),
                since: at,
            }),
            Event::ToolCalled { run, tool, about } => {
                let doing = on_one_line(&format!("{tool} {about}"));
                let name = on_one_line(run);
                if let Some(run) = self.runs.iter_mut().find(|running| running.name == name) {
                    run.doing = doing;
                }
            }
            Event::FileReviewed { path } => {
                self.reviewed.insert(path.clone());
            }
            Event::RunEnded { run, findings, .. } => {
                let name = on_one_line(run);
                self.runs.retain(|running| running.name != name);
                self.findings += findings;
            }
            Event::Spent { totals } => self.totals = *totals,
            Event::StageEnded { .. }
            | Event::TeamChosen { .. }
            | Event::Refused { .. }
            | Event::Warning { .. } => {}
        }
    }

    /// How many files were reviewed. Marks of files that are not under review do not make it more than all.
    pub(super) fn done(&self) -> usize {
        self.reviewed.len().min(self.files.unwrap_or(usize::MAX))
    }
}
