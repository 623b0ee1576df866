//! What every run of a review is carried out with: one ledger, one crew of models, one place to write things down.

use std::sync::Arc;
use std::time::Duration;

use crh_agent::Ledger;
use crh_agent::Means;
use crh_agent::TOOL_TIME;
use crh_agent::Toolbox;
use crh_agent::Watch;
use crh_llm::Model;
use crh_llm::retry::RetryPolicy;
use tokio::time::Instant;

use crate::events::Event;
use crate::found_by_code::FoundByCode;
use crate::journal::Journal;
use crate::prompts::Prompts;
use crate::runs::RunRecord;
use crate::subject::Subject;
use crate::terms::Crew;
use crate::terms::Terms;

/// A review can wait longer than a person at the keyboard: a vendor that turns us away for a minute is no failure.
pub(crate) const RETRY: RetryPolicy = RetryPolicy {
    attempts: 5,
    first_wait: Duration::from_secs(1),
    longest_wait: Duration::from_secs(60),
};

/// What runs are carried out with. Clones share everything.
#[derive(Debug, Clone)]
pub struct Office {
    /// What is under review.
    pub subject: Arc<Subject>,
    /// On what terms.
    pub terms: Arc<Terms>,
    /// Who is asked.
    pub crew: Crew,
    /// Who pays.
    pub ledger: Ledger,
    /// What they are told.
    pub prompts: Arc<Prompts>,
    /// What programs have found, so that nobody repeats it.
    pub found: FoundByCode,
    /// Where everything is written down, and who can stop it.
    pub journal: Journal,
    /// Where waits between attempts take their randomness from.
    pub seed: u64,
}

impl Office {
    /// Stores a run that has ended, and tells of it and of what was spent so far.
    pub(crate) fn ended(&self, record: &RunRecord) {
        self.journal.ended(record);
        self.journal.tell(Event::Spent { totals: self.ledger.spent() });
    }

    /// The time that the review has left.
    pub(crate) fn time_left(&self) -> Duration {
        let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
        self.ledger.deadline().map_or(Duration::MAX, left)
    }

    /// The means of one run, which is known by the name of its assignment.
    pub fn means<T: Toolbox>(&self, name: &str, model: &Model, toolbox: T) -> Means<T> {
        Means {
            model: model.clone(),
            ledger: self.ledger.clone(),
            toolbox: Arc::new(toolbox),
            tool_time: TOOL_TIME,
            transcript: self.journal.transcript(name),
            retry: RETRY,
            seed: self.seed,
            cancel: self.journal.cancel().clone(),
            watch: Watch::nobody(),
        }
    }
}
