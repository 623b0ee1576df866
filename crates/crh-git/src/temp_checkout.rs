//! The files of one commit in a folder that is thrown away: somebody may change them there, and what differs afterwards
//! is told.
//!
//! Invariants: objects are only read, and no filter, hook or attribute runs anything; nothing in the folder leads out of it;
//! the folder is gone with its value, and that of a process that died goes with the next.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use gix::objs::compute_hash;
use tempfile::{Builder, TempDir};

use crate::bare::Bare;
use crate::database::{BLOB_MAX, parsed};
use crate::objects::{Entry, Kind, Objects, ReadError, check_path};

/// A tree with more files is not laid out: that would take a minute and more, and nobody waits for it.
const FILES_MAX: usize = 100_000;
/// Nor one with more bytes, which may well be more than the disk of temporary files has room for.
const BYTES_MAX: u64 = 2 << 30;
/// How the names of the folders begin, so that those of processes that died are known.
const PREFIX: &str = "crh-tree-";
/// A file in each that is locked as long as somebody uses it. It gets this name when it is locked.
const LOCK: &str = "lock";
/// The folder of the files, beside it.
const TREE: &str = "tree";
/// A folder that git takes for a repository, with commands in it that git runs.
const GIT: &[u8] = b".git";

/// The files of a commit or tree in a folder of their own.
#[derive(Debug)]
pub struct WorkTree {
    // Dropped in this order: the folder is gone before anybody else may clean it.
    _folder: TempDir,
    _lock: File,
    tree: PathBuf,
    objects: Objects,
    /// What was written, by path.
    laid: BTreeMap<Vec<u8>, Laid>,
    left_out: Vec<LeftOut>,
}

/// What was written at a path.
#[derive(Debug, Clone)]
struct Laid {
    kind: Kind,
    id: String,
}

/// Something of the tree that was not written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its path from the root, as bytes.
    pub path: Vec<u8>,
    /// Why, in half a sentence.
    pub why: String,
}

/// A path at which the folder is not as the tree is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The path from the root, as bytes.
    pub path: Vec<u8>,
    /// What differs.
    pub what: Differs,
}

/// What differs at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Differs {
    /// The bytes of a plain file.
    Text {
        /// What the tree has; none if it has no such file.
        before: Option<Vec<u8>>,
        /// What the folder has; none if the file is gone.
        after: Option<Vec<u8>>,
    },
    /// Something that is more than a text: a link, a mode, a file where the tree has something else. Said in half a
    /// sentence.
    More(String),
}

/// Why there is no such folder, or why it cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum WorkTreeError {
    /// It could not be written or read.
    #[error("the temporary folder `{folder}` cannot be used", folder = folder.display())]
    Io {
        /// Which.
        folder: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The tree could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It has too many files.
    #[error("the tree has more than {FILES_MAX} files")]
    TooMany,
    /// It has too many bytes.
    #[error("the tree has more than {BYTES_MAX} bytes")]
    TooLarge,
}

impl WorkTree {
    /// Lays out a commit or a tree below the folder of temporary files.
    pub fn of(bare: &Bare, revision: &str) -> Result<Self, WorkTreeError> {
        Self::below(&std::env::temp_dir(), bare, revision)
    }

    /// The same below a folder of one's own choice, from which also goes what processes that died have left there.
    pub fn below(parent: &Path, bare: &Bare, revision: &str) -> Result<Self, WorkTreeError> {
        let io = |source| WorkTreeError::Io { folder: parent.to_owned(), source };
        clean(parent);
        let objects = bare.objects()?;
        let (folder, lock) = locked(parent).map_err(io)?;
        let mut laid_out = Self {
            tree: folder.path().join(TREE),
            _folder: folder,
            _lock: lock,
            objects,
            laid: BTreeMap::new(),
            left_out: Vec::new(),
        };
        laid_out.lay_out(revision)?;
        Ok(laid_out)
    }

    /// Where the files are. A `.git` is not among them.
    pub fn path(&self) -> &Path {
        &self.tree
    }

    /// What of the tree is not there.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// What was laid out at a path; none if nothing was, or a folder.
    pub fn kind(&self, path: &[u8]) -> Option<Kind> {
        self.laid.get(path).map(|laid| laid.kind)
    }

    /// Every path at which the folder is not as the tree is, sorted by path as bytes. Folders do not count.
    pub fn differences(&self) -> Result<Vec<Difference>, WorkTreeError> {
        let there = found(&self.tree).map_err(|why| self.failed(why))?;
        let mut differences = Vec::new();
        for (path, laid) in &self.laid {
            if !there.contains_key(path) {
                let before = self.content(path, laid)?;
                let what = match laid.kind {
                    Kind::File | Kind::Executable => {
                        Differs::Text { before: Some(before), after: None }
                    }
                    Kind::Link | Kind::Folder | Kind::Submodule => {
                        Differs::More(format!("the {} is gone", laid.kind.word()))
                    }
                };
                differences.push(Difference { path: path.clone(), what });
            }
        }
        for (path, metadata) in there {
            let what = match self.laid.get(&path) {
                Some(laid) => self.changed(&path, laid, &metadata)?,
                None => Some(self.added(&path, &metadata).map_err(|why| self.failed(why))?),
            };
            differences.extend(what.map(|what| Difference { path, what }));
        }
        differences.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(differences)
    }

