//! Files and folders of a commit, read from git objects: no checkout, no process, no byte from anywhere else.

use std::borrow::Cow;
use std::path::Path;

use gix::ObjectId;
use gix::objs::tree::EntryKind;

use crate::database::{BLOB_MAX, Database, Handle, parsed};

/// The objects of a repository.
#[derive(Debug, Clone)]
pub struct Objects {
    database: Database,
}

/// Why something could not be read, in words for whoever asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The path is none that git could know.
    #[error("`{0}` is not a path inside the repository: write it from the root, without `..`")]
    BadPath(String),
    /// There is no such commit or tree.
    #[error("there is no commit `{0}`")]
    NoCommit(String),
    /// There is nothing of that name.
    #[error("there is no `{0}` at this revision")]
    NoEntry(String),
    /// It is something else.
    #[error("`{path}` is a {found}, not a {wanted}")]
    OtherKind {
        /// Where.
        path: String,
        /// What it is.
        found: &'static str,
        /// What was asked for.
        wanted: &'static str,
    },
    /// It is too large.
    #[error("`{path}` has {size} bytes, more than the {BLOB_MAX} that are read")]
    TooLarge {
        /// Where.
        path: String,
        /// How large it is.
        size: u64,
    },
    /// The repository is broken.
    #[error("reading `{path}`: {message}")]
    Broken {
        /// What was being read.
        path: String,
        /// What was said.
        message: String,
    },
}

/// What an entry of a tree is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A file.
    File,
    /// A file that can be run.
    Executable,
    /// A symbolic link; its content is where it points.
    Link,
    /// A folder.
    Folder,
    /// A submodule; its content is in another repository.
    Submodule,
}

/// An entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its path from the root of the repository, as bytes.
    pub path: Vec<u8>,
    /// What it is.
    pub kind: Kind,
    /// The hash of its content.
    pub id: String,
}

