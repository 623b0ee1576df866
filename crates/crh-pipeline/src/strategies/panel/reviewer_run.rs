//! One reviewer of a panel: looks at its part through its lens, and reports once.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;

use super::gates;
use super::warmth::Place;
use crate::events::Event;
use crate::office::{Office, turned_away};
use crate::plan::{Assignment, Part, TURN_TOKENS};
use crate::prompts::{LensBrief, Prompts};
use crate::reviewers::{Returns, Reviewer};
use crate::runs::{RunEnd, RunRecord, milliseconds};
use crate::tools::session::{
    ReportFindings, ReportNotes, SessionTool, lens_spec, read, read_report,
};
use crate::tools::{ReadingTools, session};
use crh_agent::{Driven, Limits, Outcome, Purpose, Run, Submit, Task, Watch, drive};
use crh_llm::Model;
use crh_review::Parsed;
use crh_review::report::{CoverageState, FileCoverage};

/// Turns of one reviewer: the diff is in front of it, so that it looks a few things up, several at a time, and reports.
const TURNS: u32 = 20;
/// Calls of tools: a look or two at each candidate, and it has few.
const TOOL_CALLS: u32 = 60;
/// Tokens over all turns, so that one that runs away does not take everything; the ledger has the say about all together.
const TOKENS: u64 = 1_500_000;

/// A reviewer in its place.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) assignment: Assignment,
    pub(super) reviewer: Reviewer,
    pub(super) intent: String,
    /// What it is given besides the change, fenced.
    pub(super) given: String,
    pub(super) prompts: Arc<Prompts>,
    pub(super) model: Model,
    pub(super) warmth: Place,
}

/// What came of one sitting.
pub(super) enum Sitting {
    /// It returned, or never will.
    Ended(RunRecord),
    /// The vendor has no capacity: it is to be tried again after a wait. The record has what was used so far.
    TurnedAway(RunRecord, Duration),
}

/// What a reviewer brought.
#[derive(Debug, Clone)]
enum Brought {
    Findings(Box<Parsed>),
    Notes(ReportNotes),
}

/// A report that was sent back once. If no other comes, it is the report.
type Held = Arc<Mutex<Option<Parsed>>>;

/// Lets a reviewer look, on top of what it used before.
pub(super) async fn sit(office: &Office, seat: &Seat, before: RunRecord) -> Sitting {
    let Seat { assignment, reviewer, prompts, model, .. } = seat;
    let name = &assignment.name;
    let (run, label) = (name.clone(), assignment.label.clone());
    let files = assignment.parts.len();
    office.journal.tell(Event::RunStarted { run, label, files });
    let known = office.found.in_files(&assignment.parts).await;
    let (intent, given) = (seat.intent.as_str(), seat.given.as_str());
    let brief = LensBrief { reviewer, assignment, intent, given };
    let held = Held::default();
    let task = Task {
        caller: name.clone(),
        conversation: prompts.conversation(&prompts.lens(&brief, &known)),
        tools: prompts.tools(),
        submit: submit(reviewer, held.clone()),
        purpose: Purpose::Work,
        max_output_tokens: TURN_TOKENS,
        temperature: None,
        effort: None,
    };
    let ends_with = match reviewer.returns {
        Returns::Findings => ReportFindings::NAME,
        Returns::Notes(_) => ReportNotes::NAME,
    };
    let tools = ReadingTools::new(office, name, "for a reviewer with a lens", ends_with);
    let mut means = office.means(name, model, tools);
    let opener = seat.warmth.opener();
    means.watch = Watch::new(move |_| opener.open());
    let driven =
        Box::pin(drive(Run::new(task, limits(office, &before), model.facts()), &means)).await;
    seat.warmth.open();
    let held = held.lock().unwrap_or_else(PoisonError::into_inner).take();
    match turned_away(&driven.ended.outcome, office.working_time()) {
        Some(wait) if held.is_none() => {
            let mut so_far = before;
            so_far.book(&driven, model.name());
            so_far.took_ms = so_far.took_ms.saturating_add(milliseconds(driven.took));
            Sitting::TurnedAway(so_far, wait)
        }
        Some(_) | None => Sitting::Ended(record(seat, before, driven, held)),
    }
}

