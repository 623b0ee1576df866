//! From the settings and the disk to the analysers that are run on a change.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::analysers::AnalysersChoice;
use crate::config::environment::{Environment, PATH};
use crate::config::keys::Settings;
use crate::config::models::ModelChoice;
use crh_git::Repository;
use crh_lint::analysers::{Analysers, Trusted};
use crh_llm::ModelName;

/// Whether what models are told has to be the same on every machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recorded {
    /// It is recorded, or a recording is played.
    Yes,
    /// It is not.
    No,
}

impl Recorded {
    /// What follows from the settings and from whether something is recorded.
    pub(crate) fn by(settings: &Settings, record: Option<&Path>) -> Self {
        let roles = [&settings.model_reviewer, &settings.model_cheap, &settings.model_escalation];
        let is_played = |choice: &ModelChoice| match choice {
            ModelChoice::Named(ModelName::Replay(_)) => true,
            ModelChoice::Named(ModelName::Live(_)) | ModelChoice::Found => false,
        };
        match record.is_some() || roles.into_iter().any(|role| is_played(&role.value)) {
            true => Self::Yes,
            false => Self::No,
        }
    }
}

/// Whether the change under review is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The user says so.
    Given,
    /// If the repository is one that the user has listed: the change is a part of it.
    IfListed,
    /// It is not: where the user stands says nothing about it.
    No,
}

impl Trust {
    /// Whether a change of the repository that is checked out there is trusted.
    pub(crate) fn holds(self, settings: &Settings, checkout: Option<&Path>) -> bool {
        match self {
            Self::Given => true,
            Self::IfListed => is_listed(settings, checkout),
            Self::No => false,
        }
    }
}

/// The analysers that are installed here; none if they are not to be run, or there are none.
pub(crate) fn analysers(
    settings: &Settings,
    environment: &Environment,
    repo: Option<&Path>,
    trust: Trust,
    recorded: Recorded,
) -> Option<Arc<Analysers>> {
    match (settings.checks_analysers.value, recorded) {
        (AnalysersChoice::Auto, Recorded::No) => {}
        (AnalysersChoice::Never, _) | (AnalysersChoice::Auto, Recorded::Yes) => return None,
    }
    let (path, program) = (environment.variable(PATH)?, environment.program.as_deref()?);
    let folder =
        repo.map_or_else(|| environment.folder.clone(), |repo| environment.folder.join(repo));
    let checkout = checkout(&folder);
    let is_trusted = trust.holds(settings, checkout.as_deref());
    let trusted = is_trusted.then(|| Trusted { checkout: checkout.clone() });
    let found = Analysers::find(program, path, checkout.as_deref(), trusted);
    (found.installed().count() > 0).then(|| Arc::new(found))
}

/// Where the repository is checked out, by its real path.
fn checkout(folder: &Path) -> Option<PathBuf> {
    let repository = Repository::discover(folder).ok()?;
    repository.work_tree.or(Some(repository.git_dir))?.canonicalize().ok()
}

/// Whether the user has listed the repository as one to trust.
fn is_listed(settings: &Settings, checkout: Option<&Path>) -> bool {
    let Some(checkout) = checkout else { return false };
    let listed = settings.trust.value.0.iter();
    listed.filter_map(|folder| folder.canonicalize().ok()).any(|folder| folder == checkout)
}