    fn lay_out(&mut self, revision: &str) -> Result<(), WorkTreeError> {
        let entries = self.objects.files(revision)?;
        if entries.len() > FILES_MAX {
            return Err(WorkTreeError::TooMany);
        }
        // Links come last, so that no file is written through one where two names are the same to the disk.
        let (links, files): (Vec<Entry>, Vec<Entry>) =
            entries.into_iter().partition(|entry| entry.kind == Kind::Link);
        let mut left = BYTES_MAX;
        for Entry { path, kind, id } in files.into_iter().chain(links) {
            let laid = Laid { kind, id };
            let bytes = placed(&path, kind)
                .and_then(|()| self.content(&path, &laid).map_err(|error| error.to_string()));
            let why = match bytes {
                Ok(target) if kind == Kind::Link && !stays_inside(&path, &target) => {
                    Some("a link that leads out of the tree".to_owned())
                }
                Ok(bytes) => {
                    let size = bytes.len() as u64;
                    left = left.checked_sub(size).ok_or(WorkTreeError::TooLarge)?;
                    self.write(&path, kind, &bytes)?
                }
                Err(why) => Some(why),
            };
            match why {
                None => drop(self.laid.insert(path, laid)),
                Some(why) => self.left_out.push(LeftOut { path, why }),
            }
        }
        self.left_out.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(())
    }

    /// Writes one entry. Why this one cannot be, in half a sentence; a disk that is full is the end of all.
    fn write(
        &self,
        path: &[u8],
        kind: Kind,
        bytes: &[u8],
    ) -> Result<Option<String>, WorkTreeError> {
        let file = self.tree.join(OsStr::from_bytes(path));
        let written = within(&file).and_then(|()| match kind {
            Kind::Link => symlink(OsStr::from_bytes(bytes), &file),
            Kind::File | Kind::Executable | Kind::Folder | Kind::Submodule => {
                new_file(&file, kind, bytes)
            }
        });
        match written {
            Ok(()) => Ok(None),
            Err(source)
                if matches!(
                    source.kind(),
                    io::ErrorKind::StorageFull
                        | io::ErrorKind::QuotaExceeded
                        | io::ErrorKind::FileTooLarge
                ) =>
            {
                Err(self.failed(source))
            }
            // A name that is too long, or that the disk holds for another one's.
            Err(why) => Ok(Some(format!("no file of that name can be made: {why}"))),
        }
    }

    fn failed(&self, source: io::Error) -> WorkTreeError {
        WorkTreeError::Io { folder: self.tree.clone(), source }
    }

    fn content(&self, path: &[u8], laid: &Laid) -> Result<Vec<u8>, ReadError> {
        self.objects.handle().blob(&String::from_utf8_lossy(path), parsed(&laid.id)?)
    }

    /// What differs at a path where something was laid out; none if nothing does.
    fn changed(
        &self,
        path: &[u8],
        laid: &Laid,
        metadata: &Metadata,
    ) -> Result<Option<Differs>, WorkTreeError> {
        let file = self.tree.join(OsStr::from_bytes(path));
        let io = |source| self.failed(source);
        let more = |what: &str| Ok(Some(Differs::More(what.to_owned())));
        if laid.kind == Kind::Link {
            if !metadata.is_symlink() {
                return more("it is no link any more");
            }
            let target = fs::read_link(&file).map_err(io)?;
            let is_same = target.as_os_str().as_bytes() == self.content(path, laid)?;
            return if is_same { Ok(None) } else { more("the link leads elsewhere") };
        }
        if !metadata.is_file() {
            return more("it is no plain file any more");
        }
        if (metadata.mode() & 0o100 != 0) != (laid.kind == Kind::Executable) {
            return more("its mode is another one");
        }
        if metadata.len() > BLOB_MAX {
            return more("it is too large");
        }
        let after = fs::read(&file).map_err(io)?;
        let hash = compute_hash(gix::hash::Kind::Sha1, gix::objs::Kind::Blob, &after);
        let is_same = |hash| parsed(&laid.id).is_ok_and(|laid| laid == hash);
        if hash.is_ok_and(is_same) {
            return Ok(None);
        }
        let before = Some(self.content(path, laid)?);
        Ok(Some(Differs::Text { before, after: Some(after) }))
    }

