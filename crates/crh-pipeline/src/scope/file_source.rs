//! What a scope has to know about files that is not in the diff, and the two places it comes from.

use std::collections::HashMap;

use crh_git::{AttributeState, Objects, ReadError, attributes};
use crh_review::diff::{Diff, RepoPath};
use crh_review::finding::Side;

/// The attributes that matter here, as hosting services spell them.
const NAMES: [&str; 2] = ["linguist-generated", "linguist-vendored"];

/// What is known about files beside the diff. The same question always has the same answer.
pub trait Files {
    /// What the attributes of a path say.
    fn marks(&self, path: &RepoPath) -> Marks;

    /// How large a file is before or after the change, if that is known.
    fn size(&self, side: Side, path: &RepoPath) -> Option<u64>;

    /// The content of a file before or after the change; `None` if there is nothing to ask.
    fn content(&self, side: Side, path: &RepoPath) -> Result<Option<Vec<u8>>, ReadError>;
}

/// What attributes say about a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks {
    /// Whether a program wrote it.
    pub generated: Mark,
    /// Whether it comes from elsewhere.
    pub vendored: Mark,
}

/// What one attribute says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Mark {
    /// Nothing.
    #[default]
    Unspecified,
    /// Yes; as it is written.
    Marked(String),
    /// No.
    Unmarked,
}

/// A diff without a repository: nothing else is known.
#[derive(Debug, Clone, Copy, Default)]
pub struct DiffAlone;

/// The files of two revisions of a repository.
#[derive(Debug)]
pub struct RepositoryFiles<'a> {
    objects: &'a Objects,
    base: String,
    head: String,
    marks: HashMap<Vec<u8>, Marks>,
    unread: Vec<(Vec<u8>, ReadError)>,
}

impl Mark {
    /// What a state of an attribute means. `true` and `false` are words to git, but not to those who write
    /// them; any other value says nothing, so that a slip leaves no file out.
    pub fn of(name: &str, state: &AttributeState) -> Self {
        match state {
            AttributeState::Set => Self::Marked(name.to_owned()),
            AttributeState::Unset => Self::Unmarked,
            AttributeState::Value(value) if value == "true" => Self::Marked(format!("{name}=true")),
            AttributeState::Value(value) if value == "false" => Self::Unmarked,
            AttributeState::Value(_) | AttributeState::Unspecified => Self::Unspecified,
        }
    }
}

impl Files for DiffAlone {
    fn marks(&self, _: &RepoPath) -> Marks {
        Marks::default()
    }

    fn size(&self, _: Side, _: &RepoPath) -> Option<u64> {
        None
    }

    fn content(&self, _: Side, _: &RepoPath) -> Result<Option<Vec<u8>>, ReadError> {
        Ok(None)
    }
}

impl<'a> RepositoryFiles<'a> {
    /// The files of a change from `base` to `head`. `attributes_at` is the revision whose `.gitattributes`
    /// count: the base if someone else made the change, since otherwise it could mark its own files.
    pub fn new(
        objects: &'a Objects,
        base: &str,
        head: &str,
        attributes_at: &str,
        diff: &Diff,
    ) -> Result<Self, ReadError> {
        let of_file = |file: &'_ crh_review::diff::FileDiff| {
            std::iter::once(file.path.clone()).chain(file.old_path.clone())
        };
        let paths: Vec<RepoPath> = diff.files().iter().flat_map(of_file).collect();
        let bytes: Vec<&[u8]> = paths.iter().map(RepoPath::as_bytes).collect();
        let found = attributes(objects, attributes_at, &bytes, &NAMES)?;
        let marks = |states: &Vec<AttributeState>| match states.as_slice() {
            [generated, vendored] => Marks {
                generated: Mark::of(NAMES[0], generated),
                vendored: Mark::of(NAMES[1], vendored),
            },
            _ => Marks::default(),
        };
        let marks =
            bytes.iter().zip(&found.states).map(|(path, states)| (path.to_vec(), marks(states)));
        let (base, head) = (base.to_owned(), head.to_owned());
        Ok(Self { objects, base, head, marks: marks.collect(), unread: found.unread })
    }

    /// `.gitattributes` that had no say because they could not be read, with the reason.
    pub fn unread(&self) -> &[(Vec<u8>, ReadError)] {
        &self.unread
    }

    fn revision(&self, side: Side) -> &str {
        match side {
            Side::Old => &self.base,
            Side::New => &self.head,
        }
    }
}

impl Files for RepositoryFiles<'_> {
    fn marks(&self, path: &RepoPath) -> Marks {
        self.marks.get(path.as_bytes()).cloned().unwrap_or_default()
    }

    fn size(&self, side: Side, path: &RepoPath) -> Option<u64> {
        self.objects.stat(self.revision(side), path.as_bytes()).ok().map(|(_, size)| size)
    }

    fn content(&self, side: Side, path: &RepoPath) -> Result<Option<Vec<u8>>, ReadError> {
        self.objects.file(self.revision(side), path.as_bytes()).map(Some)
    }
}
