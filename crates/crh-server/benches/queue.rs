//! Cost of the queue: one job relative to one bare insert and update, growth with the number of
//! waiting jobs, and a burst of deliveries. On SQLite, and on PostgreSQL if `CRH_TEST_POSTGRES`
//! names a server.
//!
//! `scripts/with-postgres cargo bench -p crh-server --bench queue` prints one line per measure and
//! fails if a limit is exceeded.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a benchmark prints what it measured and must fail if it cannot set itself up"
)]

use std::{
    path::Path,
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use crh_server::{
    job::{ChangeId, InstallationId, JobKey, JobKind, JobOrigin, NewJob, Priority},
    queue::RetryPolicy,
    store::{
        Acceptance, BudgetLimits, ClaimRequest, DatabaseUrl, Delivery, LeaseEnd, ScopeLimits, Store,
    },
};
use crh_testkit::measure::is_within;
use sqlx::AnyPool;

/// Rounds of each measure. The median counts.
const ROUNDS: usize = 150;

/// Cost of a job relative to the bare work. A job takes three transactions: delivery, claim and
/// end. The bare work takes two.
const COST_LIMIT: f64 = 4.0;

/// Growth of the cost of a job from 100 to 100,000 waiting jobs.
const GROWTH_LIMIT: f64 = 1.5;

const BURST: usize = 2_000;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let held = runtime.block_on(async {
        let mut held = measure("SQLite", &Databases::Sqlite(folder.path())).await;
        if let Ok(server) = std::env::var("CRH_TEST_POSTGRES") {
            held &= measure("PostgreSQL", &Databases::Postgres(&server)).await;
        }
        held
    });
    if held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Where new databases are made.
enum Databases<'a> {
    Sqlite(&'a Path),
    Postgres(&'a str),
}

impl Databases<'_> {
    async fn create(&self, name: &str) -> (Store, AnyPool) {
        sqlx::any::install_default_drivers();
        let (text, url) = match self {
            Self::Sqlite(folder) => {
                let file = folder.join(name).display().to_string();
                (format!("sqlite:{file}"), format!("sqlite://{file}"))
            }
            Self::Postgres(server) => {
                let name = format!("crh_bench_{}_{name}", std::process::id());
                let pool = AnyPool::connect(&format!("{server}/postgres")).await.unwrap();
                let create = sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}"));
                sqlx::query(create).execute(&pool).await.unwrap();
                (format!("{server}/{name}"), format!("{server}/{name}"))
            }
        };
        let store = Store::open(&DatabaseUrl::parse(&text).unwrap()).await.unwrap();
        let pool = sqlx::any::AnyPoolOptions::new().max_connections(1).connect(&url).await.unwrap();
        if matches!(self, Self::Sqlite(_)) {
            sqlx::query("PRAGMA synchronous = FULL").execute(&pool).await.unwrap();
        }
        (store, pool)
    }
}

async fn measure(name: &str, databases: &Databases<'_>) -> bool {
    let (few, bare) = databases.create("few").await;
    let (many, many_pool) = databases.create("many").await;
    sqlx::query("CREATE TABLE bare (id BIGINT, state TEXT)").execute(&bare).await.unwrap();
    fill(&bare, 100, "o/waiting").await;
    fill(&many_pool, 100_000, "o/waiting").await;
    // Rounds alternate, so that other work on the machine slows all of them down.
    let mut times = [const { Vec::new() }; 3];
    for round in 0..ROUNDS {
        times[0].push(timed(bare_round(&bare, round)).await);
        times[1].push(timed(job_round(&few, round)).await);
        times[2].push(timed(job_round(&many, round)).await);
    }
    let [bare_time, few_time, many_time] = times.map(median);
    let ratio = |one: Duration, other: Duration| one.as_secs_f64() / other.as_secs_f64();
    let cost = is_within(
        &format!("{name}: a job / a bare insert and update"),
        ratio(few_time, bare_time),
        COST_LIMIT,
        &format!("{few_time:.2?} / {bare_time:.2?}"),
    );
    let growth = is_within(
        &format!("{name}: a job with 100,000 / 100 waiting jobs"),
        ratio(many_time, few_time),
        GROWTH_LIMIT,
        &format!("{many_time:.2?} / {few_time:.2?}"),
    );
    println!(
        "     {name}: a claim past 100,000 waiting jobs of a repository that is at its limit takes {:.2?}",
        blocked_claim(&many).await
    );
    burst(name, &few).await;
    cost && growth
}

