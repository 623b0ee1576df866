//! A small repository with one change, for showing what crh does. The same files give the same commits everywhere.

use std::path::Path;

use crate::fast_import::FastImport;
use crate::{Git, GitError};

/// Who commits, and when: part of the commits' names, so that they never change.
const COMMITTER: &str = "crh demo <demo@example.com> 1767268800 +0000";

/// A commit: its message, and the files that it writes.
#[derive(Debug, Clone, Copy)]
pub struct Written<'a> {
    /// The message.
    pub message: &'a str,
    /// Paths from the root, and what is in them.
    pub files: &'a [(&'a str, &'a str)],
}

/// Makes a repository in an empty folder: `base` on `main`, then `change` on a branch that stays checked out.
pub fn throw_away(
    folder: &Path,
    base: &Written<'_>,
    branch: &str,
    change: &Written<'_>,
) -> Result<(), GitError> {
    let git = Git::in_folder(folder);
    git.run(["init", "--quiet", "--initial-branch=main", "--template="])?;
    let mut list = FastImport::default();
    for (branch, from, written) in [("main", "", base), (branch, "main", change)] {
        list.commit(branch, COMMITTER, written.message, from);
        for (path, text) in written.files {
            list.file(path, text.as_bytes());
        }
    }
    list.run(&git)?;
    git.run(["checkout", "--quiet", branch])?;
    Ok(())
}
