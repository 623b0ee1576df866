//! Where the private object store of a repository lies, and opening it.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::{github, launchpad, models};
use crate::config::keys::Settings;
use crate::failure::{Failure, Kind};
use crate::hand_off;
use crh_git::{Place, Repository, Store, StoreError, Withheld};
use crh_review::identity::content_id;

/// The folder of the store that belongs to a repository. All its worktrees share one.
pub(crate) fn folder(settings: &Settings, repository: &Repository) -> Result<PathBuf, Failure> {
    let name = content_id(repository.common_dir.as_os_str().as_bytes());
    Ok(settings.store_folder.value.path()?.join("stores").join(&name[..32]))
}

/// Opens the store of a repository, and makes it if it is not there.
pub(crate) fn open(settings: &Settings, repository: &Repository) -> Result<Store, Failure> {
    Store::open(&folder(settings, repository)?, repository, withheld(settings)?).map_err(failed)
}

/// What the programs must not see that the user has set up for git: filters, credential helpers, ssh.
pub(crate) fn withheld(settings: &Settings) -> Result<Withheld, Failure> {
    let of_github = github::SECRETS.iter().filter(|name| !github::TOKENS.contains(name));
    let mut always = models::key_variables(settings)?;
    always.extend(
        of_github
            .chain(&hand_off::SECRETS)
            .chain(&launchpad::SECRETS)
            .map(|name| (*name).to_owned()),
    );
    let on_disk = github::TOKENS.iter().chain(&launchpad::TOKENS);
    let on_disk = on_disk.map(|name| (*name).to_owned()).collect();
    Ok(Withheld { always, on_disk })
}

/// Opens the store of a repository that has no clone here, and makes it if it is not there.
pub(crate) fn alone(settings: &Settings, place: &Place) -> Result<Store, Failure> {
    Store::alone(&folder_of(settings, place)?).map_err(failed)
}

/// The folder of that store: by host, owner and name, so that a person finds it. What is no plain name is named by its hash.
fn folder_of(settings: &Settings, place: &Place) -> Result<PathBuf, Failure> {
    let stores = settings.store_folder.value.path()?.join("stores");
    let parts = std::iter::once(place.host.as_str()).chain(place.name.split('/'));
    Ok(parts.fold(stores.join("of"), |folder, part| folder.join(plain(part))))
}

/// A part of a path that leads nowhere else.
fn plain(part: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    match part.starts_with('.') || part.is_empty() || !part.chars().all(is_plain) {
        true => content_id(part.as_bytes())[..32].to_owned(),
        // Hosts do not tell capitals apart, and neither do some file systems.
        false => part.to_ascii_lowercase(),
    }
}

/// Whose fault it is that a store cannot be used.
pub(crate) fn failed(error: StoreError) -> Failure {
    match &error {
        StoreError::Io { .. } => Failure::new(Kind::Usage, error)
            .hint("`store.folder` in your config or `CRH_STORE` names another folder"),
        StoreError::Open(_) => Failure::new(Kind::Usage, error),
        StoreError::Git(_) => Failure::new(Kind::Outside, error),
    }
}
