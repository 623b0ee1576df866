//! File names. A repository stores them as bytes. Unix takes any bytes. Windows takes only Unicode,
//! and some names mean a device, a stream or a drive there.

#[cfg_attr(unix, path = "names/unix.rs")]
#[cfg_attr(windows, path = "names/windows.rs")]
mod system;

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// The bytes as a name or path of this system. Fails on Windows if they are not Unicode.
pub fn os_str(bytes: &[u8]) -> io::Result<&OsStr> {
    system::os_str(bytes)
}

/// A path of a repository, with `/`, as a path of this system. Fails on Windows if Windows cannot
/// have such a file, or would take the path for another one: `a\b`, `c:d`, `nul`, `x.`.
pub fn repository_path(path: &[u8]) -> io::Result<&Path> {
    system::check_path(path)?;
    os_str(path).map(Path::new)
}

/// A relative path of this system as a path of a repository, with `/`. `None` if it is not Unicode.
pub fn as_repository_path(path: &Path) -> Option<Cow<'_, str>> {
    path.to_str().map(system::with_slashes)
}

/// The absolute path without symlinks. On Windows, without the prefix `\\?\`, which git does not
/// understand.
pub fn canonical(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    path.as_ref().canonicalize().map(system::simplify)
}
