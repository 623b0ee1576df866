//! Asks the model of `single`.

use super::answer::submit_spec;
use crate::events::Event;
use crate::office::Office;
use crate::plan::Assignment;
use crate::runs::milliseconds;
use crh_agent::{Driven, Limits, NoTools, Outcome, Purpose, Run, Submit, Task, drive};
use crh_llm::{Conversation, Model, Money, Request, ToolChoice, estimated_tokens};

/// How often the model is asked for one answer: once, and two repairs.
pub(super) const TURNS: u32 = 3;

/// A question to a model, repairs included.
pub(super) struct Question<'a, A> {
    /// What its run goes by.
    pub(super) caller: &'a str,
    pub(super) model: &'a Model,
    pub(super) conversation: Conversation,
    pub(super) submit: Submit<A>,
    pub(super) purpose: Purpose,
    pub(super) turns: u32,
    /// The most tokens of one turn.
    pub(super) output: u32,
}

/// Says to whoever listens that a run begins: the assignment, or its second round.
pub(super) fn begin(office: &Office, run: &str, assignment: &Assignment) {
    let (run, label) = (run.to_owned(), assignment.label.clone());
    office.journal.tell(Event::RunStarted { run, label, files: assignment.parts.len() });
}

/// Asks, and says that the run has ended. `findings` counts what an answer brought.
pub(super) async fn ask<A: Clone>(
    office: &Office,
    question: Question<'_, A>,
    findings: impl Fn(&A) -> usize,
) -> Driven<A> {
    let Question { caller, model, .. } = question;
    let run = caller.to_owned();
    let task = Task {
        caller: run.clone(),
        conversation: question.conversation,
        tools: Vec::new(),
        submit: question.submit,
        purpose: question.purpose,
        max_output_tokens: question.output,
        temperature: None,
        effort: None,
    };
    let limits = Limits {
        turns: question.turns,
        tool_calls: 0,
        // The ledger holds the tokens and the money of all calls; a second count would end a run that it lets go on.
        tokens: u64::MAX,
        money: Money::cents(u64::MAX),
        wall: office.terms.allowance.wall,
    };
    let means = office.means(caller, model, NoTools);
    let driven = drive(Run::new(task, limits, model.facts()), &means).await;
    let outcome = &driven.ended.outcome;
    let findings = if let Outcome::Answered(answer) = outcome { findings(answer) } else { 0 };
    office.journal.tell(Event::RunEnded {
        run,
        failure: outcome.failure(),
        limited: driven.ended.limited,
        findings,
        took_ms: milliseconds(driven.took),
    });
    office.journal.tell(Event::Spent { totals: office.ledger.spent() });
    driven
}

/// How many tokens a conversation has as a question with our one tool, at most.
pub(super) fn tokens(conversation: &Conversation) -> u64 {
    let spec = submit_spec();
    let tool_choice = ToolChoice::Named(spec.name.clone());
    let request = Request::new(conversation.clone(), 0);
    estimated_tokens(&Request { tools: vec![spec], tool_choice, ..request })
}
