//! One attempt at a job: its lease, its stop signal, and its children.

use std::{path::Path, time::Duration};

use secrecy::{ExposeSecret, SecretString};
use tokio::time::{Instant, sleep, timeout_at};
use tracing::Instrument;

use super::{
    child::{ChildCommand, ChildEnd, run_child},
    folders::{InstallationFolders, JobFolder},
    settings::{RestForgeChildren, WorkerSettings},
    signal::{StopReason, StopSignal},
};
use crate::{
    forge_access::ForgeAccess,
    job::{AttemptFailure, Heartbeat, Job, LeasedJob},
    store::{
        BudgetDecision, BudgetPurpose, BudgetRequest, BudgetScope, Deferral, LeaseEnd, MicroUsd,
        Store, StoreResult,
    },
};

/// What an attempt works with.
#[derive(Debug)]
pub struct Attempt<'a> {
    /// The store.
    pub store: &'a Store,
    /// Settings of the worker.
    pub settings: &'a WorkerSettings,
    /// The job and its lease.
    pub leased: &'a LeasedJob,
    /// Tells the attempt to stop.
    pub stop: StopSignal,
}

/// Secrets of a child. No child gets both a token of the forge and keys of models.
#[derive(Debug)]
pub enum ChildAccess {
    /// A token of the forge, and no model.
    Forge(SecretString),
    /// Keys of models, and no token of the forge.
    Model,
    /// Neither.
    Nothing,
}

