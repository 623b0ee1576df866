//! Maps numbered diff lines to file lines, so that findings can cite the diff and comments land in
//! a file.

use schemars::JsonSchema;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use super::{DiffLine, LineKind};
use crate::finding::Side;

/// Positions of one file's diff lines in the old and the new file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineMap {
    lines: Vec<MappedLine>,
    // (file line, diff line), sorted, because a malformed diff can have its hunks out of order.
    old: Vec<(u32, u32)>,
    new: Vec<(u32, u32)>,
}

/// A diff line that is part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MappedLine {
    /// Number in the diff.
    pub number: u32,
    /// Added, removed or context.
    pub kind: LineKind,
    /// Line in the old file; 0 if absent.
    pub old: u32,
    /// Line in the new file; 0 if absent.
    pub new: u32,
}

/// An entry of `lineMap`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Place")]
pub struct LineMapEntry {
    /// Which file `fileLine` counts in: `before` in the old, `after` and `context` in the new.
    pub side: LineMapSide,
    /// Line of that file, 1-based.
    #[serde(rename = "fileLine")]
    pub file_line: u32,
}

/// Side of a `lineMap` entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "PlaceSide")]
pub enum LineMapSide {
    /// A removed line.
    Before,
    /// An added line.
    After,
    /// A line in both files.
    Context,
}

impl MappedLine {
    /// `None` for a git remark, which is in no file.
    pub(super) fn from_diff_line(line: &DiffLine<'_>) -> Option<Self> {
        match line.kind {
            LineKind::Remark => None,
            LineKind::Context | LineKind::Added | LineKind::Removed => {
                Some(Self { number: line.number, kind: line.kind, old: line.old, new: line.new })
            }
        }
    }

    /// The side and line that a comment on this line belongs to.
    pub fn side(&self) -> (Side, u32) {
        if self.kind.in_new() { (Side::New, self.new) } else { (Side::Old, self.old) }
    }

    /// The line as a `lineMap` entry.
    pub fn entry(&self) -> LineMapEntry {
        let (side, file_line) = match self.kind {
            LineKind::Removed => (LineMapSide::Before, self.old),
            LineKind::Added => (LineMapSide::After, self.new),
            LineKind::Context | LineKind::Remark => (LineMapSide::Context, self.new),
        };
        LineMapEntry { side, file_line }
    }
}

impl LineMap {
    pub(super) fn new<'a>(lines: impl Iterator<Item = DiffLine<'a>>) -> Self {
        let lines: Vec<_> = lines.filter_map(|line| MappedLine::from_diff_line(&line)).collect();
        let index = |line_in: fn(&MappedLine) -> u32| {
            let mut index: Vec<_> = lines
                .iter()
                .map(|line| (line_in(line), line.number))
                .filter(|(file_line, _)| *file_line != 0)
                .collect();
            index.sort_unstable();
            index
        };
        let (old, new) = (index(|line| line.old), index(|line| line.new));
        Self { lines, old, new }
    }

    /// All mapped lines, in the order of the diff.
    pub fn lines(&self) -> &[MappedLine] {
        &self.lines
    }

    /// The mapped line with this number in the diff.
    pub fn get(&self, number: u32) -> Option<&MappedLine> {
        let index = self.lines.binary_search_by_key(&number, |line| line.number).ok()?;
        self.lines.get(index)
    }

    /// The diff line that shows a line of a file. Context lines are found from both sides.
    pub fn number_of(&self, side: Side, file_line: u32) -> Option<u32> {
        let index = match side {
            Side::Old => &self.old,
            Side::New => &self.new,
        };
        let position = index.partition_point(|(line, _)| *line < file_line);
        index.get(position).filter(|(line, _)| *line == file_line).map(|(_, number)| *number)
    }
}

impl Serialize for LineMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.lines.len()))?;
        for line in &self.lines {
            map.serialize_entry(&line.number, &line.entry())?;
        }
        map.end()
    }
}
