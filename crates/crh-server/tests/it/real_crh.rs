//! A worker with the real `crh` and the fake GitHub. Runs if `CRH_TEST_PROGRAM` names the program, as
//! `scripts/full-check` does: this crate is below `crh` and cannot build it.

use std::{path::PathBuf, time::Duration};

use crh_server::{
    clock::Clock,
    forge_access::{CheckNotice, ForgeAccess, ForgeFailure, OpenChange},
    job::{AttemptFailure, ChangeId, InstallationId, JobOrigin, JobState, NewJob},
    queue::Authorship,
    store::{DatabaseUrl, JobFilter, ReviewFilter, Store},
    worker::{Attempt, CommentJobs, StopReason, StopSignal, Worker, WorkerSettings},
};
use crh_testkit::{
    FakeGitHub, Repo,
    fake_github::{Pull, PullHandle, TOKEN},
};
use secrecy::SecretString;

use crate::support::review;

const NAME: &str = "acme/shop";

/// The forge as the test knows it: a fixed token, and the head of the branch.
struct FixedForge {
    repo: PathBuf,
}

fn head_of(repo: &std::path::Path) -> String {
    let file = repo.join(".git/refs/heads/feature");
    std::fs::read_to_string(file).unwrap().trim().to_owned()
}

impl ForgeAccess for FixedForge {
    async fn token(
        &self,
        _: &str,
        _: InstallationId,
        _: &str,
    ) -> Result<SecretString, ForgeFailure> {
        Ok(TOKEN.to_owned().into())
    }

    async fn open_change(
        &self,
        _: InstallationId,
        change: &ChangeId,
    ) -> Result<Option<OpenChange>, ForgeFailure> {
        Ok(Some(OpenChange {
            change: change.clone(),
            head: head_of(&self.repo),
            revision: 2,
            authorship: Authorship::Trusted,
            labelled: false,
            draft: false,
        }))
    }

    async fn open_changes(
        &self,
        _: &str,
        _: InstallationId,
        _: &str,
    ) -> Result<Vec<OpenChange>, ForgeFailure> {
        Ok(Vec::new())
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
        _: &str,
        _: &CheckNotice,
    ) -> Result<(), ForgeFailure> {
        Ok(())
    }
}

struct NoComments;

impl CommentJobs for NoComments {
    async fn handle(&self, _: &Attempt<'_>) -> Result<(), AttemptFailure> {
        Ok(())
    }
}

/// A repository with a pull request that leaves a merge conflict in a file.
fn scene() -> (FakeGitHub, Repo, PullHandle) {
    let repo = Repo::from_fixture(
        "
        //- shop/orders.py
        def total(items):
            return sum(item.price for item in items)
        ",
    );
    repo.git(&["checkout", "--quiet", "-b", "feature"]);
    repo.write(
        "shop/orders.py",
        "def total(items):\n<<<<<<< HEAD\n    return 1\n=======\n    return 2\n>>>>>>> other\n",
    );
    repo.commit("totals of several items");
    let github = FakeGitHub::start();
    github.repository(NAME, &repo);
    let pull = github.pull(NAME, Pull { title: "Totals".to_owned(), ..Pull::default() });
    (github, repo, pull)
}

fn job(pull: &PullHandle, head: &str, revision: i64) -> NewJob {
    review(NAME, u32::try_from(pull.number).unwrap(), head, revision)
}

#[test]
#[expect(clippy::disallowed_methods, reason = "names the program under test")]
fn worker_posts_one_review_per_head_with_the_real_program() {
    let Ok(program) = std::env::var("CRH_TEST_PROGRAM") else { return };
    let (github, repo, pull) = scene();
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let url = DatabaseUrl::Sqlite(folder.path().join("crh.db"));
        let store = Store::open_with_clock(&url, Clock::system()).await.unwrap();
        let state = folder.path().join("state");
        let mut settings = WorkerSettings::new("w1", PathBuf::from(program), state);
        settings.poll = Duration::from_millis(50);
        let path = std::env::var("PATH").unwrap();
        settings.environment =
            vec![("PATH".to_owned(), path), ("CRH_ANALYSERS".to_owned(), "never".to_owned())];
        settings.forge_environment = github
            .environment_without()
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        settings.review_arguments = vec!["--strategy".to_owned(), "static".to_owned()];
        let shutdown = StopSignal::default();
        let forge = FixedForge { repo: repo.path().to_owned() };
        let worker = Worker::new(store.clone(), settings, forge, NoComments);
        let worker = tokio::spawn(worker.run(shutdown.clone()));
        let first = head_of(repo.path());
        for _ in 0..10 {
            store.enqueue(&job(&pull, &first, 1)).await.unwrap();
        }
        wait_for_end(&store).await;
        assert_eq!(github.reviews(&pull).len(), 1, "{}", github.render(&pull));
        // As on another machine after a crash between the post and the end of the job: everything runs again.
        std::fs::remove_dir_all(folder.path().join("state")).unwrap();
        let again = NewJob { origin: JobOrigin::Person, ..job(&pull, &first, 1) };
        store.enqueue(&again).await.unwrap();
        wait_for_end(&store).await;
        assert_eq!(github.reviews(&pull).len(), 1, "{}", github.render(&pull));
        shutdown.stop(StopReason::Shutdown);
        worker.await.unwrap();
        let reviews =
            store.reviews(&ReviewFilter { limit: 9, ..ReviewFilter::default() }).await.unwrap();
        assert_eq!((reviews.len(), reviews[0].issues_shown), (2, 1));
        assert_eq!(reviews[0].head, first);
    });
    assert_eq!(github.surprises(), Vec::<String>::new());
}

async fn wait_for_end(store: &Store) {
    let ended = async {
        loop {
            let filter = JobFilter { limit: 99, ..JobFilter::default() };
            let jobs = store.jobs(&filter).await.unwrap();
            let open = jobs
                .iter()
                .filter(|job| matches!(job.state, JobState::Waiting | JobState::Running));
            if open.count() == 0 {
                let failed: Vec<_> =
                    jobs.iter().filter(|job| job.state == JobState::Dead).collect();
                assert!(failed.is_empty(), "{failed:#?}");
                return;
            }
            let waiting = jobs.iter().find(|job| !job.reason.is_empty());
            assert!(waiting.is_none(), "{waiting:#?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), ended).await.unwrap();
}
