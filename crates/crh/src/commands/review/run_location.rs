//! The run folder of a review, or a temporary folder if the review is not stored.

use std::path::PathBuf;

use anyhow::Context;
use tempfile::TempDir;

use super::resumed_run::ResumedRun;
use crate::failure::{Failure, FailureKind, OrFail};
use crh_llm::Redactor;
use crh_pipeline::change_secrets::ChangeSecrets;
use crh_pipeline::run_folder;
use crh_pipeline::run_folder::{RunFolder, StampKey, Timestamp};

pub(crate) enum RunLocation {
    Kept(RunFolder),
    /// A temporary folder. The run has an id nevertheless.
    Passing {
        run_id: String,
        _folder: TempDir,
    },
}

impl RunLocation {
    /// Opens the folder of a resumed run, or creates one.
    pub(super) fn open(
        resumed: Option<ResumedRun>,
        runs: Option<PathBuf>,
        stamp: Timestamp,
        id: &str,
        redactor: &Redactor,
        stamp_key: Option<&StampKey>,
    ) -> Result<Self, Failure> {
        if let Some(ResumedRun { folder, .. }) = resumed {
            return Ok(Self::Kept(folder.with_redactor(redactor.clone())));
        }
        let Some(runs) = runs else {
            let folder = tempfile::tempdir().context("cannot create a temporary folder");
            let folder = folder.or_fail(FailureKind::External)?;
            return Ok(Self::Passing { run_id: format!("{stamp}_{id}"), _folder: folder });
        };
        let folder = RunFolder::create(&runs, stamp, id).map_err(|error| {
            let kind = FailureKind::from_io(&error);
            let message = format!("cannot create a run folder in `{}`", runs.display());
            Failure::new(kind, anyhow::Error::new(error).context(message))
                .hint("use `--run-dir DIR` for another location")
        })?;
        let folder = match stamp_key {
            Some(key) => folder.stamped(key).or_fail(FailureKind::External)?,
            None => folder,
        };
        Ok(Self::Kept(folder.with_redactor(redactor.clone())))
    }

    /// Masks these secrets in everything that crh stores in the run folder.
    pub(super) fn hiding(self, credentials: ChangeSecrets) -> Self {
        match self {
            Self::Kept(folder) => Self::Kept(folder.with_secrets(credentials)),
            Self::Passing { .. } => self,
        }
    }

    pub(super) fn workspace(&self) -> PathBuf {
        match self {
            Self::Kept(folder) => folder.workspace(),
            Self::Passing { _folder, .. } => _folder.path().join(run_folder::WORKSPACE),
        }
    }

    pub(crate) fn run_id(&self) -> String {
        match self {
            Self::Kept(folder) => folder.run_id(),
            Self::Passing { run_id, .. } => run_id.clone(),
        }
    }

    pub(crate) fn folder(&self) -> Option<&RunFolder> {
        match self {
            Self::Kept(folder) => Some(folder),
            Self::Passing { .. } => None,
        }
    }
}
