//! Raw mode of the console: crh does not use it on Windows, and numbers the options instead.

use std::io;

/// Raw mode, which is never on.
pub(super) struct RawMode(());

impl RawMode {
    /// Fails, so that the question is asked line by line.
    pub(super) fn enable() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Nothing to restore.
pub(in crate::ui) fn try_restore() {}
