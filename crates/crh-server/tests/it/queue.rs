//! Adding jobs: unique keys, superseding, pausing, deliveries.

use crh_server::{
    job::{Enqueued, JobOrigin, JobState, Priority},
    store::{Acceptance, Deferral, Delivery, JobFilter, LeaseEnd, QueueCounts, Store, StoreError},
};

use crate::support::{RETRY, START, change, on_each_store, review};

#[test]
fn delivery_that_comes_ten_times_is_one_job() {
    on_each_store(|test| async move {
        let delivery = |id: &str| Delivery {
            forge: "github.com".to_owned(),
            id: id.to_owned(),
            event: "pull_request".to_owned(),
        };
        let jobs = [review("o/r", 1, "aaa", 1)];
        let Acceptance::New(first) = test.store.accept(&delivery("d-1"), &jobs).await.unwrap()
        else {
            panic!("new delivery");
        };
        let [Enqueued::Added(id)] = first[..] else { panic!("{first:?}") };
        for _ in 0..9 {
            let again = test.store.accept(&delivery("d-1"), &jobs).await.unwrap();
            assert_eq!(again, Acceptance::AlreadyHandled);
        }
        // Another delivery about the same head finds the job.
        let other = test.store.accept(&delivery("d-2"), &jobs).await.unwrap();
        assert_eq!(other, Acceptance::New(vec![Enqueued::Exists(id)]));
        assert!(test.store.is_handled("github.com", "d-1").await.unwrap());
        assert!(!test.store.is_handled("github.com", "d-3").await.unwrap());
        assert_eq!(test.store.jobs(&list()).await.unwrap().len(), 1);
    });
}

#[test]
fn burst_of_deliveries_is_accepted_even_if_some_requests_are_cancelled() {
    on_each_store(|test| async move {
        let mut requests = tokio::task::JoinSet::new();
        for number in 0..300_u32 {
            let store = test.store.clone();
            let delivery = Delivery {
                forge: "github.com".to_owned(),
                id: (number / 2).to_string(),
                event: "pull_request".to_owned(),
            };
            let task = requests.spawn(async move {
                store.accept(&delivery, &[review("o/r", number / 2, "aaa", 1)]).await.unwrap()
            });
            if number % 40 == 1 {
                // Yields, so that the request may lead a batch when it is cancelled.
                tokio::task::yield_now().await;
                task.abort();
            }
        }
        let mut accepted = 0;
        while let Some(result) = requests.join_next().await {
            accepted += u32::from(result.is_ok_and(|result| result != Acceptance::AlreadyHandled));
        }
        // A cancelled request may have stored its delivery, so its twin was handled already.
        assert!((143..=150).contains(&accepted), "{accepted}");
        assert_eq!(test.store.queue_counts().await.unwrap().waiting, 150);
    });
}

#[test]
fn concurrent_deliveries_of_one_push_make_one_job() {
    on_each_store(|test| async move {
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..40 {
            // Each task has its own connections, as another process would.
            let store = if number % 4 == 0 {
                Store::open_with_clock(&test.url, test.clock.clone()).await.unwrap()
            } else {
                test.store.clone()
            };
            tasks.spawn(async move {
                let head = ["aaa", "bbb"][number % 2];
                store.enqueue(&review("o/r", 1, head, number as i64 % 2)).await.unwrap()
            });
        }
        let results = tasks.join_all().await;
        let added = results.iter().filter(|result| matches!(result, Enqueued::Added(_))).count();
        assert!(added <= 2, "{results:?}");
        let jobs = test.store.jobs(&list()).await.unwrap();
        let waiting: Vec<&str> = jobs
            .iter()
            .filter(|job| job.state == JobState::Waiting)
            .map(|job| job.key.head.as_str())
            .collect();
        assert_eq!(waiting, ["bbb"], "only the newest head waits");
    });
}

#[test]
fn new_push_supersedes_the_waiting_review_only_of_its_pull_request() {
    on_each_store(|test| async move {
        let old = test.add(&review("o/r", 1, "aaa", 1)).await;
        let other = test.add(&review("o/r", 2, "aaa", 1)).await;
        let new = test.add(&review("o/r", 1, "bbb", 2)).await;
        assert_eq!(test.state(old).await, "superseded 0 head bbb is newer");
        assert_eq!(test.state(other).await, "waiting 0");
        assert_eq!(test.state(new).await, "waiting 0");
    });
}

#[test]
fn late_delivery_of_an_old_push_supersedes_nothing() {
    on_each_store(|test| async move {
        let new = test.add(&review("o/r", 1, "bbb", 2)).await;
        let late = test.store.enqueue(&review("o/r", 1, "aaa", 1)).await.unwrap();
        assert_eq!(late, Enqueued::Outdated);
        assert_eq!(test.state(new).await, "waiting 0");
    });
}

#[test]
fn branch_that_goes_back_to_an_unreviewed_head_is_reviewed() {
    on_each_store(|test| async move {
        let first = test.add(&review("o/r", 1, "aaa", 1)).await;
        let second = test.add(&review("o/r", 1, "bbb", 2)).await;
        assert_eq!(test.add(&review("o/r", 1, "aaa", 3)).await, first);
        assert_eq!(test.state(first).await, "waiting 0");
        assert_eq!(test.state(second).await, "superseded 0 head aaa is newer");
    });
}

