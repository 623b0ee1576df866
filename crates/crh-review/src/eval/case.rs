//! Labels of a change: its real issues, and findings that would be wrong.

use serde::{Deserialize, Serialize};

use crate::finding::{Category, Severity, Side};

/// Maximum labels per kind and case, and places per label. Matching takes cubic time in the number
/// of labels.
pub const LABELS_MAX: usize = 100;

/// Labels of one change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Labels {
    /// Id of the case in its suite.
    pub id: String,
    /// The language of the change, in lower case, such as `python`.
    pub language: String,
    /// Number of added and removed lines.
    pub lines: u32,
    /// Id of the case that this change reverses. The reversed change is the twin of that case. A
    /// twin has no expected issues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub twin_of: Option<String>,
    /// Issues of the change; empty if the change is clean.
    pub expected: Vec<Expected>,
    /// Findings known to be wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known_bad: Vec<KnownBad>,
}

/// A real issue of a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expected {
    /// Places where the issue shows, the best first. A report at any of these places counts. Empty
    /// if the label comes from a review comment that names no line; then only its words can match.
    pub spans: Vec<Span>,
    /// Category; absent if unknown, which matches every category.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
    /// Severity.
    pub severity: Severity,
    /// Description.
    pub description: String,
    /// Words that a report of this issue is likely to contain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// Whether the issue is something missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub omission: bool,
    /// Places of the same code in the twin; empty without a twin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on_twin: Vec<Span>,
}

/// A finding known to be wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownBad {
    /// Place of the finding.
    #[serde(flatten)]
    pub span: Span,
    /// What the finding would say, and why that is wrong.
    pub description: String,
}

/// Lines of a file, on one side of the change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "RawSpan")]
pub struct Span {
    file: String,
    line_start: u32,
    line_end: u32,
    side: Side,
}

/// A span before validation.
#[derive(Deserialize)]
struct RawSpan {
    file: String,
    line_start: u32,
    line_end: Option<u32>,
    #[serde(default)]
    side: Side,
}

impl Span {
    /// Lines `line_start` to `line_end` of a file; `None` if the range is invalid.
    pub fn new(file: &str, line_start: u32, line_end: u32, side: Side) -> Option<Self> {
        let is_valid = !file.is_empty() && line_start >= 1 && line_end >= line_start;
        is_valid.then(|| Self { file: file.to_owned(), line_start, line_end, side })
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

impl TryFrom<RawSpan> for Span {
    type Error = String;

    fn try_from(raw_span: RawSpan) -> Result<Self, String> {
        let RawSpan { file, line_start, line_end, side } = raw_span;
        let line_end = line_end.unwrap_or(line_start);
        Self::new(&file, line_start, line_end, side)
            .ok_or_else(|| format!("`{file}` has no lines {line_start} to {line_end}"))
    }
}
