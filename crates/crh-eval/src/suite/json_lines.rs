//! Cases as JSON lines, the format of other tools. Unknown keys are ignored.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::folder::language;
use super::labels::{RawComment, RawExpected, RawKnownBad};
use super::{LoadedCase, ReadFile, labels, validate};
use crate::case::{Case, CaseSource, Files, applied};
use crate::case_error::{CaseError, shown};
use crh_pipeline::failure::Failure;
use crh_review::{StrictJson, json_problem};

/// A case as one line of JSON. Other tools write `null` for missing values.
#[derive(Debug, Deserialize)]
struct RawCase {
    id: String,
    title: String,
    body: Option<String>,
    language: Option<String>,
    licence: Option<String>,
    #[serde(alias = "repository")]
    repo: Option<String>,
    #[serde(alias = "base")]
    base_commit: Option<String>,
    #[serde(alias = "head")]
    head_commit: Option<String>,
    base_files: Option<BTreeMap<String, String>>,
    head_files: Option<BTreeMap<String, String>>,
    diff: Option<String>,
    #[serde(alias = "twin_of")]
    pair_of: Option<String>,
    /// Required: a misspelt key must not turn a case into a clean one.
    expected: Vec<RawExpected>,
    #[serde(default)]
    comments: Vec<RawComment>,
    #[serde(default)]
    known_bad: Vec<RawKnownBad>,
}

/// Reads one case per non-empty line.
pub(super) fn read(file: &Path, read_file: ReadFile<'_>) -> Result<Vec<LoadedCase>, Failure> {
    let bytes = read_file(file)?;
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
    let lines = (1..).zip(bytes.split(|byte| *byte == b'\n'));
    let lines = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
    lines
        .map(|(number, line)| {
            let place = format!("`{}`, line {number}", shown(&name));
            let case = case(line).map_err(|wrong| wrong.at(&place))?;
            let place = format!("{place} (`{}`)", shown(&case.id));
            validate(case, &place)
        })
        .collect()
}

fn case(line: &[u8]) -> Result<Case, CaseError> {
    let StrictJson(value) = serde_json::from_slice(line).map_err(|error| {
        CaseError::new(format!("invalid JSON: {}", json_problem(&error)))
            .hint("write one object per line")
    })?;
    if !value.is_object() {
        return Err(CaseError::new("not a JSON object").hint("write one object per line"));
    }
    let mut raw: RawCase = labels::read(with_comments(value))?;
    let (mut expected, known_bad) =
        labels::labels(std::mem::take(&mut raw.expected), std::mem::take(&mut raw.known_bad))?;
    expected.extend(labels::comments(std::mem::take(&mut raw.comments))?);
    let given_language = raw.language.take().map(|language| language.to_lowercase());
    let (id, title, twin_of) = (raw.id.clone(), raw.title.clone(), raw.pair_of.clone());
    let body = raw.body.as_deref().unwrap_or_default().trim_end().to_owned();
    let licence = raw.licence.clone().unwrap_or_default();
    let source = source(raw)?;
    Ok(Case {
        id,
        title,
        body,
        language: language(given_language, &source)?,
        licence,
        twin_of,
        source,
        expected,
        known_bad,
        is_draft: false,
    })
}

/// Moves expected issues that have a text under the key `comment` to the list `comments`.
fn with_comments(mut value: Value) -> Value {
    let Some(expected) = value.get_mut("expected").and_then(Value::as_array_mut) else {
        return value;
    };
    let (comments, issues): (Vec<Value>, Vec<Value>) =
        std::mem::take(expected).into_iter().partition(|issue| issue["comment"].is_string());
    *expected = issues;
    match value.get_mut("comments").and_then(Value::as_array_mut) {
        Some(known) => known.extend(comments),
        None if comments.is_empty() => {}
        None => value["comments"] = Value::Array(comments),
    }
    value
}

/// The best available source: whole files, then commits, then the diff.
fn source(raw: RawCase) -> Result<CaseSource, CaseError> {
    let files = |files: BTreeMap<String, String>| -> Files {
        files.into_iter().map(|(path, text)| (path, text.into_bytes())).collect()
    };
    let diff = raw.diff.unwrap_or_default().into_bytes();
    match (raw.base_files, raw.head_files, raw.base_commit, raw.head_commit) {
        (Some(base), Some(head), _, _) => {
            Ok(CaseSource::Files { base: files(base), head: files(head) })
        }
        (Some(base), None, _, _) if !diff.is_empty() => {
            let base = files(base);
            let head = applied(&base, &diff)?;
            Ok(CaseSource::Files { base, head })
        }
        (_, _, Some(base), Some(head)) if raw.repo.is_some() => {
            let repo = raw.repo.unwrap_or_default();
            Ok(CaseSource::Commits { repo, clone: None, base, head, diff })
        }
        _ if !diff.is_empty() => Ok(CaseSource::Diff(diff)),
        _ => Err(CaseError::new("the change is missing").hint(
            "give `base_files` with `head_files` or `diff`, or `repo` with `base_commit` and `head_commit`, or `diff` alone",
        )),
    }
}
