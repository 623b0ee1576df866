//! Labels as people and other tools write them, in TOML and JSON.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::case_error::{CaseError, listed, nearest, shown};
use crh_review::eval::{Expected, KnownBad, Span};
use crh_review::finding::{Category, Severity, Side};

/// Synonyms of the four severities, most severe first.
const SEVERITIES: [(Severity, [&str; 3]); 4] = [
    (Severity::P0, ["p0", "critical", "blocker"]),
    (Severity::P1, ["p1", "high", "major"]),
    (Severity::P2, ["p2", "medium", "minor"]),
    (Severity::P3, ["p3", "low", "info"]),
];

/// Prefixes that say whether the defect was reproduced.
const PROVED: [&str; 2] = ["ran", "not run:"];

/// An expected issue as written.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct RawExpected {
    file: String,
    line_start: u32,
    line_end: Option<u32>,
    side: Option<Side>,
    #[serde(default)]
    also: Vec<Span>,
    category: Category,
    #[serde(deserialize_with = "severity")]
    severity: Severity,
    title: Option<String>,
    description: String,
    #[serde(default)]
    keywords: Vec<String>,
    #[serde(default)]
    omission: bool,
    /// Failing input, for people. Only its type is checked.
    #[serde(rename = "note")]
    _note: Option<String>,
    /// How the defect was confirmed.
    proved: Option<String>,
}

/// A comment of a person on a real pull request, as written.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct RawComment {
    #[serde(alias = "comment")]
    text: String,
    #[serde(deserialize_with = "severity")]
    severity: Severity,
    category: Option<Category>,
    file: Option<String>,
    #[serde(alias = "line")]
    line_start: Option<u32>,
    line_end: Option<u32>,
    side: Option<Side>,
}

/// A known false positive as written.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct RawKnownBad {
    file: String,
    line_start: u32,
    line_end: Option<u32>,
    side: Option<Side>,
    description: String,
}

/// Allowed keys of each table.
pub(super) const EXPECTED_KEYS: &[&str] = &[
    "file",
    "line_start",
    "line_end",
    "side",
    "category",
    "severity",
    "description",
    "keywords",
    "omission",
    "also",
    "note",
    "proved",
];
pub(super) const COMMENT_KEYS: &[&str] =
    &["text", "severity", "category", "file", "line_start", "line_end", "side"];
pub(super) const SPAN_KEYS: &[&str] = &["file", "line_start", "line_end", "side"];
pub(super) const KNOWN_BAD_KEYS: &[&str] =
    &["file", "line_start", "line_end", "side", "description"];

impl RawExpected {
    /// Converts the label. A separate title becomes part of the description.
    pub(super) fn expected(self, key: &str) -> Result<Expected, CaseError> {
        if let Some(proved) = &self.proved
            && !PROVED.iter().any(|start| proved.starts_with(start))
        {
            return Err(CaseError::new(format!("`{key}.proved` is `{}`", shown(proved)))
                .hint("start it with `ran` and what you saw, or with `not run:` and the reason"));
        }
        let span = span(key, &self.file, (self.line_start, self.line_end), self.side)?;
        let description = match self.title.filter(|title| !title.trim().is_empty()) {
            Some(title) if self.description.trim().is_empty() => title,
            Some(title) if !self.description.contains(&title) => {
                format!("{}: {}", title.trim_end_matches(['.', ':']), self.description)
            }
            Some(_) | None => self.description,
        };
        Ok(Expected {
            spans: std::iter::once(span).chain(self.also).collect(),
            category: Some(self.category),
            severity: self.severity,
            description,
            keywords: self.keywords,
            omission: self.omission,
            on_twin: Vec::new(),
        })
    }
}

impl RawComment {
    fn expected(self, key: &str) -> Result<Expected, CaseError> {
        let spans = match (&self.file, self.line_start) {
            (Some(file), Some(first)) => {
                vec![span(key, file, (first, self.line_end), self.side)?]
            }
            (None, None) => Vec::new(),
            (Some(_), None) | (None, Some(_)) => {
                return Err(CaseError::new(format!(
                    "`{key}` has only one of `file` and `line_start`"
                ))
                .hint("give both, or none if the comment names no line"));
            }
        };
        Ok(Expected {
            spans,
            category: self.category,
            severity: self.severity,
            description: self.text,
            keywords: Vec::new(),
            omission: false,
            on_twin: Vec::new(),
        })
    }
}

