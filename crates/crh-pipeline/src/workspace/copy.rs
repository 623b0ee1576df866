//! Copies a workspace without `reviewed.json`, the list of files that agents marked as reviewed.

use std::ffi::OsStr;
use std::path::Path;
use std::{fs, io};

use super::{Workspace, WorkspaceError, marks};
use crh_os::files::symlink;

/// Copies a workspace to a new folder.
pub fn copy_workspace(from: &Path, to: &Path) -> Result<(), WorkspaceError> {
    // Copy only valid workspaces.
    Workspace::open(from)?;
    let write_error = |why| WorkspaceError::Write { path: to.to_owned(), why };
    fs::create_dir(to).map_err(write_error)?;
    copy_folder(from, to).map_err(write_error)
}

/// Copies files, folders and symlinks. Follows no symlink.
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            fs::create_dir(&target)?;
            copy_folder(&source, &target)?;
        } else if kind.is_symlink() {
            symlink(&fs::read_link(&source)?, &target)?;
        } else if kind.is_file() && !is_list_of_reviewed_files(&entry.file_name()) {
            fs::copy(&source, &target)?;
        }
    }
    Ok(())
}

fn is_list_of_reviewed_files(name: &OsStr) -> bool {
    name == marks::FILE || name == marks::TEMP_FILE
}
