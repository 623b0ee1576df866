//! Where the sub-agents work: starts them side by side, takes in what they bring, answers the orchestrator when all of an
//! order have ended. One that fails or breaks is a row like the others.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::{Semaphore, oneshot};
use tokio::task;
use tokio::task::{JoinError, JoinSet};

use super::answer::answer;
use super::board::Delegation;
use super::orchestrator::{Order, SharedBoard};
use super::scopes::{Divided, Scope};
use super::sub_agent::{Errand, Shared};
use super::{REVIEWER, sub_agent};
use crate::plan::{Assignment, SUB_AGENT};
use crate::runs::RunRecord;

/// Where the sub-agents of one review work.
#[derive(Debug)]
pub(super) struct Floor {
    shared: Shared,
    board: SharedBoard,
    /// A place for each run that may be under way.
    places: Arc<Semaphore>,
    running: JoinSet<RunRecord>,
    errands: HashMap<task::Id, Errand>,
    next_slot: u32,
    pending: Option<Pending>,
    /// Where scopes are not what was wanted.
    pub(super) said: Vec<String>,
    /// Findings that did not fit into an answer.
    pub(super) left_out: usize,
}

/// An order that has not been answered.
#[derive(Debug)]
struct Pending {
    slots: Vec<u32>,
    said: Vec<String>,
    answer: oneshot::Sender<String>,
}

impl Floor {
    /// A floor on which nobody works yet. Slots are counted on after those on the board.
    pub(super) fn new(shared: Shared, board: SharedBoard, first_slot: u32) -> Self {
        let places = Arc::new(Semaphore::new(shared.office.terms.side_by_side.max(1)));
        Self {
            shared,
            board,
            places,
            running: JoinSet::new(),
            errands: HashMap::new(),
            next_slot: first_slot,
            pending: None,
            said: Vec::new(),
            left_out: 0,
        }
    }

    /// Begins what the orchestrator ordered.
    pub(super) fn take(&mut self, order: Order) {
        let Order { divided, delegation, answer } = order;
        // The first answer has what an earlier attempt brought in it as well.
        let earlier = match delegation {
            Delegation::First => self.board.lock().records().map(|(slot, _)| slot).collect(),
            Delegation::Confirming => Vec::new(),
        };
        let said = divided.said.clone();
        let started = self.start(divided, delegation);
        let slots = earlier.into_iter().chain(started).collect();
        self.pending = Some(Pending { slots, said, answer });
        self.answer_if_done();
    }

    /// Starts a sub-agent for each scope; their slots.
    pub(super) fn start(&mut self, divided: Divided, delegation: Delegation) -> Vec<u32> {
        self.said.extend(divided.said);
        let mut slots = Vec::new();
        for scope in divided.scopes {
            let slot = self.next_slot;
            self.next_slot += 1;
            slots.push(slot);
            let errand = Errand { slot, assignment: assignment(slot, scope), delegation };
            let (shared, places, own) = (self.shared.clone(), self.places.clone(), errand.clone());
            let task = self.running.spawn(async move {
                // Nobody closes the places, so that there is always one in the end.
                let _place = places.acquire().await;
                sub_agent::carry_out(shared, own).await
            });
            self.errands.insert(task.id(), errand);
        }
        slots
    }

    /// Whether anybody works.
    pub(super) fn is_busy(&self) -> bool {
        !self.running.is_empty()
    }

    /// Waits for the next sub-agent to end. Nothing is lost if this is not waited for to its end.
    pub(super) async fn next(&mut self) -> Option<Result<(task::Id, RunRecord), JoinError>> {
        self.running.join_next_with_id().await
    }

    /// Takes in a sub-agent that has ended.
    pub(super) fn ended(&mut self, joined: Result<(task::Id, RunRecord), JoinError>) {
        let (errand, record) = match joined {
            Ok((id, record)) => (self.errands.remove(&id), Some(record)),
            Err(error) => (self.errands.remove(&error.id()), None),
        };
        // Every task has its errand.
        let Some(errand) = errand else { return };
        let record = record.unwrap_or_else(|| {
            let broken = errand.broken();
            self.shared.office.ended(&broken);
            broken
        });
        self.board.lock().take(errand.slot, record);
        self.answer_if_done();
    }

    fn answer_if_done(&mut self) {
        let mut board = self.board.lock();
        let is_done = |pending: &mut Pending| {
            pending.slots.iter().all(|slot| board.records().any(|(known, _)| known == *slot))
        };
        let Some(pending) = self.pending.take_if(is_done) else { return };
        let runs = board.records().filter(|(slot, _)| pending.slots.contains(slot));
        let answer = answer(runs, &pending.said);
        self.left_out += answer.left_out;
        board.answered(answer.told);
        // An orchestrator that has gone in the meantime needs no answer.
        drop(pending.answer.send(answer.text));
    }
}

fn assignment(slot: u32, scope: Scope) -> Assignment {
    let Scope { label, why, focus, parts } = scope;
    Assignment {
        name: format!("{SUB_AGENT}{slot}"),
        reviewer: REVIEWER.to_owned(),
        label,
        why,
        focus,
        parts,
    }
}
