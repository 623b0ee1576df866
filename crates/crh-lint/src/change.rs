//! The change as static reviewers see it: its files and the repository around them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use crate::changed_statements::StatementCache;
use crate::whitespace::fold_whitespace;
use crate::{paths, workflows};
use crh_review::finding::Side;
use crh_syntax::Language;

/// The change under review.
pub struct ChangeView<'a> {
    /// Files under review, in diff order.
    pub files: &'a [ChangedFile],
    /// Every file of the diff, including lock files and generated files.
    pub all_files: &'a [ChangedFile],
    /// The repository. None if the change is only a diff.
    pub project: Option<&'a dyn Project>,
    moved_lines: OnceLock<HashMap<String, HashSet<u32>>>,
    pub(crate) workflows: workflows::RepoWorkflows,
    pub(crate) statements: Arc<StatementCache>,
}

/// A changed file, as far as the diff describes it. If a file of the base comes into use (its new
/// path or mode lets it run), it counts as new: all of its lines are added.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangedFile {
    /// The new path; for a deleted file, the old path.
    pub path: String,
    /// The old path. None for a new file.
    pub old_path: Option<String>,
    /// Whether the change deletes the file.
    pub is_deleted: bool,
    /// Whether the file is a regular file, not a symlink or submodule.
    pub has_lines: bool,
    /// Added lines, in order.
    pub added: Vec<AddedLine>,
    /// Unchanged lines that the diff shows, in order, with their new numbers.
    pub unchanged: Vec<AddedLine>,
    /// Removed lines, in order, without their line ends.
    pub removed: Vec<Vec<u8>>,
    /// Line numbers of the removed lines in the old file.
    pub removed_line_numbers: Vec<u32>,
    /// The file as in the diff, if it counts as new although it is in the base. Checks that compare
    /// the whole repository before and after the change need this.
    pub in_diff: Option<Box<Self>>,
}

/// What the change does to a line of the old file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineFate {
    /// Removed without a replacement.
    Removed,
    /// Replaced by this added line.
    Replaced(u32),
    /// Unchanged, now at this line.
    Kept(u32),
}

/// An added or unchanged line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedLine {
    /// Line number in the new file.
    pub number: u32,
    /// Text without the line end.
    pub text: Vec<u8>,
}

/// Read access to the repository before and after the change. All contents are untrusted.
pub trait Project: Sync {
    /// Returns the bytes of a file; `None` if the path does not exist or is a symlink or a
    /// submodule. The error is a sentence for the report.
    fn file(&self, side: Side, path: &str) -> Result<Option<Vec<u8>>, String>;

    /// Paths of all files, sorted.
    fn paths(&self, side: Side) -> Result<&[String], String>;

    /// Finds at most `max_hits` lines that contain one of these words as a whole word, sorted by
    /// path and line.
    fn search(&self, side: Side, words: &[&str], max_hits: usize) -> Result<SearchHits, String>;

    /// Whether the checks must end, because their time limit is reached or the user cancelled. The
    /// caller then ignores their findings.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// Result of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchHits {
    /// Matching lines.
    pub lines: Vec<SearchHit>,
    /// Whether all matches are included.
    pub is_complete: bool,
}

/// A matching line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchHit {
    /// Path of the file.
    pub path: String,
    /// Line number, 1-based.
    pub line: u32,
    /// Text of the line.
    pub text: String,
}

impl<'a> ChangeView<'a> {
    /// Creates a view of a change.
    pub fn new(
        files: &'a [ChangedFile],
        all_files: &'a [ChangedFile],
        project: Option<&'a dyn Project>,
    ) -> Self {
        let (moved_lines, workflows) = (OnceLock::new(), workflows::RepoWorkflows::default());
        Self { files, all_files, project, moved_lines, workflows, statements: Arc::default() }
    }

    /// Files under review and all files, as in the diff.
    pub(crate) fn files_as_in_diff(&self) -> [Cow<'a, [ChangedFile]>; 2] {
        [self.files, self.all_files].map(|files| {
            match files.iter().any(|file| file.in_diff.is_some()) {
                true => files.iter().map(ChangedFile::in_diff).cloned().collect(),
                false => Cow::Borrowed(files),
            }
        })
    }

    /// Language of a changed file, by its name or its first line. `None` if crh has no grammar for
    /// it.
    pub(crate) fn language(&self, file: &ChangedFile) -> Option<Language> {
        let first_line = |project: &dyn Project| {
            let text = match file.new_path() {
                Some(path) => project.file(Side::New, path),
                None => project.file(Side::Old, file.old_path.as_deref()?),
            };
            Language::of_file(&file.path, &text.ok()??)
        };
        let read_language = || first_line(self.project.filter(|_| !paths::is_data(&file.path))?);
        Language::from_path(&file.path).or_else(read_language)
    }

