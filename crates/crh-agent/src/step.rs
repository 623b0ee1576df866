//! Task, steps and outcome of an agent run.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::limits::MORE_CONTEXT;
use crate::{BudgetRefusal, CallPurpose, ContextShortage, LimitKind, Shortfall};
use crh_llm::{
    Conversation, Effort, ModelError, ModelRequest, ToolCall, ToolSpec, estimated_tokens,
};

/// Task of an agent.
#[derive(Debug, Clone)]
pub struct AgentTask<A> {
    /// Name of the task, such as the name of a reviewer, for transcripts and the `User-Agent` header.
    pub caller: String,
    /// System prompt and task messages. They are never trimmed.
    pub conversation: Conversation,
    /// Tools of the agent. The submit tool is appended if it is missing.
    pub tools: Vec<ToolSpec>,
    /// Tool that submits the answer.
    pub submit: SubmitTool<A>,
    /// Purpose of the calls. The last turn always uses `LastTurn`.
    pub purpose: CallPurpose,
    /// Maximum output tokens of one turn without reasoning. An effort adds room for reasoning.
    pub max_output_tokens: u32,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Reasoning effort, usually `Model::effort`.
    pub effort: Option<Effort>,
}

/// The tool with which an agent submits its answer. All other calls of the turn are executed before
/// the answer is parsed. It may also be in the tool list, so that agents with different submit
/// tools can share one list.
#[derive(Clone)]
pub struct SubmitTool<A> {
    /// The tool as the model sees it.
    pub spec: ToolSpec,
    /// Parses the answer. The error explains to the model what is wrong.
    parse: Arc<dyn Fn(Value) -> Result<A, String> + Send + Sync>,
    other_calls: OtherCalls,
    /// Tool whose calls in the turn of an answer belong to the answer.
    companion: Option<String>,
    /// Names of the tools that the agent has to call before it answers.
    required_tools: Vec<String>,
}

/// Whether the other calls in the turn of an answer must succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OtherCalls {
    Optional,
    Required,
}

impl<A> SubmitTool<A> {
    /// Creates a submit tool. Answers that `parse` rejects count against the run's limit of
    /// corrections.
    pub fn new(
        spec: ToolSpec,
        parse: impl Fn(Value) -> Result<A, String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            spec,
            parse: Arc::new(parse),
            other_calls: OtherCalls::Optional,
            companion: None,
            required_tools: Vec::new(),
        }
    }

    /// Rejects an answer if another call of its turn failed: the agent wrote the answer before it
    /// knew that. Use this for an answer that reports what the calls did.
    #[must_use]
    pub fn with_required_calls(self) -> Self {
        Self { other_calls: OtherCalls::Required, ..self }
    }

    /// Makes the calls of this tool a part of the answer: the run's limit on tool calls does not
    /// refuse them in the turn of an answer.
    #[must_use]
    pub fn with_companion(self, tool: &str) -> Self {
        Self { companion: Some(tool.to_owned()), ..self }
    }

    /// Names a tool that the agent has to call before it answers. If the request exceeds the model's
    /// context, crh leaves out other tools, but never this one or the companion.
    #[must_use]
    pub fn with_required_tool(mut self, tool: &str) -> Self {
        self.required_tools.push(tool.to_owned());
        self
    }

    /// Whether the agent cannot do its work without this tool.
    pub(crate) fn requires_tool(&self, tool: &str) -> bool {
        self.spec.name == tool
            || self.has_companion(tool)
            || self.required_tools.iter().any(|required| required == tool)
    }

    pub(crate) fn has_companion(&self, tool: &str) -> bool {
        self.companion.as_deref() == Some(tool)
    }

    pub(crate) fn requires_calls(&self) -> bool {
        self.other_calls == OtherCalls::Required
    }

    pub(crate) fn parse(&self, value: Value) -> Result<A, String> {
        (self.parse)(value)
    }
}

impl<A> fmt::Debug for SubmitTool<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubmitTool").field("spec", &self.spec).finish_non_exhaustive()
    }
}

