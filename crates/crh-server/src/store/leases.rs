//! Leases: a worker takes a job, keeps it with heartbeats, and ends it.
//!
//! Every write carries the lease's token and the current time. It changes nothing if the lease
//! expired or the job was taken again, so a worker that was frozen cannot overwrite the result of
//! its successor.

use std::fmt;

use sqlx::{Any, Transaction};

use super::{
    BudgetLimits, LockScope, NewReview, Store, StoreError, StoreResult,
    accounts::UNINSTALLED,
    integer,
    jobs::{job_columns, job_from_row},
    reviews, text,
};
use crate::{
    clock::UnixMillis,
    job::{AttemptFailure, Heartbeat, JobId, Lease, LeasedJob, Priority, RetryAdvice},
    queue::{NextState, RetryPolicy, after_failure},
};

/// A worker's request for a job.
#[derive(Debug, Clone, Copy)]
pub struct ClaimRequest<'a> {
    /// Name of the worker.
    pub worker: &'a str,
    /// Length of the lease. The worker has to send a heartbeat more often than this.
    pub lease_ms: i64,
    /// How jobs of lost workers run again.
    pub retry: RetryPolicy,
    /// Limits on concurrent reviews.
    pub limits: &'a BudgetLimits,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseEnd {
    /// The job is done. A review has its result.
    Done(Option<NewReview>),
    /// The attempt failed.
    Failed(AttemptFailure),
    /// The job waits again, and the attempt does not count.
    Deferred(Deferral),
    /// The job did not apply, for this reason, such as a setting that excludes the pull request.
    Skipped(String),
    /// The worker stopped because the store asked for it.
    Stopped,
}

/// One line for logs, without the report.
impl fmt::Display for LeaseEnd {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done(None) => out.write_str("done"),
            Self::Done(Some(review)) => {
                write!(out, "reviewed: {}, {} issues", review.verdict, review.issues_shown)
            }
            Self::Failed(failure) => write!(out, "failed: {}", failure.reason),
            Self::Deferred(deferral) => write!(out, "waits: {}", deferral.reason),
            Self::Skipped(reason) => write!(out, "skipped: {reason}"),
            Self::Stopped => out.write_str("stopped"),
        }
    }
}

/// A job that waits again without a failed attempt: a limit is reached, or the worker shuts down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deferral {
    /// Earliest start of the next attempt.
    pub until: UnixMillis,
    /// One sentence for the page.
    pub reason: String,
}

/// Takes one job of a priority. The subqueries read only running jobs, of which there are few.
macro_rules! claim_sql {
    ($lock:literal) => {
        concat!(
            "UPDATE jobs SET state = 'running', attempts = attempts + 1, token = token + 1, owner = $1, lease_until = $2, \
             changed_at = $3, stop = '', step = '' WHERE id = (\
             SELECT j.id FROM jobs j WHERE j.state = 'waiting' AND j.priority = $4 AND j.run_at <= $3 \
             AND NOT EXISTS (SELECT 1 FROM jobs r WHERE r.state = 'running' AND r.forge = j.forge \
             AND r.repository = j.repository AND r.change_id = j.change_id AND r.kind = j.kind) \
             AND (j.kind <> 'review' OR (\
             (j.forge, j.installation) NOT IN (SELECT r.forge, r.installation FROM jobs r \
             WHERE r.state = 'running' AND r.kind = 'review' GROUP BY r.forge, r.installation HAVING COUNT(*) >= $5) \
             AND (j.forge, j.repository) NOT IN (SELECT r.forge, r.repository FROM jobs r \
             WHERE r.state = 'running' AND r.kind = 'review' GROUP BY r.forge, r.repository HAVING COUNT(*) >= $6))) \
             ORDER BY j.run_at, j.id LIMIT 1",
            $lock,
            ") RETURNING ",
            job_columns!()
        )
    };
}

/// Maximum expired leases that one claim handles. Others wait for the next claim.
const EXPIRED_PER_CLAIM: i64 = 100;

impl Store {
    /// Takes the most urgent job that may run now, or none. Counts the attempt, so that a job that
    /// kills its worker becomes dead after the last attempt. Also ends the leases of lost workers.
    pub async fn claim(&self, request: &ClaimRequest<'_>) -> StoreResult<Option<LeasedJob>> {
        let mut transaction = self.write().await?;
        // Claims run one after the other: two workers must not both take the last review that the
        // limit of a repository allows.
        self.lock(&mut transaction, LockScope::Claim, 0).await?;
        let now = self.now();
        expire_leases(&mut transaction, &request.retry, now).await?;
        let mut claimed = None;
        for priority in Priority::ALL {
            claimed = self.claim_in(&mut transaction, request, priority, now).await?;
            if claimed.is_some() {
                break;
            }
        }
        transaction.commit().await?;
        Ok(claimed)
    }

