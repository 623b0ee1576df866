//! File data that the diff does not contain: attributes, sizes and contents.

use std::cell::RefCell;
use std::collections::HashMap;

use crh_git::{AttributeState, Objects, PathEntryKind, ReadError, read_attributes};
use crh_review::diff::{Diff, RepoPath};
use crh_review::finding::Side;

/// Attribute names, as GitHub spells them.
const ATTRIBUTE_NAMES: [&str; 2] = ["linguist-generated", "linguist-vendored"];

/// Facts about files that the diff does not contain. Implementations must be deterministic.
pub trait FileSource {
    /// Attributes of a path.
    fn attributes(&self, path: &RepoPath) -> FileAttributes;

    /// Size of a file on one side, if known.
    fn size(&self, side: Side, path: &RepoPath) -> Option<u64>;

    /// Content of a file on one side. `None` without a repository.
    fn content(&self, side: Side, path: &RepoPath) -> Result<Option<Vec<u8>>, ReadError>;

    /// Whether a folder existed before the change, if known.
    fn had_folder(&self, folder: &[u8]) -> Option<bool>;

    /// Kind of an entry after the change. `None` without a repository.
    fn entry(&self, path: &[u8]) -> Result<Option<PathEntryKind>, ReadError>;

    /// All files after the change. `None` if crh cannot list them.
    fn head_files(&self) -> Option<Vec<(Vec<u8>, PathEntryKind)>>;
}

/// Attributes of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileAttributes {
    /// Whether the file is generated.
    pub generated: AttributeMark,
    /// Whether the file is vendored.
    pub vendored: AttributeMark,
}

/// Value of one attribute.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum AttributeMark {
    /// Not set.
    #[default]
    Unspecified,
    /// Set; the attribute as written.
    Marked(String),
    /// Explicitly unset.
    Unmarked,
}

/// A diff without a repository.
#[derive(Debug, Clone, Copy, Default)]
pub struct DiffOnly;

/// Files of two revisions of a repository.
#[derive(Debug)]
pub struct RepositoryFiles<'a> {
    objects: &'a Objects,
    base: String,
    head: String,
    attributes_revision: String,
    /// Cached attributes: those of the paths in the diff, and of paths that were looked up.
    attributes: RefCell<HashMap<Vec<u8>, FileAttributes>>,
    unreadable_attributes: Vec<(Vec<u8>, ReadError)>,
}

impl AttributeMark {
    /// Interprets an attribute. For git, `=true` and `=false` are strings, but users mean set and
    /// unset. Any other string is ignored, since a typo must not exclude a file from the review.
    pub fn from_state(name: &str, state: &AttributeState) -> Self {
        match state {
            AttributeState::Set => Self::Marked(name.to_owned()),
            AttributeState::Unset => Self::Unmarked,
            AttributeState::Value(value) if value == "true" => Self::Marked(format!("{name}=true")),
            AttributeState::Value(value) if value == "false" => Self::Unmarked,
            AttributeState::Value(_) | AttributeState::Unspecified => Self::Unspecified,
        }
    }
}

impl FileAttributes {
    /// Interprets the states of [`ATTRIBUTE_NAMES`].
    fn from_states(states: &[AttributeState]) -> Self {
        match states {
            [generated, vendored] => Self {
                generated: AttributeMark::from_state(ATTRIBUTE_NAMES[0], generated),
                vendored: AttributeMark::from_state(ATTRIBUTE_NAMES[1], vendored),
            },
            _ => Self::default(),
        }
    }
}

impl FileSource for DiffOnly {
    fn attributes(&self, _: &RepoPath) -> FileAttributes {
        FileAttributes::default()
    }

    fn size(&self, _: Side, _: &RepoPath) -> Option<u64> {
        None
    }

    fn content(&self, _: Side, _: &RepoPath) -> Result<Option<Vec<u8>>, ReadError> {
        Ok(None)
    }

