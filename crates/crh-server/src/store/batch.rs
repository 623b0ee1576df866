//! Accepts many deliveries in one transaction.
//!
//! A database syncs its disk once per transaction. Without batches, the last one of a burst of
//! deliveries would wait for longer than the ten seconds that GitHub waits.

use std::sync::{Mutex, PoisonError};

use tokio::sync::oneshot;

use super::{Acceptance, Delivery, Store, StoreError, StoreResult, jobs::change_lock};
use crate::job::NewJob;

/// Maximum deliveries in one transaction. Bounds the time for which other writers wait.
const LARGEST_BATCH: usize = 100;

/// Maximum batches that a delivery joins. It joins another one if the request that led its batch
/// was cancelled.
const TRIES: usize = 3;

/// Deliveries that wait for the next transaction. The request of one of them runs it: the leader.
#[derive(Debug, Default)]
pub(super) struct AcceptBatch {
    waiting: Mutex<Vec<PendingDelivery>>,
    leader: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct PendingDelivery {
    delivery: Delivery,
    jobs: Vec<NewJob>,
    reply: oneshot::Sender<StoreResult<Acceptance>>,
}

impl AcceptBatch {
    pub(super) async fn accept(
        &self,
        store: &Store,
        delivery: &Delivery,
        jobs: &[NewJob],
    ) -> StoreResult<Acceptance> {
        for _ in 0..TRIES {
            let (reply, mut answer) = oneshot::channel();
            let (delivery, jobs) = (delivery.clone(), jobs.to_vec());
            self.waiting().push(PendingDelivery { delivery, jobs, reply });
            loop {
                let guard = tokio::select! {
                    result = &mut answer => match result {
                        Ok(result) => return result,
                        Err(_) => break,
                    },
                    guard = self.leader.lock() => guard,
                };
                // The previous leader may have answered while this request waited for the lock.
                match answer.try_recv() {
                    Ok(result) => return result,
                    Err(oneshot::error::TryRecvError::Closed) => break,
                    Err(oneshot::error::TryRecvError::Empty) => self.lead(store).await,
                }
                drop(guard);
            }
        }
        Err(StoreError::Unavailable("too many cancelled requests".to_owned()))
    }

    /// Stores the next batch. If that fails, stores each delivery alone, with its own result.
    async fn lead(&self, store: &Store) {
        let mut batch: Vec<PendingDelivery> = {
            let mut waiting = self.waiting();
            let size = waiting.len().min(LARGEST_BATCH);
            waiting.drain(..size).collect()
        };
        // All processes lock in this order, so that the batches of two processes rarely deadlock.
        batch.sort_by_cached_key(|pending| {
            pending.jobs.iter().map(|job| change_lock(&job.key.change)).min()
        });
        match accept_all(store, &batch).await {
            Ok(results) => {
                for (pending, result) in batch.into_iter().zip(results) {
                    // A request that was cancelled does not read its answer.
                    let _: Result<(), _> = pending.reply.send(Ok(result));
                }
            }
            Err(_) => {
                for PendingDelivery { delivery, jobs, reply } in batch {
                    let result = store.accept_alone(&delivery, &jobs).await;
                    let _: Result<(), _> = reply.send(result);
                }
            }
        }
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, Vec<PendingDelivery>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn accept_all(store: &Store, batch: &[PendingDelivery]) -> StoreResult<Vec<Acceptance>> {
    let mut transaction = store.write().await?;
    let mut results = Vec::with_capacity(batch.len());
    for PendingDelivery { delivery, jobs, .. } in batch {
        results.push(store.accept_in(&mut transaction, delivery, jobs).await?);
    }
    transaction.commit().await?;
    Ok(results)
}
