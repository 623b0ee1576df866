//! Reads a suite: a folder with one folder per case, or JSON-lines files.

pub(crate) mod folder;
mod json_lines;
pub(crate) mod labels;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use self::folder::CASE_FILE;
use super::case::{Case, HashInput};
use super::case_error::{CaseError, is_slip, nearest, shown};
use super::checked;
use crh_git::PathGlobs;
use crh_os::names::canonical;
use crh_pipeline::failure::{Failure, FailureKind, OrFail};
use crh_review::eval::Expected;

/// Maximum number of cases of a suite, twins included: ten times the largest public suite.
const CASES_MAX: usize = 20_000;
/// Maximum bytes of all changes: every case is in memory, and once more while it is written to git.
const SUITE_MAX: usize = 1 << 30;
const JSON_LINES: &str = "jsonl";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Suite {
    /// Name of its folder or file.
    pub(crate) name: String,
    /// Cases and twins, sorted by id.
    pub(crate) cases: Vec<Case>,
}

/// Reads a file that a user named.
pub(crate) type ReadFile<'a> = &'a dyn Fn(&Path) -> Result<Vec<u8>, Failure>;

/// A case with its location.
#[derive(Debug)]
struct LoadedCase {
    case: Case,
    place: String,
}

impl Suite {
    /// Reads a folder of cases, a single case, or JSON lines. Stops at the first error. With globs,
    /// keeps the cases whose ids match, together with their twins.
    pub(crate) fn read(
        place: &Path,
        globs: &[String],
        read_file: ReadFile<'_>,
    ) -> Result<Self, Failure> {
        let metadata = fs::metadata(place)
            .with_context(|| format!("cannot read the suite `{}`", place.display()))
            .or_fail(FailureKind::Usage)
            .map_err(|failure| {
                failure.hint("a suite is a folder of cases, or a file of JSON lines")
            })?;
        let mut found = Vec::new();
        if metadata.is_file() {
            found.extend(json_lines::read(place, read_file)?);
        } else if place.join(CASE_FILE).exists() {
            found.extend(folder::read(place)?);
        } else {
            let mut bytes = 0;
            for entry in entries(place)? {
                let more = read_entry(&entry, read_file)?;
                bytes += bytes_of(&more);
                found.extend(more);
                if is_too_large(found.len(), bytes) {
                    break;
                }
            }
        }
        let chosen = choose(combine(found, place)?, globs)?;
        // A draft that was not chosen does no harm.
        chosen.iter().try_for_each(check_finished)?;
        let cases = chosen.into_iter().map(|loaded| loaded.case).collect();
        Ok(Self { name: name(place), cases })
    }

