//! Why a checkout was left alone, for the user: whose fault that is, and what can be done about it.

use super::journal::{MARKER, NotApplied};
use crate::failure::{Failure, Kind};

impl From<NotApplied> for Failure {
    fn from(why: NotApplied) -> Self {
        let (kind, hint) = match &why {
            NotApplied::Busy => (Kind::Outside, "wait until it has ended".to_owned()),
            NotApplied::Place { .. } | NotApplied::Changed { .. } | NotApplied::Io { .. } => {
                (Kind::Outside, "nothing was changed".to_owned())
            }
            NotApplied::Unread { .. } => (
                Kind::Outside,
                "nothing was changed; take back by git what was fixed, and review again".to_owned(),
            ),
            NotApplied::Edited { .. } => {
                (Kind::Usage, "nothing was changed; put away what you did to it since".to_owned())
            }
            NotApplied::Between { .. } => (
                Kind::Usage,
                "nothing was changed; what it was like is in the folder `fixes` of the run"
                    .to_owned(),
            ),
            NotApplied::Elsewhere { .. } => {
                (Kind::Usage, "go into that checkout; nothing was changed".to_owned())
            }
            NotApplied::Stuck { .. } | NotApplied::Lost { .. } => (
                Kind::Outside,
                format!(
                    "put the file back, or look at all files and delete `{MARKER}` to keep them as they are"
                ),
            ),
        };
        Self::new(kind, why).hint(hint)
    }
}
