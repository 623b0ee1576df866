//! Where commands ask a model: one runtime, one ledger, one way to try again.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;

use crate::failure::{Failure, Kind, OrFail};
use crate::ui;
use crh_agent::{
    Ask, Budget, Cancel, Driven, Ledger, Limit, Means, NoTools, Purpose, Run, TOOL_TIME, Toolbox,
    Totals, Transcript, Unanswered, Watch,
};
use crh_llm::retry::RetryPolicy;
use crh_llm::{Model, ModelError, Money, Progress, Reply, Request};

/// Somebody waits at the keyboard: they can ask again themselves.
const RETRY: RetryPolicy = RetryPolicy {
    attempts: 3,
    first_wait: Duration::from_millis(500),
    longest_wait: Duration::from_secs(60),
};

/// A model that can be asked, within a budget, with these tools.
pub(crate) struct Desk<T = NoTools> {
    runtime: Runtime,
    means: Means<T>,
}

impl<T: Toolbox> Desk<T> {
    pub(crate) fn open(
        model: Model,
        budget: Budget,
        toolbox: T,
        transcript: Transcript,
    ) -> Result<Self, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.or_fail(Kind::Outside)?;
        let ledger = {
            let _in_runtime = runtime.enter();
            Ledger::open(budget)
        };
        let means = Means {
            model,
            ledger,
            toolbox: Arc::new(toolbox),
            tool_time: TOOL_TIME,
            transcript,
            retry: RETRY,
            // Runs that were turned away together must not come back together.
            seed: RandomState::new().hash_one(()),
            cancel: Cancel::new(),
            watch: Watch::nobody(),
        };
        Ok(Self { runtime, means })
    }

    /// The desk with someone who hears of answers while they come in.
    pub(crate) fn watched_by(
        mut self,
        watch: impl Fn(Progress<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.means.watch = Watch::new(watch);
        self
    }

    pub(crate) fn wait<R>(&self, work: impl Future<Output = R>) -> R {
        self.runtime.block_on(work)
    }

    /// Asks one question.
    pub(crate) async fn ask(&self, caller: &str, request: Request) -> Result<Reply, Unanswered> {
        let ask = Ask::new(request, Purpose::Validation);
        crh_agent::question(caller, &ask, &self.means).await
    }

    /// Drives a run to its end.
    pub(crate) fn drive<A: Clone>(&self, run: Run<A>) -> Driven<A> {
        self.runtime.block_on(crh_agent::drive(run, &self.means))
    }

    pub(crate) fn model(&self) -> &Model {
        &self.means.model
    }

    /// Says what was used and what it cost, and whether the transcript has all of it.
    pub(crate) fn say_account(&self) {
        if let Some(error) = self.means.transcript.error() {
            ui::warn(&format!("the transcript is incomplete: {error}"));
        }
        let Totals { llm_calls, guessed_calls, tool_calls, usage, money } =
            self.means.ledger.spent();
        if llm_calls == 0 {
            return;
        }
        let tools = match tool_calls {
            0 => String::new(),
            calls => format!(", {}", counted(calls.into(), "tool call")),
        };
        let guessed = match guessed_calls {
            0 => "",
            _ => "; where the vendor did not count, the worst case is booked",
        };
        ui::note(&format!(
            "{}: {}{tools}, {} read, {} written; it cost {money}{guessed}",
            self.means.model.name(),
            counted(llm_calls.into(), "call"),
            counted(usage.input, "token"),
            usage.output
        ));
    }

    /// What all questions have cost so far.
    pub(crate) fn spent(&self) -> Money {
        self.means.ledger.spent().money
    }
}

/// A number of things, as one says it.
fn counted(number: u64, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

/// Why a question was not answered, for the user.
pub(crate) fn unanswered(error: Unanswered) -> Failure {
    let (kind, hint) = match &error {
        Unanswered::Limit(Limit::Wall) => {
            (Kind::Outside, "ask again; `crh ask --max-seconds` allows for more")
        }
        Unanswered::Limit(_) => (Kind::Usage, "`--max-cost` and the like allow for more"),
        Unanswered::Cancelled => (Kind::Outside, "ask again"),
        Unanswered::Model(error) => (fault(error), hint(error)),
    };
    Failure::new(kind, error).hint(hint)
}

/// Whose fault it is: what was asked with a wrong key or name, or the vendor's and the network's.
pub(crate) fn fault(error: &ModelError) -> Kind {
    match error {
        ModelError::BadKey { .. }
        | ModelError::NoCredit { .. }
        | ModelError::BadRequest { .. }
        | ModelError::ContextFull { .. }
        | ModelError::NotRecorded { .. } => Kind::Usage,
        ModelError::RateLimited { .. }
        | ModelError::Overloaded { .. }
        | ModelError::Broken { .. }
        | ModelError::Refused { .. }
        | ModelError::CutStream { .. }
        | ModelError::Transport { .. } => Kind::Outside,
    }
}

fn hint(error: &ModelError) -> &'static str {
    match error {
        ModelError::BadKey { .. } => {
            "`crh model list` shows which variable holds a provider's key; `model.keys` in your config names one for a server of your own"
        }
        ModelError::NoCredit { .. } => "the vendor's page for billing says what is missing",
        ModelError::BadRequest { .. } => {
            "`crh model list` shows the models that are known; `crh model check` says what works with one"
        }
        ModelError::ContextFull { .. } => "ask for less, or name a model with a larger context",
        ModelError::NotRecorded { .. } => "record it again with `--record FILE`",
        ModelError::RateLimited { .. }
        | ModelError::Overloaded { .. }
        | ModelError::Broken { .. } => "wait a little, or name another model",
        ModelError::Transport { .. } => "check the address, the proxy and the network",
        ModelError::Refused { .. } => "ask in other words, or name another model",
        ModelError::CutStream { .. } => {
            "ask again; `crh model check` says what works with this model"
        }
    }
}
