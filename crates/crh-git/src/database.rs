//! Reads objects by id from packs and loose files, without a process. Only this file opens the
//! object database.

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

use crate::packs::Packs;
use crate::read_error::{MAX_BLOB_BYTES, ReadError};

/// Size of all caches of decoded objects together. Each thread has its own.
const PACK_CACHE_BYTES: usize = 192 << 20;
/// Folder entries cached per handle, about two megabytes.
const MAX_CACHED_ENTRIES: usize = 16_384;
/// Root trees cached per handle. A change has two.
const MAX_CACHED_ROOTS: usize = 64;
/// Maximum depth of tags that point to tags.
const MAX_TAG_DEPTH: usize = 8;

/// The object database of a repository, usable from many threads.
#[derive(Clone)]
pub(crate) struct Database {
    shared: Arc<SharedDatabase>,
}

struct SharedDatabase {
    git_dir: PathBuf,
    /// Fast path for the first reads; `None` for unusual repositories.
    packs: Option<Packs>,
    /// The database that readers clone. Opened on demand, because `packs` is enough for a few
    /// reads.
    template: Mutex<Option<gix::odb::Handle>>,
    /// Unused readers.
    idle_readers: Mutex<Vec<ObjectReader>>,
}

/// A clone of the database, opened on demand, with caches.
#[derive(Default)]
struct ObjectReader {
    odb: OnceCell<gix::odb::Handle>,
    /// Root trees by commit.
    roots: RefCell<HashMap<ObjectId, ObjectId>>,
    folders: RefCell<HashMap<ObjectId, Arc<[TreeEntry]>>>,
}

/// Reads objects on one thread. On drop, returns its reader to `idle_readers`.
pub(crate) struct DatabaseHandle {
    reader: ObjectReader,
    shared: Arc<SharedDatabase>,
}

pub(crate) struct TreeEntry {
    pub(crate) name: Vec<u8>,
    pub(crate) kind: EntryKind,
    pub(crate) id: ObjectId,
}

impl Database {
    /// Opens the objects of a git folder and its alternates.
    pub(crate) fn open(git_dir: &Path) -> Result<Self, ReadError> {
        let packs = Packs::open(&git_dir.join("objects"));
        // Without the fast path, open the database now, so that an invalid folder is reported by
        // this function.
        let template = if packs.is_none() { Some(open_odb(git_dir)?) } else { None };
        let (git_dir, template) = (git_dir.to_owned(), Mutex::new(template));
        Ok(Self {
            shared: Arc::new(SharedDatabase {
                git_dir,
                packs,
                template,
                idle_readers: Mutex::default(),
            }),
        })
    }

    /// A handle for the current thread.
    pub(crate) fn handle(&self) -> DatabaseHandle {
        let reader = self.shared.idle_readers.lock().ok().and_then(|mut idle| idle.pop());
        DatabaseHandle { reader: reader.unwrap_or_default(), shared: Arc::clone(&self.shared) }
    }
}

impl SharedDatabase {
    fn odb(&self) -> Result<gix::odb::Handle, ReadError> {
        let mut template =
            self.template.lock().map_err(|error| read_error("the object database", error))?;
        match &*template {
            Some(template) => Ok(template.clone()),
            None => Ok(template.insert(open_odb(&self.git_dir)?).clone()),
        }
    }
}

