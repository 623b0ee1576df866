//! What crh remembers of a repository: what became of posted issues, lessons from maintainers, and
//! weights that predict whether a maintainer acts on an issue.
//!
//! Invariants: only [`history`] does I/O. A lesson never hides a finding of severity P0, a
//! credential or an attempt to instruct the reviewer. Stored history contains no code. It contains
//! a title only with a dismissal that can become a lesson.

pub mod calibration;
mod cited_code;
pub mod history;
pub mod labelled;
pub mod lesson;
pub mod outcome;
pub mod proposal;
pub mod stats;
