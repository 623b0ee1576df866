//! State shared by all agent runs of one review.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::change_under_review::ChangeUnderReview;
use crate::events::ReviewEvent;
use crate::journal::ReviewJournal;
use crate::prompts::Prompts;
use crate::review_options::{ModelSet, ReviewOptions};
use crate::runs::RunRecord;
use crate::static_findings::StaticFindings;
use crh_agent::{AgentOutcome, Ledger, ProgressListener, RunContext, TOOL_TIMEOUT, Toolbox};
use crh_llm::retry::RetryPolicy;
use crh_llm::{Model, ModelError, ReplyProgress};

/// Retry policy for model calls. One wait takes up to a minute, since a short rate limit must not
/// fail a review.
pub(crate) const RETRY: RetryPolicy = RetryPolicy {
    max_attempts: 5,
    first_wait: Duration::from_secs(1),
    longest_wait: Duration::from_secs(60),
};

/// Delay before crh repeats a rate-limited run, if the vendor sends no `Retry-After`: twice the
/// last delay of [`RETRY`].
const RATE_LIMIT_DELAY: Duration = Duration::from_secs(16);

/// One fifth of the wall-clock budget is reserved for the stages after the runs.
const AFTER_RUNS_DIVISOR: u32 = 5;

/// Shared by every agent run of a review. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ReviewContext {
    /// The change under review.
    pub change: Arc<ChangeUnderReview>,
    /// Options of this review.
    pub options: Arc<ReviewOptions>,
    /// Models, by role.
    pub models: ModelSet,
    /// Shared budget ledger.
    pub ledger: Ledger,
    /// Rendered prompts.
    pub prompts: Arc<Prompts>,
    /// Findings of static checks. Prompts include them so that models do not repeat them.
    pub static_findings: StaticFindings,
    /// Writes records and events, and holds the cancel token.
    pub journal: ReviewJournal,
    /// Seed of the random delays between retries. A fixed seed makes recorded reviews replay
    /// exactly.
    pub retry_seed: u64,
}

impl ReviewContext {
    /// Time until the deadline of the review.
    pub(crate) fn time_left(&self) -> Duration {
        let time_until = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
        self.ledger.deadline().map_or(Duration::MAX, time_until)
    }

    /// Time left for runs. The time for merging and validation is subtracted, even if the runs
    /// start late.
    pub(crate) fn working_time(&self) -> Duration {
        self.time_left().saturating_sub(self.options.budget.wall / AFTER_RUNS_DIVISOR)
    }

    /// Emits a warning and waits, since the server is overloaded or limits the rate. Stops waiting
    /// if the user cancels the review.
    pub(crate) async fn wait_for_capacity(&self, run: &str, wait: Duration) {
        let text =
            format!("{run}: the model server is busy; retrying in {} s", wait.as_secs().max(1));
        self.journal.emit(ReviewEvent::Warning { text });
        tokio::select! {
            () = sleep(wait) => {}
            () = self.journal.cancel().cancelled() => {}
        }
    }

    /// Stores a finished run and emits events for it and for the usage so far.
    pub(crate) fn finish_run(&self, record: &RunRecord) {
        self.journal.run_ended(record);
        self.journal.emit(ReviewEvent::Spent { totals: self.ledger.spent() });
    }

    /// Builds the context of one run. `name` is the name of its assignment.
    pub fn run_context<T: Toolbox>(&self, name: &str, model: &Model, toolbox: T) -> RunContext<T> {
        RunContext {
            model: model.clone(),
            ledger: self.ledger.clone(),
            toolbox: Arc::new(toolbox),
            tool_timeout: TOOL_TIMEOUT,
            transcript: self.journal.transcript(name),
            retry: RETRY,
            seed: self.retry_seed,
            cancel: self.journal.cancel().clone(),
            progress_listener: self.progress_listener(name, |_| {}),
        }
    }

