//! Files of a change that go into a case: the touched ones and those that the user asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use crate::case::Files;
use crate::case_error::{CaseError, shown};
use crate::checked::{CASE_MAX, FILE_MAX, check_file, too_large, too_much};
use crate::tree;
use crate::tree::bounded;
use crh_git::{EMPTY_TREE, Objects, PathEntry, PathGlobs, ReadError};
use crh_pipeline::failure::{Failure, FailureKind, OrFail};
use crh_review::diff::{Diff, RepoPath};

/// Files before and after a change.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Snapshot {
    pub(super) base: Files,
    pub(super) head: Files,
    /// Files that were left out, with the reason.
    pub(super) left_out: Vec<String>,
    bytes: usize,
}

/// Side of a snapshot.
#[derive(Debug, Clone, Copy)]
enum SnapshotSide {
    Base,
    Head,
}

pub(super) fn of_commits(
    objects: &Objects,
    (base, head): (&str, &str),
    diff: &Diff,
    with: &PathGlobs,
) -> Result<Snapshot, Failure> {
    let wrong = |wrong: CaseError| wrong.at("the change");
    let mut snapshot = Snapshot::default();
    let touched = diff.files().iter().flat_map(|file| [Some(&file.path), file.old_path.as_ref()]);
    let touched: BTreeSet<&[u8]> = touched.flatten().map(RepoPath::as_bytes).collect();
    for path in &touched {
        let (before, after) = (entry(objects, base, path)?, entry(objects, head, path)?);
        let name = std::str::from_utf8(path).ok().filter(|name| check_file(name).is_ok());
        let is_plain =
            [&before, &after].into_iter().flatten().all(|(entry, _)| entry.kind.is_file());
        let Some(name) = name.filter(|_| is_plain) else {
            let path = shown(&String::from_utf8_lossy(path));
            snapshot.left_out.push(format!("`{path}` is a link, a submodule, or has an odd name"));
            continue;
        };
        for (end, revision, found) in
            [(SnapshotSide::Base, base, before), (SnapshotSide::Head, head, after)]
        {
            let Some((_, size)) = found else { continue };
            if size > FILE_MAX as u64 {
                return Err(wrong(too_large(name)));
            }
            let bytes = objects.file(revision, path).or_fail(FailureKind::External)?;
            snapshot.add(end, name, bytes).map_err(wrong)?;
        }
    }
    let all = match base {
        EMPTY_TREE => Vec::new(),
        _ if with.patterns().is_empty() => Vec::new(),
        _ => objects.files(base).or_fail(FailureKind::External)?,
    };
    check_patterns_match(with, all.iter().map(|entry| entry.path.as_slice()))?;
    for PathEntry { path, kind, .. } in all {
        let Ok(name) = std::str::from_utf8(&path) else { continue };
        let is_plain = kind.is_file() && check_file(name).is_ok();
        if touched.contains(path.as_slice()) || !is_plain || !with.is_match(&path) {
            continue;
        }
        let (_, size) = objects.stat(base, &path).or_fail(FailureKind::External)?;
        if size > FILE_MAX as u64 {
            return Err(wrong(too_large(name)));
        }
        let bytes = objects.file(base, &path).or_fail(FailureKind::External)?;
        snapshot.add(SnapshotSide::Base, name, bytes.clone()).map_err(wrong)?;
        snapshot.add(SnapshotSide::Head, name, bytes).map_err(wrong)?;
    }
    Ok(snapshot)
}

/// Entry and size at a path; `None` if there is nothing.
fn entry(
    objects: &Objects,
    revision: &str,
    path: &[u8],
) -> Result<Option<(PathEntry, u64)>, Failure> {
    if revision == EMPTY_TREE {
        return Ok(None);
    }
    match objects.stat(revision, path) {
        Ok(found) => Ok(Some(found)),
        Err(ReadError::NoEntry(_)) => Ok(None),
        Err(error) => Err(error).or_fail(FailureKind::External),
    }
}

