//! Paths that stay inside the workspace, whatever is asked for and whatever lies in it.
//!
//! Invariant: on the way to a path no symbolic link is followed, but for `preview-diffs/latest`, and that only to
//! a folder beside it. A workspace may come from an archive that a stranger has packed.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::is_round_id;

/// The one link that a workspace has.
const LATEST: &str = "preview-diffs/latest";

/// Something that lies inside the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inside {
    /// The path from the workspace's root with `/` between its parts; empty for the root itself.
    pub shown: String,
    /// Where it is.
    pub path: PathBuf,
    /// What it is.
    pub kind: InsideKind,
}

/// What lies at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InsideKind {
    /// A file.
    File,
    /// A folder.
    Folder,
}

/// Why a path was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Outside {
    /// It starts at the root of the file system, or at a drive.
    #[error(
        "`{0}` is an absolute path; give one from the root of the workspace, such as `metadata.json`"
    )]
    Absolute(String),
    /// It starts at somebody's home.
    #[error(
        "`{0}` starts with `~`, which is not looked up; give a path from the root of the workspace"
    )]
    Home(String),
    /// It goes up.
    #[error("`{0}` has a `..` in it; give a path from the root of the workspace")]
    Parent(String),
    /// It holds a byte that no path can have.
    #[error("the path holds a NUL character, which no path can")]
    Nul,
    /// A link is on the way.
    #[error("`{0}` is a symbolic link, which is not followed")]
    Link(String),
    /// Nothing is there.
    #[error("there is no `{0}` in the workspace")]
    Missing(String),
    /// It is a device, a socket or the like.
    #[error("`{0}` is neither a file nor a folder")]
    Special(String),
}

/// Whether a path is relative and made of plain names only.
pub(super) fn is_plain(path: &str) -> bool {
    !path.is_empty() && path.split('/').all(is_name)
}

fn is_name(part: &str) -> bool {
    let mut components = Path::new(part).components();
    let is_one = matches!(components.next(), Some(Component::Normal(name)) if name == part);
    is_one && components.next().is_none() && !part.contains('\0')
}

/// Looks up a path from the root. An empty one and `.` are the root.
pub(super) fn look_up(root: &Path, text: &str) -> Result<Inside, Outside> {
    if text.contains('\0') {
        return Err(Outside::Nul);
    }
    if text.starts_with('/') || Path::new(text).is_absolute() {
        return Err(Outside::Absolute(text.to_owned()));
    }
    if text.starts_with('~') {
        return Err(Outside::Home(text.to_owned()));
    }
    let mut at = Inside { shown: String::new(), path: root.to_owned(), kind: InsideKind::Folder };
    for part in text.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            return Err(Outside::Parent(text.to_owned()));
        }
        // On Windows, a drive or a backslash makes several parts of one.
        if !is_name(part) {
            return Err(Outside::Absolute(text.to_owned()));
        }
        at = step(at, part).map_err(|error| match error {
            // Whoever asked knows the whole path best.
            Outside::Missing(_) => Outside::Missing(text.to_owned()),
            other => other,
        })?;
    }
    Ok(at)
}

/// One part further; the link to the latest round is taken.
fn step(at: Inside, part: &str) -> Result<Inside, Outside> {
    let shown = match at.shown.as_str() {
        "" => part.to_owned(),
        folder => format!("{folder}/{part}"),
    };
    let path = at.path.join(part);
    // A file has nothing below it, which some systems report in a way of their own.
    if at.kind == InsideKind::File {
        return Err(Outside::Missing(shown));
    }
    let Ok(found) = fs::symlink_metadata(&path) else { return Err(Outside::Missing(shown)) };
    if found.is_symlink() && shown == LATEST {
        let id = linked_round(&path).ok_or(Outside::Link(shown))?;
        return step(at, &id);
    }
    let kind = if found.is_symlink() {
        return Err(Outside::Link(shown));
    } else if found.is_dir() {
        InsideKind::Folder
    } else if found.is_file() {
        InsideKind::File
    } else {
        return Err(Outside::Special(shown));
    };
    Ok(Inside { shown, path, kind })
}

/// The round that the link to the latest names, if it names one.
pub(super) fn linked_round(link: &Path) -> Option<String> {
    let target = fs::read_link(link).ok()?.into_os_string().into_string().ok()?;
    is_round_id(&target).then_some(target)
}
