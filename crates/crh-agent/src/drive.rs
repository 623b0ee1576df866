//! Drives a run: does what it wants done next and says what came of it, until it ends.
//!
//! Each attempt to ask has its money reserved before it goes out. Whatever is waited for, cancelling and the end of
//! the wall time end the wait.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::tools::{BROKE, Calls, Time};
use crate::transcript::{Attempt, Pen, Settlement};
use crate::{
    Ask, Call, Cost, Ended, Ledger, Limit, Purpose, Run, Settled, Step, ToolOutcome, Toolbox,
    Totals, Transcript, words,
};
use crh_llm::retry::RetryPolicy;
use crh_llm::{Model, ModelError, Progress, Reply, Spent, ToolCall, retry};

/// What a run is driven with.
#[derive(Debug)]
pub struct Means<T> {
    /// Who is asked.
    pub model: Model,
    /// Who pays.
    pub ledger: Ledger,
    /// The tools.
    pub toolbox: Arc<T>,
    /// How long a tool may take, usually [`TOOL_TIME`](crate::TOOL_TIME).
    pub tool_time: Duration,
    /// Where everything is written down.
    pub transcript: Transcript,
    /// When asking again is tried.
    pub retry: RetryPolicy,
    /// Where waits between attempts take their randomness from, together with the caller's name.
    pub seed: u64,
    /// Stops the run.
    pub cancel: Cancel,
    /// Hears of answers while they come in.
    pub watch: Watch,
}

/// Hears of answers while they come in. Clones are the same listener.
#[derive(Clone)]
pub struct Watch {
    listener: Arc<dyn Fn(Progress<'_>) + Send + Sync>,
}

/// Why a question has no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unanswered {
    /// The model could not be asked, or did not answer.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The budget has no room for it, or no more time.
    #[error("{}", out_of(*.0))]
    Limit(Limit),
    /// Whoever asked has stopped it.
    #[error("the question was cancelled")]
    Cancelled,
}

/// A run that has been driven to its end.
#[derive(Debug, Clone, PartialEq)]
pub struct Driven<A> {
    /// How it ended.
    pub ended: Ended<A>,
    /// What it used.
    pub totals: Totals,
    /// How long it took.
    pub took: Duration,
    /// How long models were at work in it, over all attempts.
    pub model_time: Duration,
    /// Why its transcript is incomplete, if it is.
    pub transcript_error: Option<String>,
}

/// Stops runs. Clones stop the same ones.
#[derive(Debug, Clone)]
pub struct Cancel {
    state: Arc<watch::Sender<Stopped>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stopped {
    Not,
    Cancelled,
}

/// Drives a run to its end. Dropping the future stops it as well; a call in flight is then booked at the worst.
pub async fn drive<A: Clone, T: Toolbox>(mut run: Run<A>, means: &Means<T>) -> Driven<A> {
    let start = Instant::now();
    let mut drive = Drive::new(run.caller(), run.limits().wall, means, start);
    if let Some(deadline) = drive.deadline {
        run.end_within(deadline.saturating_duration_since(start));
    }
    drive.pen.started(means.model.name(), run.limits(), run.conversation());
    loop {
        if means.cancel.is_cancelled() {
            run.cancel();
        }
        match run.next(start.elapsed()) {
            Step::Ask(ask) => {
                drive.turn += 1;
                match drive.ask(&ask, |cost| run.charged(cost)).await {
                    Answer::Replied(reply) => run.replied(reply),
                    Answer::Failed(error) => run.failed(error),
                    Answer::Refused(limit) => run.refused(limit),
                    Answer::Cancelled => run.cancel(),
                }
                drive.purpose = ask.purpose;
                drive.pen.keep(ask.request);
            }
            Step::CallTools(calls) => match drive.call(&calls).await {
                Some(outcomes) => run.called(outcomes),
                None => run.cancel(),
            },
            Step::Stop(ended) => {
                drive.pen.ended(&ended, &drive.totals);
                let transcript_error = means.transcript.error();
                let (totals, took, model_time) = (drive.totals, start.elapsed(), drive.model_time);
                return Driven { ended, totals, took, model_time, transcript_error };
            }
        }
    }
}

/// Asks one question outside of any run: paid for, tried again and written down like those of a run.
pub async fn question<T: Toolbox>(
    caller: &str,
    ask: &Ask,
    means: &Means<T>,
) -> Result<Reply, Unanswered> {
    let mut drive = Drive::new(caller, Duration::MAX, means, Instant::now());
    drive.turn = 1;
    match drive.ask(ask, |_| None).await {
        Answer::Replied(reply) => Ok(reply),
        Answer::Failed(error) => Err(Unanswered::Model(error)),
        Answer::Refused(limit) => Err(Unanswered::Limit(limit)),
        Answer::Cancelled => Err(Unanswered::Cancelled),
    }
}

/// What came of a question, attempts included.
enum Answer {
    Replied(Reply),
    Failed(ModelError),
    Refused(Limit),
    Cancelled,
}

/// What came of one attempt.
enum Tried {
    Ended(Answer),
    /// It may be tried again after this long.
    Failed(ModelError, Option<Duration>),
}

/// How a wait ended.
enum Waited<R> {
    Done(R),
    Cancelled,
    TimeOver,
}

struct Drive<'a, T> {
    means: &'a Means<T>,
    pen: Pen<'a>,
    caller: String,
    deadline: Option<Instant>,
    jitter: Jitter,
    turn: u32,
    /// What the last question was for: its calls are for the same.
    purpose: Purpose,
    totals: Totals,
    model_time: Duration,
}

