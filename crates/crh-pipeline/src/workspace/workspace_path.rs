//! Resolves paths inside a workspace.
//!
//! Invariant: crh follows no symlink except `preview-diffs/latest`, and that only to a sibling
//! folder. A workspace may come from an archive of an attacker.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::is_round_id;
use crh_os::files::{is_name_link, read_name_link};

/// The only symlink that crh follows in a workspace.
const LATEST: &str = "preview-diffs/latest";

/// A file or folder inside the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspacePath {
    /// Path from the workspace root, with `/`; empty for the root.
    pub workspace_path: String,
    /// Path on disk.
    pub path: PathBuf,
    /// File or folder.
    pub kind: PathKind,
}

/// Kind of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathKind {
    /// A file.
    File,
    /// A folder.
    Folder,
}

/// Why a path was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// An absolute path.
    #[error(
        "`{0}` is an absolute path; give one from the root of the workspace, such as `metadata.json`"
    )]
    Absolute(String),
    /// A path that starts with `~`.
    #[error(
        "`{0}` starts with `~`, which is not looked up; give a path from the root of the workspace"
    )]
    Home(String),
    /// A path with `..`.
    #[error("`{0}` has a `..` in it; give a path from the root of the workspace")]
    Parent(String),
    /// A path with a NUL byte.
    #[error("the path holds a NUL character, which no path can")]
    Nul,
    /// A path through a symlink.
    #[error("`{0}` is a symbolic link, which is not followed")]
    Link(String),
    /// The path does not exist.
    #[error("there is no `{0}` in the workspace")]
    Missing(String),
    /// A device, a socket or the like.
    #[error("`{0}` is neither a file nor a folder")]
    Special(String),
}

/// Whether a path is relative and has no part such as `..` or `.`.
pub(super) fn is_relative_path(path: &str) -> bool {
    !path.is_empty() && path.split('/').all(is_name)
}

fn is_name(part: &str) -> bool {
    let mut components = Path::new(part).components();
    let is_normal = matches!(components.next(), Some(Component::Normal(name)) if name == part);
    is_normal && components.next().is_none() && !part.contains('\0')
}

/// Looks up a path from the root. An empty path and `.` are the root.
pub(super) fn look_up(root: &Path, text: &str) -> Result<WorkspacePath, PathError> {
    if text.contains('\0') {
        return Err(PathError::Nul);
    }
    if text.starts_with('/') || Path::new(text).is_absolute() {
        return Err(PathError::Absolute(text.to_owned()));
    }
    if text.starts_with('~') {
        return Err(PathError::Home(text.to_owned()));
    }
    let mut current = WorkspacePath {
        workspace_path: String::new(),
        path: root.to_owned(),
        kind: PathKind::Folder,
    };
    for part in text.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            return Err(PathError::Parent(text.to_owned()));
        }
        // On Windows, a drive or a backslash would split the part.
        if !is_name(part) {
            return Err(PathError::Absolute(text.to_owned()));
        }
        current = step(current, part).map_err(|error| match error {
            // Report the whole path, as the caller gave it.
            PathError::Missing(_) => PathError::Missing(text.to_owned()),
            other => other,
        })?;
    }
    Ok(current)
}

/// Descends one path component. Follows the link to the latest round.
fn step(parent: WorkspacePath, part: &str) -> Result<WorkspacePath, PathError> {
    let workspace_path = match parent.workspace_path.as_str() {
        "" => part.to_owned(),
        folder => format!("{folder}/{part}"),
    };
    let path = parent.path.join(part);
    // Checked here, since operating systems report a path below a file in different ways.
    if parent.kind == PathKind::File {
        return Err(PathError::Missing(workspace_path));
    }
    let Ok(metadata) = fs::symlink_metadata(&path) else {
        return Err(PathError::Missing(workspace_path));
    };
    if is_name_link(metadata.file_type()) && workspace_path == LATEST {
        let id = linked_round(&path).ok_or(PathError::Link(workspace_path))?;
        return step(parent, &id);
    }
    let kind = if metadata.is_symlink() {
        return Err(PathError::Link(workspace_path));
    } else if metadata.is_dir() {
        PathKind::Folder
    } else if metadata.is_file() {
        PathKind::File
    } else {
        return Err(PathError::Special(workspace_path));
    };
    Ok(WorkspacePath { workspace_path, path, kind })
}

/// The round that the `latest` link points to, if valid.
pub(super) fn linked_round(link: &Path) -> Option<String> {
    let target = read_name_link(link).ok()?.into_os_string().into_string().ok()?;
    is_round_id(&target).then_some(target)
}
