//! Where the private object store of a repository lies, and opening it.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crh_git::Repository;
use crh_git::Store;
use crh_git::StoreError;
use crh_review::identity::content_id;

use crate::config::keys::Settings;
use crate::failure::Failure;
use crate::failure::Kind;

/// The folder of the store that belongs to a repository. All its worktrees share one.
pub(crate) fn folder(settings: &Settings, repository: &Repository) -> Result<PathBuf, Failure> {
    let name = content_id(repository.common_dir.as_os_str().as_bytes());
    Ok(settings.store_folder.value.path()?.join("stores").join(&name[..32]))
}

/// Opens the store of a repository, and makes it if it is not there.
pub(crate) fn open(settings: &Settings, repository: &Repository) -> Result<Store, Failure> {
    Store::open(&folder(settings, repository)?, repository).map_err(failed)
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
