//! Git attributes of paths at a revision, read from `.gitattributes` objects.
//!
//! Invariant: only the tree of that revision counts. User and system attributes, `info/attributes`
//! and the checkout are not read, so the result is the same on every machine. For a proposed change
//! the caller passes the base revision, so that the change cannot hide its own files.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use gix::ObjectId;
use gix::bstr::{BString, ByteSlice};
use gix::objs::tree::EntryKind;
use gix_attributes::glob::pattern::Case;
use gix_attributes::search::{MetadataCollection, Outcome};
use gix_attributes::{Search, StateRef};

use crate::database::DatabaseHandle;
use crate::objects::{Objects, PathEntry, PathEntryKind};
use crate::read_error::ReadError;

/// Larger `.gitattributes` files are skipped. Every line is matched against every path, so size
/// costs time.
const FILE_BYTES_MAX: u64 = 512 << 10;
/// Maximum number of `.gitattributes` files per query. Large repositories have hundreds.
const FILES_MAX: usize = 5_000;
/// Maximum length of a line. Git ignores longer lines.
const LINE_BYTES_MAX: usize = 2_048;
const FILE_NAME: &[u8] = b".gitattributes";

/// State of an attribute, as in `git check-attr`.
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

/// Attributes of some paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attributes {
    /// For each path, the state of each name, in the order of the query.
    pub states: Vec<Vec<AttributeState>>,
    /// Unreadable `.gitattributes` files, with the reason.
    pub unreadable_files: Vec<(Vec<u8>, ReadError)>,
}

/// Attributes of paths at a revision. The paths need not exist.
pub fn read_attributes(
    objects: &Objects,
    revision: &str,
    paths: &[&[u8]],
    names: &[&str],
) -> Result<Attributes, ReadError> {
    let handle = objects.handle();
    let root = handle.root(revision)?;
    let mut walk = AttributeWalk::new(&handle, root, names)?;
    // Sort by bytes, so that each folder is entered once.
    let mut order: Vec<usize> = (0..paths.len()).collect();
    order.sort_unstable_by_key(|&index| paths[index]);
    let mut states = vec![Vec::new(); paths.len()];
    for index in order {
        states[index] = walk.states(paths[index])?;
    }
    Ok(Attributes { states, unreadable_files: walk.unreadable_files })
}

/// `.gitattributes` files at a commit that apply to these paths.
pub fn attribute_files<'p>(
    objects: &Objects,
    commit: &str,
    paths: impl IntoIterator<Item = &'p [u8]>,
) -> Result<Vec<PathEntry>, ReadError> {
    let names = folders(paths).into_iter().map(|folder| [folder, FILE_NAME].concat());
    let entries = names.map(|path| entry_if_any(objects, commit, &path));
    // Like git, ignore symlinks.
    let files = entries.filter_map(Result::transpose);
    files.filter(|file| file.as_ref().map_or(true, |file| file.kind.is_file())).collect()
}

/// Objects needed to look up the attributes of these paths: the commit, the folders, and their
/// `.gitattributes` files.
pub fn attribute_objects<'p>(
    objects: &Objects,
    commit: &str,
    paths: impl Iterator<Item = &'p [u8]> + Clone,
) -> Result<BTreeSet<String>, ReadError> {
    let root = objects.entry(commit, b"")?;
    let mut ids = BTreeSet::from([commit.to_owned(), root.id]);
    for folder in folders(paths.clone()) {
        let entry = entry_if_any(objects, commit, folder)?;
        ids.extend(entry.filter(|entry| entry.kind == PathEntryKind::Folder).map(|entry| entry.id));
    }
    ids.extend(attribute_files(objects, commit, paths)?.into_iter().map(|file| file.id));
    Ok(ids)
}

/// Entry at a path; `None` if the path is missing or in a submodule.
fn entry_if_any(
    objects: &Objects,
    commit: &str,
    path: &[u8],
) -> Result<Option<PathEntry>, ReadError> {
    match objects.entry(commit, path) {
        Ok(entry) => Ok(Some(entry)),
        Err(ReadError::NoEntry(_) | ReadError::OtherKind { .. }) => Ok(None),
        Err(
            error @ (ReadError::BadPath(_)
            | ReadError::NoCommit(_)
            | ReadError::TooManyFiles(_)
            | ReadError::TooDeep(_)
            | ReadError::TooLarge { .. }
            | ReadError::Broken { .. }),
        ) => Err(error),
    }
}

/// Parent folders of paths, with a trailing slash; the root is empty.
fn folders<'p>(paths: impl IntoIterator<Item = &'p [u8]>) -> BTreeSet<&'p [u8]> {
    let parents = |path: &'p [u8]| {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        ends.map(|(end, _)| &path[..=end]).chain([&path[..0]])
    };
    paths.into_iter().flat_map(parents).collect()
}

/// Position in the tree while paths are visited in order: the folders from the root to the last
/// visited path, each with its patterns.
struct AttributeWalk<'a> {
    handle: &'a DatabaseHandle,
    folders: Vec<AttributeFolder>,
    builtin: Search,
    collection: MetadataCollection,
    outcome: Outcome,
    file_count: usize,
    unreadable_files: Vec<(Vec<u8>, ReadError)>,
}

struct AttributeFolder {
    /// Path with a trailing slash; empty for the root.
    prefix: Vec<u8>,
    subfolders: HashMap<BString, ObjectId>,
    patterns: Option<Search>,
}

