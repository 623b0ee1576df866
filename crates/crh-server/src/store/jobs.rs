//! Adds, reads, cancels and retries jobs.

use sqlx::{Any, Transaction, any::AnyRow};

use super::{
    LockScope, Store, StoreError, StoreResult, audit, count, integer, lock_name, text, time,
};
use crate::{
    clock::UnixMillis,
    job::{
        ChangeId, Enqueued, InstallationId, Job, JobId, JobKey, JobKind, JobOrigin, JobState,
        NewJob, Priority,
    },
};

/// A webhook delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Host name of the forge.
    pub forge: String,
    /// The forge's id of the delivery, the same if it is sent again.
    pub id: String,
    /// Name of the event, such as `pull_request`.
    pub event: String,
}

/// What accepting a delivery did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acceptance {
    /// The delivery and its jobs are stored: one result per job.
    New(Vec<Enqueued>),
    /// The delivery was handled before, so no job was added.
    AlreadyHandled,
}

/// Which jobs to list, newest first.
#[derive(Debug, Clone, Default)]
pub struct JobFilter {
    /// Only jobs in this state.
    pub state: Option<JobState>,
    /// Only jobs of this forge and repository.
    pub repository: Option<(String, String)>,
    /// Only jobs before this one, for the next page.
    pub before: Option<JobId>,
    /// Longest list. The store returns at most 500.
    pub limit: u32,
}

impl JobFilter {
    /// Jobs in a state.
    pub(crate) fn in_state(state: JobState) -> Self {
        Self { state: Some(state), ..Self::default() }
    }
}

/// Size of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct QueueCounts {
    /// Waiting jobs, also those that wait for their time.
    pub waiting: u64,
    /// Running jobs.
    pub running: u64,
    /// Dead jobs.
    pub dead: u64,
    /// Earliest time at which a waiting job is due.
    pub oldest_due: Option<UnixMillis>,
}

/// Longest list that the store returns.
pub(super) const LONGEST_LIST: u32 = 500;

/// All columns of a job.
macro_rules! job_columns {
    () => {
        "id, forge, repository, change_id, head, kind, installation, priority, origin, payload, revision, state, reason, \
         attempts, run_at, created_at, changed_at, owner, token, lease_until, stop, step"
    };
}
pub(super) use job_columns;

/// The query that lists jobs under a condition on the state.
macro_rules! list_jobs {
    ($condition:literal) => {
        concat!(
            "SELECT ",
            job_columns!(),
            " FROM jobs WHERE ",
            $condition,
            " AND ($3 = '' OR (forge = $2 AND repository = $3)) AND id < $4 ORDER BY id DESC LIMIT $5"
        )
    };
}

impl Store {
    /// Stores a delivery together with its jobs, or nothing if it was stored before.
    /// If this returns an error, nothing is stored, and the forge can send the delivery again.
    pub async fn accept(&self, delivery: &Delivery, jobs: &[NewJob]) -> StoreResult<Acceptance> {
        self.batch.accept(self, delivery, jobs).await
    }

    pub(super) async fn accept_alone(
        &self,
        delivery: &Delivery,
        jobs: &[NewJob],
    ) -> StoreResult<Acceptance> {
        let mut transaction = self.write().await?;
        let acceptance = self.accept_in(&mut transaction, delivery, jobs).await?;
        transaction.commit().await?;
        Ok(acceptance)
    }

    pub(super) async fn accept_in(
        &self,
        transaction: &mut Transaction<'static, Any>,
        delivery: &Delivery,
        jobs: &[NewJob],
    ) -> StoreResult<Acceptance> {
        let added = query!(
            "INSERT INTO deliveries (forge, id, event, received_at) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (forge, id) DO NOTHING",
            [&delivery.forge, &delivery.id, &delivery.event, self.now().0]
        )
        .execute(&mut **transaction)
        .await?
        .rows_affected();
        if added == 0 {
            return Ok(Acceptance::AlreadyHandled);
        }
        // All deliveries lock in this order, so that two of them cannot deadlock.
        let mut order: Vec<usize> = (0..jobs.len()).collect();
        order.sort_by_key(|index| change_lock(&jobs[*index].key.change));
        let mut results = vec![Enqueued::Paused; jobs.len()];
        for index in order {
            results[index] = self.enqueue_in(transaction, &jobs[index]).await?;
        }
        Ok(Acceptance::New(results))
    }