/// How far a sitting may go: what was used in earlier ones is not there again.
fn limits(office: &Office, before: &RunRecord) -> Limits {
    let used = &before.totals;
    Limits {
        turns: TURNS,
        tool_calls: TOOL_CALLS.saturating_sub(used.tool_calls),
        tokens: TOKENS.saturating_sub(used.usage.input + used.usage.output),
        money: office.terms.allowance.money,
        wall: office.working_time(),
    }
}

/// How a reviewer reports: findings that only ask to consider something go back once.
fn submit(reviewer: &Reviewer, held: Held) -> Submit<Brought> {
    match reviewer.returns {
        Returns::Findings => {
            let name = reviewer.name.clone();
            Submit::new(lens_spec(), move |value| {
                let parsed = read_report(value, &name)?;
                let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
                match gates::sent_back(&parsed) {
                    Some(told) if held.is_none() => {
                        *held = Some(parsed);
                        Err(told)
                    }
                    Some(_) | None => Ok(Brought::Findings(Box::new(parsed))),
                }
            })
        }
        Returns::Notes(_) => Submit::new(session::spec::<ReportNotes>(), |value| {
            read::<ReportNotes>(value).map(Brought::Notes)
        }),
    }
}

fn record(
    seat: &Seat,
    before: RunRecord,
    driven: Driven<Brought>,
    held: Option<Parsed>,
) -> RunRecord {
    let mut record = before;
    record.book(&driven, seat.model.name());
    record.took_ms = record.took_ms.saturating_add(milliseconds(driven.took));
    record.limited = driven.ended.limited;
    record.ended = match RunEnd::of(&driven.ended.outcome) {
        RunEnd::Failed(why) if held.is_some() => {
            record.notes.push(format!("its report that was sent back counts: {why}"));
            RunEnd::Completed
        }
        ended @ (RunEnd::Completed | RunEnd::Failed(_) | RunEnd::Cancelled) => ended,
    };
    record.coverage = coverage(seat, &record.ended);
    let brought = match driven.ended.outcome {
        Outcome::Answered(brought) => Some(brought),
        _ => held.map(|parsed| Brought::Findings(Box::new(parsed))),
    };
    match brought {
        Some(Brought::Findings(parsed)) => {
            let (parsed, notes) = gates::passed(*parsed, &seat.reviewer);
            record.notes.extend(notes);
            record.members = parsed.members;
            record.set_aside = parsed.set_aside;
            record.residual_risks = parsed.residual_risks;
            record.testing_gaps = parsed.testing_gaps;
            record.summary = parsed.summary;
        }
        Some(Brought::Notes(ReportNotes { notes, summary })) => {
            let (notes, said) = gates::notes(notes, &seat.reviewer);
            record.notes.extend(said);
            record.answer = json!(notes);
            record.summary = summary;
        }
        None => {}
    }
    record
}

/// What was reviewed of each file. Whoever writes notes has reviewed none.
fn coverage(seat: &Seat, ended: &RunEnd) -> Vec<FileCoverage> {
    match seat.reviewer.returns {
        Returns::Findings => {}
        Returns::Notes(_) => return Vec::new(),
    }
    let name = &seat.assignment.name;
    let (state, reason) = match ended {
        RunEnd::Completed => (CoverageState::Reviewed, String::new()),
        RunEnd::Failed(_) => (CoverageState::NotReviewed, format!("{name} failed")),
        RunEnd::Cancelled => {
            (CoverageState::NotReviewed, "the review was stopped first".to_owned())
        }
    };
    let row = |part: &Part| match state {
        CoverageState::Reviewed if !seat.prompts.shows_diff_of(&part.path) => FileCoverage {
            path: part.path.clone(),
            state: CoverageState::Truncated,
            reason: "a line of it is too long for a prompt".to_owned(),
        },
        _ => FileCoverage { path: part.path.clone(), state, reason: reason.clone() },
    };
    seat.assignment.parts.iter().map(row).collect()
}
