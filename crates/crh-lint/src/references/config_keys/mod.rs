//! Configuration keys that the change removes while code still reads them and nothing else sets
//! them.
//!
//! `keys.rs` finds where keys are set, `reads.rs` where they are read. A key that any other file
//! may set is skipped.

mod keys;
mod reads;

use std::collections::{BTreeMap, BTreeSet};

use self::keys::{ConfigKind, ConfigLine};
use self::reads::KeyMention;
use super::CONFIG_KEY;
use super::repo_index::RepoIndex;
use super::suspects::is_foreign;
use crate::change::LineFate;
use crate::findings::FindingDraft;
use crate::{ChangeView, ChangedFile, SearchHit, paths};
use crh_review::finding::Side;
use crh_syntax::{Language, SyntaxTree};

/// A change that removes more keys moves or drops a whole file.
const KEYS_MAX: usize = 200;

/// Search limit for all keys. Keys are long words that few lines contain.
const HITS_MAX: usize = 5_000;

/// Places quoted as evidence.
const WITNESSES_MAX: usize = 5;

/// A removed key.
struct RemovedKey<'a> {
    file: &'a ChangedFile,
    origin: ConfigKind,
    key: String,
    /// Whether another key takes over its value. Then a read with a fallback is wrong as well.
    is_renamed: bool,
}

/// Reports keys that are read and no longer set.
pub(super) fn find_removed_keys(
    change: &ChangeView<'_>,
    repo: &RepoIndex<'_>,
    found: &mut Vec<FindingDraft>,
) -> Result<(), String> {
    let mut removed_keys: Vec<RemovedKey<'_>> =
        change.files.iter().flat_map(removed_keys).collect();
    if removed_keys.is_empty() {
        return Ok(());
    }
    removed_keys.truncate(KEYS_MAX);
    let words: BTreeSet<&str> = removed_keys.iter().map(|it| it.key.as_str()).collect();
    let words: Vec<&str> = words.into_iter().collect();
    let hits = repo.project.search(Side::New, &words, HITS_MAX)?;
    if !hits.is_complete {
        return Err("the removed keys occur in too many places".to_owned());
    }
    let mut by_word: BTreeMap<&str, Vec<&SearchHit>> = BTreeMap::new();
    for hit in &hits.lines {
        let in_line = hit.text.split(|it: char| !(it.is_alphanumeric() || it == '_'));
        for word in in_line.collect::<BTreeSet<_>>() {
            by_word.entry(word).or_default().push(hit);
        }
    }
    for it in &removed_keys {
        let Some(lines) = by_word.get(it.key.as_str()) else { continue };
        let Some(reads) = reads_of(repo, it, lines) else { continue };
        if !reads.is_empty() {
            found.push(finding(repo, change, it, &reads));
        }
    }
    Ok(())
}

/// Whether the diff alone suggests a removed key.
pub(super) fn may_remove_keys(change: &ChangeView<'_>) -> bool {
    change.files.iter().any(|file| removed_keys(file).next().is_some())
}

/// Keys that a file set before and does not set any more.
fn removed_keys(file: &ChangedFile) -> impl Iterator<Item = RemovedKey<'_>> {
    let path = file.old_path.as_deref().filter(|it| !is_foreign(it));
    let origin = path.and_then(ConfigKind::from_path);
    origin.into_iter().flat_map(move |origin| {
        let path = file.old_path.as_deref().unwrap_or(&file.path);
        let read =
            |line| std::str::from_utf8(line).ok().and_then(|line| origin.parse_line(path, line));
        let removed: Vec<ConfigLine<'_>> = file.removed.iter().filter_map(|it| read(it)).collect();
        let added: Vec<ConfigLine<'_>> =
            file.added.iter().filter_map(|it| read(&it.text)).collect();
        let is_one = removed.len() == 1 && added.len() == 1;
        let values: BTreeSet<&str> = added.iter().map(|it| it.value).collect();
        let names: BTreeSet<&str> = added.iter().map(|it| it.name).collect();
        let removed_keys = removed.iter().filter(|it| !names.contains(it.name));
        let removed_keys: Vec<RemovedKey<'_>> = removed_keys
            .map(|it| RemovedKey {
                file,
                origin,
                key: it.name.to_owned(),
                is_renamed: is_one || !it.value.is_empty() && values.contains(it.value),
            })
            .collect();
        removed_keys
    })
}

