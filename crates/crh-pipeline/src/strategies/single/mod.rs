//! `single`: one reviewer on the whole change in one call, then one bounded round for what it was unsure of.
//!
//! The first call is a draft. If something in it is doubtful, code looks at other code for it and the model is asked
//! once more: what it says of each finding decides, and it may add what it finds. What the budget has no room for is
//! left out and noted; the draft stands by itself.

mod answer;
#[path = "question.rs"]
mod asking;
mod context;
mod doubts;
#[path = "context_lookups.rs"]
mod looks;
mod material;
#[path = "budget.rs"]
mod purse;
#[path = "second_round.rs"]
mod round;
#[cfg(test)]
mod sample;
mod verdicts;

use tokio::time::Instant;

use self::answer::{Draft, read_draft, submit_spec};
use self::asking::{Question, TURNS, ask, begin};
use self::material::{Material, material};
use self::purse::{draft_room, output_tokens};
use self::round::look_again;
use crate::events::Event;
use crate::office::Office;
use crate::plan::Assignment;
use crate::runs::{RunEnd, RunRecord, Runs, milliseconds};
use crh_agent::{Driven, Outcome, Purpose, Submit};
use crh_review::report::CoverageState;

/// Reviews the whole change as one assignment. One that was completed in an earlier attempt is not paid for again.
pub async fn single(office: &Office, assignment: &Assignment) -> Runs {
    let is_done =
        |run: &&RunRecord| run.assignment == *assignment && run.ended == RunEnd::Completed;
    if let Some(done) = office.journal.earlier().iter().find(is_done) {
        return Runs { records: vec![done.clone()], notes: Vec::new() };
    }
    let start = Instant::now();
    // A future of two agent runs is large, and this one lies inside others.
    let mut record = Box::pin(reviewed(office, assignment)).await;
    record.took_ms = milliseconds(start.elapsed());
    office.journal.keep(&record);
    Runs { records: vec![record], notes: Vec::new() }
}

async fn reviewed(office: &Office, assignment: &Assignment) -> RunRecord {
    let (allowance, model) = (&office.terms.allowance, &office.crew.reviewer);
    let output = output_tokens(allowance, model.facts());
    let room = draft_room(allowance, model.facts(), output);
    let known = office.found.in_files(&assignment.parts).await;
    let Material { prompts, text, notes, coverage } = material(office, assignment, &known, room);
    begin(office, &assignment.name, assignment);
    let reviewer = assignment.reviewer.clone();
    let question = Question {
        caller: &assignment.name,
        model,
        conversation: prompts.conversation(&prompts.single(&text, &known)),
        submit: Submit::new(submit_spec(), move |value| read_draft(value, &reviewer)),
        purpose: Purpose::Work,
        turns: allowance.llm_calls.min(TURNS),
        output,
    };
    let driven = ask(office, question, |draft| draft.parsed.members.len()).await;
    let mut record = begun(assignment, &driven);
    record.notes = notes;
    record.book(&driven, model.name());
    if let Outcome::Answered(draft) = driven.ended.outcome {
        record.coverage = coverage;
        tell_reviewed(office, &record);
        let Draft { parsed, requests, notes } = draft;
        record.members = parsed.members;
        record.set_aside = parsed.set_aside;
        record.residual_risks = parsed.residual_risks;
        record.testing_gaps = parsed.testing_gaps;
        record.summary = parsed.summary;
        record.notes.extend(notes);
        look_again(office, &prompts, &mut record, &requests).await;
    }
    record
}

/// The record of the first call, without what it brought.
fn begun(assignment: &Assignment, driven: &Driven<Draft>) -> RunRecord {
    let assignment = assignment.clone();
    match RunEnd::of(&driven.ended.outcome) {
        // An answer in the last turn there was is as whole as any: there are no tools whose use was cut short.
        RunEnd::Completed => RunRecord::begun(assignment),
        RunEnd::Cancelled => {
            let mut stopped = RunRecord::failed(assignment, "");
            stopped.ended = RunEnd::Cancelled;
            for file in &mut stopped.coverage {
                "the review was stopped".clone_into(&mut file.reason);
            }
            stopped
        }
        RunEnd::Failed(why) => {
            RunRecord { limited: driven.ended.limited, ..RunRecord::failed(assignment, why) }
        }
    }
}

fn tell_reviewed(office: &Office, record: &RunRecord) {
    for file in &record.coverage {
        if file.state == CoverageState::Reviewed {
            office.journal.tell(Event::FileReviewed { path: file.path.clone() });
        }
    }
}