    /// Hash of all cases with their labels.
    pub(crate) fn hash(&self) -> String {
        let mut seen = HashInput::default();
        for case in &self.cases {
            let Case { id, language, licence, twin_of, expected, known_bad, .. } = case;
            seen.add(id);
            seen.add(case.content_hash());
            [language, licence].into_iter().for_each(|word| seen.add(word));
            seen.add(twin_of.as_deref().unwrap_or_default());
            seen.add(format!("{} expected, {} known bad", expected.len(), known_bad.len()));
            for issue in expected {
                let Expected { category, severity, description, omission, .. } = issue;
                let category = category.map_or_else(|| "any".to_owned(), |it| it.to_string());
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

/// Reads the cases of a JSON-lines file, even if a twin's case is in another file.
pub(crate) fn lines(file: &Path, read_file: ReadFile<'_>) -> Result<Vec<Case>, Failure> {
    let found = json_lines::read(file, read_file)?;
    check_unique(&found)?;
    found.iter().try_for_each(check_finished)?;
    Ok(found.into_iter().map(|found| found.case).collect())
}

/// Sorted entries of a folder that can be part of a suite. Hidden names are ignored.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let list = || {
        let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
        entries.collect::<std::io::Result<Vec<PathBuf>>>()
    };
    let mut entries = list()
        .with_context(|| format!("cannot read the suite `{}`", folder.display()))
        .or_fail(FailureKind::Usage)?;
    let is_hidden = |path: &PathBuf| {
        path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."))
    };
    entries.retain(|path| !is_hidden(path));
    entries.sort_unstable();
    Ok(entries)
}

/// Reads the cases of one entry. Other files, such as a readme, have none.
fn read_entry(entry: &Path, read_file: ReadFile<'_>) -> Result<Vec<LoadedCase>, Failure> {
    if entry.is_dir() {
        return folder::read(entry);
    }
    if entry.extension() == Some(OsStr::new(JSON_LINES)) {
        return json_lines::read(entry, read_file);
    }
    Ok(Vec::new())
}

fn bytes_of(found: &[LoadedCase]) -> usize {
    found.iter().map(|found| found.case.source.bytes()).sum()
}

fn is_too_large(cases: usize, bytes: usize) -> bool {
    cases > CASES_MAX || bytes > SUITE_MAX
}

/// Combines cases into a suite. Ids must be unique, and every twin needs its case.
fn combine(mut found: Vec<LoadedCase>, place: &Path) -> Result<Vec<LoadedCase>, Failure> {
    let place = format!("`{}`", shown(&place.display().to_string()));
    if found.is_empty() {
        return Err(CaseError::new("the suite has no cases")
            .hint("a case is a folder with a `case.toml`, or a line of a `.jsonl` file")
            .at(place));
    }
    if is_too_large(found.len(), bytes_of(&found)) {
        let message =
            format!("the suite has more than {CASES_MAX} cases or {} MiB", SUITE_MAX >> 20);
        let hint = "split it and run the parts one after the other";
        return Err(CaseError::new(message).hint(hint).at(place));
    }
    found.sort_by(|a, b| a.case.id.cmp(&b.case.id));
    check_unique(&found)?;
    check_twins(&found)?;
    Ok(found)
}

/// Keeps cases whose ids match, together with their twins. Without globs, keeps all.
fn choose(mut found: Vec<LoadedCase>, globs: &[String]) -> Result<Vec<LoadedCase>, Failure> {
    if globs.is_empty() {
        return Ok(found);
    }
    let globs = PathGlobs::new(globs.iter().map(String::as_str)).or_fail(FailureKind::Usage)?;
    let matches = |id: &str| globs.is_match(id.as_bytes());
    // A case and its twin (the reversed change) are selected together.
    let pair =
        |found: &LoadedCase| found.case.twin_of.clone().unwrap_or_else(|| found.case.id.clone());
    let chosen: BTreeSet<String> =
        found.iter().filter(|found| matches(&found.case.id)).map(pair).collect();
    found.retain(|found| chosen.contains(&pair(found)));
    if found.is_empty() {
        return Err(Failure::usage("no case id matches").hint("remove `--case` to use all cases"));
    }
    Ok(found)
}

fn check_finished(found: &LoadedCase) -> Result<(), Failure> {
    checked::is_finished(&found.case).map_err(|wrong| wrong.at(&found.place))
}

/// Checks that ids are unique, ignoring case: ids are folder names, and some file systems ignore
/// case.
fn check_unique(found: &[LoadedCase]) -> Result<(), Failure> {
    let mut by_id: BTreeMap<String, &LoadedCase> = BTreeMap::new();
    for found in found {
        if let Some(other) = by_id.insert(found.case.id.to_lowercase(), found) {
            let message = format!("the id `{}` is used twice", found.case.id);
            return Err(CaseError::new(message)
                .hint(format!("the other case is in {}", other.place))
                .at(&found.place));
        }
    }
    Ok(())
}

/// Checks that every twin belongs to exactly one case.
fn check_twins(found: &[LoadedCase]) -> Result<(), Failure> {
    let by_id: BTreeMap<&str, &Case> =
        found.iter().map(|found| (found.case.id.as_str(), &found.case)).collect();
    let mut taken = BTreeSet::new();
    for LoadedCase { case, place } in found {
        let Some(of) = &case.twin_of else { continue };
        let others = by_id.keys().copied().filter(|id| *id != case.id);
        let wrong = match by_id.get(of.as_str()) {
            None => {
                let near = nearest(of, others).filter(|id| is_slip(of, id));
                let near = near.map(|id| format!("did you mean `{id}`?"));
                CaseError::new(format!(
                    "`twin_of` names the case `{}`, which does not exist",
                    shown(of)
                ))
                .hint(near.unwrap_or_else(|| "add that case, or remove this one".to_owned()))
            }
            Some(other) if other.twin_of.is_some() => {
                CaseError::new(format!("`twin_of` names `{of}`, which is a reversed change itself"))
                    .hint("name the case that has the issues")
            }
            Some(_) if !taken.insert(of) => {
                CaseError::new(format!("`{of}` already has a reversed change (twin)"))
                    .hint("remove one of them")
            }
            Some(_) => continue,
        };
        return Err(wrong.at(place));
    }
    Ok(())
}

fn name(place: &Path) -> String {
    let place = canonical(place).unwrap_or_else(|_| place.to_owned());
    let is_file = place.extension() == Some(OsStr::new(JSON_LINES));
    let name = if is_file { place.file_stem() } else { place.file_name() };
    name.map_or_else(|| "suite".to_owned(), |name| shown(&name.to_string_lossy()))
}

/// Validates a case that was read.
fn validate(case: Case, place: &str) -> Result<LoadedCase, Failure> {
    checked::check(&case).map_err(|wrong| wrong.at(place))?;
    Ok(LoadedCase { case, place: place.to_owned() })
}

#[cfg(test)]
pub(crate) mod tests;
