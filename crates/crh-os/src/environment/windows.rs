//! Windows: programs need variables of the system, for example for the network.

use std::ffi::{OsStr, OsString};
use std::path::Path;

pub(super) const HOME: &str = "USERPROFILE";
pub(super) const SYSTEM_PATH: &str = r"C:\Windows\System32";
pub(super) const SYSTEM_VARIABLES: &[&str] =
    &["SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP"];
pub(super) const USER_VARIABLES: &[&str] = &[
    "USERPROFILE",
    "HOMEDRIVE",
    "HOMEPATH",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES",
];

pub(super) fn is_same_variable(name: &str, other: &str) -> bool {
    name.eq_ignore_ascii_case(other)
}

pub(super) fn program_in(name: &str, path: &OsStr) -> OsString {
    if Path::new(name).is_absolute() {
        return OsString::from(name);
    }
    let file = match Path::new(name).extension() {
        Some(_) => name.to_owned(),
        None => format!("{name}.exe"),
    };
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    let mut files = folders.map(|folder| folder.join(&file));
    let found = files.find(|file| file.is_file());
    found.map_or_else(|| OsString::from(format!(r"\\?\not-found\{name}")), OsString::from)
}
