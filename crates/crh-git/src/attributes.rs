//! Attributes of paths at a revision, from the `.gitattributes` files in git objects.
//!
//! Invariant: nothing but the tree of that revision has a say. The user's and the system's attributes,
//! `info/attributes` and the checkout are not read, so the answer is the same on every machine. Whoever asks
//! chooses the revision: for a change by someone else it is the base, since a change that could mark its
//! own files would decide what is read of it.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use gix::ObjectId;
use gix::bstr::{BString, ByteSlice};
use gix::objs::tree::EntryKind;
use gix_attributes::glob::pattern::Case;
use gix_attributes::search::{MetadataCollection, Outcome};
use gix_attributes::{Search, StateRef};

use crate::database::Handle;
use crate::objects::{Entry, Kind, Objects, ReadError};

/// A `.gitattributes` beyond this is not read. The largest that people write have a few thousand lines; every
/// line is tried on every path, so size is time.
const FILE_BYTES_MAX: u64 = 512 << 10;
/// How many `.gitattributes` are read for one question. Large repositories have hundreds.
const FILES_MAX: usize = 5_000;
/// Git passes over longer lines, and so do we.
const LINE_BYTES_MAX: usize = 2_048;
const FILE_NAME: &[u8] = b".gitattributes";

/// What an attribute says about a path, in the words of `git check-attr`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttributeState {
    /// `name`
    Set,
    /// `-name`
    Unset,
    /// `name=value`
    Value(String),
    /// Not mentioned, or `!name`.
    Unspecified,
}

/// What the attributes of some paths are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attributes {
    /// For each path, in the order of the question, the state of each name, in the order of the question.
    pub states: Vec<Vec<AttributeState>>,
    /// `.gitattributes` files that had no say because they could not be read, with the reason.
    pub unread: Vec<(Vec<u8>, ReadError)>,
}

/// The attributes of paths at a revision. A path need not exist there: patterns are about names.
pub fn attributes(
    objects: &Objects,
    revision: &str,
    paths: &[&[u8]],
    names: &[&str],
) -> Result<Attributes, ReadError> {
    let handle = objects.handle();
    let root = handle.root(revision)?;
    let mut walk = Walk::new(&handle, root, names)?;
    // In the order of bytes, all paths of a folder stand together: each folder is entered once.
    let mut order: Vec<usize> = (0..paths.len()).collect();
    order.sort_unstable_by_key(|&at| paths[at]);
    let mut states = vec![Vec::new(); paths.len()];
    for at in order {
        states[at] = walk.states(paths[at])?;
    }
    Ok(Attributes { states, unread: walk.unread })
}

/// The files of attributes at a commit that may say something about these paths.
pub fn attribute_files<'p>(
    objects: &Objects,
    commit: &str,
    paths: impl IntoIterator<Item = &'p [u8]>,
) -> Result<Vec<Entry>, ReadError> {
    let names = folders(paths).into_iter().map(|folder| [folder, FILE_NAME].concat());
    let found = names.map(|path| entry_if_any(objects, commit, &path));
    // As in git, a link is not followed.
    let files = found.filter_map(Result::transpose);
    files.filter(|file| file.as_ref().map_or(true, |file| file.kind.is_file())).collect()
}

/// The objects that it takes to look up the attributes of these paths at a commit: the commit, the folders on the way, and the files
/// of attributes in them. Nothing else that lies there.
pub fn attribute_objects<'p>(
    objects: &Objects,
    commit: &str,
    paths: impl Iterator<Item = &'p [u8]> + Clone,
) -> Result<BTreeSet<String>, ReadError> {
    let root = objects.entry(commit, b"")?;
    let mut ids = BTreeSet::from([commit.to_owned(), root.id]);
    for folder in folders(paths.clone()) {
        let entry = entry_if_any(objects, commit, folder)?;
        ids.extend(entry.filter(|entry| entry.kind == Kind::Folder).map(|entry| entry.id));
    }
    ids.extend(attribute_files(objects, commit, paths)?.into_iter().map(|file| file.id));
    Ok(ids)
}

/// What stands at a path of a commit; none if nothing does, or if it is in another repository.
fn entry_if_any(objects: &Objects, commit: &str, path: &[u8]) -> Result<Option<Entry>, ReadError> {
    match objects.entry(commit, path) {
        Ok(entry) => Ok(Some(entry)),
        Err(ReadError::NoEntry(_) | ReadError::OtherKind { .. }) => Ok(None),
        Err(
            why @ (ReadError::BadPath(_)
            | ReadError::NoCommit(_)
            | ReadError::TooLarge { .. }
            | ReadError::Broken { .. }),
        ) => Err(why),
    }
}

/// The folders that lead to paths, with a slash at the end; the root is empty.
fn folders<'p>(paths: impl IntoIterator<Item = &'p [u8]>) -> BTreeSet<&'p [u8]> {
    let above = |path: &'p [u8]| {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        ends.map(|(end, _)| &path[..=end]).chain([&path[..0]])
    };
    paths.into_iter().flat_map(above).collect()
}

/// Where we are in the tree: the folders from the root to the last path, each with its patterns.
struct Walk<'a> {
    handle: &'a Handle,
    folders: Vec<Folder>,
    builtin: Search,
    collection: MetadataCollection,
    outcome: Outcome,
    files: usize,
    unread: Vec<(Vec<u8>, ReadError)>,
}

struct Folder {
    /// Its path with a slash at the end; empty for the root.
    prefix: Vec<u8>,
    folders: HashMap<BString, ObjectId>,
    patterns: Option<Search>,
}

