//! A workspace somewhere else, as it was written: marks of an earlier review are not taken along.

use std::ffi::OsStr;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::{fs, io};

use super::{Workspace, WorkspaceError, reviewed};

/// Copies a workspace into a folder that is not there yet.
pub fn copy(from: &Path, to: &Path) -> Result<(), WorkspaceError> {
    // What is copied is what can be read as a workspace, and no other folder.
    Workspace::open(from)?;
    let failed = |why| WorkspaceError::Write { path: to.to_owned(), why };
    fs::create_dir(to).map_err(failed)?;
    copy_folder(from, to).map_err(failed)
}

/// Copies files, folders and links as links. Nothing is read through a link.
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            fs::create_dir(&target)?;
            copy_folder(&source, &target)?;
        } else if kind.is_symlink() {
            symlink(fs::read_link(&source)?, &target)?;
        } else if kind.is_file() && !is_mark(&entry.file_name()) {
            fs::copy(&source, &target)?;
        }
    }
    Ok(())
}

fn is_mark(name: &OsStr) -> bool {
    name == reviewed::FILE || name == reviewed::DRAFT
}
