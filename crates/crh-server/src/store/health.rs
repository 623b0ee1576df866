//! Checks whether the database accepts writes, so that the server notices a full disk.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{Store, StoreError, StoreResult};

/// Minimum time between two probes. Each one writes, and anyone can request it.
const PROBE_INTERVAL: Duration = Duration::from_secs(2);

/// What this process knows about its last write.
#[derive(Debug, Default)]
pub(super) struct StoreHealth(Mutex<LastWrite>);

#[derive(Debug, Default)]
struct LastWrite {
    problem: Option<String>,
    probed: Option<Instant>,
}

impl Store {
    /// Remembers whether a write succeeded, and returns the result.
    pub fn note<T>(&self, result: StoreResult<T>) -> StoreResult<T> {
        let problem = match &result {
            Ok(_) => None,
            Err(error @ (StoreError::Unavailable(_) | StoreError::Content(_))) => {
                Some(error.to_string())
            }
            // The database works.
            Err(
                StoreError::StaleLease
                | StoreError::Missing(_)
                | StoreError::Refused(_)
                | StoreError::Address(_)
                | StoreError::NewerSchema { .. },
            ) => None,
        };
        self.last_write(|last| last.problem = problem);
        result
    }

    /// Why the last write that [`Store::note`] saw failed. `None` if it succeeded.
    pub fn problem(&self) -> Option<String> {
        self.last_write(|last| last.problem.clone())
    }

    /// Why the database takes no writes. Tries a write, unless the last probe was just now. `None`
    /// if the last write succeeded.
    pub async fn probe(&self) -> Option<String> {
        let is_recent = self.last_write(|last| {
            let is_recent = last.probed.is_some_and(|probed| probed.elapsed() < PROBE_INTERVAL);
            if !is_recent {
                last.probed = Some(Instant::now());
            }
            is_recent
        });
        if !is_recent && let Err(error) = self.note(self.write_nothing().await) {
            tracing::error!(%error, "the database takes no writes");
        }
        self.problem()
    }

    async fn write_nothing(&self) -> StoreResult<()> {
        let mut transaction = self.write().await?;
        sqlx::query("UPDATE crh_schema SET version = version").execute(&mut *transaction).await?;
        Ok(transaction.commit().await?)
    }

    fn last_write<T>(&self, read: impl FnOnce(&mut LastWrite) -> T) -> T {
        read(&mut self.health.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
