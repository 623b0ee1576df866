//! Sums for the page and for metrics.

use super::{MicroUsd, Store, StoreResult, count, integer, text};

/// Upper limits of the buckets of review durations, in seconds.
const BUCKETS: [i64; 6] = [30, 60, 120, 300, 600, 1_800];

/// Sums over all stored jobs and reviews.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QueueTotals {
    /// Ended jobs: kind, state, number.
    pub ended: Vec<(String, String, u64)>,
    /// Stored reviews.
    pub reviews: u64,
    /// Their durations in milliseconds, added up.
    pub duration_ms: i64,
    /// Tokens of stored reviews.
    pub tokens: u64,
    /// Money that was spent or is reserved, of all days.
    pub spent: MicroUsd,
    /// Upper limit in seconds, and the number of reviews that took at most so long.
    pub durations: Vec<(i64, u64)>,
}

impl Store {
    /// Sums for metrics.
    pub async fn queue_totals(&self) -> StoreResult<QueueTotals> {
        let ended = sqlx::query(
            "SELECT kind, state, COUNT(*) AS number FROM jobs WHERE state NOT IN ('waiting', 'running') \
             GROUP BY kind, state ORDER BY kind, state",
        )
        .fetch_all(&self.reader)
        .await?
        .iter()
        .map(|row| Ok((text(row, "kind")?, text(row, "state")?, count(row, "number")?)))
        .collect::<StoreResult<Vec<_>>>()?;
        let sums = sqlx::query(
            "SELECT COUNT(*) AS reviews, CAST(COALESCE(SUM(ended_at - started_at), 0) AS BIGINT) AS duration, \
             CAST(COALESCE(SUM(tokens), 0) AS BIGINT) AS tokens FROM reviews",
        )
        .fetch_one(&self.reader)
        .await?;
        let spent = sqlx::query(
            "SELECT CAST(COALESCE(SUM(micro_usd), 0) AS BIGINT) AS spent FROM spending",
        )
        .fetch_one(&self.reader)
        .await?;
        let mut durations = Vec::new();
        for limit in BUCKETS {
            let row = query!(
                "SELECT COUNT(*) AS number FROM reviews WHERE ended_at - started_at <= $1",
                [limit * 1_000]
            )
            .fetch_one(&self.reader)
            .await?;
            durations.push((limit, count(&row, "number")?));
        }
        Ok(QueueTotals {
            ended,
            reviews: count(&sums, "reviews")?,
            duration_ms: integer(&sums, "duration")?,
            tokens: count(&sums, "tokens")?,
            spent: MicroUsd(integer(&spent, "spent")?),
            durations,
        })
    }

    /// Numbers that change when a job changes, and when a worker starts or ends.
    pub async fn queue_fingerprint(&self) -> StoreResult<(i64, i64, i64)> {
        let jobs = sqlx::query(
            "SELECT COUNT(*) AS number, CAST(COALESCE(MAX(changed_at), 0) AS BIGINT) AS newest, \
             CAST(COALESCE(SUM(LENGTH(step)), 0) AS BIGINT) AS steps FROM jobs \
             WHERE state IN ('waiting', 'running', 'dead')",
        )
        .fetch_one(&self.reader)
        .await?;
        let workers =
            sqlx::query("SELECT COUNT(*) AS number FROM workers").fetch_one(&self.reader).await?;
        let number = integer(&jobs, "number")? * 1_000 + integer(&workers, "number")?;
        Ok((number, integer(&jobs, "newest")?, integer(&jobs, "steps")?))
    }
}
