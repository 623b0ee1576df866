//! One question to a model in the words that a whole panel shares: what the scout, whoever decides about pairs and whoever judges a
//! plan have in common.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::events::Event;
use crate::office::{Office, turned_away};
use crate::plan::Assignment;
use crate::runs::{RunEnd, RunRecord, milliseconds};
use crate::tools::session::SessionTool;
use crate::tools::{ReadingTools, session};
use crh_agent::{Limits, Outcome, Purpose, Run, Submit, Task, drive};
use crh_llm::Model;

/// What a wait counts at least.
const LEAST_WAIT: Duration = Duration::from_secs(1);

/// A question, and how far its answer may go.
pub(crate) struct Question<'a> {
    /// What its run goes by.
    pub(crate) assignment: Assignment,
    /// Who is asked.
    pub(crate) model: &'a Model,
    /// What is asked, behind what all are told.
    pub(crate) own: String,
    pub(crate) purpose: Purpose,
    /// How often the model is asked, repairs included.
    pub(crate) turns: u32,
    /// How often it may look something up.
    pub(crate) tool_calls: u32,
    /// The most tokens of one turn.
    pub(crate) output_tokens: u32,
    /// What the run is there for, as it follows "is not".
    pub(crate) about: &'static str,
    /// How long a vendor without room is waited for, over all attempts.
    pub(crate) patience: Duration,
    /// Where it has to take a place while it asks, and none while it waits; none if it is alone.
    pub(crate) places: Option<&'a Semaphore>,
}

/// Asks with the tool `T`, whose arguments `read` turns into the answer or into a sentence for the model; none if there was no
/// answer. One that was given in an earlier attempt is not paid for again. A vendor that has no room is waited for.
pub(crate) async fn asked<T, A>(
    office: &Office,
    question: Question<'_>,
    read: impl Fn(Value) -> Result<A, String> + Send + Sync + 'static,
) -> (Option<A>, RunRecord)
where
    T: SessionTool,
    A: Clone + Serialize + DeserializeOwned + Send + Sync + 'static,
{
    let Question { assignment, model, .. } = &question;
    let is_same = |run: &&RunRecord| run.assignment == *assignment;
    if let Some(done) = office.journal.earlier().iter().find(is_same)
        && done.ended == RunEnd::Completed
    {
        return (serde_json::from_value(done.answer.clone()).ok(), done.clone());
    }
    let name = assignment.name.clone();
    let files = assignment.parts.len();
    office.journal.tell(Event::RunStarted { run: name.clone(), label: String::new(), files });
    let read = Arc::new(read);
    let mut record = RunRecord::begun(assignment.clone());
    let mut patience = question.patience;
    let driven = loop {
        let place = match question.places {
            // Nobody closes them, so that there is always one in the end.
            Some(places) => places.acquire().await.ok(),
            None => None,
        };
        let read = read.clone();
        let run = Run::new(
            task::<T, A>(office, &question, move |value| read(value)),
            limits(office, &question),
            model.facts(),
        );
        let tools = ReadingTools::new(office, &name, question.about, T::NAME);
        let driven = Box::pin(drive(run, &office.means(&name, model, tools))).await;
        record.book(&driven, model.name());
        record.took_ms = record.took_ms.saturating_add(milliseconds(driven.took));
        drop(place);
        match turned_away(&driven.ended.outcome, office.time_left()) {
            Some(wait) if wait <= patience && !office.journal.cancel().is_cancelled() => {
                // At least a moment: a vendor that says "at once" each time is not asked for ever.
                patience = patience.saturating_sub(wait.max(LEAST_WAIT));
                office.wait(&name, wait).await;
            }
            Some(_) | None => break driven,
        }
    };
    record.ended = RunEnd::of(&driven.ended.outcome);
    let answer = if let Outcome::Answered(answer) = driven.ended.outcome {
        record.answer = json!(answer);
        Some(answer)
    } else {
        None
    };
    office.ended(&record);
    (answer, record)
}

fn task<T: SessionTool, A>(
    office: &Office,
    question: &Question<'_>,
    read: impl Fn(Value) -> Result<A, String> + Send + Sync + 'static,
) -> Task<A> {
    Task {
        caller: question.assignment.name.clone(),
        conversation: office.prompts.conversation(&question.own),
        tools: office.prompts.tools(),
        submit: Submit::new(session::spec::<T>(), read),
        purpose: question.purpose,
        max_output_tokens: question.output_tokens,
        temperature: None,
        effort: None,
    }
}

fn limits(office: &Office, question: &Question<'_>) -> Limits {
    Limits {
        turns: question.turns,
        tool_calls: question.tool_calls,
        // The ledger holds the tokens of all calls; a second count would end a run that it lets go on.
        tokens: u64::MAX,
        money: office.terms.allowance.money,
        wall: office.terms.allowance.wall,
    }
}