    /// Renews a lease.
    pub async fn heartbeat(&self, lease: &Lease, lease_ms: i64) -> StoreResult<Heartbeat> {
        let mut transaction = self.write().await?;
        let now = self.now();
        let rows = query!(
            "UPDATE jobs SET lease_until = $3 WHERE id = $1 AND token = $2 AND state = 'running' AND lease_until >= $4 \
             RETURNING stop",
            [lease.job.0, lease.token, now.plus_ms(lease_ms).0, now.0]
        )
        .fetch_all(&mut *transaction)
        .await?;
        transaction.commit().await?;
        let Some(row) = rows.first() else { return Ok(Heartbeat::Lost) };
        Ok(if text(row, "stop")?.is_empty() { Heartbeat::Held } else { Heartbeat::StopRequested })
    }

    /// Records what the worker does right now, and renews the lease. The step is shown on the page.
    pub async fn set_step(&self, lease: &Lease, step: &str, lease_ms: i64) -> StoreResult<()> {
        let mut transaction = self.write().await?;
        let now = self.now();
        let changed = query!(
            "UPDATE jobs SET step = $3, lease_until = $4 \
             WHERE id = $1 AND token = $2 AND state = 'running' AND lease_until >= $5",
            [lease.job.0, lease.token, step, now.plus_ms(lease_ms).0, now.0]
        )
        .execute(&mut *transaction)
        .await?
        .rows_affected();
        transaction.commit().await?;
        if changed == 0 { Err(StoreError::StaleLease) } else { Ok(()) }
    }

    /// Ends an attempt and releases its lease.
    pub async fn end(&self, lease: &Lease, end: &LeaseEnd, retry: &RetryPolicy) -> StoreResult<()> {
        let mut transaction = self.write().await?;
        let now = self.now();
        let held = held_lease(&mut transaction, lease, now).await?;
        if held.is_uninstalled() {
            delete_job(&mut transaction, lease.job).await?;
            transaction.commit().await?;
            return Ok(());
        }
        let row = match end {
            LeaseEnd::Done(review) => {
                if let Some(review) = review {
                    reviews::insert(&mut transaction, lease, review, now).await?;
                }
                EndedRow { state: "done", reason: "", run_at: now, attempts: held.attempts }
            }
            LeaseEnd::Skipped(reason) => held.unless_stopped(EndedRow {
                state: "skipped",
                reason,
                run_at: now,
                attempts: held.attempts,
            }),
            LeaseEnd::Failed(failure) => held.after_failure(lease.job, failure, retry, now),
            LeaseEnd::Deferred(Deferral { until, reason }) => held.unless_stopped(EndedRow {
                state: "waiting",
                reason,
                run_at: *until,
                attempts: held.attempts.saturating_sub(1),
            }),
            LeaseEnd::Stopped => held.unless_stopped(EndedRow {
                // If the request to stop was withdrawn meanwhile, the job waits again.
                state: "waiting",
                reason: "",
                run_at: now,
                attempts: held.attempts.saturating_sub(1),
            }),
        };
        row.write(&mut transaction, lease.job, now).await?;
        transaction.commit().await?;
        Ok(())
    }

    async fn claim_in(
        &self,
        transaction: &mut Transaction<'static, Any>,
        request: &ClaimRequest<'_>,
        priority: Priority,
        now: UnixMillis,
    ) -> StoreResult<Option<LeasedJob>> {
        let sql = match self.dialect {
            super::Dialect::Sqlite => claim_sql!(""),
            super::Dialect::Postgres => claim_sql!(" FOR UPDATE SKIP LOCKED"),
        };
        let limit = |concurrent: Option<u32>| i64::from(concurrent.unwrap_or(u32::MAX));
        let rows = query!(
            sql,
            [
                request.worker,
                now.plus_ms(request.lease_ms).0,
                now.0,
                priority.number(),
                limit(request.limits.installation.concurrent_reviews),
                limit(request.limits.repository.concurrent_reviews),
            ]
        )
        .fetch_all(&mut **transaction)
        .await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let job = job_from_row(row)?;
        let lease = Lease { job: job.id, token: integer(row, "token")? };
        Ok(Some(LeasedJob { job, lease }))
    }
}

/// A row that a worker holds.
#[derive(Debug)]
struct HeldLease {
    attempts: u32,
    /// Empty, or the state that the job has to end in.
    stop: String,
    reason: String,
}

/// What a row becomes when its lease ends.
#[derive(Debug)]
struct EndedRow<'a> {
    state: &'a str,
    reason: &'a str,
    run_at: UnixMillis,
    attempts: u32,
}