impl RawKnownBad {
    pub(super) fn known_bad(self, key: &str) -> Result<KnownBad, CaseError> {
        let span = span(key, &self.file, (self.line_start, self.line_end), self.side)?;
        Ok(KnownBad { span, description: self.description })
    }
}

fn span(
    key: &str,
    file: &str,
    (first, last): (u32, Option<u32>),
    side: Option<Side>,
) -> Result<Span, CaseError> {
    let last = last.unwrap_or(first);
    Span::new(file, first, last, side.unwrap_or_default()).ok_or_else(|| {
        CaseError::new(format!("`{key}` has invalid lines {first} to {last} of `{}`", shown(file)))
            .hint("lines are counted from 1, and `line_end` must not be before `line_start`")
    })
}

/// Reads both kinds of labels.
pub(super) fn labels(
    expected: Vec<RawExpected>,
    known_bad: Vec<RawKnownBad>,
) -> Result<(Vec<Expected>, Vec<KnownBad>), CaseError> {
    let expected = expected.into_iter().enumerate();
    let expected = expected.map(|(at, raw)| raw.expected(&format!("expected[{at}]")));
    let known_bad = known_bad.into_iter().enumerate();
    let known_bad = known_bad.map(|(at, raw)| raw.known_bad(&format!("known_bad[{at}]")));
    Ok((expected.collect::<Result<_, _>>()?, known_bad.collect::<Result<_, _>>()?))
}

/// Reads comments of people as expected issues.
pub(super) fn comments(comments: Vec<RawComment>) -> Result<Vec<Expected>, CaseError> {
    let comments = comments.into_iter().enumerate();
    comments.map(|(at, raw)| raw.expected(&format!("comment[{at}]"))).collect()
}

/// Parses a severity by any of its synonyms, ignoring case.
fn severity_of(word: &str) -> Option<Severity> {
    let word = word.to_lowercase();
    SEVERITIES
        .iter()
        .find(|(_, words)| words.contains(&word.as_str()))
        .map(|(severity, _)| *severity)
}

/// Deserialises a severity that may be missing or `null`.
pub(crate) fn optional_severity<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Severity>, D::Error> {
    let word = Option::<String>::deserialize(deserializer)?;
    word.map(|word| read_severity(&word)).transpose()
}

fn severity<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Severity, D::Error> {
    read_severity(&String::deserialize(deserializer)?)
}

fn read_severity<E: serde::de::Error>(word: &str) -> Result<Severity, E> {
    severity_of(word).ok_or_else(|| {
        let known = listed(["P0", "P1", "P2", "P3"]);
        E::custom(format!("unknown severity `{}`, expected one of {known}", shown(word)))
    })
}

/// Deserialises a value. Errors name the key.
pub(crate) fn read<T: DeserializeOwned>(value: Value) -> Result<T, CaseError> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        // Not shortened, because it lists the known words.
        let message = crh_review::one_line(&error.into_inner().to_string());
        if path == "." {
            CaseError::new(message)
        } else {
            CaseError::new(format!("`{path}`: {message}"))
        }
    })
}

/// Rejects unknown keys: a misspelt key would be ignored silently.
pub(super) fn check_keys(table: &Value, keys: &[&str], at: &str) -> Result<(), CaseError> {
    let Value::Object(table) = table else { return Ok(()) };
    let Some(unknown) = table.keys().find(|key| !keys.contains(&key.as_str())) else {
        return Ok(());
    };
    let near = nearest(unknown, keys.iter().copied()).unwrap_or_default();
    Err(CaseError::new(format!("unknown key `{at}{}`", shown(unknown))).hint(format!(
        "did you mean `{near}`? The known keys are {}",
        listed(keys.iter().copied())
    )))
}
