//! Executes an agent run: performs each step that the run asks for, until it ends.
//!
//! The highest cost of each attempt is reserved before the request is sent. Cancellation and the
//! wall-time limit interrupt every wait.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use thiserror::Error;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::tools::{RunningCalls, TOOL_CRASHED, ToolTimeLimits};
use crate::transcript::{AskAttempt, AttemptSummary, NoReplyCause, TranscriptWriter};
use crate::{
    AgentRun, AgentRunEnd, BudgetRefusal, CallCost, CallEstimate, CallPurpose, CallUsage,
    DoubtfulCount, EstimatedRequest, Ledger, LimitKind, RunStep, ToolOutcome, Toolbox, Transcript,
    UsageTotals, model_texts,
};
use crh_llm::retry::{FailedRequests, ModelRetryDecision, RetryPolicy};
use crh_llm::{FailureCost, Model, ModelError, ModelReply, ReplyProgress, SharedPrefix, ToolCall};

/// Everything needed to execute a run.
#[derive(Debug)]
pub struct RunContext<T> {
    /// Model to ask.
    pub model: Model,
    /// Shared budget ledger.
    pub ledger: Ledger,
    /// Tools that the model can call.
    pub toolbox: Arc<T>,
    /// Time limit of one tool call, usually [`TOOL_TIMEOUT`](crate::TOOL_TIMEOUT).
    pub tool_timeout: Duration,
    /// Transcript of all events.
    pub transcript: Transcript,
    /// When failed requests are retried.
    pub retry: RetryPolicy,
    /// Seed for retry jitter, combined with the caller's name.
    pub seed: u64,
    /// Cancels the run. A cancelled run stops at its next wait and drops the request or tool calls
    /// that it waits for.
    pub cancel: CancellationToken,
    /// Receives replies while they stream in, and retries.
    pub progress_listener: ProgressListener,
}

/// Receives replies while they stream in, and retries. Clones share the callbacks.
#[derive(Clone)]
pub struct ProgressListener {
    listener: Arc<dyn Fn(ReplyProgress<'_>) + Send + Sync>,
    retry_listener: Arc<dyn Fn(&ModelError) + Send + Sync>,
}

/// Why [`ask_once`] returned no reply.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum QuestionError {
    /// The model failed to answer.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A budget limit is reached.
    #[error("{}", limit_message(*.0))]
    Limit(LimitKind),
    /// The caller cancelled the question.
    #[error("the question was cancelled")]
    Cancelled,
}

/// Result of an executed run.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishedRun<A> {
    /// Outcome of the run.
    pub end: AgentRunEnd<A>,
    /// Tokens, calls and money used.
    pub totals: UsageTotals,
    /// Duration of the run.
    pub duration: Duration,
    /// Time spent waiting for the model, over all attempts.
    pub model_time: Duration,
    /// Why the transcript is incomplete, if it is.
    pub transcript_error: Option<String>,
    /// The server's count of prompt tokens, if it is too low.
    pub doubtful_count: Option<DoubtfulCount>,
    /// The server's message, if it does not support tools.
    pub tool_refusal: Option<String>,
}

/// Executes a run to its end. Dropping the future cancels it; a request in flight is then booked at
/// its worst-case cost.
pub async fn drive<A: Clone, T: Toolbox>(
    mut run: AgentRun<A>,
    context: &RunContext<T>,
) -> FinishedRun<A> {
    let start = Instant::now();
    let mut driver = RunDriver::new(run.caller(), run.limits().wall, context, start);
    if let Some(deadline) = driver.deadline {
        run.cap_wall_time(deadline.saturating_duration_since(start));
    }
    driver.events.write_start(context.model.name(), run.limits(), run.conversation());
    loop {
        if context.cancel.is_cancelled() {
            run.cancel();
        }
        match run.next(start.elapsed()) {
            RunStep::Ask(ask) => {
                driver.turn += 1;
                driver.context.toolbox.begin_turn();
                match driver.ask(&ask, |cost| run.record_cost(cost)).await {
                    AskOutcome::Replied(reply) => run.on_reply(reply),
                    AskOutcome::Failed(error) => run.on_failure(error),
                    AskOutcome::Refused(refusal) => run.on_refusal(refusal),
                    AskOutcome::Cancelled => run.cancel(),
                }
                driver.purpose = ask.purpose;
                driver.events.remember_request(ask.request);
            }
            RunStep::CallTools(calls) => match driver.call_tools(&calls).await {
                Some(outcomes) => run.on_tool_results(outcomes),
                None => run.cancel(),
            },
            RunStep::Stop(end) => {
                driver.events.write_end(&end, &driver.totals);
                let transcript_error = context.transcript.error();
                return FinishedRun {
                    end,
                    totals: driver.totals,
                    duration: start.elapsed(),
                    model_time: driver.model_time,
                    transcript_error,
                    doubtful_count: run.doubtful_count(),
                    tool_refusal: run.tool_refusal().map(str::to_owned),
                };
            }
        }
    }
}

