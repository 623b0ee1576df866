//! File of a login: readable only by its owner, and written atomically.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::Context as _;
use secrecy::{ExposeSecret, SecretString};

use super::credentials;
use crate::config::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail};
use crh_forge::launchpad::LaunchpadService;
use crh_os::files;

/// Permission bits of the group and of other users.
const OTHERS: u32 = 0o077;

pub(super) struct LoginFile {
    path: PathBuf,
}

impl LoginFile {
    pub(super) fn for_service(
        service: &LaunchpadService,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        match credentials::login_file_path(service, environment) {
            Some(path) => Ok(Self { path }),
            None => Err(Failure::usage("no home directory to store the login in")
                .hint("set `HOME` or `XDG_CONFIG_HOME`")),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the folder and checks that it is writable, before the user authorizes crh in the
    /// browser.
    pub(super) fn prepare(&self) -> Result<(), Failure> {
        let folder = self.folder();
        files::create_private_folder(folder).map_err(|error| write_failure(folder, error))?;
        // A symlink could redirect the secret to another place.
        let metadata =
            fs::symlink_metadata(folder).map_err(|error| write_failure(folder, error))?;
        if metadata.is_symlink() {
            return Err(unsafe_path_failure(folder, "is a symlink, not a folder"));
        }
        if has_rights_for_others(&metadata) {
            files::set_mode(folder, files::PRIVATE_FOLDER)
                .map_err(|error| write_failure(folder, error))?;
        }
        match fs::symlink_metadata(&self.path) {
            Ok(metadata) if metadata.is_symlink() => {
                return Err(unsafe_path_failure(&self.path, "is a symlink, not a file"));
            }
            Ok(metadata) if !metadata.is_file() => {
                return Err(unsafe_path_failure(&self.path, "is not a file"));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(write_failure(&self.path, error)),
        }
        self.temp_file().map(drop)
    }

    /// Replaces the content atomically.
    pub(super) fn replace(&self, text: &SecretString) -> Result<(), Failure> {
        let failure = |error| write_failure(&self.path, error);
        let mut file = self.temp_file()?;
        file.write_all(text.expose_secret().as_bytes()).map_err(failure)?;
        file.as_file().sync_all().map_err(failure)?;
        file.persist(&self.path).map_err(|error| failure(error.error))?;
        Ok(())
    }

    /// Removes the file. Returns whether it existed.
    pub(super) fn remove(&self) -> Result<bool, Failure> {
        match fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => {
                let message = format!("removing `{}`", self.path.display());
                Err(error).context(message).or_fail(FailureKind::External)
            }
        }
    }

    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    /// A temporary file in the same folder, deleted unless it is renamed.
    fn temp_file(&self) -> Result<tempfile::NamedTempFile, Failure> {
        files::temp_builder(files::PRIVATE_FILE)
            .prefix(".login-")
            .tempfile_in(self.folder())
            .map_err(|error| write_failure(self.folder(), error))
    }
}

/// Whether other users may read or write a file.
pub(super) fn is_open_to_others(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| has_rights_for_others(&metadata))
}

fn has_rights_for_others(metadata: &fs::Metadata) -> bool {
    files::mode(metadata).is_some_and(|mode| mode & OTHERS != 0)
}

fn unsafe_path_failure(path: &Path, why: &str) -> Failure {
    let path = path.display();
    Failure::usage(format!("`{path}` {why}: crh stores no secret there")).hint("move it away")
}

fn write_failure(path: &Path, error: io::Error) -> Failure {
    let message = format!("cannot write the login to `{}`", path.display());
    Failure::new(FailureKind::External, anyhow::Error::new(error).context(message))
        .hint("set `XDG_CONFIG_HOME` to use another folder")
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use tempfile::TempDir;

    use super::*;

    fn login_file(folder: &TempDir) -> LoginFile {
        LoginFile { path: folder.path().join("crh/launchpad/launchpad.net") }
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn login_file_is_readable_only_by_owner() {
        let folder = TempDir::new().unwrap();
        let login = login_file(&folder);
        login.prepare().unwrap();
        assert_eq!((mode(login.folder()), login.path.exists()), (0o700, false));
        fs::write(&login.path, "old").unwrap();
        for (path, mode) in [(login.folder(), 0o755), (&login.path, 0o644)] {
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        }
        assert!(is_open_to_others(&login.path));
        login.prepare().unwrap();
        assert_eq!(fs::read_to_string(&login.path).unwrap(), "old", "nothing is lost yet");
        login.replace(&"new".into()).unwrap();
        assert_eq!((mode(login.folder()), mode(&login.path)), (0o700, 0o600));
        assert!(!is_open_to_others(&login.path));
        assert_eq!(fs::read_to_string(&login.path).unwrap(), "new");
        assert_eq!(fs::read_dir(login.folder()).unwrap().count(), 1, "nothing is left beside it");
        assert!(login.remove().unwrap());
        assert!(!login.remove().unwrap());
    }

    #[test]
    fn symlinks_are_rejected() {
        let folder = TempDir::new().unwrap();
        let login = login_file(&folder);
        login.prepare().unwrap();
        symlink(folder.path().join("elsewhere"), &login.path).unwrap();
        let why = login.prepare().unwrap_err().error.to_string();
        assert!(why.contains("is a symlink, not a file"), "{why}");
        fs::remove_file(&login.path).unwrap();
        fs::remove_dir(login.folder()).unwrap();
        let other_folder = folder.path().join("there");
        fs::create_dir(&other_folder).unwrap();
        symlink(&other_folder, login.folder()).unwrap();
        let why = login.prepare().unwrap_err().error.to_string();
        assert!(why.contains("is a symlink, not a folder"), "{why}");
        assert_eq!(fs::read_dir(&other_folder).unwrap().count(), 0);
    }
}
