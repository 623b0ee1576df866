//! The `delegate` strategy: an orchestrator groups the files into scopes, sub-agents review them in
//! parallel, and the orchestrator decides about their findings.
//!
//! Code enforces the rules (`agent_rules.rs`, `scopes.rs`, `board.rs`); nothing depends on a model
//! following its instructions. Every file is assigned to a sub-agent or reported as not reviewed,
//! and no finding is lost.

mod agent_rules;
mod agent_tools;
mod answer;
mod board;
mod files;
mod orchestrator;
mod resume;
mod scopes;
mod sub_agent;
mod sub_agent_pool;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;
use tokio::sync::mpsc;

use self::agent_rules::AgentRules;
use self::agent_tools::{AgentTools, UnmarkedParts};
use self::board::{Delegation, DelegationState, OrchestratorSubmission};
use self::files::{DelegateFile, DelegateFiles};
use self::orchestrator::{OrchestratorTools, SharedBoard};
use self::resume::EarlierAttempt;
use self::sub_agent::SubAgentContext;
use self::sub_agent_pool::SubAgentPool;
use crate::assignment::{Assignment, DiffPart};
use crate::events::ReviewEvent;
use crate::review_context::ReviewContext;
use crate::runs::{RunEnd, RunRecord, RunResults, STOPPED_BEFORE_FILE, milliseconds};
use crh_agent::{AgentOutcome, FinishedRun};
use crh_llm::ModelError;
use crh_review::report::{CoverageState, FileCoverage};

/// Reviews the files of the orchestrator's assignment.
pub async fn delegate(ctx: &ReviewContext, assignment: &Assignment) -> RunResults {
    let files = Arc::new(DelegateFiles::from_assignment(&ctx.change, assignment));
    let earlier = EarlierAttempt::from_records(ctx.journal.completed_runs(), &assignment.name);
    if let Some(finished) = earlier.finished_runs(&files) {
        return finished;
    }
    let mut session = DelegateSession::new(ctx, assignment, files, &earlier);
    let finished = session.run_orchestrator(&earlier.done_parts).await;
    let delegation_state = session.board.lock().state();
    if delegation_state == DelegationState::Never && can_continue(&finished.end.outcome) {
        session
            .notes
            .push("the orchestrator did not delegate; crh assigned all files itself".to_owned());
        let division = session.files.divide(&[], &earlier.done_parts);
        session.pool.start(division, Delegation::First);
    }
    while let Some(joined) = session.pool.next().await {
        session.pool.finish(joined);
    }
    session.finish(finished)
}

/// Whether sub-agents can still succeed after the orchestrator failed. They cannot if the failure
/// affects all runs, such as an invalid API key or an unknown model: they ask the same model, with
/// the same tools.
fn can_continue(outcome: &AgentOutcome<OrchestratorSubmission>) -> bool {
    match outcome {
        AgentOutcome::Cancelled => false,
        AgentOutcome::Model(error) => match error {
            ModelError::BadKey { .. }
            | ModelError::NoKey { .. }
            | ModelError::NoCredit { .. }
            | ModelError::BadRequest { .. }
            | ModelError::Loading { .. }
            | ModelError::NoServer { .. } => false,
            ModelError::RateLimited { .. }
            | ModelError::Overloaded { .. }
            | ModelError::Stalled { .. }
            | ModelError::Broken { .. }
            | ModelError::ContextFull { .. }
            | ModelError::Refused { .. }
            | ModelError::CutStream { .. }
            | ModelError::Transport { .. }
            | ModelError::PromptCut { .. }
            | ModelError::EndlessReply { .. }
            | ModelError::NotRecorded { .. } => true,
        },
        AgentOutcome::Answered(_)
        | AgentOutcome::NoAnswer
        | AgentOutcome::BadAnswer(_)
        | AgentOutcome::Stuck
        | AgentOutcome::OutOfBudget(_)
        | AgentOutcome::ContextFull(_)
        | AgentOutcome::Aborted(_) => true,
    }
}

/// A running delegated review.
struct DelegateSession<'a> {
    ctx: &'a ReviewContext,
    assignment: &'a Assignment,
    files: Arc<DelegateFiles>,
    board: SharedBoard,
    pool: SubAgentPool,
    orchestrator_tools: Arc<AgentTools>,
    notes: Vec<String>,
}

