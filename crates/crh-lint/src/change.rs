//! The change, as static reviewers see it: its files, and the repository around them as something that can be asked.

use std::collections::HashMap;
use std::collections::HashSet;
use std::sync::OnceLock;

use crh_review::finding::Side;

use crate::fold::folded;
use crate::paths;
use crate::workflows;

/// The change under review.
pub struct Change<'a> {
    /// The files under review, in the order of the diff.
    pub files: &'a [ChangedFile],
    /// Every file of the diff, those that nobody reviews included: lock files, generated ones.
    pub all: &'a [ChangedFile],
    /// The repository; none if the change is only a diff.
    pub project: Option<&'a dyn Project>,
    moved: OnceLock<HashMap<String, HashSet<u32>>>,
    pub(crate) workflows: workflows::Around,
}

/// A file of the change, as the diff alone tells it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangedFile {
    /// Its path after the change; for a deleted file, the path it had.
    pub path: String,
    /// Its path before the change; none if it is new.
    pub before: Option<String>,
    /// Whether it is there no more.
    pub is_deleted: bool,
    /// Whether it is a file with lines on the side where it is; links and submodules are not.
    pub has_lines: bool,
    /// The lines that the change adds, in order.
    pub added: Vec<AddedLine>,
    /// The lines that the change takes away, in order, without their line ends.
    pub removed: Vec<Vec<u8>>,
}

/// A line that the change adds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedLine {
    /// Its number in the file after the change.
    pub number: u32,
    /// Its text, without the line end.
    pub text: Vec<u8>,
}

/// The repository around the change, on both sides of it. Everything in it is data by a stranger.
pub trait Project: Sync {
    /// The bytes of a file; none if there is no such file, or it is a link or a submodule. The error is a sentence for
    /// the report.
    fn file(&self, side: Side, path: &str) -> Result<Option<Vec<u8>>, String>;

    /// The paths of all files, sorted.
    fn paths(&self, side: Side) -> Result<&[String], String>;

    /// The lines that contain one of these words as a whole word, by path and line; at most `most`, and whether that is
    /// all.
    fn search(&self, side: Side, words: &[&str], most: usize) -> Result<Hits, String>;
}

/// What a search found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hits {
    /// The lines.
    pub lines: Vec<HitLine>,
    /// Whether there are no more.
    pub is_all: bool,
}

/// A line that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HitLine {
    /// The file.
    pub path: String,
    /// The line, 1-based.
    pub line: u32,
    /// Its text.
    pub text: String,
}

impl<'a> Change<'a> {
    /// A change.
    pub fn new(
        files: &'a [ChangedFile],
        all: &'a [ChangedFile],
        project: Option<&'a dyn Project>,
    ) -> Self {
        let (moved, workflows) = (OnceLock::new(), workflows::Around::default());
        Self { files, all, project, moved, workflows }
    }

    /// Whether an added line only moved: its text, white space aside, is taken away somewhere in the change, in a file of the same
    /// language. Each line that is taken away excuses one, the first in the order of the change.
    pub(crate) fn has_moved(&self, path: &str, line: u32) -> bool {
        let moved = self.moved.get_or_init(|| moved(self.all));
        moved.get(path).is_some_and(|lines| lines.contains(&line))
    }
}

/// The added lines of each file that only moved.
fn moved(files: &[ChangedFile]) -> HashMap<String, HashSet<u32>> {
    let key = |kind: &str, text: &[u8]| (kind.to_owned(), folded(&String::from_utf8_lossy(text)));
    let mut left: HashMap<(String, String), usize> = HashMap::new();
    for file in files {
        let kind = paths::kind(file.before.as_deref().unwrap_or(&file.path));
        for text in &file.removed {
            *left.entry(key(&kind, text)).or_default() += 1;
        }
    }
    let mut moved: HashMap<String, HashSet<u32>> = HashMap::new();
    for file in files {
        let kind = paths::kind(&file.path);
        for line in &file.added {
            let Some(left) = left.get_mut(&key(&kind, &line.text)).filter(|left| **left > 0) else {
                continue;
            };
            *left -= 1;
            moved.entry(file.path.clone()).or_default().insert(line.number);
        }
    }
    moved
}

impl ChangedFile {
    /// The path after the change; none if the file is there no more or has no lines.
    pub(crate) fn after(&self) -> Option<&str> {
        (!self.is_deleted && self.has_lines).then_some(self.path.as_str())
    }

    /// Whether the change adds a line.
    pub(crate) fn adds(&self, line: u32) -> bool {
        self.added.binary_search_by_key(&line, |added| added.number).is_ok()
    }
}
