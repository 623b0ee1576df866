//! A case as a folder: `case.toml`, the files before the change in `base`, and those that it adds or modifies in `head`.

use std::path::Path;
use std::{fs, io};

use anyhow::Context;
use serde::Deserialize;
use serde_json::Value;

use super::labels::{RawExpected, RawKnownBad};
use super::{Found, checked, labels};
use crate::eval::case::{Case, Files, Source, applied};
use crate::eval::checked::{CASE_MAX, FILE_MAX, too_large, too_much};
use crate::eval::tree;
use crate::eval::tree::{Entry, bounded};
use crate::eval::wrong::{Wrong, shown};
use crate::failure::{Failure, Kind, OrFail};

/// What says everything about a case but its files.
pub(crate) const CASE_FILE: &str = "case.toml";
/// The files before the change.
pub(crate) const BASE: &str = "base";
/// The files that the change adds or modifies, as they are after it.
pub(crate) const HEAD: &str = "head";
/// The change as a diff, for a case without `head`.
pub(crate) const DIFF: &str = "change.diff";

/// Hundreds of times what a person writes about a case.
const CASE_FILE_MAX: usize = 1 << 20;

const CASE_KEYS: &[&str] = &[
    "title",
    "body",
    "language",
    "licence",
    "removed",
    "draft",
    "twin_of",
    "expected",
    "known_bad",
    "twin",
];
const TWIN_KEYS: &[&str] = &["title", "body"];

