//! Asks the model of the `single` strategy.

use super::answer::submit_spec;
use crate::events::ReviewEvent;
use crate::plan::Assignment;
use crate::review_context::ReviewContext;
use crate::runs::milliseconds;
use crh_agent::{
    AgentOutcome, AgentRun, AgentTask, CallPurpose, FinishedRun, NoTools, RunLimits, SubmitTool,
    drive,
};
use crh_llm::{Conversation, Model, ModelRequest, Money, ToolChoice, estimated_tokens};

/// One answer and two corrections.
pub(super) const TURNS: u32 = 3;

/// A question to a model.
pub(super) struct SingleQuestion<'a, A> {
    /// Name of the run.
    pub(super) caller: &'a str,
    pub(super) model: &'a Model,
    pub(super) conversation: Conversation,
    pub(super) submit: SubmitTool<A>,
    pub(super) purpose: CallPurpose,
    pub(super) turns: u32,
    /// Maximum tokens per turn.
    pub(super) max_output_tokens: u32,
}

/// Emits the start of the run or of its second round.
pub(super) fn announce_run(ctx: &ReviewContext, run: &str, assignment: &Assignment) {
    let (run, label) = (run.to_owned(), assignment.label.clone());
    ctx.journal.emit(ReviewEvent::RunStarted { run, label, files: assignment.parts.len() });
}

/// Asks the model and emits the end of the run.
pub(super) async fn ask<A: Clone>(
    ctx: &ReviewContext,
    question: SingleQuestion<'_, A>,
    count_findings: impl Fn(&A) -> usize,
) -> FinishedRun<A> {
    let SingleQuestion { caller, model, .. } = question;
    let run = caller.to_owned();
    let task = AgentTask {
        caller: run.clone(),
        conversation: question.conversation,
        tools: Vec::new(),
        submit: question.submit,
        purpose: question.purpose,
        max_output_tokens: question.max_output_tokens,
        temperature: None,
        effort: model.effort(),
    };
    let limits = RunLimits {
        turns: question.turns,
        tool_calls: 0,
        // The ledger limits tokens and money of all calls. A second limit here would end runs that
        // the ledger allows.
        tokens: u64::MAX,
        money: Money::cents(u64::MAX),
        wall: ctx.options.budget.wall,
    };
    let run_context = ctx.run_context(caller, model, NoTools);
    let finished = drive(AgentRun::new(task, limits, model.facts()), &run_context).await;
    let outcome = &finished.end.outcome;
    let findings =
        if let AgentOutcome::Answered(answer) = outcome { count_findings(answer) } else { 0 };
    ctx.journal.emit(ReviewEvent::RunEnded {
        run,
        failure: outcome.failure(),
        limited: finished.end.limit_reached,
        findings,
        took_ms: milliseconds(finished.duration),
    });
    ctx.journal.emit(ReviewEvent::Spent { totals: ctx.ledger.spent() });
    finished
}

/// Upper bound on the tokens of a conversation with the submit tool.
pub(super) fn question_tokens(conversation: &Conversation) -> u64 {
    let spec = submit_spec();
    let tool_choice = ToolChoice::Named(spec.name.clone());
    let request = ModelRequest::new(conversation.clone(), 0);
    estimated_tokens(&ModelRequest { tools: vec![spec], tool_choice, ..request })
}
