//! Reads config files, with a size limit and a UTF-8 check.

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::Context;

use super::environment::{CONFIG_VARIABLE, Environment, UserConfigPath};
use crate::failure::{Failure, FailureKind, OrFail};

/// Config file in the root of a repository.
pub(crate) const REPOSITORY_FILE: &str = "crh.toml";

/// Maximum size of a config file in bytes: far more than people write.
const FILE_MAX: usize = 1 << 20;
const UNREADABLE_HINT: &str = "check the file permissions, or set `CRH_CONFIG` to another file";
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The text of a config file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigFile {
    /// Name for messages.
    pub(crate) name: String,
    /// Folder that relative paths in the file start from.
    pub(crate) folder: PathBuf,
    pub(crate) text: String,
}

impl ConfigFile {
    /// Checks size and encoding of the bytes.
    pub(crate) fn new(name: String, folder: PathBuf, bytes: Vec<u8>) -> Result<Self, Failure> {
        if bytes.len() > FILE_MAX {
            return Err(Failure::usage(format!("`{name}` is larger than 1 MiB"))
                .hint("is this the right file? Config files have only a few lines"));
        }
        if bytes.starts_with(BYTE_ORDER_MARK) {
            return Err(Failure::usage(format!("`{name}` starts with a byte order mark"))
                .hint("save it as UTF-8 without one"));
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let valid_length = error.utf8_error().valid_up_to();
            let line =
                error.as_bytes()[..valid_length].iter().filter(|byte| **byte == b'\n').count() + 1;
            Failure::usage(format!("{name}:{line}: this is not UTF-8")).hint("save it as UTF-8")
        })?;
        Ok(Self { name, folder, text })
    }
}

/// The `crh.toml` in the root of a checkout, if there is one.
pub(crate) fn repository_file(root: &Path) -> Result<Option<ConfigFile>, Failure> {
    let path = root.join(REPOSITORY_FILE);
    // Symlinks are rejected: one could point to any file of the user, and error messages quote the
    // content.
    let metadata = metadata_if_exists(REPOSITORY_FILE, fs::symlink_metadata(&path))?;
    let Some(metadata) = metadata else { return Ok(None) };
    require_regular_file(REPOSITORY_FILE, &metadata)?;
    Ok(Some(read(REPOSITORY_FILE.to_owned(), &path)?))
}

/// The user's config file, if there is one.
pub(super) fn user_file(environment: &Environment) -> Result<Option<ConfigFile>, Failure> {
    let (path, hint) = match environment.user_config() {
        UserConfigPath::NoHome => return Ok(None),
        UserConfigPath::Explicit(path) => {
            (path, format!("`{CONFIG_VARIABLE}` must be the path of a file"))
        }
        UserConfigPath::Default(path) => {
            let name = environment.display_path(&path);
            let Some(metadata) = metadata_if_exists(&name, fs::metadata(&path))? else {
                return Ok(None);
            };
            require_regular_file(&name, &metadata)?;
            (path, UNREADABLE_HINT.to_owned())
        }
    };
    let file = read(environment.display_path(&path), &path);
    file.map(Some).map_err(|failure| match failure.hint {
        Some(_) => failure,
        None => failure.hint(hint),
    })
}

/// Metadata of a file, or none if it does not exist or a parent is not a folder.
fn metadata_if_exists(
    name: &str,
    metadata: io::Result<Metadata>,
) -> Result<Option<Metadata>, Failure> {
    match metadata {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(None)
        }
        Err(error) => Err(error)
            .with_context(|| format!("cannot read `{name}`"))
            .or_fail(FailureKind::Usage)
            .map_err(|failure| failure.hint(UNREADABLE_HINT)),
    }
}

/// Rejects folders and pipes. Reading a pipe would block.
fn require_regular_file(name: &str, metadata: &Metadata) -> Result<(), Failure> {
    if metadata.is_file() {
        return Ok(());
    }
    let kind = match metadata {
        metadata if metadata.is_dir() => "a folder",
        metadata if metadata.is_symlink() => "a symbolic link",
        _ => "a device or a pipe",
    };
    Err(Failure::usage(format!("`{name}` is {kind}, not a file"))
        .hint("remove it, or replace it with a regular file"))
}

fn read(name: String, path: &Path) -> Result<ConfigFile, Failure> {
    let mut bytes = Vec::new();
    // Read one byte more than allowed, to detect larger files.
    let max_bytes = FILE_MAX as u64 + 1;
    File::open(path)
        .and_then(|file| file.take(max_bytes).read_to_end(&mut bytes))
        .with_context(|| format!("cannot read `{name}`"))
        .or_fail(FailureKind::Usage)?;
    let folder = path.parent().unwrap_or(path).to_owned();
    ConfigFile::new(name, folder, bytes)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(bytes: &[u8], expected: Expect) {
        let outcome = match ConfigFile::new("crh.toml".to_owned(), "/r".into(), bytes.to_vec()) {
            Ok(file) => format!("{:?}", file.text),
            Err(failure) => format!("{}; {}", failure.error, failure.hint.unwrap_or_default()),
        };
        expected.assert_eq(&outcome);
    }

    #[test]
    fn large_or_non_utf8_config_is_rejected() {
        check("ä".as_bytes(), expect![[r#""ä""#]]);
        check(b"a\nb\n\xff", expect!["crh.toml:3: this is not UTF-8; save it as UTF-8"]);
        check(
            b"\xef\xbb\xbfa = 1",
            expect!["`crh.toml` starts with a byte order mark; save it as UTF-8 without one"],
        );
        check(
            &vec![b'#'; FILE_MAX + 1],
            expect![
                "`crh.toml` is larger than 1 MiB; is this the right file? Config files have only a few lines"
            ],
        );
        assert!(ConfigFile::new(String::new(), "/r".into(), vec![b'#'; FILE_MAX]).is_ok());
    }
}
