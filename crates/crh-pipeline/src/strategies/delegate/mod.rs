//! `delegate`: an orchestrator groups the files of a change into scopes, a sub-agent reviews each of them, side by side,
//! and the orchestrator decides about what they found.
//!
//! What each may do is decided by code (`conduct.rs`, `scopes.rs`, `board.rs`); nothing depends on a model following its
//! instructions. Every file of the assignment is given to a sub-agent, and what a sub-agent found stays, whatever the
//! orchestrator does or fails to do.

mod answer;
mod board;
#[path = "agent_rules.rs"]
mod conduct;
#[path = "agent_tools.rs"]
mod desk;
mod files;
#[path = "sub_agent_pool.rs"]
mod floor;
mod orchestrator;
mod resume;
mod scopes;
mod sub_agent;

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::mpsc;

use self::board::{Delegated, Delegation, Submission};
use self::conduct::Conduct;
use self::desk::{Desk, Marks};
use self::files::{File, Files};
use self::floor::Floor;
use self::orchestrator::{OrchestratorTools, SharedBoard};
use self::resume::Earlier;
use self::sub_agent::Shared;
use crate::events::Event;
use crate::office::Office;
use crate::plan::{Assignment, Part};
use crate::runs::{RunEnd, RunRecord, Runs, milliseconds};
use crh_agent::{Driven, Outcome};
use crh_llm::ModelError;
use crh_review::report::{CoverageState, FileCoverage};

/// Whose opinion the findings of all sub-agents are.
const REVIEWER: &str = "delegate";

/// Reviews the files of the orchestrator's assignment.
pub async fn delegate(office: &Office, assignment: &Assignment) -> Runs {
    let files = Arc::new(Files::of(&office.subject, assignment));
    let earlier = Earlier::of(office.journal.earlier(), &assignment.name);
    if let Some(finished) = earlier.finished(&files) {
        return finished;
    }
    let mut session = Session::new(office, assignment, files, &earlier);
    let driven = session.orchestrated(&earlier.done).await;
    let delegated = session.board.lock().delegated();
    if delegated == Delegated::Never && may_go_on(office, &driven.ended.outcome) {
        session.notes.push("the orchestrator did not delegate: code gave all files out".to_owned());
        let divided = session.files.divided(&[], &earlier.done);
        session.floor.start(divided, Delegation::First);
    }
    while let Some(joined) = session.floor.next().await {
        session.floor.ended(joined);
    }
    session.finished(driven)
}

/// Whether sub-agents may succeed where the orchestrator could not: not if what failed is the same for all.
fn may_go_on(office: &Office, outcome: &Outcome<Submission>) -> bool {
    match outcome {
        Outcome::Cancelled => false,
        Outcome::Model(error) => match error {
            ModelError::BadKey { .. } | ModelError::NoCredit { .. } => false,
            // Without a price nobody may be asked.
            ModelError::BadRequest { .. } => office.crew.reviewer.facts().price.is_some(),
            ModelError::RateLimited { .. }
            | ModelError::Overloaded { .. }
            | ModelError::Broken { .. }
            | ModelError::ContextFull { .. }
            | ModelError::Refused { .. }
            | ModelError::CutStream { .. }
            | ModelError::Transport { .. }
            | ModelError::NotRecorded { .. } => true,
        },
        Outcome::Answered(_)
        | Outcome::NoAnswer
        | Outcome::BadAnswer(_)
        | Outcome::Stuck
        | Outcome::OutOfBudget(_)
        | Outcome::ContextFull
        | Outcome::Aborted(_) => true,
    }
}

/// One delegated review under way.
struct Session<'a> {
    office: &'a Office,
    assignment: &'a Assignment,
    files: Arc<Files>,
    board: SharedBoard,
    floor: Floor,
    /// The orchestrator's.
    desk: Arc<Desk>,
    notes: Vec<String>,
}

impl<'a> Session<'a> {
    fn new(
        office: &'a Office,
        assignment: &'a Assignment,
        files: Arc<Files>,
        earlier: &Earlier,
    ) -> Self {
        let marks = Arc::new(Marks::new(&files, &earlier.done));
        for path in marks.done() {
            office.journal.tell(Event::FileReviewed { path });
        }
        let board = SharedBoard::default();
        for (slot, record) in &earlier.completed {
            board.lock().take(*slot, record.clone());
        }
        let shared = Shared { office: office.clone(), files: files.clone(), marks };
        let floor = Floor::new(shared, board.clone(), earlier.next_slot);
        let desk = Arc::new(Desk::new(office, &assignment.name, Conduct::orchestrator()));
        Self { office, assignment, files, board, floor, desk, notes: Vec::new() }
    }