impl<'a> AttributeWalk<'a> {
    fn new(handle: &'a DatabaseHandle, root: ObjectId, names: &[&str]) -> Result<Self, ReadError> {
        let mut collection = MetadataCollection::default();
        // Git's built-in macro `binary`.
        let builtin =
            Search::new_globals(std::iter::empty::<PathBuf>(), &mut Vec::new(), &mut collection)
                .map_err(|error| attributes_error(b"", &error))?;
        let outcome = Outcome::default();
        let (folders, unreadable_files) = (Vec::new(), Vec::new());
        let mut walk =
            Self { handle, folders, builtin, collection, outcome, file_count: 0, unreadable_files };
        let root = walk.folder(Vec::new(), Some(root))?;
        walk.folders.push(root);
        // This comes after reading the root, because only the root can define macros.
        walk.outcome.initialize_with_selection(&walk.collection, names);
        Ok(walk)
    }

    fn states(&mut self, path: &[u8]) -> Result<Vec<AttributeState>, ReadError> {
        self.enter_folders(path)?;
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
        Ok(self
            .outcome
            .iter_selected()
            .map(|attribute| convert_state(attribute.assignment.state))
            .collect())
    }

    /// Leaves and enters folders to reach the path.
    fn enter_folders(&mut self, path: &[u8]) -> Result<(), ReadError> {
        while self.folders.len() > 1
            && self.folders.last().is_some_and(|folder| !path.starts_with(&folder.prefix))
        {
            self.folders.pop();
        }
        let mut offset = self.folders.last().map_or(0, |folder| folder.prefix.len());
        while let Some(end) = path[offset..].find_byte(b'/') {
            let name = path[offset..offset + end].as_bstr();
            let id = self.folders.last().and_then(|folder| folder.subfolders.get(name)).copied();
            offset += end + 1;
            let folder = self.folder(path[..offset].to_vec(), id)?;
            self.folders.push(folder);
        }
        Ok(())
    }

    /// Reads a folder. `id` is `None` for a folder that does not exist in the tree.
    fn folder(
        &mut self,
        prefix: Vec<u8>,
        id: Option<ObjectId>,
    ) -> Result<AttributeFolder, ReadError> {
        let mut subfolders = HashMap::new();
        let mut file_id = None;
        if let Some(id) = id {
            for entry in self.handle.tree(&String::from_utf8_lossy(&prefix), id)? {
                match entry.kind {
                    EntryKind::Tree => {
                        subfolders.insert(BString::from(entry.name), entry.id);
                    }
                    // Like git, ignore symlinks.
                    EntryKind::Blob | EntryKind::BlobExecutable if entry.name == FILE_NAME => {
                        file_id = Some(entry.id);
                    }
                    EntryKind::Blob
                    | EntryKind::BlobExecutable
                    | EntryKind::Link
                    | EntryKind::Commit => {}
                }
            }
        }
        let patterns = file_id.and_then(|id| self.patterns(&prefix, id));
        // Built-in patterns belong to the root.
        let patterns = patterns.or_else(|| prefix.is_empty().then(|| self.builtin.clone()));
        Ok(AttributeFolder { prefix, subfolders, patterns })
    }

    fn patterns(&mut self, prefix: &[u8], id: ObjectId) -> Option<Search> {
        let path = [prefix, FILE_NAME].concat();
        let result = self.text(&path, id).and_then(|text| {
            let is_root = prefix.is_empty();
            let mut search = if is_root { self.builtin.clone() } else { Search::default() };
            search
                .add_patterns_buffer(&text, PathBuf::new(), None, &mut self.collection, is_root)
                .map_err(|error| attributes_error(&path, &error))?;
            Ok(search)
        });
        match result {
            Ok(search) => Some(search),
            Err(error) => {
                self.unreadable_files.push((path, error));
                None
            }
        }
    }

    /// Text of a `.gitattributes` file, without overlong lines.
    fn text(&mut self, path: &[u8], id: ObjectId) -> Result<Vec<u8>, ReadError> {
        self.file_count += 1;
        if self.file_count > FILES_MAX {
            let message = format!("only the first {FILES_MAX} `.gitattributes` files are read");
            return Err(attributes_error(path, &message));
        }
        let name = String::from_utf8_lossy(path);
        let size = self.handle.size(&name, id)?;
        if size > FILE_BYTES_MAX {
            let message = format!("it has {size} bytes; the limit is {FILE_BYTES_MAX}");
            return Err(attributes_error(path, &message));
        }
        let text = self.handle.blob(&name, id)?;
        if text.lines().all(|line| line.len() <= LINE_BYTES_MAX) {
            return Ok(text);
        }
        let short_lines = text.lines_with_terminator().filter(|line| line.len() <= LINE_BYTES_MAX);
        Ok(short_lines.collect::<Vec<_>>().concat())
    }
}

fn convert_state(state: StateRef<'_>) -> AttributeState {
    match state {
        StateRef::Set => AttributeState::Set,
        StateRef::Unset => AttributeState::Unset,
        StateRef::Value(value) => AttributeState::Value(value.as_bstr().to_string()),
        StateRef::Unspecified => AttributeState::Unspecified,
    }
}

fn attributes_error(path: &[u8], error: &impl ToString) -> ReadError {
    ReadError::Broken {
        path: String::from_utf8_lossy(path).into_owned(),
        message: error.to_string(),
    }
}
