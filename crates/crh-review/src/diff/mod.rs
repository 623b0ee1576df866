//! Parses unified diffs as printed by git, GitHub and Launchpad. Parsing never fails.
//!
//! Invariant: every byte of the input belongs to a file header, a hunk, or the text around them, so
//! [`Diff::to_bytes`] restores the input exactly.

mod apply;
mod counterpart;
mod line_map;
mod path;
mod reader;
mod unsupported;

use std::fmt;
use std::ops::Range;

pub use apply::ApplyError;
pub use line_map::{LineMap, LineMapEntry, MappedLine};
pub use path::RepoPath;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use unsupported::UnsupportedDiff;

/// Maximum number of leading folders of a name that are not part of the path. `diff -ru` of two
/// checkouts in temporary folders prints about five.
pub const STRIP_MAX: usize = 8;

/// A parsed diff: its bytes, files and problems.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    raw: Vec<u8>,
    files: Vec<FileDiff>,
    problems: Vec<DiffProblem>,
}

/// One file of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiff {
    /// The path after the change; for a deleted file, the path it had.
    pub path: RepoPath,
    /// The path before the change, for renamed and copied files only.
    pub old_path: Option<RepoPath>,
    /// Kind of change.
    pub change: FileChange,
    /// Kind of content.
    pub content: Content,
    /// The file mode before (`100644`), if the diff contains it.
    pub old_mode: Option<u32>,
    /// The file mode after, if the diff contains it.
    pub new_mode: Option<u32>,
    /// Hunks in diff order.
    pub hunks: Vec<Hunk>,
    /// Number of added lines.
    pub additions: u32,
    /// Number of removed lines.
    pub deletions: u32,
    header: Range<usize>,
    first_line: u32,
    // Number of leading folders of its names in the diff that are not part of its path.
    strip: usize,
    // Its name in the diff if there is no `diff --git` line.
    plain_name: Option<Vec<u8>>,
}

/// Kind of change to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileChange {
    /// New file.
    Added,
    /// Deleted file.
    Deleted,
    /// Same path before and after.
    Modified,
    /// Renamed, with or without edits.
    Renamed,
    /// Copied from another file.
    Copied,
}

/// Kind of content in the diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Lines in hunks (or none, for a pure rename or mode change).
    Text,
    /// Binary content without lines.
    Binary,
    /// A combined diff or the log of a submodule. Its lines are kept but not mapped.
    Unsupported,
}

/// Status of a file in `meta.json` and `crh diff files`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FileStatus {
    /// New file.
    Added,
    /// Deleted file.
    Deleted,
    /// Edited in place.
    Modified,
    /// Renamed, with or without edits.
    Renamed,
    /// Copied from another file.
    Copied,
    /// Binary, with any kind of change.
    Binary,
    /// Only the mode changed.
    Mode,
}

/// One hunk of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// Lines in the old file.
    pub old: LineSpan,
    /// Lines in the new file.
    pub new: LineSpan,
    /// Number of its `@@` line in the diff.
    pub first_line: u32,
    bytes: Range<usize>,
    body: usize,
}

/// Consecutive lines in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineSpan {
    /// First line, 1-based. If `len` is 0, the line before the span; 0 at the start of the file.
    pub start: u32,
    /// Number of lines.
    pub len: u32,
}

/// One line of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiffLine<'a> {
    /// Number in the diff, 1-based.
    pub number: u32,
    /// Kind of line.
    pub kind: LineKind,
    /// Line in the old file; 0 if absent.
    pub old: u32,
    /// Line in the new file; 0 if absent.
    pub new: u32,
    /// The raw diff line, with sign and newline.
    pub raw: &'a [u8],
}

/// Kind of a hunk line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LineKind {
    /// In both files.
    Context,
    /// Only in the old file.
    Removed,
    /// Only in the new file.
    Added,
    /// A git remark (`\ No newline at end of file`), in neither file.
    Remark,
}

/// A part of the diff that could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffProblem {
    /// The line of the diff, 1-based.
    pub line: u32,
    /// Kind of problem.
    pub kind: DiffProblemKind,
}

fn plural(lines: u64) -> String {
    if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") }
}

