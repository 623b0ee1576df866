//! Workers that are alive.

use super::{Store, StoreResult, count, text, time};
use crate::clock::UnixMillis;

/// A worker process.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct WorkerRow {
    /// Name, unique per process.
    pub name: String,
    /// Version of crh.
    pub version: String,
    /// Jobs that it runs at once.
    pub slots: u32,
    /// Jobs that it runs now.
    pub running: u64,
    /// Start of the process.
    pub started_at: UnixMillis,
    /// Last sign of life.
    pub seen_at: UnixMillis,
}

/// A worker without a sign of life for this long leaves the list.
const FORGET_AFTER_MS: i64 = 10 * 60_000;

impl Store {
    /// Records a worker's sign of life, and removes workers without a recent one.
    pub async fn register_worker(&self, name: &str, version: &str, slots: u32) -> StoreResult<()> {
        let mut transaction = self.write().await?;
        let now = self.now();
        query!(
            "INSERT INTO workers (name, version, slots, started_at, seen_at) VALUES ($1, $2, $3, $4, $4) \
             ON CONFLICT (name) DO UPDATE SET seen_at = excluded.seen_at",
            [name, version, i64::from(slots), now.0]
        )
        .execute(&mut *transaction)
        .await?;
        query!("DELETE FROM workers WHERE seen_at < $1", [now.plus_ms(-FORGET_AFTER_MS).0])
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Removes a worker that shuts down.
    pub async fn remove_worker(&self, name: &str) -> StoreResult<()> {
        let mut transaction = self.write().await?;
        query!("DELETE FROM workers WHERE name = $1", [name]).execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Workers with a recent sign of life, by name.
    pub async fn workers(&self) -> StoreResult<Vec<WorkerRow>> {
        let query = query!(
            "SELECT name, version, slots, started_at, seen_at, \
             (SELECT COUNT(*) FROM jobs WHERE state = 'running' AND owner = workers.name) AS running \
             FROM workers WHERE seen_at >= $1 ORDER BY name",
            [self.now().plus_ms(-FORGET_AFTER_MS).0]
        );
        self.read_all(query, |row| {
            Ok(WorkerRow {
                name: text(row, "name")?,
                version: text(row, "version")?,
                slots: u32::try_from(count(row, "slots")?).unwrap_or(u32::MAX),
                running: count(row, "running")?,
                started_at: time(row, "started_at")?,
                seen_at: time(row, "seen_at")?,
            })
        })
        .await
    }
}
