//! Why a command failed: whose fault it is (the exit code), what happened, and what to do about it.

use std::fmt::Display;
use std::process::ExitCode;

/// Whose fault a failure is. Each has its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The command line, a file or a setting is wrong.
    Usage,
    /// Git, a remote or the disk failed: nothing was done.
    Outside,
    /// A rule says that it is not to be done. That is no fault, and must not be taken for what is done.
    Skipped,
    /// crh is wrong.
    Bug,
}

/// A failure on its way to the user.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    pub(crate) error: anyhow::Error,
    pub(crate) hint: Option<String>,
}

impl Kind {
    pub(crate) fn exit_code(self) -> ExitCode {
        ExitCode::from(match self {
            Self::Usage => 2,
            Self::Outside => 3,
            Self::Skipped => 4,
            Self::Bug => 70,
        })
    }
}

impl Failure {
    /// An error, and whose fault it is.
    pub(crate) fn new(kind: Kind, error: impl Into<anyhow::Error>) -> Self {
        Self { kind, error: error.into(), hint: None }
    }

    /// Something the user gave is wrong.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self { kind: Kind::Usage, error: anyhow::anyhow!("{message}"), hint: None }
    }

    /// Adds what to do about it.
    pub(crate) fn hint(self, hint: impl Display) -> Self {
        Self { hint: Some(hint.to_string()), ..self }
    }
}

/// Turns an error into a failure, at the place that knows whose fault it is.
pub(crate) trait OrFail<T> {
    fn or_fail(self, kind: Kind) -> Result<T, Failure>;
}

impl<T, E: Into<anyhow::Error>> OrFail<T> for Result<T, E> {
    fn or_fail(self, kind: Kind) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(kind, error))
    }
}
