//! Reading a suite: a folder with a folder for each case, or files of JSON lines.

pub(crate) mod folder;
mod json_lines;
pub(crate) mod labels;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use self::folder::CASE_FILE;
use super::case::{Case, Seen};
use super::checked;
use super::wrong::{Wrong, is_slip, nearest, shown};
use crate::failure::{Failure, Kind, OrFail};
use crh_review::eval::Expected;

/// The most cases of a suite, twins included: ten times the largest public one.
const CASES_MAX: usize = 20_000;
/// The most bytes of changes: every case is in memory, and once more on its way to git.
const SUITE_MAX: usize = 1 << 30;
const JSON_LINES: &str = "jsonl";

/// Cases that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Suite {
    /// What it is called: the name of its folder or file.
    pub(crate) name: String,
    /// The cases with their twins, sorted by id.
    pub(crate) cases: Vec<Case>,
}

/// A case, and where it is written.
#[derive(Debug)]
struct Found {
    case: Case,
    place: String,
}

impl Suite {
    /// Reads a suite: a folder of cases, a case alone, or JSON lines. The first thing that is wrong with it is the error.
    pub(crate) fn read(place: &Path) -> Result<Self, Failure> {
        let metadata = fs::metadata(place)
            .with_context(|| format!("reading the suite `{}`", place.display()))
            .or_fail(Kind::Usage)
            .map_err(|failure| {
                failure.hint("a suite is a folder of cases, or a file of JSON lines")
            })?;
        let mut found = Vec::new();
        if metadata.is_file() {
            found.extend(json_lines::read(place)?);
        } else if place.join(CASE_FILE).exists() {
            found.extend(folder::read(place)?);
        } else {
            let mut bytes = 0;
            for entry in entries(place)? {
                let more = read_entry(&entry)?;
                bytes += bytes_of(&more);
                found.extend(more);
                if is_too_large(found.len(), bytes) {
                    break;
                }
            }
        }
        let cases = together(found, place)?;
        Ok(Self { name: name(place), cases })
    }

    /// Names its contents, with everything that is known about the cases.
    pub(crate) fn hash(&self) -> String {
        let mut seen = Seen::default();
        for case in &self.cases {
            let Case { id, language, licence, twin_of, expected, known_bad, .. } = case;
            seen.add(id);
            seen.add(case.content_hash());
            [language, licence].into_iter().for_each(|word| seen.add(word));
            seen.add(twin_of.as_deref().unwrap_or_default());
            seen.add(format!("{} expected, {} known bad", expected.len(), known_bad.len()));
            for issue in expected {
                let Expected { category, severity, description, omission, .. } = issue;
                seen.add(format!("{category} {severity} {omission}"));
                seen.add(description);
                seen.add(format!("{} words, {} places", issue.keywords.len(), issue.spans.len()));
                issue.keywords.iter().for_each(|word| seen.add(word));
                issue.spans.iter().for_each(|span| seen.add_span(span));
            }
            for bad in known_bad {
                seen.add(&bad.description);
                seen.add_span(&bad.span);
            }
        }
        seen.hash()
    }
}

/// The cases of a file of JSON lines as they stand there, also if the case that one is a twin of is elsewhere.
pub(crate) fn lines(file: &Path) -> Result<Vec<Case>, Failure> {
    let found = json_lines::read(file)?;
    unique(&found)?;
    Ok(found.into_iter().map(|found| found.case).collect())
}

/// What lies in a folder and could be a part of a suite, sorted. Names that begin with a dot are not looked at.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let list = || {
        let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
        entries.collect::<std::io::Result<Vec<PathBuf>>>()
    };
    let mut entries = list()
        .with_context(|| format!("reading the suite `{}`", folder.display()))
        .or_fail(Kind::Usage)?;
    let is_hidden = |path: &PathBuf| {
        path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."))
    };
    entries.retain(|path| !is_hidden(path));
    entries.sort_unstable();
    Ok(entries)
}

