//! A commit in a store of ours that is another one with some files changed: what a tree would be with a fix in it, without a
//! checkout and without a ref.
//!
//! Invariant: the same files on the same commit are the same commit.

use std::io;

use crate::bare::Bare;
use crate::objects::{Kind, ReadError};
use crate::process::GitError;
use crate::store::SNAPSHOT_IDENTITY;

/// The message of such a commit.
const MESSAGE: &str = "Fixes";

/// A file as it is to be: its path from the root, and its bytes; none if it goes.
pub type ChangedFile<'a> = (&'a str, Option<&'a [u8]>);

/// Why there is no such commit.
#[derive(Debug, thiserror::Error)]
pub enum AmendError {
    /// What is there could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A place for the index could not be had.
    #[error("making a temporary folder")]
    Io(#[from] io::Error),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

impl Bare {
    /// A commit on top of another, with these files changed in it. Their modes stay; a new one is an ordinary file.
    pub fn amended(&self, commit: &str, files: &[ChangedFile<'_>]) -> Result<String, AmendError> {
        let objects = self.objects()?;
        let folder = tempfile::tempdir()?;
        let git = self.git().with_variable("GIT_INDEX_FILE", folder.path().join("index"));
        git.run(["read-tree", commit])?;
        let mut list = Vec::new();
        for (path, bytes) in files {
            let mode = match objects.entry(commit, path) {
                Ok(entry) if entry.kind == Kind::Executable => "100755",
                Ok(entry) if entry.kind != Kind::File => {
                    let (path, found) = ((*path).to_owned(), entry.kind.word());
                    return Err(ReadError::OtherKind { path, found, wanted: "file" }.into());
                }
                Ok(_) | Err(ReadError::NoEntry(_)) => "100644",
                Err(error) => return Err(error.into()),
            };
            let row = match bytes {
                Some(bytes) => {
                    let id = git.run_with_input(["hash-object", "-w", "--stdin"], bytes)?;
                    format!("{mode} {}\t", String::from_utf8_lossy(&id).trim_end())
                }
                None => format!("0 {}\t", "0".repeat(40)),
            };
            list.extend_from_slice(row.as_bytes());
            list.extend_from_slice(path.as_bytes());
            list.push(0);
        }
        git.run_with_input(["update-index", "-z", "--index-info"], &list)?;
        let tree = git.text(["write-tree"])?;
        let identity = SNAPSHOT_IDENTITY.iter();
        let git = identity.fold(git, |git, (name, value)| git.with_variable(*name, *value));
        Ok(git.text(["commit-tree", &tree, "-p", commit, "-m", MESSAGE])?)
    }
}
