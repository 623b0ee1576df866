//! Numbered line ↔ line of a file: the map that lets a finding cite the diff and a comment land in a file.

use schemars::JsonSchema;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use super::{DiffLine, LineKind};
use crate::finding::Side;

/// Where the lines of one file's hunks stand in the old and the new file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineMap {
    lines: Vec<MappedLine>,
    // (line of the file, line of the diff), sorted: a malformed diff can have its hunks out of order.
    old: Vec<(u32, u32)>,
    new: Vec<(u32, u32)>,
}

/// A line of the diff that stands in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MappedLine {
    /// Its number in the diff.
    pub number: u32,
    /// Whether it was added, removed or stayed.
    pub kind: LineKind,
    /// Its line in the old file; 0 if it is not there.
    pub old: u32,
    /// Its line in the new file; 0 if it is not there.
    pub new: u32,
}

/// A line's place as `lineMap` spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    /// Which file `fileLine` counts in: `before` in the old, `after` and `context` in the new.
    pub side: PlaceSide,
    /// The line of that file, 1-based.
    #[serde(rename = "fileLine")]
    pub file_line: u32,
}

/// The three words of `lineMap`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PlaceSide {
    /// A removed line.
    Before,
    /// An added line.
    After,
    /// A line in both files.
    Context,
}

impl MappedLine {
    /// The mapped form of a line of a hunk; `None` for a remark of git's, which is in no file.
    pub(super) fn of(line: &DiffLine<'_>) -> Option<Self> {
        match line.kind {
            LineKind::Remark => None,
            LineKind::Context | LineKind::Added | LineKind::Removed => {
                Some(Self { number: line.number, kind: line.kind, old: line.old, new: line.new })
            }
        }
    }

    /// The side a comment on this line belongs to, and the line there.
    pub fn side(&self) -> (Side, u32) {
        if self.kind.in_new() { (Side::New, self.new) } else { (Side::Old, self.old) }
    }

    /// The place as `lineMap` spells it.
    pub fn place(&self) -> Place {
        let (side, file_line) = match self.kind {
            LineKind::Removed => (PlaceSide::Before, self.old),
            LineKind::Added => (PlaceSide::After, self.new),
            LineKind::Context | LineKind::Remark => (PlaceSide::Context, self.new),
        };
        Place { side, file_line }
    }
}

impl LineMap {
    pub(super) fn of<'a>(lines: impl Iterator<Item = DiffLine<'a>>) -> Self {
        let lines: Vec<_> = lines.filter_map(|line| MappedLine::of(&line)).collect();
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

    /// The line of the diff with this number, if it stands in a file.
    pub fn get(&self, number: u32) -> Option<&MappedLine> {
        let at = self.lines.binary_search_by_key(&number, |line| line.number).ok()?;
        self.lines.get(at)
    }

    /// The line of the diff that shows this line of a file. Context lines are found from both sides.
    pub fn number_of(&self, side: Side, file_line: u32) -> Option<u32> {
        let index = match side {
            Side::Old => &self.old,
            Side::New => &self.new,
        };
        let at = index.partition_point(|(line, _)| *line < file_line);
        index.get(at).filter(|(line, _)| *line == file_line).map(|(_, number)| *number)
    }
}

impl Serialize for LineMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.lines.len()))?;
        for line in &self.lines {
            map.serialize_entry(&line.number, &line.place())?;
        }
        map.end()
    }
}