impl Attempt<'_> {
    /// The job.
    pub fn job(&self) -> &Job {
        &self.leased.job
    }

    /// Folders of the job's installation.
    pub fn folders(&self) -> InstallationFolders {
        let job = self.job();
        InstallationFolders::new(&self.settings.state, &job.key.change.forge, job.installation)
    }

    /// Folder of the job.
    pub fn folder(&self) -> JobFolder {
        self.folders().job(self.job())
    }

    /// Creates the folders of the job. Only the worker's user can read them.
    pub fn create_folders(&self) -> std::io::Result<()> {
        use std::os::unix::fs::DirBuilderExt as _;
        let folders = self.folders();
        for folder in [folders.store(), folders.state(), folders.home(), self.folder().runs()] {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        Ok(())
    }

    /// How an attempt ends that was stopped.
    pub(super) fn stopped_end(&self) -> LeaseEnd {
        match self.stop.reason() {
            Some(StopReason::Shutdown) => LeaseEnd::Deferred(Deferral {
                until: self.store.now(),
                reason: "the worker shut down".to_owned(),
            }),
            Some(StopReason::Requested | StopReason::LeaseLost) | None => LeaseEnd::Stopped,
        }
    }

    /// Marks the run of a finished review as posted. The store has the end of the attempt already.
    pub(super) fn mark_posted(&self, run: &str) {
        let mark = self.folder().posted_mark(Path::new(run));
        // Without the mark, a later `/crh review` of this head posts the same review again, which
        // changes nothing.
        let written = mark
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::fs::write(&mark, ""));
        if let Err(error) = written {
            tracing::warn!(job = self.job().id.0, %error, "cannot mark the run as posted");
        }
    }

    /// Announces the next step, and renews the lease. Fails if the lease is lost.
    pub async fn begin_step(&self, step: &str) -> StoreResult<()> {
        self.store.set_step(&self.leased.lease, step, self.settings.lease_ms()).await
    }

    /// Reserves `amount`, the highest possible cost of the job's model calls.
    pub(crate) async fn reserve(
        &self,
        amount: MicroUsd,
        purpose: BudgetPurpose,
    ) -> StoreResult<BudgetDecision> {
        let job = self.job();
        let scope = BudgetScope {
            forge: job.key.change.forge.clone(),
            installation: job.installation,
            repository: job.key.change.repository.clone(),
        };
        let limits = &self.settings.limits;
        let request = BudgetRequest { job: job.id, scope: &scope, amount, limits, purpose };
        self.store.reserve(&request).await
    }

    /// Fetches the change at a head into the archive of the job. Returns the output of
    /// `crh prepare`, or how that command ended if it failed.
    pub(crate) async fn prepare(
        &self,
        forge: &impl ForgeAccess,
        head: &str,
        flags: &[&str],
    ) -> Result<Result<String, ChildEnd>, AttemptFailure> {
        self.begin_step("prepare").await?;
        let (job, folder) = (self.job(), self.folder());
        let change = &job.key.change;
        let token = forge.token(&change.forge, job.installation, &change.repository).await?;
        let pack = folder.unfinished_pack().to_string_lossy().into_owned();
        let target = self.settings.change_arguments(change).prepare;
        let arguments = ["prepare", &target, "--head", head, "--pack", &pack];
        let arguments = arguments.iter().chain(flags).map(|text| (*text).to_owned()).collect();
        let timeout = self.settings.timeouts.prepare;
        match self.run_crh(arguments, ChildAccess::Forge(token), timeout).await {
            ChildEnd::Exited { code: 0, stdout, .. } => {
                std::fs::rename(folder.unfinished_pack(), folder.pack()).map_err(|error| {
                    AttemptFailure::retried(format!("cannot keep the prepared change: {error}"))
                })?;
                Ok(Ok(stdout))
            }
            end => Ok(Err(end)),
        }
    }

    /// Runs `crh` with some arguments in the folder of the job.
    pub async fn run_crh(
        &self,
        arguments: Vec<String>,
        access: ChildAccess,
        timeout: Duration,
    ) -> ChildEnd {
        let command = ChildCommand {
            program: self.settings.program.clone(),
            arguments,
            environment: child_environment(
                self.settings,
                &self.folders(),
                &self.job().key.change.forge,
                access,
            ),
            folder: self.folder().root,
            timeout,
        };
        let name = command.arguments.first().map(String::as_str).unwrap_or_default();
        let span = tracing::info_span!("step", name);
        run_child(&command, &self.stop).instrument(span).await
    }

    /// Renews the lease until the attempt ends. If the store does not answer, the lease counts as
    /// lost before another worker can have it.
    pub(super) async fn keep_lease(&self) {
        let length = self.settings.lease;
        let mut renewed = Instant::now();
        loop {
            sleep(length / 3).await;
            let asked = Instant::now();
            let heartbeat = self.store.heartbeat(&self.leased.lease, self.settings.lease_ms());
            match timeout_at(renewed + length * 9 / 10, heartbeat).await {
                Ok(Ok(Heartbeat::Held)) => renewed = asked,
                Ok(Ok(Heartbeat::StopRequested)) => {
                    renewed = asked;
                    self.stop.stop(StopReason::Requested);
                }
                Ok(Err(error)) => {
                    tracing::warn!(job = self.job().id.0, %error, "cannot renew the lease");
                }
                Ok(Ok(Heartbeat::Lost)) | Err(_) => {
                    self.stop.stop(StopReason::LeaseLost);
                    return;
                }
            }
        }
    }
}

/// The whole environment of a child.
fn child_environment(
    settings: &WorkerSettings,
    folders: &InstallationFolders,
    forge: &str,
    access: ChildAccess,
) -> Vec<(String, SecretString)> {
    let mut variables: Vec<(String, SecretString)> = settings
        .environment
        .iter()
        .map(|(name, value)| (name.clone(), SecretString::from(value.clone())))
        .collect();
    for (name, folder) in
        [("HOME", folders.home()), ("CRH_STORE", folders.store()), ("CRH_STATE", folders.state())]
    {
        let value = folder.to_string_lossy().into_owned();
        variables.push((name.to_owned(), SecretString::from(value)));
    }
    let rest_forge = settings.rest_forges.get(forge);
    variables.extend(rest_forge.map(RestForgeChildren::server));
    match access {
        ChildAccess::Forge(token) => match rest_forge {
            Some(children) => variables.push((children.token_variable(), token)),
            None => {
                for (name, value) in &settings.forge_environment {
                    variables.push((name.clone(), SecretString::from(value.clone())));
                }
                variables.push((settings.token_variable.clone(), token));
            }
        },
        ChildAccess::Model => {
            // Of two variables with one name, the child gets the last.
            variables.extend(settings.model_environment.iter().cloned());
            variables.extend(settings.model_keys.iter().flat_map(|file| read_keys(file)));
        }
        ChildAccess::Nothing => {}
    }
    variables
}

