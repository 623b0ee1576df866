//! Where a review is written down, if it is.

use std::path::PathBuf;

use anyhow::Context;
use tempfile::TempDir;

use super::resumed::Resumed;
use crate::failure::{Failure, Kind, OrFail};
use crh_llm::Redactor;
use crh_pipeline::credentials::Credentials;
use crh_pipeline::run_folder;
use crh_pipeline::run_folder::{RunFolder, Stamp};

/// Where a review is written down.
pub(crate) enum Place {
    /// In its run folder.
    Kept(RunFolder),
    /// Nowhere that outlives it. The name is that of a run all the same.
    Passing { run_id: String, _folder: TempDir },
}

impl Place {
    /// Where it began, or a new place.
    pub(super) fn of(
        resumed: Option<Resumed>,
        runs: Option<PathBuf>,
        stamp: Stamp,
        id: &str,
        redactor: &Redactor,
    ) -> Result<Self, Failure> {
        if let Some(Resumed { folder, .. }) = resumed {
            return Ok(Self::Kept(folder.redacting(redactor.clone())));
        }
        let Some(runs) = runs else {
            let folder = tempfile::tempdir().context("making a temporary folder");
            let folder = folder.or_fail(Kind::Outside)?;
            return Ok(Self::Passing { run_id: format!("{stamp}_{id}"), _folder: folder });
        };
        let folder = RunFolder::create(&runs, stamp, id)
            .with_context(|| format!("making a run folder in `{}`", runs.display()))
            .or_fail(Kind::Usage)
            .map_err(|failure| failure.hint("`--run-dir DIR` names another place"))?;
        Ok(Self::Kept(folder.redacting(redactor.clone())))
    }

    /// The same, where what is written shows none of these.
    pub(super) fn hiding(self, credentials: Credentials) -> Self {
        match self {
            Self::Kept(folder) => Self::Kept(folder.hiding(credentials)),
            Self::Passing { .. } => self,
        }
    }

    pub(super) fn workspace(&self) -> PathBuf {
        match self {
            Self::Kept(folder) => folder.workspace(),
            Self::Passing { _folder, .. } => _folder.path().join(run_folder::WORKSPACE),
        }
    }

    pub(super) fn run_id(&self) -> String {
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
