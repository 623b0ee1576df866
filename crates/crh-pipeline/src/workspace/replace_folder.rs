//! Puts a folder in the place of another: made beside it, then swapped in, so that no reader sees half of it.
//!
//! Invariant: nothing that we did not write is ever deleted.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::{fs, io};

use tempfile::TempDir;

use super::WorkspaceError;

/// What may lie at the top of a workspace. A folder with anything else in it is somebody's own.
const OURS: [&str; 9] = [
    "metadata.json",
    "description.md",
    "ci.json",
    "commits.json",
    "linked-issues.json",
    "reviewed.json",
    super::reviewed::DRAFT,
    "agent",
    "preview-diffs",
];

/// Fills a new folder beside `out` and puts it in its place.
pub(super) fn replace(
    out: &Path,
    fill: impl FnOnce(&Path) -> Result<(), WorkspaceError>,
) -> Result<(), WorkspaceError> {
    let out = replaceable(out)?;
    let parent = out.parent().unwrap_or(Path::new("/"));
    let failed = |why| WorkspaceError::Write { path: out.clone(), why };
    let staging = beside(parent).map_err(failed)?;
    let made = staging.path().join("new");
    fs::create_dir(&made).and_then(|()| open_to_all(&made)).map_err(failed)?;
    fill(&made).map_err(|error| match error {
        // Where it was about to be, since nobody has heard of the folder beside it.
        WorkspaceError::Write { path, why } => {
            let path = path.strip_prefix(&made).map_or(path.clone(), |path| out.join(path));
            WorkspaceError::Write { path, why }
        }
        other => other,
    })?;
    let old = staging.path().join("old");
    if let Err(error) = swap(&made, &out, &old) {
        if old.exists() {
            // It could not be put back either. It stays where it is, rather than go with the rest.
            let kept = staging.keep().join("old");
            let reason = format!("{error}; what was in it is now in `{}`", kept.display());
            return Err(WorkspaceError::NotReplaced { folder: out, reason });
        }
        return Err(failed(error));
    }
    // With it goes what was there before.
    staging.close().map_err(failed)
}

/// The folder's real path, if it is ours to replace.
fn replaceable(out: &Path) -> Result<PathBuf, WorkspaceError> {
    // Without a slash at the end, which would look through a link.
    let out: PathBuf = out.components().collect();
    let refused = |reason: &str| WorkspaceError::NotReplaced {
        folder: out.clone(),
        reason: reason.to_owned(),
    };
    let failed = |why| WorkspaceError::Write { path: out.clone(), why };
    match fs::symlink_metadata(&out) {
        Ok(found) if found.is_symlink() => {
            Err(refused("it is a symbolic link; name the folder itself"))
        }
        Ok(found) if !found.is_dir() => Err(refused("it is a file, not a folder")),
        Ok(_) => match foreign(&out).map_err(failed)? {
            Some(reason) => Err(refused(&reason)),
            None => fs::canonicalize(&out).map_err(failed),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let name = out.file_name().ok_or_else(|| refused("it has no name"))?;
            let parent = match out.parent() {
                Some(parent) if parent != Path::new("") => parent,
                _ => Path::new("."),
            };
            let made = fs::create_dir_all(parent).and_then(|()| fs::canonicalize(parent));
            Ok(made.map_err(failed)?.join(name))
        }
        Err(error) => Err(failed(error)),
    }
}

/// What keeps a folder from being replaced; nothing if it is empty or a workspace.
fn foreign(folder: &Path) -> io::Result<Option<String>> {
    let mut names = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<io::Result<Vec<_>>>()?;
    names.sort();
    if names.is_empty() {
        return Ok(None);
    }
    if let Some(name) = names.iter().find(|name| !OURS.iter().any(|ours| OsStr::new(ours) == *name))
    {
        let name = name.display();
        return Ok(Some(format!("`{name}` is in it, which is no part of a workspace")));
    }
    let is_there =
        |file: &str| fs::symlink_metadata(folder.join(file)).is_ok_and(|found| found.is_file());
    match ["metadata.json", "preview-diffs/index.json"].into_iter().find(|file| !is_there(file)) {
        Some(file) => Ok(Some(format!("it is not empty, and no workspace: `{file}` is missing"))),
        None => Ok(None),
    }
}

/// A folder beside the one that is replaced: on the same file system, gone when it is dropped.
fn beside(parent: &Path) -> io::Result<TempDir> {
    tempfile::Builder::new().prefix(".crh-workspace-").tempdir_in(parent)
}

/// Puts `made` in the place of `out`; if that fails, `out` is what it was.
fn swap(made: &Path, out: &Path, old: &Path) -> io::Result<()> {
    match fs::rename(out, old) {
        Ok(()) => fs::rename(made, out).or_else(|error| {
            fs::rename(old, out)?;
            Err(error)
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => fs::rename(made, out),
        Err(error) => Err(error),
    }
}

fn open_to_all(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))
}
