//! Objects by their hash, from packs and loose files, without a process. The only file that knows how the object
//! database is opened.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use gix::ObjectId;
use gix::objs::tree::EntryKind;
use gix::objs::{CommitRefIter, Exists, FindExt, Kind, TagRefIter, TreeRefIter};
use gix::odb::HeaderExt;
use gix::odb::pack::cache::lru::MemoryCappedHashmap;
use gix::odb::store::init::Options;

use crate::objects::ReadError;
use crate::packs::Packs;

/// Larger files are refused: nobody reads them, and a reviewer that tries must not take the machine down.
pub(crate) const BLOB_MAX: u64 = 64 << 20;
/// Decoded objects that are kept for the next read, by all threads together.
const PACK_CACHE_BYTES: usize = 192 << 20;
/// Entries of folders that a handle keeps for the next read: those on the way to a file of the largest repositories,
/// in a megabyte or two.
const KEPT_ENTRIES_MAX: usize = 16_384;
/// Commits whose tree a handle keeps: a change has two, and few are looked at besides.
const KEPT_ROOTS_MAX: usize = 64;
/// A tag of a tag of a tag: nobody goes deeper.
const TAGS_MAX: usize = 8;

/// The object database of a repository, for many threads.
#[derive(Clone)]
pub(crate) struct Database {
    shared: Arc<Shared>,
}

struct Shared {
    git_dir: PathBuf,
    /// Where the first objects are read from; none if the repository is too unusual for it.
    packs: Option<Packs>,
    /// The database that others are copies of. Most processes read one file and never open it.
    first: Mutex<Option<gix::odb::Handle>>,
    /// What nobody reads with at the moment.
    idle: Mutex<Vec<Reader>>,
}

/// A copy of the database, if one was needed yet, and what it has cached.
#[derive(Default)]
struct Reader {
    odb: OnceCell<gix::odb::Handle>,
    /// The trees of commits.
    roots: RefCell<HashMap<ObjectId, ObjectId>>,
    folders: RefCell<HashMap<ObjectId, Arc<[TreeEntry]>>>,
}

/// A way to read for one thread at a time, with caches of its own. It goes back to where it came from.
pub(crate) struct Handle {
    reader: Reader,
    home: Arc<Shared>,
}

/// What stands in a tree.
pub(crate) struct TreeEntry {
    pub(crate) name: Vec<u8>,
    pub(crate) kind: EntryKind,
    pub(crate) id: ObjectId,
}

impl Database {
    /// Opens the objects of a git folder, with whatever its alternates add.
    pub(crate) fn open(git_dir: &Path) -> Result<Self, ReadError> {
        let packs = Packs::open(&git_dir.join("objects"));
        // What is wrong with the folder is said now.
        let first = if packs.is_none() { Some(opened(git_dir)?) } else { None };
        let (git_dir, first) = (git_dir.to_owned(), Mutex::new(first));
        Ok(Self { shared: Arc::new(Shared { git_dir, packs, first, idle: Mutex::default() }) })
    }

    /// A handle for the thread that asks.
    pub(crate) fn handle(&self) -> Handle {
        let reader = self.shared.idle.lock().ok().and_then(|mut idle| idle.pop());
        Handle { reader: reader.unwrap_or_default(), home: Arc::clone(&self.shared) }
    }
}

impl Shared {
    /// A copy of the database.
    fn odb(&self) -> Result<gix::odb::Handle, ReadError> {
        let mut first = self.first.lock().map_err(|error| broken("the object database", error))?;
        match &*first {
            Some(first) => Ok(first.clone()),
            None => Ok(first.insert(opened(&self.git_dir)?).clone()),
        }
    }
}

fn opened(git_dir: &Path) -> Result<gix::odb::Handle, ReadError> {
    let options = Options {
        alloc_limit_bytes: usize::try_from(BLOB_MAX).ok(),
        // It is asked for only to make a relative path absolute.
        current_dir: Some(git_dir.to_owned()),
        ..Options::default()
    };
    let objects = git_dir.join("objects");
    let opened = gix::odb::at_opts(objects, gix::hash::Kind::Sha1, None, options);
    let mut odb = opened.map_err(|error| broken(git_dir.display(), error))?;
    odb.prevent_pack_unload();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    odb.set_pack_cache(move || Box::new(MemoryCappedHashmap::new(PACK_CACHE_BYTES / threads)));
    Ok(odb)
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").finish_non_exhaustive()
    }
}

impl Handle {
    fn odb(&self) -> Result<&gix::odb::Handle, ReadError> {
        match self.reader.odb.get() {
            Some(odb) => Ok(odb),
            None => {
                let odb = self.home.odb()?;
                Ok(self.reader.odb.get_or_init(|| odb))
            }
        }
    }

    /// Whether an object is here.
    pub(crate) fn has(&self, id: ObjectId) -> bool {
        self.home.packs.as_ref().is_some_and(|packs| packs.has(&id))
            || self.odb().is_ok_and(|odb| odb.exists(&id))
    }

    /// The size of an object.
    pub(crate) fn size(&self, name: &str, id: ObjectId) -> Result<u64, ReadError> {
        Ok(self.odb()?.header(id).map_err(|error| broken(name, error))?.size())
    }

