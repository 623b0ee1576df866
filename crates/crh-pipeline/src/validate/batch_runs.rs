//! Validation runs: a fresh run per batch, in parallel.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::batch::Batch;
use super::{answer, is_urgent, unchecked_note};
use crate::events::ReviewEvent;
use crate::review_context::{ReviewContext, rate_limit_wait};
use crate::runs::{CheckedFinding, RunEnd, RunRecord, milliseconds};
use crate::text::plural;
use crate::tools::ReadOnlyTools;
use crate::tools::session::{ReportChecks, SessionTool};
use crh_agent::{AgentOutcome, AgentRun, AgentTask, CallPurpose, FinishedRun, RunLimits, drive};
use crh_review::{Judgement, JudgementResult};

/// Maximum turns per batch: one or two lookups per issue, several at a time, and the answer.
const TURNS: u32 = 5;

/// Maximum tool calls per batch: two per issue, and some more.
const TOOL_CALLS: u32 = 36;

/// Maximum tokens per turn: about 1,600 for 16 judgements, the rest for models that reason
/// first.
const OUTPUT_TOKENS: u32 = 8_000;

/// Result of one batch.
pub(super) struct BatchOutcome {
    pub(super) record: RunRecord,
    pub(super) judgements: BTreeMap<String, Judgement>,
    pub(super) note: Option<String>,
}

impl BatchOutcome {
    /// Whether the report can leave out this outcome: the budget prevented the run, and the batch has
    /// no P0 or P1, for which there would be a note.
    pub(super) fn is_skippable(&self) -> bool {
        let was_prevented = self.record.limited.is_some() && self.record.totals.llm_calls == 0;
        was_prevented && self.note.is_none()
    }
}

/// Checks all batches and returns their results in order. A resumed review reuses the results of
/// its earlier attempt.
pub(super) async fn check_batches(batches: Vec<Batch>, ctx: &ReviewContext) -> Vec<BatchOutcome> {
    let limits = limits(ctx, batches.len());
    let permits = Arc::new(Semaphore::new(ctx.options.max_parallel.max(1)));
    let mut tasks = JoinSet::new();
    let mut records: Vec<Option<RunRecord>> = Vec::new();
    for (index, batch) in batches.iter().enumerate() {
        let stored_record =
            ctx.journal.completed_runs().iter().find(|record| is_answer_for(record, batch));
        records.push(stored_record.cloned());
        if stored_record.is_none() {
            let (batch, ctx, permits) = (batch.clone(), ctx.clone(), permits.clone());
            tasks.spawn(async move {
                let _permit = permits.acquire().await;
                (index, check_batch(&batch, &ctx, limits).await)
            });
        }
    }
    // A task that panics leaves its record empty. Dropping this future aborts all tasks.
    while let Some(joined) = tasks.join_next().await {
        if let Ok((index, record)) = joined {
            records[index] = Some(record);
        }
    }
    let crashed_record = |batch: &Batch| {
        RunRecord::failed(batch.assignment.clone(), "the validation run crashed (a bug in crh)")
    };
    batches
        .iter()
        .zip(records)
        .map(|(batch, record)| {
            batch_outcome(batch, record.unwrap_or_else(|| crashed_record(batch)))
        })
        .collect()
}

/// Limits per run. The remaining calls are divided among the runs, so that each run can reach an
/// answer. The ledger limits the calls, tokens and money of all runs together.
fn limits(ctx: &ReviewContext, runs: usize) -> RunLimits {
    let budget = &ctx.options.budget;
    let calls_left = budget.llm_calls.saturating_sub(ctx.ledger.spent().llm_calls);
    let share = calls_left / u32::try_from(runs.max(1)).unwrap_or(u32::MAX);
    RunLimits {
        turns: share.clamp(1, TURNS),
        tool_calls: TOOL_CALLS,
        tokens: budget.input_tokens,
        money: budget.money,
        wall: budget.wall,
    }
}

/// Whether an earlier run checked the same issues with the same findings.
fn is_answer_for(record: &RunRecord, batch: &Batch) -> bool {
    let first_members = batch.issues.iter().filter_map(|issue| issue.members.first());
    let findings: Vec<_> = first_members.map(|member| &member.finding).collect();
    let checked_findings: Vec<_> = record.checked.iter().map(|checked| &checked.finding).collect();
    record.ended == RunEnd::Completed
        && record.assignment == batch.assignment
        && checked_findings == findings
}

