//! A store per test, on each database that the machine has.

use std::{
    future::Future,
    sync::atomic::{AtomicU32, Ordering},
};

use crh_server::{
    clock::{Clock, UnixMillis},
    job::{
        ChangeId, Enqueued, InstallationId, JobId, JobKey, JobKind, JobOrigin, LeasedJob, NewJob,
        Priority,
    },
    queue::RetryPolicy,
    store::{BudgetLimits, ClaimRequest, DatabaseUrl, Store},
};

/// 2026-11-17 12:00 UTC.
pub(crate) const START: UnixMillis = UnixMillis(1_794_916_800_000);

pub(crate) const LEASE_MS: i64 = 60_000;

pub(crate) const RETRY: RetryPolicy =
    RetryPolicy { max_attempts: 3, first_delay_ms: 10_000, max_delay_ms: 60_000 };

pub(crate) struct TestStore {
    pub(crate) store: Store,
    pub(crate) clock: Clock,
    pub(crate) url: DatabaseUrl,
}

/// Runs a test on SQLite, and on PostgreSQL if there is a server.
pub(crate) fn on_each_store<T: Future<Output = ()>>(test: impl Fn(TestStore) -> T) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let url = DatabaseUrl::Sqlite(folder.path().join("crh test.db"));
        test(open(url).await).await;
        if let Some(url) = postgres_database().await {
            test(open(url).await).await;
        }
    });
}

async fn open(url: DatabaseUrl) -> TestStore {
    let clock = Clock::fixed(START);
    let store = Store::open_with_clock(&url, clock.clone()).await.unwrap();
    TestStore { store, clock, url }
}

/// A new, empty database on the server of `CRH_TEST_POSTGRES`, such as `postgres://user@localhost:5432`.
#[expect(clippy::disallowed_methods, reason = "names a server for tests")]
async fn postgres_database() -> Option<DatabaseUrl> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let server = std::env::var("CRH_TEST_POSTGRES").ok()?;
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("crh_test_{}_{number}", std::process::id());
    sqlx::any::install_default_drivers();
    let pool = sqlx::AnyPool::connect(&format!("{server}/postgres")).await.unwrap();
    sqlx::query(sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}")))
        .execute(&pool)
        .await
        .unwrap();
    pool.close().await;
    Some(DatabaseUrl::parse(&format!("{server}/{name}")).unwrap())
}

pub(crate) fn change(repository: &str, number: u32) -> ChangeId {
    ChangeId {
        forge: "github.com".to_owned(),
        repository: repository.to_owned(),
        number: number.to_string(),
    }
}

pub(crate) fn review(repository: &str, number: u32, head: &str, revision: i64) -> NewJob {
    NewJob {
        key: JobKey {
            change: change(repository, number),
            head: head.to_owned(),
            kind: JobKind::Review,
        },
        installation: InstallationId(7),
        priority: Priority::Normal,
        origin: JobOrigin::Automatic,
        revision,
        payload: serde_json::json!({ "title": "a change" }),
    }
}

impl TestStore {
    pub(crate) async fn add(&self, job: &NewJob) -> JobId {
        match self.store.enqueue(job).await.unwrap() {
            Enqueued::Added(id) => id,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn claim(&self) -> Option<LeasedJob> {
        self.claim_with(&BudgetLimits::default()).await
    }

    pub(crate) async fn claim_with(&self, limits: &BudgetLimits) -> Option<LeasedJob> {
        let request = ClaimRequest { worker: "worker-1", lease_ms: LEASE_MS, retry: RETRY, limits };
        self.store.claim(&request).await.unwrap()
    }

    /// State, attempts and reason of a job.
    pub(crate) async fn state(&self, id: JobId) -> String {
        let job = self.store.job(id).await.unwrap();
        format!("{} {} {}", job.state.name(), job.attempts, job.reason).trim_end().to_owned()
    }
}
