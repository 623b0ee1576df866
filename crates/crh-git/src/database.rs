//! Objects by their hash, from packs and loose files, without a process. The only file that knows how the object
//! database is opened.

use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;

use gix::ObjectId;
use gix::objs::CommitRefIter;
use gix::objs::Exists;
use gix::objs::FindExt;
use gix::objs::TagRefIter;
use gix::objs::TreeRefIter;
use gix::objs::tree::EntryKind;
use gix::odb::HeaderExt;
use gix::odb::pack::cache::lru::MemoryCappedHashmap;
use gix::odb::store::init::Options;

use crate::objects::ReadError;

/// Larger files are refused: nobody reads them, and a reviewer that tries must not take the machine down.
pub(crate) const BLOB_MAX: u64 = 64 << 20;
/// Decoded objects that are kept for the next read, by all threads together.
const PACK_CACHE_BYTES: usize = 192 << 20;
/// A tag of a tag of a tag: nobody goes deeper.
const TAGS_MAX: usize = 8;

/// The object database of a repository, for many threads.
#[derive(Clone)]
pub(crate) struct Database {
    /// The handle that others are copies of.
    first: Arc<Mutex<gix::odb::Handle>>,
    /// Handles that nobody uses at the moment, with what they have cached.
    idle: Arc<Mutex<Vec<gix::odb::Handle>>>,
}

/// A way to read for one thread at a time, with caches of its own. It goes back to where it came from.
pub(crate) struct Handle {
    odb: Option<gix::odb::Handle>,
    home: Arc<Mutex<Vec<gix::odb::Handle>>>,
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
        Ok(Self { first: Arc::new(Mutex::new(odb)), idle: Arc::default() })
    }

    /// A handle for the thread that asks.
    pub(crate) fn handle(&self) -> Result<Handle, ReadError> {
        let idle = self.idle.lock().ok().and_then(|mut idle| idle.pop());
        let odb = match idle {
            Some(odb) => odb,
            None => {
                let first = self.first.lock();
                first.map_err(|error| broken("the object database", error))?.clone()
            }
        };
        Ok(Handle { odb: Some(odb), home: Arc::clone(&self.idle) })
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").finish_non_exhaustive()
    }
}

impl Handle {
    #[expect(clippy::expect_used, reason = "it is taken out on drop only")]
    fn odb(&self) -> &gix::odb::Handle {
        self.odb.as_ref().expect("a handle that was not dropped has its database")
    }

    /// Whether an object is here.
    pub(crate) fn has(&self, id: ObjectId) -> bool {
        self.odb().exists(&id)
    }

    /// The size of an object.
    pub(crate) fn size(&self, name: &str, id: ObjectId) -> Result<u64, ReadError> {
        Ok(self.odb().header(id).map_err(|error| broken(name, error))?.size())
    }

    /// The content of a file, if it is not too large.
    pub(crate) fn blob(&self, name: &str, id: ObjectId) -> Result<Vec<u8>, ReadError> {
        let mut bytes = Vec::new();
        // Asking for the size first would cost a second way through what the object is a difference from, so the
        // database has the limit, and it is found out afterwards whether that was why it failed.
        let size = match self.odb().find_blob(&id, &mut bytes) {
            Ok(blob) if blob.data.is_empty() => return Ok(Vec::new()),
            Ok(blob) => blob.data.len() as u64,
            Err(error) => match self.odb().header(id) {
                Ok(header) if header.size() > BLOB_MAX => header.size(),
                Ok(_) | Err(_) => return Err(broken(name, error)),
            },
        };
        if size > BLOB_MAX {
            return Err(ReadError::TooLarge { path: name.to_owned(), size });
        }
        Ok(bytes)
    }

    /// What stands in a tree, in its order.
    pub(crate) fn tree(&self, name: &str, id: ObjectId) -> Result<Vec<TreeEntry>, ReadError> {
        // Git knows it without anybody having written it.
        if id == ObjectId::empty_tree(gix::hash::Kind::Sha1) {
            return Ok(Vec::new());
        }
        let mut bytes = Vec::new();
        let tree: TreeRefIter<'_> =
            self.odb().find_tree_iter(&id, &mut bytes).map_err(|error| broken(name, error))?;
        tree.map(|entry| {
            let entry = entry.map_err(|error| broken(name, error))?;
            let (name, id) = (entry.filename.to_vec(), entry.oid.to_owned());
            Ok(TreeEntry { name, kind: entry.mode.kind(), id })
        })
        .collect()
    }

    /// The tree of a commit, a tag of one, or a tree.
    pub(crate) fn root(&self, revision: &str) -> Result<ObjectId, ReadError> {
        let none = || ReadError::NoCommit(revision.to_owned());
        let mut id = parsed(revision)?;
        if id == ObjectId::empty_tree(gix::hash::Kind::Sha1) {
            return Ok(id);
        }
        for _ in 0..TAGS_MAX {
            let mut bytes = Vec::new();
            let object = self.odb().find(&id, &mut bytes).map_err(|_| none())?;
            let (kind, data) = (object.kind, object.data);
            let hash = gix::hash::Kind::Sha1;
            match kind {
                gix::objs::Kind::Tree => return Ok(id),
                gix::objs::Kind::Commit => {
                    return CommitRefIter::from_bytes(data, hash).tree_id().map_err(|_| none());
                }
                gix::objs::Kind::Tag => {
                    id = TagRefIter::from_bytes(data, hash).target_id().map_err(|_| none())?;
                }
                gix::objs::Kind::Blob => return Err(none()),
            }
        }
        Err(none())
    }

    /// The parents of a commit as it was written, whatever a shallow clone says of it.
    pub(crate) fn parents(&self, commit: &str) -> Result<Vec<String>, ReadError> {
        let mut bytes = Vec::new();
        let found = self.odb().find_commit_iter(&parsed(commit)?, &mut bytes);
        let found = found.map_err(|error| broken(commit, error))?;
        Ok(found.parent_ids().map(|id| id.to_string()).collect())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if let (Some(odb), Ok(mut home)) = (self.odb.take(), self.home.lock()) {
            home.push(odb);
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
