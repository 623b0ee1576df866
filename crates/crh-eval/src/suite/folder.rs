//! A case as a folder: `case.toml`, the files before the change in `base`, and the added or
//! modified files in `head`. A real pull request has a clone in `repo` instead, or names its
//! repository, and `case.toml` names the two commits.

use std::path::Path;
use std::{fs, io};

use anyhow::Context;
use serde::Deserialize;
use serde_json::Value;

use super::labels::{RawComment, RawExpected, RawKnownBad};
use super::{LoadedCase, labels, validate};
use crate::case::{Case, CaseSource, Files, applied};
use crate::case_error::{CaseError, shown};
use crate::checked::{CASE_MAX, FILE_MAX, too_large, too_much};
use crate::tree;
use crate::tree::{Entry, bounded};
use crh_os::names::canonical;
use crh_pipeline::failure::{Failure, FailureKind, OrFail};

/// File with the metadata and the labels of a case.
pub(crate) const CASE_FILE: &str = "case.toml";
/// Folder with the files before the change.
pub(crate) const BASE: &str = "base";
/// Folder with the added or modified files.
pub(crate) const HEAD: &str = "head";
/// The change as a diff, for a case without `head`.
pub(crate) const DIFF: &str = "change.diff";

/// The clone of a pull request's repository.
pub(crate) const CLONE: &str = "repo";

/// Maximum size of `case.toml`, in bytes: hundreds of times a hand-written one.
const CASE_FILE_MAX: usize = 1 << 20;

const CASE_KEYS: &[&str] = &[
    "title",
    "body",
    "language",
    "licence",
    "removed",
    "draft",
    "twin_of",
    "repo",
    "base_commit",
    "head_commit",
    "comment",
    "expected",
    "known_bad",
    "twin",
];
/// Language of a pull request that does not name one.
const MIXED: &str = "mixed";
const TWIN_KEYS: &[&str] = &["title", "body"];

/// Contents of `case.toml`.
#[derive(Debug, Deserialize)]
struct RawCase {
    title: String,
    #[serde(default)]
    body: String,
    language: Option<String>,
    #[serde(default)]
    licence: String,
    repo: Option<String>,
    base_commit: Option<String>,
    head_commit: Option<String>,
    #[serde(default)]
    comment: Vec<RawComment>,
    #[serde(default)]
    removed: Vec<String>,
    #[serde(default)]
    draft: bool,
    twin_of: Option<String>,
    #[serde(default)]
    expected: Vec<RawExpected>,
    #[serde(default)]
    known_bad: Vec<RawKnownBad>,
    twin: Option<RawTwin>,
}

/// Title and body of the twin.
#[derive(Debug, Deserialize)]
struct RawTwin {
    title: String,
    #[serde(default)]
    body: String,
}

/// Reads a case and its twin from a folder.
pub(super) fn read(folder: &Path) -> Result<Vec<LoadedCase>, Failure> {
    let id = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    // `.` has no file name, so resolve it first.
    let whole =
        || canonical(folder).ok()?.file_name().map(|name| name.to_string_lossy().into_owned());
    let id = id.or_else(whole).unwrap_or_default();
    let place = format!("`{}/{CASE_FILE}`", shown(&id));
    let raw = raw_case(folder, &place)?;
    let wrong = |wrong: CaseError| wrong.at(&place);
    let source = match pull_request(folder, &id, &raw).map_err(wrong)? {
        Some(source) => source,
        None => source(folder, &shown(&id), &raw.removed)?,
    };
    let (mut expected, known_bad) = labels::labels(raw.expected, raw.known_bad).map_err(wrong)?;
    expected.extend(labels::comments(raw.comment).map_err(wrong)?);
    let case = Case {
        id,
        title: raw.title,
        body: raw.body.trim_end().to_owned(),
        language: language(raw.language, &source).map_err(wrong)?,
        licence: raw.licence,
        twin_of: raw.twin_of,
        source,
        expected,
        known_bad,
        is_draft: raw.draft,
    };
    let twin = raw.twin.map(|twin| case.twin(twin.title, twin.body.trim_end().to_owned()));
    let twin = twin.transpose().map_err(wrong)?;
    let place_of_twin = format!("{place}, `[twin]`");
    let mut found = vec![validate(case, &place)?];
    if let Some(twin) = twin {
        found.push(validate(twin, &place_of_twin)?);
    }
    Ok(found)
}

fn raw_case(folder: &Path, place: &str) -> Result<RawCase, Failure> {
    let path = folder.join(CASE_FILE);
    let hint = "every folder of a suite is a case; hidden folders are ignored";
    let bytes = bounded(&path, CASE_FILE_MAX)
        .with_context(|| format!("cannot read {place}"))
        .or_fail(FailureKind::Usage)
        .map_err(|failure| failure.hint(hint))?;
    let read = || {
        let text = String::from_utf8(bytes).map_err(|_| CaseError::new("not UTF-8"))?;
        let value: Value = toml::from_str(&text).map_err(|error| {
            let at = error.span().unwrap_or_default().start;
            let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
            CaseError::new(format!("line {line}: invalid TOML: {}", shown(error.message())))
        })?;
        check_all_keys(&value)?;
        labels::read(value)
    };
    read().map_err(|wrong| wrong.at(place))
}