/// A case as its file says it.
#[derive(Debug, Deserialize)]
struct RawCase {
    title: String,
    #[serde(default)]
    body: String,
    language: String,
    #[serde(default)]
    licence: String,
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

/// What the reverse of a change is called.
#[derive(Debug, Deserialize)]
struct RawTwin {
    title: String,
    #[serde(default)]
    body: String,
}

/// Reads the case in a folder, and its twin.
pub(super) fn read(folder: &Path) -> Result<Vec<Found>, Failure> {
    let id = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    // `.` has no name of its own.
    let whole = || {
        fs::canonicalize(folder).ok()?.file_name().map(|name| name.to_string_lossy().into_owned())
    };
    let id = id.or_else(whole).unwrap_or_default();
    let place = format!("`{}/{CASE_FILE}`", shown(&id));
    let raw = raw_case(folder, &place)?;
    let source = source(folder, &shown(&id), &raw.removed)?;
    let wrong = |wrong: Wrong| wrong.at(&place);
    let (expected, known_bad) = labels::labels(raw.expected, raw.known_bad).map_err(wrong)?;
    let case = Case {
        id,
        title: raw.title,
        body: raw.body.trim_end().to_owned(),
        language: raw.language,
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
    let mut found = vec![checked(case, &place)?];
    if let Some(twin) = twin {
        found.push(checked(twin, &place_of_twin)?);
    }
    Ok(found)
}

fn raw_case(folder: &Path, place: &str) -> Result<RawCase, Failure> {
    let path = folder.join(CASE_FILE);
    let hint = "every folder of a suite is a case; names that begin with a dot are passed over";
    let bytes = bounded(&path, CASE_FILE_MAX)
        .with_context(|| format!("reading {place}"))
        .or_fail(Kind::Usage)
        .map_err(|failure| failure.hint(hint))?;
    let read = || {
        let text = String::from_utf8(bytes).map_err(|_| Wrong::new("this is not UTF-8"))?;
        let value: Value = toml::from_str(&text).map_err(|error| {
            let at = error.span().unwrap_or_default().start;
            let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
            Wrong::new(format!("line {line}: this is not TOML: {}", shown(error.message())))
        })?;
        only_known(&value)?;
        labels::read(value)
    };
    read().map_err(|wrong| wrong.at(place))
}

/// Refuses what no case has.
fn only_known(value: &Value) -> Result<(), Wrong> {
    labels::only(value, CASE_KEYS, "")?;
    labels::only(&value["twin"], TWIN_KEYS, "twin.")?;
    for (name, keys) in [("expected", labels::EXPECTED_KEYS), ("known_bad", labels::KNOWN_BAD_KEYS)]
    {
        for (at, label) in listed(&value[name]) {
            labels::only(label, keys, &format!("{name}[{at}]."))?;
            for (number, span) in listed(&label["also"]) {
                labels::only(span, labels::SPAN_KEYS, &format!("{name}[{at}].also[{number}]."))?;
            }
        }
    }
    Ok(())
}

fn listed(value: &Value) -> impl Iterator<Item = (usize, &Value)> {
    value.as_array().into_iter().flatten().enumerate()
}

/// The change of a case, from the files beside what is said about it.
fn source(folder: &Path, id: &str, removed: &[String]) -> Result<Source, Failure> {
    let base = files(folder, id, BASE)?;
    let overlay = files(folder, id, HEAD)?;
    let diff = match bounded(&folder.join(DIFF), CASE_MAX) {
        Ok(diff) => Some(diff),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            return Err(error)
                .with_context(|| format!("reading `{id}/{DIFF}`"))
                .or_fail(Kind::Usage);
        }
    };
    let Some(diff) = diff else {
        return after(base, overlay, removed)
            .map_err(|wrong| wrong.at(format!("`{id}/{CASE_FILE}`")));
    };
    let wrong = |wrong: Wrong| wrong.at(format!("`{id}/{DIFF}`"));
    if !overlay.is_empty() || !removed.is_empty() {
        let message = format!("the change is given twice, by this and by `{HEAD}` or `removed`");
        return Err(wrong(Wrong::new(message).hint("take one of them out")));
    }
    if base.is_empty() {
        return Ok(Source::Diff(diff));
    }
    let head = applied(&base, &diff).map_err(wrong)?;
    Ok(Source::Files { base, head })
}

/// Lays the files that a change adds or modifies over those before it.
fn after(base: Files, overlay: Files, removed: &[String]) -> Result<Source, Wrong> {
    let mut head = base.clone();
    for path in removed {
        if head.remove(path).is_none() {
            let message = format!("`removed` names `{}`, which is not in `{BASE}`", shown(path));
            return Err(Wrong::new(message).hint("write it from the root of the repository"));
        }
        if overlay.contains_key(path) {
            let message = format!("`{}` is in `{HEAD}` and in `removed`", shown(path));
            return Err(Wrong::new(message).hint("take it out of one of them"));
        }
    }
    for (path, bytes) in overlay {
        if base.get(&path) == Some(&bytes) {
            let message = format!("`{HEAD}/{}` is the same as in `{BASE}`", shown(&path));
            return Err(Wrong::new(message)
                .hint(format!("`{HEAD}` holds only what the change adds or modifies")));
        }
        head.insert(path, bytes);
    }
    Ok(Source::Files { base, head })
}

/// The files below a folder of a case; none if the folder is not there.
fn files(folder: &Path, id: &str, side: &str) -> Result<Files, Failure> {
    let root = folder.join(side);
    if fs::symlink_metadata(&root).is_err() {
        return Ok(Files::new());
    }
    let wrong = |wrong: Wrong| wrong.at(format!("`{id}/{side}`"));
    // Git's own files are refused by their paths.
    let entries = tree::entries(&root, "").map_err(wrong)?;
    let (mut files, mut total) = (Files::new(), 0);
    for Entry { path, file, is_file } in entries {
        if !is_file {
            let message = format!("`{}` is a symbolic link, a device or a pipe", shown(&path));
            let hint = "a case has files only: put the file itself there";
            return Err(wrong(Wrong::new(message).hint(hint)));
        }
        let bytes = bounded(&file, FILE_MAX).map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => wrong(too_large(&path)),
            _ => wrong(Wrong::new(format!("reading `{}`: {error}", shown(&path)))),
        })?;
        total += bytes.len();
        if total > CASE_MAX {
            return Err(wrong(too_much()));
        }
        files.insert(path, bytes);
    }
    Ok(files)
}
