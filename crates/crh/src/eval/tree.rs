//! What lies below a folder of the disk, by paths as a repository has them.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::wrong::{Wrong, shown};

/// No repository has folders in each other deeper than this.
const DEPTH_MAX: usize = 64;
/// More than any repository of which a case is made; listing them takes a second.
const ENTRIES_MAX: usize = 200_000;

/// Something that is not a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// Its path from the root, with `/`.
    pub(super) path: String,
    /// Where it is on the disk.
    pub(super) file: PathBuf,
    /// Whether it is a file, and neither a link nor a device nor a pipe.
    pub(super) is_file: bool,
}

/// Everything below a folder that is not a folder, sorted by path. What is called `skipped` is not looked at.
pub(super) fn entries(root: &Path, skipped: &str) -> Result<Vec<Entry>, Wrong> {
    let mut entries = Vec::new();
    let mut folders = vec![(root.to_owned(), String::new(), 0)];
    while let Some((folder, prefix, depth)) = folders.pop() {
        let unread =
            |error: io::Error| Wrong::new(format!("reading `./{}`: {error}", shown(&prefix)));
        if depth > DEPTH_MAX || entries.len() > ENTRIES_MAX {
            let message = format!(
                "there are folders deeper than {DEPTH_MAX}, or more than {ENTRIES_MAX} files"
            );
            return Err(Wrong::new(message).hint("make a case of a part of it"));
        }
        // A link would lead out of it.
        if !fs::symlink_metadata(&folder).map_err(unread)?.is_dir() {
            return Err(Wrong::new("this is not a folder").hint("put the files into a folder"));
        }
        for entry in fs::read_dir(&folder).map_err(unread)? {
            let entry = entry.map_err(unread)?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                let path = format!("{prefix}{}", name.to_string_lossy());
                let message = format!("the name of `{}` is not UTF-8", shown(&path));
                return Err(Wrong::new(message).hint("give it another name"));
            };
            if name == skipped {
                continue;
            }
            let path = format!("{prefix}{name}");
            let kind = entry.file_type().map_err(unread)?;
            if kind.is_dir() {
                folders.push((entry.path(), format!("{path}/"), depth + 1));
            } else {
                entries.push(Entry { path, file: entry.path(), is_file: kind.is_file() });
            }
        }
    }
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(entries)
}

/// The bytes of a file that is not larger than it may be.
pub(super) fn bounded(path: &Path, max: usize) -> io::Result<Vec<u8>> {
    // A pipe would be waited for, and a link could lead anywhere.
    let metadata = fs::symlink_metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "this is not a file"));
    }
    if metadata.len() > max as u64 {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    fs::read(path)
}
