//! Descendants that left the process group of their command: only Linux lets crh adopt them. On
//! Windows, no process leaves the job of the command.

/// Whether orphaned descendants become children of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Descendants {
    /// Orphans go to another process.
    Unreachable,
}

impl Descendants {
    pub(super) fn adopt() -> Self {
        Self::Unreachable
    }

    pub(super) fn kill(self) {}
}
