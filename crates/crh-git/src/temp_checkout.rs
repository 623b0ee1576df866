//! A temporary checkout of one commit. Callers may change its files and ask for the differences.
//!
//! Invariants: objects are only read, and no filter, hook or attribute runs a program. No symlink
//! leaves the folder. The folder is removed on drop, or by the next process after a crash.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::Write;
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use gix::objs::compute_hash;
use tempfile::TempDir;

use crate::bare::BareRepository;
use crate::database::parse_id;
use crate::objects::{Objects, PathEntry, PathEntryKind, check_path};
use crate::read_error::{MAX_BLOB_BYTES, ReadError};
use crh_os::files;
use crh_os::names::{os_str, repository_path};

/// Larger trees are rejected, because writing them takes more than a minute.
const FILES_MAX: usize = 100_000;
/// Larger trees might not fit into the temporary folder.
const BYTES_MAX: u64 = 2 << 30;
/// Name prefix of checkout folders, for finding those of crashed processes.
const PREFIX: &str = "crh-tree-";
/// Lock file in each checkout folder. It gets this name only after it is locked, so that another
/// process never finds it unlocked.
const LOCK: &str = "lock";
/// Folder with the files.
const TREE: &str = "tree";
/// Name of files and folders that are not written, because git would run commands that such a
/// folder configures.
const GIT: &[u8] = b".git";

/// A temporary checkout of a commit or tree.
#[derive(Debug)]
pub struct TempCheckout {
    // Drop order: remove the folder before releasing its lock.
    _folder: TempDir,
    _lock: File,
    tree: PathBuf,
    objects: Objects,
    /// Written files by path.
    written: BTreeMap<Vec<u8>, WrittenFile>,
    skipped: Vec<SkippedEntry>,
}

#[derive(Debug, Clone)]
struct WrittenFile {
    kind: PathEntryKind,
    id: String,
}

/// An entry of the tree that was not written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedEntry {
    /// Path from the root, as bytes.
    pub path: Vec<u8>,
    /// Reason, as a part of a sentence.
    pub reason: String,
}

/// A path where the folder differs from the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckoutDifference {
    /// Path from the root, as bytes.
    pub path: Vec<u8>,
    /// Kind of the difference.
    pub kind: DifferenceKind,
}

/// How a path differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DifferenceKind {
    /// Content of a regular file.
    Text {
        /// Content in the tree, if the file exists there.
        before: Option<Vec<u8>>,
        /// Content in the folder, if the file exists there.
        after: Option<Vec<u8>>,
    },
    /// A changed symlink, mode or file type, described as a part of a sentence.
    Other(String),
}

/// Why a checkout cannot be created or compared.
#[derive(Debug, thiserror::Error)]
pub enum TempCheckoutError {
    /// The folder could not be written or read.
    #[error("the temporary folder `{folder}` cannot be used", folder = folder.display())]
    Io {
        /// The folder.
        folder: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// The tree could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Too many files.
    #[error("the tree has more than {FILES_MAX} files")]
    TooMany,
    /// Too many bytes.
    #[error("the tree has more than {BYTES_MAX} bytes")]
    TooLarge,
}

impl TempCheckout {
    /// Checks out a commit or tree into the system's temporary folder.
    pub fn create(bare: &BareRepository, revision: &str) -> Result<Self, TempCheckoutError> {
        Self::create_in(&std::env::temp_dir(), bare, revision)
    }

    /// Checks out into a folder of the caller's choice. Removes folders that crashed processes left
    /// there.
    pub fn create_in(
        parent: &Path,
        bare: &BareRepository,
        revision: &str,
    ) -> Result<Self, TempCheckoutError> {
        let io = |source| TempCheckoutError::Io { folder: parent.to_owned(), source };
        remove_stale(parent);
        let objects = bare.objects()?;
        let (folder, lock) = create_locked(parent).map_err(io)?;
        let mut checkout = Self {
            tree: folder.path().join(TREE),
            _folder: folder,
            _lock: lock,
            objects,
            written: BTreeMap::new(),
            skipped: Vec::new(),
        };
        checkout.write_files(revision)?;
        Ok(checkout)
    }

