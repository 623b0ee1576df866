//! Pushes, kills and outages, and the checks at the end.

use std::{
    collections::BTreeMap,
    path::Path,
    process::{Child, Command},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use crh_server::{
    job::{ChangeId, InstallationId, JobKey, JobKind, JobOrigin, JobState, NewJob, Priority},
    store::{
        BudgetScope, DatabaseUrl, Delivery, Installation, InstalledRepository, JobFilter, Store,
    },
};
use rustix::process::{Pid, Signal, kill_process};
use tokio::time::sleep;

use crate::{
    ADDRESS, ChaosPlan, DATABASE, Dice, LIMIT, ROLE, STATE, WORKER,
    services::{PullState, Services, start},
    worker_process::FORGE,
};

const WORKERS: usize = 4;
const INSTALLATION: InstallationId = InstallationId(7);
const GREEDY: &str = "acme/greedy";

/// What happened, for the summary.
#[derive(Debug, Default)]
struct Counts {
    pushes: usize,
    deliveries_lost: usize,
    kills: usize,
    freezes: usize,
    outages: usize,
}

struct Scene<'a> {
    plan: &'a ChaosPlan,
    services: Arc<Mutex<Services>>,
    store: Store,
    database: String,
    address: String,
    folder: &'a Path,
    dice: Dice,
    workers: Vec<Child>,
    counts: Counts,
    started: Instant,
}

/// Runs the test and returns what went wrong.
pub(crate) async fn run(plan: &ChaosPlan) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let database = database(plan, folder.path()).await;
    let services = Arc::new(Mutex::new(Services::default()));
    let address = start(services.clone(), plan.seed);
    let store = Store::open(&DatabaseUrl::parse(&database).unwrap()).await.unwrap();
    let mut scene = Scene {
        plan,
        services,
        store,
        database,
        address,
        folder: folder.path(),
        dice: Dice::new(plan.seed),
        workers: Vec::new(),
        counts: Counts::default(),
        started: Instant::now(),
    };
    scene.open_pulls().await;
    for index in 0..WORKERS {
        let worker = scene.start_worker(index);
        scene.workers.push(worker);
    }
    scene.make_trouble().await;
    let idle = scene.wait_until_idle().await;
    scene.stop_workers();
    let mut failures = scene.check().await;
    if !idle {
        failures.push(format!("not idle after {:?}", plan.bound));
    }
    scene.print(&failures).await;
    failures
}

async fn database(plan: &ChaosPlan, folder: &Path) -> String {
    let Some(server) = &plan.postgres else {
        return format!("sqlite:{}", folder.join("crh.db").display());
    };
    let name = format!("crh_chaos_{}", std::process::id());
    sqlx::any::install_default_drivers();
    let pool = sqlx::AnyPool::connect(&format!("{server}/postgres")).await.unwrap();
    let create = sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}"));
    sqlx::query(create).execute(&pool).await.unwrap();
    pool.close().await;
    format!("{server}/{name}")
}

