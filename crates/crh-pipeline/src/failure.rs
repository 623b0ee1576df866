//! A failed command: cause, error and hint.

use std::fmt::Display;
use std::io;
use std::io::ErrorKind;

/// Cause of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The command line, an input file or a setting is wrong.
    Usage,
    /// Git, the network, a service or the disk failed.
    External,
    /// Not reviewed because of a setting or a limit. Not an error, but not a success either.
    Skipped,
    /// A bug in crh.
    Bug,
}

/// An error to show, with its cause and a hint.
#[derive(Debug)]
pub struct Failure {
    /// The cause, which determines the exit code.
    pub kind: FailureKind,
    /// The error, with its context.
    pub error: anyhow::Error,
    /// What the user can do.
    pub hint: Option<String>,
}

impl FailureKind {
    /// `External` if crh may not access the path or the disk is full. Otherwise `Usage`, since the
    /// user's path is probably wrong.
    pub fn from_io(error: &io::Error) -> Self {
        match error.kind() {
            ErrorKind::PermissionDenied
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::StorageFull
            | ErrorKind::QuotaExceeded => Self::External,
            _ => Self::Usage,
        }
    }
}

impl Failure {
    /// A failure without a hint.
    pub fn new(kind: FailureKind, error: impl Into<anyhow::Error>) -> Self {
        Self { kind, error: error.into(), hint: None }
    }

    /// An error in the user's input.
    pub fn usage(message: impl Display) -> Self {
        Self { kind: FailureKind::Usage, error: anyhow::anyhow!("{message}"), hint: None }
    }

    /// Sets the hint: what the user can do.
    pub fn hint(self, hint: impl Display) -> Self {
        Self { hint: Some(hint.to_string()), ..self }
    }
}

/// Adds a failure kind to an error.
pub trait OrFail<T> {
    /// Turns the error into a failure of this kind.
    fn or_fail(self, kind: FailureKind) -> Result<T, Failure>;
}

impl<T, E: Into<anyhow::Error>> OrFail<T> for Result<T, E> {
    fn or_fail(self, kind: FailureKind) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(kind, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disk_errors_are_external() {
        let kind = |kind: ErrorKind| FailureKind::from_io(&io::Error::from(kind));
        assert_eq!(kind(ErrorKind::PermissionDenied), FailureKind::External);
        assert_eq!(kind(ErrorKind::StorageFull), FailureKind::External);
        assert_eq!(kind(ErrorKind::NotADirectory), FailureKind::Usage);
    }
}
