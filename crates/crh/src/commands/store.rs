//! Opens the private git object store of a repository.

use std::path::PathBuf;

use super::{github, launchpad, models};
use crate::config;
use crate::config::environment::Environment;
use crate::config::keys::{RawSettings, Settings};
use crate::failure::{Failure, FailureKind};
use crate::hand_off;
use crh_forge::ForgeName;
use crh_git::{HiddenVariables, HostedRepository, Repository, Store, StoreError};
use crh_review::identity::content_id;

/// Store folder of a repository. All worktrees of the repository share the folder.
pub(crate) fn folder(settings: &Settings, repository: &Repository) -> Result<PathBuf, Failure> {
    let name = content_id(repository.common_dir.as_os_str().as_encoded_bytes());
    Ok(settings.store_folder.value.path()?.join("stores").join(&name[..32]))
}

/// Opens or creates the store of a repository.
pub(crate) fn open(settings: &Settings, repository: &Repository) -> Result<Store, Failure> {
    Store::open(&folder(settings, repository)?, repository, hidden_variables(settings)?)
        .map_err(store_failure)
}

/// Deletes the store of the current repository, or of one without a local clone, if it is damaged.
/// Returns its folder if so. Ignores errors, because the caller has a more useful error.
pub(crate) fn delete_if_damaged(
    hosted: Option<&HostedRepository>,
    environment: &Environment,
    flags: &RawSettings,
) -> Option<PathBuf> {
    let store_flags =
        RawSettings { store_folder: flags.store_folder.clone(), ..RawSettings::default() };
    let settings = config::load(environment, None, store_flags).ok()?;
    let folder = match hosted {
        Some(hosted) => remote_folder(&settings, hosted).ok()?,
        None => folder(&settings, &Repository::discover(&environment.folder).ok()?).ok()?,
    };
    Store::delete_if_damaged(&folder).ok()?.then_some(folder)
}

/// Variables to hide from programs that git runs: filters, credential helpers, ssh.
pub(crate) fn hidden_variables(settings: &Settings) -> Result<HiddenVariables, Failure> {
    let github_secrets = github::SECRETS.iter().filter(|name| !github::TOKENS.contains(name));
    let mut from_all_commands = models::key_variables(settings)?;
    from_all_commands.extend(
        github_secrets
            .chain(&hand_off::SECRETS)
            .chain(&launchpad::SECRETS)
            .map(|name| (*name).to_owned()),
    );
    let from_local_commands = github::TOKENS
        .iter()
        .chain(&launchpad::TOKENS)
        .chain(ForgeName::all_rest().flat_map(|it| it.rest_profile().token_variables));
    let from_local_commands = from_local_commands.map(|name| (*name).to_owned()).collect();
    Ok(HiddenVariables { from_all_commands, from_local_commands })
}

/// Opens or creates the store of a repository without a local clone.
pub(crate) fn open_without_clone(
    settings: &Settings,
    repository: &HostedRepository,
) -> Result<Store, Failure> {
    Store::open_standalone(&remote_folder(settings, repository)?).map_err(store_failure)
}

/// Store folder of a repository without a local clone, by host, owner and name. Replaces unsafe
/// names by their hash.
fn remote_folder(settings: &Settings, repository: &HostedRepository) -> Result<PathBuf, Failure> {
    let stores = settings.store_folder.value.path()?.join("stores");
    let parts = std::iter::once(repository.host.as_str()).chain(repository.name.split('/'));
    Ok(parts.fold(stores.join("of"), |folder, part| folder.join(safe_name(part))))
}

/// A path component that cannot escape the folder.
fn safe_name(part: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    match part.starts_with('.') || part.is_empty() || !part.chars().all(is_plain) {
        true => content_id(part.as_bytes())[..32].to_owned(),
        // Host names and some file systems ignore case.
        false => part.to_ascii_lowercase(),
    }
}

/// Turns the error into a failure with a hint.
pub(crate) fn store_failure(error: StoreError) -> Failure {
    match &error {
        StoreError::Io { source, .. } => Failure::new(FailureKind::from_io(source), error)
            .hint("set `store.folder` in your config, or `CRH_STORE`, to another folder"),
        StoreError::Open(_) => Failure::new(FailureKind::Usage, error),
        StoreError::Git(_) => Failure::new(FailureKind::External, error),
    }
}
