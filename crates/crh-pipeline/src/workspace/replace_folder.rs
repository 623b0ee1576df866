//! Replaces a folder atomically: crh fills a new folder next to it, then swaps the two.
//!
//! Invariant: crh deletes only an empty folder, or one that has the entries of a workspace.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::{fs, io};

use tempfile::TempDir;

use super::WorkspaceError;
use crh_os::files::set_mode;
use crh_os::names::canonical;

/// Known entries at the top of a workspace. A folder with any other entry is not replaced.
const KNOWN_ENTRIES: [&str; 10] = [
    "metadata.json",
    "description.md",
    "ci.json",
    "commits.json",
    "linked-issues.json",
    "reviewed.json",
    super::marks::TEMP_FILE,
    "agent",
    "context",
    "preview-diffs",
];

/// Fills a new folder next to `out` and swaps it in.
pub(super) fn replace_folder(
    out: &Path,
    fill: impl FnOnce(&Path) -> Result<(), WorkspaceError>,
) -> Result<(), WorkspaceError> {
    let out = replaceable_folder(out)?;
    let parent = out.parent().unwrap_or(Path::new("/"));
    let write_error = |why| WorkspaceError::Write { path: out.clone(), why };
    let staging = staging_folder(parent).map_err(write_error)?;
    let new_folder = staging.path().join("new");
    fs::create_dir(&new_folder)
        .and_then(|()| make_world_readable(&new_folder))
        .map_err(write_error)?;
    fill(&new_folder).map_err(|error| match error {
        // Report the final path, not the temporary one.
        WorkspaceError::Write { path, why } => {
            let path = path.strip_prefix(&new_folder).map_or(path.clone(), |path| out.join(path));
            WorkspaceError::Write { path, why }
        }
        other => other,
    })?;
    let old = staging.path().join("old");
    if let Err(error) = swap(&new_folder, &out, &old) {
        if old.exists() {
            // Restoring failed too. Keep the old folder instead of deleting it with the staging
            // folder.
            let old_folder = staging.keep().join("old");
            let reason = format!("{error}; its old contents are in `{}`", old_folder.display());
            return Err(WorkspaceError::NotReplaced { folder: out, reason });
        }
        return Err(write_error(error));
    }
    // Deletes the old folder too.
    staging.close().map_err(write_error)
}

/// Real path of the folder, if crh may replace it. Creates missing parent folders.
fn replaceable_folder(out: &Path) -> Result<PathBuf, WorkspaceError> {
    // Without a trailing slash, which would follow a symlink.
    let out: PathBuf = out.components().collect();
    let not_replaced = |reason: &str| WorkspaceError::NotReplaced {
        folder: out.clone(),
        reason: reason.to_owned(),
    };
    let write_error = |why| WorkspaceError::Write { path: out.clone(), why };
    match fs::symlink_metadata(&out) {
        Ok(metadata) if metadata.is_symlink() => {
            Err(not_replaced("it is a symlink; name the folder itself"))
        }
        Ok(metadata) if !metadata.is_dir() => Err(not_replaced("it is a file, not a folder")),
        Ok(_) => match reason_to_keep(&out).map_err(write_error)? {
            Some(reason) => Err(not_replaced(&reason)),
            None => canonical(&out).map_err(write_error),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let name = out.file_name().ok_or_else(|| not_replaced("it has no name"))?;
            let parent = match out.parent() {
                Some(parent) if parent != Path::new("") => parent,
                _ => Path::new("."),
            };
            let parent_path = fs::create_dir_all(parent).and_then(|()| canonical(parent));
            Ok(parent_path.map_err(write_error)?.join(name))
        }
        Err(error) => Err(write_error(error)),
    }
}

/// Reason not to replace a folder. `None` if it is empty or a workspace.
fn reason_to_keep(folder: &Path) -> io::Result<Option<String>> {
    let mut names = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<io::Result<Vec<_>>>()?;
    names.sort();
    if names.is_empty() {
        return Ok(None);
    }
    if let Some(name) =
        names.iter().find(|name| !KNOWN_ENTRIES.iter().any(|known| OsStr::new(known) == *name))
    {
        let name = name.display();
        return Ok(Some(format!("it contains `{name}`, which is not part of a workspace")));
    }
    let is_file = |file: &str| {
        fs::symlink_metadata(folder.join(file)).is_ok_and(|metadata| metadata.is_file())
    };
    match ["metadata.json", "preview-diffs/index.json"].into_iter().find(|file| !is_file(file)) {
        Some(file) => {
            Ok(Some(format!("it is not empty, and not a workspace: `{file}` is missing")))
        }
        None => Ok(None),
    }
}

/// A temporary folder on the same file system.
fn staging_folder(parent: &Path) -> io::Result<TempDir> {
    tempfile::Builder::new().prefix(".crh-workspace-").tempdir_in(parent)
}

/// Moves `new_folder` to `out`, and the previous `out` to `old`. On failure, restores `out`.
fn swap(new_folder: &Path, out: &Path, old: &Path) -> io::Result<()> {
    match fs::rename(out, old) {
        Ok(()) => fs::rename(new_folder, out).or_else(|error| {
            fs::rename(old, out)?;
            Err(error)
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => fs::rename(new_folder, out),
        Err(error) => Err(error),
    }
}

fn make_world_readable(folder: &Path) -> io::Result<()> {
    set_mode(folder, 0o755)
}
