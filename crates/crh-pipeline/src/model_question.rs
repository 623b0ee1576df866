//! One question to a model, which answers by calling one tool.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::assignment::Assignment;
use crate::events::ReviewEvent;
use crate::review_context::{ReviewContext, rate_limit_wait};
use crate::runs::{RunEnd, RunRecord, milliseconds};
use crate::tools::session::SessionTool;
use crate::tools::{ReadOnlyTools, session};
use crh_agent::{AgentOutcome, AgentRun, AgentTask, CallPurpose, RunLimits, SubmitTool, drive};
use crh_llm::{Conversation, Model, ToolSpec};

/// Minimum wait that is charged against `max_wait`.
const MIN_WAIT: Duration = Duration::from_secs(1);

/// A question to a model, with its limits.
pub(crate) struct ModelQuestion<'a> {
    /// Identifies the run.
    pub(crate) assignment: Assignment,
    pub(crate) model: &'a Model,
    /// The prompt: the question and its material.
    pub(crate) conversation: Conversation,
    /// Tools for look-ups.
    pub(crate) tools: Vec<ToolSpec>,
    pub(crate) purpose: CallPurpose,
    /// Maximum number of turns, corrections included.
    pub(crate) turns: u32,
    /// Maximum number of tool calls.
    pub(crate) tool_calls: u32,
    /// No calls are executed after the turn in which the number of results reaches this one.
    pub(crate) enough_results: Option<u32>,
    /// Maximum number of tokens per turn.
    pub(crate) output_tokens: u32,
    /// Completes the sentence "this tool is not …" that the model gets for a tool outside its role.
    pub(crate) role_phrase: &'static str,
    /// Total time to wait for rate limits, over all attempts.
    pub(crate) max_wait: Duration,
    /// Limits parallel runs. The run holds a permit while the model works, not while it waits for a
    /// rate limit. None if the question runs alone.
    pub(crate) permits: Option<&'a Semaphore>,
}

/// Asks a model, which answers by calling the tool `T`. `parse` turns the arguments of that call
/// into the answer, or into an error for the model.
///
/// The answer is None if the model gave none. A resumed review reuses the answer of its earlier
/// attempt. Waits for rate limits up to `max_wait`.
pub(crate) async fn ask<T, A>(
    ctx: &ReviewContext,
    question: ModelQuestion<'_>,
    parse: impl Fn(Value) -> Result<A, String> + Send + Sync + 'static,
) -> (Option<A>, RunRecord)
where
    T: SessionTool,
    A: Clone + Serialize + DeserializeOwned + Send + Sync + 'static,
{
    let ModelQuestion { assignment, model, .. } = &question;
    let has_same_assignment = |run: &&RunRecord| run.assignment == *assignment;
    if let Some(completed_run) = ctx.journal.completed_runs().iter().find(has_same_assignment)
        && completed_run.ended == RunEnd::Completed
    {
        return (serde_json::from_value(completed_run.answer.clone()).ok(), completed_run.clone());
    }
    let name = assignment.name.clone();
    let files = assignment.parts.len();
    ctx.journal.emit(ReviewEvent::RunStarted { run: name.clone(), label: String::new(), files });
    let parse = Arc::new(parse);
    let mut record = RunRecord::new(assignment.clone());
    let mut remaining_wait = question.max_wait;
    let finished = loop {
        let permit = match question.permits {
            // The semaphore is never closed, so this always returns a permit.
            Some(permits) => permits.acquire().await.ok(),
            None => None,
        };
        let parse = parse.clone();
        let run = AgentRun::new(
            build_task::<T, A>(&question, move |value| parse(value)),
            limits(ctx, &question),
            model.facts(),
        )
        .with_enough_results(question.enough_results);
        let tools = ReadOnlyTools::new(ctx, &name, question.role_phrase, T::NAME);
        let attempt = Box::pin(drive(run, &ctx.run_context(&name, model, tools))).await;
        record.add_usage(&attempt, model.name());
        record.took_ms = record.took_ms.saturating_add(milliseconds(attempt.duration));
        drop(permit);
        match rate_limit_wait(&attempt.end.outcome, ctx.time_left()) {
            Some(wait) if wait <= remaining_wait && !ctx.journal.cancel().is_cancelled() => {
                // Charge at least a second. Otherwise crh would retry forever if a vendor always
                // answers `Retry-After: 0`.
                remaining_wait = remaining_wait.saturating_sub(wait.max(MIN_WAIT));
                ctx.wait_for_capacity(&name, wait).await;
            }
            Some(_) | None => break attempt,
        }
    };
    record.ended = RunEnd::from_run(&finished);
    let answer = if let AgentOutcome::Answered(answer) = finished.end.outcome {
        record.answer = json!(answer);
        Some(answer)
    } else {
        None
    };
    ctx.finish_run(&record);
    (answer, record)
}

fn build_task<T: SessionTool, A>(
    question: &ModelQuestion<'_>,
    parse: impl Fn(Value) -> Result<A, String> + Send + Sync + 'static,
) -> AgentTask<A> {
    AgentTask {
        caller: question.assignment.name.clone(),
        conversation: question.conversation.clone(),
        tools: question.tools.clone(),
        submit: SubmitTool::new(session::tool_spec::<T>(), parse),
        purpose: question.purpose,
        max_output_tokens: question.output_tokens,
        temperature: None,
        effort: question.model.effort(),
    }
}

fn limits(ctx: &ReviewContext, question: &ModelQuestion<'_>) -> RunLimits {
    RunLimits {
        turns: question.turns,
        tool_calls: question.tool_calls,
        // The ledger limits the tokens of all calls. A second limit here would end runs that the
        // ledger allows.
        tokens: u64::MAX,
        money: ctx.options.budget.money,
        wall: ctx.options.budget.wall,
    }
}
