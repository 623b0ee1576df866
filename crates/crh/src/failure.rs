//! A failed command: exit code, error and hint.

use std::fmt::Display;
use std::io;
use std::io::ErrorKind;
use std::process::ExitCode;

/// Cause of a failure. Determines the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// The command line, an input file or a setting is wrong.
    Usage,
    /// Git, the network, a service or the disk failed.
    External,
    /// Not reviewed because of a setting or a limit. Not an error, but not a success either.
    Skipped,
    /// A bug in crh.
    Bug,
}

/// An error to print, with its exit code and a hint.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: FailureKind,
    pub(crate) error: anyhow::Error,
    pub(crate) hint: Option<String>,
}

impl FailureKind {
    /// The kind of a file error: `External` if crh may not write or the disk is full. Other errors
    /// come from a wrong path.
    pub(crate) fn from_io(error: &io::Error) -> Self {
        match error.kind() {
            ErrorKind::PermissionDenied
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::StorageFull
            | ErrorKind::QuotaExceeded => Self::External,
            _ => Self::Usage,
        }
    }

    pub(crate) fn exit_code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Usage => 2,
            Self::External => 3,
            Self::Skipped => 4,
            Self::Bug => 70,
        })
    }
}

impl Failure {
    pub(crate) fn new(kind: FailureKind, error: impl Into<anyhow::Error>) -> Self {
        Self { kind, error: error.into(), hint: None }
    }

    /// An error in the user's input.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self { kind: FailureKind::Usage, error: anyhow::anyhow!("{message}"), hint: None }
    }

    /// Sets the hint: what the user can do.
    pub(crate) fn hint(self, hint: impl Display) -> Self {
        Self { hint: Some(hint.to_string()), ..self }
    }
}

/// Adds a failure kind to an error.
pub(crate) trait OrFail<T> {
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
