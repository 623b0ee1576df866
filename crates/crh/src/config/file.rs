//! Files of settings: found, bounded and known to be text before anything reads them.

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::Context;

use super::environment::{CONFIG_VARIABLE, Environment, UserConfig};
use crate::failure::{Failure, Kind, OrFail};

/// The repository's file, in its root.
pub(crate) const REPOSITORY_FILE: &str = "crh.toml";

/// Hundreds of times what a person writes; reading it takes no time that anybody notices.
const FILE_MAX: usize = 1 << 20;
const UNREADABLE_HINT: &str = "check who may read it; `CRH_CONFIG` can name another file";
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A file of settings that is text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigFile {
    /// What people know it as.
    pub(crate) name: String,
    /// Where its relative paths start.
    pub(crate) folder: PathBuf,
    /// What it says.
    pub(crate) text: String,
}

impl ConfigFile {
    /// A file from its bytes, wherever they come from.
    pub(crate) fn new(name: String, folder: PathBuf, bytes: Vec<u8>) -> Result<Self, Failure> {
        if bytes.len() > FILE_MAX {
            return Err(Failure::usage(format!("`{name}` is larger than 1 MiB"))
                .hint("a file of settings is a few lines; is it the right file?"));
        }
        if bytes.starts_with(BYTE_ORDER_MARK) {
            return Err(Failure::usage(format!("`{name}` starts with a byte order mark"))
                .hint("save it as UTF-8 without one"));
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let good = error.utf8_error().valid_up_to();
            let line = error.as_bytes()[..good].iter().filter(|byte| **byte == b'\n').count() + 1;
            Failure::usage(format!("{name}:{line}: this is not UTF-8")).hint("save it as UTF-8")
        })?;
        Ok(Self { name, folder, text })
    }
}

/// The file in the root of a checkout; none if there is none.
pub(crate) fn repository_file(root: &Path) -> Result<Option<ConfigFile>, Failure> {
    let path = root.join(REPOSITORY_FILE);
    // A link could lead to any file of the user's, and errors quote what they find.
    let found = found(REPOSITORY_FILE, fs::symlink_metadata(&path))?;
    let Some(found) = found else { return Ok(None) };
    regular(REPOSITORY_FILE, &found)?;
    Ok(Some(read(REPOSITORY_FILE.to_owned(), &path)?))
}

/// The user's file; none if there is none in the usual place.
pub(super) fn user_file(environment: &Environment) -> Result<Option<ConfigFile>, Failure> {
    let (path, hint) = match environment.user_config() {
        UserConfig::Nowhere => return Ok(None),
        UserConfig::Named(path) => (path, format!("`{CONFIG_VARIABLE}` names it; is it a file?")),
        UserConfig::Usual(path) => {
            let name = environment.shown(&path);
            let Some(found) = found(&name, fs::metadata(&path))? else { return Ok(None) };
            regular(&name, &found)?;
            (path, UNREADABLE_HINT.to_owned())
        }
    };
    let file = read(environment.shown(&path), &path);
    file.map(Some).map_err(|failure| match failure.hint {
        Some(_) => failure,
        None => failure.hint(hint),
    })
}

/// What is there, or nothing. A folder on the way that is a file means nothing is there, too.
fn found(name: &str, looked: io::Result<Metadata>) -> Result<Option<Metadata>, Failure> {
    match looked {
        Ok(found) => Ok(Some(found)),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(None)
        }
        Err(error) => Err(error)
            .with_context(|| format!("reading `{name}`"))
            .or_fail(Kind::Usage)
            .map_err(|failure| failure.hint(UNREADABLE_HINT)),
    }
}

/// A folder cannot be read, and a pipe that nobody named would be waited for.
fn regular(name: &str, found: &Metadata) -> Result<(), Failure> {
    if found.is_file() {
        return Ok(());
    }
    let what = match found {
        found if found.is_dir() => "a folder",
        found if found.is_symlink() => "a symbolic link",
        _ => "a device or a pipe",
    };
    Err(Failure::usage(format!("`{name}` is {what}, not a file"))
        .hint("move it away, or put the file itself there"))
}

fn read(name: String, path: &Path) -> Result<ConfigFile, Failure> {
    let mut bytes = Vec::new();
    // One more than allowed shows that there is more.
    let bound = FILE_MAX as u64 + 1;
    File::open(path)
        .and_then(|file| file.take(bound).read_to_end(&mut bytes))
        .with_context(|| format!("reading `{name}`"))
        .or_fail(Kind::Usage)?;
    let folder = path.parent().unwrap_or(path).to_owned();
    ConfigFile::new(name, folder, bytes)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(bytes: &[u8], expected: Expect) {
        let shown = match ConfigFile::new("crh.toml".to_owned(), "/r".into(), bytes.to_vec()) {
            Ok(file) => format!("{:?}", file.text),
            Err(failure) => format!("{}; {}", failure.error, failure.hint.unwrap_or_default()),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn only_bounded_plain_text_is_taken() {
        check("ä".as_bytes(), expect![[r#""ä""#]]);
        check(b"a\nb\n\xff", expect!["crh.toml:3: this is not UTF-8; save it as UTF-8"]);
        check(
            b"\xef\xbb\xbfa = 1",
            expect!["`crh.toml` starts with a byte order mark; save it as UTF-8 without one"],
        );
        check(
            &vec![b'#'; FILE_MAX + 1],
            expect![
                "`crh.toml` is larger than 1 MiB; a file of settings is a few lines; is it the right file?"
            ],
        );
        assert!(ConfigFile::new(String::new(), "/r".into(), vec![b'#'; FILE_MAX]).is_ok());
    }
}
