//! Agent runs: the agent loop, its limits, the shared budget ledger, tool calls and the transcript.
//!
//! This crate does not know findings. The caller defines the type of an answer.

mod answer_form;
mod call_history;
mod drive;
mod extract;
mod ledger;
mod limits;
mod model_texts;
mod protocol;
mod run;
mod step;
mod tools;
mod transcript;
mod trim;

pub use drive::{FinishedRun, ProgressListener, QuestionError, RunContext, ask_once, drive};
pub use ledger::{
    Budget, CallCost, CallEstimate, CallUsage, CostBasis, Ledger, Reservation, UsageTotals,
};
pub use limits::{
    BudgetRefusal, CallPurpose, ContextShortage, DoubtfulCount, LimitKind, RunLimits, Shortfall,
};
pub use protocol::call_in_text;
pub use run::{AgentRun, TURN_RESULT_CHARS, context_shortage, least_output};
pub use step::{
    AgentOutcome, AgentRunEnd, AgentTask, EstimatedRequest, RunStep, SubmitTool, ToolOutcome,
};
/// Cancels runs. Clones cancel the same runs.
pub use tokio_util::sync::CancellationToken as CancelToken;
pub use tools::{CallOrder, NoTools, TOOL_TIMEOUT, ToolTimeout, Toolbox, run_on_thread};
pub use transcript::{Transcript, TranscriptDetail};
