//! The orchestrator: divides the work by `delegate_review`, decides about what comes back by `submit_review`, and does
//! nothing else.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::board::{Board, Delegation, Id, Submission};
use super::conduct::Rule;
use super::desk::{Desk, ended_sentence};
use super::files::Files;
use super::scopes::Divided;
use crate::office::Office;
use crate::plan::{Part, TURN_TOKENS};
use crate::tools::session;
use crate::tools::session::{DelegateReview, ScopeWanted, SessionTool, SubmitReview, agent_tools};
use crh_agent::{
    Driven, Limits, Patience, Purpose, Run, Submit, Task, ToolOutcome, Toolbox, drive,
};
use crh_llm::{Arguments, ToolCall};
use crh_review::finding::Finding;

/// Turns: looking at the change, the agent files, two delegations, the submission, two repairs, a reminder, the grace
/// turn, and one to spare.
const TURNS: u32 = 10;

/// Calls of tools: whoever divides work needs the list of files and little more.
const TOOL_CALLS: u32 = 40;

/// Tokens over all turns: ten turns with a context that is full.
const TOKENS: u64 = 2_000_000;

/// The board, shared by the orchestrator's tools and those who carry out what it orders.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedBoard {
    board: Arc<Mutex<Board>>,
}

/// Work that the orchestrator gives out.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) divided: Divided,
    pub(super) delegation: Delegation,
    /// Where the answer is waited for.
    pub(super) answer: oneshot::Sender<String>,
}

/// What the orchestrator works with.
#[derive(Debug)]
pub(super) struct OrchestratorTools {
    pub(super) desk: Arc<Desk>,
    pub(super) files: Arc<Files>,
    /// What was reviewed in an earlier attempt.
    pub(super) done: BTreeSet<Part>,
    pub(super) board: SharedBoard,
    pub(super) orders: mpsc::Sender<Order>,
}

/// Runs the orchestrator to its end.
pub(super) async fn run(
    office: &Office,
    name: &str,
    tools: OrchestratorTools,
) -> Driven<Submission> {
    let model = &office.crew.reviewer;
    let task = Task {
        caller: name.to_owned(),
        conversation: office.prompts.conversation(&office.prompts.orchestrator()),
        tools: agent_tools(),
        submit: submit(tools.desk.clone(), tools.board.clone()),
        purpose: Purpose::Work,
        max_output_tokens: TURN_TOKENS,
        temperature: None,
        effort: None,
    };
    let limits = Limits {
        turns: TURNS,
        tool_calls: TOOL_CALLS,
        tokens: TOKENS,
        money: office.terms.allowance.money,
        // It waits for the sub-agents, so that only the end of the whole review ends it.
        wall: Duration::MAX,
    };
    let means = office.means(name, model, tools);
    Box::pin(drive(Run::new(task, limits, model.facts()), &means)).await
}

/// How the orchestrator submits.
fn submit(desk: Arc<Desk>, board: SharedBoard) -> Submit<Submission> {
    Submit::new(session::spec::<SubmitReview>(), move |value| {
        let submitted = session::read::<SubmitReview>(value).map_err(ended_sentence)?;
        let submission = board.lock().submission(&submitted);
        submission.map_err(|told| ended_sentence(desk.refuse(Rule::Submission, told)))
    })
}

impl SharedBoard {
    /// The board. Never kept across a wait.
    pub(super) fn lock(&self) -> MutexGuard<'_, Board> {
        // Each of its methods leaves it whole.
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Toolbox for OrchestratorTools {
    async fn call(&self, call: &ToolCall) -> ToolOutcome {
        self.desk.hear(call);
        if call.name != DelegateReview::NAME {
            return self.desk.call(call, None).await;
        }
        let (answer, answered) = oneshot::channel();
        match self.order(call, answer) {
            Ok(order) => {
                // Who carries orders out stays for as long as this run lasts.
                if self.orders.send(order).await.is_err() {
                    return ToolOutcome::Failed("the review is over".to_owned());
                }
            }
            Err(told) => return ToolOutcome::Failed(told),
        }
        match answered.await {
            Ok(text) => ToolOutcome::Answered(text),
            Err(_) => ToolOutcome::Failed("the review is over".to_owned()),
        }
    }

    fn patience(&self, name: &str) -> Patience {
        match name {
            DelegateReview::NAME => Patience::UntilDone,
            _ => Patience::Limited,
        }
    }
}

impl OrchestratorTools {
    /// What a call orders, or a sentence for the model.
    fn order(&self, call: &ToolCall, answer: oneshot::Sender<String>) -> Result<Order, String> {
        let arguments = match &call.arguments {
            Arguments::Json(arguments) => arguments.clone(),
            Arguments::Malformed(_) => Value::Null,
        };
        let DelegateReview { scopes } = session::read(arguments)?;
        let mut board = self.board.lock();
        let refuse = |told| self.desk.refuse(Rule::Delegation, told);
        let delegation = board.may_delegate(&scopes).map_err(refuse)?;
        let divided = match delegation {
            Delegation::First => self.files.divided(&scopes, &self.done),
            Delegation::Confirming => {
                let divided = self.files.confirming(&with_findings(&board, scopes));
                if divided.scopes.is_empty() {
                    return Err(refuse(format!(
                        "no scope names a file under review: {}",
                        divided.said.join("; ")
                    )));
                }
                divided
            }
        };
        board.begin(delegation);
        Ok(Order { divided, delegation, answer })
    }
}

/// The scopes with what they are to confirm in their focus: sub-agents do not know ids.
fn with_findings(board: &Board, scopes: Vec<ScopeWanted>) -> Vec<ScopeWanted> {
    let told = |scope: ScopeWanted| {
        let claims = board.confirmed_by(&scope).into_iter().map(|(id, finding)| claim(id, finding));
        let focus = scope.focus.iter().cloned().chain(claims).collect::<Vec<_>>().join("\n");
        ScopeWanted { focus: Some(focus), ..scope }
    };
    scopes.into_iter().map(told).collect()
}

fn claim(id: Id, finding: &Finding) -> String {
    let Finding { title, file, why_it_matters, .. } = finding;
    let line = finding.line_start.map(|line| format!(":{line}")).unwrap_or_default();
    format!(
        "Confirm or refute finding {id} ({file}{line}): {title}. {why_it_matters} Report it again only if you can prove it."
    )
}
