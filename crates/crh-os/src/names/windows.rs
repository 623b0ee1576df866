//! Windows: names are Unicode. Some names are devices, streams or drives, and trailing dots and
//! spaces are cut off.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io;
use std::path::{Component, PathBuf, Prefix};

/// Characters that no name of a file has, or that separate or redirect paths.
const REJECTED_CHARS: &[char] = &['\\', ':', '<', '>', '"', '|', '?', '*'];
/// Names of devices, in every folder and with every extension.
const DEVICES: &[&str] = &[
    "con", "prn", "aux", "nul", "conin$", "conout$", "com0", "com1", "com2", "com3", "com4",
    "com5", "com6", "com7", "com8", "com9", "com¹", "com²", "com³", "lpt0", "lpt1", "lpt2", "lpt3",
    "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9", "lpt¹", "lpt²", "lpt³",
];

pub(super) fn os_str(bytes: &[u8]) -> io::Result<&OsStr> {
    let text = std::str::from_utf8(bytes).map_err(|_| invalid("the name is not Unicode"))?;
    Ok(OsStr::new(text))
}

pub(super) fn check_path(path: &[u8]) -> io::Result<()> {
    let path = std::str::from_utf8(path).map_err(|_| invalid("the name is not Unicode"))?;
    match path.split('/').all(is_plain_name) {
        true => Ok(()),
        false => Err(invalid("Windows cannot have a file of that name")),
    }
}

/// Whether Windows stores a file under exactly this name. Names of the form `git~1` are rejected,
/// because they can be the short name of another file.
fn is_plain_name(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_lowercase();
    let has_rejected_char = name.contains(REJECTED_CHARS) || name.chars().any(char::is_control);
    let is_cut_off = name.ends_with(['.', ' ']) && name != "." && name != "..";
    let is_short_name = stem.rsplit_once('~').is_some_and(|(_, number)| {
        !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit())
    });
    !has_rejected_char && !is_cut_off && !is_short_name && !DEVICES.contains(&stem.as_str())
}

pub(super) fn with_slashes(path: &str) -> Cow<'_, str> {
    Cow::Owned(path.replace('\\', "/"))
}

/// Removes the prefix `\\?\` from the path of a drive.
pub(super) fn simplify(path: PathBuf) -> PathBuf {
    let mut parts = path.components();
    let Some(Component::Prefix(prefix)) = parts.next() else { return path };
    let Prefix::VerbatimDisk(drive) = prefix.kind() else { return path };
    let mut simple = PathBuf::from(format!("{}:", char::from(drive)));
    simple.push(parts.as_path());
    // A longer path needs the prefix.
    if simple.as_os_str().len() < MAX_PATH { simple } else { path }
}

/// Length from which Windows needs the prefix.
const MAX_PATH: usize = 260;

fn invalid(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_mean_something_else_are_rejected() {
        for (path, expected) in [
            ("src/main.rs", true),
            (".gitignore", true),
            ("ä/日本.txt", true),
            ("a\\b", false),
            ("c:d", false),
            ("file.txt::$DATA", false),
            ("nul", false),
            ("sub/AUX.c", false),
            ("com1 .txt", false),
            ("x.", false),
            ("x ", false),
            ("git~1/config", false),
            ("a~b", true),
            ("what?", false),
        ] {
            assert_eq!(check_path(path.as_bytes()).is_ok(), expected, "{path}");
        }
        assert!(check_path(b"\xff").is_err());
    }

    #[test]
    fn prefix_of_a_drive_is_removed() {
        let simple = |path: &str| simplify(PathBuf::from(path)).into_os_string();
        assert_eq!(simple(r"\\?\C:\a\b"), r"C:\a\b");
        assert_eq!(simple(r"\\?\C:\"), r"C:\");
        assert_eq!(simple(r"\\?\UNC\host\share\a"), r"\\?\UNC\host\share\a");
    }
}