/// Kind of problem in a diff.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiffProblemKind {
    /// Lines outside any file.
    #[error("ignored {} outside any file or hunk", plural(u64::from(*lines)))]
    Stray {
        /// Number of consecutive lines.
        lines: u32,
    },
    /// A hunk with fewer lines than its header says.
    #[error("the hunk is {} shorter than its header says", plural(*missing))]
    ShortHunk {
        /// Number of missing lines on both sides together.
        missing: u64,
    },
    /// A file header that announces changes without a hunk.
    #[error("the file header announces changes, but no hunk follows")]
    NoHunk,
    /// The diff does not end with a newline.
    #[error("the last line has no newline; the diff may be truncated")]
    CutLine,
    /// An invalid hunk header.
    #[error("the hunk header cannot be read")]
    HunkHeader,
    /// A file header without a path.
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
    /// Parses a diff. Parsing never fails; [`Diff::problems`] lists the parts that could not be
    /// parsed.
    pub fn read(raw: impl Into<Vec<u8>>) -> Self {
        let raw = raw.into();
        let (files, problems) = reader::read(&raw);
        Self { raw, files, problems }
    }

    /// The original bytes.
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// The files in diff order.
    pub fn files(&self) -> &[FileDiff] {
        &self.files
    }

    /// The problems in diff order.
    pub fn problems(&self) -> &[DiffProblem] {
        &self.problems
    }

    /// The number of leading folders that `git apply -p` must leave out of the names: 0 for a diff
    /// without prefixes, and usually 1 else.
    pub fn strip_level(&self) -> usize {
        let text_file = self.files.iter().find(|file| file.content == Content::Text);
        text_file.map_or(1, |file| file.strip)
    }

    /// The paths of the files without a `diff --git` line if `strip` leading folders of their names
    /// are left out.
    pub fn plain_paths(&self, strip: usize) -> impl Iterator<Item = RepoPath> {
        let names = self.files.iter().filter_map(|file| file.plain_name.as_deref());
        names.filter_map(move |name| path::without_folders(name, strip).map(RepoPath::new))
    }

    /// The diff with the paths of [`Diff::plain_paths`]. It has the same lines, except that the
    /// names of these files have git's prefixes.
    #[must_use]
    pub fn with_strip_level(&self, strip: usize) -> Self {
        let mut out = Vec::with_capacity(self.raw.len());
        let mut copied = 0;
        for file in &self.files {
            let name = file.plain_name.as_deref();
            let Some(path) = name.and_then(|name| path::without_folders(name, strip)) else {
                continue;
            };
            out.extend_from_slice(&self.raw[copied..file.header.start]);
            let header = split_lines(&self.raw[file.header.clone()]);
            header
                .take_while(|line| line.starts_with(b"diff "))
                .for_each(|line| out.extend_from_slice(line));
            out.extend_from_slice(&path::side_lines(path, file.change));
            copied = file.header.end;
        }
        out.extend_from_slice(&self.raw[copied..]);
        Self::read(out)
    }

    /// The range of [`Diff::raw`] with the lines of a hunk, without its `@@` line.
    pub fn body(&self, hunk: &Hunk) -> Range<usize> {
        hunk.body..hunk.bytes.end
    }

    /// The lines of a hunk, without its `@@` line.
    pub fn lines<'a>(&'a self, hunk: &Hunk) -> impl Iterator<Item = DiffLine<'a>> + use<'a> {
        let mut old = hunk.old.start;
        let mut new = hunk.new.start;
        let body = &self.raw[self.body(hunk)];
        (hunk.first_line + 1..).zip(split_lines(body)).map(move |(number, raw)| {
            let kind = reader::line_kind(raw).unwrap_or(LineKind::Remark);
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

    /// The line map of a file.
    pub fn line_map(&self, file: &FileDiff) -> LineMap {
        LineMap::new(file.hunks.iter().flat_map(|hunk| self.lines(hunk)))
    }

    /// The index into [`Diff::files`] of the file that contains a diff line.
    pub fn file_at(&self, number: u32) -> Option<usize> {
        self.files.partition_point(|file| file.first_line <= number).checked_sub(1)
    }

    /// File and position of a diff line; `None` outside hunks. Scans the hunk from its start, so
    /// use [`Diff::line_map`] for many lookups.
    pub fn locate(&self, number: u32) -> Option<(&FileDiff, MappedLine)> {
        let file = &self.files[self.file_at(number)?];
        let next_hunk = file.hunks.partition_point(|hunk| hunk.first_line <= number);
        let hunk = &file.hunks[next_hunk.checked_sub(1)?];
        let line = self.lines(hunk).find(|line| line.number == number)?;
        MappedLine::from_diff_line(&line).map(|mapped| (file, mapped))
    }

    /// Every line with its 1-based number.
    pub fn numbered_lines(&self) -> impl Iterator<Item = (u32, &[u8])> {
        (1..).zip(split_lines(&self.raw))
    }

    /// The content of `numbered.diff`, which reviewers read: every line with its number and two
    /// spaces before it.
    pub fn numbered_text(&self) -> Vec<u8> {
        // Reserve ten bytes per line for number and spaces, enough for a million lines.
        let lines = memchr::memchr_iter(b'\n', &self.raw).count() + 1;
        let mut text = Vec::with_capacity(self.raw.len() + lines * 10);
        for (number, line) in self.numbered_lines() {
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

    /// Writes the diff from its parts. The result equals the input.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.raw.len());
        let parts = self.files.iter().flat_map(|file| {
            let header = (file.header.clone(), None);
            let hunks = file.hunks.iter().map(|hunk| (hunk.bytes.start..hunk.body, Some(hunk)));
            std::iter::once(header).chain(hunks)
        });
        for (part, hunk) in parts {
            // Text between the parts is copied.
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
    /// The status of the file.
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

    /// Whether it has no `diff --git` line, so that its path is a guess.
    pub fn is_plain(&self) -> bool {
        self.plain_name.is_some()
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
    /// Whether the line is in the old file.
    pub fn in_old(self) -> bool {
        matches!(self, Self::Context | Self::Removed)
    }

    /// Whether the line is in the new file.
    pub fn in_new(self) -> bool {
        matches!(self, Self::Context | Self::Added)
    }
}

impl<'a> DiffLine<'a> {
    /// The text of the line without sign and newline.
    pub fn text(&self) -> &'a [u8] {
        let line = self.raw.strip_suffix(b"\n").unwrap_or(self.raw);
        // An empty line is a context line that lost its leading space.
        line.get(1..).unwrap_or_default()
    }
}

impl fmt::Display for DiffProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.kind)
    }
}

/// Splits a text into lines, each with its newline. The last may have none.
fn split_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |offset| offset + 1);
        let (line, remaining) = rest.split_at(end);
        rest = remaining;
        Some(line)
    })
}

/// Appends a number in decimal. Avoids the formatter, because a diff of 50 MB has a million
/// numbers.
pub fn write_number(out: &mut Vec<u8>, mut number: u32) {
    let mut digits = [0_u8; 10];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

#[cfg(test)]
mod tests;
