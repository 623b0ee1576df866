//! Which conversations a vendor's cache already has the beginning of. The first run of a model on a part goes alone until the
//! vendor begins to answer; then the others follow and read from the cache.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

/// Whether the vendor has read the beginning of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Read {
    NotYet,
    Once,
}

/// Beginnings by the model that reads them and the part of the change.
type Beginnings = HashMap<(String, usize), Arc<watch::Sender<Read>>>;

/// The beginnings of one review.
#[derive(Debug, Default)]
pub(super) struct Warmth {
    known: Mutex<Beginnings>,
}

/// What one run has to do with a beginning.
#[derive(Debug)]
pub(super) struct Place {
    read: Arc<watch::Sender<Read>>,
    role: Role,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Goes first.
    Leads,
    Follows,
}

impl Warmth {
    /// A place for a run of this model on this part. The first to ask goes first.
    pub(super) fn join(&self, model: &str, part: usize) -> Place {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (model.to_owned(), part);
        if let Some(read) = known.get(&key) {
            return Place { read: read.clone(), role: Role::Follows };
        }
        let read = Arc::new(watch::Sender::new(Read::NotYet));
        known.insert(key, read.clone());
        Place { read, role: Role::Leads }
    }
}

impl Place {
    /// Waits until it is worth asking.
    pub(super) async fn wait(&self) {
        match self.role {
            Role::Leads => {}
            Role::Follows => {
                let mut read = self.read.subscribe();
                // The sender lives as long as this place.
                drop(read.wait_for(|read| *read == Read::Once).await);
            }
        }
    }

    /// The same place for whoever hears the vendor answer.
    pub(super) fn opener(&self) -> Self {
        Self { read: self.read.clone(), role: Role::Follows }
    }

    /// The vendor has begun to answer, or never will: others need not wait for this run.
    pub(super) fn open(&self) {
        self.read.send_if_modified(|read| std::mem::replace(read, Read::Once) == Read::NotYet);
    }
}

impl Drop for Place {
    /// A run that breaks must not keep the others waiting.
    fn drop(&mut self) {
        match self.role {
            Role::Leads => self.open(),
            Role::Follows => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    async fn waits(place: &Place) -> bool {
        timeout(Duration::from_millis(1), place.wait()).await.is_err()
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_of_a_model_and_a_part_goes_alone_until_it_is_read() {
        let warmth = Warmth::default();
        let first = warmth.join("mini", 0);
        let (second, other_model, other_part) =
            (warmth.join("mini", 0), warmth.join("strong", 0), warmth.join("mini", 1));
        assert!(!waits(&first).await);
        assert!(!waits(&other_model).await);
        assert!(!waits(&other_part).await);
        assert!(waits(&second).await);
        first.open();
        assert!(!waits(&second).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_first_run_that_is_gone_keeps_nobody_waiting() {
        let warmth = Warmth::default();
        let first = warmth.join("mini", 0);
        let second = warmth.join("mini", 0);
        assert!(waits(&second).await);
        drop(first);
        assert!(!waits(&second).await);
    }
}