/// The cases of a folder or file of a suite. Other files, such as a readme, are none.
fn read_entry(entry: &Path) -> Result<Vec<Found>, Failure> {
    if entry.is_dir() {
        return folder::read(entry);
    }
    if entry.extension() == Some(OsStr::new(JSON_LINES)) {
        return json_lines::read(entry);
    }
    Ok(Vec::new())
}

fn bytes_of(found: &[Found]) -> usize {
    found.iter().map(|found| found.case.source.bytes()).sum()
}

fn is_too_large(cases: usize, bytes: usize) -> bool {
    cases > CASES_MAX || bytes > SUITE_MAX
}

/// Cases as a suite: none twice, every twin with the case that it belongs to.
fn together(mut found: Vec<Found>, place: &Path) -> Result<Vec<Case>, Failure> {
    let place = format!("`{}`", shown(&place.display().to_string()));
    if found.is_empty() {
        return Err(Wrong::new("there is no case in it")
            .hint("a case is a folder with a `case.toml`, or a line of a `.jsonl` file")
            .at(place));
    }
    if is_too_large(found.len(), bytes_of(&found)) {
        let message =
            format!("there are more than {CASES_MAX} cases or {} MiB in it", SUITE_MAX >> 20);
        let hint = "split it, and run its parts one after the other";
        return Err(Wrong::new(message).hint(hint).at(place));
    }
    found.sort_by(|a, b| a.case.id.cmp(&b.case.id));
    unique(&found)?;
    twins(&found)?;
    Ok(found.into_iter().map(|found| found.case).collect())
}

/// Checks that no id is given twice. Ids are names of folders, and some file systems take `A` for `a`.
fn unique(found: &[Found]) -> Result<(), Failure> {
    let mut by_id: BTreeMap<String, &Found> = BTreeMap::new();
    for found in found {
        if let Some(other) = by_id.insert(found.case.id.to_lowercase(), found) {
            let message = format!("the id `{}` is given twice", found.case.id);
            return Err(Wrong::new(message)
                .hint(format!("the other one is in {}", other.place))
                .at(&found.place));
        }
    }
    Ok(())
}

/// Checks that every twin has the one case that it belongs to.
fn twins(found: &[Found]) -> Result<(), Failure> {
    let by_id: BTreeMap<&str, &Case> =
        found.iter().map(|found| (found.case.id.as_str(), &found.case)).collect();
    let mut taken = BTreeSet::new();
    for Found { case, place } in found {
        let Some(of) = &case.twin_of else { continue };
        let others = by_id.keys().copied().filter(|id| *id != case.id);
        let wrong = match by_id.get(of.as_str()) {
            None => {
                let near = nearest(of, others).filter(|id| is_slip(of, id));
                let near = near.map(|id| format!("did you mean `{id}`?"));
                Wrong::new(format!("it is the twin of `{}`, which is no case", shown(of)))
                    .hint(near.unwrap_or_else(|| "add that case, or take the twin out".to_owned()))
            }
            Some(other) if other.twin_of.is_some() => {
                Wrong::new(format!("it is the twin of `{of}`, which is a twin itself"))
                    .hint("name the case that has the issues")
            }
            Some(_) if !taken.insert(of) => {
                Wrong::new(format!("it is the second twin of `{of}`")).hint("take one of them out")
            }
            Some(_) => continue,
        };
        return Err(wrong.at(place));
    }
    Ok(())
}

fn name(place: &Path) -> String {
    let place = fs::canonicalize(place).unwrap_or_else(|_| place.to_owned());
    let is_file = place.extension() == Some(OsStr::new(JSON_LINES));
    let name = if is_file { place.file_stem() } else { place.file_name() };
    name.map_or_else(|| "suite".to_owned(), |name| shown(&name.to_string_lossy()))
}

/// Checks a case that was read.
fn checked(case: Case, place: &str) -> Result<Found, Failure> {
    let checked = checked::check(&case).and_then(|()| checked::is_finished(&case));
    checked.map_err(|wrong| wrong.at(place))?;
    Ok(Found { case, place: place.to_owned() })
}

#[cfg(test)]
mod tests;
