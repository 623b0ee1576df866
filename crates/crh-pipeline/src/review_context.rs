//! What every run of a review is carried out with: one ledger, one crew of models, one place to write things down.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::events::Event;
use crate::found_by_code::FoundByCode;
use crate::journal::Journal;
use crate::prompts::Prompts;
use crate::runs::RunRecord;
use crate::subject::Subject;
use crate::terms::{Crew, Terms};
use crh_agent::{Ledger, Means, Outcome, TOOL_TIME, Toolbox, Watch};
use crh_llm::retry::RetryPolicy;
use crh_llm::{Model, ModelError};

/// A review can wait longer than a person at the keyboard: a vendor that turns us away for a minute is no failure.
pub(crate) const RETRY: RetryPolicy = RetryPolicy {
    attempts: 5,
    first_wait: Duration::from_secs(1),
    longest_wait: Duration::from_secs(60),
};

/// How long a run waits that was turned away to the last of its attempts, unless the vendor says how long: twice what it waited
/// before that one.
const TURNED_AWAY: Duration = Duration::from_secs(16);

/// One part in so many of the time of a review is for what comes after the runs.
const SHARE_AFTER: u32 = 5;

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
    /// The time that the review has left.
    pub(crate) fn time_left(&self) -> Duration {
        let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
        self.ledger.deadline().map_or(Duration::MAX, left)
    }

    /// The time that runs have left: what comes after them, the merge and the validation, has its share of all of it, however
    /// late they begin.
    pub(crate) fn working_time(&self) -> Duration {
        self.time_left().saturating_sub(self.terms.allowance.wall / SHARE_AFTER)
    }

    /// Waits for a vendor that has no room for a run, unless the user stops the review. Whoever watches is told.
    pub(crate) async fn wait(&self, run: &str, wait: Duration) {
        let text = format!("{run} waits {} s: the model has no room for it", wait.as_secs().max(1));
        self.journal.tell(Event::Warning { text });
        tokio::select! {
            () = sleep(wait) => {}
            () = self.journal.cancel().cancelled() => {}
        }
    }

    /// Stores a run that has ended, and tells of it and of what was spent so far.
    pub(crate) fn ended(&self, record: &RunRecord) {
        self.journal.ended(record);
        self.journal.tell(Event::Spent { totals: self.ledger.spent() });
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

/// How long a run waits that the vendor had no room for, which says nothing about the question. None if it was something
/// else, or if there is no time for it.
pub(crate) fn turned_away<T>(outcome: &Outcome<T>, left: Duration) -> Option<Duration> {
    let wait = match outcome {
        Outcome::Model(
            ModelError::RateLimited { retry_after, .. }
            | ModelError::Overloaded { retry_after, .. },
        ) => retry_after.unwrap_or(TURNED_AWAY),
        Outcome::Model(
            ModelError::Broken { .. }
            | ModelError::BadKey { .. }
            | ModelError::NoCredit { .. }
            | ModelError::BadRequest { .. }
            | ModelError::ContextFull { .. }
            | ModelError::Refused { .. }
            | ModelError::CutStream { .. }
            | ModelError::Transport { .. }
            | ModelError::NotRecorded { .. },
        )
        | Outcome::Answered(_)
        | Outcome::NoAnswer
        | Outcome::BadAnswer(_)
        | Outcome::Stuck
        | Outcome::OutOfBudget(_)
        | Outcome::ContextFull
        | Outcome::Cancelled
        | Outcome::Aborted(_) => return None,
    };
    (wait < left).then_some(wait)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crh_agent::Limit;

    fn check(outcome: Outcome<()>, left: u64, expected: Option<u64>) {
        let left = Duration::from_secs(left);
        assert_eq!(turned_away(&outcome, left), expected.map(Duration::from_secs), "{outcome:?}");
    }

    fn rate_limited(seconds: Option<u64>) -> Outcome<()> {
        let (retry_after, message) = (seconds.map(Duration::from_secs), "slow down".to_owned());
        Outcome::Model(ModelError::RateLimited { retry_after, message })
    }

    #[test]
    fn whoever_is_turned_away_waits_as_long_as_the_vendor_says_if_there_is_time_for_it() {
        check(rate_limited(None), 900, Some(16));
        check(rate_limited(Some(0)), 900, Some(0));
        check(rate_limited(Some(300)), 900, Some(300));
        check(rate_limited(Some(3_600)), 900, None);
        check(rate_limited(None), 0, None);
        let message = "busy".to_owned();
        check(Outcome::Model(ModelError::Overloaded { retry_after: None, message }), 900, Some(16));
    }

    #[test]
    fn what_another_attempt_does_not_mend_is_not_waited_for() {
        check(Outcome::NoAnswer, 900, None);
        check(Outcome::OutOfBudget(Limit::Turns), 900, None);
        check(Outcome::Model(ModelError::BadKey { message: "no".to_owned() }), 900, None);
        check(Outcome::Model(ModelError::Broken { message: "a bug".to_owned() }), 900, None);
    }
}