    /// Whether a delivery was stored before. Only saves work: [`Store::accept`] checks it again.
    pub async fn is_handled(&self, forge: &str, delivery: &str) -> StoreResult<bool> {
        let row = query!(
            "SELECT 1 AS found FROM deliveries WHERE forge = $1 AND id = $2",
            [forge, delivery]
        )
        .fetch_optional(&self.reader)
        .await?;
        Ok(row.is_some())
    }

    /// Adds a job. A review supersedes waiting reviews of the same pull request with another head
    /// and asks the running one to stop.
    pub async fn enqueue(&self, job: &NewJob) -> StoreResult<Enqueued> {
        let mut transaction = self.write().await?;
        let result = self.enqueue_in(&mut transaction, job).await?;
        transaction.commit().await?;
        Ok(result)
    }

    /// Ends a job that waits, and asks one that runs to stop.
    pub async fn cancel(&self, job: JobId, who: &str) -> StoreResult<()> {
        let mut transaction = self.write().await?;
        let now = self.now();
        let changed = query!(
            "UPDATE jobs SET \
             state = CASE WHEN state = 'waiting' THEN 'cancelled' ELSE state END, \
             stop = CASE WHEN state = 'running' THEN 'cancelled' ELSE stop END, \
             reason = $2, changed_at = $3 \
             WHERE id = $1 AND state IN ('waiting', 'running')",
            [job.0, format!("cancelled by {who}"), now.0]
        )
        .execute(&mut *transaction)
        .await?
        .rows_affected();
        if changed == 0 {
            return Err(StoreError::Refused(format!("job {job} neither waits nor runs")));
        }
        audit::insert(&mut transaction, now, who, "cancel", &format!("job {job}"), "").await?;
        transaction.commit().await?;
        Ok(())
    }

    /// Ends the waiting and stops the running reviews of a pull request, for example because it was
    /// closed. They run again if their head is added again: the pull request may be opened again.
    pub async fn cancel_reviews(&self, change: &ChangeId, reason: &str) -> StoreResult<u64> {
        let mut transaction = self.write().await?;
        self.lock(&mut transaction, LockScope::Change, change_lock(change)).await?;
        let ended =
            stop_reviews(&mut transaction, change, "", JobState::Superseded, reason, self.now());
        let ended = ended.await?;
        transaction.commit().await?;
        Ok(ended)
    }

    /// Lets a dead job run again, and counts its attempts from zero.
    pub async fn retry_dead(&self, job: JobId, who: &str) -> StoreResult<()> {
        let mut transaction = self.write().await?;
        let now = self.now();
        let changed = query!(
            "UPDATE jobs SET state = 'waiting', attempts = 0, stop = '', reason = $2, run_at = $3, changed_at = $3 \
             WHERE id = $1 AND state = 'dead'",
            [job.0, format!("retried by {who}"), now.0]
        )
        .execute(&mut *transaction)
        .await?
        .rows_affected();
        if changed == 0 {
            return Err(StoreError::Refused(format!("job {job} is not dead")));
        }
        audit::insert(&mut transaction, now, who, "retry", &format!("job {job}"), "").await?;
        transaction.commit().await?;
        Ok(())
    }

    /// One job.
    pub async fn job(&self, id: JobId) -> StoreResult<Job> {
        let row = query!(concat!("SELECT ", job_columns!(), " FROM jobs WHERE id = $1"), [id.0])
            .fetch_optional(&self.reader)
            .await?
            .ok_or_else(|| StoreError::Missing(format!("job {id}")))?;
        job_from_row(&row)
    }