impl<'a> Walk<'a> {
    fn new(handle: &'a Handle, root: ObjectId, names: &[&str]) -> Result<Self, ReadError> {
        let mut collection = MetadataCollection::default();
        // The macro `binary`, which git has without any file saying so.
        let builtin =
            Search::new_globals(std::iter::empty::<PathBuf>(), &mut Vec::new(), &mut collection)
                .map_err(|error| broken(b"", &error))?;
        let outcome = Outcome::default();
        let (folders, unread) = (Vec::new(), Vec::new());
        let mut walk = Self { handle, folders, builtin, collection, outcome, files: 0, unread };
        let root = walk.folder(Vec::new(), Some(root))?;
        walk.folders.push(root);
        // After the root, since only there macros are defined.
        walk.outcome.initialize_with_selection(&walk.collection, names);
        Ok(walk)
    }

    fn states(&mut self, path: &[u8]) -> Result<Vec<AttributeState>, ReadError> {
        self.enter(path)?;
        self.outcome.initialize(&self.collection);
        for folder in self.folders.iter().rev() {
            let Some(patterns) = &folder.patterns else { continue };
            let path = path[folder.prefix.len()..].as_bstr();
            let is_folder = Some(false);
            patterns.pattern_matching_relative_path(
                path,
                Case::Sensitive,
                is_folder,
                &mut self.outcome,
            );
            if self.outcome.is_done() {
                break;
            }
        }
        Ok(self.outcome.iter_selected().map(|found| state(found.assignment.state)).collect())
    }

    /// Leaves the folders that the path is not in and enters those that it is in.
    fn enter(&mut self, path: &[u8]) -> Result<(), ReadError> {
        while self.folders.len() > 1
            && self.folders.last().is_some_and(|folder| !path.starts_with(&folder.prefix))
        {
            self.folders.pop();
        }
        let mut at = self.folders.last().map_or(0, |folder| folder.prefix.len());
        while let Some(end) = path[at..].find_byte(b'/') {
            let name = path[at..at + end].as_bstr();
            let id = self.folders.last().and_then(|folder| folder.folders.get(name)).copied();
            at += end + 1;
            let folder = self.folder(path[..at].to_vec(), id)?;
            self.folders.push(folder);
        }
        Ok(())
    }

    /// A folder with what it says; one without an id is not in the tree and says nothing.
    fn folder(&mut self, prefix: Vec<u8>, id: Option<ObjectId>) -> Result<Folder, ReadError> {
        let mut folders = HashMap::new();
        let mut file = None;
        if let Some(id) = id {
            for entry in self.handle.tree(&String::from_utf8_lossy(&prefix), id)? {
                match entry.kind {
                    EntryKind::Tree => {
                        folders.insert(BString::from(entry.name), entry.id);
                    }
                    // As in git, a link is not followed.
                    EntryKind::Blob | EntryKind::BlobExecutable if entry.name == FILE_NAME => {
                        file = Some(entry.id);
                    }
                    EntryKind::Blob
                    | EntryKind::BlobExecutable
                    | EntryKind::Link
                    | EntryKind::Commit => {}
                }
            }
        }
        let patterns = file.and_then(|id| self.patterns(&prefix, id));
        // The built-in patterns have no path of their own: they stand below the root's.
        let patterns = patterns.or_else(|| prefix.is_empty().then(|| self.builtin.clone()));
        Ok(Folder { prefix, folders, patterns })
    }

    fn patterns(&mut self, prefix: &[u8], id: ObjectId) -> Option<Search> {
        let path = [prefix, FILE_NAME].concat();
        let read = self.text(&path, id).and_then(|text| {
            let is_root = prefix.is_empty();
            let mut search = if is_root { self.builtin.clone() } else { Search::default() };
            search
                .add_patterns_buffer(&text, PathBuf::new(), None, &mut self.collection, is_root)
                .map_err(|error| broken(&path, &error))?;
            Ok(search)
        });
        match read {
            Ok(search) => Some(search),
            Err(error) => {
                self.unread.push((path, error));
                None
            }
        }
    }

    /// The text of a `.gitattributes`, with the lines that git passes over taken out.
    fn text(&mut self, path: &[u8], id: ObjectId) -> Result<Vec<u8>, ReadError> {
        self.files += 1;
        if self.files > FILES_MAX {
            let message = format!("no more than {FILES_MAX} files of attributes are read");
            return Err(broken(path, &message));
        }
        let name = String::from_utf8_lossy(path);
        let size = self.handle.size(&name, id)?;
        if size > FILE_BYTES_MAX {
            let message =
                format!("it has {size} bytes, more than the {FILE_BYTES_MAX} that are read");
            return Err(broken(path, &message));
        }
        let text = self.handle.blob(&name, id)?;
        if text.lines().all(|line| line.len() <= LINE_BYTES_MAX) {
            return Ok(text);
        }
        let kept = text.lines_with_terminator().filter(|line| line.len() <= LINE_BYTES_MAX);
        Ok(kept.collect::<Vec<_>>().concat())
    }
}

fn state(state: StateRef<'_>) -> AttributeState {
    match state {
        StateRef::Set => AttributeState::Set,
        StateRef::Unset => AttributeState::Unset,
        StateRef::Value(value) => AttributeState::Value(value.as_bstr().to_string()),
        StateRef::Unspecified => AttributeState::Unspecified,
    }
}

fn broken(path: &[u8], error: &impl ToString) -> ReadError {
    ReadError::Broken {
        path: String::from_utf8_lossy(path).into_owned(),
        message: error.to_string(),
    }
}