/// Asks a single question outside of a run, with the same budget, retries and transcript as a run.
pub async fn ask_once<T: Toolbox>(
    caller: &str,
    ask: &EstimatedRequest,
    context: &RunContext<T>,
) -> Result<ModelReply, QuestionError> {
    let mut driver = RunDriver::new(caller, Duration::MAX, context, Instant::now());
    driver.turn = 1;
    match driver.ask(ask, |_| None).await {
        AskOutcome::Replied(reply) => Ok(reply),
        AskOutcome::Failed(error) => Err(QuestionError::Model(error)),
        AskOutcome::Refused(refusal) => Err(QuestionError::Limit(refusal.limit)),
        AskOutcome::Cancelled => Err(QuestionError::Cancelled),
    }
}

/// Result of a question after all retries.
enum AskOutcome {
    Replied(ModelReply),
    Failed(ModelError),
    Refused(BudgetRefusal),
    Cancelled,
}

/// Result of a single attempt.
enum AttemptOutcome {
    Ended(AskOutcome),
    /// Failed; retry after this delay, if there is one.
    Failed(ModelError, Option<Duration>),
}

enum WaitOutcome<R> {
    Done(R),
    Cancelled,
    TimedOut,
}

struct RunDriver<'a, T> {
    context: &'a RunContext<T>,
    events: TranscriptWriter<'a>,
    caller: String,
    deadline: Option<Instant>,
    /// For the jitter of retries, seeded so that a repeated run waits equally long.
    random: Rng,
    turn: u32,
    /// Failed requests of the current question.
    failed_requests: FailedRequests,
    /// Purpose of the last request. The tool calls that the reply asks for are paid from the same
    /// share of the budget.
    purpose: CallPurpose,
    totals: UsageTotals,
    model_time: Duration,
}

impl<'a, T: Toolbox> RunDriver<'a, T> {
    fn new(caller: &str, wall: Duration, context: &'a RunContext<T>, start: Instant) -> Self {
        // A deadline that overflows the clock means no deadline.
        let run_deadline = start.checked_add(wall);
        let deadline = run_deadline.into_iter().chain(context.ledger.deadline()).min();
        let mut hasher = DefaultHasher::new();
        (context.seed, caller).hash(&mut hasher);
        Self {
            context,
            events: TranscriptWriter::new(&context.transcript, caller, start),
            caller: caller.to_owned(),
            deadline,
            random: Rng::with_seed(hasher.finish()),
            turn: 0,
            failed_requests: FailedRequests::default(),
            purpose: CallPurpose::Work,
            totals: UsageTotals::default(),
            model_time: Duration::ZERO,
        }
    }

