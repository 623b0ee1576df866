//! Creates a commit with some files changed, without a checkout or a ref.
//!
//! Invariant: equal files on the same commit give the same commit id.

use std::io;

use crate::bare::BareRepository;
use crate::objects::PathEntryKind;
use crate::process::GitError;
use crate::read_error::ReadError;
use crate::store::SNAPSHOT_IDENTITY;

/// Commit message.
const MESSAGE: &str = "Fixes";

/// Path and new content of a file. `None` as content deletes the file.
pub type AmendedFile<'a> = (&'a str, Option<&'a [u8]>);

/// Why the commit could not be created.
#[derive(Debug, thiserror::Error)]
pub enum AmendError {
    /// The existing files could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// No temporary folder for the index.
    #[error("cannot create a temporary folder")]
    Io(#[from] io::Error),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

impl BareRepository {
    /// Commits these files on top of a commit. File modes are kept; new files are not executable.
    pub fn commit_with_changes(
        &self,
        commit: &str,
        files: &[AmendedFile<'_>],
    ) -> Result<String, AmendError> {
        let objects = self.objects()?;
        let folder = tempfile::tempdir()?;
        let git = self.git().with_variable("GIT_INDEX_FILE", folder.path().join("index"));
        git.run(["read-tree", commit])?;
        let mut index_info = Vec::new();
        for (path, bytes) in files {
            let mode = match objects.entry(commit, path) {
                Ok(entry) if entry.kind == PathEntryKind::Executable => "100755",
                Ok(entry) if entry.kind != PathEntryKind::File => {
                    let (path, actual) = ((*path).to_owned(), entry.kind.name());
                    return Err(ReadError::OtherKind { path, actual, expected: "file" }.into());
                }
                Ok(_) | Err(ReadError::NoEntry(_)) => "100644",
                Err(error) => return Err(error.into()),
            };
            let index_line = match bytes {
                Some(bytes) => {
                    let id = git.run_with_input(["hash-object", "-w", "--stdin"], bytes)?;
                    format!("{mode} {}\t", String::from_utf8_lossy(&id).trim_end())
                }
                None => format!("0 {}\t", "0".repeat(40)),
            };
            index_info.extend_from_slice(index_line.as_bytes());
            index_info.extend_from_slice(path.as_bytes());
            index_info.push(0);
        }
        git.run_with_input(["update-index", "-z", "--index-info"], &index_info)?;
        let tree = git.text(["write-tree"])?;
        let identity = SNAPSHOT_IDENTITY.iter();
        let git = identity.fold(git, |git, (name, value)| git.with_variable(*name, *value));
        Ok(git.text(["commit-tree", &tree, "-p", commit, "-m", MESSAGE])?)
    }
}