    /// Any object.
    fn object(&self, name: &str, id: ObjectId) -> Result<(Kind, Vec<u8>), ReadError> {
        let mut bytes = Vec::new();
        if let Some(kind) = self.home.packs.as_ref().and_then(|packs| packs.find(&id, &mut bytes)) {
            return Ok((kind, bytes));
        }
        let found = self.odb()?.find(&id, &mut bytes).map_err(|error| broken(name, error))?;
        let (kind, length) = (found.kind, found.data.len());
        // What git knows without anybody having written it is not in there.
        bytes.truncate(length);
        Ok((kind, bytes))
    }

    /// An object that has to be of some kind.
    fn object_of(&self, wanted: Kind, name: &str, id: ObjectId) -> Result<Vec<u8>, ReadError> {
        match self.object(name, id)? {
            (kind, bytes) if kind == wanted => Ok(bytes),
            (kind, _) => Err(broken(name, format!("object {id} is a {kind}, not a {wanted}"))),
        }
    }

    /// The content of a file, if it is not too large.
    pub(crate) fn blob(&self, name: &str, id: ObjectId) -> Result<Vec<u8>, ReadError> {
        // Asking for the size first would cost a second way through what the object is a difference from, so the
        // database has the limit, and it is found out afterwards whether that was why it failed.
        let size = match self.object_of(Kind::Blob, name, id) {
            Ok(bytes) if bytes.len() as u64 <= BLOB_MAX => return Ok(bytes),
            Ok(bytes) => bytes.len() as u64,
            Err(error) => match self.odb()?.header(id) {
                Ok(header) if header.size() > BLOB_MAX => header.size(),
                Ok(_) | Err(_) => return Err(error),
            },
        };
        Err(ReadError::TooLarge { path: name.to_owned(), size })
    }

    /// What stands in a tree, in its order.
    pub(crate) fn tree(&self, name: &str, id: ObjectId) -> Result<Vec<TreeEntry>, ReadError> {
        // Git knows it without anybody having written it.
        if id == ObjectId::empty_tree(gix::hash::Kind::Sha1) {
            return Ok(Vec::new());
        }
        let bytes = self.object_of(Kind::Tree, name, id)?;
        TreeRefIter::from_bytes(&bytes, gix::hash::Kind::Sha1)
            .map(|entry| {
                let entry = entry.map_err(|error| broken(name, error))?;
                let (name, id) = (entry.filename.to_vec(), entry.oid.to_owned());
                Ok(TreeEntry { name, kind: entry.mode.kind(), id })
            })
            .collect()
    }

    /// The same, kept for the next read: files are mostly read in the order of their paths.
    pub(crate) fn folder(&self, name: &str, id: ObjectId) -> Result<Arc<[TreeEntry]>, ReadError> {
        if let Some(entries) = self.reader.folders.borrow().get(&id) {
            return Ok(Arc::clone(entries));
        }
        let entries: Arc<[TreeEntry]> = self.tree(name, id)?.into();
        let mut folders = self.reader.folders.borrow_mut();
        let kept: usize = folders.values().map(|entries| entries.len()).sum();
        if kept + entries.len() > KEPT_ENTRIES_MAX {
            folders.clear();
        }
        folders.insert(id, Arc::clone(&entries));
        Ok(entries)
    }

    /// The tree of a commit, a tag of one, or a tree.
    pub(crate) fn root(&self, revision: &str) -> Result<ObjectId, ReadError> {
        let id = parsed(revision)?;
        if let Some(root) = self.reader.roots.borrow().get(&id) {
            return Ok(*root);
        }
        let root = self.root_of(revision, id)?;
        let mut roots = self.reader.roots.borrow_mut();
        if roots.len() >= KEPT_ROOTS_MAX {
            roots.clear();
        }
        roots.insert(id, root);
        Ok(root)
    }

    fn root_of(&self, revision: &str, mut id: ObjectId) -> Result<ObjectId, ReadError> {
        let none = || ReadError::NoCommit(revision.to_owned());
        if id == ObjectId::empty_tree(gix::hash::Kind::Sha1) {
            return Ok(id);
        }
        for _ in 0..TAGS_MAX {
            let (kind, bytes) = self.object(revision, id).map_err(|_| none())?;
            let hash = gix::hash::Kind::Sha1;
            match kind {
                Kind::Tree => return Ok(id),
                Kind::Commit => {
                    return CommitRefIter::from_bytes(&bytes, hash).tree_id().map_err(|_| none());
                }
                Kind::Tag => {
                    id = TagRefIter::from_bytes(&bytes, hash).target_id().map_err(|_| none())?;
                }
                Kind::Blob => return Err(none()),
            }
        }
        Err(none())
    }

    /// The parents of a commit as it was written, whatever a shallow clone says of it.
    pub(crate) fn parents(&self, commit: &str) -> Result<Vec<String>, ReadError> {
        let bytes = self.object_of(Kind::Commit, commit, parsed(commit)?)?;
        let parents = CommitRefIter::from_bytes(&bytes, gix::hash::Kind::Sha1).parent_ids();
        Ok(parents.map(|id| id.to_string()).collect())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if let Ok(mut idle) = self.home.idle.lock() {
            idle.push(std::mem::take(&mut self.reader));
        }
    }
}

/// A hash from its digits.
pub(crate) fn parsed(id: &str) -> Result<ObjectId, ReadError> {
    ObjectId::from_hex(id.as_bytes()).map_err(|_| ReadError::NoCommit(id.to_owned()))
}

fn broken(name: impl std::fmt::Display, error: impl std::fmt::Display) -> ReadError {
    ReadError::Broken { path: name.to_string(), message: error.to_string() }
}
