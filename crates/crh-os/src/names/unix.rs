//! Unix: every sequence of bytes is a name.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

#[expect(clippy::unnecessary_wraps, reason = "fails on Windows")]
pub(super) fn os_str(bytes: &[u8]) -> io::Result<&OsStr> {
    Ok(OsStr::from_bytes(bytes))
}

#[expect(clippy::unnecessary_wraps, reason = "fails on Windows")]
pub(super) fn check_path(_: &[u8]) -> io::Result<()> {
    Ok(())
}

pub(super) fn with_slashes(path: &str) -> Cow<'_, str> {
    Cow::Borrowed(path)
}

pub(super) fn simplify(path: PathBuf) -> PathBuf {
    path
}
