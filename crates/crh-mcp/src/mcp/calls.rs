//! Runs crh for the tools: waits for a turn, runs the child, and stops it when the call is
//! cancelled or the client is gone.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::progress::{ProgressReader, ProgressStep};
use super::report::ReportView;
use crate::program::{Invocation, Program, ProgramError, ProgramOutput, StopFlag};

/// Maximum number of reviews at the same time, so that their costs do not add up unseen.
const REVIEWS: usize = 1;
/// Maximum number of other calls at the same time.
const QUICK_CALLS: usize = 2;
/// Maximum number of calls that wait for their turn.
const WAITING_MAX: usize = 64;
/// Time limit of a review; the deepest budget has one hour.
const REVIEW_TIME: Duration = Duration::from_secs(2 * 60 * 60);
/// Time limit of other commands. Verifying a fix may run the tests of a project.
const QUICK_TIME: Duration = Duration::from_secs(20 * 60);
/// Maximum number of progress steps that wait for a slow client. Further ones are left out.
const STEPS_MAX: usize = 64;

/// Runs crh for the calls of one client.
#[derive(Debug, Clone)]
pub(crate) struct CallRunner {
    program: Program,
    reviews: Arc<Semaphore>,
    quick_calls: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
    client_gone: CancellationToken,
}

/// Decides the time limit of a call, and how many calls run at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallKind {
    Review,
    Quick,
}

/// One call of a client.
pub(crate) struct ClientCall<'a> {
    pub(crate) kind: CallKind,
    pub(crate) repository: &'a Path,
    pub(crate) args: Vec<String>,
    /// Environment variables of the child, for example the key of the client's model.
    pub(crate) variables: Vec<(String, String)>,
    /// Cancelled when the client cancels the call.
    pub(crate) cancelled: CancellationToken,
    /// Receives the progress of the child. `None` if the command prints no events.
    pub(crate) progress: Option<mpsc::Sender<ProgressStep>>,
}

/// JSON that a command printed, and its notes for the user.
#[derive(Debug)]
pub(crate) struct PrintedJson {
    pub(crate) json: Value,
    /// Lines of standard error that begin with `warning: ` or `note: `.
    notes: Vec<String>,
}

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    #[error("{WAITING_MAX} calls are waiting; try again later")]
    TooMany,
    #[error("the call was cancelled")]
    Cancelled,
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// crh printed an error.
    #[error("{0}")]
    Failed(String),
    #[error("crh printed a report that this server cannot read: {0}")]
    BadReport(serde_json::Error),
    #[error("the server failed: {0}")]
    Server(String),
}

/// Sets the flag when the call is dropped.
struct StopOnDrop(StopFlag);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Lowers the number of waiting calls when it is dropped.
struct WaitingCall(Arc<AtomicUsize>);

impl Drop for WaitingCall {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl CallRunner {
    pub(crate) fn new(program: Program, client_gone: CancellationToken) -> Self {
        Self {
            program,
            reviews: Arc::new(Semaphore::new(REVIEWS)),
            quick_calls: Arc::new(Semaphore::new(QUICK_CALLS)),
            waiting: Arc::default(),
            client_gone,
        }
    }

    /// Runs crh when it is the call's turn. A call that ends early leaves no child behind.
    pub(crate) async fn run(&self, call: ClientCall<'_>) -> Result<ProgramOutput, CallError> {
        let (turns, time_limit) = match call.kind {
            CallKind::Review => (&self.reviews, REVIEW_TIME),
            CallKind::Quick => (&self.quick_calls, QUICK_TIME),
        };
        let waiting = self.waiting.fetch_add(1, Ordering::SeqCst);
        let waiting_call = WaitingCall(self.waiting.clone());
        if waiting >= WAITING_MAX {
            return Err(CallError::TooMany);
        }
        let turn = tokio::select! {
            turn = turns.acquire() => turn.map_err(|error| CallError::Server(error.to_string()))?,
            () = self.ended(&call.cancelled) => return Err(CallError::Cancelled),
        };
        drop(waiting_call);
        let mut invocation = Invocation::new(call.repository, &call.args, time_limit);
        let variables = call.variables.into_iter();
        invocation.variables = variables.map(|(name, value)| (name, value.into())).collect();
        let stop = StopOnDrop(StopFlag::default());
        let (program, flag) = (self.program.clone(), stop.0.clone());
        let mut reader = ProgressReader::default();
        let progress = call.progress;
        let on_line = move |line: &str| {
            let step = reader.read(line);
            if let (Some(sender), Some(step)) = (&progress, step) {
                // A slow client misses steps.
                sender.try_send(step).unwrap_or_default();
            }
        };
        let mut child =
            tokio::task::spawn_blocking(move || program.run(&invocation, &flag, on_line));
        let result = tokio::select! {
            result = &mut child => result,
            () = self.ended(&call.cancelled) => {
                stop.0.stop();
                // The next call begins only when this child has ended.
                child.await
            }
        };
        drop(turn);
        match result {
            Ok(Err(ProgramError::Stopped)) => Err(CallError::Cancelled),
            Ok(result) => Ok(result?),
            Err(error) => Err(CallError::Server(error.to_string())),
        }
    }

    /// Runs a command that prints JSON.
    pub(crate) async fn json(&self, call: ClientCall<'_>) -> Result<PrintedJson, CallError> {
        let output = self.run(call).await?;
        // The exit code is no sign of failure: it also reports issues and incomplete reviews.
        if output.stdout.is_empty() {
            return Err(CallError::Failed(output.message()));
        }
        let json = serde_json::from_slice(&output.stdout).map_err(CallError::BadReport)?;
        let is_note = |line: &String| line.starts_with("warning: ") || line.starts_with("note: ");
        let notes = output.stderr.into_iter().filter(is_note).collect();
        Ok(PrintedJson { json, notes })
    }

    /// Runs a command whose exit code 0 means success, and returns what it printed.
    pub(crate) async fn text(&self, call: ClientCall<'_>) -> Result<String, CallError> {
        let output = self.run(call).await?;
        let printed = [output.text(), output.message()].map(|text| text.trim().to_owned());
        let printed = printed.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>();
        match output.code {
            Some(0) => Ok(printed.join("\n")),
            Some(_) | None => Err(CallError::Failed(printed.join("\n"))),
        }
    }

    async fn ended(&self, cancelled: &CancellationToken) {
        tokio::select! {
            () = cancelled.cancelled() => {}
            () = self.client_gone.cancelled() => {}
        }
    }
}

/// A channel for the steps of a call.
pub(crate) fn progress_channel() -> (mpsc::Sender<ProgressStep>, mpsc::Receiver<ProgressStep>) {
    mpsc::channel(STEPS_MAX)
}

/// What a client gets of a report.
pub(crate) fn view(report: PrintedJson) -> Result<ReportView, CallError> {
    let view = ReportView::from_json(report.json).map_err(CallError::BadReport)?;
    Ok(view.with_notes(report.notes))
}