/// Largest file with keys, in bytes.
const KEYS_MAX: u64 = 64 << 10;

/// Keys of models in a file: one `NAME=VALUE` per line. The worker forgets them after the start of
/// the child.
fn read_keys(file: &Path) -> Vec<(String, SecretString)> {
    let text = std::fs::metadata(file).and_then(|data| {
        if data.len() <= KEYS_MAX {
            std::fs::read_to_string(file)
        } else {
            Err(std::io::ErrorKind::FileTooLarge.into())
        }
    });
    let text = SecretString::from(text.unwrap_or_else(|error| {
        tracing::warn!(file = %file.display(), %error, "cannot read the keys of models");
        String::new()
    }));
    let lines = text.expose_secret().lines().filter_map(|line| line.trim().split_once('='));
    lines
        .filter(|(name, _)| {
            let is_name_byte = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            !name.is_empty() && name.bytes().all(is_name_byte)
        })
        .map(|(name, value)| (name.to_owned(), SecretString::from(value.trim().to_owned())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::InstallationId;

    #[test]
    fn no_child_gets_a_forge_token_and_a_model_key() {
        let mut settings = WorkerSettings::new("w", "/bin/crh".into(), "/state".into());
        settings.environment = vec![("PATH".to_owned(), "/bin".to_owned())];
        settings.forge_environment = vec![("GITHUB_API_URL".to_owned(), "http://f".to_owned())];
        settings.model_environment = vec![("ANTHROPIC_API_KEY".to_owned(), "k".to_owned().into())];
        let folders = InstallationFolders::new(&settings.state, "github.com", InstallationId(7));
        let names = |access| {
            child_environment(&settings, &folders, "github.com", access)
                .into_iter()
                .map(|(name, _)| name)
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(
            names(ChildAccess::Forge("t".to_owned().into())),
            "PATH HOME CRH_STORE CRH_STATE GITHUB_API_URL GITHUB_TOKEN"
        );
        assert_eq!(names(ChildAccess::Model), "PATH HOME CRH_STORE CRH_STATE ANTHROPIC_API_KEY");
        assert_eq!(names(ChildAccess::Nothing), "PATH HOME CRH_STORE CRH_STATE");
    }

    #[test]
    fn keys_of_models_are_read_before_each_review() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut settings = WorkerSettings::new("w", "/bin/crh".into(), "/state".into());
        settings.model_keys = Some(file.path().to_owned());
        settings.model_environment = vec![("A_KEY".to_owned(), "old".to_owned().into())];
        let folders = InstallationFolders::new(&settings.state, "github.com", InstallationId(7));
        let keys = || -> Vec<String> {
            let variables =
                child_environment(&settings, &folders, "github.com", ChildAccess::Model);
            let keys = variables.into_iter().filter(|(name, _)| name.ends_with("_KEY"));
            keys.map(|(name, value)| format!("{name}={}", value.expose_secret())).collect()
        };
        assert_eq!(keys(), ["A_KEY=old"]);
        std::fs::write(file.path(), "# keys\nA_KEY= new=1 \n\nnonsense\nB-KEY=x\nC_KEY=y").unwrap();
        assert_eq!(keys(), ["A_KEY=old", "A_KEY=new=1", "C_KEY=y"]);
        std::fs::write(file.path(), "A_KEY=newer").unwrap();
        assert_eq!(keys(), ["A_KEY=old", "A_KEY=newer"]);
    }
}
