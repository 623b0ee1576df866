//! Runs sub-agents in parallel, collects their records, and answers the orchestrator when all
//! sub-agents of an order have ended. A sub-agent that fails or panics becomes a record like the
//! others.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::{Semaphore, oneshot};
use tokio::task;
use tokio::task::{JoinError, JoinSet};

use super::answer::build_answer;
use super::board::Delegation;
use super::orchestrator::{SharedBoard, WorkOrder};
use super::scopes::{AgentScope, ScopeDivision};
use super::sub_agent;
use super::sub_agent::{REVIEWER, SubAgentContext, SubAgentTask};
use crate::assignment::{Assignment, SUB_AGENT};
use crate::runs::RunRecord;

/// The sub-agents of one review.
#[derive(Debug)]
pub(super) struct SubAgentPool {
    shared: SubAgentContext,
    board: SharedBoard,
    /// Limits parallel runs.
    permits: Arc<Semaphore>,
    running_agents: JoinSet<RunRecord>,
    tasks: HashMap<task::Id, SubAgentTask>,
    /// Number of the next sub-agent.
    next_slot: u32,
    pending_order: Option<PendingOrder>,
    /// Sentences on how the scopes differ from those that the orchestrator requested.
    pub(super) scope_notes: Vec<String>,
    /// Number of findings that did not fit into an answer.
    pub(super) left_out: usize,
}

/// An order that was not answered yet.
#[derive(Debug)]
struct PendingOrder {
    /// Numbers of the sub-agents whose reports the answer contains.
    slots: Vec<u32>,
    notes: Vec<String>,
    answer_sender: oneshot::Sender<String>,
}

impl SubAgentPool {
    /// An empty pool. Slots continue after those on the board.
    pub(super) fn new(shared: SubAgentContext, board: SharedBoard, first_slot: u32) -> Self {
        let permits = Arc::new(Semaphore::new(shared.review.options.max_parallel.max(1)));
        Self {
            shared,
            board,
            permits,
            running_agents: JoinSet::new(),
            tasks: HashMap::new(),
            next_slot: first_slot,
            pending_order: None,
            scope_notes: Vec::new(),
            left_out: 0,
        }
    }

    /// Starts the sub-agents of an order.
    pub(super) fn accept(&mut self, order: WorkOrder) {
        let WorkOrder { division, delegation, answer_sender } = order;
        // The first answer also includes the results of an earlier attempt.
        let earlier_slots = match delegation {
            Delegation::First => self.board.lock().records().map(|(slot, _)| slot).collect(),
            Delegation::Confirming => Vec::new(),
        };
        let notes = division.notes.clone();
        let started_slots = self.start(division, delegation);
        let slots = earlier_slots.into_iter().chain(started_slots).collect();
        self.pending_order = Some(PendingOrder { slots, notes, answer_sender });
        self.answer_if_done();
    }

    /// Starts a sub-agent per scope and returns the slots.
    pub(super) fn start(&mut self, division: ScopeDivision, delegation: Delegation) -> Vec<u32> {
        self.scope_notes.extend(division.notes);
        let mut slots = Vec::new();
        for scope in division.scopes {
            let slot = self.next_slot;
            self.next_slot += 1;
            slots.push(slot);
            let sub_task = SubAgentTask { slot, assignment: assignment(slot, scope), delegation };
            let (shared, permits, own_task) =
                (self.shared.clone(), self.permits.clone(), sub_task.clone());
            let task = self.running_agents.spawn(async move {
                // The semaphore is never closed, so this always returns a permit.
                let _permit = permits.acquire().await;
                sub_agent::run(shared, own_task).await
            });
            self.tasks.insert(task.id(), sub_task);
        }
        slots
    }

    /// Whether sub-agents are running.
    pub(super) fn is_busy(&self) -> bool {
        !self.running_agents.is_empty()
    }

    /// Waits for the next sub-agent to end. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Result<(task::Id, RunRecord), JoinError>> {
        self.running_agents.join_next_with_id().await
    }

    /// Records a finished sub-agent.
    pub(super) fn finish(&mut self, join_result: Result<(task::Id, RunRecord), JoinError>) {
        let (sub_task, record) = match join_result {
            Ok((id, record)) => (self.tasks.remove(&id), Some(record)),
            Err(error) => (self.tasks.remove(&error.id()), None),
        };
        // `start` adds an entry for every task, so this never returns early.
        let Some(sub_task) = sub_task else { return };
        let record = record.unwrap_or_else(|| {
            let failed_record = sub_task.panicked_record();
            self.shared.review.finish_run(&failed_record);
            failed_record
        });
        self.board.lock().add_record(sub_task.slot, record);
        self.answer_if_done();
    }

    fn answer_if_done(&mut self) {
        let mut board = self.board.lock();
        let is_done = |pending: &mut PendingOrder| {
            pending.slots.iter().all(|slot| board.records().any(|(known, _)| known == *slot))
        };
        let Some(pending) = self.pending_order.take_if(is_done) else { return };
        let runs = board.records().filter(|(slot, _)| pending.slots.contains(slot));
        let answer = build_answer(runs, &pending.notes);
        self.left_out += answer.left_out;
        board.mark_answered(answer.shown_ids);
        // The orchestrator may have ended already.
        drop(pending.answer_sender.send(answer.text));
    }
}

fn assignment(slot: u32, scope: AgentScope) -> Assignment {
    let AgentScope { label, why, focus, parts } = scope;
    Assignment {
        name: format!("{SUB_AGENT}{slot}"),
        reviewer: REVIEWER.to_owned(),
        label,
        why,
        focus,
        parts,
    }
}
