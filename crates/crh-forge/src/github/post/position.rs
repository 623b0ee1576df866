//! Which lines of a pull request can carry a comment: those that GitHub's own diff shows, with its three lines of context.
//!
//! GitHub refuses a whole review because of one line that it does not show, so every place is looked up here first.

use std::collections::{BTreeMap, BTreeSet};

use crate::github::FilePatch;
use crh_review::Location;
use crh_review::diff::{Diff, FileDiff, LineKind};
use crh_review::finding::Side;

/// How many unchanged lines GitHub shows around a change.
const CONTEXT: usize = 3;
/// GitHub lists no more files of a pull request than this, though it shows more of them.
const LISTED_MAX: usize = 3_000;

/// Where an inline comment is put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Anchor {
    /// The file's path after the change.
    pub(super) path: String,
    /// The last line.
    pub(super) end: Point,
    /// The first line, if it is another one.
    pub(super) start: Option<Point>,
}

/// A line on one side of GitHub's diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Point {
    /// The side.
    pub(super) side: Side,
    /// The line in the file of that side.
    pub(super) line: u32,
}

/// The lines of all files that can carry a comment.
#[derive(Debug, Default)]
pub(super) struct Positions {
    files: BTreeMap<String, Vec<Hunk>>,
}

/// The lines of a hunk, in the order of the diff.
type Hunk = Vec<Line>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Line {
    kind: LineKind,
    old: u32,
    new: u32,
}

impl Positions {
    /// The lines of some files that can carry a comment: by GitHub's hunks, and where it does not show them by those of our
    /// own diff.
    pub(super) fn new(files: &[FilePatch], own: &Diff, wanted: &BTreeSet<&str>) -> Self {
        let mut hunks = BTreeMap::new();
        for file in files.iter().filter(|file| wanted.contains(file.path.as_str())) {
            if let Some(patch) = &file.patch {
                hunks.insert(file.path.clone(), shown(patch));
            }
        }
        let unlisted_may_be_there = files.len() >= LISTED_MAX;
        let listed: BTreeMap<&str, &FilePatch> =
            files.iter().map(|file| (file.path.as_str(), file)).collect();
        for file in own.files() {
            let path = file.path.shown().into_owned();
            let is_hidden = listed.get(path.as_str()).map(|file| file.patch.is_none());
            if wanted.contains(path.as_str()) && is_hidden.unwrap_or(unlisted_may_be_there) {
                hunks.insert(path, narrowed(own, file));
            }
        }
        Self { files: hunks }
    }

    /// Where a comment about a place goes: on all of its lines if one hunk shows the first and the last, otherwise on the one
    /// that is shown. None if neither is.
    pub(super) fn anchor(&self, place: &Location) -> Option<Anchor> {
        let hunks = self.files.get(&place.file)?;
        let find = |line| {
            hunks.iter().enumerate().find_map(|(at, hunk)| {
                Some((at, hunk.iter().position(|it| it.is_at(place.side, line))?))
            })
        };
        let first = find(place.line_start);
        let last = if place.line_end == place.line_start { first } else { find(place.line_end) };
        let point = |(hunk, line): (usize, usize)| hunks[hunk][line].point();
        let anchor = |end, start| Anchor { path: place.file.clone(), end, start };
        match (first, last) {
            (Some(first), Some(last)) if first == last => Some(anchor(point(first), None)),
            (Some(first), Some(last)) if first.0 == last.0 => {
                let (start, end) = (point(first), point(last));
                // Whether GitHub takes a range across sides depends on its order, so that there is none: then the line on the
                // side that is meant is the better one.
                Some(match (start.side == end.side, end.side == place.side) {
                    (true, _) => anchor(end, Some(start)),
                    (false, true) => anchor(end, None),
                    (false, false) => anchor(start, None),
                })
            }
            (Some(one), _) | (None, Some(one)) => Some(anchor(point(one), None)),
            (None, None) => None,
        }
    }
}

impl Anchor {
    /// Whether the comment is on exactly these lines of the new file.
    pub(super) fn is_on(&self, first: u32, last: u32) -> bool {
        let start = self.start.unwrap_or(self.end);
        let at = |point: Point, line| point.side == Side::New && point.line == line;
        at(start, first) && at(self.end, last)
    }
}

impl Line {
    fn is_at(&self, side: Side, line: u32) -> bool {
        match side {
            Side::Old => self.kind.in_old() && self.old == line,
            Side::New => self.kind.in_new() && self.new == line,
        }
    }

    /// Where GitHub wants a comment on it: a line that did not change belongs to the new side.
    fn point(&self) -> Point {
        match self.kind {
            LineKind::Removed => Point { side: Side::Old, line: self.old },
            LineKind::Context | LineKind::Added | LineKind::Remark => {
                Point { side: Side::New, line: self.new }
            }
        }
    }
}

/// The hunks of a patch as GitHub gives it, without a file header.
fn shown(patch: &str) -> Vec<Hunk> {
    let diff = Diff::read(format!("--- a/file\n+++ b/file\n{patch}\n"));
    diff.files().iter().flat_map(|file| hunks(&diff, file)).collect()
}

fn hunks(diff: &Diff, file: &FileDiff) -> Vec<Hunk> {
    let line = |line: crh_review::diff::DiffLine<'_>| match line.kind {
        LineKind::Remark => None,
        LineKind::Context | LineKind::Added | LineKind::Removed => {
            Some(Line { kind: line.kind, old: line.old, new: line.new })
        }
    };
    file.hunks.iter().map(|hunk| diff.lines(hunk).filter_map(line).collect()).collect()
}

/// The hunks of a file of our own diff, with as much context as GitHub would show.
fn narrowed(diff: &Diff, file: &FileDiff) -> Vec<Hunk> {
    hunks(diff, file).iter().flat_map(|hunk| narrow(hunk)).collect()
}

/// The parts of a hunk that are near a changed line. Two changes whose contexts touch are in one part.
fn narrow(hunk: &[Line]) -> Vec<Hunk> {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for at in (0..hunk.len()).filter(|at| hunk[*at].kind != LineKind::Context) {
        let (start, end) = (at.saturating_sub(CONTEXT), (at + CONTEXT + 1).min(hunk.len()));
        match parts.last_mut() {
            Some(last) if start <= last.1 => last.1 = end,
            Some(_) | None => parts.push((start, end)),
        }
    }
    parts.into_iter().map(|(start, end)| hunk[start..end].to_vec()).collect()
}

#[cfg(test)]
mod tests;
