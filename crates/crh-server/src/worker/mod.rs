//! Workers: take jobs, keep their leases, and run `crh` as child processes.
//!
//! A worker holds no state that another one needs. It can be killed at any moment: its leases
//! expire, and other workers take its jobs.

mod attempt;
mod child;
mod folders;
mod outcomes;
mod reconcile;
mod review;
mod run_copies;
mod runs;
mod settings;
mod signal;
mod upkeep;

use std::{future::Future, sync::Arc, time::Duration};

use tokio::{
    sync::Semaphore,
    task::JoinSet,
    time::{Instant, sleep},
};

use tracing::Instrument;

pub use attempt::{Attempt, ChildAccess};
pub use child::{ChildCommand, ChildEnd, PARENT_VARIABLE, end_with_parent, run_child};
pub use folders::{InstallationFolders, JobFolder};
pub use settings::{RestForgeChildren, StepTimeouts, WorkerSettings};
pub use signal::{StopReason, StopSignal};

use crate::{
    forge_access::{CheckNotice, ForgeAccess},
    job::{AttemptFailure, Job, JobKind, JobState, LeasedJob},
    store::{ClaimRequest, LeaseEnd, Store, StoreError, StoreResult},
};

/// Time between two signs of life of a worker.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

/// Interval between two rounds of upkeep: periodic jobs and old folders.
const UPKEEP: Duration = Duration::from_secs(10 * 60);

/// Longest pause after a failure of the database.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Carries out commands and replies of comments.
pub trait CommentJobs: Send + Sync + 'static {
    /// Handles one comment. It may run children through the attempt. It must give the same result
    /// if it runs twice, because a worker can die before it stores the end of the job.
    fn handle(
        &self,
        attempt: &Attempt<'_>,
    ) -> impl Future<Output = Result<(), AttemptFailure>> + Send;
}

/// A worker process.
#[derive(Debug)]
pub struct Worker<F, C> {
    store: Store,
    settings: WorkerSettings,
    forge: F,
    comments: C,
}

impl<F: ForgeAccess, C: CommentJobs> Worker<F, C> {
    /// A worker on a store.
    pub fn new(store: Store, settings: WorkerSettings, forge: F, comments: C) -> Self {
        Self { store, settings, forge, comments }
    }

