//! Cases as JSON lines, the format of other tools. Unknown keys are ignored.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::labels::{RawExpected, RawKnownBad};
use super::{Found, checked, labels};
use crate::eval::case::{Case, Files, Source, applied};
use crate::eval::wrong::{Wrong, shown};
use crate::failure::Failure;
use crate::input;
use crh_review::StrictJson;

/// A case as one line of JSON. Other tools write `null` for missing values.
#[derive(Debug, Deserialize)]
struct RawCase {
    id: String,
    title: String,
    body: Option<String>,
    language: String,
    licence: Option<String>,
    repo: Option<String>,
    base_commit: Option<String>,
    head_commit: Option<String>,
    base_files: Option<BTreeMap<String, String>>,
    head_files: Option<BTreeMap<String, String>>,
    diff: Option<String>,
    #[serde(alias = "twin_of")]
    pair_of: Option<String>,
    /// Required: a misspelt key must not turn a case into a clean one.
    expected: Vec<RawExpected>,
    #[serde(default)]
    known_bad: Vec<RawKnownBad>,
}

/// Reads one case per non-empty line.
pub(super) fn read(file: &Path) -> Result<Vec<Found>, Failure> {
    let bytes = input::bytes(file)?;
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
    let lines = (1..).zip(bytes.split(|byte| *byte == b'\n'));
    let lines = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
    lines
        .map(|(number, line)| {
            let place = format!("`{}`, line {number}", shown(&name));
            let case = case(line).map_err(|wrong| wrong.at(&place))?;
            let place = format!("{place} (`{}`)", shown(&case.id));
            checked(case, &place)
        })
        .collect()
}

fn case(line: &[u8]) -> Result<Case, Wrong> {
    let StrictJson(value) = serde_json::from_slice(line).map_err(|error| {
        Wrong::new(format!("invalid JSON: {error}")).hint("write one object per line")
    })?;
    if !value.is_object() {
        return Err(Wrong::new("not a JSON object").hint("write one object per line"));
    }
    let mut raw: RawCase = labels::read(value)?;
    let (expected, known_bad) =
        labels::labels(std::mem::take(&mut raw.expected), std::mem::take(&mut raw.known_bad))?;
    Ok(Case {
        id: raw.id.clone(),
        title: raw.title.clone(),
        body: raw.body.as_deref().unwrap_or_default().trim_end().to_owned(),
        language: raw.language.to_lowercase(),
        licence: raw.licence.clone().unwrap_or_default(),
        twin_of: raw.pair_of.clone(),
        source: source(raw)?,
        expected,
        known_bad,
        is_draft: false,
    })
}

/// The best available source: whole files, then commits, then the diff.
fn source(raw: RawCase) -> Result<Source, Wrong> {
    let files = |files: BTreeMap<String, String>| -> Files {
        files.into_iter().map(|(path, text)| (path, text.into_bytes())).collect()
    };
    let diff = raw.diff.unwrap_or_default().into_bytes();
    match (raw.base_files, raw.head_files, raw.base_commit, raw.head_commit) {
        (Some(base), Some(head), _, _) => {
            Ok(Source::Files { base: files(base), head: files(head) })
        }
        (Some(base), None, _, _) if !diff.is_empty() => {
            let base = files(base);
            let head = applied(&base, &diff)?;
            Ok(Source::Files { base, head })
        }
        (_, _, Some(base), Some(head)) if raw.repo.is_some() => {
            Ok(Source::Commits { repo: raw.repo.unwrap_or_default(), base, head, diff })
        }
        _ if !diff.is_empty() => Ok(Source::Diff(diff)),
        _ => Err(Wrong::new("the change is missing").hint(
            "give `base_files` with `head_files` or `diff`, or `repo` with `base_commit` and `head_commit`, or `diff` alone",
        )),
    }
}
