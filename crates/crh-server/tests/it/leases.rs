//! Leases: fencing, attempts, dead jobs, stops, concurrency.

use crh_server::{
    job::{AttemptFailure, Heartbeat, RetryAdvice},
    queue::RetryPolicy,
    store::{BudgetLimits, Deferral, LeaseEnd, ScopeLimits, StoreError},
};

use crate::support::{LEASE_MS, RETRY, on_each_store, review};

#[test]
fn attempt_over_a_limit_does_not_count() {
    on_each_store(|test| async move {
        let id = test.add(&review("o/r", 1, "aaa", 1)).await;
        for _ in 0..2 * RETRY.max_attempts {
            let leased = test.claim().await.expect("due");
            let tomorrow = test.store.now().plus_ms(86_400_000);
            let end = failure(RetryAdvice::Uncounted(tomorrow));
            test.store.end(&leased.lease, &end, &RETRY).await.unwrap();
            assert_eq!(test.state(id).await, "waiting 0 the forge is down");
            assert_eq!(test.claim().await, None);
            test.clock.advance_ms(86_400_000);
        }
    });
}

fn failure(retry: RetryAdvice) -> LeaseEnd {
    LeaseEnd::Failed(AttemptFailure { reason: "the forge is down".to_owned(), retry })
}

#[test]
fn job_that_kills_its_worker_is_dead_after_the_last_attempt() {
    on_each_store(|test| async move {
        let id = test.add(&review("o/r", 1, "aaa", 1)).await;
        for attempt in 1..=3 {
            let claimed = test.claim().await.expect("due");
            assert_eq!((claimed.job.id, claimed.job.attempts), (id, attempt));
            // The worker dies. Later workers find the lease expired, and the job waits for its delay.
            test.clock.advance_ms(LEASE_MS + 1);
            assert_eq!(test.claim().await, None);
            test.clock.advance_ms(200_000);
        }
        assert_eq!(test.state(id).await, "dead 3 worker worker-1 stopped responding");
        assert_eq!(test.claim().await, None);
        test.store.retry_dead(id, "ann").await.unwrap();
        assert_eq!(test.claim().await.unwrap().job.attempts, 1);
        let again = test.store.retry_dead(id, "ann").await.unwrap_err();
        assert!(matches!(again, StoreError::Refused(_)), "{again}");
    });
}

#[test]
fn frozen_worker_cannot_write_after_its_lease_expired() {
    on_each_store(|test| async move {
        let id = test.add(&review("o/r", 1, "aaa", 1)).await;
        let frozen = test.claim().await.unwrap().lease;
        test.clock.advance_ms(LEASE_MS + 1);
        // Not even before another worker takes the job.
        assert_eq!(test.store.heartbeat(&frozen, LEASE_MS).await.unwrap(), Heartbeat::Lost);
        assert_eq!(test.claim().await, None);
        test.clock.advance_ms(20_000);
        let second = test.claim().await.unwrap().lease;
        assert!(second.token > frozen.token);
        for error in [
            test.store.set_step(&frozen, "post", LEASE_MS).await.unwrap_err(),
            test.store.end(&frozen, &LeaseEnd::Done(None), &RETRY).await.unwrap_err(),
            test.store.end(&frozen, &failure(RetryAdvice::Never), &RETRY).await.unwrap_err(),
        ] {
            assert!(matches!(error, StoreError::StaleLease), "{error}");
        }
        assert_eq!(test.store.heartbeat(&second, LEASE_MS).await.unwrap(), Heartbeat::Held);
        test.store.end(&second, &LeaseEnd::Done(None), &RETRY).await.unwrap();
        assert_eq!(test.state(id).await, "done 2");
        let late = test.store.end(&second, &LeaseEnd::Done(None), &RETRY).await.unwrap_err();
        assert!(matches!(late, StoreError::StaleLease), "{late}");
    });
}

#[test]
fn heartbeats_keep_a_lease_for_longer_than_its_length() {
    on_each_store(|test| async move {
        test.add(&review("o/r", 1, "aaa", 1)).await;
        let lease = test.claim().await.unwrap().lease;
        for _ in 0..5 {
            test.clock.advance_ms(LEASE_MS - 1);
            assert_eq!(test.store.heartbeat(&lease, LEASE_MS).await.unwrap(), Heartbeat::Held);
            assert_eq!(test.claim().await, None);
        }
    });
}

#[test]
fn failed_attempts_back_off_and_deferred_ones_do_not_count() {
    on_each_store(|test| async move {
        let retry = RetryPolicy { first_delay_ms: 0, ..RETRY };
        let id = test.add(&review("o/r", 1, "aaa", 1)).await;
        let lease = test.claim().await.unwrap().lease;
        test.store.end(&lease, &failure(RetryAdvice::Backoff), &RETRY).await.unwrap();
        assert_eq!(test.state(id).await, "waiting 1 the forge is down");
        assert_eq!(test.claim().await, None, "the delay is not over");
        test.clock.advance_ms(20_000);
        let lease = test.claim().await.unwrap().lease;
        let until = test.store.now().plus_ms(5_000);
        let deferral = Deferral { until, reason: "the limit is reached".to_owned() };
        test.store.end(&lease, &LeaseEnd::Deferred(deferral), &RETRY).await.unwrap();
        assert_eq!(test.state(id).await, "waiting 1 the limit is reached");
        assert_eq!(test.claim().await, None);
        test.clock.advance_ms(5_000);
        for _ in 0..2 {
            let lease = test.claim().await.unwrap().lease;
            test.store.end(&lease, &failure(RetryAdvice::Backoff), &retry).await.unwrap();
        }
        assert_eq!(test.state(id).await, "dead 3 the forge is down");
    });
}

