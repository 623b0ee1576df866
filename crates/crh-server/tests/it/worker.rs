//! A worker with a shell script in the place of `crh`.

use std::{
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use crh_server::{
    clock::Clock,
    forge_access::{CheckNotice, ForgeAccess, ForgeFailure, OpenChange},
    job::{
        AttemptFailure, ChangeId, InstallationId, Job, JobId, JobKey, JobKind, JobOrigin, JobState,
        NewJob,
    },
    queue::{Authorship, RetryPolicy},
    store::{
        DatabaseUrl, Installation, InstalledRepository, JobFilter, MicroUsd, NewDismissal,
        ReviewFilter, Store,
    },
    worker::{Attempt, CommentJobs, StopReason, StopSignal, Worker, WorkerSettings},
};
use secrecy::SecretString;
use tempfile::TempDir;

use crate::support::{change, review};

/// Plays `crh`: logs each call, stores a run like `crh review`, and then runs the file `STEP.sh` of the state folder.
const SCRIPT: &str = r#"#!/bin/sh
state="${0%/*}"
step=$1
[ -n "$step" ] || exit 0
echo "$step $(env | grep -oE '^(GITHUB_TOKEN|ANTHROPIC_API_KEY)=' | tr -d '\n')" >> "$state/log"
case $step in
prepare) touch unfinished.tar ;;
review)
    run=runs/20261117T120000Z_$$
    mkdir -p $run/stages
    echo '{"completed_at": "now"}' > $run/metadata.json
    echo '{"status": "ok", "verdict": "Not ready", "issues": [{}, {}],
           "stats": {"cost_usd": 0.25, "tokens_used": {"in": 10, "out": 5}}}' > $run/review.json ;;
esac
if [ -e "$state/$step.sh" ]; then . "$state/$step.sh"; fi
"#;

/// The script as a file. A file that another thread's new process still has open for writing cannot be executed, so
/// all tests share one file that was executed once.
fn script_file() -> &'static Path {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    FILE.get_or_init(|| {
        let name = format!("server-worker-{}.sh", std::process::id());
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::write(&file, SCRIPT).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
        #[expect(clippy::disallowed_methods, reason = "runs the script of this test")]
        while std::process::Command::new(&file).env_clear().status().is_err() {
            std::thread::sleep(Duration::from_millis(5));
        }
        file
    })
}

/// A forge in memory.
#[derive(Clone, Default)]
struct MemoryForge {
    open: Arc<Mutex<Vec<OpenChange>>>,
    notices: Arc<Mutex<Vec<String>>>,
}

impl ForgeAccess for MemoryForge {
    async fn token(
        &self,
        _: &str,
        _: InstallationId,
        _: &str,
    ) -> Result<SecretString, ForgeFailure> {
        Ok("token".to_owned().into())
    }

    async fn open_change(
        &self,
        _: InstallationId,
        change: &ChangeId,
    ) -> Result<Option<OpenChange>, ForgeFailure> {
        let open = self.open.lock().unwrap();
        Ok(open.iter().find(|open| open.change == *change).cloned())
    }

    async fn open_changes(
        &self,
        _: &str,
        _: InstallationId,
        repository: &str,
    ) -> Result<Vec<OpenChange>, ForgeFailure> {
        if repository == "o/deleted" {
            return Err(ForgeFailure::Gone("o/deleted".to_owned()));
        }
        let open = self.open.lock().unwrap();
        Ok(open.iter().filter(|open| open.change.repository == repository).cloned().collect())
    }

    async fn may_write(
        &self,
        _: &str,
        _: InstallationId,
        _: &str,
        _: &str,
    ) -> Result<bool, ForgeFailure> {
        Ok(true)
    }

    async fn report_check(
        &self,
        _: InstallationId,
        _: &ChangeId,
        head: &str,
        notice: &CheckNotice,
    ) -> Result<(), ForgeFailure> {
        self.notices.lock().unwrap().push(format!("{head}: {}", notice.summary));
        Ok(())
    }
}

/// Comments are not part of these tests.
struct NoComments;

impl CommentJobs for NoComments {
    async fn handle(&self, _: &Attempt<'_>) -> Result<(), AttemptFailure> {
        Ok(())
    }
}

