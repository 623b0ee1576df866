//! Asks the user what an unclear change is for.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::Intent;
use super::intent::INTENT_CHARS;
use crate::journal::ReviewJournal;
use crate::text::{cut, one_line, with_period};

/// A callback that asks the user what the change is for. Clones share the callback.
#[derive(Clone)]
pub struct IntentPrompt(Arc<PromptFn>);

/// Gets the doubt, returns the answer or None.
type PromptFn = dyn Fn(&str) -> Option<String> + Send + Sync;

impl IntentPrompt {
    /// Wraps a callback. The callback may block, since crh calls it on a separate thread.
    pub fn new(ask: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(ask))
    }

    /// If the intent has a doubt, asks the user about it. Returns how long the user took. Without
    /// an answer, or if the review is cancelled, the doubt stays.
    pub(super) async fn clarify(&self, intent: &mut Intent, journal: &ReviewJournal) -> Duration {
        let Some(doubt) = intent.doubt.clone() else { return Duration::ZERO };
        let start = Instant::now();
        let ask = self.0.clone();
        let answer = tokio::task::spawn_blocking(move || ask(&doubt));
        let answer = tokio::select! {
            answer = answer => answer.ok().flatten(),
            () = journal.cancel().cancelled() => None,
        };
        let answer = answer.map(|answer| one_line(&answer)).filter(|answer| !answer.is_empty());
        if let Some(answer) = answer {
            // The answer of the user comes first, then the intent that crh had without it.
            let text = [with_period(&answer), intent.text.clone()].join(" ");
            *intent = Intent { text: cut(text.trim_end(), INTENT_CHARS), doubt: None };
        }
        start.elapsed()
    }
}

impl fmt::Debug for IntentPrompt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Person")
    }
}
