//! Determines which lines can have a comment: those that the forge's diff shows, with three lines
//! of context.
//!
//! One bad line makes GitHub refuse a whole review, so crh checks every position first.

use std::collections::{BTreeMap, BTreeSet};

use super::FilePatch;
use crh_review::Location;
use crh_review::diff::{Diff, DiffLine, FileDiff, Hunk, LineKind};
use crh_review::finding::Side;

/// Unchanged lines that forges show around a change.
const CONTEXT_LINES: usize = 3;
/// Maximum number of files in GitHub's list of a pull request. The diff may have more files.
const LISTED_FILES_MAX: usize = 3_000;

/// Position of an inline comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// Path after the change, or before it for a deleted file.
    pub path: String,
    /// Path before a rename.
    pub old_path: Option<String>,
    /// Last line.
    pub end: DiffPoint,
    /// First line of a range.
    pub start: Option<DiffPoint>,
}

/// A line of the forge's diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffPoint {
    /// Side on which the line is commented.
    pub side: Side,
    /// Line number in the file of that side.
    pub line: u32,
    /// Line numbers in the old and in the new file. A line that one side lacks has the number of
    /// the next line there.
    pub numbers: (u32, u32),
    /// Kind of the line.
    pub kind: LineKind,
}

/// Lines of all files that can have a comment.
#[derive(Debug, Default)]
pub(super) struct CommentPositions {
    files: BTreeMap<String, Vec<PositionHunk>>,
    old_paths: BTreeMap<String, String>,
}

/// Lines of a hunk, in diff order.
type PositionHunk = Vec<PositionLine>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PositionLine {
    kind: LineKind,
    old: u32,
    new: u32,
    numbers: (u32, u32),
}

impl CommentPositions {
    /// Uses the forge's hunks, or those of our own diff where the forge shows none.
    pub(super) fn new(files: &[FilePatch], own_diff: &Diff, wanted_paths: &BTreeSet<&str>) -> Self {
        let mut hunks = BTreeMap::new();
        for file in files.iter().filter(|file| wanted_paths.contains(file.path.as_str())) {
            if let Some(patch) = &file.patch {
                hunks.insert(file.path.clone(), parse_patch(patch));
            }
        }
        let list_may_be_truncated = files.len() >= LISTED_FILES_MAX;
        let listed: BTreeMap<&str, &FilePatch> =
            files.iter().map(|file| (file.path.as_str(), file)).collect();
        for file in own_diff.files() {
            let path = file.path.shown().into_owned();
            let is_hidden = listed.get(path.as_str()).map(|file| file.patch.is_none());
            if wanted_paths.contains(path.as_str()) && is_hidden.unwrap_or(list_may_be_truncated) {
                hunks.insert(path, narrowed_hunks(own_diff, file));
            }
        }
        let renamed =
            files.iter().filter_map(|file| Some((file.path.clone(), file.previous.clone()?)));
        Self { files: hunks, old_paths: renamed.collect() }
    }

    /// Position of the comment on an issue: a range if one hunk shows the first and the last line
    /// of the issue on the same side, otherwise one of these two lines. `None` if neither is
    /// visible.
    pub(super) fn anchor(&self, location: &Location) -> Option<Anchor> {
        let hunks = self.files.get(&location.file)?;
        let find = |line| {
            hunks.iter().enumerate().find_map(|(index, hunk)| {
                Some((
                    index,
                    hunk.iter().position(|diff_line| diff_line.is_at(location.side, line))?,
                ))
            })
        };
        let first = find(location.line_start);
        let last =
            if location.line_end == location.line_start { first } else { find(location.line_end) };
        let point = |(hunk, line): (usize, usize)| hunks[hunk][line].point();
        let old_path = self.old_paths.get(&location.file);
        let anchor = |end, start| Anchor {
            path: location.file.clone(),
            old_path: old_path.cloned(),
            end,
            start,
        };
        match (first, last) {
            (Some(first), Some(last)) if first == last => Some(anchor(point(first), None)),
            (Some(first), Some(last)) if first.0 == last.0 => {
                let (start, end) = (point(first), point(last));
                // GitHub accepts ranges across sides only in some orders, so use the single line on
                // the requested side.
                Some(match (start.side == end.side, end.side == location.side) {
                    (true, _) => anchor(end, Some(start)),
                    (false, true) => anchor(end, None),
                    (false, false) => anchor(start, None),
                })
            }
            (Some(visible), _) | (None, Some(visible)) => Some(anchor(point(visible), None)),
            (None, None) => None,
        }
    }
}

impl Anchor {
    /// Whether the comment covers exactly these lines of the new file.
    pub(super) fn is_on(&self, first: u32, last: u32) -> bool {
        let start = self.start.unwrap_or(self.end);
        let is_at = |point: DiffPoint, line| point.side == Side::New && point.line == line;
        is_at(start, first) && is_at(self.end, last)
    }
}

impl PositionLine {
    fn is_at(&self, side: Side, line: u32) -> bool {
        match side {
            Side::Old => self.kind.in_old() && self.old == line,
            Side::New => self.kind.in_new() && self.new == line,
        }
    }

    /// An unchanged line is on both sides. Forges expect a comment on it on the new side.
    fn point(&self) -> DiffPoint {
        let (side, line) = match self.kind {
            LineKind::Removed => (Side::Old, self.old),
            LineKind::Context | LineKind::Added | LineKind::Remark => (Side::New, self.new),
        };
        DiffPoint { side, line, numbers: self.numbers, kind: self.kind }
    }
}

/// Parses a patch without a file header, as GitHub sends it.
fn parse_patch(patch: &str) -> Vec<PositionHunk> {
    let diff = Diff::read(format!("--- a/file\n+++ b/file\n{patch}\n"));
    diff.files().iter().flat_map(|file| hunks(&diff, file)).collect()
}

fn hunks(diff: &Diff, file: &FileDiff) -> Vec<PositionHunk> {
    let lines = |hunk: &Hunk| {
        let (mut numbers, mut lines) = ((hunk.old.start, hunk.new.start), Vec::new());
        for DiffLine { kind, old, new, .. } in diff.lines(hunk) {
            if kind != LineKind::Remark {
                lines.push(PositionLine { kind, old, new, numbers });
                numbers.0 += u32::from(kind.in_old());
                numbers.1 += u32::from(kind.in_new());
            }
        }
        lines
    };
    file.hunks.iter().map(lines).collect()
}

/// Hunks of our own diff, with as much context as GitHub shows.
fn narrowed_hunks(diff: &Diff, file: &FileDiff) -> Vec<PositionHunk> {
    hunks(diff, file).iter().flat_map(|hunk| split_hunk(hunk)).collect()
}

/// Splits a hunk into parts near changed lines. Changes with overlapping context stay together.
fn split_hunk(hunk: &[PositionLine]) -> Vec<PositionHunk> {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for index in (0..hunk.len()).filter(|index| hunk[*index].kind != LineKind::Context) {
        let (start, end) =
            (index.saturating_sub(CONTEXT_LINES), (index + CONTEXT_LINES + 1).min(hunk.len()));
        match parts.last_mut() {
            Some(last) if start <= last.1 => last.1 = end,
            Some(_) | None => parts.push((start, end)),
        }
    }
    parts.into_iter().map(|(start, end)| hunk[start..end].to_vec()).collect()
}

#[cfg(test)]
mod tests;
