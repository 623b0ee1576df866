//! Static reviewers: checks that need no model. They get the contents of a change as values and
//! know neither git nor a forge. External analysers are started only in `process.rs`.
//!
//! Invariants:
//! - The same input gives the same findings in the same order, and their number is limited.
//! - Work grows linearly with the size of the input.
//! - No finding contains a secret.

pub mod analysers;
mod cached_project;
mod change;
mod changed_statements;
mod consistency;
mod file_context;
mod findings;
pub mod injection;
mod installation;
mod lazy_option;
mod leftovers;
mod paths;
mod patterns;
mod process;
mod references;
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
mod whitespace;
mod workflows;

pub use change::{AddedLine, ChangeView, ChangedFile, Project, SearchHit, SearchHits};
pub use findings::{StaticFinding, StaticOutput};
pub use paths::{is_in_use, name_words};
pub use patterns::{PatternRules, RuleFile};
pub use review::{StaticRun, review};
pub use rule::{LintRule, rules};
pub use suppress::{IgnoreComments, InvalidIgnore, Suppression, name_matches_rule};
pub use whitespace::fold_whitespace;

/// Names of the built-in reviewers, in display order.
#[rustfmt::skip]
pub const REVIEWERS: [&str; 8] = [
    "secrets", "syntax", "references", "leftovers", "workflows", "consistency", "patterns", "injection",
];