struct Scene {
    folder: TempDir,
    store: Store,
    forge: MemoryForge,
    settings: WorkerSettings,
}

impl Scene {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("crh");
        std::os::unix::fs::symlink(script_file(), &program).unwrap();
        let url = DatabaseUrl::Sqlite(folder.path().join("crh.db"));
        let store = Store::open_with_clock(&url, Clock::system()).await.unwrap();
        let mut settings = WorkerSettings::new("w1", program, folder.path().to_owned());
        settings.poll = Duration::from_millis(20);
        settings.lease = Duration::from_millis(900);
        settings.shutdown = Duration::from_millis(100);
        settings.retry = RetryPolicy { max_attempts: 2, first_delay_ms: 0, max_delay_ms: 0 };
        settings.environment = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
        settings.model_environment =
            vec![("ANTHROPIC_API_KEY".to_owned(), "key".to_owned().into())];
        Self { folder, store, forge: MemoryForge::default(), settings }
    }

    /// Code that the script runs in a step.
    fn script(&self, step: &str, code: &str) {
        std::fs::write(self.folder.path().join(format!("{step}.sh")), code).unwrap();
    }

    fn open(&self, number: u32, head: &str, authorship: Authorship) {
        let mut open = self.forge.open.lock().unwrap();
        let change = change("o/r", number);
        open.retain(|known| known.change != change);
        open.push(OpenChange {
            change,
            head: head.to_owned(),
            revision: 5,
            authorship,
            labelled: false,
            draft: false,
        });
    }

    async fn add(&self, job: &NewJob) -> JobId {
        match self.store.enqueue(job).await.unwrap() {
            crh_server::job::Enqueued::Added(id) => id,
            other => panic!("{other:?}"),
        }
    }

    fn start(&self) -> (StopSignal, tokio::task::JoinHandle<()>) {
        let shutdown = StopSignal::default();
        let (store, settings) = (self.store.clone(), self.settings.clone());
        let worker = Worker::new(store, settings, self.forge.clone(), NoComments);
        (shutdown.clone(), tokio::spawn(worker.run(shutdown)))
    }

    /// Runs a worker until a job is in a state.
    async fn run_until(&self, job: JobId, state: JobState) -> String {
        let (shutdown, worker) = self.start();
        self.wait(job, state).await;
        shutdown.stop(StopReason::Shutdown);
        worker.await.unwrap();
        self.state(job).await
    }

    async fn wait(&self, job: JobId, state: JobState) {
        let reached = async {
            while self.store.job(job).await.unwrap().state != state {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        if tokio::time::timeout(Duration::from_secs(60), reached).await.is_err() {
            panic!("job is {}\n{}", self.state(job).await, self.log());
        }
    }

    async fn wait_for_log(&self, line: &str) {
        let reached = async {
            while !self.log().contains(line) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), reached).await.unwrap();
    }

    async fn state(&self, job: JobId) -> String {
        let job = self.store.job(job).await.unwrap();
        format!("{} {} {}", job.state.name(), job.attempts, job.reason).trim_end().to_owned()
    }

    fn log(&self) -> String {
        read(&self.folder.path().join("log"))
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn on_runtime(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(test);
}

#[test]
fn review_runs_three_children_and_stores_the_result() {
    on_runtime(async {
        let scene = Scene::new().await;
        let id = scene.add(&review("o/r", 1, "aaa", 1)).await;
        assert_eq!(scene.run_until(id, JobState::Done).await, "done 1");
        assert_eq!(
            scene.log(),
            "prepare GITHUB_TOKEN=\nreview ANTHROPIC_API_KEY=\npost GITHUB_TOKEN=\n"
        );
        let filter = ReviewFilter { limit: 9, ..ReviewFilter::default() };
        let reviews = scene.store.reviews(&filter).await.unwrap();
        let stored = &reviews[0];
        assert_eq!(
            (stored.verdict.as_str(), stored.issues_shown, stored.cost, stored.tokens),
            ("Not ready", 2, MicroUsd(250_000), 15)
        );
        let folder = format!("installations/github_com/7/jobs/{id}/runs/20261117T120000Z_");
        assert!(stored.folder.starts_with(&folder), "{}", stored.folder);
        let spending =
            scene.store.installation_spending("github.com", InstallationId(7)).await.unwrap();
        assert_eq!(spending.today, MicroUsd(250_000));
        assert_eq!(scene.store.audit(9).await.unwrap().len(), 1);
        assert_eq!(scene.store.workers().await.unwrap(), []);

        // A person asks again: a new run, not the old one.
        std::fs::remove_file(scene.folder.path().join("log")).unwrap();
        scene.add(&NewJob { origin: JobOrigin::Person, ..review("o/r", 1, "aaa", 1) }).await;
        scene.run_until(id, JobState::Done).await;
        assert!(scene.log().contains("review"), "{}", scene.log());
    });
}

#[test]
fn failed_post_is_repeated_without_a_second_review() {
    on_runtime(async {
        let scene = Scene::new().await;
        scene.open(1, "aaa", Authorship::Trusted);
        scene.script(
            "post",
            "[ -e tried ] || { touch tried; echo 'error: GitHub is down' >&2; exit 3; }",
        );
        let id = scene.add(&review("o/r", 1, "aaa", 1)).await;
        assert_eq!(scene.run_until(id, JobState::Done).await, "done 2");
        let steps: Vec<String> =
            scene.log().lines().map(|line| line.split(' ').next().unwrap().to_owned()).collect();
        assert_eq!(steps, ["prepare", "review", "post", "post"]);
    });
}

#[test]
fn exit_codes_of_children_decide_what_happens_to_the_job() {
    on_runtime(async {
        for (step, code, state, expected) in [
            (
                "prepare",
                "echo 'error: bad setting' >&2; exit 2",
                JobState::Dead,
                "dead 1 prepare: bad setting",
            ),
            ("prepare", "echo 'a draft' >&2; exit 4", JobState::Skipped, "skipped 1 a draft"),
            ("review", "rm -r runs/*; exit 3", JobState::Dead, "dead 2 review: exit code 3"),
            (
                "review",
                "rm -r runs/*; kill -9 $$",
                JobState::Dead,
                "dead 2 review: a signal ended the process",
            ),
            ("review", "rm -r runs/*", JobState::Dead, "dead 2 review: crh stored no report"),
            ("post", "sleep 60", JobState::Dead, "dead 2 post: the time limit is reached"),
        ] {
            let mut scene = Scene::new().await;
            scene.settings.timeouts.post = Duration::from_millis(300);
            scene.open(1, "aaa", Authorship::Trusted);
            scene.script(step, code);
            let id = scene.add(&review("o/r", 1, "aaa", 1)).await;
            assert_eq!(scene.run_until(id, state).await, expected);
            // The pull request says that there is no review, and not why.
            let notices = scene.forge.notices.lock().unwrap().clone();
            let is_told = notices.len() == 1
                && notices[0].starts_with("aaa: crh could not review this commit.")
                && !notices[0].contains("post");
            assert_eq!(is_told, state == JobState::Dead, "{notices:?}");
        }
    });
}

#[test]
fn program_that_is_missing_is_named_in_the_reason() {
    on_runtime(async {
        let mut scene = Scene::new().await;
        scene.settings.program = PathBuf::from("/nowhere/crh");
        scene.open(1, "aaa", Authorship::Trusted);
        let id = scene.add(&review("o/r", 1, "aaa", 1)).await;
        let state = scene.run_until(id, JobState::Dead).await;
        assert!(state.starts_with("dead 2 prepare: cannot start `/nowhere/crh`"), "{state}");
    });
}

#[test]
fn moved_head_is_followed_and_closed_pull_request_is_skipped() {
    on_runtime(async {
        let scene = Scene::new().await;
        scene.open(1, "bbb", Authorship::Trusted);
        scene.script("prepare", "case $* in *bbb*) ;; *) exit 3 ;; esac");
        let old = scene.add(&review("o/r", 1, "aaa", 1)).await;
        let closed = scene.add(&review("o/r", 2, "aaa", 1)).await;
        let (shutdown, worker) = scene.start();
        scene.wait(old, JobState::Superseded).await;
        scene.wait(closed, JobState::Skipped).await;
        let newest =
            scene.store.jobs(&JobFilter { limit: 9, ..JobFilter::default() }).await.unwrap();
        let new = newest.iter().find(|job| job.key.head == "bbb").unwrap().id;
        scene.wait(new, JobState::Done).await;
        shutdown.stop(StopReason::Shutdown);
        worker.await.unwrap();
        assert_eq!(scene.state(closed).await, "skipped 1 the pull request is closed");
    });
}

#[test]
fn new_push_stops_the_running_children() {
    on_runtime(async {
        let scene = Scene::new().await;
        scene.script("review", "[ -e ../first ] || { touch ../first; echo $$ > pid; sleep 300; }");
        let old = scene.add(&review("o/r", 1, "aaa", 1)).await;
        let (shutdown, worker) = scene.start();
        scene.wait_for_log("review").await;
        let new = scene.add(&review("o/r", 1, "bbb", 2)).await;
        scene.wait(old, JobState::Superseded).await;
        scene.wait(new, JobState::Done).await;
        shutdown.stop(StopReason::Shutdown);
        worker.await.unwrap();
        let pid =
            read(&scene.folder.path().join(format!("installations/github_com/7/jobs/{old}/pid")));
        assert!(!pid.is_empty() && !Path::new(&format!("/proc/{}", pid.trim())).exists());
        assert_eq!(scene.log().matches("post").count(), 1);
    });
}

#[test]
fn shutdown_gives_the_running_job_back() {
    on_runtime(async {
        let scene = Scene::new().await;
        scene.script("review", "sleep 300");
        let id = scene.add(&review("o/r", 1, "aaa", 1)).await;
        let (shutdown, worker) = scene.start();
        scene.wait_for_log("review").await;
        shutdown.stop(StopReason::Shutdown);
        worker.await.unwrap();
        assert_eq!(scene.state(id).await, "waiting 0 the worker shut down");
    });
}

#[test]
fn review_over_the_limit_waits_and_says_so_at_the_commit() {
    on_runtime(async {
        let mut scene = Scene::new().await;
        scene.settings.limits.repository.usd_per_day = Some(MicroUsd(1_000_000));
        let id = scene.add(&review("o/r", 1, "aaa", 1)).await;
        let (shutdown, worker) = scene.start();
        let refused = async {
            while scene.forge.notices.lock().unwrap().is_empty() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), refused).await.unwrap();
        scene.wait(id, JobState::Waiting).await;
        shutdown.stop(StopReason::Shutdown);
        worker.await.unwrap();
        let notices = scene.forge.notices.lock().unwrap().clone();
        assert_eq!(notices.len(), 1, "{notices:?}");
        assert!(notices[0].starts_with(
            "aaa: crh reviews this commit later: the limit of repository o/r is 1.00 USD per day"
        ));
        let job = scene.store.job(id).await.unwrap();
        assert_eq!((job.attempts, job.run_at.day()), (0, scene.store.now().day() + 1));
        assert_eq!(scene.log(), "", "no child ran");
    });
}

#[test]
fn reconciliation_adds_missed_reviews_but_none_of_strangers() {
    on_runtime(async {
        let scene = Scene::new().await;
        let seven = InstallationId(7);
        scene.open(1, "aaa", Authorship::Trusted);
        scene.open(2, "bbb", Authorship::Stranger);
        scene
            .store
            .save_installation(&Installation {
                forge: "github.com".to_owned(),
                id: seven,
                account: "o".to_owned(),
                suspended: false,
                created_at: scene.store.now(),
            })
            .await
            .unwrap();
        let repository = |name: &str| InstalledRepository {
            name: name.to_owned(),
            private: false,
            settings: String::new(),
        };
        let both = [repository("o/deleted"), repository("o/r")];
        scene.store.change_repositories("github.com", seven, &both, &[]).await.unwrap();
        let (shutdown, worker) = scene.start();
        let all = JobFilter { limit: 99, ..JobFilter::default() };
        let ended = async {
            loop {
                let jobs = scene.store.jobs(&all).await.unwrap();
                // Two reconciliations, a cleanup and a review.
                let is_open =
                    |job: &Job| matches!(job.state, JobState::Waiting | JobState::Running);
                if jobs.len() == 4 && !jobs.iter().any(is_open) {
                    return jobs;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let jobs = tokio::time::timeout(Duration::from_secs(60), ended).await.unwrap();
        shutdown.stop(StopReason::Shutdown);
        worker.await.unwrap();
        let mut summary: Vec<String> = jobs
            .iter()
            .map(|job| {
                let key = &job.key;
                format!("{} {} {}", key.kind.name(), key.change.repository, job.state.name())
            })
            .collect();
        summary.sort();
        assert_eq!(
            summary,
            [
                "cleanup  done",
                "reconcile o/deleted skipped",
                "reconcile o/r done",
                "review o/r done",
            ]
        );
        assert!(jobs.iter().any(|job| job.key.head == "aaa"), "the pull request of a member");
    });
}

#[test]
fn reconciliation_records_outcomes_of_closed_pull_requests_once() {
    on_runtime(async {
        let scene = Scene::new().await;
        scene.script(
            "stats",
            r#"echo '{"repositories": [{
                "reviews": [{"at": "2026-11-17", "issues": [{"key": "k", "severity": "P1", "category": "bug"}]}],
                "outcomes": [{"key": "k", "kind": "ignored", "reception": "left_alone"}]}]}'"#,
        );
        for number in [1, 2] {
            scene.open(number, "aaa", Authorship::Trusted);
            let id = scene.add(&review("o/r", number, "aaa", 1)).await;
            scene.run_until(id, JobState::Done).await;
        }
        let reconcile = async |head: &str| {
            let job = review("o/r", 1, head, 1);
            let key = JobKey { change: change("o/r", 0), kind: JobKind::Reconcile, ..job.key };
            let id = scene.add(&NewJob { key, ..job }).await;
            let (shutdown, worker) = scene.start();
            scene.wait(id, JobState::Done).await;
            let all = JobFilter { limit: 99, ..JobFilter::default() };
            let is_open = |job: &Job| matches!(job.state, JobState::Waiting | JobState::Running);
            while scene.store.jobs(&all).await.unwrap().iter().any(is_open) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            shutdown.stop(StopReason::Shutdown);
            worker.await.unwrap();
            scene.log().matches("stats").count()
        };
        assert_eq!(reconcile("first").await, 0, "both are open");
        scene.forge.open.lock().unwrap().retain(|open| open.change != change("o/r", 1));
        assert_eq!(reconcile("second").await, 1);
        assert_eq!(reconcile("third").await, 1, "the outcomes are known");
        let sums = scene.store.outcome_sums("github.com", "o/r").await.unwrap();
        let sums: Vec<(&str, u64)> =
            sums.iter().map(|sum| (sum.outcome.as_str(), sum.issues)).collect();
        assert_eq!(sums, [("ignored", 1)]);
    });
}

#[test]
fn outcomes_of_an_open_pull_request_wait_until_it_is_closed() {
    on_runtime(async {
        let scene = Scene::new().await;
        scene.script("stats", "echo '{\"repositories\": []}'");
        scene.open(1, "aaa", Authorship::Trusted);
        let id = scene.add(&review("o/r", 1, "aaa", 1)).await;
        scene.run_until(id, JobState::Done).await;
        let pulls = async || scene.store.undecided_pulls("github.com", "o/r", "1").await.unwrap();
        let head = format!("review-{}", pulls().await[0].last_review);
        let outcomes = |revision: i64| {
            let job = review("o/r", 1, &head, revision);
            NewJob { key: JobKey { kind: JobKind::Outcomes, ..job.key }, ..job }
        };
        let id = scene.add(&outcomes(1)).await;
        let skipped = scene.run_until(id, JobState::Skipped).await;
        assert_eq!(skipped, "skipped 1 the pull request is open");
        assert_eq!(pulls().await.len(), 1);
        scene.forge.open.lock().unwrap().clear();
        assert_eq!(scene.add(&outcomes(2)).await, id);
        scene.run_until(id, JobState::Done).await;
        assert_eq!(pulls().await, []);
    });
}

#[test]
fn folders_of_a_removed_installation_are_deleted() {
    on_runtime(async {
        let mut scene = Scene::new().await;
        let gone = scene.folder.path().join("installations/github_com/99/jobs/1");
        let kept = scene.folder.path().join("installations/github_com/7/jobs/1");
        // The same in the store that all machines share.
        let shared = scene.folder.path().join("shared");
        let gone_copy = shared.join("installations/github_com/99/jobs/1");
        for folder in [&gone, &kept, &gone_copy] {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::fs::write(gone_copy.join("review.json"), "{}").unwrap();
        let address = format!("file://{}", shared.display());
        let network = crh_http::NetworkSettings::default();
        let runs = crh_server::run_store::RunStore::open(&address, [], &network);
        scene.settings.runs = Some(runs.unwrap());
        let id = scene.add(&review("o/r", 1, "aaa", 1)).await;
        scene.run_until(id, JobState::Done).await;
        assert!(!gone.exists() && kept.exists());
        assert!(!gone_copy.exists());
        let filter = ReviewFilter { limit: 9, ..ReviewFilter::default() };
        let run = scene.store.reviews(&filter).await.unwrap().remove(0).folder;
        assert!(shared.join(run).join("review.json").exists());
    });
}

#[test]
fn full_review_uses_no_earlier_archive_or_result() {
    on_runtime(async {
        let scene = Scene::new().await;
        scene.open(1, "aaa", Authorship::Trusted);
        scene.script("post", "exit 3");
        let id = scene.add(&review("o/r", 1, "aaa", 1)).await;
        scene.run_until(id, JobState::Dead).await;
        let steps = |from: usize| -> Vec<String> {
            let log = scene.log();
            let step = |line: &str| line.split(' ').next().unwrap().to_owned();
            log.lines().skip(from).map(step).collect()
        };
        assert_eq!(steps(0), ["prepare", "review", "post", "post"]);
        let again =
            |payload| NewJob { origin: JobOrigin::Person, payload, ..review("o/r", 1, "aaa", 1) };
        scene.script("post", "[ -e tried ] || { touch tried; exit 3; }");
        scene.add(&again(serde_json::json!({ "since_last": false, "full": 5 }))).await;
        scene.run_until(id, JobState::Done).await;
        assert_eq!(steps(4), ["prepare", "review", "post", "post"], "its own result is kept");
    });
}

#[test]
fn review_gets_dismissals_and_stores_settings_of_the_base_branch() {
    on_runtime(async {
        let scene = Scene::new().await;
        let (seven, name) = (InstallationId(7), "o/r".to_owned());
        let known = [InstalledRepository { name, private: false, settings: String::new() }];
        scene.store.change_repositories("github.com", seven, &known, &[]).await.unwrap();
        let dismissal = NewDismissal {
            change: &change("o/r", 2),
            issue_key: "00112233445566aa",
            reason: "intended",
            who: "ann",
            review: 0,
        };
        scene.store.dismiss(&dismissal).await.unwrap();
        scene.script("prepare", r#"echo '{"settings": "depth = 1"}'"#);
        scene.script("review", "cp dismissals.json \"$state/dismissals\"");
        let id = scene.add(&review("o/r", 1, "aaa", 1)).await;
        scene.run_until(id, JobState::Done).await;
        let repositories = scene.store.repositories_of("github.com", seven).await.unwrap();
        assert_eq!(repositories[0].settings, "depth = 1");
        assert_eq!(
            read(&scene.folder.path().join("dismissals")),
            r#"{"00112233445566aa":"dismissed by ann: intended"}"#
        );
    });
}

#[test]
fn uninstall_during_a_review_deletes_its_folder_when_it_ends() {
    on_runtime(async {
        let scene = Scene::new().await;
        scene.script("review", "sleep 60");
        let id = scene.add(&review("o/r", 1, "aaa", 1)).await;
        let (shutdown, worker) = scene.start();
        scene.wait_for_log("review").await;
        let folder = scene.folder.path().join("installations/github_com/7");
        assert!(folder.exists());
        scene.store.remove_installation("github.com", InstallationId(7), "o").await.unwrap();
        let gone = async {
            while folder.exists() || scene.store.job(id).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), gone).await.unwrap();
        shutdown.stop(StopReason::Shutdown);
        worker.await.unwrap();
    });
}
