//! Reviewers that need no model. They are given what the change contains as values and know neither git nor a forge.
//! Analysers that others wrote are started here (`process.rs`) and nowhere else.
//!
//! Invariants:
//! - the same values give the same findings in the same order, and there is a most of them;
//! - work grows with the size of what is given, whatever stands in it;
//! - no finding contains a secret.

mod changed_file;
mod found;
pub mod injection;
mod paths;
mod process;
pub mod ruff;
pub mod secrets;
pub mod syntax;

pub use changed_file::AddedLine;
pub use changed_file::ChangedFile;
pub use found::Returned;
