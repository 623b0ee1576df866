//! Converts errors of the journal into failures with an exit code and a hint.

use super::journal::{MARKER, NotApplied};
use crate::failure::{Failure, FailureKind};

impl From<NotApplied> for Failure {
    fn from(why: NotApplied) -> Self {
        let (kind, hint) = match &why {
            NotApplied::Busy => (FailureKind::External, "wait until it ends".to_owned()),
            NotApplied::Place { .. } | NotApplied::Changed { .. } | NotApplied::Io { .. } => {
                (FailureKind::External, "nothing was changed".to_owned())
            }
            NotApplied::Unread { .. } => (
                FailureKind::External,
                "nothing was changed; undo the fixes with git and review again".to_owned(),
            ),
            NotApplied::Edited { .. } => (
                FailureKind::Usage,
                "nothing was changed; undo your edits to the file first".to_owned(),
            ),
            NotApplied::Between { .. } => (
                FailureKind::Usage,
                "nothing was changed; the original content is in the folder `fixes` of the run"
                    .to_owned(),
            ),
            NotApplied::Elsewhere { .. } => (
                FailureKind::Usage,
                "nothing was changed; run the command in that checkout".to_owned(),
            ),
            NotApplied::Stuck { .. } | NotApplied::Lost { .. } => (
                FailureKind::External,
                format!(
                    "restore the file, or check all files and delete `{MARKER}` to keep them as they are"
                ),
            ),
        };
        Self::new(kind, why).hint(hint)
    }
}