    /// Asks with retries. `charge` receives the cost of each attempt and returns the run limit that
    /// another attempt could exceed.
    async fn ask(
        &mut self,
        ask: &EstimatedRequest,
        mut charge: impl FnMut(CallCost) -> Option<LimitKind>,
    ) -> AskOutcome {
        let model = &self.context.model;
        if let Some(error) = model.stopped_server() {
            return AskOutcome::Failed(error);
        }
        let Some(price) = model.facts().price.clone() else {
            let message =
                format!("the price of `{}` is unknown; add it to your configuration", model.name());
            return AskOutcome::Failed(ModelError::BadRequest { message });
        };
        let call = CallEstimate {
            model: model.name().to_owned(),
            input: ask.input,
            output: ask.request.max_output_tokens.into(),
            usual_output: ask.request.usual_output().into(),
            prefix: SharedPrefix::from_request(&ask.request),
            price,
            purpose: ask.purpose,
        };
        let mut attempt = AskAttempt { turn: self.turn, number: 1 };
        self.failed_requests = FailedRequests::default();
        loop {
            let outcome = self.attempt(ask, attempt, call.clone(), &mut charge).await;
            let (error, delay) = match outcome {
                AttemptOutcome::Failed(error, Some(wait)) => (error, wait),
                AttemptOutcome::Failed(error, None) => return AskOutcome::Failed(error),
                AttemptOutcome::Ended(ask_outcome) => return ask_outcome,
            };
            (self.context.progress_listener.retry_listener)(&error);
            match self.wait_for(self.deadline, tokio::time::sleep(delay)).await {
                WaitOutcome::Done(()) => attempt.number += 1,
                WaitOutcome::Cancelled => return AskOutcome::Cancelled,
                WaitOutcome::TimedOut => return AskOutcome::Failed(error),
            }
        }
    }

    /// Reserves the cost, sends the request and settles the cost.
    async fn attempt(
        &mut self,
        ask: &EstimatedRequest,
        attempt: AskAttempt,
        call: CallEstimate,
        charge: &mut impl FnMut(CallCost) -> Option<LimitKind>,
    ) -> AttemptOutcome {
        let RunContext { model, ledger, .. } = self.context;
        let reservation = match self.wait_for(self.deadline, ledger.reserve(call)).await {
            WaitOutcome::Done(Ok(reservation)) => reservation,
            WaitOutcome::Done(Err(refusal)) => return self.refuse(attempt, refusal),
            WaitOutcome::TimedOut => return self.refuse(attempt, LimitKind::Wall.into()),
            WaitOutcome::Cancelled => return AttemptOutcome::Ended(AskOutcome::Cancelled),
        };
        self.events.write_request(attempt, ask, model.name(), reservation.worst_case());
        let start = Instant::now();
        let mut on_progress =
            |progress: ReplyProgress<'_>| (self.context.progress_listener.listener)(progress);
        let output_cap = u32::try_from(reservation.output()).unwrap_or(u32::MAX);
        let reply = model.ask(&self.caller, &ask.request, output_cap, &mut on_progress);
        let wait_outcome = self.wait_for(self.deadline, reply).await;
        let cost = reservation.settle(match &wait_outcome {
            WaitOutcome::Done(Ok(reply)) => {
                reply.usage.map_or(CallUsage::Unknown, CallUsage::Known)
            }
            WaitOutcome::Done(Err(error)) => match error.cost() {
                FailureCost::Nothing => CallUsage::NotBilled,
                FailureCost::Unknown => CallUsage::Unknown,
            },
            WaitOutcome::Cancelled | WaitOutcome::TimedOut => CallUsage::Unknown,
        });
        if !matches!(wait_outcome, WaitOutcome::Done(Ok(_))) {
            ledger.count_failed_call();
            self.totals.failed_calls = self.totals.failed_calls.saturating_add(1);
        }
        let exceeded_limit = cost.and_then(|cost| {
            self.totals.add(cost);
            charge(cost)
        });
        let duration = start.elapsed();
        self.model_time += duration;
        let remaining_budget = ledger.remaining();
        let summary = AttemptSummary { attempt, duration, cost, remaining_budget };
        match wait_outcome {
            WaitOutcome::Done(Ok(reply)) => {
                self.events.write_reply(&summary, &reply);
                AttemptOutcome::Ended(AskOutcome::Replied(reply))
            }
            WaitOutcome::Done(Err(error)) => {
                let delay = self.retry_delay(&error);
                self.events.write_failure(&summary, NoReplyCause::Model(&error), delay);
                match exceeded_limit {
                    Some(limit) if delay.is_some() => self.refuse(attempt, limit.into()),
                    Some(_) | None => AttemptOutcome::Failed(error, delay),
                }
            }
            WaitOutcome::Cancelled => {
                self.events.write_failure(&summary, NoReplyCause::Cancelled, None);
                AttemptOutcome::Ended(AskOutcome::Cancelled)
            }
            WaitOutcome::TimedOut => {
                self.events.write_failure(&summary, NoReplyCause::TimedOut, None);
                self.refuse(attempt, LimitKind::Wall.into())
            }
        }
    }

