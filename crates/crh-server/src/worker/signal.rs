//! Reasons to stop an attempt.

use tokio::sync::watch;

/// Why a worker stops an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The store asks for it, for example because of a newer head or a person.
    Requested,
    /// The lease is lost. The worker must not write anything any more.
    LeaseLost,
    /// The worker shuts down.
    Shutdown,
}

/// Tells an attempt to stop. Clones see the same signal.
#[derive(Debug, Clone)]
pub struct StopSignal {
    sender: watch::Sender<Option<StopReason>>,
}

impl Default for StopSignal {
    fn default() -> Self {
        Self { sender: watch::Sender::new(None) }
    }
}

impl StopSignal {
    /// Sets the signal. A lost lease replaces every other reason, because it forbids writes.
    pub fn stop(&self, reason: StopReason) {
        self.sender.send_if_modified(|current| {
            let replaces = current.is_none() || reason == StopReason::LeaseLost;
            if replaces {
                *current = Some(reason);
            }
            replaces
        });
    }

    /// The reason, if the signal is set.
    pub fn reason(&self) -> Option<StopReason> {
        *self.sender.borrow()
    }

    /// Waits until the signal is set.
    pub async fn stopped(&self) {
        let mut receiver = self.sender.subscribe();
        // The sender lives as long as `self`.
        let _: Result<_, _> = receiver.wait_for(Option::is_some).await.map(|_| ());
    }
}
