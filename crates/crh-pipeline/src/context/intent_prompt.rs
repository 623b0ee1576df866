//! Whoever sits before a review and can be asked one thing: what the change is for.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::Intent;
use super::intent::INTENT_CHARS;
use crate::journal::Journal;
use crate::text::{cut, ended, one_line};

/// Somebody who can be asked. Clones are the same person.
#[derive(Clone)]
pub struct Person(Arc<Ask>);

/// Given what is unclear, waits for an answer; none if there is none.
type Ask = dyn Fn(&str) -> Option<String> + Send + Sync;

impl Person {
    /// Whoever answers so. Waiting may take as long as it takes: it is done on a thread of its own.
    pub fn new(ask: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(ask))
    }

    /// Asks about what is unclear of an intent, once, and says how long that took. No answer leaves the doubt as it is, and so
    /// does whoever stops the review instead.
    pub(super) async fn clarify(&self, intent: &mut Intent, journal: &Journal) -> Duration {
        let Some(doubt) = intent.doubt.clone() else { return Duration::ZERO };
        let since = Instant::now();
        let ask = self.0.clone();
        let answer = tokio::task::spawn_blocking(move || ask(&doubt));
        let answer = tokio::select! {
            answer = answer => answer.ok().flatten(),
            () = journal.cancel().cancelled() => None,
        };
        let said = answer.map(|answer| one_line(&answer)).filter(|answer| !answer.is_empty());
        if let Some(said) = said {
            // What was read from the change may still be half of the truth; whoever made it has the first word.
            let both = [ended(&said), intent.text.clone()].join(" ");
            *intent = Intent { text: cut(both.trim_end(), INTENT_CHARS), doubt: None };
        }
        since.elapsed()
    }
}

impl fmt::Debug for Person {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Person")
    }
}