    /// Runs the orchestrator to its end, and the sub-agents that it orders. Some of these may still be at work.
    async fn orchestrated(&mut self, done: &BTreeSet<Part>) -> Driven<Submission> {
        let Self { office, assignment, files, board, floor, desk, .. } = self;
        let Assignment { name, label, .. } = assignment;
        let (run, label) = (name.clone(), label.clone());
        office.journal.tell(Event::RunStarted { run, label, files: files.iter().count() });
        let (orders, mut inbox) = mpsc::channel(1);
        let tools = OrchestratorTools {
            desk: desk.clone(),
            files: files.clone(),
            done: done.clone(),
            board: board.clone(),
            orders,
        };
        let mut orchestrator = Box::pin(orchestrator::run(office, name, tools));
        let driven = loop {
            tokio::select! {
                driven = &mut orchestrator => break driven,
                Some(order) = inbox.recv() => floor.take(order),
                Some(joined) = floor.next(), if floor.is_busy() => floor.ended(joined),
            }
        };
        // An order of the last moment counts like any other.
        while let Ok(order) = inbox.try_recv() {
            floor.take(order);
        }
        driven
    }

    /// What came of the review.
    fn finished(mut self, driven: Driven<Submission>) -> Runs {
        let mut record = RunRecord::begun(self.assignment.clone());
        record.ended = RunEnd::of(&driven.ended.outcome);
        record.took_ms = milliseconds(driven.took);
        record.book(&driven, self.office.crew.reviewer.name());
        let mut board = std::mem::take(&mut *self.board.lock());
        if let RunEnd::Failed(why) = &record.ended {
            if board.records().next().is_some() {
                self.notes.push(format!(
                    "the orchestrator did not submit ({why}): the review was submitted by code, and every finding is kept"
                ));
            }
            // What it did until then is complete if it submitted, whatever limit was near.
            record.limited = driven.ended.limited;
        }
        if let Outcome::Answered(submission) = driven.ended.outcome {
            let changed = board.settle(&submission);
            for (_, changed) in board.records().filter(|(slot, _)| changed.contains(slot)) {
                self.office.journal.keep(changed);
            }
            record.summary = submission.summary;
        }
        let told_nobody = match self.floor.left_out {
            0 => None,
            1 => Some("1 finding was".to_owned()),
            count => Some(format!("{count} findings were")),
        };
        self.notes.extend(told_nobody.map(|findings| {
            format!("{findings} too many for the orchestrator to see: kept without its decision")
        }));
        record.coverage =
            uncovered(&self.files, board.records().map(|(_, record)| record), &record);
        record.notes = self.desk.conduct().notes();
        record.notes.append(&mut self.floor.said);
        self.office.ended(&record);
        let records = std::iter::once(record).chain(board.into_records()).collect();
        Runs { records, notes: self.notes }
    }
}

/// The files of which some part was given to nobody.
fn uncovered<'a>(
    files: &Files,
    records: impl Iterator<Item = &'a RunRecord>,
    orchestrator: &RunRecord,
) -> Vec<FileCoverage> {
    let mut given: BTreeSet<&Part> = BTreeSet::new();
    for record in records {
        let covers = |part: &&Part| record.coverage.iter().any(|file| file.path == part.path);
        given.extend(record.assignment.parts.iter().filter(covers));
    }
    let is_left = |file: &&File| file.pieces.iter().any(|piece| !given.contains(&piece.part));
    let reason = match orchestrator.ended {
        RunEnd::Cancelled => "the review was stopped first".to_owned(),
        RunEnd::Failed(_) | RunEnd::Completed => format!("{} failed", orchestrator.assignment.name),
    };
    let row = |file: &File| FileCoverage {
        path: file.path.clone(),
        state: CoverageState::NotReviewed,
        reason: reason.clone(),
    };
    files.iter().filter(is_left).map(row).collect()
}

#[cfg(test)]
mod tests;