    /// Whether an added line is only moved: the change removes a line with the same text (apart
    /// from white space) from a file of the same language. Each removed line explains at most one
    /// added line, and lines added to code in use come first. A line that moves from a test,
    /// fixture, example or document to code in use is new.
    pub(crate) fn is_moved_line(&self, path: &str, line: u32) -> bool {
        let moved_lines = self.moved_lines.get_or_init(|| moved_lines(self.all_files));
        moved_lines.get(path).is_some_and(|lines| lines.contains(&line))
    }
}

fn moved_lines(files: &[ChangedFile]) -> HashMap<String, HashSet<u32>> {
    let key = |kind: &str, text: &[u8], is_in_use: bool| {
        (kind.to_owned(), fold_whitespace(&String::from_utf8_lossy(text)), is_in_use)
    };
    let mut removed_counts: HashMap<(String, String, bool), usize> = HashMap::new();
    // A file that comes into use counts as new: none of its lines is moved, but lines may leave it.
    for file in files.iter().map(ChangedFile::in_diff) {
        let path = file.old_path.as_deref().unwrap_or(&file.path);
        let (kind, is_in_use) = (paths::language_key(path), paths::is_in_use(path));
        for text in &file.removed {
            *removed_counts.entry(key(&kind, text, is_in_use)).or_default() += 1;
        }
    }
    let mut moved_lines: HashMap<String, HashSet<u32>> = HashMap::new();
    // Lines added to code in use can only come from code in use, so these files come first.
    let (files_in_use, samples): (Vec<&ChangedFile>, Vec<&ChangedFile>) =
        files.iter().partition(|file| paths::is_in_use(&file.path));
    let files_in_use = files_in_use.into_iter().map(|file| (file, [true].as_slice()));
    let samples = samples.into_iter().map(|file| (file, [false, true].as_slice()));
    let candidates = files_in_use.chain(samples).filter(|(file, _)| file.in_diff.is_none());
    for (file, origins) in candidates {
        let kind = paths::language_key(&file.path);
        for line in &file.added {
            let is_moved = origins.iter().any(|is_in_use| {
                let count = removed_counts.get_mut(&key(&kind, &line.text, *is_in_use));
                count.filter(|left| **left > 0).map(|left| *left -= 1).is_some()
            });
            if is_moved {
                moved_lines.entry(file.path.clone()).or_default().insert(line.number);
            }
        }
    }
    moved_lines
}

impl ChangedFile {
    /// The file as in the diff.
    pub(crate) fn in_diff(&self) -> &Self {
        self.in_diff.as_deref().unwrap_or(self)
    }

    /// The new path; `None` if the file is deleted or not a regular file.
    pub(crate) fn new_path(&self) -> Option<&str> {
        (!self.is_deleted && self.has_lines).then_some(self.path.as_str())
    }

    pub(crate) fn line_fate(&self, line: u32) -> LineFate {
        let removed_above = self.removed_line_numbers.partition_point(|it| *it < line);
        let is_removed = self.removed_line_numbers.get(removed_above) == Some(&line);
        let removed_above = u32::try_from(removed_above).unwrap_or(u32::MAX);
        let position = line.saturating_sub(removed_above).saturating_sub(u32::from(is_removed));
        let added_numbers = || self.added.iter().map(|it| it.number);
        // New number of the last unchanged line at or above the given line.
        let last_unchanged =
            added_numbers().fold(position, |at, added| if added <= at { at + 1 } else { at });
        if !is_removed {
            return LineFate::Kept(last_unchanged);
        }
        let removed_before = self.removed_line_numbers.iter().rev().skip_while(|it| **it >= line);
        let index_in_block =
            (1..).zip(removed_before).take_while(|(back, it)| **it + back == line).count();
        let added_after = added_numbers().skip_while(|it| *it <= last_unchanged);
        let added_block =
            (last_unchanged + 1..).zip(added_after).take_while(|(next, it)| next == it);
        match added_block.map(|(_, it)| it).take(index_in_block + 1).last() {
            Some(number) => LineFate::Replaced(number),
            None => LineFate::Removed,
        }
    }

    /// Whether the change adds this line.
    pub(crate) fn adds(&self, line: u32) -> bool {
        self.added.binary_search_by_key(&line, |added| added.number).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_fate_follows_the_hunks() {
        // Old lines 1 to 8: 2 and 3 become 2; 5 is removed; two lines are added before 7; 8 becomes
        // 8 and 9.
        let added = [2, 5, 6, 8, 9].map(|number| AddedLine { number, text: Vec::new() });
        let file = ChangedFile {
            added: added.to_vec(),
            removed_line_numbers: vec![2, 3, 5, 8],
            ..ChangedFile::default()
        };
        let fates: Vec<LineFate> = (1..=8).map(|line| file.line_fate(line)).collect();
        let expected = [
            LineFate::Kept(1),
            LineFate::Replaced(2),
            LineFate::Replaced(2),
            LineFate::Kept(3),
            LineFate::Removed,
            LineFate::Kept(4),
            LineFate::Kept(7),
            LineFate::Replaced(8),
        ];
        assert_eq!(fates, expected);
    }
}