    /// Folder with the files of the commit, without a `.git`.
    pub fn path(&self) -> &Path {
        &self.tree
    }

    /// Entries of the tree that were not written.
    pub fn skipped(&self) -> &[SkippedEntry] {
        &self.skipped
    }

    /// Kind of the written entry at a path; `None` for folders and missing paths.
    pub fn kind(&self, path: &[u8]) -> Option<PathEntryKind> {
        self.written.get(path).map(|written_file| written_file.kind)
    }

    /// All paths that differ from the tree, sorted. Folders are ignored.
    pub fn differences(&self) -> Result<Vec<CheckoutDifference>, TempCheckoutError> {
        let existing_files = list_files(&self.tree).map_err(|error| self.io_error(error))?;
        let mut differences = Vec::new();
        for (path, written_file) in &self.written {
            if !existing_files.contains_key(path) {
                let before = self.content(path, written_file)?;
                let kind = match written_file.kind {
                    PathEntryKind::File | PathEntryKind::Executable => {
                        DifferenceKind::Text { before: Some(before), after: None }
                    }
                    PathEntryKind::Link | PathEntryKind::Folder | PathEntryKind::Submodule => {
                        DifferenceKind::Other(format!("the {} is gone", written_file.kind.name()))
                    }
                };
                differences.push(CheckoutDifference { path: path.clone(), kind });
            }
        }
        for (path, metadata) in existing_files {
            let kind = match self.written.get(&path) {
                Some(written_file) => self.compare(&path, written_file, &metadata)?,
                None => Some(
                    self.describe_added(&path, &metadata).map_err(|error| self.io_error(error))?,
                ),
            };
            differences.extend(kind.map(|kind| CheckoutDifference { path, kind }));
        }
        differences.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(differences)
    }

    fn write_files(&mut self, revision: &str) -> Result<(), TempCheckoutError> {
        let entries = self.objects.files(revision)?;
        if entries.len() > FILES_MAX {
            return Err(TempCheckoutError::TooMany);
        }
        // Write symlinks last, so that no file is written through one on a case-insensitive disk.
        let (links, files): (Vec<PathEntry>, Vec<PathEntry>) =
            entries.into_iter().partition(|entry| entry.kind == PathEntryKind::Link);
        let mut remaining_bytes = BYTES_MAX;
        for PathEntry { path, kind, id } in files.into_iter().chain(links) {
            let written_file = WrittenFile { kind, id };
            let bytes = check_entry(&path, kind).and_then(|()| {
                self.content(&path, &written_file).map_err(|error| error.to_string())
            });
            let skip_reason = match bytes {
                Ok(target) if kind == PathEntryKind::Link && !stays_inside(&path, &target) => {
                    Some("a link that leads out of the tree".to_owned())
                }
                Ok(bytes) => {
                    let size = bytes.len() as u64;
                    remaining_bytes =
                        remaining_bytes.checked_sub(size).ok_or(TempCheckoutError::TooLarge)?;
                    self.write(&path, kind, &bytes)?
                }
                Err(skip_reason) => Some(skip_reason),
            };
            match skip_reason {
                None => drop(self.written.insert(path, written_file)),
                Some(skip_reason) => self.skipped.push(SkippedEntry { path, reason: skip_reason }),
            }
        }
        self.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(())
    }

    /// Writes one entry. Returns the reason if the entry cannot be written. A full disk is an
    /// error.
    fn write(
        &self,
        path: &[u8],
        kind: PathEntryKind,
        bytes: &[u8],
    ) -> Result<Option<String>, TempCheckoutError> {
        let result = self.create_entry(path, kind, bytes);
        match result {
            Ok(()) => Ok(None),
            Err(source)
                if matches!(
                    source.kind(),
                    io::ErrorKind::StorageFull
                        | io::ErrorKind::QuotaExceeded
                        | io::ErrorKind::FileTooLarge
                ) =>
            {
                Err(self.io_error(source))
            }
            // The name is too long, or collides with another name on this disk.
            Err(error) => Ok(Some(format!("no file of that name can be made: {error}"))),
        }
    }

