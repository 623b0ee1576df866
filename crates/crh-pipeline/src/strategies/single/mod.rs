//! The `single` strategy: one reviewer reads the whole change in one call, then one bounded round
//! for doubtful findings.
//!
//! The first call is a draft. If a finding is doubtful, crh looks up the code that it depends on
//! and asks the model once more. The judgements of the second answer decide, and it may add findings.
//! If the budget does not allow the second round, the draft is the result, with a note.

mod answer;
mod budget;
mod context;
mod context_lookups;
mod doubts;
mod judgements;
mod material;
mod question;
#[cfg(test)]
pub(crate) mod sample;
mod second_round;

use tokio::time::Instant;

pub(crate) use self::answer::submit_spec;
use self::answer::{Draft, read_draft};
use self::budget::{draft_token_limits, output_tokens};
use self::material::{Material, choose_material};
use self::question::{SingleQuestion, TURNS, announce_run, ask};
use self::second_round::look_again;
use crate::events::ReviewEvent;
use crate::plan::Assignment;
use crate::review_context::ReviewContext;
use crate::runs::{RunEnd, RunRecord, RunResults, milliseconds};
use crh_agent::{AgentOutcome, CallPurpose, FinishedRun, SubmitTool};
use crh_review::report::CoverageState;

/// Reviews the whole change as one assignment. Reuses the record of an earlier attempt.
pub async fn single(ctx: &ReviewContext, assignment: &Assignment) -> RunResults {
    let is_done =
        |run: &&RunRecord| run.assignment == *assignment && run.ended == RunEnd::Completed;
    if let Some(completed_run) = ctx.journal.completed_runs().iter().find(is_done) {
        return RunResults { records: vec![completed_run.clone()], notes: Vec::new() };
    }
    let start = Instant::now();
    // Boxed, since the future of two agent runs is large.
    let mut record = Box::pin(run_draft(ctx, assignment)).await;
    record.took_ms = milliseconds(start.elapsed());
    ctx.journal.store_run(&record);
    RunResults { records: vec![record], notes: Vec::new() }
}

async fn run_draft(ctx: &ReviewContext, assignment: &Assignment) -> RunRecord {
    let (budget, model) = (&ctx.options.budget, &ctx.models.reviewer);
    let max_output_tokens = output_tokens(budget, model.facts());
    let limits = draft_token_limits(budget, model.facts(), max_output_tokens);
    let static_findings = ctx.static_findings.in_files(&assignment.parts).await;
    let Material { prompts, text, notes, coverage } =
        choose_material(ctx, assignment, &static_findings, limits);
    announce_run(ctx, &assignment.name, assignment);
    let reviewer = assignment.reviewer.clone();
    let question = SingleQuestion {
        caller: &assignment.name,
        model,
        conversation: prompts.conversation(&prompts.single(&text, &static_findings)),
        submit: SubmitTool::new(submit_spec(), move |value| read_draft(value, &reviewer)),
        purpose: CallPurpose::Work,
        turns: budget.llm_calls.min(TURNS),
        max_output_tokens,
    };
    let finished = ask(ctx, question, |draft| draft.parsed.members.len()).await;
    let mut record = draft_record(assignment, &finished);
    record.notes = notes;
    record.add_usage(&finished, model.name());
    if let AgentOutcome::Answered(draft) = finished.end.outcome {
        record.coverage = coverage;
        announce_reviewed_files(ctx, &record);
        let Draft { parsed, requests, notes } = draft;
        record.members = parsed.members;
        record.dropped = parsed.dropped;
        record.residual_risks = parsed.residual_risks;
        record.testing_gaps = parsed.testing_gaps;
        record.summary = parsed.summary;
        record.notes.extend(notes);
        look_again(ctx, &prompts, &mut record, &requests).await;
    }
    record
}

/// The record of the first call, without its answer.
fn draft_record(assignment: &Assignment, finished: &FinishedRun<Draft>) -> RunRecord {
    let assignment = assignment.clone();
    match RunEnd::from_outcome(&finished.end.outcome) {
        // An answer in the last turn is complete: no tool use was cut short.
        RunEnd::Completed => RunRecord::new(assignment),
        RunEnd::Cancelled => {
            let mut cancelled_record = RunRecord::failed(assignment, "");
            cancelled_record.ended = RunEnd::Cancelled;
            for file in &mut cancelled_record.coverage {
                "the review was stopped".clone_into(&mut file.reason);
            }
            cancelled_record
        }
        RunEnd::Failed(why) => {
            RunRecord { limited: finished.end.limit_reached, ..RunRecord::failed(assignment, why) }
        }
    }
}

fn announce_reviewed_files(ctx: &ReviewContext, record: &RunRecord) {
    for file in &record.coverage {
        if file.state == CoverageState::Reviewed {
            ctx.journal.emit(ReviewEvent::FileReviewed { path: file.path.clone() });
        }
    }
}
