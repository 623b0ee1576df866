//! Exit codes of failed commands.

use std::process::ExitCode;

pub(crate) use crh_pipeline::failure::{Failure, FailureKind, OrFail};

/// The exit code of a failed command.
pub(crate) fn exit_code(kind: FailureKind) -> ExitCode {
    ExitCode::from(match kind {
        FailureKind::Usage => 2,
        FailureKind::External => 3,
        FailureKind::Skipped => 4,
        FailureKind::Bug => 70,
    })
}
