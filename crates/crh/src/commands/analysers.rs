//! Finds the linters to run on a change.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::analysers::AnalysersChoice;
use crate::config::environment::{Environment, PATH};
use crate::config::keys::Settings;
use crate::config::models::ModelChoice;
use crh_git::Repository;
use crh_lint::analysers::{Analysers, TrustedRepo};
use crh_llm::ModelName;

/// Whether prompts must be the same on every machine, because the exchange is recorded or replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reproducible {
    Yes,
    No,
}

impl Reproducible {
    /// Derives it from `--record` and the configured models.
    pub(crate) fn from_settings(settings: &Settings, record: Option<&Path>) -> Self {
        let roles = [&settings.model_reviewer, &settings.model_cheap, &settings.model_escalation];
        let is_played = |choice: &ModelChoice| match choice {
            ModelChoice::Named(ModelName::Replay(_)) => true,
            ModelChoice::Named(ModelName::Live(_)) | ModelChoice::Detected => false,
        };
        match record.is_some() || roles.into_iter().any(|role| is_played(&role.value)) {
            true => Self::Yes,
            false => Self::No,
        }
    }
}

/// Whether the change under review is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeTrust {
    /// The user passed `--trust`.
    Always,
    /// If the repository is listed in the setting `trust`.
    IfListed,
    /// Never, because the change may come from elsewhere.
    Never,
}

impl ChangeTrust {
    /// Whether a change of the repository with this checkout is trusted.
    pub(crate) fn is_trusted(self, settings: &Settings, checkout: Option<&Path>) -> bool {
        match self {
            Self::Always => true,
            Self::IfListed => is_listed(settings, checkout),
            Self::Never => false,
        }
    }
}

/// The installed linters; none if there are none or they must not run.
pub(crate) fn analysers(
    settings: &Settings,
    environment: &Environment,
    repo: Option<&Path>,
    trust: ChangeTrust,
    recorded: Reproducible,
) -> Option<Arc<Analysers>> {
    match (settings.checks_analysers.value, recorded) {
        (AnalysersChoice::Auto, Reproducible::No) => {}
        (AnalysersChoice::Never, _) | (AnalysersChoice::Auto, Reproducible::Yes) => return None,
    }
    let (path, program) = (environment.variable(PATH)?, environment.program.as_deref()?);
    let folder =
        repo.map_or_else(|| environment.folder.clone(), |repo| environment.folder.join(repo));
    let checkout = checkout(&folder);
    let is_trusted = trust.is_trusted(settings, checkout.as_deref());
    let trusted = is_trusted.then(|| TrustedRepo { checkout: checkout.clone() });
    let found = Analysers::find(program, path, checkout.as_deref(), trusted);
    (found.installed().count() > 0).then(|| Arc::new(found))
}

/// Canonical path of the checkout.
fn checkout(folder: &Path) -> Option<PathBuf> {
    let repository = Repository::discover(folder).ok()?;
    repository.work_tree.or(Some(repository.git_dir))?.canonicalize().ok()
}

/// Whether the setting `trust` lists the repository.
fn is_listed(settings: &Settings, checkout: Option<&Path>) -> bool {
    let Some(checkout) = checkout else { return false };
    let listed = settings.trust.value.0.iter();
    listed.filter_map(|folder| folder.canonicalize().ok()).any(|folder| folder == checkout)
}
