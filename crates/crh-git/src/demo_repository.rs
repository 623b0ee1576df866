//! Creates a small repository with some changes for the demo. Commit ids are the same everywhere.

use std::path::Path;

use crate::fast_import::FastImport;
use crate::{Git, GitError};

/// Fixed committer and date, which keep the commit ids stable.
const COMMITTER: &str = "crh demo <demo@example.com> 1767268800 +0000";

/// A commit of the demo.
#[derive(Debug, Clone, Copy)]
pub struct DemoCommit<'a> {
    /// Commit message.
    pub message: &'a str,
    /// Paths and contents.
    pub files: &'a [(&'a str, &'a str)],
}

/// Creates a repository in an empty folder: `base` is the commit of `main`, and each change is a
/// commit after it, on its own branch. The first of these branches is checked out.
pub fn create_demo_repository(
    folder: &Path,
    base: &DemoCommit<'_>,
    changes: &[(&str, &DemoCommit<'_>)],
) -> Result<(), GitError> {
    let git = Git::in_folder(folder);
    git.run(["init", "--quiet", "--initial-branch=main", "--template="])?;
    let mut import = FastImport::default();
    let changes_from_main = changes.iter().map(|(branch, commit)| (*branch, "main", *commit));
    for (branch, from, commit) in [("main", "", base)].into_iter().chain(changes_from_main) {
        import.commit(branch, COMMITTER, commit.message, from);
        for (path, text) in commit.files {
            import.file(path, text.as_bytes());
        }
    }
    import.run(&git)?;
    if let Some((branch, _)) = changes.first() {
        git.run(["checkout", "--quiet", branch])?;
    }
    Ok(())
}
