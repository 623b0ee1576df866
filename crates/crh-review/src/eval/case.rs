//! What is known about a change: the issues it really has, and findings that would be wrong.

use serde::{Deserialize, Serialize};

use crate::finding::{Category, Severity, Side};

/// The most labels of one kind in one case, and places of one label. Nobody plants more, and assigning reports to them takes
/// time in the third power.
pub const LABELS_MAX: usize = 100;

/// What is known about one change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Labels {
    /// Names the case in its suite.
    pub id: String,
    /// The language of the change, in lower case, such as `python`.
    pub language: String,
    /// How many lines the change adds and removes.
    pub lines: u32,
    /// The case of which this is the same change the other way round. Nothing is expected of a twin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub twin_of: Option<String>,
    /// What is wrong with the change. Nothing: it is clean.
    pub expected: Vec<Expected>,
    /// Findings that are known to be wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known_bad: Vec<KnownBad>,
}

/// An issue that a change really has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expected {
    /// Where it shows: one place at least, the best first. A report at any of them is a report of this one issue.
    pub spans: Vec<Span>,
    /// What kind of trouble it is.
    pub category: Category,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in words.
    pub description: String,
    /// Words that a report of it is likely to have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// Whether it is something that is missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub omission: bool,
    /// Where a report on the twin would be about the same code. Empty without a twin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on_twin: Vec<Span>,
}

/// A finding that is known to be wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownBad {
    /// Where it would be.
    #[serde(flatten)]
    pub span: Span,
    /// What it would say, and why that is wrong.
    pub description: String,
}

/// Lines of a file, on one side of the change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Lines")]
pub struct Span {
    file: String,
    line_start: u32,
    line_end: u32,
    side: Side,
}

/// A span as it is read.
#[derive(Deserialize)]
struct Lines {
    file: String,
    line_start: u32,
    line_end: Option<u32>,
    #[serde(default)]
    side: Side,
}

impl Span {
    /// Lines `line_start` to `line_end` of a file; none if no file has such lines.
    pub fn new(file: &str, line_start: u32, line_end: u32, side: Side) -> Option<Self> {
        let is_there = !file.is_empty() && line_start >= 1 && line_end >= line_start;
        is_there.then(|| Self { file: file.to_owned(), line_start, line_end, side })
    }

    /// The path from the root of the repository.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The first line, counted from 1.
    pub fn line_start(&self) -> u32 {
        self.line_start
    }

    /// The last line.
    pub fn line_end(&self) -> u32 {
        self.line_end
    }

    /// The side of the change that the lines are on.
    pub fn side(&self) -> Side {
        self.side
    }
}

impl TryFrom<Lines> for Span {
    type Error = String;

    fn try_from(lines: Lines) -> Result<Self, String> {
        let Lines { file, line_start, line_end, side } = lines;
        let line_end = line_end.unwrap_or(line_start);
        Self::new(&file, line_start, line_end, side)
            .ok_or_else(|| format!("`{file}` has no lines {line_start} to {line_end}"))
    }
}