impl<'a, T: Toolbox> Drive<'a, T> {
    fn new(caller: &str, wall: Duration, means: &'a Means<T>, start: Instant) -> Self {
        // A time that no clock reaches is no limit.
        let own = start.checked_add(wall);
        let deadline = own.into_iter().chain(means.ledger.deadline()).min();
        Self {
            means,
            pen: Pen::new(&means.transcript, caller, start),
            caller: caller.to_owned(),
            deadline,
            jitter: Jitter::new(means.seed, caller),
            turn: 0,
            purpose: Purpose::Work,
            totals: Totals::default(),
            model_time: Duration::ZERO,
        }
    }

    /// Asks until there is an answer or no hope of one. `charge` hears what each attempt cost, and names the limit of the
    /// run that another one could pass.
    async fn ask(&mut self, ask: &Ask, mut charge: impl FnMut(Cost) -> Option<Limit>) -> Answer {
        let model = &self.means.model;
        let Some(price) = model.facts().price.clone() else {
            let message =
                format!("nobody knows what `{}` costs: configure its price", model.name());
            return Answer::Failed(ModelError::BadRequest { message });
        };
        let call = Call {
            model: model.name().to_owned(),
            input: ask.input,
            output: ask.request.max_output_tokens.into(),
            price,
            purpose: ask.purpose,
        };
        let mut attempt = Attempt { turn: self.turn, number: 1 };
        loop {
            let tried = self.attempt(ask, attempt, call.clone(), &mut charge).await;
            let (error, wait) = match tried {
                Tried::Failed(error, Some(wait)) => (error, wait),
                Tried::Failed(error, None) => return Answer::Failed(error),
                Tried::Ended(answer) => return answer,
            };
            match self.until(self.deadline, tokio::time::sleep(wait)).await {
                Waited::Done(()) => attempt.number += 1,
                Waited::Cancelled => return Answer::Cancelled,
                Waited::TimeOver => return Answer::Failed(error),
            }
        }
    }

    /// Reserves, asks and settles once.
    async fn attempt(
        &mut self,
        ask: &Ask,
        attempt: Attempt,
        call: Call,
        charge: &mut impl FnMut(Cost) -> Option<Limit>,
    ) -> Tried {
        let Means { model, ledger, .. } = self.means;
        let reservation = match self.until(self.deadline, ledger.reserve(call)).await {
            Waited::Done(Ok(reservation)) => reservation,
            Waited::Done(Err(limit)) => return self.refused(attempt, limit),
            Waited::TimeOver => return self.refused(attempt, Limit::Wall),
            Waited::Cancelled => return Tried::Ended(Answer::Cancelled),
        };
        self.pen.asked(attempt, ask, model.name(), reservation.worst());
        let start = Instant::now();
        let mut watch = |progress: Progress<'_>| (self.means.watch.listener)(progress);
        let asking = model.ask(&self.caller, &ask.request, &mut watch);
        let waited = self.until(self.deadline, asking).await;
        let cost = reservation.settle(match &waited {
            Waited::Done(Ok(reply)) => reply.usage.map_or(Settled::Unknown, Settled::Known),
            Waited::Done(Err(error)) => match error.spent() {
                Spent::Nothing => Settled::Nothing,
                Spent::Unknown => Settled::Unknown,
            },
            Waited::Cancelled | Waited::TimeOver => Settled::Unknown,
        });
        let in_the_way = cost.and_then(|cost| {
            self.totals.add(cost);
            charge(cost)
        });
        let took = start.elapsed();
        self.model_time += took;
        match waited {
            Waited::Done(Ok(reply)) => {
                self.pen.replied(&self.settled(attempt, took, cost), &reply);
                Tried::Ended(Answer::Replied(reply))
            }
            Waited::Done(Err(error)) => {
                let wait = self.wait_after(&error, attempt.number);
                self.pen.failed(&self.settled(attempt, took, cost), &error.to_string(), wait);
                match in_the_way {
                    Some(limit) if wait.is_some() => self.refused(attempt, limit),
                    Some(_) | None => Tried::Failed(error, wait),
                }
            }
            Waited::Cancelled => {
                self.pen.failed(&self.settled(attempt, took, cost), "cancelled", None);
                Tried::Ended(Answer::Cancelled)
            }
            Waited::TimeOver => {
                self.pen.failed(&self.settled(attempt, took, cost), "the time is over", None);
                self.refused(attempt, Limit::Wall)
            }
        }
    }

