//! Environment variables and programs.

#[cfg_attr(unix, path = "environment/unix.rs")]
#[cfg_attr(windows, path = "environment/windows.rs")]
mod system;

use std::ffi::{OsStr, OsString};

/// The variable with the user's home folder.
pub const HOME: &str = system::HOME;
/// A value of `PATH` with the folders of the system's programs.
pub const SYSTEM_PATH: &str = system::SYSTEM_PATH;

/// Variables that every program needs to start, for a child that gets no others. Unix: none.
pub fn system_variables() -> impl Iterator<Item = (&'static str, OsString)> {
    present(system::SYSTEM_VARIABLES)
}

/// Variables besides [`HOME`] with folders of the user. Unix: none.
pub fn user_variables() -> impl Iterator<Item = (&'static str, OsString)> {
    present(system::USER_VARIABLES)
}

/// Whether two names mean the same variable. Windows ignores case.
pub fn is_same_variable(name: &str, other: &str) -> bool {
    system::is_same_variable(name, other)
}

/// The file that the name of a program means with this value of `PATH`.
///
/// Unix: the path of that file, or the bare name if there is none. A path is faster to start: to
/// search `PATH` in the child, the standard library copies the memory map of this process.
///
/// Windows: `name.exe` in one of the folders, or a name that does not exist. A bare name would also
/// be searched in the `PATH` of this process.
pub fn program_in(name: &str, path: &OsStr) -> OsString {
    system::program_in(name, path)
}

fn present(names: &'static [&'static str]) -> impl Iterator<Item = (&'static str, OsString)> {
    names.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)))
}
