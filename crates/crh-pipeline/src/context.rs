//! What a panel is told besides the change: the standards that hold for it, and what the project learned before.

pub mod solutions;
mod standards;

pub use solutions::Solution;
pub use solutions::solutions_for;
pub use standards::Standard;
pub use standards::standards_for;

use crate::subject::Subject;

/// The end of a change at which the project's instructions are read: `base` or `head`. Locally the author and the reader are one;
/// what is proposed may come from anybody.
pub(crate) fn instructing_end(subject: &Subject) -> &'static str {
    let is_proposed =
        subject.workspace().is_ok_and(|workspace| !workspace.metadata().url.is_empty());
    if is_proposed { "base" } else { "head" }
}