/// Lines that read a key; `None` if something may still set it.
fn reads_of<'h>(
    repo: &RepoIndex<'_>,
    key: &RemovedKey<'_>,
    hits: &[&'h SearchHit],
) -> Option<Vec<&'h SearchHit>> {
    let mut reads = Vec::new();
    for hit in hits {
        if ConfigKind::from_path(&hit.path).is_some_and(|it| {
            it.parse_line(&hit.path, &hit.text).is_some_and(|it| it.name == key.key)
        }) {
            return None;
        }
        let Some(language) = Language::from_path(&hit.path) else {
            match paths::is_document(&hit.path) {
                true => continue,
                false => return None,
            }
        };
        if is_foreign(&hit.path) {
            continue;
        }
        match key.origin.classify(&hit.path, &hit.text, &key.key) {
            KeyMention::Read { at, has_fallback } => {
                if paths::is_sample(&hit.path) || has_fallback && !key.is_renamed {
                    continue;
                }
                let text = text(repo, &hit.path)?;
                let is_taken = match key.origin {
                    ConfigKind::Django => text.contains("from django.conf import settings"),
                    ConfigKind::Environment | ConfigKind::Data => true,
                };
                if !is_taken {
                    return None;
                }
                if is_code(language, &text, hit.line, at) {
                    reads.push(*hit);
                }
            }
            KeyMention::Sets => return None,
            KeyMention::Unclear(at) => {
                if key.origin != ConfigKind::Environment
                    && is_code(language, &text(repo, &hit.path)?, hit.line, at)
                {
                    return None;
                }
            }
            KeyMention::Unrelated => {}
        }
    }
    Some(reads)
}

fn text(repo: &RepoIndex<'_>, path: &str) -> Option<String> {
    String::from_utf8(repo.project.file(Side::New, path).ok()??).ok()
}

/// Whether a position is code rather than in a comment or a string.
fn is_code(language: Language, text: &str, line: u32, column: usize) -> bool {
    let Ok(parsed) = SyntaxTree::new(language, text) else { return false };
    let row = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
    let from = tree_sitter::Point { row, column };
    let to = tree_sitter::Point { row, column: column + 1 };
    let mut node = parsed.tree().root_node().descendant_for_point_range(from, to);
    while let Some(it) = node {
        let kind = it.kind();
        if matches!(kind, "interpolation" | "template_substitution") {
            return true;
        }
        if kind.contains("comment") || kind.contains("string") {
            return false;
        }
        node = it.parent();
    }
    true
}

/// Reports at a read if the change touches its file, otherwise where the key was.
fn finding(
    repo: &RepoIndex<'_>,
    change: &ChangeView<'_>,
    key: &RemovedKey<'_>,
    reads: &[&SearchHit],
) -> FindingDraft {
    let is_touched = |hit: &&&SearchHit| change.files.iter().any(|it| it.path == hit.path);
    let here = reads.iter().find(is_touched).copied();
    let path = key.file.old_path.as_deref().unwrap_or(&key.file.path);
    let mut found = match here {
        Some(hit) => FindingDraft::new(&CONFIG_KEY, &hit.path, hit.line, &hit.text),
        None => draft_at_removal(repo, key, path),
    };
    let others = reads.iter().filter(|it| Some(**it) != here);
    let witnesses = others.take(WITNESSES_MAX);
    found.witnesses = witnesses.map(|it| (it.path.clone(), it.line, it.text.clone())).collect();
    let key = &key.key;
    let first = reads.first().map(|it| format!("`{}` line {}", it.path, it.line));
    let title = match reads.len() {
        1 => format!("`{key}` is no longer set, but 1 place still reads it"),
        more => format!("`{key}` is no longer set, but {more} places still read it"),
    };
    found.with_text(
        title,
        format!(
            "The change removes `{key}` from `{path}`, no other file sets it, and {} still reads it. A program that is set up from these files runs without the value.",
            first.unwrap_or_default()
        ),
        format!("Keep `{key}`, or change every place that reads it."),
    )
}

fn draft_at_removal(repo: &RepoIndex<'_>, key: &RemovedKey<'_>, path: &str) -> FindingDraft {
    let text = |side, path: &str| -> String {
        let bytes = repo.project.file(side, path).ok().flatten();
        bytes.and_then(|it| String::from_utf8(it).ok()).unwrap_or_default()
    };
    let before = text(Side::Old, path);
    let is_it = |line: &str| key.origin.parse_line(path, line).is_some_and(|it| it.name == key.key);
    let (number, line) = (1..).zip(before.lines()).find(|(_, it)| is_it(it)).unwrap_or((1, ""));
    match key.file.line_fate(number) {
        LineFate::Replaced(number) | LineFate::Kept(number) if !key.file.is_deleted => {
            let after = text(Side::New, &key.file.path);
            let at = usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1);
            let line = after.lines().nth(at).unwrap_or_default();
            FindingDraft::new(&CONFIG_KEY, &key.file.path, number, line)
        }
        LineFate::Replaced(_) | LineFate::Kept(_) | LineFate::Removed => {
            let found = FindingDraft::new(&CONFIG_KEY, &key.file.path, number, line);
            FindingDraft { side: Some(Side::Old), ..found }
        }
    }
}
