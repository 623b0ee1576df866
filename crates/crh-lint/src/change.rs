//! The change, as static reviewers see it: its files, and the repository around them as something that can be asked.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use crate::fold::folded;
use crate::{paths, workflows};
use crh_review::finding::Side;

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
    /// The numbers of those lines in the file before the change.
    pub removed_at: Vec<u32>,
}

/// What became of a line of before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Became {
    /// Nothing stands in its place.
    Nothing,
    /// This added line stands in its place.
    Another(u32),
    /// It is still there, as this line.
    Itself(u32),
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

    /// What became of a line of before.
    pub(crate) fn became(&self, line: u32) -> Became {
        let above = self.removed_at.partition_point(|it| *it < line);
        let is_removed = self.removed_at.get(above) == Some(&line);
        let above = u32::try_from(above).unwrap_or(u32::MAX);
        let kept = line.saturating_sub(above).saturating_sub(u32::from(is_removed));
        let numbers = || self.added.iter().map(|it| it.number);
        // Where the last line is that is still there, this one or one above it.
        let last = numbers().fold(kept, |at, added| if added <= at { at + 1 } else { at });
        if !is_removed {
            return Became::Itself(last);
        }
        let before = self.removed_at.iter().rev().skip_while(|it| **it >= line);
        let before = (1..).zip(before).take_while(|(back, it)| **it + back == line).count();
        let behind = numbers().skip_while(|it| *it <= last);
        let behind = (last + 1..).zip(behind).take_while(|(next, it)| next == it);
        match behind.map(|(_, it)| it).take(before + 1).last() {
            Some(number) => Became::Another(number),
            None => Became::Nothing,
        }
    }

    /// Whether the change adds a line.
    pub(crate) fn adds(&self, line: u32) -> bool {
        self.added.binary_search_by_key(&line, |added| added.number).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_became_of_a_line_is_told_by_the_hunks() {
        // Before: 1 to 8. 2 and 3 become 2; 5 is gone; two come before 7; 8 becomes 8 and 9.
        let added = [2, 5, 6, 8, 9].map(|number| AddedLine { number, text: Vec::new() });
        let file = ChangedFile {
            added: added.to_vec(),
            removed_at: vec![2, 3, 5, 8],
            ..ChangedFile::default()
        };
        let became: Vec<Became> = (1..=8).map(|line| file.became(line)).collect();
        let expected = [
            Became::Itself(1),
            Became::Another(2),
            Became::Another(2),
            Became::Itself(3),
            Became::Nothing,
            Became::Itself(4),
            Became::Itself(7),
            Became::Another(8),
        ];
        assert_eq!(became, expected);
    }
}
