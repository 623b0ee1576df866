//! A unified diff as git, GitHub and Launchpad print it: read without ever failing, kept to the last byte.
//!
//! Invariant: every byte of the input belongs to one file's header, to one hunk, or to the text around
//! them, so that [`Diff::to_bytes`] gives back exactly what was read.

mod apply;
mod counterpart;
mod line_map;
mod path;
mod reader;

use std::fmt;
use std::ops::Range;

pub use apply::ApplyError;
pub use line_map::{LineMap, MappedLine, Place};
pub use path::RepoPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A diff that was read: its bytes, its files, and what could not be understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    raw: Vec<u8>,
    files: Vec<FileDiff>,
    problems: Vec<Problem>,
}

/// One file of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    /// The path after the change; for a deleted file, the path it had.
    pub path: RepoPath,
    /// The path before the change, for renamed and copied files only.
    pub old_path: Option<RepoPath>,
    /// What happened to the file as a whole.
    pub change: FileChange,
    /// Whether its lines can be read.
    pub content: Content,
    /// The file mode before, as git prints it (`100644`), where the diff tells.
    pub old_mode: Option<u32>,
    /// The file mode after, where the diff tells.
    pub new_mode: Option<u32>,
    /// The changed places, in the order of the diff.
    pub hunks: Vec<Hunk>,
    /// How many lines were added.
    pub additions: u32,
    /// How many lines were removed.
    pub deletions: u32,
    header: Range<usize>,
    first_line: u32,
}

/// What happened to a file as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileChange {
    /// It did not exist before.
    Added,
    /// It does not exist afterwards.
    Deleted,
    /// It stayed where it was.
    Modified,
    /// It moved, with or without edits.
    Renamed,
    /// It was made from another file that stayed.
    Copied,
}

/// Whether a file's lines can be read from the diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Lines in hunks (or none, for a pure rename or mode change).
    Text,
    /// Bytes that git does not show as lines.
    Binary,
    /// A form of diff that has no single old side; the lines are kept but not mapped.
    Unsupported,
}

/// The one word for a file in `meta.json` and in `crh diff files`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileStatus {
    /// New in this change.
    Added,
    /// Gone after this change.
    Deleted,
    /// Edited in place.
    Modified,
    /// Moved, with or without edits.
    Renamed,
    /// Made from another file.
    Copied,
    /// Not text, whatever happened to it.
    Binary,
    /// Only its mode changed.
    Mode,
}

/// One hunk: a run of lines around a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// The lines it covers in the old file.
    pub old: LineSpan,
    /// The lines it covers in the new file.
    pub new: LineSpan,
    /// The number of its `@@` line in the diff.
    pub first_line: u32,
    bytes: Range<usize>,
    body: usize,
}

/// A run of lines in a file: where it starts (1-based, 0 for an empty file) and how many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineSpan {
    /// The first line.
    pub start: u32,
    /// The number of lines.
    pub len: u32,
}

/// One line of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffLine<'a> {
    /// Its number in the diff, 1-based.
    pub number: u32,
    /// What it is.
    pub kind: LineKind,
    /// Its line in the old file; 0 if it is not there.
    pub old: u32,
    /// Its line in the new file; 0 if it is not there.
    pub new: u32,
    /// The line as it stands in the diff, with its sign and its newline.
    pub raw: &'a [u8],
}

/// What a line of a hunk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LineKind {
    /// In both files.
    Context,
    /// Only in the old file.
    Removed,
    /// Only in the new file.
    Added,
    /// A remark of git's (`\ No newline at end of file`), in neither.
    Remark,
}

/// Something in the diff that could not be understood, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line of the diff, 1-based.
    pub line: u32,
    /// What is wrong with it.
    pub kind: ProblemKind,
}

/// What can be wrong with a diff.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProblemKind {
    /// Lines that belong to no file.
    #[error("{lines} line(s) belong to no file or hunk and were passed over")]
    Stray {
        /// How many in a row.
        lines: u32,
    },
    /// A hunk that has fewer lines than its header says.
    #[error("the hunk ends {missing} line(s) before its header says")]
    ShortHunk {
        /// How many lines are missing, on both sides together.
        missing: u64,
    },
    /// A file whose header announces lines that are not there.
    #[error("the file's lines are missing")]
    NoHunk,
    /// The end of the diff is not the end of a line.
    #[error("the last line has no newline: it may be cut short")]
    CutLine,
    /// A line that looks like a hunk header and is none.
    #[error("the hunk header cannot be read")]
    HunkHeader,
    /// A file header from which no path can be had.
    #[error("the file's path cannot be read")]
    Path,
    /// A combined (merge) diff.
    #[error("a combined diff of a merge is not supported; diff against one parent")]
    Combined,
    /// A submodule shown as a log.
    #[error("a submodule shown as a log is not supported; use `--submodule=short`")]
    SubmoduleLog,
}

impl Diff {
    /// Reads a diff. What cannot be understood is in [`Diff::problems`]; nothing is an error.
    pub fn read(raw: impl Into<Vec<u8>>) -> Self {
        let raw = raw.into();
        let (files, problems) = reader::read(&raw);
        Self { raw, files, problems }
    }

    /// The bytes that were read.
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// The files, in the order of the diff.
    pub fn files(&self) -> &[FileDiff] {
        &self.files
    }

    /// What could not be understood, in the order of the diff.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The bytes of [`Diff::raw`] that a hunk's lines are, its `@@` line left out.
    pub fn body(&self, hunk: &Hunk) -> Range<usize> {
        hunk.body..hunk.bytes.end
    }