/// The next action of a run.
#[derive(Debug)]
pub enum RunStep<A> {
    /// Ask the model, then call `on_reply`, `on_failure` or `on_refusal`.
    Ask(EstimatedRequest),
    /// Call these tools in parallel, then call `on_tool_results`.
    CallTools(Vec<ToolCall>),
    /// The run has ended.
    Stop(AgentRunEnd<A>),
}

/// A model request with its estimated size.
#[derive(Debug, Clone, PartialEq)]
pub struct EstimatedRequest {
    /// The request.
    pub request: ModelRequest,
    /// Upper estimate of the input tokens: the vendor's count of an earlier request with the same
    /// start, if there is one, plus an estimate of the rest.
    pub input: u64,
    /// The budget share that pays for the request.
    pub purpose: CallPurpose,
}

impl EstimatedRequest {
    /// Estimates a request without a count of an earlier request.
    pub fn new(request: ModelRequest, purpose: CallPurpose) -> Self {
        Self { input: estimated_tokens(&request), request, purpose }
    }
}

/// Result of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutcome {
    /// The tool's output.
    Answered(String),
    /// Output of a tool that changed something. Earlier results may be outdated, so no later call
    /// counts as a repeat.
    Changed(String),
    /// Error text for the model: a wrong argument, a timeout, or a crashed tool.
    Failed(String),
    /// The run must stop.
    Abort(String),
}

/// Outcome of a run, with the limit that was reached on the way.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentRunEnd<A> {
    /// The outcome.
    pub outcome: AgentOutcome<A>,
    /// A limit that was reached. The work may be incomplete even if there is an answer.
    pub limit_reached: Option<LimitKind>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentOutcome<A> {
    /// The agent submitted an answer.
    Answered(A),
    /// No answer, despite a reminder or a last turn.
    NoAnswer,
    /// No valid answer; the last validation error.
    BadAnswer(String),
    /// The model only repeated itself.
    Stuck,
    /// A limit left no budget for a model request.
    OutOfBudget(BudgetRefusal),
    /// The prompt and the tools that the run cannot leave out exceed the model's context, although
    /// the last results are cut.
    ContextFull(ContextShortage),
    /// The model request failed.
    Model(ModelError),
    /// A tool stopped the run.
    Aborted(String),
    /// The caller cancelled the run.
    Cancelled,
}

impl<A> AgentOutcome<A> {
    /// The answer, or the error message.
    pub fn into_answer(self) -> Result<A, String> {
        let failure = self.failure().unwrap_or_default();
        match self {
            Self::Answered(answer) => Ok(answer),
            Self::NoAnswer
            | Self::BadAnswer(_)
            | Self::Stuck
            | Self::OutOfBudget(_)
            | Self::ContextFull(_)
            | Self::Model(_)
            | Self::Aborted(_)
            | Self::Cancelled => Err(failure),
        }
    }

    /// Error message, or `None` if there is an answer.
    pub fn failure(&self) -> Option<String> {
        Some(match self {
            Self::Answered(_) => return None,
            Self::NoAnswer => "the model did not submit an answer".to_owned(),
            Self::BadAnswer(reason) => {
                format!("the model's answer was invalid: {reason}")
            }
            Self::Stuck => "the model kept repeating the same tool calls".to_owned(),
            Self::OutOfBudget(BudgetRefusal {
                shortfall: Some(Shortfall { cost, left }), ..
            }) => {
                let (cost, left) = (cost.rounded_up(), left.rounded_down());
                format!("skipped: may cost {cost}, {left} left; raise --max-cost")
            }
            Self::OutOfBudget(BudgetRefusal { limit, shortfall: None }) => {
                let hint = match limit {
                    LimitKind::Turns => "; raise `--max-llm-calls`",
                    LimitKind::ToolCalls
                    | LimitKind::Tokens
                    | LimitKind::Money
                    | LimitKind::Wall => "",
                };
                format!("the remaining budget for {limit} is too small for another request{hint}")
            }
            Self::ContextFull(shortage) => shortage.to_string(),
            Self::Model(error @ ModelError::ContextFull { .. }) => {
                format!("{error}; {MORE_CONTEXT}")
            }
            Self::Model(error) => error.to_string(),
            Self::Aborted(reason) => format!("a tool stopped the run: {reason}"),
            Self::Cancelled => "the run was cancelled".to_owned(),
        })
    }
}