/// Adds waiting jobs that are due, each of its own pull request.
async fn fill(pool: &AnyPool, count: i64, repository: &str) {
    sqlx::query(
        "INSERT INTO jobs (forge, repository, change_id, head, kind, installation, priority, payload, revision, state, \
         reason, attempts, run_at, created_at, changed_at, owner, token, lease_until, stop, step, origin) \
         WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < $1) \
         SELECT 'github.com', $2, CAST(n AS TEXT), 'head', 'review', 7, 1, 'null', 1, 'waiting', '', 0, n, n, n, '', 0, 0, \
         '', '', 'automatic' FROM numbers",
    )
    .bind(count)
    .bind(repository)
    .execute(pool)
    .await
    .unwrap();
    sqlx::query("ANALYZE").execute(pool).await.unwrap();
}

async fn bare_round(pool: &AnyPool, round: usize) {
    let round = round as i64;
    sqlx::query("INSERT INTO bare (id, state) VALUES ($1, 'waiting')")
        .bind(round)
        .execute(pool)
        .await
        .unwrap();
    sqlx::query("UPDATE bare SET state = 'done' WHERE id = $1")
        .bind(round)
        .execute(pool)
        .await
        .unwrap();
}

/// A delivery with its job, a claim, and the end of the attempt.
async fn job_round(store: &Store, round: usize) {
    accept(store, "o/new", round).await;
    let claimed = claim(store, &BudgetLimits::default()).await.unwrap();
    store.end(&claimed.lease, &LeaseEnd::Done(None), &RetryPolicy::default()).await.unwrap();
}

async fn accept(store: &Store, repository: &str, number: usize) {
    let delivery = Delivery {
        forge: "github.com".to_owned(),
        id: format!("{repository}-{number}"),
        event: "pull_request".to_owned(),
    };
    let job = NewJob {
        key: JobKey {
            change: ChangeId {
                forge: "github.com".to_owned(),
                repository: repository.to_owned(),
                number: number.to_string(),
            },
            head: "head".to_owned(),
            kind: JobKind::Review,
        },
        installation: InstallationId(7),
        priority: Priority::Normal,
        origin: JobOrigin::Automatic,
        revision: 1,
        payload: serde_json::Value::Null,
    };
    assert!(matches!(store.accept(&delivery, &[job]).await.unwrap(), Acceptance::New(_)));
}

async fn claim(store: &Store, limits: &BudgetLimits) -> Option<crh_server::job::LeasedJob> {
    let retry = RetryPolicy::default();
    let request = ClaimRequest { worker: "bench", lease_ms: 60_000, retry, limits };
    store.claim(&request).await.unwrap()
}

/// Time of a claim that has to pass all waiting jobs of a repository that is at its limit.
async fn blocked_claim(store: &Store) -> Duration {
    let limits = BudgetLimits {
        repository: ScopeLimits { concurrent_reviews: Some(1), ..ScopeLimits::default() },
        ..BudgetLimits::default()
    };
    let running = claim(store, &limits).await.unwrap();
    let mut times = Vec::new();
    for round in 0..10 {
        let start = Instant::now();
        let claimed = claim(store, &limits).await.unwrap();
        times.push(start.elapsed());
        assert_eq!(claimed.job.key.change.repository, "o/new", "round {round}");
        store.end(&claimed.lease, &LeaseEnd::Done(None), &RetryPolicy::default()).await.unwrap();
    }
    store.end(&running.lease, &LeaseEnd::Done(None), &RetryPolicy::default()).await.unwrap();
    median(times)
}

/// Deliveries that all come at once, while four workers take jobs.
async fn burst(name: &str, store: &Store) {
    let start = Instant::now();
    let done = Arc::new(tokio::sync::Semaphore::new(0));
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let (store, done) = (store.clone(), done.clone());
        workers.spawn(async move {
            let mut jobs = 0_u32;
            while done.available_permits() == 0 {
                if let Some(claimed) = claim(&store, &BudgetLimits::default()).await {
                    let end = LeaseEnd::Done(None);
                    store.end(&claimed.lease, &end, &RetryPolicy::default()).await.unwrap();
                    jobs += 1;
                }
            }
            jobs
        });
    }
    let mut senders = tokio::task::JoinSet::new();
    for number in 0..BURST {
        let store = store.clone();
        senders.spawn(async move { timed(accept(&store, "o/burst", number)).await });
    }
    let mut times: Vec<Duration> = senders.join_all().await;
    let elapsed = start.elapsed();
    done.add_permits(1);
    let jobs: u32 = workers.join_all().await.into_iter().sum();
    times.sort();
    let percentile = |part: usize| times[(times.len() - 1) * part / 100];
    println!(
        "     {name}: {} deliveries at once, all accepted in {elapsed:.1?} while {jobs} jobs ran: p50 {:.0?}, p95 {:.0?}, \
         p99 {:.0?}, longest {:.0?}",
        times.len(),
        percentile(50),
        percentile(95),
        percentile(99),
        percentile(100),
    );
}

async fn timed(work: impl Future<Output = ()>) -> Duration {
    let start = Instant::now();
    work.await;
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
