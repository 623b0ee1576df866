//! Prompt-cache warm-up. The first run per model and part starts alone. The other runs with the
//! same prompt prefix wait until the vendor starts to answer the first. Then the prefix is in the
//! vendor's prompt cache, and reading it again is cheaper.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

/// Whether the vendor has read a prompt prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PrefixState {
    Cold,
    Warm,
}

/// Prefix states by model and part.
type PrefixMap = HashMap<(String, usize), Arc<watch::Sender<PrefixState>>>;

/// Decides which run warms the cache of a prompt prefix and which runs wait for it.
#[derive(Debug, Default)]
pub(super) struct PromptCacheGate {
    prefixes: Mutex<PrefixMap>,
}

/// The role of one run for a prefix.
#[derive(Debug)]
pub(super) struct CacheTicket {
    state: Arc<watch::Sender<PrefixState>>,
    role: TicketRole,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TicketRole {
    /// Runs first.
    WarmUp,
    Waiter,
}

impl PromptCacheGate {
    /// Returns a ticket for one run. The first ticket per model and part is the warm-up.
    pub(super) fn ticket(&self, model: &str, part: usize) -> CacheTicket {
        let mut prefixes = self.prefixes.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (model.to_owned(), part);
        if let Some(prefix_state) = prefixes.get(&key) {
            return CacheTicket { state: prefix_state.clone(), role: TicketRole::Waiter };
        }
        let prefix_state = Arc::new(watch::Sender::new(PrefixState::Cold));
        prefixes.insert(key, prefix_state.clone());
        CacheTicket { state: prefix_state, role: TicketRole::WarmUp }
    }
}

impl CacheTicket {
    /// Waits until the prefix is warm. The warm-up run does not wait.
    pub(super) async fn wait(&self) {
        match self.role {
            TicketRole::WarmUp => {}
            TicketRole::Waiter => {
                let mut prefix_states = self.state.subscribe();
                // The sender lives as long as this ticket.
                drop(
                    prefix_states.wait_for(|prefix_state| *prefix_state == PrefixState::Warm).await,
                );
            }
        }
    }

    /// A ticket for the progress listener, which marks the prefix as warm.
    pub(super) fn notifier(&self) -> Self {
        Self { state: self.state.clone(), role: TicketRole::Waiter }
    }

    /// Releases the waiting runs. Called when the vendor starts to answer, and also when the run
    /// ends, since then no answer will come.
    pub(super) fn mark_warm(&self) {
        self.state.send_if_modified(|prefix_state| {
            std::mem::replace(prefix_state, PrefixState::Warm) == PrefixState::Cold
        });
    }
}

impl Drop for CacheTicket {
    /// A warm-up run that panics must not block the others.
    fn drop(&mut self) {
        match self.role {
            TicketRole::WarmUp => self.mark_warm(),
            TicketRole::Waiter => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    async fn waits(ticket: &CacheTicket) -> bool {
        timeout(Duration::from_millis(1), ticket.wait()).await.is_err()
    }

    #[tokio::test(start_paused = true)]
    async fn first_run_per_model_and_part_warms_the_cache() {
        let gate = PromptCacheGate::default();
        let first = gate.ticket("mini", 0);
        let (second, other_model, other_part) =
            (gate.ticket("mini", 0), gate.ticket("strong", 0), gate.ticket("mini", 1));
        assert!(!waits(&first).await);
        assert!(!waits(&other_model).await);
        assert!(!waits(&other_part).await);
        assert!(waits(&second).await);
        first.mark_warm();
        assert!(!waits(&second).await);
    }

    #[tokio::test(start_paused = true)]
    async fn dropped_warm_up_releases_waiters() {
        let gate = PromptCacheGate::default();
        let first = gate.ticket("mini", 0);
        let second = gate.ticket("mini", 0);
        assert!(waits(&second).await);
        drop(first);
        assert!(!waits(&second).await);
    }
}
