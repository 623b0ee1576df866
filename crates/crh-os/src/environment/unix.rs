//! Unix: programs need no variables.

use std::ffi::{OsStr, OsString};

pub(super) const HOME: &str = "HOME";
pub(super) const SYSTEM_PATH: &str = "/usr/bin:/bin";
pub(super) const SYSTEM_VARIABLES: &[&str] = &[];
pub(super) const USER_VARIABLES: &[&str] = &[];

pub(super) fn is_same_variable(name: &str, other: &str) -> bool {
    name == other
}

/// `execvp` searches only the given `PATH`.
pub(super) fn program_in(name: &str, _: &OsStr) -> OsString {
    OsString::from(name)
}
