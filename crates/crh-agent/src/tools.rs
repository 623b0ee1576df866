//! Calls the tools of one turn in parallel. A tool that crashes or hangs fails only its own call.

#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::ToolOutcome;
use crh_llm::ToolCall;

/// Time limit of a tool call, enough for a search over a large repository.
pub const TOOL_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum number of parallel calls of one turn. Without it, turns of 50 calls in 64 runs would
/// start 3,200 threads.
const MAX_PARALLEL_CALLS: usize = 8;

/// Sent to the model when a tool crashes. The cause is withheld because it may quote private data.
pub(crate) const TOOL_CRASHED: &str = "the tool broke on this call; try it another way";

/// The tools that a run can call.
///
/// The calls of one turn run in parallel, each in its own task, which is aborted at the timeout.
/// Blocking tools must use [`run_on_thread`], because a blocked task cannot be aborted.
pub trait Toolbox: Send + Sync + 'static {
    /// Calls a tool. Mistakes of the model are `Failed`, with a text that explains them.
    fn call(&self, call: &ToolCall) -> impl Future<Output = ToolOutcome> + Send;

    /// Called before crh asks the model for its next turn. The request contains all results so far.
    fn begin_turn(&self) {}

    /// Time limit of a tool.
    fn timeout(&self, _name: &str) -> ToolTimeout {
        ToolTimeout::Limited
    }

    /// Whether calls of a tool run in parallel.
    fn order(&self, _name: &str) -> CallOrder {
        CallOrder::Parallel
    }
}

/// An empty toolbox, for questions outside of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoTools;

impl Toolbox for NoTools {
    async fn call(&self, call: &ToolCall) -> ToolOutcome {
        ToolOutcome::Failed(format!("there is no tool `{}`", call.name))
    }
}

/// Time limit of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolTimeout {
    /// `RunContext::tool_timeout`, usually [`TOOL_TIMEOUT`].
    Limited,
    /// The time limit of the run, for tools that run other agents.
    UntilDone,
}

/// Whether calls of a tool run in parallel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallOrder {
    /// In parallel with all calls of the turn.
    Parallel,
    /// After the earlier sequential calls of the turn, because a call may change what the next call
    /// reads.
    Sequential,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FinishedCall {
    /// Index of the call in its turn.
    pub(crate) index: usize,
    pub(crate) outcome: ToolOutcome,
    pub(crate) duration: Duration,
}

/// The running calls of one turn. Dropping aborts unfinished calls.
#[derive(Debug)]
pub(crate) struct RunningCalls {
    tasks: JoinSet<FinishedCall>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolTimeLimits {
    /// Limit of a call with [`ToolTimeout::Limited`].
    pub(crate) per_call: Duration,
    /// Deadline of the run.
    pub(crate) deadline: Option<Instant>,
}

/// Runs blocking code on its own thread. The thread continues to its end even if the caller stops
/// waiting.
pub async fn run_on_thread(
    name: &str,
    work: impl FnOnce() -> ToolOutcome + Send + 'static,
) -> ToolOutcome {
    let (sender, outcome) = oneshot::channel();
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        if let Ok(outcome) = catch_unwind(AssertUnwindSafe(work)) {
            // After a timeout the receiver is gone.
            drop(sender.send(outcome));
        }
    });
    match thread {
        Ok(_detached) => {
            outcome.await.unwrap_or_else(|_| ToolOutcome::Failed(TOOL_CRASHED.to_owned()))
        }
        Err(error) => ToolOutcome::Failed(format!("the tool could not be started: {error}")),
    }
}

impl RunningCalls {
    pub(crate) fn start<T: Toolbox>(
        toolbox: &Arc<T>,
        calls: &[ToolCall],
        time_limits: ToolTimeLimits,
    ) -> Self {
        let permits = Arc::new(Semaphore::new(MAX_PARALLEL_CALLS));
        let mut tasks = JoinSet::new();
        let mut last_end = None;
        for (index, call) in calls.iter().cloned().enumerate() {
            let (toolbox, permits) = (toolbox.clone(), permits.clone());
            let queue_link = match toolbox.order(&call.name) {
                CallOrder::Parallel => None,
                CallOrder::Sequential => {
                    let (end_sender, end_receiver) = oneshot::channel::<()>();
                    Some((last_end.replace(end_receiver), end_sender))
                }
            };
            tasks.spawn(async move {
                // The previous call has ended when its sender is dropped.
                let (previous_end, _end_sender) = queue_link.unzip();
                if let Some(previous_end) = previous_end.flatten() {
                    drop(previous_end.await);
                }
                let _permit = permits.acquire().await;
                let start = Instant::now();
                let outcome = call_with_timeout(toolbox, call, time_limits).await;
                FinishedCall { index, outcome, duration: start.elapsed() }
            });
        }
        Self { tasks }
    }

    /// The next finished call, in any order, or `None` after the last.
    pub(crate) async fn next(&mut self) -> Option<FinishedCall> {
        loop {
            // These tasks do not panic and are aborted only when `self` is dropped.
            if let Ok(finished_call) = self.tasks.join_next().await? {
                return Some(finished_call);
            }
        }
    }
}

async fn call_with_timeout<T: Toolbox>(
    toolbox: Arc<T>,
    call: ToolCall,
    time_limits: ToolTimeLimits,
) -> ToolOutcome {
    let call_deadline = match toolbox.timeout(&call.name) {
        ToolTimeout::Limited => Instant::now().checked_add(time_limits.per_call),
        ToolTimeout::UntilDone => None,
    };
    let timeout_message = match (call_deadline, time_limits.deadline) {
        (Some(end), deadline) if deadline.is_none_or(|deadline| end < deadline) => {
            let seconds = time_limits.per_call.as_secs_f32();
            format!("`{}` did not end within {seconds} s; ask for less at once", call.name)
        }
        (Some(_) | None, _) => format!("`{}` did not end before the time of the run", call.name),
    };
    // A `JoinSet` of one task catches its panic and aborts it on drop.
    let mut task = JoinSet::new();
    task.spawn(async move { toolbox.call(&call).await });
    let result = match call_deadline.into_iter().chain(time_limits.deadline).min() {
        Some(end) => tokio::time::timeout_at(end, task.join_next()).await.ok().flatten(),
        None => task.join_next().await,
    };
    match result {
        Some(Ok(outcome)) => outcome,
        Some(Err(_)) => ToolOutcome::Failed(TOOL_CRASHED.to_owned()),
        None => ToolOutcome::Failed(timeout_message),
    }
}