/// Checks a batch with a fresh run and stores the record.
async fn check_batch(batch: &Batch, ctx: &ReviewContext, limits: RunLimits) -> RunRecord {
    let run = batch.assignment.name.clone();
    // The label of the assignment consists of issue ids. Events show the number of issues instead.
    let label = plural(batch.issues.len(), "issue");
    let files = batch.assignment.parts.len();
    ctx.journal.emit(ReviewEvent::RunStarted { run: run.clone(), label, files });
    // Use the stronger model: a wrongly refuted P0 costs more than a cheaper model would save.
    let model = &ctx.models.escalation;
    let mut record = RunRecord::new(batch.assignment.clone());
    let finished = loop {
        let toolbox = ReadOnlyTools::new(ctx, &run, "for checking claims", ReportChecks::NAME);
        let run_context = ctx.run_context(&run, model, toolbox);
        let agent_run = AgentRun::new(build_task(batch, ctx), limits, model.facts());
        let attempt = Box::pin(drive(agent_run, &run_context)).await;
        record.took_ms = record.took_ms.saturating_add(milliseconds(attempt.duration));
        record.add_usage(&attempt, model.name());
        // Validation is the last stage that asks a model, so it may use all remaining time.
        match rate_limit_wait(&attempt.end.outcome, ctx.time_left()) {
            Some(wait) if !ctx.journal.cancel().is_cancelled() => {
                ctx.wait_for_capacity(&run, wait).await;
            }
            Some(_) | None => break attempt,
        }
    };
    finish_record(batch, &finished, &mut record);
    ctx.finish_run(&record);
    record
}

fn build_task(batch: &Batch, ctx: &ReviewContext) -> AgentTask<BTreeMap<String, Judgement>> {
    AgentTask {
        caller: batch.assignment.name.clone(),
        conversation: ctx.prompts.conversation(&ctx.prompts.validate(&batch.candidates)),
        tools: ctx.prompts.tools(),
        submit: answer::answer_tool(batch.ids()),
        purpose: CallPurpose::Validation,
        max_output_tokens: OUTPUT_TOKENS,
        temperature: None,
        effort: ctx.models.escalation.effort(),
    }
}

/// Adds the end of the run to its record. Each judgement is stored in `checked`, with the first
/// finding of its issue.
fn finish_record(
    batch: &Batch,
    finished: &FinishedRun<BTreeMap<String, Judgement>>,
    record: &mut RunRecord,
) {
    record.ended = RunEnd::from_run(finished);
    if let AgentOutcome::Answered(judgements) = &finished.end.outcome {
        let judged = batch.issues.iter().filter_map(|issue| {
            let judgement = judgements.get(&issue.dedupe_key)?.clone();
            let finding = issue.members.first()?.finding.clone();
            Some(CheckedFinding { finding, judgement })
        });
        record.checked = judged.collect();
    }
    record.limited = finished.end.limit_reached;
}

/// Judgements and note that follow from a record.
fn batch_outcome(batch: &Batch, record: RunRecord) -> BatchOutcome {
    let name = &record.assignment.name;
    let urgent = batch.issues.iter().filter(|issue| is_urgent(issue));
    let urgent_count = urgent.clone().count();
    // A run that the budget or the user prevented is not a failure.
    let made_calls = record.totals.llm_calls > 0;
    let (judgements, note) = match &record.ended {
        RunEnd::Completed => {
            let judged = batch.issues.iter().filter_map(|issue| {
                let first_finding = &issue.members.first()?.finding;
                let checked =
                    record.checked.iter().find(|checked| checked.finding == *first_finding)?;
                Some((issue.dedupe_key.clone(), checked.judgement.clone()))
            });
            let judgements: BTreeMap<String, Judgement> = judged.collect();
            let is_unanswered = |it: &&Judgement| it.result == JudgementResult::NoVerdict;
            let count = judgements.values().filter(is_unanswered).count();
            let note = (count > 0)
                .then(|| format!("{name} gave no verdict on {}", plural(count, "issue")));
            (judgements, note)
        }
        RunEnd::Cancelled => {
            (BTreeMap::new(), unchecked_note(urgent_count, "the review was stopped"))
        }
        RunEnd::Failed(why) if record.limited.is_some() && !made_calls => {
            (BTreeMap::new(), unchecked_note(urgent_count, why))
        }
        RunEnd::Failed(why) => {
            let judgement =
                || Judgement::new(JudgementResult::Failed, format!("{name} failed: {why}"));
            let failed = urgent.map(|issue| (issue.dedupe_key.clone(), judgement())).collect();
            let issues = plural(batch.issues.len(), "issue");
            let note = format!(
                "{name} failed: {why}; {issues} not validated, {urgent_count} of them P0 or P1"
            );
            (failed, Some(note))
        }
    };
    BatchOutcome { judgements, note, record }
}
