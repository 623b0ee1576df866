//! The orchestrator: it distributes work with `delegate_review`, decides about findings with
//! `submit_review`, and does nothing else.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::agent_rules::DelegateRule;
use super::agent_tools::{AgentTools, with_period};
use super::board::{Board, Delegation, FindingId, OrchestratorSubmission};
use super::files::DelegateFiles;
use super::scopes::ScopeDivision;
use crate::assignment::{DiffPart, TURN_TOKENS};
use crate::review_context::ReviewContext;
use crate::tools::session;
use crate::tools::session::{
    DelegateReview, ScopeWanted, SessionTool, SubmitReview, agent_tool_specs,
};
use crh_agent::{
    AgentRun, AgentTask, CallPurpose, FinishedRun, RunLimits, SubmitTool, ToolOutcome, ToolTimeout,
    Toolbox, drive,
};
use crh_llm::{CallArguments, ToolCall};
use crh_review::finding::Finding;

/// Maximum turns: reading the change and the agent files, two delegations, the submission, two
/// corrections, a reminder, the final turn and one spare.
const TURNS: u32 = 10;

/// Maximum tool calls. The orchestrator needs little more than the list of files.
const TOOL_CALLS: u32 = 40;

/// Maximum tokens: ten turns with a full context.
const TOKENS: u64 = 2_000_000;

/// The board, shared by the orchestrator's tools and the sub-agent pool.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedBoard {
    board: Arc<Mutex<Board>>,
}

/// A delegation of work to sub-agents.
#[derive(Debug)]
pub(super) struct WorkOrder {
    pub(super) division: ScopeDivision,
    pub(super) delegation: Delegation,
    /// Sends the answer to the orchestrator when all sub-agents of the order have ended.
    pub(super) answer_sender: oneshot::Sender<String>,
}

#[derive(Debug)]
pub(super) struct OrchestratorTools {
    pub(super) tools: Arc<AgentTools>,
    pub(super) files: Arc<DelegateFiles>,
    /// Parts that an earlier attempt reviewed.
    pub(super) done_parts: BTreeSet<DiffPart>,
    pub(super) board: SharedBoard,
    pub(super) orders: mpsc::Sender<WorkOrder>,
}

pub(super) async fn run(
    ctx: &ReviewContext,
    name: &str,
    tools: OrchestratorTools,
) -> FinishedRun<OrchestratorSubmission> {
    let model = &ctx.models.reviewer;
    let task = AgentTask {
        caller: name.to_owned(),
        conversation: ctx.prompts.conversation(&ctx.prompts.orchestrator()),
        tools: agent_tool_specs(),
        submit: submit_tool(tools.tools.clone(), tools.board.clone()),
        purpose: CallPurpose::Work,
        max_output_tokens: TURN_TOKENS,
        temperature: None,
        effort: model.effort(),
    };
    let limits = RunLimits {
        turns: TURNS,
        tool_calls: TOOL_CALLS,
        tokens: TOKENS,
        money: ctx.options.budget.money,
        // The orchestrator waits for sub-agents, so only the deadline of the review applies.
        wall: Duration::MAX,
    };
    let run_context = ctx.run_context(name, model, tools);
    Box::pin(drive(AgentRun::new(task, limits, model.facts()), &run_context)).await
}

/// The tool that submits the decisions. The orchestrator has to delegate before.
fn submit_tool(tools: Arc<AgentTools>, board: SharedBoard) -> SubmitTool<OrchestratorSubmission> {
    SubmitTool::new(session::tool_spec::<SubmitReview>(), move |value| {
        let submitted = session::parse_arguments::<SubmitReview>(value).map_err(with_period)?;
        let submission = board.lock().parse_submission(&submitted);
        submission.map_err(|message| with_period(tools.refuse(DelegateRule::Submission, message)))
    })
    .with_required_tool(DelegateReview::NAME)
}

impl SharedBoard {
    /// Locks the board. Never hold the guard across an await.
    pub(super) fn lock(&self) -> MutexGuard<'_, Board> {
        // Every method leaves the board consistent, so a poisoned lock is usable.
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Toolbox for OrchestratorTools {
    async fn call(&self, call: &ToolCall) -> ToolOutcome {
        self.tools.announce_call(call);
        if call.name != DelegateReview::NAME {
            return self.tools.call(call, None).await;
        }
        let (answer_sender, answer_receiver) = oneshot::channel();
        match self.parse_order(call, answer_sender) {
            Ok(order) => {
                // The receiver lives as long as this run.
                if self.orders.send(order).await.is_err() {
                    return ToolOutcome::Failed("the review is over".to_owned());
                }
            }
            Err(message) => return ToolOutcome::Failed(message),
        }
        match answer_receiver.await {
            Ok(text) => ToolOutcome::Answered(text),
            Err(_) => ToolOutcome::Failed("the review is over".to_owned()),
        }
    }

    fn timeout(&self, name: &str) -> ToolTimeout {
        match name {
            DelegateReview::NAME => ToolTimeout::UntilDone,
            _ => ToolTimeout::Limited,
        }
    }
}

impl OrchestratorTools {
    /// Parses a delegation, or returns an error for the model.
    fn parse_order(
        &self,
        call: &ToolCall,
        answer_sender: oneshot::Sender<String>,
    ) -> Result<WorkOrder, String> {
        let arguments = match &call.arguments {
            CallArguments::Json(arguments) => arguments.clone(),
            CallArguments::Malformed(_) => Value::Null,
        };
        let DelegateReview { scopes } = session::parse_arguments(arguments)?;
        let mut board = self.board.lock();
        let refuse = |message| self.tools.refuse(DelegateRule::Delegation, message);
        let delegation = board.check_delegation(&scopes).map_err(refuse)?;
        let division = match delegation {
            Delegation::First => self.files.divide(&scopes, &self.done_parts),
            Delegation::Confirming => {
                let division = self.files.divide_for_confirmation(&with_findings(&board, scopes));
                if division.scopes.is_empty() {
                    return Err(refuse(format!(
                        "no scope names a file under review: {}",
                        division.notes.join("; ")
                    )));
                }
                division
            }
        };
        board.begin(delegation);
        Ok(WorkOrder { division, delegation, answer_sender })
    }
}

/// Adds the claims to confirm to the focus of each scope, since sub-agents do not know ids.
fn with_findings(board: &Board, scopes: Vec<ScopeWanted>) -> Vec<ScopeWanted> {
    let with_claims = |scope: ScopeWanted| {
        let claims = board
            .findings_to_confirm(&scope)
            .into_iter()
            .map(|(id, finding)| claim_text(id, finding));
        let focus = scope.focus.iter().cloned().chain(claims).collect::<Vec<_>>().join("\n");
        ScopeWanted { focus: Some(focus), ..scope }
    };
    scopes.into_iter().map(with_claims).collect()
}

fn claim_text(id: FindingId, finding: &Finding) -> String {
    let Finding { title, file, why_it_matters, .. } = finding;
    let line = finding.line_start.map(|line| format!(":{line}")).unwrap_or_default();
    format!(
        "Confirm or refute finding {id} ({file}{line}): {title}. {why_it_matters} Report it again only if you can prove it."
    )
}
