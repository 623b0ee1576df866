//! What a login has left: a file in a folder that only its owner can open, written as a whole or not at all.

use std::fs::{DirBuilder, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::Context as _;
use secrecy::{ExposeSecret, SecretString};

use super::credentials;
use crate::config::environment::Environment;
use crate::failure::{Failure, Kind, OrFail};
use crh_forge::launchpad::Service;

/// Nobody but its owner opens the folder.
const FOLDER_MODE: u32 = 0o700;

/// Nobody but its owner reads the file.
const FILE_MODE: u32 = 0o600;

/// What others may do with a file.
const OTHERS: u32 = 0o077;

/// The file of one Launchpad.
pub(super) struct Kept {
    path: PathBuf,
}

impl Kept {
    /// That of a Launchpad.
    pub(super) fn of(service: &Service, environment: &Environment) -> Result<Self, Failure> {
        match credentials::kept_at(service, environment) {
            Some(path) => Ok(Self { path }),
            None => Err(Failure::usage("there is no home to keep a login in")
                .hint("set `HOME` or `XDG_CONFIG_HOME`")),
        }
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes its folder, and finds out before anybody is asked whether it can be written.
    pub(super) fn prepare(&self) -> Result<(), Failure> {
        let folder = self.folder();
        DirBuilder::new()
            .recursive(true)
            .mode(FOLDER_MODE)
            .create(folder)
            .map_err(|error| not_written(folder, error))?;
        // Whoever can put a link here sends the secret to a place of theirs.
        let found = fs::symlink_metadata(folder).map_err(|error| not_written(folder, error))?;
        if found.is_symlink() {
            return Err(refused(folder, "is a link, and not a folder"));
        }
        if found.permissions().mode() & OTHERS != 0 {
            fs::set_permissions(folder, Permissions::from_mode(FOLDER_MODE))
                .map_err(|error| not_written(folder, error))?;
        }
        match fs::symlink_metadata(&self.path) {
            Ok(found) if found.is_symlink() => {
                return Err(refused(&self.path, "is a link, and not a file"));
            }
            Ok(found) if !found.is_file() => return Err(refused(&self.path, "is not a file")),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(not_written(&self.path, error)),
        }
        self.beside().map(drop)
    }

    /// Puts a new text in the place of the old one.
    pub(super) fn replace(&self, text: &SecretString) -> Result<(), Failure> {
        let failed = |error| not_written(&self.path, error);
        let mut new = self.beside()?;
        new.write_all(text.expose_secret().as_bytes()).map_err(failed)?;
        new.as_file().sync_all().map_err(failed)?;
        new.persist(&self.path).map_err(|error| failed(error.error))?;
        Ok(())
    }

    /// Removes it; whether there was one.
    pub(super) fn forget(&self) -> Result<bool, Failure> {
        match fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => {
                let what = format!("removing `{}`", self.path.display());
                Err(error).context(what).or_fail(Kind::Outside)
            }
        }
    }

    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    /// A new file in the same folder, which is gone unless it is put in the place of the other.
    fn beside(&self) -> Result<tempfile::NamedTempFile, Failure> {
        tempfile::Builder::new()
            .prefix(".login-")
            .permissions(Permissions::from_mode(FILE_MODE))
            .tempfile_in(self.folder())
            .map_err(|error| not_written(self.folder(), error))
    }
}

/// Whether others than its owner may read or change a file.
pub(super) fn is_open_to_others(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.permissions().mode() & OTHERS != 0)
}

fn refused(path: &Path, why: &str) -> Failure {
    let path = path.display();
    Failure::usage(format!("`{path}` {why}: no secret is put there")).hint("move it away")
}

fn not_written(path: &Path, error: io::Error) -> Failure {
    let what = format!("a login is kept in `{}`, which cannot be written", path.display());
    Failure::new(Kind::Outside, anyhow::Error::new(error).context(what))
        .hint("`XDG_CONFIG_HOME` says where the folder of crh is")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    fn kept(folder: &TempDir) -> Kept {
        Kept { path: folder.path().join("crh/launchpad/launchpad.net") }
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn only_its_owner_reads_what_is_kept() {
        let folder = TempDir::new().unwrap();
        let kept = kept(&folder);
        kept.prepare().unwrap();
        assert_eq!((mode(kept.folder()), kept.path.exists()), (0o700, false));
        fs::write(&kept.path, "old").unwrap();
        for (path, mode) in [(kept.folder(), 0o755), (&kept.path, 0o644)] {
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        }
        assert!(is_open_to_others(&kept.path));
        kept.prepare().unwrap();
        assert_eq!(fs::read_to_string(&kept.path).unwrap(), "old", "nothing is lost yet");
        kept.replace(&"new".into()).unwrap();
        assert_eq!((mode(kept.folder()), mode(&kept.path)), (0o700, 0o600));
        assert!(!is_open_to_others(&kept.path));
        assert_eq!(fs::read_to_string(&kept.path).unwrap(), "new");
        assert_eq!(fs::read_dir(kept.folder()).unwrap().count(), 1, "nothing is left beside it");
        assert!(kept.forget().unwrap());
        assert!(!kept.forget().unwrap());
    }

    #[test]
    fn no_secret_goes_through_a_link() {
        let folder = TempDir::new().unwrap();
        let kept = kept(&folder);
        kept.prepare().unwrap();
        symlink(folder.path().join("elsewhere"), &kept.path).unwrap();
        let why = kept.prepare().unwrap_err().error.to_string();
        assert!(why.contains("is a link, and not a file"), "{why}");
        fs::remove_file(&kept.path).unwrap();
        fs::remove_dir(kept.folder()).unwrap();
        let there = folder.path().join("there");
        fs::create_dir(&there).unwrap();
        symlink(&there, kept.folder()).unwrap();
        let why = kept.prepare().unwrap_err().error.to_string();
        assert!(why.contains("is a link, and not a folder"), "{why}");
        assert_eq!(fs::read_dir(&there).unwrap().count(), 0);
    }
}
