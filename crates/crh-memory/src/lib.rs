//! What crh remembers of a repository: what became of posted issues, lessons that maintainers
//! confirmed, and a model that turns both into a probability.
//!
//! Invariants: only [`history`] does I/O. A lesson never hides a P0, a credential or an attempt to
//! instruct the reviewer. Stored history contains no code and no titles, except what a lesson quotes.

pub mod calibration;
mod cited_code;
pub mod history;
pub mod labelled;
pub mod lesson;
pub mod outcome;
pub mod proposal;
pub mod stats;