/// Snapshot of the files that differ between two folders.
pub(super) fn of_folders(old: &Path, new: &Path, with: &PathGlobs) -> Result<Snapshot, Failure> {
    let list = |folder: &Path| -> Result<BTreeMap<String, tree::Entry>, Failure> {
        // Skip the `.git` folder of a checkout.
        let entries = tree::entries(folder, ".git")
            .map_err(|wrong| wrong.at(format!("`{}`", folder.display())))?;
        Ok(entries.into_iter().map(|entry| (entry.path.clone(), entry)).collect())
    };
    let (before, after) = (list(old)?, list(new)?);
    let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let mut snapshot = Snapshot::default();
    check_patterns_match(with, before.keys().map(String::as_bytes))?;
    for path in paths {
        snapshot.add_if_needed(path, (before.get(path), after.get(path)), with)?;
    }
    Ok(snapshot)
}

/// Rejects patterns that match nothing: they are probably misspelt.
fn check_patterns_match<'a>(
    with: &PathGlobs,
    paths: impl Iterator<Item = &'a [u8]> + Clone,
) -> Result<(), Failure> {
    for pattern in with.patterns() {
        let alone = PathGlobs::new([pattern]).or_fail(FailureKind::Usage)?;
        if !paths.clone().any(|path| alone.is_match(path)) {
            let message = format!("`--with {}` matches no file of the base", shown(pattern));
            let hint =
                "write it relative to the root, such as `src/*.py`, or `docs/` for a whole folder";
            return Err(Failure::usage(message).hint(hint));
        }
    }
    Ok(())
}

impl Snapshot {
    /// Adds a file that differs or that the user asked for.
    fn add_if_needed(
        &mut self,
        path: &str,
        (before, after): (Option<&tree::Entry>, Option<&tree::Entry>),
        with: &PathGlobs,
    ) -> Result<(), Failure> {
        let ends = [before, after];
        let is_plain = ends.iter().flatten().all(|entry| entry.is_file) && check_file(path).is_ok();
        if !is_plain {
            self.left_out
                .push(format!("`{}` is a link, a device, or has an odd name", shown(path)));
            return Ok(());
        }
        let wrong = |wrong: CaseError| wrong.at(format!("`{}`", shown(path)));
        let size = |entry: &tree::Entry| fs::metadata(&entry.file).map_or(0, |found| found.len());
        let is_wanted = before.is_some() && with.is_match(path.as_bytes());
        let sizes = ends.map(|entry| entry.map(size));
        if !is_wanted && sizes[0] == sizes[1] && is_same(before, after)? {
            return Ok(());
        }
        if sizes.iter().flatten().any(|size| *size > FILE_MAX as u64) {
            return Err(wrong(too_large(path)));
        }
        let read = |entry: &tree::Entry| {
            bounded(&entry.file, FILE_MAX)
                .map_err(|error| wrong(CaseError::new(format!("it cannot be read: {error}"))))
        };
        let (before, after) = (before.map(read).transpose()?, after.map(read).transpose()?);
        for (end, bytes) in [(SnapshotSide::Base, before), (SnapshotSide::Head, after)] {
            if let Some(bytes) = bytes {
                self.add(end, path, bytes).map_err(wrong)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, end: SnapshotSide, path: &str, bytes: Vec<u8>) -> Result<(), CaseError> {
        self.bytes += bytes.len();
        if self.bytes > CASE_MAX {
            return Err(too_much());
        }
        let files = match end {
            SnapshotSide::Base => &mut self.base,
            SnapshotSide::Head => &mut self.head,
        };
        files.insert(path.to_owned(), bytes);
        Ok(())
    }
}

/// Compares two files of equal size.
fn is_same(before: Option<&tree::Entry>, after: Option<&tree::Entry>) -> Result<bool, Failure> {
    let (Some(before), Some(after)) = (before, after) else { return Ok(false) };
    let mut files = [before, after].map(|entry| File::open(&entry.file).map(BufReader::new));
    let [Ok(before), Ok(after)] = &mut files else { return Ok(false) };
    // Read in chunks: files that are not needed may have any size.
    loop {
        let (left, right) = (before.fill_buf(), after.fill_buf());
        let (left, right) = (left.or_fail(FailureKind::Usage)?, right.or_fail(FailureKind::Usage)?);
        let shared = left.len().min(right.len());
        if shared == 0 || left[..shared] != right[..shared] {
            return Ok(left.is_empty() && right.is_empty());
        }
        before.consume(shared);
        after.consume(shared);
    }
}