    fn had_folder(&self, _: &[u8]) -> Option<bool> {
        None
    }

    fn entry(&self, _: &[u8]) -> Result<Option<PathEntryKind>, ReadError> {
        Ok(None)
    }

    fn head_files(&self) -> Option<Vec<(Vec<u8>, PathEntryKind)>> {
        None
    }
}

impl<'a> RepositoryFiles<'a> {
    /// Files of a change from `base` to `head`. `attributes_revision` is the revision of the
    /// `.gitattributes`. For a change by another author it must be the base or the target branch:
    /// otherwise the author could mark files as generated.
    pub fn new(
        objects: &'a Objects,
        base: &str,
        head: &str,
        attributes_revision: &str,
        diff: &Diff,
    ) -> Result<Self, ReadError> {
        let file_paths = |file: &'_ crh_review::diff::FileDiff| {
            std::iter::once(file.path.clone()).chain(file.old_path.clone())
        };
        let paths: Vec<RepoPath> = diff.files().iter().flat_map(file_paths).collect();
        let bytes: Vec<&[u8]> = paths.iter().map(RepoPath::as_bytes).collect();
        let result = read_attributes(objects, attributes_revision, &bytes, &ATTRIBUTE_NAMES)?;
        let attributes = bytes
            .iter()
            .zip(&result.states)
            .map(|(path, states)| (path.to_vec(), FileAttributes::from_states(states)));
        let (base, head) = (base.to_owned(), head.to_owned());
        Ok(Self {
            objects,
            base,
            head,
            attributes_revision: attributes_revision.to_owned(),
            attributes: RefCell::new(attributes.collect()),
            unreadable_attributes: result.unreadable_files,
        })
    }

    /// Unreadable `.gitattributes`, with the reason.
    pub fn unreadable_attributes(&self) -> &[(Vec<u8>, ReadError)] {
        &self.unreadable_attributes
    }

    fn revision(&self, side: Side) -> &str {
        match side {
            Side::Old => &self.base,
            Side::New => &self.head,
        }
    }
}

impl FileSource for RepositoryFiles<'_> {
    fn attributes(&self, path: &RepoPath) -> FileAttributes {
        let path = path.as_bytes();
        if let Some(attributes) = self.attributes.borrow().get(path) {
            return attributes.clone();
        }
        // A packed change has the target branch's attributes only for paths in the diff.
        let at = |revision| read_attributes(self.objects, revision, &[path], &ATTRIBUTE_NAMES);
        let result = at(&self.attributes_revision).or_else(|_| at(&self.base));
        let states = result.ok().and_then(|result| result.states.into_iter().next());
        let attributes = FileAttributes::from_states(&states.unwrap_or_default());
        self.attributes.borrow_mut().insert(path.to_vec(), attributes.clone());
        attributes
    }

    fn size(&self, side: Side, path: &RepoPath) -> Option<u64> {
        self.objects.stat(self.revision(side), path.as_bytes()).ok().map(|(_, size)| size)
    }

    fn content(&self, side: Side, path: &RepoPath) -> Result<Option<Vec<u8>>, ReadError> {
        self.objects.file(self.revision(side), path.as_bytes()).map(Some)
    }

    fn had_folder(&self, folder: &[u8]) -> Option<bool> {
        match self.objects.entry(&self.base, folder) {
            Ok(entry) => Some(entry.kind == PathEntryKind::Folder),
            Err(ReadError::NoEntry(_)) => Some(false),
            Err(_) => None,
        }
    }

    fn entry(&self, path: &[u8]) -> Result<Option<PathEntryKind>, ReadError> {
        self.objects.entry(&self.head, path).map(|entry| Some(entry.kind))
    }

    fn head_files(&self) -> Option<Vec<(Vec<u8>, PathEntryKind)>> {
        let files = self.objects.files(&self.head).ok()?;
        Some(files.into_iter().map(|file| (file.path, file.kind)).collect())
    }
}
