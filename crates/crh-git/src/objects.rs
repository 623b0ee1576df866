//! Reads files and folders of a commit from git objects, without a checkout or a process.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use gix::ObjectId;
use gix::objs::tree::EntryKind;

use crate::database::{Database, DatabaseHandle, parse_id};
use crate::read_error::{DEPTH_MAX, FILES_MAX, ReadError};
use crate::word_index::WordIndex;

/// The empty tree, used as the parent of the first commit.
pub const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/// After listing this many files and folders, crh counts all files before it lists more. Counting
/// is fast even if folders repeat.
const COUNTED_FROM: usize = 50_000;
/// Maximum length of all listed paths together: about 128 bytes for each of [`FILES_MAX`].
const PATHS_BYTES_MAX: usize = 128 << 20;
/// Number of file lists that are kept: those of base and head.
const CACHED_LISTS: usize = 2;
/// Longer file lists are not kept. A list of this length takes about 20 MB.
const CACHED_FILES_MAX: usize = 100_000;

/// Revisions with their files, the most recently listed revision first.
type FileLists = VecDeque<(String, Arc<[PathEntry]>)>;

/// The objects of a repository.
#[derive(Debug, Clone)]
pub struct Objects {
    database: Database,
    /// Revisions with too many files, so that crh counts them once.
    oversized: Arc<Mutex<BTreeSet<String>>>,
    /// Files of the most recently listed revisions.
    file_lists: Arc<Mutex<FileLists>>,
    word_index: Arc<WordIndex>,
}

/// Kind of a path in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathEntryKind {
    /// A file.
    File,
    /// An executable file.
    Executable,
    /// A symlink; its content is the target.
    Link,
    /// A folder.
    Folder,
    /// A submodule; its content is in another repository.
    Submodule,
}

/// An entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathEntry {
    /// Path from the repository root, as bytes.
    pub path: Vec<u8>,
    /// Kind of the entry.
    pub kind: PathEntryKind,
    /// Object id.
    pub id: String,
}

impl PathEntryKind {
    /// Name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::File | Self::Executable => "file",
            Self::Link => "link",
            Self::Folder => "folder",
            Self::Submodule => "submodule",
        }
    }

    /// Whether it is a regular file.
    pub fn is_file(self) -> bool {
        matches!(self, Self::File | Self::Executable)
    }

    fn from_entry_kind(kind: EntryKind) -> Self {
        match kind {
            EntryKind::Blob => Self::File,
            EntryKind::BlobExecutable => Self::Executable,
            EntryKind::Link => Self::Link,
            EntryKind::Tree => Self::Folder,
            EntryKind::Commit => Self::Submodule,
        }
    }
}

impl Objects {
    /// Opens the objects of a git folder and its alternates.
    pub fn open(git_dir: &Path) -> Result<Self, ReadError> {
        let word_index = Arc::new(WordIndex::new(git_dir));
        let database = Database::open(git_dir)?;
        Ok(Self { database, oversized: Arc::default(), file_lists: Arc::default(), word_index })
    }

    /// Which words files contain.
    pub(crate) fn word_index(&self) -> &WordIndex {
        &self.word_index
    }

    /// A reader for one thread, with its own caches.
    pub(crate) fn handle(&self) -> DatabaseHandle {
        self.database.handle()
    }

    /// Entry and size at a path of a commit or tree. An empty path is the root.
    pub fn stat(
        &self,
        revision: &str,
        path: impl AsRef<[u8]>,
    ) -> Result<(PathEntry, u64), ReadError> {
        let (handle, path) = (self.handle(), path.as_ref());
        let target = find_entry(&handle, revision, path)?;
        let size = match target.entry.kind {
            PathEntryKind::Submodule => 0,
            PathEntryKind::File
            | PathEntryKind::Executable
            | PathEntryKind::Link
            | PathEntryKind::Folder => handle.size(&display_path(path), target.id)?,
        };
        Ok((target.entry, size))
    }

    /// Entry at a path of a commit or tree. A partial clone may lack its content.
    pub fn entry(&self, revision: &str, path: impl AsRef<[u8]>) -> Result<PathEntry, ReadError> {
        Ok(find_entry(&self.handle(), revision, path.as_ref())?.entry)
    }

    /// Content of a file, or the target of a symlink.
    pub fn file(&self, revision: &str, path: impl AsRef<[u8]>) -> Result<Vec<u8>, ReadError> {
        let (handle, path) = (self.handle(), path.as_ref());
        let target = find_entry(&handle, revision, path)?;
        match target.entry.kind {
            PathEntryKind::File | PathEntryKind::Executable | PathEntryKind::Link => {
                handle.blob(&display_path(path), target.id)
            }
            PathEntryKind::Folder | PathEntryKind::Submodule => {
                Err(wrong_kind_error(path, target.entry.kind, "file"))
            }
        }
    }