    /// Works until the signal is set. Running jobs then have some time to end. Jobs that still run
    /// after it return to the queue.
    pub async fn run(self, shutdown: StopSignal) {
        let worker = Arc::new(self);
        let slots = Arc::new(Semaphore::new(worker.settings.slots as usize));
        let stop_jobs = StopSignal::default();
        let mut jobs = JoinSet::new();
        let mut upkeep = JoinSet::new();
        upkeep.spawn(sign_of_life(worker.clone()));
        upkeep.spawn(keep_up(worker.clone()));
        let mut pause = worker.settings.poll;
        loop {
            // Ended tasks leave the set.
            while jobs.try_join_next().is_some() {}
            let slot = tokio::select! {
                () = shutdown.stopped() => break,
                slot = slots.clone().acquire_owned() => slot,
            };
            // The semaphore is never closed.
            let Ok(slot) = slot else { break };
            match worker.claim().await {
                Ok(Some(leased)) => {
                    pause = worker.settings.poll;
                    let (worker, stop) = (worker.clone(), stop_jobs.clone());
                    let job = &leased.job;
                    let (kind, attempt) = (job.key.kind.name(), job.attempts);
                    let span = tracing::info_span!("job", job = job.id.0, kind, attempt);
                    let work = async move {
                        worker.work(leased, stop).await;
                        drop(slot);
                    };
                    jobs.spawn(work.instrument(span));
                    continue;
                }
                Ok(None) => pause = worker.settings.poll,
                Err(error) => {
                    tracing::warn!(%error, "cannot take a job");
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
            drop(slot);
            tokio::select! {
                () = shutdown.stopped() => break,
                () = sleep(pause) => {}
            }
        }
        worker.finish(&mut jobs, &stop_jobs).await;
        upkeep.shutdown().await;
        if let Err(error) = worker.store.remove_worker(&worker.settings.name).await {
            tracing::warn!(%error, "cannot remove the worker from the list");
        }
    }

    async fn finish(&self, jobs: &mut JoinSet<()>, stop_jobs: &StopSignal) {
        let deadline = Instant::now() + self.settings.shutdown;
        tracing::info!(running = jobs.len(), "shutting down");
        while let Ok(Some(_)) = tokio::time::timeout_at(deadline, jobs.join_next()).await {}
        stop_jobs.stop(StopReason::Shutdown);
        while jobs.join_next().await.is_some() {}
    }

    async fn claim(&self) -> StoreResult<Option<LeasedJob>> {
        let request = ClaimRequest {
            worker: &self.settings.name,
            lease_ms: self.settings.lease_ms(),
            retry: self.settings.retry,
            limits: &self.settings.limits,
        };
        let claimed = self.store.claim(&request).await;
        // A claim that finds no job writes nothing, so it does not show whether the database takes
        // writes.
        if matches!(claimed, Ok(None)) { claimed } else { self.store.note(claimed) }
    }

    /// Works on one job and ends its lease.
    async fn work(&self, leased: LeasedJob, shutdown: StopSignal) {
        let stop = StopSignal::default();
        let attempt = Attempt {
            store: &self.store,
            settings: &self.settings,
            leased: &leased,
            stop: stop.clone(),
        };
        let id = leased.job.id.0;
        tracing::info!("started");
        let keep_lease = attempt.keep_lease();
        let forward_shutdown = async {
            shutdown.stopped().await;
            stop.stop(shutdown.reason().unwrap_or(StopReason::Shutdown));
            std::future::pending::<()>().await;
        };
        let work = self.run_kind(&attempt);
        let background = async { tokio::join!(keep_lease, forward_shutdown) };
        tokio::pin!(background);
        tokio::pin!(work);
        let end = tokio::select! {
            end = &mut work => end,
            _ = &mut background => return,
        };
        if stop.reason() == Some(StopReason::LeaseLost) {
            tracing::warn!(job = id, "lost the lease");
            return;
        }
        // The lease is renewed while the end is stored, in case the database is not available for a
        // moment.
        tokio::select! {
            () = self.end_attempt(&attempt, end) => {}
            _ = &mut background => {}
        }
        if stop.reason() == Some(StopReason::Requested) {
            let (forge, installation) = (&leased.job.key.change.forge, leased.job.installation);
            let folders = attempt.folders();
            let removed =
                upkeep::remove_uninstalled(&self.store, &folders, forge, installation).await;
            if let Err(error) = removed {
                // The next upkeep deletes the folders.
                tracing::warn!(job = id, %error, "cannot look whether the installation is gone");
            }
        }
    }

    async fn run_kind(&self, attempt: &Attempt<'_>) -> StoreResult<LeaseEnd> {
        match attempt.job().key.kind {
            JobKind::Review => review::run_review(attempt, &self.forge).await,
            JobKind::Outcomes => outcomes::run_outcomes(attempt, &self.forge).await,
            JobKind::Reconcile => reconcile::run_reconcile(attempt, &self.forge).await,
            JobKind::Cleanup => {
                upkeep::remove_old_rows(&self.store, &self.settings).await?;
                Ok(LeaseEnd::Done(None))
            }
            JobKind::Command | JobKind::Reply => {
                let handled = self.comments.handle(attempt).await;
                Ok(match handled {
                    Ok(()) => LeaseEnd::Done(None),
                    Err(_) if attempt.stop.reason().is_some() => attempt.stopped_end(),
                    Err(failure) => LeaseEnd::Failed(failure),
                })
            }
        }
    }

    /// If the job of a review is dead, reports that at the forge. Only the page shows the reason,
    /// which may name machines and files of the server.
    async fn announce_dead_review(&self, job: &Job) {
        let is_dead = match self.store.job(job.id).await {
            Ok(stored) => stored.state == JobState::Dead && job.key.kind == JobKind::Review,
            Err(_) => false,
        };
        if !is_dead {
            return;
        }
        let notice = CheckNotice {
            title: "Not reviewed: the review failed".to_owned(),
            summary: format!(
                "crh could not review this commit. The page of the server has the reason at job {}. Comment `/crh review` to try again.",
                job.id
            ),
        };
        let (change, head) = (&job.key.change, &job.key.head);
        if let Err(error) = self.forge.report_check(job.installation, change, head, &notice).await {
            tracing::warn!(job = job.id.0, %error, "cannot report the failed review");
        }
    }

    /// Stores how an attempt ended. Tries again while the database is not available, until the
    /// lease is lost.
    async fn end_attempt(&self, attempt: &Attempt<'_>, result: StoreResult<LeaseEnd>) {
        let id = attempt.job().id.0;
        let end = result.unwrap_or_else(|error| match error {
            StoreError::StaleLease => LeaseEnd::Stopped,
            other => LeaseEnd::Failed(AttemptFailure::retried(other.to_string())),
        });
        tracing::info!(%end, "ended");
        while attempt.stop.reason() != Some(StopReason::LeaseLost) {
            match self.store.end(&attempt.leased.lease, &end, &self.settings.retry).await {
                Ok(()) => {
                    match &end {
                        LeaseEnd::Done(Some(review)) => {
                            attempt.mark_posted(&review.folder);
                            run_copies::copy_posted_runs(&self.settings, &attempt.folder()).await;
                        }
                        LeaseEnd::Failed(_) => self.announce_dead_review(attempt.job()).await,
                        LeaseEnd::Done(None)
                        | LeaseEnd::Deferred(_)
                        | LeaseEnd::Skipped(_)
                        | LeaseEnd::Stopped => {}
                    }
                    return;
                }
                Err(StoreError::StaleLease) => {
                    tracing::warn!(job = id, "lost the lease");
                    return;
                }
                Err(error) => {
                    tracing::warn!(job = id, %error, "cannot store the end of an attempt");
                    drop(self.store.note::<()>(Err(error)));
                    sleep(Duration::from_millis(500)).await;
                }
            }
        }
    }
}

/// Records that the worker is alive, and follows the database's clock, every [`SIGN_OF_LIFE`].
async fn sign_of_life<F: ForgeAccess, C: CommentJobs>(worker: Arc<Worker<F, C>>) {
    let settings = &worker.settings;
    loop {
        let store = &worker.store;
        let result = async {
            store.sync_clock().await?;
            store.register_worker(&settings.name, &settings.version, settings.slots).await
        };
        if let Err(error) = store.note(result.await) {
            tracing::warn!(%error, "cannot send a sign of life");
        }
        sleep(SIGN_OF_LIFE).await;
    }
}

/// Adds periodic jobs and deletes old folders, at the start and every [`UPKEEP`].
async fn keep_up<F: ForgeAccess, C: CommentJobs>(worker: Arc<Worker<F, C>>) {
    loop {
        let result = async {
            upkeep::add_periodic_jobs(&worker.store).await?;
            let now = std::time::UNIX_EPOCH
                + Duration::from_millis(u64::try_from(worker.store.now().0).unwrap_or_default());
            upkeep::remove_old_folders(&worker.store, &worker.settings, now).await
        };
        if let Err(error) = result.await {
            tracing::warn!(%error, "periodic maintenance failed");
        }
        sleep(UPKEEP).await;
    }
}