/// Rejects unknown keys.
fn check_all_keys(value: &Value) -> Result<(), CaseError> {
    labels::check_keys(value, CASE_KEYS, "")?;
    labels::check_keys(&value["twin"], TWIN_KEYS, "twin.")?;
    for (name, keys) in [
        ("comment", labels::COMMENT_KEYS),
        ("expected", labels::EXPECTED_KEYS),
        ("known_bad", labels::KNOWN_BAD_KEYS),
    ] {
        for (at, label) in indexed(&value[name]) {
            labels::check_keys(label, keys, &format!("{name}[{at}]."))?;
            for (number, span) in indexed(&label["also"]) {
                labels::check_keys(
                    span,
                    labels::SPAN_KEYS,
                    &format!("{name}[{at}].also[{number}]."),
                )?;
            }
        }
    }
    Ok(())
}

fn indexed(value: &Value) -> impl Iterator<Item = (usize, &Value)> {
    value.as_array().into_iter().flatten().enumerate()
}

/// The commits of a real pull request; `None` if the case names none.
fn pull_request(folder: &Path, id: &str, raw: &RawCase) -> Result<Option<CaseSource>, CaseError> {
    let (base, head) = match (&raw.base_commit, &raw.head_commit) {
        (Some(base), Some(head)) => (base.clone(), head.clone()),
        (None, None) if raw.repo.is_none() => return Ok(None),
        _ => {
            return Err(CaseError::new("a pull request needs `base_commit` and `head_commit`")
                .hint("give all 40 characters of each hash"));
        }
    };
    let has_files = [BASE, HEAD, DIFF].iter().any(|name| folder.join(name).exists());
    if has_files || !raw.removed.is_empty() {
        let message = "the change is given twice, by commits and by files";
        return Err(CaseError::new(message).hint("remove one of them"));
    }
    let repo = raw.repo.clone().unwrap_or_else(|| id.to_owned());
    let clone = Some(folder.join(CLONE)).filter(|clone| clone.is_dir());
    Ok(Some(CaseSource::Commits { repo, clone, base, head, diff: Vec::new() }))
}

/// The language of a case. Only a real pull request may leave it out.
pub(super) fn language(given: Option<String>, source: &CaseSource) -> Result<String, CaseError> {
    match (given, source) {
        (Some(language), _) => Ok(language),
        (None, CaseSource::Commits { .. }) => Ok(MIXED.to_owned()),
        (None, CaseSource::Files { .. } | CaseSource::Diff(_)) => {
            Err(CaseError::new("missing field `language`"))
        }
    }
}

/// Reads the change from the files beside `case.toml`.
fn source(folder: &Path, id: &str, removed: &[String]) -> Result<CaseSource, Failure> {
    let base = files(folder, id, BASE)?;
    let overlay = files(folder, id, HEAD)?;
    let diff = match bounded(&folder.join(DIFF), CASE_MAX) {
        Ok(diff) => Some(diff),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            return Err(error)
                .with_context(|| format!("cannot read `{id}/{DIFF}`"))
                .or_fail(FailureKind::Usage);
        }
    };
    let Some(diff) = diff else {
        return apply_overlay(base, overlay, removed)
            .map_err(|wrong| wrong.at(format!("`{id}/{CASE_FILE}`")));
    };
    let wrong = |wrong: CaseError| wrong.at(format!("`{id}/{DIFF}`"));
    if !overlay.is_empty() || !removed.is_empty() {
        let message =
            format!("the change is given twice, by this file and by `{HEAD}` or `removed`");
        return Err(wrong(CaseError::new(message).hint("remove one of them")));
    }
    if base.is_empty() {
        return Ok(CaseSource::Diff(diff));
    }
    let head = applied(&base, &diff).map_err(wrong)?;
    Ok(CaseSource::Files { base, head })
}

/// Applies added, modified and removed files to the base.
fn apply_overlay(base: Files, overlay: Files, removed: &[String]) -> Result<CaseSource, CaseError> {
    let mut head = base.clone();
    for path in removed {
        if head.remove(path).is_none() {
            let message = format!("`removed` names `{}`, which is not in `{BASE}`", shown(path));
            return Err(CaseError::new(message).hint("write it relative to the repository root"));
        }
        if overlay.contains_key(path) {
            let message = format!("`{}` is both in `{HEAD}` and in `removed`", shown(path));
            return Err(CaseError::new(message).hint("remove it from one of them"));
        }
    }
    for (path, bytes) in overlay {
        if base.get(&path) == Some(&bytes) {
            let message = format!("`{HEAD}/{}` equals the file in `{BASE}`", shown(&path));
            return Err(CaseError::new(message)
                .hint(format!("`{HEAD}` holds only files that the change adds or modifies")));
        }
        head.insert(path, bytes);
    }
    Ok(CaseSource::Files { base, head })
}

/// Files below a folder of a case; empty if the folder does not exist.
fn files(folder: &Path, id: &str, side: &str) -> Result<Files, Failure> {
    let root = folder.join(side);
    if fs::symlink_metadata(&root).is_err() {
        return Ok(Files::new());
    }
    let wrong = |wrong: CaseError| wrong.at(format!("`{id}/{side}`"));
    // Path validation rejects git's own files.
    let entries = tree::entries(&root, "").map_err(wrong)?;
    let (mut files, mut total) = (Files::new(), 0);
    for Entry { path, file, is_file } in entries {
        if !is_file {
            let message = format!("`{}` is a symbolic link, a device or a pipe", shown(&path));
            let hint = "a case holds regular files only";
            return Err(wrong(CaseError::new(message).hint(hint)));
        }
        let bytes = bounded(&file, FILE_MAX).map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => wrong(too_large(&path)),
            _ => wrong(CaseError::new(format!("cannot read `{}`: {error}", shown(&path)))),
        })?;
        total += bytes.len();
        if total > CASE_MAX {
            return Err(wrong(too_much()));
        }
        files.insert(path, bytes);
    }
    Ok(files)
}
