//! Asks a model from a command: one runtime, one ledger, one retry policy.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::runtime::Runtime;

use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_agent::{
    AgentRun, Budget, CallPurpose, CancelToken, EstimatedRequest, FinishedRun, Ledger, LimitKind,
    NoTools, ProgressListener, QuestionError, RunContext, TOOL_TIMEOUT, Toolbox, Transcript,
    UsageTotals,
};
use crh_llm::retry::RetryPolicy;
use crh_llm::{Model, ModelError, ModelReply, ModelRequest, Money, ReplyProgress};

/// Makes few attempts, because a user is waiting and can run the command again.
const RETRY: RetryPolicy = RetryPolicy {
    max_attempts: 3,
    first_wait: Duration::from_millis(500),
    longest_wait: Duration::from_secs(60),
};

/// A model with a budget and tools.
pub(crate) struct ModelClient<T = NoTools> {
    runtime: Runtime,
    context: RunContext<T>,
}

impl<T: Toolbox> ModelClient<T> {
    pub(crate) fn open(
        model: Model,
        budget: Budget,
        toolbox: T,
        transcript: Transcript,
    ) -> Result<Self, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.or_fail(FailureKind::External)?;
        let ledger = {
            let _in_runtime = runtime.enter();
            Ledger::open(budget)
        };
        let context = RunContext {
            model,
            ledger,
            toolbox: Arc::new(toolbox),
            tool_timeout: TOOL_TIMEOUT,
            transcript,
            retry: RETRY,
            // Random, so that rate-limited processes do not retry at the same time.
            seed: RandomState::new().hash_one(()),
            cancel: CancelToken::new(),
            progress_listener: ProgressListener::silent(),
        };
        Ok(Self { runtime, context })
    }

    /// Sets a callback for partial answers.
    pub(crate) fn with_progress(
        mut self,
        watch: impl Fn(ReplyProgress<'_>) + Send + Sync + 'static,
    ) -> Self {
        let is_loading = AtomicBool::new(false);
        self.context.progress_listener = ProgressListener::new(watch).with_retries(move |error| {
            // While the server loads the model, crh asks again every few seconds.
            let loads = matches!(error, ModelError::Loading { .. });
            if !is_loading.swap(loads, Ordering::Relaxed) || !loads {
                ui::note(&format!("{error}; retrying"));
            }
        });
        self
    }

    pub(crate) fn block_on<R>(&self, work: impl Future<Output = R>) -> R {
        self.runtime.block_on(work)
    }

    pub(crate) async fn ask(
        &self,
        caller: &str,
        request: ModelRequest,
    ) -> Result<ModelReply, QuestionError> {
        let estimated_request = EstimatedRequest::new(request, CallPurpose::Validation);
        crh_agent::ask_once(caller, &estimated_request, &self.context).await
    }

    /// Runs an agent to its end.
    pub(crate) fn drive<A: Clone>(&self, run: AgentRun<A>) -> FinishedRun<A> {
        self.runtime.block_on(crh_agent::drive(run, &self.context))
    }

    pub(crate) fn model(&self) -> &Model {
        &self.context.model
    }

    /// Prints calls, tokens and cost, and warns if the transcript is incomplete.
    pub(crate) fn print_usage(&self) {
        if let Some(error) = self.context.transcript.error() {
            ui::warn(&format!("the transcript is incomplete: {error}"));
        }
        let UsageTotals { llm_calls, guessed_calls, tool_calls, usage, money, .. } =
            self.context.ledger.spent();
        if llm_calls == 0 {
            return;
        }
        let tools = match tool_calls {
            0 => String::new(),
            calls => format!(", {}", count(calls.into(), "tool call")),
        };
        let estimate_note = match guessed_calls {
            0 => "",
            _ => "; calls without token counts are charged at their maximum",
        };
        ui::note(&format!(
            "{}: {}{tools}, {} in, {} out, cost {money}{estimate_note}",
            self.context.model.name(),
            count(llm_calls.into(), "call"),
            count(usage.input, "token"),
            usage.output
        ));
    }

    /// Cost of all questions so far.
    pub(crate) fn spent(&self) -> Money {
        self.context.ledger.spent().money
    }
}