    /// Jobs, newest first.
    pub async fn jobs(&self, filter: &JobFilter) -> StoreResult<Vec<Job>> {
        // A literal state lets the database use the partial index of that state. PostgreSQL needs
        // to see every parameter, hence `$1 <> ''`, which is true there.
        let sql = match filter.state {
            Some(JobState::Waiting) => list_jobs!("state = 'waiting' AND $1 <> ''"),
            Some(JobState::Running) => list_jobs!("state = 'running' AND $1 <> ''"),
            Some(JobState::Dead) => list_jobs!("state = 'dead' AND $1 <> ''"),
            Some(
                JobState::Done | JobState::Superseded | JobState::Cancelled | JobState::Skipped,
            ) => {
                list_jobs!("state = $1")
            }
            None => list_jobs!("$1 = ''"),
        };
        let (forge, repository) = filter.repository.clone().unwrap_or_default();
        let query = query!(
            sql,
            [
                filter.state.map_or("", JobState::name),
                forge,
                repository,
                filter.before.map_or(i64::MAX, |id| id.0),
                i64::from(filter.limit.min(LONGEST_LIST)),
            ]
        );
        self.read_all(query, job_from_row).await
    }

    /// Size of the queue. Of ended jobs, it counts only dead ones, because there may be very many
    /// others.
    pub async fn queue_counts(&self) -> StoreResult<QueueCounts> {
        let row = sqlx::query(
            "SELECT (SELECT COUNT(*) FROM jobs WHERE state = 'waiting') AS waiting, \
             (SELECT COUNT(*) FROM jobs WHERE state = 'running') AS running, \
             (SELECT COUNT(*) FROM jobs WHERE state = 'dead') AS dead, \
             CAST(COALESCE((SELECT MIN(run_at) FROM jobs WHERE state = 'waiting'), -1) AS BIGINT) AS oldest",
        )
        .fetch_one(&self.reader)
        .await?;
        let oldest = time(&row, "oldest")?;
        Ok(QueueCounts {
            waiting: count(&row, "waiting")?,
            running: count(&row, "running")?,
            dead: count(&row, "dead")?,
            oldest_due: (oldest.0 >= 0).then_some(oldest),
        })
    }

    pub(super) async fn enqueue_in(
        &self,
        transaction: &mut Transaction<'static, Any>,
        job: &NewJob,
    ) -> StoreResult<Enqueued> {
        let change = &job.key.change;
        self.lock(transaction, LockScope::Change, change_lock(change)).await?;
        let existing = find(transaction, &job.key).await?;
        if job.key.kind == JobKind::Review {
            if job.origin == JobOrigin::Automatic && is_paused_in(transaction, change).await? {
                return Ok(Enqueued::Paused);
            }
            if has_newer_review(transaction, job).await? {
                return Ok(existing.map_or(Enqueued::Outdated, |(id, ..)| Enqueued::Exists(id)));
            }
            let reason = format!("head {} is newer", job.key.head);
            let (head, now) = (&job.key.head, self.now());
            stop_reviews(transaction, change, head, JobState::Superseded, &reason, now).await?;
        }
        match existing {
            Some((id, state)) if runs_again(state, job) => {
                self.restart(transaction, id, job).await?;
                Ok(Enqueued::Added(id))
            }
            Some((id, _)) => Ok(Enqueued::Exists(id)),
            None => self.insert_job(transaction, job).await.map(Enqueued::Added),
        }
    }

