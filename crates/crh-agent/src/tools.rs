//! Calls the tools of one turn side by side. A tool that breaks, hangs or is slow costs its own call only.

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

/// How long a tool may take: the longest that a model's turn should wait for a search over a large repository.
pub const TOOL_TIME: Duration = Duration::from_secs(10);

/// The most calls of one turn that run at the same time. Models seldom make more than four; a turn of fifty is not to
/// start fifty threads in each of 64 runs.
const SIDE_BY_SIDE: usize = 8;

/// Told to the model about a call that broke. What broke it may quote the repository or our memory: it is not told.
pub(crate) const BROKE: &str = "the tool broke on this call; try it another way";

/// The tools that a run can call.
///
/// Calls of one turn come side by side, each in a task of its own that is aborted when its time is over. A tool that
/// does not wait asynchronously has to go through [`on_thread`], or nobody can take the thread from it.
pub trait Toolbox: Send + Sync + 'static {
    /// Calls a tool. What the model did wrong is `Failed`, in a sentence for it.
    fn call(&self, call: &ToolCall) -> impl Future<Output = ToolOutcome> + Send;

    /// How long a tool may take.
    fn patience(&self, _name: &str) -> Patience {
        Patience::Limited
    }

    /// When the calls of a tool are made.
    fn order(&self, _name: &str) -> Order {
        Order::SideBySide
    }
}

/// No tools at all, for questions outside of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoTools;

impl Toolbox for NoTools {
    async fn call(&self, call: &ToolCall) -> ToolOutcome {
        ToolOutcome::Failed(format!("there is no tool `{}`", call.name))
    }
}

/// How long a tool may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// [`TOOL_TIME`].
    Limited,
    /// As long as the run may: other agents work inside it.
    UntilDone,
}

/// When the calls of a tool are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// With all others of their turn.
    SideBySide,
    /// After all of this order that stand before them in their turn: one may change what the next one sees.
    OneByOne,
}

/// A call that has come to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Called {
    /// The number of the call in its turn.
    pub(crate) index: usize,
    pub(crate) outcome: ToolOutcome,
    pub(crate) took: Duration,
}

/// The calls of one turn, under way. Dropping them aborts what has not ended.
#[derive(Debug)]
pub(crate) struct Calls {
    tasks: JoinSet<Called>,
}

/// When a tool has to be done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Time {
    /// For one call with [`Patience::Limited`].
    pub(crate) each: Duration,
    /// For the whole run.
    pub(crate) deadline: Option<Instant>,
}

/// Runs blocking code on a thread of its own. The thread ends with the code, even if nobody waits for it any more.
pub async fn on_thread(
    name: &str,
    work: impl FnOnce() -> ToolOutcome + Send + 'static,
) -> ToolOutcome {
    let (sender, outcome) = oneshot::channel();
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        if let Ok(outcome) = catch_unwind(AssertUnwindSafe(work)) {
            // Nobody waits for what comes after its time.
            drop(sender.send(outcome));
        }
    });
    match thread {
        Ok(_detached) => outcome.await.unwrap_or_else(|_| ToolOutcome::Failed(BROKE.to_owned())),
        Err(error) => ToolOutcome::Failed(format!("the tool could not be started: {error}")),
    }
}

impl Calls {
    /// Starts the calls.
    pub(crate) fn start<T: Toolbox>(toolbox: &Arc<T>, calls: &[ToolCall], time: Time) -> Self {
        let room = Arc::new(Semaphore::new(SIDE_BY_SIDE));
        let mut tasks = JoinSet::new();
        let mut last = None;
        for (index, call) in calls.iter().cloned().enumerate() {
            let (toolbox, room) = (toolbox.clone(), room.clone());
            let queued = match toolbox.order(&call.name) {
                Order::SideBySide => None,
                Order::OneByOne => {
                    let (done, next) = oneshot::channel::<()>();
                    Some((last.replace(next), done))
                }
            };
            tasks.spawn(async move {
                // Its end is that the other half is gone, however that call ended.
                let (before, _done) = queued.unzip();
                if let Some(before) = before.flatten() {
                    drop(before.await);
                }
                let _permit = room.acquire().await;
                let start = Instant::now();
                let outcome = outcome(toolbox, call, time).await;
                Called { index, outcome, took: start.elapsed() }
            });
        }
        Self { tasks }
    }

    /// The next call that has ended, in whatever order; none when all have.
    pub(crate) async fn next(&mut self) -> Option<Called> {
        loop {
            // Our own tasks do not panic and are aborted only together with this.
            if let Ok(called) = self.tasks.join_next().await? {
                return Some(called);
            }
        }
    }
}

async fn outcome<T: Toolbox>(toolbox: Arc<T>, call: ToolCall, time: Time) -> ToolOutcome {
    let limited = match toolbox.patience(&call.name) {
        Patience::Limited => Instant::now().checked_add(time.each),
        Patience::UntilDone => None,
    };
    let late = match (limited, time.deadline) {
        (Some(end), deadline) if deadline.is_none_or(|deadline| end < deadline) => {
            let seconds = time.each.as_secs_f32();
            format!("`{}` did not end within {seconds} s; ask for less at once", call.name)
        }
        (Some(_) | None, _) => format!("`{}` did not end before the time of the run", call.name),
    };
    // A set of one: it catches the panic, and aborts the task when it is dropped.
    let mut alone = JoinSet::new();
    alone.spawn(async move { toolbox.call(&call).await });
    let ended = match limited.into_iter().chain(time.deadline).min() {
        Some(end) => tokio::time::timeout_at(end, alone.join_next()).await.ok().flatten(),
        None => alone.join_next().await,
    };
    match ended {
        Some(Ok(outcome)) => outcome,
        Some(Err(_)) => ToolOutcome::Failed(BROKE.to_owned()),
        None => ToolOutcome::Failed(late),
    }
}
