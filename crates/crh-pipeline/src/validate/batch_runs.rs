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
use crh_llm::Model;
use crh_review::report::Strategy;
use crh_review::{Judgement, JudgementResult};

/// Maximum turns per batch: one or two lookups per issue, several at a time, and the answer.
const TURNS: u32 = 10;

/// Maximum tool calls per batch: four per issue.
const TOOL_CALLS: u32 = 24;

/// Maximum tokens per turn: a few hundred for six verdicts, the rest for models that reason first.
const OUTPUT_TOKENS: u32 = 8_000;

/// Result of one batch.
pub(super) struct BatchOutcome {
    pub(super) record: RunRecord,
    pub(super) judgements: BTreeMap<String, Judgement>,
    pub(super) note: Option<String>,
}

impl BatchOutcome {
    /// Whether the budget prevented the run and the batch has no P0 or P1.
    pub(super) fn is_skippable(&self) -> bool {
        let was_prevented = self.record.limited.is_some() && self.record.totals.llm_calls == 0;
        was_prevented && self.note.is_none()
    }
}

/// Checks all batches and returns their results in order. Reuses results of an earlier attempt.
pub(super) async fn check_batches(batches: Vec<Batch>, ctx: &ReviewContext) -> Vec<BatchOutcome> {
    let limits = limits(ctx, batches.len());
    let room = Arc::new(Semaphore::new(ctx.options.max_parallel.max(1)));
    let mut tasks = JoinSet::new();
    let mut records: Vec<Option<RunRecord>> = Vec::new();
    for (at, batch) in batches.iter().enumerate() {
        let earlier =
            ctx.journal.completed_runs().iter().find(|record| is_answer_for(record, batch));
        records.push(earlier.cloned());
        if earlier.is_none() {
            let (batch, ctx, room) = (batch.clone(), ctx.clone(), room.clone());
            tasks.spawn(async move {
                let _permit = room.acquire().await;
                (at, check_batch(&batch, &ctx, limits).await)
            });
        }
    }
    // A task that panics leaves its record empty. Dropping this future aborts all tasks.
    while let Some(joined) = tasks.join_next().await {
        if let Ok((at, record)) = joined {
            records[at] = Some(record);
        }
    }
    let broken = |batch: &Batch| {
        RunRecord::failed(batch.assignment.clone(), "the validation run crashed (a bug in crh)")
    };
    let each = batches.iter().zip(records);
    each.map(|(batch, record)| batch_outcome(batch, record.unwrap_or_else(|| broken(batch))))
        .collect()
}

/// Limits per run. The remaining calls are divided, so that each run can reach an answer; the
/// ledger bounds them together.
fn limits(ctx: &ReviewContext, runs: usize) -> RunLimits {
    let budget = &ctx.options.budget;
    let left = budget.llm_calls.saturating_sub(ctx.ledger.spent().llm_calls);
    let share = left / u32::try_from(runs.max(1)).unwrap_or(u32::MAX);
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
    let speakers = batch.issues.iter().filter_map(|issue| issue.members.first());
    let shown: Vec<_> = speakers.map(|member| &member.finding).collect();
    let looked_at: Vec<_> = record.checked.iter().map(|checked| &checked.finding).collect();
    record.ended == RunEnd::Completed && record.assignment == batch.assignment && looked_at == shown
}

/// Checks a batch with a fresh run and stores the record.
async fn check_batch(batch: &Batch, ctx: &ReviewContext, limits: RunLimits) -> RunRecord {
    let run = batch.assignment.name.clone();
    // The label of the assignment consists of ids, which say nothing to people.
    let label = plural(batch.issues.len(), "issue");
    let files = batch.assignment.parts.len();
    ctx.journal.emit(ReviewEvent::RunStarted { run: run.clone(), label, files });
    let model = checker_model(ctx);
    let mut so_far = RunRecord::new(batch.assignment.clone());
    let finished = loop {
        let toolbox = ReadOnlyTools::new(ctx, &run, "for checking claims", ReportChecks::NAME);
        let run_context = ctx.run_context(&run, model, toolbox);
        let asking = AgentRun::new(build_task(batch, ctx), limits, model.facts());
        let driven = Box::pin(drive(asking, &run_context)).await;
        so_far.took_ms = so_far.took_ms.saturating_add(milliseconds(driven.took));
        so_far.add_usage(&driven, model.name());
        // Validation is the last stage, so it may use all remaining time.
        match rate_limit_wait(&driven.end.outcome, ctx.time_left()) {
            Some(wait) if !ctx.journal.cancel().is_cancelled() => {
                ctx.wait_for_capacity(&run, wait).await;
            }
            Some(_) | None => break driven,
        }
    };
    let record = finish_record(batch, &finished, so_far);
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
        effort: None,
    }
}

/// The model that validates. Not the cheap one: a missed blocker costs more than it saves. The
/// vendor's prompt cache is already warm for this model.
fn checker_model(ctx: &ReviewContext) -> &Model {
    match ctx.options.strategy {
        Strategy::Panel => &ctx.models.escalation,
        Strategy::Single | Strategy::Delegate | Strategy::Static => &ctx.models.reviewer,
    }
}

/// The stored record. Each judgement is stored in `checked` with the first finding of its issue.
fn finish_record(
    batch: &Batch,
    finished: &FinishedRun<BTreeMap<String, Judgement>>,
    so_far: RunRecord,
) -> RunRecord {
    let mut record = so_far;
    record.ended = RunEnd::from_outcome(&finished.end.outcome);
    if let AgentOutcome::Answered(judgements) = &finished.end.outcome {
        let judged = batch.issues.iter().filter_map(|issue| {
            let judgement = judgements.get(&issue.dedupe_key)?.clone();
            let finding = issue.members.first()?.finding.clone();
            Some(CheckedFinding { finding, judgement })
        });
        record.checked = judged.collect();
    }
    record.limited = finished.end.limit_reached;
    record
}

/// Judgements and note that follow from a record.
fn batch_outcome(batch: &Batch, record: RunRecord) -> BatchOutcome {
    let name = &record.assignment.name;
    let urgent = batch.issues.iter().filter(|issue| is_urgent(issue));
    let severe = urgent.clone().count();
    // A run that the budget or the user prevented is not a failure.
    let was_asked = record.totals.llm_calls > 0;
    let (judgements, note) = match &record.ended {
        RunEnd::Completed => {
            let judged = batch.issues.iter().filter_map(|issue| {
                let speaker = &issue.members.first()?.finding;
                let checked = record.checked.iter().find(|it| it.finding == *speaker)?;
                Some((issue.dedupe_key.clone(), checked.judgement.clone()))
            });
            (judged.collect(), None)
        }
        RunEnd::Cancelled => (BTreeMap::new(), unchecked_note(severe, "the review was stopped")),
        RunEnd::Failed(why) if record.limited.is_some() && !was_asked => {
            (BTreeMap::new(), unchecked_note(severe, why))
        }
        RunEnd::Failed(why) => {
            let judgement = || Judgement {
                result: JudgementResult::Failed,
                reason: format!("{name} failed: {why}"),
            };
            let failed = urgent.map(|issue| (issue.dedupe_key.clone(), judgement())).collect();
            let issues = plural(batch.issues.len(), "issue");
            let note =
                format!("{name} failed: {why}; {issues} not validated, {severe} of them P0 or P1");
            (failed, Some(note))
        }
    };
    BatchOutcome { judgements, note, record }
}