    fn create_entry(&self, path: &[u8], kind: PathEntryKind, bytes: &[u8]) -> io::Result<()> {
        let file = self.file(path)?;
        create_parents(&file)?;
        match kind {
            PathEntryKind::Link => files::symlink(Path::new(os_str(bytes)?), &file),
            PathEntryKind::File
            | PathEntryKind::Executable
            | PathEntryKind::Folder
            | PathEntryKind::Submodule => new_file(&file, kind, bytes),
        }
    }

    /// Path of a file of the tree on disk.
    fn file(&self, path: &[u8]) -> io::Result<PathBuf> {
        Ok(self.tree.join(repository_path(path)?))
    }

    fn io_error(&self, source: io::Error) -> TempCheckoutError {
        TempCheckoutError::Io { folder: self.tree.clone(), source }
    }

    fn content(&self, path: &[u8], written_file: &WrittenFile) -> Result<Vec<u8>, ReadError> {
        self.objects.handle().blob(&String::from_utf8_lossy(path), parse_id(&written_file.id)?)
    }

    /// Compares a written path with the tree.
    fn compare(
        &self,
        path: &[u8],
        written_file: &WrittenFile,
        metadata: &Metadata,
    ) -> Result<Option<DifferenceKind>, TempCheckoutError> {
        let io = |source| self.io_error(source);
        let file = self.file(path).map_err(io)?;
        let other_difference =
            |description: &str| Ok(Some(DifferenceKind::Other(description.to_owned())));
        if written_file.kind == PathEntryKind::Link {
            if !metadata.is_symlink() {
                return other_difference("it is no link any more");
            }
            let target = fs::read_link(&file).map_err(io)?;
            let target_is_unchanged =
                target.as_os_str().as_encoded_bytes() == self.content(path, written_file)?;
            return if target_is_unchanged {
                Ok(None)
            } else {
                other_difference("the link leads elsewhere")
            };
        }
        if !metadata.is_file() {
            return other_difference("it is no plain file any more");
        }
        let is_executable = files::mode(metadata).map(|mode| mode & 0o100 != 0);
        if is_executable.is_some_and(|it| it != (written_file.kind == PathEntryKind::Executable)) {
            return other_difference("its mode is another one");
        }
        if metadata.len() > MAX_BLOB_BYTES {
            return other_difference("it is too large");
        }
        let after = fs::read(&file).map_err(io)?;
        let hash = compute_hash(gix::hash::Kind::Sha1, gix::objs::Kind::Blob, &after);
        let is_written_hash =
            |hash| parse_id(&written_file.id).is_ok_and(|written_id| written_id == hash);
        if hash.is_ok_and(is_written_hash) {
            return Ok(None);
        }
        let before = Some(self.content(path, written_file)?);
        Ok(Some(DifferenceKind::Text { before, after: Some(after) }))
    }

    /// Describes a path that was not written by the checkout.
    fn describe_added(&self, path: &[u8], metadata: &Metadata) -> io::Result<DifferenceKind> {
        let other_difference =
            |description: &str| Ok(DifferenceKind::Other(description.to_owned()));
        if self.skipped.iter().any(|entry| entry.path == path) {
            return other_difference("the tree has something else there");
        }
        if !metadata.is_file() {
            return other_difference("it is no plain file");
        }
        if metadata.len() > MAX_BLOB_BYTES {
            return other_difference("it is too large");
        }
        let after = fs::read(self.file(path)?)?;
        Ok(DifferenceKind::Text { before: None, after: Some(after) })
    }
}

/// Removes folders of crashed processes, whose locks are free. Errors are ignored.
fn remove_stale(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        if !entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes()) {
            continue;
        }
        // Other users can write to the temporary folder too.
        let is_own_folder = |metadata: Metadata| metadata.is_dir() && files::is_own(&metadata);
        if !fs::symlink_metadata(entry.path()).is_ok_and(is_own_folder) {
            continue;
        }
        let Ok(lock) = File::open(entry.path().join(LOCK)) else { continue };
        if lock.try_lock().is_ok() {
            let _result = fs::remove_dir_all(entry.path());
        }
    }
}