    /// The lines of a hunk, its `@@` line left out.
    pub fn lines<'a>(&'a self, hunk: &Hunk) -> impl Iterator<Item = DiffLine<'a>> + use<'a> {
        let mut old = hunk.old.start;
        let mut new = hunk.new.start;
        let body = &self.raw[self.body(hunk)];
        (hunk.first_line + 1..).zip(split_lines(body)).map(move |(number, raw)| {
            let kind = reader::kind_of(raw).unwrap_or(LineKind::Remark);
            let line = DiffLine {
                number,
                kind,
                old: if kind.in_old() { old } else { 0 },
                new: if kind.in_new() { new } else { 0 },
                raw,
            };
            old = old.saturating_add(u32::from(kind.in_old()));
            new = new.saturating_add(u32::from(kind.in_new()));
            line
        })
    }

    /// Where the lines of a file stand in both files, with lookups both ways.
    pub fn line_map(&self, file: &FileDiff) -> LineMap {
        LineMap::of(file.hunks.iter().flat_map(|hunk| self.lines(hunk)))
    }

    /// Which file a line of the diff belongs to, as an index into [`Diff::files`].
    pub fn file_at(&self, number: u32) -> Option<usize> {
        self.files.partition_point(|file| file.first_line <= number).checked_sub(1)
    }

    /// The file and the place of a line of the diff; `None` for a line outside every hunk. It reads the hunk
    /// from its start: for many lookups, [`Diff::line_map`].
    pub fn locate(&self, number: u32) -> Option<(&FileDiff, MappedLine)> {
        let file = &self.files[self.file_at(number)?];
        let after = file.hunks.partition_point(|hunk| hunk.first_line <= number);
        let hunk = &file.hunks[after.checked_sub(1)?];
        let line = self.lines(hunk).find(|line| line.number == number)?;
        MappedLine::of(&line).map(|mapped| (file, mapped))
    }

    /// Every line with its 1-based number and two spaces before it: the text of `numbered.diff`.
    pub fn numbered(&self) -> impl Iterator<Item = (u32, &[u8])> {
        (1..).zip(split_lines(&self.raw))
    }

    /// The text of `numbered.diff` as one piece. Line N of it is line N of the diff.
    pub fn numbered_text(&self) -> Vec<u8> {
        // Ten bytes for number and spaces fit a million lines; beyond that the vector grows.
        let lines = memchr::memchr_iter(b'\n', &self.raw).count() + 1;
        let mut text = Vec::with_capacity(self.raw.len() + lines * 10);
        for (number, line) in self.numbered() {
            write_number(&mut text, number);
            text.extend_from_slice(b"  ");
            text.extend_from_slice(line);
        }
        text
    }

    /// The patch of one file, from its header to its last hunk.
    pub fn patch(&self, file: &FileDiff) -> &[u8] {
        let end = file.hunks.last().map_or(file.header.end, |hunk| hunk.bytes.end);
        &self.raw[file.header.start..end]
    }

    /// Writes the diff from its parts. Equal to what was read, byte for byte.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.raw.len());
        let parts = self.files.iter().flat_map(|file| {
            let header = (file.header.clone(), None);
            let hunks = file.hunks.iter().map(|hunk| (hunk.bytes.start..hunk.body, Some(hunk)));
            std::iter::once(header).chain(hunks)
        });
        for (part, hunk) in parts {
            // Text around the parts is copied; the parts themselves are written from what was read.
            out.extend_from_slice(&self.raw[out.len()..part.start]);
            out.extend_from_slice(&self.raw[part]);
            for line in hunk.into_iter().flat_map(|hunk| self.lines(hunk)) {
                out.extend_from_slice(line.raw);
            }
        }
        out.extend_from_slice(&self.raw[out.len()..]);
        out
    }
}

impl FileDiff {
    /// The one word for what happened to the file.
    pub fn status(&self) -> FileStatus {
        match (self.content, self.change) {
            (Content::Binary, _) => FileStatus::Binary,
            (_, FileChange::Added) => FileStatus::Added,
            (_, FileChange::Deleted) => FileStatus::Deleted,
            (_, FileChange::Renamed) => FileStatus::Renamed,
            (_, FileChange::Copied) => FileStatus::Copied,
            (_, FileChange::Modified) if self.is_mode_only() => FileStatus::Mode,
            (_, FileChange::Modified) => FileStatus::Modified,
        }
    }

    /// The number of its first line in the diff.
    pub fn first_line(&self) -> u32 {
        self.first_line
    }

    fn is_mode_only(&self) -> bool {
        self.hunks.is_empty()
            && self.content == Content::Text
            && self.old_mode.is_some()
            && self.old_mode != self.new_mode
    }
}

impl LineKind {
    /// Whether such a line stands in the old file.
    pub fn in_old(self) -> bool {
        matches!(self, Self::Context | Self::Removed)
    }

    /// Whether such a line stands in the new file.
    pub fn in_new(self) -> bool {
        matches!(self, Self::Context | Self::Added)
    }
}

impl<'a> DiffLine<'a> {
    /// The line's text as it stands in the file: without its sign and without its newline.
    pub fn text(&self) -> &'a [u8] {
        let line = self.raw.strip_suffix(b"\n").unwrap_or(self.raw);
        // An empty line stands for an empty context line whose blank was lost on the way.
        line.get(1..).unwrap_or_default()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.kind)
    }
}

/// The lines of a text, each with its newline; the last may have none.
fn split_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        let (line, after) = rest.split_at(end);
        rest = after;
        Some(line)
    })
}

/// Appends a number in decimal. A diff of 50 MB has a million of them, so no formatter is involved.
pub fn write_number(out: &mut Vec<u8>, mut number: u32) {
    let mut digits = [0_u8; 10];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests;
