//! Deletes data that is older than the retention period.

use super::{Store, StoreResult};
use crate::clock::UnixMillis;

/// What a cleanup deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RemovedRows {
    /// Ended jobs.
    pub jobs: u64,
    /// Deliveries. If the forge sends a deleted one again, it counts as new. The job of a finished
    /// review stays, so the head is not reviewed again.
    pub deliveries: u64,
    /// Reviews.
    pub reviews: u64,
    /// Lines of the audit log.
    pub audit: u64,
}

impl Store {
    /// Deletes ended jobs, deliveries, reviews with their reports and issue keys, audit lines,
    /// outcomes, answers and reservations from before a time. Dead jobs stay for a person to see.
    /// Jobs of finished reviews stay without their payload, so that a reconciliation never reviews
    /// the same head again.
    pub async fn remove_before(&self, time: UnixMillis) -> StoreResult<RemovedRows> {
        let mut transaction = self.write().await?;
        let mut removed = [0; 4];
        for (sql, rows) in [
            "DELETE FROM jobs WHERE state IN ('done', 'superseded', 'cancelled', 'skipped') AND changed_at < $1 \
             AND (state <> 'done' OR kind <> 'review')",
            "DELETE FROM deliveries WHERE received_at < $1",
            "DELETE FROM reviews WHERE ended_at < $1",
            "DELETE FROM audit WHERE at < $1",
        ]
        .into_iter()
        .zip(&mut removed)
        {
            *rows =
                query!(
                    sql,
                    [time.0]
                ).execute(&mut *transaction).await?.rows_affected();
        }
        query!(
            "UPDATE jobs SET payload = 'null' WHERE state = 'done' AND kind = 'review' AND changed_at < $1 \
             AND payload <> 'null'",
            [time.0]
        )
        .execute(&mut *transaction)
        .await?;
        sqlx::query("DELETE FROM reports WHERE review NOT IN (SELECT id FROM reviews)")
            .execute(&mut *transaction)
            .await?;
        for sql in [
            "DELETE FROM last_issues WHERE at < $1",
            "DELETE FROM outcomes WHERE at < $1",
            "DELETE FROM answers WHERE at < $1",
        ] {
            query!(sql, [time.0]).execute(&mut *transaction).await?;
        }
        query!("DELETE FROM reservations WHERE day < $1", [time.day()])
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        let [jobs, deliveries, reviews, audit] = removed;
        Ok(RemovedRows { jobs, deliveries, reviews, audit })
    }
}