    async fn insert_job(
        &self,
        transaction: &mut Transaction<'static, Any>,
        job: &NewJob,
    ) -> StoreResult<JobId> {
        let rows = query!(
            "INSERT INTO jobs (forge, repository, change_id, head, kind, installation, priority, payload, revision, \
             state, reason, attempts, run_at, created_at, changed_at, owner, token, lease_until, stop, step, origin) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'waiting', '', 0, $10, $10, $10, '', 0, 0, '', '', $11) \
             RETURNING id",
            [
                &job.key.change.forge, &job.key.change.repository,
                &job.key.change.number, &job.key.head, job.key.kind.name(),
                job.installation.0, job.priority.number(), job.payload.to_string(),
                job.revision, self.now().0, job.origin.name(),
            ]
        )
        .fetch_all(&mut **transaction)
        .await?;
        let row = rows.first().ok_or_else(|| StoreError::Content("no new row".to_owned()))?;
        integer(row, "id").map(JobId)
    }

    /// Makes a waiting or ended job due now, or withdraws the request to stop a running one. Keeps
    /// the token of the lease, which only grows.
    async fn restart(
        &self,
        transaction: &mut Transaction<'static, Any>,
        id: JobId,
        job: &NewJob,
    ) -> StoreResult<()> {
        query!(
            "UPDATE jobs SET \
             state = CASE WHEN state = 'running' THEN state ELSE 'waiting' END, \
             attempts = CASE WHEN state = 'running' THEN attempts ELSE 0 END, \
             reason = '', stop = '', run_at = $2, changed_at = $2, priority = $3, payload = $4, revision = $5, origin = $6, \
             installation = $7 \
             WHERE id = $1",
            [
                id.0, self.now().0, job.priority.number(), job.payload.to_string(),
                job.revision, job.origin.name(), job.installation.0,
            ]
        )
        .execute(&mut **transaction)
        .await?;
        Ok(())
    }
}

/// State of a job with its request to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StoredState {
    State(JobState),
    /// Skipped when the pull request had this revision.
    SkippedAt(i64),
    /// Running, but asked to stop: the head is not the newest, or the pull request was paused,
    /// closed or made a draft.
    Stopping,
}

/// Whether adding a job again lets it run again.
fn runs_again(state: StoredState, job: &NewJob) -> bool {
    match state {
        // For example, the branch went back to this head, which was never reviewed.
        StoredState::Stopping | StoredState::State(JobState::Superseded) => true,
        StoredState::SkippedAt(revision) => {
            job.origin == JobOrigin::Person || job.revision > revision
        }
        StoredState::State(JobState::Running) => false,
        // A person waits neither for a retry delay nor until a limit starts anew.
        StoredState::State(
            JobState::Waiting
            | JobState::Done
            | JobState::Dead
            | JobState::Cancelled
            | JobState::Skipped,
        ) => job.origin == JobOrigin::Person,
    }
}

async fn find(
    transaction: &mut Transaction<'static, Any>,
    key: &JobKey,
) -> StoreResult<Option<(JobId, StoredState)>> {
    let row = query!(
        "SELECT id, state, stop, revision FROM jobs \
         WHERE forge = $1 AND repository = $2 AND change_id = $3 AND head = $4 AND kind = $5",
        [&key.change.forge, &key.change.repository, &key.change.number, &key.head, key.kind.name(),]
    )
    .fetch_optional(&mut **transaction)
    .await?;
    row.map(|row| {
        let state = match job_state(&text(&row, "state")?)? {
            JobState::Running if text(&row, "stop")? == "superseded" => StoredState::Stopping,
            JobState::Skipped => StoredState::SkippedAt(integer(&row, "revision")?),
            state => StoredState::State(state),
        };
        Ok((JobId(integer(&row, "id")?), state))
    })
    .transpose()
}

/// Whether the store has a review of another head of this pull request with a newer revision.
async fn has_newer_review(
    transaction: &mut Transaction<'static, Any>,
    job: &NewJob,
) -> StoreResult<bool> {
    let row = query!(
        "SELECT 1 AS found FROM jobs WHERE forge = $1 AND repository = $2 AND change_id = $3 \
         AND kind = 'review' AND head <> $4 AND revision > $5 LIMIT 1",
        [
            &job.key.change.forge,
            &job.key.change.repository,
            &job.key.change.number,
            &job.key.head,
            job.revision,
        ]
    )
    .fetch_optional(&mut **transaction)
    .await?;
    Ok(row.is_some())
}

