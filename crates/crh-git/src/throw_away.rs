//! A small repository with one change, for showing what crh does. The same files give the same commits everywhere.

use std::path::Path;

use crate::Git;
use crate::GitError;

/// Who commits, and when: part of the commits' names, so that they never change.
const COMMITTER: &str = "committer crh demo <demo@example.com> 1767268800 +0000";

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
    let stream = [
        commit("main", "", base),
        commit(branch, "from refs/heads/main\n", change),
        "done\n".to_owned(),
    ];
    git.run_with_input(["fast-import", "--quiet", "--done"], stream.concat().as_bytes())?;
    git.run(["checkout", "--quiet", branch])?;
    Ok(())
}

/// A commit as `git fast-import` reads it.
fn commit(branch: &str, parent: &str, written: &Written<'_>) -> String {
    let message = written.message;
    let mut stream = format!(
        "commit refs/heads/{branch}\n{COMMITTER}\ndata {}\n{message}\n{parent}",
        message.len()
    );
    for (path, text) in written.files {
        stream += &format!("M 100644 inline {path}\ndata {}\n{text}\n", text.len());
    }
    stream
}
