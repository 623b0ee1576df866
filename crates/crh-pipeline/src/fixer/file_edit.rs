//! An edit of one file, proposed by a fixer.

use std::collections::BTreeSet;

/// New contents for a file of the reviewed tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdit {
    /// Path from the repository root, with `/`.
    pub path: String,
    /// Contents in the reviewed tree. `None` if the file is new.
    pub before: Option<Vec<u8>>,
    /// New contents. `None` if the file is deleted.
    pub after: Option<Vec<u8>>,
    /// Numbers of the issues that it fixes.
    pub issues: BTreeSet<u32>,
}