    fn refuse(&self, attempt: AskAttempt, refusal: BudgetRefusal) -> AttemptOutcome {
        self.events.write_limit_refusal(attempt, refusal.limit);
        AttemptOutcome::Ended(AskOutcome::Refused(refusal))
    }

    /// Delay before the next attempt. `None` means no retry: the error is final, or the delay would
    /// end after the deadline of the run.
    fn retry_delay(&mut self, error: &ModelError) -> Option<Duration> {
        match self.failed_requests.decide(error, &self.context.retry, self.random.f64()) {
            ModelRetryDecision::Wait(delay) => {
                let end = Instant::now().checked_add(delay)?;
                self.deadline.is_none_or(|deadline| end < deadline).then_some(delay)
            }
            ModelRetryDecision::GiveUp => None,
        }
    }

    /// Calls tools in parallel, as many as the ledger grants. Returns the outcomes of the granted
    /// calls, or `None` if the run was cancelled.
    async fn call_tools(&mut self, calls: &[ToolCall]) -> Option<Vec<ToolOutcome>> {
        let RunContext { ledger, toolbox, tool_timeout, .. } = self.context;
        let requested_count = u32::try_from(calls.len()).unwrap_or(u32::MAX);
        let granted_count = ledger.grant_tool_calls(requested_count, self.purpose);
        self.totals.tool_calls = self.totals.tool_calls.saturating_add(granted_count);
        let (granted_calls, refused_calls) =
            calls.split_at(calls.len().min(granted_count as usize));
        calls.iter().for_each(|call| self.events.write_tool_call(call));
        let time = ToolTimeLimits { per_call: *tool_timeout, deadline: self.deadline };
        let mut running = RunningCalls::start(toolbox, granted_calls, time);
        let mut outcomes = vec![ToolOutcome::Failed(TOOL_CRASHED.to_owned()); granted_calls.len()];
        for call in refused_calls {
            let refusal = ToolOutcome::Failed(model_texts::TOO_MANY_CALLS.to_owned());
            self.events.write_tool_result(call, Duration::ZERO, &refusal);
        }
        loop {
            // Tool calls have their own deadline.
            match self.wait_for(None, running.next()).await {
                WaitOutcome::Done(Some(finished_call)) => {
                    self.events.write_tool_result(
                        &calls[finished_call.index],
                        finished_call.duration,
                        &finished_call.outcome,
                    );
                    outcomes[finished_call.index] = finished_call.outcome;
                }
                WaitOutcome::Done(None) | WaitOutcome::TimedOut => return Some(outcomes),
                WaitOutcome::Cancelled => return None,
            }
        }
    }

    async fn wait_for<R>(
        &self,
        deadline: Option<Instant>,
        work: impl Future<Output = R>,
    ) -> WaitOutcome<R> {
        let timeout = async {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // Prefer a finished result, even if the deadline has passed.
            biased;
            result = work => WaitOutcome::Done(result),
            () = self.context.cancel.cancelled() => WaitOutcome::Cancelled,
            () = timeout => WaitOutcome::TimedOut,
        }
    }
}

fn limit_message(limit: LimitKind) -> String {
    match limit {
        LimitKind::Wall => "timed out: no answer within the time limit".to_owned(),
        LimitKind::Turns | LimitKind::ToolCalls | LimitKind::Tokens | LimitKind::Money => {
            format!("the remaining budget for {limit} is too small for this request")
        }
    }
}

impl ProgressListener {
    /// Wraps a callback. The callback must be fast, because it is called while a reply streams in.
    pub fn new(listener: impl Fn(ReplyProgress<'_>) + Send + Sync + 'static) -> Self {
        Self { listener: Arc::new(listener), retry_listener: Arc::new(|_| {}) }
    }

    /// Adds a callback for errors after which crh asks again.
    pub fn with_retries(self, listener: impl Fn(&ModelError) + Send + Sync + 'static) -> Self {
        Self { retry_listener: Arc::new(listener), ..self }
    }

    /// A listener that ignores everything.
    pub fn silent() -> Self {
        Self::new(|_| {})
    }
}

impl fmt::Debug for ProgressListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProgressListener").finish_non_exhaustive()
    }
}
