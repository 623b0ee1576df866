//! Applies a patch to a commit, forward or in reverse, and commits the result. The repository needs
//! no commit from which the patch was made.

use std::ffi::OsString;

use crate::process::{Git, GitError};
use crate::store::{SNAPSHOT_IDENTITY, Store};
use crate::store_files::remove_if_exists;
use crate::{SNAPSHOT_SUBJECT, StoreError};
use crh_os::names::os_str;

/// Direction in which a patch is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchDirection {
    /// From the old to the new state.
    Forward,
    /// From the new to the old state.
    Reverse,
}

/// A patch to apply.
#[derive(Debug, Clone, Copy)]
pub struct Patch<'p> {
    /// The diff.
    pub bytes: &'p [u8],
    /// Number of leading folders in the names of the diff that are not part of the paths.
    pub strip: usize,
    /// Whether a hunk has context lines. A hunk without context lines after its changes is then at
    /// the end of the file.
    pub has_context: bool,
}

impl Store {
    /// Commits the state after a patch is applied to a commit, as a child of that commit. Paths in
    /// `excluded` stay as they are. `None` if the patch does not apply.
    pub fn apply_patch(
        &self,
        commit: &str,
        patch: Patch<'_>,
        direction: PatchDirection,
        excluded: &[Vec<u8>],
    ) -> Result<Option<String>, StoreError> {
        let index = self.bare().folder().join("patch-index");
        let io = |source| StoreError::Io { folder: self.bare().folder().to_owned(), source };
        // A killed crh may have left these files. The store is locked, so no process uses them.
        let lock = self.bare().folder().join("patch-index.lock");
        for path in [&index, &lock] {
            remove_if_exists(path).map_err(io)?;
        }
        let git = self.bare().git().with_variable("GIT_INDEX_FILE", &index);
        let commit = apply(&git, commit, patch, direction, excluded);
        remove_if_exists(&index).map_err(io)?;
        Ok(commit?)
    }
}

fn apply(
    git: &Git,
    commit: &str,
    patch: Patch<'_>,
    direction: PatchDirection,
    excluded: &[Vec<u8>],
) -> Result<Option<String>, GitError> {
    git.run(["read-tree", commit])?;
    let mut args: Vec<OsString> =
        ["apply", "--cached", "--whitespace=nowarn"].map(OsString::from).into();
    if !patch.has_context {
        args.push("--unidiff-zero".into());
    }
    args.push(format!("-p{}", patch.strip).into());
    if direction == PatchDirection::Reverse {
        args.push("--reverse".into());
    }
    for path in excluded {
        let mut option = OsString::from("--exclude=");
        let not_unicode = |source| GitError::Io { command: "apply".to_owned(), source };
        option.push(os_str(path).map_err(not_unicode)?);
        args.push(option);
    }
    match git.run_with_input(args, patch.bytes) {
        Ok(_) => {}
        Err(GitError::Failed { .. }) => return Ok(None),
        Err(error) => return Err(error),
    }
    let tree = git.text(["write-tree"])?;
    let git = SNAPSHOT_IDENTITY
        .iter()
        .fold(git.clone(), |git, (name, value)| git.with_variable(name, value));
    git.text(["commit-tree", &tree, "-m", SNAPSHOT_SUBJECT, "-p", commit]).map(Some)
}
