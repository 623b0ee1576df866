//! What goes into a run, what it wants done next, and how it ends.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Limit, Purpose};
use crh_llm::{Conversation, Effort, ModelError, Request, ToolCall, ToolSpec, estimated_tokens};

/// What an agent is to do.
#[derive(Debug, Clone)]
pub struct Task<A> {
    /// Who asks: the reviewer's name, for transcripts and for the vendor's logs.
    pub caller: String,
    /// The rules and the task. They are never trimmed.
    pub conversation: Conversation,
    /// The tools that the agent sees; the one that submits comes last if it is not among them.
    pub tools: Vec<ToolSpec>,
    /// How it answers.
    pub submit: Submit<A>,
    /// What its calls are for; the grace turn is `Grace` whatever stands here.
    pub purpose: Purpose,
    /// The most tokens of one turn.
    pub max_output_tokens: u32,
    /// How random its turns are.
    pub temperature: Option<f64>,
    /// How long it thinks.
    pub effort: Option<Effort>,
}

/// The tool by which an agent answers. It may stand in the list of tools as well, so that agents that answer by
/// different tools can be given the same list.
#[derive(Clone)]
pub struct Submit<A> {
    /// The tool as the model sees it.
    pub spec: ToolSpec,
    /// Reads the answer, or says in a sentence for the model what is wrong with it.
    read: Arc<dyn Fn(Value) -> Result<A, String> + Send + Sync>,
}

impl<A> Submit<A> {
    /// A tool, and how what it is called with is read. What `read` refuses counts against the repairs of the run.
    pub fn new(
        spec: ToolSpec,
        read: impl Fn(Value) -> Result<A, String> + Send + Sync + 'static,
    ) -> Self {
        Self { spec, read: Arc::new(read) }
    }

    pub(crate) fn read(&self, value: Value) -> Result<A, String> {
        (self.read)(value)
    }
}

impl<A> fmt::Debug for Submit<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Submit").field("spec", &self.spec).finish_non_exhaustive()
    }
}

/// What a run wants done next.
#[derive(Debug)]
pub enum Step<A> {
    /// Ask the model this, then say `replied`, `failed` or `refused`.
    Ask(Ask),
    /// Call these tools, side by side, then say `called` with an outcome for each in this order, as far as there is room for them.
    CallTools(Vec<ToolCall>),
    /// There is nothing more to do.
    Stop(Ended<A>),
}

/// A question to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// The question.
    pub request: Request,
    /// The tokens that the model will read, at most: what its vendor has counted of them, and an estimate of the rest.
    pub input: u64,
    /// From which share of the budget it is paid.
    pub purpose: Purpose,
}

impl Ask {
    /// A question of which nothing has been counted yet.
    pub fn new(request: Request, purpose: Purpose) -> Self {
        Self { input: estimated_tokens(&request), request, purpose }
    }
}

/// What calling a tool brought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutcome {
    /// The answer.
    Answered(String),
    /// The answer of a tool that has changed something: what was answered before may not hold any more, so that no call counts as a
    /// repeat of an earlier one.
    Changed(String),
    /// A sentence for the model: a wrong argument, a time limit, a tool that broke.
    Failed(String),
    /// The run cannot go on.
    Abort(String),
}

/// The end of a run: what came of it, and what happened on the way that a report should say.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended<A> {
    /// What came of it.
    pub outcome: Outcome<A>,
    /// A limit that was reached, also where the grace turn brought an answer: the work may be incomplete.
    pub limited: Option<Limit>,
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome<A> {
    /// The answer.
    Answered(A),
    /// The model ended without an answer, reminder and grace turn included.
    NoAnswer,
    /// The answer was never of the right form; the last thing that was wrong with it.
    BadAnswer(String),
    /// The model did nothing but repeat itself.
    Stuck,
    /// A limit left no room even to ask once.
    OutOfBudget(Limit),
    /// The rules, the task and the last results alone do not fit into the model's context.
    ContextFull,
    /// The model could not be asked.
    Model(ModelError),
    /// A tool ended the run.
    Aborted(String),
    /// Whoever started the run has stopped it.
    Cancelled,
}

impl<A> Outcome<A> {
    /// Why there is no answer, in a sentence; none if there is one.
    pub fn failure(&self) -> Option<String> {
        Some(match self {
            Self::Answered(_) => return None,
            Self::NoAnswer => "the model ended without an answer".to_owned(),
            Self::BadAnswer(why) => {
                format!("the model's answer was never of the right form: {why}")
            }
            Self::Stuck => "the model did nothing but repeat itself".to_owned(),
            Self::OutOfBudget(limit) => format!("the budget for {limit} left no room to ask"),
            Self::ContextFull => "the task does not fit into the model's context".to_owned(),
            Self::Model(error) => error.to_string(),
            Self::Aborted(why) => format!("a tool ended the run: {why}"),
            Self::Cancelled => "the run was cancelled".to_owned(),
        })
    }
}