#[test]
fn reviewed_head_is_reviewed_again_only_if_a_person_asks() {
    on_each_store(|test| async move {
        let id = test.add(&review("o/r", 1, "aaa", 1)).await;
        let claimed = test.claim().await.unwrap();
        test.store.end(&claimed.lease, &LeaseEnd::Done(None), &RETRY).await.unwrap();
        let push = review("o/r", 1, "aaa", 1);
        assert_eq!(test.store.enqueue(&push).await.unwrap(), Enqueued::Exists(id));
        assert_eq!(test.state(id).await, "done 1");
        let command = crh_server::job::NewJob { origin: JobOrigin::Person, ..push };
        assert_eq!(test.store.enqueue(&command).await.unwrap(), Enqueued::Added(id));
        assert_eq!(test.state(id).await, "waiting 0");
    });
}

#[test]
fn person_need_not_wait_for_the_delay_of_a_review() {
    on_each_store(|test| async move {
        let id = test.add(&review("o/r", 1, "aaa", 1)).await;
        let claimed = test.claim().await.unwrap();
        let until = START.plus_ms(86_400_000);
        let deferral = Deferral { until, reason: "the limit is reached".to_owned() };
        test.store.end(&claimed.lease, &LeaseEnd::Deferred(deferral), &RETRY).await.unwrap();
        assert_eq!(test.claim().await, None);
        let push = review("o/r", 1, "aaa", 1);
        assert_eq!(test.store.enqueue(&push).await.unwrap(), Enqueued::Exists(id));
        assert_eq!(test.claim().await, None);
        test.add(&crh_server::job::NewJob { origin: JobOrigin::Person, ..push }).await;
        assert_eq!(test.claim().await.unwrap().job.origin, JobOrigin::Person);
    });
}

#[test]
fn review_stopped_by_closing_runs_again_after_opening() {
    on_each_store(|test| async move {
        let job = test.add(&review("o/r", 1, "aaa", 1)).await;
        test.store.cancel_reviews(&change("o/r", 1), "closed").await.unwrap();
        let opened = test.store.enqueue(&review("o/r", 1, "aaa", 2)).await.unwrap();
        assert_eq!(opened, Enqueued::Added(job));
    });
}

#[test]
fn paused_pull_request_is_reviewed_only_if_a_person_asks() {
    on_each_store(|test| async move {
        let change = change("o/r", 1);
        let waiting = test.add(&review("o/r", 1, "aaa", 1)).await;
        test.store.pause(&change, "ann").await.unwrap();
        assert!(test.store.is_paused(&change).await.unwrap());
        assert_eq!(test.state(waiting).await, "superseded 0 the pull request is paused");
        let push = review("o/r", 1, "bbb", 2);
        assert_eq!(test.store.enqueue(&push).await.unwrap(), Enqueued::Paused);
        let command = crh_server::job::NewJob { origin: JobOrigin::Person, ..push };
        test.add(&command).await;
        test.store.resume(&change, "ann").await.unwrap();
        test.add(&review("o/r", 1, "ccc", 3)).await;
    });
}

#[test]
fn urgent_job_is_taken_before_older_ones() {
    on_each_store(|test| async move {
        let low = crh_server::job::NewJob { priority: Priority::Low, ..review("o/r", 1, "aaa", 1) };
        let high =
            crh_server::job::NewJob { priority: Priority::High, ..review("o/r", 3, "aaa", 1) };
        let low = test.add(&low).await;
        let normal = test.add(&review("o/r", 2, "aaa", 1)).await;
        let high = test.add(&high).await;
        for expected in [high, normal, low] {
            assert_eq!(test.claim().await.unwrap().job.id, expected);
        }
        assert_eq!(test.claim().await, None);
    });
}

#[test]
fn lists_and_counts_show_the_queue() {
    on_each_store(|test| async move {
        for number in 1..=5 {
            test.add(&review("o/r", number, "aaa", 1)).await;
        }
        test.add(&review("o/other", 1, "aaa", 1)).await;
        test.claim().await.unwrap();
        assert_eq!(
            test.store.queue_counts().await.unwrap(),
            QueueCounts { waiting: 5, running: 1, dead: 0, oldest_due: Some(START) }
        );
        let page = test.store.jobs(&JobFilter { limit: 2, ..list() }).await.unwrap();
        let next = JobFilter { before: Some(page[1].id), ..list() };
        assert_eq!((page.len(), test.store.jobs(&next).await.unwrap().len()), (2, 4));
        let repository = Some(("github.com".to_owned(), "o/other".to_owned()));
        let filter = JobFilter { repository, state: Some(JobState::Waiting), ..list() };
        assert_eq!(test.store.jobs(&filter).await.unwrap().len(), 1);
        let missing = test.store.job(crh_server::job::JobId(999)).await.unwrap_err();
        assert!(matches!(missing, StoreError::Missing(_)), "{missing}");
    });
}

fn list() -> JobFilter {
    JobFilter { limit: 100, ..JobFilter::default() }
}
