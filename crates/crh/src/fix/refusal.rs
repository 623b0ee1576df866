//! Converts errors of the journal into failures with an exit code and a hint.

use super::journal::{ApplyError, MARKER};
use crate::failure::{Failure, FailureKind};

impl From<ApplyError> for Failure {
    fn from(why: ApplyError) -> Self {
        let (kind, hint) = match &why {
            ApplyError::Busy => (FailureKind::External, "wait until it ends".to_owned()),
            ApplyError::Place { .. } | ApplyError::Changed { .. } | ApplyError::Io { .. } => {
                (FailureKind::External, "nothing was changed".to_owned())
            }
            ApplyError::Unread { .. } => (
                FailureKind::External,
                "nothing was changed; undo the fixes with git and review again".to_owned(),
            ),
            ApplyError::Edited { .. } => (
                FailureKind::Usage,
                "crh changed nothing; undo your own edits to the file first".to_owned(),
            ),
            ApplyError::Between { .. } => (
                FailureKind::Usage,
                "nothing was changed; the original content is in the folder `fixes` of the run"
                    .to_owned(),
            ),
            ApplyError::Elsewhere { .. } => (
                FailureKind::Usage,
                "nothing was changed; run the command in that checkout".to_owned(),
            ),
            ApplyError::Stuck { .. } | ApplyError::Lost { .. } => (
                FailureKind::External,
                format!(
                    "restore the file, or check all files and delete `{MARKER}` to keep them as they are"
                ),
            ),
        };
        Self::new(kind, why).hint(hint)
    }
}
