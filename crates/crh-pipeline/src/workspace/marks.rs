//! `reviewed.json`: which files agents are done with. Agents work side by side, also in several processes, and
//! none of their marks is lost.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::{fs, io};

use super::{Outside, Workspace, WorkspaceError};
use crh_review::stable_json;

/// The file, in the root of the workspace.
pub(super) const FILE: &str = "reviewed.json";
/// What is renamed to `reviewed.json` when it is whole.
pub(super) const DRAFT: &str = "reviewed.json.new";

/// What became of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marked {
    /// How many files are marked now.
    pub count: usize,
    /// Whether this one was before.
    pub already: bool,
}

impl Workspace {
    /// The files that were marked, in the order of their first marks.
    pub fn reviewed(&self) -> Result<Vec<String>, WorkspaceError> {
        match self.look_up(FILE) {
            Err(Outside::Missing(_)) => Ok(Vec::new()),
            Ok(_) | Err(_) => self.json(FILE),
        }
    }

    /// Marks a file as reviewed. Whether it is one of the change's is for the caller to know.
    pub fn mark_reviewed(&self, path: &str) -> Result<Marked, WorkspaceError> {
        let failed = |why| WorkspaceError::Write { path: self.folder().join(FILE), why };
        // The lock is on a file that is never replaced while the workspace is in use. It holds between
        // processes and, since each call opens the file anew, between threads; it ends with the handle.
        let lock = File::open(self.folder().join("metadata.json")).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let mut reviewed = self.reviewed()?;
        let already = reviewed.iter().any(|marked| marked == path);
        if !already {
            reviewed.push(path.to_owned());
            let text = stable_json(&reviewed).map_err(|error| failed(io::Error::other(error)))?;
            put(self.folder(), text.as_bytes()).map_err(failed)?;
        }
        Ok(Marked { count: reviewed.len(), already })
    }
}

/// Writes the file whole or not at all. A draft that was left behind, or a link in its place, is removed first.
fn put(folder: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = folder.join(DRAFT);
    match fs::remove_file(&draft) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(&draft)?;
    file.write_all(bytes)?;
    fs::rename(&draft, folder.join(FILE))
}
