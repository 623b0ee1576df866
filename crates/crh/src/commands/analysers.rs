//! Finds the linters to run on a change.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::interrupts;
use crate::config::analysers::AnalysersChoice;
use crate::config::environment::{Environment, PATH};
use crate::config::keys::Settings;
use crate::config::models::ModelChoice;
use crate::ui;
use crh_git::Repository;
use crh_lint::analysers::{Analysers, TrustedRepo};
use crh_lint::sandbox::Sandbox;
use crh_llm::ModelName;
use crh_os::names::canonical;
use crh_pipeline::proof::TestCommand;

/// Whether prompts must be the same on every machine, because model calls are recorded or replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reproducible {
    Yes,
    No,
}

impl Reproducible {
    /// `Yes` if `--record` is set or a configured model is a recording.
    pub(crate) fn from_settings(settings: &Settings, record: Option<&Path>) -> Self {
        let roles = [
            &settings.model_reviewer,
            &settings.model_cheap,
            &settings.model_escalation,
            &settings.model_editor,
        ];
        let is_replayed = |choice: &ModelChoice| match choice {
            ModelChoice::Named(ModelName::Replay(_)) => true,
            ModelChoice::Named(ModelName::Live(_)) | ModelChoice::Detected => false,
        };
        match record.is_some() || roles.into_iter().any(|role| is_replayed(&role.value)) {
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
    /// Trusted if the setting `trust` lists the repository.
    IfListed,
    /// Not trusted, because the change may come from another repository.
    Never,
}

impl ChangeTrust {
    /// Whether a change in the repository of this checkout is trusted.
    pub(crate) fn is_trusted(self, settings: &Settings, checkout: Option<&Path>) -> bool {
        match self {
            Self::Always => true,
            Self::IfListed => is_listed(settings, checkout),
            Self::Never => false,
        }
    }
}

/// The installed linters. None if there are none, if the settings turn linters off, or if model
/// calls are recorded or replayed.
pub(crate) fn analysers(
    settings: &Settings,
    environment: &Environment,
    repo: Option<&Path>,
    trust: ChangeTrust,
    reproducible: Reproducible,
) -> Option<Arc<Analysers>> {
    match (settings.checks_analysers.value, reproducible) {
        (AnalysersChoice::Auto, Reproducible::No) => {}
        (AnalysersChoice::Never, _) | (AnalysersChoice::Auto, Reproducible::Yes) => return None,
    }
    let (path, program) = (environment.variable(PATH)?, environment.program.as_deref()?);
    let folder =
        repo.map_or_else(|| environment.folder.clone(), |repo| environment.folder.join(repo));
    let checkout = checkout(&folder);
    let is_trusted = trust.is_trusted(settings, checkout.as_deref());
    let trusted_repo = is_trusted.then(|| TrustedRepo { checkout: checkout.clone() });
    let linters = Analysers::find(program, path, checkout.as_deref(), trusted_repo);
    (linters.installed().count() > 0).then(|| Arc::new(linters))
}

/// The command of `verify.test` in its sandbox. None if the setting is empty, no sandbox is
/// available, or the change is not trusted. Also none if model calls are recorded or replayed, so
/// that prompts do not depend on the user's command.
pub(crate) fn test_command(
    settings: &Settings,
    environment: &Environment,
    checkout: Option<&Path>,
    trust: ChangeTrust,
    reproducible: Reproducible,
) -> Option<Arc<TestCommand>> {
    let (program, args) = settings.verify_test.value.split()?;
    let checkout = checkout.and_then(|root| canonical(root).ok());
    let is_trusted = trust.is_trusted(settings, checkout.as_deref());
    if !is_trusted || reproducible == Reproducible::Yes {
        return None;
    }
    let sandbox = match environment.program.as_deref().map(Sandbox::probe)? {
        Ok(sandbox) => sandbox,
        Err(why) => {
            ui::warn(&format!("`verify.test` is not used: no sandbox is available: {why}"));
            return None;
        }
    };
    Some(Arc::new(TestCommand {
        program: program.to_owned(),
        args: args.to_vec(),
        path: environment.variable(PATH).unwrap_or_default().to_owned(),
        time_limit: Duration::from_secs(settings.fix_verify_seconds.value.get()),
        sandbox,
        is_stopped: interrupts::is_pressed,
    }))
}

/// Canonical path of the working tree, or of the git directory of a bare repository.
fn checkout(folder: &Path) -> Option<PathBuf> {
    let repository = Repository::discover(folder).ok()?;
    canonical(repository.work_tree.or(Some(repository.git_dir))?).ok()
}

/// Whether the setting `trust` lists the repository.
fn is_listed(settings: &Settings, checkout: Option<&Path>) -> bool {
    let Some(checkout) = checkout else { return false };
    let trusted_folders = settings.trust.value.0.iter();
    trusted_folders.filter_map(|folder| canonical(folder).ok()).any(|folder| folder == checkout)
}