/// Ends waiting reviews of a pull request, and asks running ones to stop, except for those of the
/// head `keep`. Uses one statement, so that a job that a worker takes meanwhile stops too.
pub(super) async fn stop_reviews(
    transaction: &mut Transaction<'static, Any>,
    change: &ChangeId,
    keep: &str,
    state: JobState,
    reason: &str,
    now: UnixMillis,
) -> StoreResult<u64> {
    Ok(query!(
        "UPDATE jobs SET \
         state = CASE WHEN state = 'waiting' THEN $5 ELSE state END, \
         stop = CASE WHEN state = 'running' THEN $5 ELSE stop END, \
         reason = $6, changed_at = $7 \
         WHERE forge = $1 AND repository = $2 AND change_id = $3 AND kind = 'review' AND head <> $4 \
         AND state IN ('waiting', 'running')",
        [&change.forge, &change.repository, &change.number, keep, state.name(), reason, now.0]
    )
    .execute(&mut **transaction)
    .await?
    .rows_affected())
}

pub(super) async fn is_paused_in(
    connection: &mut sqlx::AnyConnection,
    change: &ChangeId,
) -> StoreResult<bool> {
    let row = query!(
        "SELECT 1 AS found FROM pauses WHERE forge = $1 AND repository = $2 AND change_id = $3",
        [&change.forge, &change.repository, &change.number]
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.is_some())
}

pub(super) fn change_lock(change: &ChangeId) -> i32 {
    lock_name(&[&change.forge, &change.repository, &change.number])
}

pub(super) fn job_from_row(row: &AnyRow) -> StoreResult<Job> {
    let payload = text(row, "payload")?;
    Ok(Job {
        id: JobId(integer(row, "id")?),
        key: JobKey {
            change: ChangeId {
                forge: text(row, "forge")?,
                repository: text(row, "repository")?,
                number: text(row, "change_id")?,
            },
            head: text(row, "head")?,
            kind: job_kind(&text(row, "kind")?)?,
        },
        installation: InstallationId(integer(row, "installation")?),
        priority: job_priority(integer(row, "priority")?)?,
        origin: job_origin(&text(row, "origin")?)?,
        payload: serde_json::from_str(&payload)
            .map_err(|error| StoreError::Content(format!("payload: {error}")))?,
        revision: integer(row, "revision")?,
        state: job_state(&text(row, "state")?)?,
        reason: text(row, "reason")?,
        attempts: u32::try_from(integer(row, "attempts")?).unwrap_or(u32::MAX),
        run_at: time(row, "run_at")?,
        created_at: time(row, "created_at")?,
        changed_at: time(row, "changed_at")?,
        owner: text(row, "owner")?,
        step: text(row, "step")?,
    })
}

fn job_state(name: &str) -> StoreResult<JobState> {
    JobState::ALL
        .into_iter()
        .find(|state| state.name() == name)
        .ok_or_else(|| StoreError::Content(format!("job state `{name}`")))
}

fn job_kind(name: &str) -> StoreResult<JobKind> {
    JobKind::ALL
        .into_iter()
        .find(|kind| kind.name() == name)
        .ok_or_else(|| StoreError::Content(format!("job kind `{name}`")))
}

fn job_origin(name: &str) -> StoreResult<JobOrigin> {
    [JobOrigin::Automatic, JobOrigin::Person]
        .into_iter()
        .find(|origin| origin.name() == name)
        .ok_or_else(|| StoreError::Content(format!("job origin `{name}`")))
}

fn job_priority(number: i64) -> StoreResult<Priority> {
    Priority::ALL
        .into_iter()
        .find(|priority| priority.number() == number)
        .ok_or_else(|| StoreError::Content(format!("priority {number}")))
}
