//! Lists files below a folder, with repository-style paths.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::case_error::{CaseError, shown};

/// Maximum depth of folders, more than any repository has.
const DEPTH_MAX: usize = 64;
/// Maximum number of files and folders, more than any repository that becomes a case has. Listing
/// this many takes a second.
const ENTRIES_MAX: usize = 200_000;

/// A file, link or device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// Path from the root, with `/`.
    pub(super) path: String,
    /// Path on disk.
    pub(super) file: PathBuf,
    /// True for regular files only.
    pub(super) is_file: bool,
}

/// Lists everything below a folder except folders, sorted by path. Skips entries named `skipped`.
pub(super) fn entries(root: &Path, skipped: &str) -> Result<Vec<Entry>, CaseError> {
    entries_up_to(root, skipped, ENTRIES_MAX)
}

fn entries_up_to(root: &Path, skipped: &str, max: usize) -> Result<Vec<Entry>, CaseError> {
    let mut entries = Vec::new();
    let mut entry_count = 0;
    let mut folders = vec![(root.to_owned(), String::new(), 0)];
    while let Some((folder, prefix, depth)) = folders.pop() {
        let unread = |error: io::Error| {
            CaseError::new(format!("cannot read `./{}`: {error}", shown(&prefix)))
        };
        let too_large = |message: String| CaseError::new(message).hint("use only a part of it");
        if depth > DEPTH_MAX {
            return Err(too_large(format!("folders are nested deeper than {DEPTH_MAX}")));
        }
        // Do not follow links out of the folder.
        if !fs::symlink_metadata(&folder).map_err(unread)?.is_dir() {
            return Err(CaseError::new("not a folder").hint("put the files into a folder"));
        }
        for entry in fs::read_dir(&folder).map_err(unread)? {
            let entry = entry.map_err(unread)?;
            entry_count += 1;
            if entry_count > max {
                return Err(too_large(format!("there are more than {max} files and folders")));
            }
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                let path = format!("{prefix}{}", name.to_string_lossy());
                let message = format!("the name of `{}` is not UTF-8", shown(&path));
                return Err(CaseError::new(message).hint("rename it"));
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

/// Reads a file of at most `max` bytes.
pub(super) fn bounded(path: &Path, max: usize) -> io::Result<Vec<u8>> {
    // Reading a pipe would block, and a link could lead anywhere.
    let metadata = fs::symlink_metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a file"));
    }
    // The file may grow while it is read.
    let mut bytes = Vec::new();
    File::open(path)?.take(max as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > max { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_folders_count_towards_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("a/b")).unwrap();
        fs::write(folder.path().join("a/c"), "").unwrap();
        let listed = |max| entries_up_to(folder.path(), "", max);
        assert_eq!(listed(3).unwrap().len(), 1);
        let error = CaseError::new("there are more than 2 files and folders");
        assert_eq!(listed(2), Err(error.hint("use only a part of it")));
    }

    /// Files in `/proc` report the size 0, although they have content.
    #[cfg(target_os = "linux")]
    #[test]
    fn limit_counts_the_bytes_that_are_read() {
        let file = Path::new("/proc/self/status");
        assert_eq!(bounded(file, 10).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert!(!bounded(file, 1 << 20).unwrap().is_empty());
    }
}
