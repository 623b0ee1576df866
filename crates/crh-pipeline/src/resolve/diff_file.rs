//! Finds the commits of a diff that the user passes, so that checks can read whole files.

use std::cmp::Reverse;

use super::{PinnedChange, ResolveOptions, TargetError, from_diff, take_snapshot};
use crh_git::{Objects, Patch, PatchDirection, ReadError, SnapshotScope, Store};
use crh_review::diff::{Content, Diff, DiffLine, FileDiff, LineKind, RepoPath, STRIP_MAX};

/// Builds a change from a diff. If the diff ends at the checkout, the index or the last commit, or
/// starts at the last commit, the change has a base and a head.
pub(super) fn resolve_diff(
    store: &Store,
    bytes: Vec<u8>,
    options: &ResolveOptions<'_>,
) -> Result<PinnedChange, TargetError> {
    let mut change = from_diff(bytes)?;
    if let Some(level) = existing_level(store, &change.diff)? {
        change.diff = change.diff.with_strip_level(level);
    }
    match find_ends(store, &change.diff)? {
        Some((base, head)) => {
            if store.is_partial() {
                store.fetch_missing(&[&base, &head], options.network)?;
            }
            (change.base, change.head) = (Some(base), Some(head));
        }
        None if store.repository().work_tree.is_some() => change.notes.push(
            "the diff does not match this checkout, so crh reviews the diff without the repository"
                .to_owned(),
        ),
        None => {}
    }
    Ok(change)
}

/// The number of leading folders to leave out of names without a `diff --git` line, so that most of
/// the files exist in the last commit. `None` if no other number is better.
fn existing_level(store: &Store, diff: &Diff) -> Result<Option<usize>, TargetError> {
    let plain_files: Vec<&FileDiff> = diff.files().iter().filter(|file| file.is_plain()).collect();
    if plain_files.is_empty() {
        return Ok(None);
    }
    let Some(tip) = store.repository().head()? else { return Ok(None) };
    let objects = store.bare().objects()?;
    let exists = |path: &RepoPath| {
        objects.entry(&tip, path.as_bytes()).is_ok_and(|entry| entry.kind.is_file())
    };
    let existing = plain_files.iter().filter(|file| exists(&file.path)).count();
    if existing == plain_files.len() {
        return Ok(None);
    }
    let best = (0..=STRIP_MAX)
        .map(|level| (level, diff.plain_paths(level).filter(&exists).count()))
        .min_by_key(|(_, count)| Reverse(*count));
    Ok(best.filter(|(_, count)| *count > existing).map(|(level, _)| level))
}

/// The commits before and after a diff.
fn find_ends(store: &Store, diff: &Diff) -> Result<Option<(String, String)>, TargetError> {
    let repository = store.repository();
    let Some(tip) = repository.head()? else { return Ok(None) };
    let mut heads = Vec::new();
    if repository.work_tree.is_some() {
        heads.push(take_snapshot(store, SnapshotScope::Tracked, Some(&tip))?);
        if repository.unmerged()?.is_empty() {
            heads.push(take_snapshot(store, SnapshotScope::Staged, Some(&tip))?);
        }
    }
    heads.push(tip.clone());
    heads.dedup();
    // Git cannot apply a binary file without its contents.
    let without_lines = diff.files().iter().filter(|file| file.content != Content::Text);
    let excluded: Vec<Vec<u8>> = without_lines.map(|file| file.path.as_bytes().to_vec()).collect();
    let mut lines =
        diff.files().iter().flat_map(|file| &file.hunks).flat_map(|hunk| diff.lines(hunk));
    let has_context = lines.any(|line| line.kind == LineKind::Context);
    let patch = Patch { bytes: diff.raw(), strip: diff.strip_level(), has_context };
    let patched = |commit: &str, direction| store.apply_patch(commit, patch, direction, &excluded);
    for head in heads {
        if let Some(base) = patched(&head, PatchDirection::Reverse)?
            && has_lines(store, diff, &base, &head)?
        {
            return Ok(Some((base, head)));
        }
    }
    match patched(&tip, PatchDirection::Forward)? {
        Some(head) if has_lines(store, diff, &tip, &head)? => Ok(Some((tip, head))),
        Some(_) | None => Ok(None),
    }
}

/// Whether both commits have the lines of a diff at the same line numbers, and no file of a diff
/// without context lines changes twice. Git also applies a patch if the lines have other numbers.
fn has_lines(store: &Store, diff: &Diff, base: &str, head: &str) -> Result<bool, TargetError> {
    let objects = store.bare().objects()?;
    let files = diff.files().iter().filter(|file| file.content == Content::Text);
    for file in files {
        if !file_has_lines(&objects, diff, file, base, head)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn file_has_lines(
    objects: &Objects,
    diff: &Diff,
    file: &FileDiff,
    base: &str,
    head: &str,
) -> Result<bool, ReadError> {
    let old_path = file.old_path.as_ref().unwrap_or(&file.path);
    let (Some(old), Some(new)) = (
        content_at(objects, base, old_path.as_bytes())?,
        content_at(objects, head, file.path.as_bytes())?,
    ) else {
        return Ok(true);
    };
    let (old, new) = (lines_of(&old), lines_of(&new));
    let is_at = |lines: &[&[u8]], number: u32, text: &[u8]| {
        (number as usize).checked_sub(1).and_then(|index| lines.get(index)) == Some(&text)
    };
    let lines: Vec<DiffLine<'_>> = file.hunks.iter().flat_map(|hunk| diff.lines(hunk)).collect();
    let has_all = lines.iter().all(|line| match line.kind {
        LineKind::Added => is_at(&new, line.new, line.text()),
        LineKind::Removed => is_at(&old, line.old, line.text()),
        LineKind::Context => {
            is_at(&new, line.new, line.text()) && is_at(&old, line.old, line.text())
        }
        LineKind::Remark => true,
    });
    // Git can insert lines without context anywhere, even where they already are.
    let is_repeated = |kind: LineKind, other: &[&[u8]], number: fn(&DiffLine<'_>) -> u32| {
        let mut changed = lines.iter().filter(|line| line.kind == kind).peekable();
        changed.peek().is_some() && changed.all(|line| is_at(other, number(line), line.text()))
    };
    let has_context = lines.iter().any(|line| line.kind == LineKind::Context);
    let is_twice = is_repeated(LineKind::Added, &old, |line| line.new)
        || is_repeated(LineKind::Removed, &new, |line| line.old);
    Ok(has_all && (has_context || !is_twice))
}

/// The lines of a file, without their line ends.
fn lines_of(content: &[u8]) -> Vec<&[u8]> {
    let lines = content.split_inclusive(|byte| *byte == b'\n');
    lines.map(|line| line.strip_suffix(b"\n").unwrap_or(line)).collect()
}

/// Content of a file, empty if it does not exist. None for a submodule, which has no lines.
fn content_at(objects: &Objects, commit: &str, path: &[u8]) -> Result<Option<Vec<u8>>, ReadError> {
    match objects.file(commit, path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(ReadError::NoEntry(_)) => Ok(Some(Vec::new())),
        Err(ReadError::OtherKind { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