impl Scene<'_> {
    async fn open_pulls(&mut self) {
        let mut repositories = Vec::new();
        for number in 1..=self.plan.pulls {
            let greedy = number <= self.plan.greedy_pulls;
            let repository = if greedy { GREEDY.to_owned() } else { format!("acme/r{number}") };
            if !greedy || number == 1 {
                let settings = String::new();
                let name = repository.clone();
                repositories.push(InstalledRepository { name, private: false, settings });
            }
            let pull = PullState { number, repository, head: String::new(), revision: 0 };
            self.services.lock().unwrap().pulls.insert(number, pull);
        }
        let installation = Installation {
            forge: FORGE.to_owned(),
            id: INSTALLATION,
            account: "acme".to_owned(),
            suspended: false,
            created_at: self.store.now(),
        };
        self.store.save_installation(&installation).await.unwrap();
        self.store.change_repositories(FORGE, INSTALLATION, &repositories, &[]).await.unwrap();
    }

    fn start_worker(&self, index: usize) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .env_clear()
            .env(ROLE, "worker")
            .env(ADDRESS, &self.address)
            .env(WORKER, format!("worker-{index}"))
            .env(DATABASE, &self.database)
            .env(STATE, self.folder.join(format!("machine-{index}")))
            .env(LIMIT, self.plan.limit.to_string())
            .spawn()
            .unwrap()
    }

    /// Pushes all heads, with kills and two outages in between.
    async fn make_trouble(&mut self) {
        // Two fifths of the pull requests get a second push, and some of them a third one.
        let mut pushes: Vec<usize> = (1..=self.plan.pulls).collect();
        for number in 1..=self.plan.pulls {
            for _ in 0..2 {
                if self.dice.roll(5) < 2 {
                    pushes.push(number);
                }
            }
        }
        let total = pushes.len();
        let pause =
            (self.plan.bound / 3 / u32::try_from(total).unwrap()).min(Duration::from_millis(150));
        let mut kills_due = 0;
        for (index, number) in pushes.into_iter().enumerate() {
            self.push(number).await;
            if index == total / 3 || index == total * 2 / 3 {
                self.interrupt_database().await;
            }
            while kills_due < self.plan.kills * (index + 1) / total {
                kills_due += 1;
                self.kill_worker();
                if self.dice.roll(4) == 0 {
                    self.freeze_worker();
                }
            }
            sleep(pause).await;
        }
    }

    /// A push and its delivery. One in fifty is never delivered, one in ten twice.
    async fn push(&mut self, number: usize) {
        self.counts.pushes += 1;
        let pull = {
            let mut services = self.services.lock().unwrap();
            let pull = services.pulls.get_mut(&number).unwrap();
            pull.revision += 1;
            pull.head = format!("{number:05}-{}", pull.revision);
            pull.clone()
        };
        let roll = self.dice.roll(50);
        if roll == 0 {
            self.counts.deliveries_lost += 1;
            return;
        }
        let delivery = Delivery {
            forge: FORGE.to_owned(),
            id: pull.head.clone(),
            event: "pull_request".to_owned(),
        };
        let job = review_job(&pull);
        for _ in 0..if roll <= 5 { 2 } else { 1 } {
            // The forge sends a delivery again if the server did not accept it.
            while self.store.accept(&delivery, std::slice::from_ref(&job)).await.is_err() {
                sleep(Duration::from_millis(100)).await;
            }
        }
    }

    fn kill_worker(&mut self) {
        let index = usize::try_from(self.dice.roll(WORKERS as u64)).unwrap();
        self.counts.kills += 1;
        self.workers[index].kill().unwrap();
        self.workers[index].wait().unwrap();
        self.workers[index] = self.start_worker(index);
    }

    /// Freezes a worker for longer than its leases. Its children go on, and others take its jobs.
    fn freeze_worker(&mut self) {
        let index = usize::try_from(self.dice.roll(WORKERS as u64)).unwrap();
        self.counts.freezes += 1;
        let pid = process_id(&self.workers[index]);
        kill_process(pid, Signal::STOP).unwrap();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs(5));
            // The test may have killed it meanwhile.
            let _: Result<(), _> = kill_process(pid, Signal::CONT);
        });
    }

    /// PostgreSQL crashes and is back after two seconds. SQLite is locked for as long.
    async fn interrupt_database(&mut self) {
        self.counts.outages += 1;
        if let (Some(_), Some(restart)) = (&self.plan.postgres, &self.plan.restart) {
            let restart = restart.clone();
            let restarted = move || Command::new(restart).arg("2").status().unwrap().success();
            assert!(tokio::task::spawn_blocking(restarted).await.unwrap());
            return;
        }
        let url = self.database.replace("sqlite:", "sqlite://");
        let pool = sqlx::AnyPool::connect(&url).await.unwrap();
        let mut connection = pool.acquire().await.unwrap();
        sqlx::query("BEGIN EXCLUSIVE").execute(&mut *connection).await.unwrap();
        sleep(Duration::from_secs(2)).await;
        sqlx::query("ROLLBACK").execute(&mut *connection).await.unwrap();
        drop(connection);
        pool.close().await;
    }

    /// A reconciliation finds the lost deliveries. Then waits until only jobs over the limit are left.
    async fn wait_until_idle(&self) -> bool {
        let mut repositories: Vec<PullState> =
            self.services.lock().unwrap().pulls.values().cloned().collect();
        repositories.dedup_by(|one, other| one.repository == other.repository);
        for pull in &repositories {
            let mut reconcile = review_job(pull);
            reconcile.key.change.number = String::new();
            reconcile.key.kind = JobKind::Reconcile;
            reconcile.key.head = "last".to_owned();
            while self.store.enqueue(&reconcile).await.is_err() {
                sleep(Duration::from_millis(100)).await;
            }
        }
        while self.started.elapsed() < self.plan.bound {
            if self.is_idle().await == Some(true) {
                return true;
            }
            sleep(Duration::from_millis(300)).await;
        }
        false
    }

    async fn is_idle(&self) -> Option<bool> {
        let filter = |state| JobFilter { state: Some(state), limit: 500, ..JobFilter::default() };
        let running = self.store.jobs(&filter(JobState::Running)).await.ok()?;
        let waiting = self.store.jobs(&filter(JobState::Waiting)).await.ok()?;
        let soon = self.store.now().plus_ms(600_000);
        Some(
            running.is_empty()
                && waiting.iter().all(|job| is_over_limit(&job.reason) && job.run_at > soon),
        )
    }

    fn stop_workers(&mut self) {
        for worker in &self.workers {
            kill_process(process_id(worker), Signal::TERM).unwrap();
        }
        for worker in &mut self.workers {
            worker.wait().unwrap();
        }
    }

    async fn check(&self) -> Vec<String> {
        let mut failures = Vec::new();
        let (pulls, reviews, cost) = {
            let services = self.services.lock().unwrap();
            (services.pulls.clone(), services.reviews.clone(), services.cost.clone())
        };
        for pull in pulls.values() {
            let mut posted: BTreeMap<&str, usize> = BTreeMap::new();
            for head in reviews.get(&pull.number).into_iter().flatten() {
                *posted.entry(head).or_default() += 1;
            }
            let newest = posted.remove(pull.head.as_str()).unwrap_or_default();
            if newest > 1 || (newest == 0 && pull.repository != GREEDY) {
                failures.push(format!("{newest} reviews of the newest head {}", pull.head));
            }
            for (head, count) in posted.into_iter().filter(|(_, count)| *count > 1) {
                failures.push(format!("{count} reviews of the superseded head {head}"));
            }
        }
        for repository in
            pulls.values().map(|pull| &pull.repository).collect::<std::collections::BTreeSet<_>>()
        {
            let scope = BudgetScope {
                forge: FORGE.to_owned(),
                installation: INSTALLATION,
                repository: repository.clone(),
            };
            let spending = self.store.spending(&scope).await.unwrap();
            let real = cost.get(repository).copied().unwrap_or_default();
            if real > spending.month.0 || spending.today.0 > self.plan.limit {
                failures.push(format!("{repository} spent {real}, the store says {spending:?}"));
            }
        }
        let counts = self.store.queue_counts().await.unwrap();
        if counts.running > 0 {
            failures.push(format!("{} leases are left", counts.running));
        }
        if counts.dead > 0 {
            failures.push(format!("{} dead jobs", counts.dead));
        }
        failures
    }

    async fn print(&self, failures: &[String]) {
        let (requests, faults, posted, newest, greedy, cost) = {
            let services = self.services.lock().unwrap();
            let posted: usize = services.reviews.values().map(Vec::len).sum();
            let reviewed = |pull: &&PullState| {
                services.reviews.get(&pull.number).is_some_and(|heads| heads.contains(&pull.head))
            };
            let newest = services.pulls.values().filter(reviewed).count();
            let greedy = services.cost.get(GREEDY).copied().unwrap_or_default();
            let cost: i64 = services.cost.values().sum();
            (services.requests, services.faults, posted, newest, greedy, cost)
        };
        let spent = self.store.installation_spending(FORGE, INSTALLATION).await.unwrap();
        let over = self
            .store
            .jobs(&JobFilter { state: Some(JobState::Waiting), limit: 500, ..JobFilter::default() })
            .await
            .unwrap()
            .len();
        let Counts { pushes, deliveries_lost, kills, freezes, outages } = self.counts;
        println!(
            "chaos on {} (seed {}): {} pull requests, {pushes} heads, {deliveries_lost} deliveries lost, {kills} workers \
             killed and {freezes} frozen, {outages} outages of the database, {faults} of {requests} requests failed\n  \
             {posted} reviews posted, {newest} of them of newest heads, {over} jobs wait for the limit of one repository \
             ({:.2} of {:.2} USD)\n  \
             models cost {:.2} USD, the store counts {:.2} USD; {} failures, {:.0} s",
            if self.plan.postgres.is_some() { "PostgreSQL" } else { "SQLite" },
            self.plan.seed,
            self.plan.pulls,
            greedy as f64 / 1e6,
            self.plan.limit as f64 / 1e6,
            cost as f64 / 1e6,
            spent.month.as_usd(),
            failures.len(),
            self.started.elapsed().as_secs_f64(),
        );
    }
}

fn process_id(worker: &Child) -> Pid {
    Pid::from_raw(i32::try_from(worker.id()).unwrap()).unwrap()
}

fn is_over_limit(reason: &str) -> bool {
    reason.starts_with("the limit of ")
}

fn review_job(pull: &PullState) -> NewJob {
    NewJob {
        key: JobKey {
            change: ChangeId {
                forge: FORGE.to_owned(),
                repository: pull.repository.clone(),
                number: pull.number.to_string(),
            },
            head: pull.head.clone(),
            kind: JobKind::Review,
        },
        installation: INSTALLATION,
        priority: Priority::Normal,
        origin: JobOrigin::Automatic,
        revision: pull.revision,
        payload: serde_json::Value::Null,
    }
}
