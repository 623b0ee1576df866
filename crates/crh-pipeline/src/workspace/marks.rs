//! `reviewed.json`: files that agents have marked as reviewed. Safe for concurrent agents and
//! processes.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::{fs, io};

use super::{PathError, Workspace, WorkspaceError};
use crh_review::stable_json;

/// File name in the workspace.
pub(super) const FILE: &str = "reviewed.json";
/// Temporary name while writing.
pub(super) const TEMP_FILE: &str = "reviewed.json.new";

/// Result of marking a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkResult {
    /// Number of marked files.
    pub count: usize,
    /// Whether the file was marked before.
    pub was_marked: bool,
}

impl Workspace {
    /// Marked files, sorted by path.
    pub fn reviewed(&self) -> Result<Vec<String>, WorkspaceError> {
        match self.look_up(FILE) {
            Err(PathError::Missing(_)) => Ok(Vec::new()),
            Ok(_) | Err(_) => self.json(FILE),
        }
    }

    /// Marks a file as reviewed. The caller checks that it belongs to the change.
    pub fn mark_reviewed(&self, path: &str) -> Result<MarkResult, WorkspaceError> {
        let write_error = |why| WorkspaceError::Write { path: self.folder().join(FILE), why };
        // Locks a file that is never replaced while the workspace is in use. Each call opens it
        // anew, so the lock works between threads too. Dropping the handle unlocks it.
        let lock = File::open(self.folder().join("metadata.json")).map_err(write_error)?;
        lock.lock().map_err(write_error)?;
        let mut reviewed = self.reviewed()?;
        let was_marked = reviewed.iter().any(|marked| marked == path);
        if !was_marked {
            reviewed.push(path.to_owned());
            reviewed.sort();
            let text =
                stable_json(&reviewed).map_err(|error| write_error(io::Error::other(error)))?;
            write_marks(self.folder(), text.as_bytes()).map_err(write_error)?;
        }
        Ok(MarkResult { count: reviewed.len(), was_marked })
    }
}

/// Writes the file atomically. Removes a leftover temporary file or symlink first.
fn write_marks(folder: &Path, bytes: &[u8]) -> io::Result<()> {
    let temp_path = folder.join(TEMP_FILE);
    match fs::remove_file(&temp_path) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(&temp_path)?;
    file.write_all(bytes)?;
    fs::rename(&temp_path, folder.join(FILE))
}