impl HeldLease {
    /// Whether the installation was removed while the job ran.
    fn is_uninstalled(&self) -> bool {
        !self.stop.is_empty() && self.reason == UNINSTALLED
    }

    /// The given row, unless the store asked the worker to stop. Then the row gets the state and
    /// the reason of that request, and the attempt counts.
    fn unless_stopped<'a>(&'a self, row: EndedRow<'a>) -> EndedRow<'a> {
        if self.stop.is_empty() {
            return row;
        }
        EndedRow { state: &self.stop, reason: &self.reason, attempts: self.attempts, ..row }
    }

    fn after_failure<'a>(
        &'a self,
        job: JobId,
        failure: &'a AttemptFailure,
        retry: &RetryPolicy,
        now: UnixMillis,
    ) -> EndedRow<'a> {
        let (state, run_at) = match after_failure(job, self.attempts, failure.retry, retry, now) {
            NextState::WaitUntil(time) => ("waiting", time),
            NextState::Dead => ("dead", now),
        };
        let attempts = match failure.retry {
            RetryAdvice::Uncounted(_) => self.attempts.saturating_sub(1),
            RetryAdvice::Backoff | RetryAdvice::NotBefore(_) | RetryAdvice::Never => self.attempts,
        };
        let reason = &failure.reason;
        self.unless_stopped(EndedRow { state, reason, run_at, attempts })
    }
}

impl EndedRow<'_> {
    async fn write(
        &self,
        transaction: &mut Transaction<'static, Any>,
        job: JobId,
        now: UnixMillis,
    ) -> StoreResult<()> {
        query!(
            "UPDATE jobs SET state = $2, reason = $3, run_at = $4, attempts = $5, changed_at = $6, \
             owner = '', lease_until = 0, stop = '', step = '' WHERE id = $1",
            [job.0, self.state, self.reason, self.run_at.0, i64::from(self.attempts), now.0]
        )
        .execute(&mut **transaction)
        .await?;
        Ok(())
    }
}

async fn delete_job(transaction: &mut Transaction<'static, Any>, job: JobId) -> StoreResult<()> {
    query!("DELETE FROM jobs WHERE id = $1", [job.0]).execute(&mut **transaction).await?;
    Ok(())
}

/// Locks the row of a lease for the rest of the transaction.
async fn held_lease(
    transaction: &mut Transaction<'static, Any>,
    lease: &Lease,
    now: UnixMillis,
) -> StoreResult<HeldLease> {
    // An update that changes nothing locks the row in both databases.
    let rows = query!(
        "UPDATE jobs SET token = token WHERE id = $1 AND token = $2 AND state = 'running' AND lease_until >= $3 \
         RETURNING attempts, stop, reason",
        [lease.job.0, lease.token, now.0]
    )
    .fetch_all(&mut **transaction)
    .await?;
    let row = rows.first().ok_or(StoreError::StaleLease)?;
    Ok(HeldLease {
        attempts: u32::try_from(integer(row, "attempts")?).unwrap_or(u32::MAX),
        stop: text(row, "stop")?,
        reason: text(row, "reason")?,
    })
}

/// Puts jobs of lost workers back, or ends them. Needs the claim lock.
async fn expire_leases(
    transaction: &mut Transaction<'static, Any>,
    retry: &RetryPolicy,
    now: UnixMillis,
) -> StoreResult<()> {
    let rows = query!(
        "SELECT id FROM jobs WHERE state = 'running' AND lease_until < $1 ORDER BY lease_until LIMIT $2",
        [now.0, EXPIRED_PER_CLAIM]
    )
    .fetch_all(&mut **transaction)
    .await?;
    for row in &rows {
        let job = JobId(integer(row, "id")?);
        // Locks the row. The worker may have ended the job or renewed the lease meanwhile.
        let expired = query!(
            "UPDATE jobs SET token = token WHERE id = $1 AND state = 'running' AND lease_until < $2 \
             RETURNING attempts, owner, stop, reason",
            [job.0, now.0]
        )
        .fetch_all(&mut **transaction)
        .await?;
        let Some(row) = expired.first() else { continue };
        let held = HeldLease {
            attempts: u32::try_from(integer(row, "attempts")?).unwrap_or(u32::MAX),
            stop: text(row, "stop")?,
            reason: text(row, "reason")?,
        };
        if held.is_uninstalled() {
            delete_job(transaction, job).await?;
            continue;
        }
        let failure =
            AttemptFailure::retried(format!("worker {} stopped responding", text(row, "owner")?));
        held.after_failure(job, &failure, retry, now).write(transaction, job, now).await?;
    }
    Ok(())
}