    fn settled(&self, attempt: Attempt, took: Duration, cost: Option<Cost>) -> Settlement {
        Settlement { attempt, took, cost, left: self.means.ledger.left() }
    }

    fn refused(&self, attempt: Attempt, limit: Limit) -> Tried {
        self.pen.refused(attempt, limit);
        Tried::Ended(Answer::Refused(limit))
    }

    /// How long to wait before the next attempt, if there is one. No wait is begun that outlasts the run.
    fn wait_after(&mut self, error: &ModelError, attempt: u32) -> Option<Duration> {
        match retry::after(error, attempt, &self.means.retry, self.jitter.next()) {
            retry::Decision::Wait(wait) => {
                let end = Instant::now().checked_add(wait)?;
                self.deadline.is_none_or(|deadline| end < deadline).then_some(wait)
            }
            retry::Decision::GiveUp => None,
        }
    }

    /// Calls tools side by side, as many of the first as the ledger has room for; none if the run was cancelled meanwhile.
    async fn call(&mut self, calls: &[ToolCall]) -> Option<Vec<ToolOutcome>> {
        let Means { ledger, toolbox, tool_time, .. } = self.means;
        let wanted = u32::try_from(calls.len()).unwrap_or(u32::MAX);
        let granted = ledger.tool_calls(wanted, self.purpose);
        self.totals.tool_calls = self.totals.tool_calls.saturating_add(granted);
        let (made, left) = calls.split_at(calls.len().min(granted as usize));
        calls.iter().for_each(|call| self.pen.tool_call(call));
        let time = Time { each: *tool_time, deadline: self.deadline };
        let mut running = Calls::start(toolbox, made, time);
        let mut outcomes = vec![ToolOutcome::Failed(BROKE.to_owned()); made.len()];
        for call in left {
            let not_called = ToolOutcome::Failed(words::TOO_MANY_CALLS.to_owned());
            self.pen.tool_result(call, Duration::ZERO, &not_called);
        }
        loop {
            // Calls end by themselves when the time is over.
            match self.until(None, running.next()).await {
                Waited::Done(Some(called)) => {
                    self.pen.tool_result(&calls[called.index], called.took, &called.outcome);
                    outcomes[called.index] = called.outcome;
                }
                Waited::Done(None) | Waited::TimeOver => return Some(outcomes),
                Waited::Cancelled => return None,
            }
        }
    }

    async fn until<R>(
        &self,
        deadline: Option<Instant>,
        work: impl Future<Output = R>,
    ) -> Waited<R> {
        let time_over = async {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // What is done is not thrown away, even if it is late.
            biased;
            done = work => Waited::Done(done),
            () = self.means.cancel.cancelled() => Waited::Cancelled,
            () = time_over => Waited::TimeOver,
        }
    }
}

fn out_of(limit: Limit) -> String {
    match limit {
        Limit::Wall => "no answer came in the time there was".to_owned(),
        Limit::Turns | Limit::ToolCalls | Limit::Tokens | Limit::Money => {
            format!("the budget for {limit} has no room for the question")
        }
    }
}

impl Watch {
    /// A listener. It is called in the middle of answers, so it must not take long.
    pub fn new(listener: impl Fn(Progress<'_>) + Send + Sync + 'static) -> Self {
        Self { listener: Arc::new(listener) }
    }

    /// Nobody listens.
    pub fn nobody() -> Self {
        Self::new(|_| {})
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}

impl Cancel {
    /// Nothing is stopped yet.
    pub fn new() -> Self {
        Self { state: Arc::new(watch::Sender::new(Stopped::Not)) }
    }

    /// Stops the runs: they end as soon as they come to know it, what they wait for is dropped.
    pub fn cancel(&self) {
        self.state.send_replace(Stopped::Cancelled);
    }

    /// Whether they were stopped.
    pub fn is_cancelled(&self) -> bool {
        *self.state.borrow() == Stopped::Cancelled
    }

    /// Waits until they are.
    pub async fn cancelled(&self) {
        let mut state = self.state.subscribe();
        if state.wait_for(|state| *state == Stopped::Cancelled).await.is_err() {
            // Without anyone left who could cancel, nobody does.
            std::future::pending::<()>().await;
        }
    }
}

impl Default for Cancel {
    fn default() -> Self {
        Self::new()
    }
}

/// Numbers from 0 to 1 that look random and follow from the seed alone (SplitMix64).
struct Jitter {
    state: u64,
}

impl Jitter {
    fn new(seed: u64, caller: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        (seed, caller).hash(&mut hasher);
        Self { state: hasher.finish() }
    }

    fn next(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        // The upper 53 bits are as many as an `f64` holds exactly.
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    }
}
