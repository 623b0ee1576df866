//! Reviewers that need no model. They are given what the change contains as values and know neither git nor a forge.
//! Analysers that others wrote are started here (`process.rs`) and nowhere else.
//!
//! Invariants:
//! - the same values give the same findings in the same order, and there is a most of them;
//! - work grows with the size of what is given, whatever stands in it;
//! - no finding contains a secret.

pub mod analysers;
mod change;
mod consistency;
#[path = "whitespace.rs"]
mod fold;
#[path = "findings.rs"]
mod found;
pub mod injection;
#[path = "lazy_option.rs"]
mod lazy;
mod leftovers;
#[path = "file_context.rs"]
mod look;
mod paths;
mod patterns;
mod process;
mod references;
#[path = "cached_project.rs"]
mod remembered;
mod review;
pub mod ruff;
mod rule;
pub mod sandbox;
pub mod sarif;
pub mod secrets;
mod source;
mod suppress;
mod syntax;
#[cfg(test)]
mod testing;
#[path = "changed_statements.rs"]
mod touched;
mod workflows;

pub use change::{AddedLine, Change, ChangedFile, HitLine, Hits, Project};
pub use fold::folded;
pub use found::{Reported, Returned};
pub use paths::words_of;
pub use patterns::{Patterns, RuleFile};
pub use review::{Run, review};
pub use rule::{Rule, rules};
pub use suppress::{Ignores, Misfit, Suppression, is_named};

/// The reviewers that are built in, in the order in which they are listed everywhere.
pub const REVIEWERS: [&str; 8] = [
    "secrets",
    "syntax",
    "references",
    "leftovers",
    "workflows",
    "consistency",
    "patterns",
    "injection",
];