impl Kind {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::File | Self::Executable => "file",
            Self::Link => "link",
            Self::Folder => "folder",
            Self::Submodule => "submodule",
        }
    }

    /// Whether it has content that can be read as a file.
    pub fn is_file(self) -> bool {
        matches!(self, Self::File | Self::Executable)
    }

    fn of(kind: EntryKind) -> Self {
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
    /// Opens the objects of a git folder, with whatever its alternates add.
    pub fn open(git_dir: &Path) -> Result<Self, ReadError> {
        Ok(Self { database: Database::open(git_dir)? })
    }

    /// A way to read for one thread, with caches of its own.
    pub(crate) fn handle(&self) -> Handle {
        self.database.handle()
    }

    /// What stands at a path of a commit or tree, and its size; the root for an empty path.
    pub fn stat(&self, revision: &str, path: impl AsRef<[u8]>) -> Result<(Entry, u64), ReadError> {
        let (handle, path) = (self.handle(), path.as_ref());
        let found = find(&handle, revision, path)?;
        let size = match found.entry.kind {
            Kind::Submodule => 0,
            Kind::File | Kind::Executable | Kind::Link | Kind::Folder => {
                handle.size(&shown(path), found.id)?
            }
        };
        Ok((found.entry, size))
    }

    /// What stands at a path of a commit or tree. Its content need not be here.
    pub fn entry(&self, revision: &str, path: impl AsRef<[u8]>) -> Result<Entry, ReadError> {
        Ok(find(&self.handle(), revision, path.as_ref())?.entry)
    }

    /// The content of a file; of a link, where it points.
    pub fn file(&self, revision: &str, path: impl AsRef<[u8]>) -> Result<Vec<u8>, ReadError> {
        let (handle, path) = (self.handle(), path.as_ref());
        let found = find(&handle, revision, path)?;
        match found.entry.kind {
            Kind::File | Kind::Executable | Kind::Link => handle.blob(&shown(path), found.id),
            Kind::Folder | Kind::Submodule => Err(other_kind(path, found.entry.kind, "file")),
        }
    }

    /// The content of a file; none if there is nothing at the path, or something else than a file.
    pub fn file_if_any(
        &self,
        revision: &str,
        path: impl AsRef<[u8]>,
    ) -> Result<Option<Vec<u8>>, ReadError> {
        let (handle, path) = (self.handle(), path.as_ref());
        match find(&handle, revision, path) {
            Ok(found) if found.entry.kind.is_file() => {
                handle.blob(&shown(path), found.id).map(Some)
            }
            Ok(_) | Err(ReadError::NoEntry(_)) => Ok(None),
            Err(why) => Err(why),
        }
    }

    /// The entries of a folder, sorted by name as bytes.
    pub fn folder(&self, revision: &str, path: impl AsRef<[u8]>) -> Result<Vec<Entry>, ReadError> {
        let (handle, path) = (self.handle(), path.as_ref());
        let found = find(&handle, revision, path)?;
        if found.entry.kind != Kind::Folder {
            return Err(other_kind(path, found.entry.kind, "folder"));
        }
        let prefix = found.entry.path;
        let entries = handle.tree(&shown(path), found.id)?.into_iter();
        let mut entries: Vec<Entry> = entries
            .map(|entry| Entry {
                path: below(&prefix, &entry.name),
                kind: Kind::of(entry.kind),
                id: entry.id.to_string(),
            })
            .collect();
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(entries)
    }

    /// Everything below the root that is not a folder, sorted by path as bytes.
    pub fn files(&self, revision: &str) -> Result<Vec<Entry>, ReadError> {
        let handle = self.handle();
        let mut folders = vec![(Vec::new(), handle.root(revision)?)];
        let mut files = Vec::new();
        while let Some((prefix, id)) = folders.pop() {
            for entry in handle.tree(&String::from_utf8_lossy(&prefix), id)? {
                let path = below(&prefix, &entry.name);
                match entry.kind {
                    EntryKind::Tree => folders.push((path, entry.id)),
                    EntryKind::Blob
                    | EntryKind::BlobExecutable
                    | EntryKind::Link
                    | EntryKind::Commit => {
                        let (kind, id) = (Kind::of(entry.kind), entry.id.to_string());
                        files.push(Entry { path, kind, id });
                    }
                }
            }
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(files)
    }

    /// The parents of a commit as it was written, whatever a shallow clone says of it.
    pub(crate) fn parents(&self, commit: &str) -> Result<Vec<String>, ReadError> {
        self.handle().parents(commit)
    }

    /// Whether an object is here.
    pub fn has(&self, id: &str) -> bool {
        parsed(id).is_ok_and(|id| self.handle().has(id))
    }
}

/// An entry of a tree, with its hash as the database takes it.
struct Found {
    entry: Entry,
    id: ObjectId,
}

/// The entry at a path of a commit or tree.
fn find(handle: &Handle, revision: &str, path: &[u8]) -> Result<Found, ReadError> {
    let mut id = handle.root(revision)?;
    let mut kind = Kind::Folder;
    let parts = checked(path)?;
    let none = || ReadError::NoEntry(shown(path).into_owned());
    for part in &parts {
        match kind {
            Kind::Folder => {}
            Kind::File | Kind::Executable | Kind::Link => return Err(none()),
            // What is in there is in another repository.
            Kind::Submodule => {
                return Err(other_kind(path, kind, "file or folder of this repository"));
            }
        }
        let entries = handle.folder(&shown(path), id)?;
        let found = entries.iter().find(|entry| entry.name == *part).ok_or_else(none)?;
        (id, kind) = (found.id, Kind::of(found.kind));
    }
    Ok(Found { entry: Entry { path: parts.join(&b'/'), kind, id: id.to_string() }, id })
}

fn below(prefix: &[u8], name: &[u8]) -> Vec<u8> {
    match prefix {
        [] => name.to_vec(),
        prefix => [prefix, b"/", name].concat(),
    }
}

fn other_kind(path: &[u8], kind: Kind, wanted: &'static str) -> ReadError {
    ReadError::OtherKind { path: shown(path).into_owned(), found: kind.word(), wanted }
}

fn shown(path: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(path)
}

/// Whether a path can be one inside a repository: from the root, and without `..`.
pub fn check_path(path: &[u8]) -> Result<(), ReadError> {
    checked(path).map(drop)
}

/// The parts of a path from the root; a path that could lead elsewhere is none.
fn checked(path: &[u8]) -> Result<Vec<&[u8]>, ReadError> {
    let without_end = path.strip_suffix(b"/").unwrap_or(path);
    if without_end.is_empty() && !path.starts_with(b"/") {
        return Ok(Vec::new());
    }
    let parts: Vec<&[u8]> = without_end.split(|byte| *byte == b'/').collect();
    let bad = |part: &&[u8]| matches!(*part, b"" | b"." | b"..") || part.contains(&0);
    if parts.iter().any(bad) {
        Err(ReadError::BadPath(shown(path).into_owned()))
    } else {
        Ok(parts)
    }
}