fn create_locked(parent: &Path) -> io::Result<(TempDir, File)> {
    // Other users must not read the reviewed code.
    let folder = files::temp_builder(files::PRIVATE_FOLDER).prefix(PREFIX).tempdir_in(parent)?;
    let new_lock = folder.path().join("new");
    let lock = File::create_new(&new_lock)?;
    lock.lock()?;
    fs::rename(&new_lock, folder.path().join(LOCK))?;
    fs::create_dir(folder.path().join(TREE))?;
    Ok((folder, lock))
}

/// Checks whether an entry may be written. The error is a part of a sentence.
fn check_entry(path: &[u8], kind: PathEntryKind) -> Result<(), String> {
    check_path(path).map_err(|_| "no path inside a repository".to_owned())?;
    let mut parts = path.split(|byte| *byte == b'/');
    if parts.any(|part| part.eq_ignore_ascii_case(GIT)) {
        return Err("git would take it for a repository".to_owned());
    }
    match kind {
        PathEntryKind::File | PathEntryKind::Executable | PathEntryKind::Link => Ok(()),
        PathEntryKind::Folder | PathEntryKind::Submodule => {
            Err("its content is in another repository".to_owned())
        }
    }
}

/// Whether a symlink at `path` stays inside the checkout, wherever other symlinks point. Its target
/// must first go up, at most to the root, and then only down: a `..` after a name could leave
/// through another symlink.
fn stays_inside(path: &[u8], target: &[u8]) -> bool {
    let depth = path.iter().filter(|byte| **byte == b'/').count();
    let mut up_count = 0;
    let mut is_below_name = false;
    let Ok(target_path) = repository_path(target) else { return false };
    for part in target_path.components() {
        match part {
            Component::Prefix(_) | Component::RootDir => return false,
            Component::CurDir => {}
            Component::ParentDir if is_below_name => return false,
            Component::ParentDir => up_count += 1,
            Component::Normal(_) => is_below_name = true,
        }
    }
    !target.is_empty() && up_count <= depth
}

fn create_parents(file: &Path) -> io::Result<()> {
    file.parent().map_or(Ok(()), fs::create_dir_all)
}

fn new_file(file: &Path, kind: PathEntryKind, bytes: &[u8]) -> io::Result<()> {
    let mode = if kind == PathEntryKind::Executable { 0o700 } else { 0o600 };
    let mut file = files::open_options(mode).write(true).create_new(true).open(file)?;
    file.write_all(bytes)
}

/// All files below a folder, by relative path.
fn list_files(root: &Path) -> io::Result<BTreeMap<Vec<u8>, Metadata>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![(root.to_owned(), Vec::new())];
    while let Some((folder, prefix)) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let mut path = prefix.clone();
            path.extend_from_slice(entry.file_name().as_encoded_bytes());
            let metadata = fs::symlink_metadata(entry.path())?;
            if metadata.is_dir() {
                path.push(b'/');
                folders.push((entry.path(), path));
            } else {
                files.insert(path, metadata);
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Held across awaits, so it must be `Send` and `Sync`.
    const fn assert_shared<T: Send + Sync>() {}
    const _: () = assert_shared::<TempCheckout>();

    #[test]
    fn symlinks_must_stay_inside() {
        for (path, target, expected) in [
            ("a", "b", true),
            ("a", "./b/c", true),
            ("a/b", "../c", true),
            ("a/b/c", "../../d", true),
            ("a/b", "..", true),
            ("a", "..", false),
            ("a/b", "../../c", false),
            ("a", "/etc/passwd", false),
            ("a/b/c", "d/../e", false),
            ("a", "", false),
        ] {
            assert_eq!(
                stays_inside(path.as_bytes(), target.as_bytes()),
                expected,
                "{path} {target}"
            );
        }
    }

    #[test]
    fn git_folders_are_not_written() {
        for (path, kind, expected) in [
            ("a/b", PathEntryKind::File, true),
            (".gitignore", PathEntryKind::File, true),
            (".git/config", PathEntryKind::File, false),
            ("a/.GIT/hooks/pre-commit", PathEntryKind::Executable, false),
            ("a/../b", PathEntryKind::File, false),
            ("sub", PathEntryKind::Submodule, false),
        ] {
            assert_eq!(check_entry(path.as_bytes(), kind).is_ok(), expected, "{path}");
        }
    }
}