fn open_odb(git_dir: &Path) -> Result<gix::odb::Handle, ReadError> {
    let options = Options {
        alloc_limit_bytes: usize::try_from(MAX_BLOB_BYTES).ok(),
        // gix uses it only to resolve a relative path.
        current_dir: Some(git_dir.to_owned()),
        ..Options::default()
    };
    let objects = git_dir.join("objects");
    let odb = gix::odb::at_opts(objects, gix::hash::Kind::Sha1, None, options);
    let mut odb = odb.map_err(|error| read_error(git_dir.display(), error))?;
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

impl DatabaseHandle {
    fn odb(&self) -> Result<&gix::odb::Handle, ReadError> {
        match self.reader.odb.get() {
            Some(odb) => Ok(odb),
            None => {
                let odb = self.shared.odb()?;
                Ok(self.reader.odb.get_or_init(|| odb))
            }
        }
    }

    /// Whether the database contains an object.
    pub(crate) fn has(&self, id: ObjectId) -> bool {
        self.shared.packs.as_ref().is_some_and(|packs| packs.has(&id))
            || self.odb().is_ok_and(|odb| odb.exists(&id))
    }

    pub(crate) fn size(&self, name: &str, id: ObjectId) -> Result<u64, ReadError> {
        Ok(self.odb()?.header(id).map_err(|error| read_error(name, error))?.size())
    }

    fn object(&self, name: &str, id: ObjectId) -> Result<(Kind, Vec<u8>), ReadError> {
        let mut bytes = Vec::new();
        if let Some(kind) = self.shared.packs.as_ref().and_then(|packs| packs.find(&id, &mut bytes))
        {
            return Ok((kind, bytes));
        }
        let object = self.odb()?.find(&id, &mut bytes).map_err(|error| read_error(name, error))?;
        let (kind, length) = (object.kind, object.data.len());
        // The buffer may be larger than the object.
        bytes.truncate(length);
        Ok((kind, bytes))
    }

    /// An object of a required kind.
    fn object_of_kind(
        &self,
        expected: Kind,
        name: &str,
        id: ObjectId,
    ) -> Result<Vec<u8>, ReadError> {
        match self.object(name, id)? {
            (kind, bytes) if kind == expected => Ok(bytes),
            (kind, _) => {
                Err(read_error(name, format!("object {id} is a {kind}, not a {expected}")))
            }
        }
    }

    /// Content of a file within the size limit.
    pub(crate) fn blob(&self, name: &str, id: ObjectId) -> Result<Vec<u8>, ReadError> {
        // Reading the size first would resolve the delta chain twice. Therefore the database
        // enforces the limit, and the size is read only after a failure.
        let size = match self.object_of_kind(Kind::Blob, name, id) {
            Ok(bytes) if bytes.len() as u64 <= MAX_BLOB_BYTES => return Ok(bytes),
            Ok(bytes) => bytes.len() as u64,
            Err(error) => match self.odb()?.header(id) {
                Ok(header) if header.size() > MAX_BLOB_BYTES => header.size(),
                Ok(_) | Err(_) => return Err(error),
            },
        };
        Err(ReadError::TooLarge { path: name.to_owned(), size })
    }

    /// Entries of a tree, in order.
    pub(crate) fn tree(&self, name: &str, id: ObjectId) -> Result<Vec<TreeEntry>, ReadError> {
        // Git treats the empty tree as existing, even if no such object is stored.
        if id == ObjectId::empty_tree(gix::hash::Kind::Sha1) {
            return Ok(Vec::new());
        }
        let bytes = self.object_of_kind(Kind::Tree, name, id)?;
        TreeRefIter::from_bytes(&bytes, gix::hash::Kind::Sha1)
            .map(|entry| {
                let entry = entry.map_err(|error| read_error(name, error))?;
                let (name, id) = (entry.filename.to_vec(), entry.oid.to_owned());
                Ok(TreeEntry { name, kind: entry.mode.kind(), id })
            })
            .collect()
    }

    /// Cached entries of a tree, because files are mostly read in path order.
    pub(crate) fn folder(&self, name: &str, id: ObjectId) -> Result<Arc<[TreeEntry]>, ReadError> {
        if let Some(entries) = self.reader.folders.borrow().get(&id) {
            return Ok(Arc::clone(entries));
        }
        let entries: Arc<[TreeEntry]> = self.tree(name, id)?.into();
        let mut folders = self.reader.folders.borrow_mut();
        let cached_entries: usize = folders.values().map(|entries| entries.len()).sum();
        if cached_entries + entries.len() > MAX_CACHED_ENTRIES {
            folders.clear();
        }
        folders.insert(id, Arc::clone(&entries));
        Ok(entries)
    }

    /// Root tree of a commit, tag or tree.
    pub(crate) fn root(&self, revision: &str) -> Result<ObjectId, ReadError> {
        let id = parse_id(revision)?;
        if let Some(root) = self.reader.roots.borrow().get(&id) {
            return Ok(*root);
        }
        let root = self.resolve_root(revision, id)?;
        let mut roots = self.reader.roots.borrow_mut();
        if roots.len() >= MAX_CACHED_ROOTS {
            roots.clear();
        }
        roots.insert(id, root);
        Ok(root)
    }

    fn resolve_root(&self, revision: &str, mut id: ObjectId) -> Result<ObjectId, ReadError> {
        let no_commit = || ReadError::NoCommit(revision.to_owned());
        if id == ObjectId::empty_tree(gix::hash::Kind::Sha1) {
            return Ok(id);
        }
        for _ in 0..MAX_TAG_DEPTH {
            let (kind, bytes) = self.object(revision, id).map_err(|_| no_commit())?;
            let hash = gix::hash::Kind::Sha1;
            match kind {
                Kind::Tree => return Ok(id),
                Kind::Commit => {
                    return CommitRefIter::from_bytes(&bytes, hash)
                        .tree_id()
                        .map_err(|_| no_commit());
                }
                Kind::Tag => {
                    id = TagRefIter::from_bytes(&bytes, hash)
                        .target_id()
                        .map_err(|_| no_commit())?;
                }
                Kind::Blob => return Err(no_commit()),
            }
        }
        Err(no_commit())
    }

    /// Parents recorded in a commit, even if a shallow clone lacks them.
    pub(crate) fn parents(&self, commit: &str) -> Result<Vec<String>, ReadError> {
        let bytes = self.object_of_kind(Kind::Commit, commit, parse_id(commit)?)?;
        let parents = CommitRefIter::from_bytes(&bytes, gix::hash::Kind::Sha1).parent_ids();
        Ok(parents.map(|id| id.to_string()).collect())
    }
}

impl Drop for DatabaseHandle {
    fn drop(&mut self) {
        if let Ok(mut idle) = self.shared.idle_readers.lock() {
            idle.push(std::mem::take(&mut self.reader));
        }
    }
}

pub(crate) fn parse_id(id: &str) -> Result<ObjectId, ReadError> {
    ObjectId::from_hex(id.as_bytes()).map_err(|_| ReadError::NoCommit(id.to_owned()))
}

fn read_error(name: impl std::fmt::Display, error: impl std::fmt::Display) -> ReadError {
    ReadError::Broken { path: name.to_string(), message: error.to_string() }
}