    /// A listener that also emits a warning when a run repeats a model call after an error.
    pub(crate) fn progress_listener(
        &self,
        run: &str,
        listener: impl Fn(ReplyProgress<'_>) + Send + Sync + 'static,
    ) -> ProgressListener {
        let (journal, run) = (self.journal.clone(), run.to_owned());
        let is_loading = AtomicBool::new(false);
        ProgressListener::new(listener).with_retries(move |error| {
            // While the server loads the model, crh asks again every few seconds, but warns once.
            let loads = matches!(error, ModelError::Loading { .. });
            if is_loading.swap(loads, Ordering::Relaxed) && loads {
                return;
            }
            let text = format!("{run}: {error}; retrying");
            journal.emit(ReviewEvent::Warning { text });
        })
    }
}

/// The time to wait before a rate-limited or overloaded run is retried. None for other outcomes, or
/// if the wait does not fit into `time_left`.
pub(crate) fn rate_limit_wait<T>(
    outcome: &AgentOutcome<T>,
    time_left: Duration,
) -> Option<Duration> {
    let wait = match outcome {
        AgentOutcome::Model(
            ModelError::RateLimited { retry_after, .. }
            | ModelError::Overloaded { retry_after, .. },
        ) => retry_after.unwrap_or(RATE_LIMIT_DELAY),
        AgentOutcome::Model(
            ModelError::Broken { .. }
            | ModelError::Loading { .. }
            | ModelError::Stalled { .. }
            | ModelError::BadKey { .. }
            | ModelError::NoKey { .. }
            | ModelError::NoServer { .. }
            | ModelError::NoCredit { .. }
            | ModelError::BadRequest { .. }
            | ModelError::ContextFull { .. }
            | ModelError::Refused { .. }
            | ModelError::CutStream { .. }
            | ModelError::Transport { .. }
            | ModelError::PromptCut { .. }
            | ModelError::EndlessReply { .. }
            | ModelError::NotRecorded { .. },
        )
        | AgentOutcome::Answered(_)
        | AgentOutcome::NoAnswer
        | AgentOutcome::BadAnswer(_)
        | AgentOutcome::Stuck
        | AgentOutcome::OutOfBudget(_)
        | AgentOutcome::ContextFull(_)
        | AgentOutcome::Cancelled
        | AgentOutcome::Aborted(_) => return None,
    };
    (wait < time_left).then_some(wait)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crh_agent::LimitKind;

    fn check(outcome: AgentOutcome<()>, left: u64, expected: Option<u64>) {
        let left = Duration::from_secs(left);
        assert_eq!(
            rate_limit_wait(&outcome, left),
            expected.map(Duration::from_secs),
            "{outcome:?}"
        );
    }

    fn rate_limited(seconds: Option<u64>) -> AgentOutcome<()> {
        let (retry_after, message) = (seconds.map(Duration::from_secs), "slow down".to_owned());
        AgentOutcome::Model(ModelError::RateLimited { retry_after, message })
    }

    #[test]
    fn rate_limited_run_waits_for_retry_after() {
        check(rate_limited(None), 900, Some(16));
        check(rate_limited(Some(0)), 900, Some(0));
        check(rate_limited(Some(300)), 900, Some(300));
        check(rate_limited(Some(3_600)), 900, None);
        check(rate_limited(None), 0, None);
        let message = "busy".to_owned();
        check(
            AgentOutcome::Model(ModelError::Overloaded { retry_after: None, message }),
            900,
            Some(16),
        );
    }

    #[test]
    fn other_failures_are_not_retried() {
        check(AgentOutcome::NoAnswer, 900, None);
        check(AgentOutcome::OutOfBudget(LimitKind::Turns.into()), 900, None);
        check(AgentOutcome::Model(ModelError::BadKey { message: "no".to_owned() }), 900, None);
        check(AgentOutcome::Model(ModelError::Broken { message: "a bug".to_owned() }), 900, None);
    }
}
