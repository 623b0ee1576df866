//! A worker process: the real worker, with the fake forge.

use std::{process::ExitCode, time::Duration};

use crh_server::{
    forge_access::{CheckNotice, ForgeAccess, ForgeFailure, OpenChange},
    job::{AttemptFailure, ChangeId, InstallationId},
    queue::{Authorship, RetryPolicy},
    store::{DatabaseUrl, MicroUsd, Store},
    worker::{Attempt, CommentJobs, StopReason, StopSignal, Worker, WorkerSettings},
};
use secrecy::SecretString;

use crate::{
    ADDRESS, DATABASE, LIMIT, ROLE, STATE, WORKER,
    services::{PullState, Reply, Request, send},
};

/// Name of the forge in job keys.
pub(crate) const FORGE: &str = "fake.example";

pub(crate) fn run() -> ExitCode {
    let variable = |name: &str| std::env::var(name).unwrap();
    let address = variable(ADDRESS);
    let program = std::env::current_exe().unwrap();
    let mut settings = WorkerSettings::new(&variable(WORKER), program, variable(STATE).into());
    settings.slots = 4;
    settings.lease = Duration::from_secs(3);
    settings.poll = Duration::from_millis(100);
    settings.shutdown = Duration::from_secs(5);
    settings.retry = RetryPolicy { max_attempts: 40, first_delay_ms: 100, max_delay_ms: 1_500 };
    settings.max_cost = MicroUsd(50_000);
    settings.limits.repository.usd_per_day = Some(MicroUsd(variable(LIMIT).parse().unwrap()));
    settings.limits.repository.concurrent_reviews = Some(4);
    settings.environment =
        vec![(ROLE.to_owned(), "step".to_owned()), (ADDRESS.to_owned(), address.clone())];
    settings.model_environment = vec![("ANTHROPIC_API_KEY".to_owned(), "key".to_owned().into())];
    let url = DatabaseUrl::parse(&variable(DATABASE)).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = loop {
            match Store::open(&url).await {
                Ok(store) => break store,
                // The database is away.
                Err(_) => tokio::time::sleep(Duration::from_millis(300)).await,
            }
        };
        let shutdown = StopSignal::default();
        let signal = shutdown.clone();
        tokio::spawn(async move {
            use tokio::signal::unix::{SignalKind, signal as listen};
            listen(SignalKind::terminate()).unwrap().recv().await;
            signal.stop(StopReason::Shutdown);
        });
        Worker::new(store, settings, FakeForge { address }, NoComments).run(shutdown).await;
    });
    ExitCode::SUCCESS
}

struct NoComments;

impl CommentJobs for NoComments {
    async fn handle(&self, _: &Attempt<'_>) -> Result<(), AttemptFailure> {
        Ok(())
    }
}

struct FakeForge {
    address: String,
}

impl FakeForge {
    async fn ask(&self, request: Request) -> Result<Reply, ForgeFailure> {
        let address = self.address.clone();
        tokio::task::spawn_blocking(move || send(&address, &request))
            .await
            .ok()
            .flatten()
            .ok_or_else(|| ForgeFailure::Unavailable("the connection broke".to_owned()))
    }
}

fn open_change(pull: PullState) -> OpenChange {
    OpenChange {
        change: ChangeId {
            forge: FORGE.to_owned(),
            repository: pull.repository,
            number: pull.number.to_string(),
        },
        head: pull.head,
        revision: pull.revision,
        authorship: Authorship::Trusted,
        labelled: false,
        draft: false,
    }
}

impl ForgeAccess for FakeForge {
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
        let pull = change.number.parse().unwrap();
        match self.ask(Request::Pull { pull }).await? {
            Reply::Pull(pull) => Ok(Some(open_change(pull))),
            other => panic!("{other:?}"),
        }
    }

    async fn open_changes(
        &self,
        _: &str,
        _: InstallationId,
        repository: &str,
    ) -> Result<Vec<OpenChange>, ForgeFailure> {
        match self.ask(Request::Pulls { repository: repository.to_owned() }).await? {
            Reply::Pulls(pulls) => Ok(pulls.into_iter().map(open_change).collect()),
            other => panic!("{other:?}"),
        }
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