/// A number with a noun.
fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// Turns a model error into a failure with a hint.
pub(crate) fn model_failure(error: QuestionError) -> Failure {
    let (kind, hint) = match &error {
        QuestionError::Limit(LimitKind::Wall) => {
            (FailureKind::External, "try again, or raise `crh ask --max-seconds`")
        }
        QuestionError::Limit(_) => {
            (FailureKind::Usage, "raise the limit, for example `--max-cost`")
        }
        QuestionError::Cancelled => (FailureKind::External, "try again"),
        QuestionError::Model(error) => (failure_kind(error), hint(error)),
    };
    Failure::new(kind, error).hint(hint)
}

/// Whether the user or the vendor caused the error.
pub(crate) fn failure_kind(error: &ModelError) -> FailureKind {
    match error {
        ModelError::BadKey { .. }
        | ModelError::NoKey { .. }
        | ModelError::NoCredit { .. }
        | ModelError::BadRequest { .. }
        | ModelError::ContextFull { .. }
        | ModelError::PromptCut { .. }
        | ModelError::NotRecorded { .. } => FailureKind::Usage,
        ModelError::RateLimited { .. }
        | ModelError::Overloaded { .. }
        | ModelError::Loading { .. }
        | ModelError::Stalled { .. }
        | ModelError::Broken { .. }
        | ModelError::Refused { .. }
        | ModelError::CutStream { .. }
        | ModelError::EndlessReply { .. }
        | ModelError::Transport { .. }
        | ModelError::NoServer { .. } => FailureKind::External,
    }
}

fn hint(error: &ModelError) -> &'static str {
    match error {
        ModelError::BadKey { .. } | ModelError::NoKey { .. } => {
            "`crh model list` shows which variable holds a provider's key; for your own server set `model.keys` in your config"
        }
        ModelError::NoCredit { .. } => "check your account on the vendor's billing page",
        ModelError::BadRequest { message }
            if message.starts_with("model '") || message.contains("try pulling it") =>
        {
            "download it with `ollama pull MODEL`; `ollama list` shows the models that are there"
        }
        ModelError::BadRequest { message } if message.contains("No models loaded") => {
            "load one with `lms load MODEL --context-length 32768`"
        }
        ModelError::BadRequest { message } if message.contains("more system memory") => {
            "use a smaller model, or a smaller context"
        }
        ModelError::BadRequest { message } if message.contains("--jinja") => {
            "start `llama-server` with `--jinja`"
        }
        ModelError::BadRequest { message } if message.contains("does not support tools") => {
            "use a model with tool support, or set `tools = false` for it in `models` of your config"
        }
        ModelError::NoServer { .. } => "start the server, or correct the URL of the model",
        ModelError::BadRequest { .. } => {
            "`crh model list` shows known models; `crh model check` tests one"
        }
        ModelError::ContextFull { .. } | ModelError::PromptCut { .. } => {
            "shorten the question, or use a model with a larger context"
        }
        ModelError::NotRecorded { .. } => "record it again with `--record FILE`",
        ModelError::RateLimited { .. }
        | ModelError::Overloaded { .. }
        | ModelError::Broken { .. } => "wait a moment, or use another model",
        ModelError::Transport { .. } => "check the URL, the proxy and the network",
        ModelError::Refused { .. } => "rephrase the question, or use another model",
        ModelError::Loading { .. } => "wait until the server has loaded the model, then try again",
        ModelError::EndlessReply { .. } | ModelError::Stalled { .. } => {
            "use another model, or restart its server"
        }
        ModelError::CutStream { .. } => "try again; `crh model check` tests this model",
    }
}
