//! A new text for one file: what a fixer brings, and what is applied.

use std::collections::BTreeSet;

/// A new text for one file of the reviewed tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdit {
    /// From the root, with `/` between its parts.
    pub path: String,
    /// What the file has in the reviewed tree; none if there is none.
    pub before: Option<Vec<u8>>,
    /// What it has afterwards; none if the file goes.
    pub after: Option<Vec<u8>>,
    /// The numbers of the issues that it is for.
    pub issues: BTreeSet<u32>,
}