    /// Content of a file; `None` if the path is missing or not a file.
    pub fn file_if_any(
        &self,
        revision: &str,
        path: impl AsRef<[u8]>,
    ) -> Result<Option<Vec<u8>>, ReadError> {
        let (handle, path) = (self.handle(), path.as_ref());
        match find_entry(&handle, revision, path) {
            Ok(target) if target.entry.kind.is_file() => {
                handle.blob(&display_path(path), target.id).map(Some)
            }
            Ok(_) | Err(ReadError::NoEntry(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Entries of a folder, sorted by name.
    pub fn folder(
        &self,
        revision: &str,
        path: impl AsRef<[u8]>,
    ) -> Result<Vec<PathEntry>, ReadError> {
        let (handle, path) = (self.handle(), path.as_ref());
        let target = find_entry(&handle, revision, path)?;
        if target.entry.kind != PathEntryKind::Folder {
            return Err(wrong_kind_error(path, target.entry.kind, "folder"));
        }
        let prefix = target.entry.path;
        let entries = handle.tree(&display_path(path), target.id)?.into_iter();
        let mut entries: Vec<PathEntry> = entries
            .map(|entry| PathEntry {
                path: join_path(&prefix, &entry.name),
                kind: PathEntryKind::from_entry_kind(entry.kind),
                id: entry.id.to_string(),
            })
            .collect();
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(entries)
    }

    /// All files, symlinks and submodules below the root, sorted by path.
    pub fn files(&self, revision: &str) -> Result<Vec<PathEntry>, ReadError> {
        self.shared_files(revision).map(|files| files.to_vec())
    }

    /// Like [`Self::files`]. Lists the files of a revision once, since searches need them again.
    pub(crate) fn shared_files(&self, revision: &str) -> Result<Arc<[PathEntry]>, ReadError> {
        let lists = || self.file_lists.lock().unwrap_or_else(PoisonError::into_inner);
        let cached = lists().iter().find(|(listed, _)| listed == revision).cloned();
        if let Some((_, files)) = cached {
            return Ok(files);
        }
        let files: Arc<[PathEntry]> = self.list_files(revision)?.into();
        if files.len() <= CACHED_FILES_MAX {
            let mut lists = lists();
            // Another thread may have listed the same revision meanwhile.
            lists.retain(|(listed, _)| listed != revision);
            lists.truncate(CACHED_LISTS - 1);
            lists.push_front((revision.to_owned(), Arc::clone(&files)));
        }
        Ok(files)
    }

    fn list_files(&self, revision: &str) -> Result<Vec<PathEntry>, ReadError> {
        let too_many_files = || ReadError::TooManyFiles(revision.to_owned());
        let oversized = || self.oversized.lock().unwrap_or_else(PoisonError::into_inner);
        if oversized().contains(revision) {
            return Err(too_many_files());
        }
        let handle = self.handle();
        let mut folders = vec![(Vec::new(), handle.root(revision)?)];
        let mut files = Vec::new();
        let (mut count, mut bytes) = (0_usize, 0_usize);
        while let Some((prefix, id)) = folders.pop() {
            for entry in handle.tree(&String::from_utf8_lossy(&prefix), id)? {
                let path = join_path(&prefix, &entry.name);
                count += 1;
                bytes += path.len();
                let is_bomb = count == COUNTED_FROM
                    && self.count_changes(EMPTY_TREE, revision)? > FILES_MAX as u64;
                if is_bomb || count > FILES_MAX || bytes > PATHS_BYTES_MAX {
                    oversized().insert(revision.to_owned());
                    return Err(too_many_files());
                }
                match entry.kind {
                    EntryKind::Tree => folders.push((path, entry.id)),
                    EntryKind::Blob
                    | EntryKind::BlobExecutable
                    | EntryKind::Link
                    | EntryKind::Commit => {
                        let (kind, id) =
                            (PathEntryKind::from_entry_kind(entry.kind), entry.id.to_string());
                        files.push(PathEntry { path, kind, id });
                    }
                }
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(files)
    }

    /// Number of files that differ between two commits or trees. Folders that occur several times
    /// are read once.
    pub(crate) fn count_changes(&self, base: &str, head: &str) -> Result<u64, ReadError> {
        let handle = self.handle();
        let mut counter = ChangeCounter { handle: &handle, counts: HashMap::new() };
        let (base, head) = (handle.root(base)?, handle.root(head)?);
        counter.count(Some(base), Some(head), DEPTH_MAX)
    }

    /// Parents recorded in a commit, even if a shallow clone lacks them.
    pub(crate) fn parents(&self, commit: &str) -> Result<Vec<String>, ReadError> {
        self.handle().parents(commit)
    }

    /// Whether the repository or its alternates contain an object.
    pub fn has(&self, id: &str) -> bool {
        parse_id(id).is_ok_and(|id| self.handle().has(id))
    }
}

/// Maximum number of pairs of folders that [`ChangeCounter`] compares.
const PAIRS_MAX: usize = 1_000_000;

/// Counts changed files. Equal pairs of folders have equal counts.
struct ChangeCounter<'a> {
    handle: &'a DatabaseHandle,
    counts: HashMap<[Option<ObjectId>; 2], u64>,
}

impl ChangeCounter<'_> {
    fn count(
        &mut self,
        old: Option<ObjectId>,
        new: Option<ObjectId>,
        depth_left: usize,
    ) -> Result<u64, ReadError> {
        if old == new {
            return Ok(0);
        }
        if let Some(count) = self.counts.get(&[old, new]) {
            return Ok(*count);
        }
        let Some(depth_left) = depth_left.checked_sub(1) else {
            return Err(ReadError::TooDeep("the change".to_owned()));
        };
        if self.counts.len() >= PAIRS_MAX {
            return Err(ReadError::TooManyFiles("the change".to_owned()));
        }
        let mut pairs: BTreeMap<Vec<u8>, [Option<(EntryKind, ObjectId)>; 2]> = BTreeMap::new();
        for (side, id) in [old, new].into_iter().enumerate() {
            let entries = id.map(|id| self.handle.tree("", id)).transpose()?;
            for entry in entries.into_iter().flatten() {
                pairs.entry(entry.name).or_default()[side] = Some((entry.kind, entry.id));
            }
        }
        let mut count = 0_u64;
        for [old, new] in pairs.into_values().filter(|[old, new]| old != new) {
            let is_folder = |(kind, _): &(EntryKind, ObjectId)| *kind == EntryKind::Tree;
            let has_file = [old, new].iter().flatten().any(|entry| !is_folder(entry));
            let folder =
                |entry: Option<(EntryKind, ObjectId)>| entry.filter(is_folder).map(|(_, id)| id);
            let below = self.count(folder(old), folder(new), depth_left)?;
            count = count.saturating_add(u64::from(has_file)).saturating_add(below);
        }
        self.counts.insert([old, new], count);
        Ok(count)
    }
}

struct ResolvedEntry {
    entry: PathEntry,
    id: ObjectId,
}

fn find_entry(
    handle: &DatabaseHandle,
    revision: &str,
    path: &[u8],
) -> Result<ResolvedEntry, ReadError> {
    let mut id = handle.root(revision)?;
    let mut kind = PathEntryKind::Folder;
    let parts = split_path(path)?;
    let no_entry = || ReadError::NoEntry(display_path(path).into_owned());
    for part in &parts {
        match kind {
            PathEntryKind::Folder => {}
            PathEntryKind::File | PathEntryKind::Executable | PathEntryKind::Link => {
                return Err(no_entry());
            }
            // The contents of a submodule are in another repository.
            PathEntryKind::Submodule => {
                return Err(wrong_kind_error(path, kind, "file or folder of this repository"));
            }
        }
        let entries = handle.folder(&display_path(path), id)?;
        let child = entries.iter().find(|entry| entry.name == *part).ok_or_else(no_entry)?;
        (id, kind) = (child.id, PathEntryKind::from_entry_kind(child.kind));
    }
    Ok(ResolvedEntry { entry: PathEntry { path: parts.join(&b'/'), kind, id: id.to_string() }, id })
}

fn join_path(prefix: &[u8], name: &[u8]) -> Vec<u8> {
    match prefix {
        [] => name.to_vec(),
        prefix => [prefix, b"/", name].concat(),
    }
}

fn wrong_kind_error(path: &[u8], kind: PathEntryKind, expected: &'static str) -> ReadError {
    ReadError::OtherKind { path: display_path(path).into_owned(), actual: kind.name(), expected }
}

fn display_path(path: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(path)
}

/// Checks that a path is relative to the root and has no `..`.
pub fn check_path(path: &[u8]) -> Result<(), ReadError> {
    split_path(path).map(drop)
}

/// Parts of a path. Paths that could leave the repository are rejected.
fn split_path(path: &[u8]) -> Result<Vec<&[u8]>, ReadError> {
    let without_slash = path.strip_suffix(b"/").unwrap_or(path);
    if without_slash.is_empty() && !path.starts_with(b"/") {
        return Ok(Vec::new());
    }
    let parts: Vec<&[u8]> = without_slash.split(|byte| *byte == b'/').collect();
    let is_invalid = |part: &&[u8]| matches!(*part, b"" | b"." | b"..") || part.contains(&0);
    if parts.iter().any(is_invalid) {
        Err(ReadError::BadPath(display_path(path).into_owned()))
    } else {
        Ok(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crh_testkit::Repo;

    #[test]
    fn files_of_base_and_head_are_listed_once() {
        let repo = Repo::new();
        let commits = ["a", "b", "c"].map(|text| {
            repo.write("a.txt", text);
            repo.commit(text)
        });
        let objects = Objects::open(&repo.path().join(".git")).unwrap();
        let list = |commit: &String| objects.shared_files(commit).unwrap();
        let [base, head, other] = &commits;
        let [base_files, head_files] = [base, head].map(list);
        assert_ne!(base_files, head_files);
        assert!(Arc::ptr_eq(&base_files, &list(base)));
        assert!(Arc::ptr_eq(&head_files, &list(head)));
        // The list that was made first makes room for another one.
        list(other);
        assert!(Arc::ptr_eq(&head_files, &list(head)));
        assert!(!Arc::ptr_eq(&base_files, &list(base)));
        assert_eq!(base_files, list(base));
    }
}