#[test]
fn new_push_stops_the_running_review_and_runs_after_it() {
    on_each_store(|test| async move {
        let old = test.add(&review("o/r", 1, "aaa", 1)).await;
        let lease = test.claim().await.unwrap().lease;
        let new = test.add(&review("o/r", 1, "bbb", 2)).await;
        assert_eq!(test.store.heartbeat(&lease, LEASE_MS).await.unwrap(), Heartbeat::StopRequested);
        assert_eq!(test.claim().await, None, "one review of a pull request at a time");
        test.store.end(&lease, &LeaseEnd::Stopped, &RETRY).await.unwrap();
        assert_eq!(test.state(old).await, "superseded 1 head bbb is newer");
        assert_eq!(test.claim().await.unwrap().job.id, new);
    });
}

#[test]
fn superseded_review_of_a_lost_worker_does_not_run_again() {
    on_each_store(|test| async move {
        let old = test.add(&review("o/r", 1, "aaa", 1)).await;
        test.claim().await.unwrap();
        let new = test.add(&review("o/r", 1, "bbb", 2)).await;
        test.clock.advance_ms(LEASE_MS + 1);
        assert_eq!(test.claim().await.unwrap().job.id, new);
        assert_eq!(test.state(old).await, "superseded 1 head bbb is newer");
    });
}

#[test]
fn cancelled_job_ends_at_once_or_stops() {
    on_each_store(|test| async move {
        let waiting = test.add(&review("o/r", 1, "aaa", 1)).await;
        let running = test.add(&review("o/r", 2, "aaa", 1)).await;
        test.store.cancel(waiting, "ann").await.unwrap();
        assert_eq!(test.state(waiting).await, "cancelled 0 cancelled by ann");
        let lease = test.claim().await.unwrap().lease;
        test.store.cancel(running, "ann").await.unwrap();
        // A failure that comes from the stop does not retry.
        test.store.end(&lease, &failure(RetryAdvice::Backoff), &RETRY).await.unwrap();
        assert_eq!(test.state(running).await, "cancelled 1 cancelled by ann");
        let ended = test.store.cancel(running, "ann").await.unwrap_err();
        assert!(matches!(ended, StoreError::Refused(_)), "{ended}");
    });
}

#[test]
fn concurrent_reviews_stay_within_the_limits() {
    on_each_store(|test| async move {
        for number in 1..=4 {
            test.add(&review("o/busy", number, "aaa", 1)).await;
        }
        for number in 1..=4 {
            test.add(&review("o/calm", number, "aaa", 1)).await;
        }
        let limits = BudgetLimits {
            repository: ScopeLimits { concurrent_reviews: Some(2), ..ScopeLimits::default() },
            installation: ScopeLimits { concurrent_reviews: Some(3), ..ScopeLimits::default() },
        };
        let mut taken = Vec::new();
        while let Some(claimed) = test.claim_with(&limits).await {
            taken.push(claimed);
        }
        let names: Vec<&str> =
            taken.iter().map(|claimed| claimed.job.key.change.repository.as_str()).collect();
        assert_eq!(names, ["o/busy", "o/busy", "o/calm"]);
        test.store.end(&taken[0].lease, &LeaseEnd::Done(None), &RETRY).await.unwrap();
        assert_eq!(test.claim_with(&limits).await.unwrap().job.key.change.repository, "o/busy");
        assert_eq!(test.claim_with(&limits).await, None);
    });
}

#[test]
fn parallel_workers_take_each_job_once() {
    on_each_store(|test| async move {
        const JOBS: u32 = 60;
        for number in 1..=JOBS {
            test.add(&review("o/r", number, "aaa", 1)).await;
        }
        let test = std::sync::Arc::new(test);
        let mut workers = tokio::task::JoinSet::new();
        for _ in 0..6 {
            let test = test.clone();
            workers.spawn(async move {
                let mut ids = Vec::new();
                while let Some(claimed) = test.claim().await {
                    ids.push(claimed.job.id);
                    let end = LeaseEnd::Done(None);
                    test.store.end(&claimed.lease, &end, &RETRY).await.unwrap();
                }
                ids
            });
        }
        let mut ids: Vec<_> = workers.join_all().await.into_iter().flatten().collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), JOBS as usize);
        let counts = test.store.queue_counts().await.unwrap();
        assert_eq!((counts.waiting, counts.running), (0, 0));
    });
}