    /// What differs at a path where nothing was laid out.
    fn added(&self, path: &[u8], metadata: &Metadata) -> io::Result<Differs> {
        let more = |what: &str| Ok(Differs::More(what.to_owned()));
        if self.left_out.iter().any(|left_out| left_out.path == path) {
            return more("the tree has something else there");
        }
        if !metadata.is_file() {
            return more("it is no plain file");
        }
        if metadata.len() > BLOB_MAX {
            return more("it is too large");
        }
        let after = fs::read(self.tree.join(OsStr::from_bytes(path)))?;
        Ok(Differs::Text { before: None, after: Some(after) })
    }
}

/// Removes the folders of processes that are gone: their locks are free. What cannot be removed is in nobody's way.
fn clean(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    let ours = rustix::process::getuid().as_raw();
    for entry in entries.flatten() {
        if !entry.file_name().as_bytes().starts_with(PREFIX.as_bytes()) {
            continue;
        }
        // Others may write to the folder of temporary files, too.
        let is_ours = |it: Metadata| it.is_dir() && it.uid() == ours;
        if !fs::symlink_metadata(entry.path()).is_ok_and(is_ours) {
            continue;
        }
        let Ok(lock) = File::open(entry.path().join(LOCK)) else { continue };
        if lock.try_lock().is_ok() {
            let _is_gone = fs::remove_dir_all(entry.path());
        }
    }
}

/// A new folder and its lock.
fn locked(parent: &Path) -> io::Result<(TempDir, File)> {
    // Nobody else on this machine reads what is under review.
    let private = Permissions::from_mode(0o700);
    let folder = Builder::new().prefix(PREFIX).permissions(private).tempdir_in(parent)?;
    let new = folder.path().join("new");
    let lock = File::create_new(&new)?;
    lock.lock()?;
    fs::rename(&new, folder.path().join(LOCK))?;
    fs::create_dir(folder.path().join(TREE))?;
    Ok((folder, lock))
}

/// Whether an entry of a tree has a place in a folder; the error is half a sentence.
fn placed(path: &[u8], kind: Kind) -> Result<(), String> {
    check_path(path).map_err(|_| "no path inside a repository".to_owned())?;
    let mut parts = path.split(|byte| *byte == b'/');
    if parts.any(|part| part.eq_ignore_ascii_case(GIT)) {
        return Err("git would take it for a repository".to_owned());
    }
    match kind {
        Kind::File | Kind::Executable | Kind::Link => Ok(()),
        Kind::Folder | Kind::Submodule => Err("its content is in another repository".to_owned()),
    }
}

/// Whether a link leads to somewhere inside, whatever the links on its way lead to: it goes up first, no further than to
/// the root, and then only down. With a `..` behind a name it could go up from where another link leads to.
fn stays_inside(path: &[u8], target: &[u8]) -> bool {
    let depth = path.iter().filter(|byte| **byte == b'/').count();
    let mut up = 0;
    let mut is_down = false;
    for part in Path::new(OsStr::from_bytes(target)).components() {
        match part {
            Component::Prefix(_) | Component::RootDir => return false,
            Component::CurDir => {}
            Component::ParentDir if is_down => return false,
            Component::ParentDir => up += 1,
            Component::Normal(_) => is_down = true,
        }
    }
    !target.is_empty() && up <= depth
}

/// Makes the folders around a file.
fn within(file: &Path) -> io::Result<()> {
    file.parent().map_or(Ok(()), fs::create_dir_all)
}

fn new_file(file: &Path, kind: Kind, bytes: &[u8]) -> io::Result<()> {
    let mode = if kind == Kind::Executable { 0o700 } else { 0o600 };
    let mut written = OpenOptions::new().write(true).create_new(true).mode(mode).open(file)?;
    written.write_all(bytes)
}

/// Everything below a folder that is no folder, by its path from there.
fn found(root: &Path) -> io::Result<BTreeMap<Vec<u8>, Metadata>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![(root.to_owned(), Vec::new())];
    while let Some((folder, prefix)) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let mut path = prefix.clone();
            path.extend_from_slice(entry.file_name().as_bytes());
            let metadata = fs::symlink_metadata(entry.path())?;
            if metadata.is_dir() {
                path.push(b'/');
                folders.push((entry.path(), path));
            } else {
                found.insert(path, metadata);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever waits for a model has one in hand.
    const fn is_shared<T: Send + Sync>() {}
    const _: () = is_shared::<WorkTree>();

    #[test]
    fn a_link_stays_inside_if_it_goes_up_first_and_no_further_than_the_root() {
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
    fn what_git_would_take_for_a_repository_has_no_place() {
        for (path, kind, expected) in [
            ("a/b", Kind::File, true),
            (".gitignore", Kind::File, true),
            (".git/config", Kind::File, false),
            ("a/.GIT/hooks/pre-commit", Kind::Executable, false),
            ("a/../b", Kind::File, false),
            ("sub", Kind::Submodule, false),
        ] {
            assert_eq!(placed(path.as_bytes(), kind).is_ok(), expected, "{path}");
        }
    }
}