impl<'a> DelegateSession<'a> {
    fn new(
        ctx: &'a ReviewContext,
        assignment: &'a Assignment,
        files: Arc<DelegateFiles>,
        earlier: &EarlierAttempt,
    ) -> Self {
        let unmarked_parts = Arc::new(UnmarkedParts::new(&files, &earlier.done_parts));
        for path in unmarked_parts.take_finished_files() {
            ctx.journal.emit(ReviewEvent::FileReviewed { path });
        }
        let board = SharedBoard::default();
        for (slot, record) in &earlier.completed_runs {
            board.lock().add_record(*slot, record.clone());
        }
        let shared = SubAgentContext { review: ctx.clone(), files: files.clone(), unmarked_parts };
        let pool = SubAgentPool::new(shared, board.clone(), earlier.next_slot);
        let orchestrator_tools =
            Arc::new(AgentTools::new(ctx, &assignment.name, AgentRules::orchestrator()));
        Self { ctx, assignment, files, board, pool, orchestrator_tools, notes: Vec::new() }
    }

    /// Runs the orchestrator and the sub-agents that it starts. Some sub-agents may still run
    /// afterwards.
    async fn run_orchestrator(
        &mut self,
        done_parts: &BTreeSet<DiffPart>,
    ) -> FinishedRun<OrchestratorSubmission> {
        let Self { ctx, assignment, files, board, pool, orchestrator_tools, .. } = self;
        let Assignment { name, label, .. } = assignment;
        let (run, label) = (name.clone(), label.clone());
        ctx.journal.emit(ReviewEvent::RunStarted { run, label, files: files.iter().count() });
        let (orders, mut incoming_orders) = mpsc::channel(1);
        let tools = OrchestratorTools {
            tools: orchestrator_tools.clone(),
            files: files.clone(),
            done_parts: done_parts.clone(),
            board: board.clone(),
            orders,
        };
        let mut orchestrator = Box::pin(orchestrator::run(ctx, name, tools));
        let finished = loop {
            tokio::select! {
                finished_run = &mut orchestrator => break finished_run,
                Some(order) = incoming_orders.recv() => pool.accept(order),
                Some(joined) = pool.next(), if pool.is_busy() => pool.finish(joined),
            }
        };
        // Accept orders that arrived just before the end.
        while let Ok(order) = incoming_orders.try_recv() {
            pool.accept(order);
        }
        finished
    }

    /// Builds the results. The orchestrator's record has its groups as the answer.
    fn finish(mut self, finished: FinishedRun<OrchestratorSubmission>) -> RunResults {
        let mut record = RunRecord::new(self.assignment.clone());
        record.ended = RunEnd::from_run(&finished);
        record.took_ms = milliseconds(finished.duration);
        record.add_usage(&finished, self.ctx.models.reviewer.name());
        let board = std::mem::take(&mut *self.board.lock());
        if let RunEnd::Failed(why) = &record.ended {
            if board.records().next().is_some() {
                self.notes.push(format!(
                    "the orchestrator did not submit ({why}); all findings are kept"
                ));
            }
            // If the orchestrator submitted, its work is complete, even near a limit.
            record.limited = finished.end.limit_reached;
        }
        if let AgentOutcome::Answered(submission) = finished.end.outcome {
            record.answer = json!(submission.groups);
            record.summary = submission.summary;
        }
        let unseen_findings = match self.pool.left_out {
            0 => None,
            1 => Some("1 finding was".to_owned()),
            count => Some(format!("{count} findings were")),
        };
        self.notes.extend(unseen_findings.map(|findings| {
            format!("{findings} not shown to the orchestrator for lack of room, and kept")
        }));
        record.coverage =
            uncovered_files(&self.files, board.records().map(|(_, record)| record), &record);
        record.notes = self.orchestrator_tools.rules().notes();
        record.notes.append(&mut self.pool.scope_notes);
        self.ctx.finish_run(&record);
        let records = std::iter::once(record).chain(board.into_records()).collect();
        RunResults { records, notes: self.notes }
    }
}

/// Files with a part that no sub-agent covered.
fn uncovered_files<'a>(
    files: &DelegateFiles,
    records: impl Iterator<Item = &'a RunRecord>,
    orchestrator: &RunRecord,
) -> Vec<FileCoverage> {
    let mut assigned_parts: BTreeSet<&DiffPart> = BTreeSet::new();
    for record in records {
        let covers = |part: &&DiffPart| record.coverage.iter().any(|file| file.path == part.path);
        assigned_parts.extend(record.assignment.parts.iter().filter(covers));
    }
    let has_unassigned_part = |file: &&DelegateFile| {
        file.pieces.iter().any(|piece| !assigned_parts.contains(&piece.part))
    };
    let reason = match orchestrator.ended {
        RunEnd::Cancelled => STOPPED_BEFORE_FILE.to_owned(),
        RunEnd::Failed(_) | RunEnd::Completed => format!("{} failed", orchestrator.assignment.name),
    };
    let file_coverage = |file: &DelegateFile| FileCoverage {
        path: file.path.clone(),
        state: CoverageState::NotReviewed,
        reason: reason.clone(),
    };
    files.iter().filter(has_unassigned_part).map(file_coverage).collect()
}

#[cfg(test)]
mod tests;
