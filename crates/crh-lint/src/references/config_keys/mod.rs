//! Configuration keys that the change removes while code still reads them and nothing else sets
//! them.
//!
//! `keys.rs` finds where keys are set, and `reads.rs` where they are read. If any other file may
//! set a key, the key is skipped.

mod keys;
mod reads;

use std::collections::{BTreeMap, BTreeSet};

use self::keys::{ConfigKind, ConfigLine};
use self::reads::KeyMention;
use super::messages::draft_in_place_of;
use super::repo_index::RepoIndex;
use super::rules::CONFIG_KEY;
use super::suspects::is_excluded_path;
use crate::findings::FindingDraft;
use crate::{ChangeView, ChangedFile, SearchHit, paths};
use crh_review::finding::Side;
use crh_syntax::{Language, SyntaxTree};

/// Maximum removed keys to check. A change that removes more keys moves or deletes a whole file.
const KEYS_MAX: usize = 200;

/// Limit for the search for all keys at once. Keys are long words, so few lines contain them.
const HITS_MAX: usize = 5_000;

/// Maximum reads quoted as evidence. Five show the pattern and keep the report short.
const WITNESSES_MAX: usize = 5;

struct RemovedKey<'a> {
    file: &'a ChangedFile,
    kind: ConfigKind,
    name: String,
    /// Whether an added key of the file seems to replace this key: it has the same value, or the
    /// file loses one key and gains one. Then crh also reports reads with a fallback, because they
    /// use the fallback from now on.
    is_renamed: bool,
}

/// Reports removed keys that code still reads.
pub(super) fn find_removed_keys(
    change: &ChangeView<'_>,
    repo: &RepoIndex<'_>,
    findings: &mut Vec<FindingDraft>,
) -> Result<(), String> {
    let mut removed_keys: Vec<RemovedKey<'_>> =
        change.files.iter().flat_map(removed_keys).collect();
    if removed_keys.is_empty() {
        return Ok(());
    }
    removed_keys.truncate(KEYS_MAX);
    let words: BTreeSet<&str> = removed_keys.iter().map(|it| it.name.as_str()).collect();
    let words: Vec<&str> = words.into_iter().collect();
    let hits = repo.project.search(Side::New, &words, HITS_MAX)?;
    if !hits.is_complete {
        return Err("the removed keys occur in too many places".to_owned());
    }
    let mut by_word: BTreeMap<&str, Vec<&SearchHit>> = BTreeMap::new();
    for hit in &hits.lines {
        let words_in_line = hit.text.split(|it: char| !(it.is_alphanumeric() || it == '_'));
        for word in words_in_line.collect::<BTreeSet<_>>() {
            by_word.entry(word).or_default().push(hit);
        }
    }
    for key in &removed_keys {
        let Some(lines) = by_word.get(key.name.as_str()) else { continue };
        let Some(reads) = find_reads(repo, key, lines) else { continue };
        if !reads.is_empty() {
            findings.push(finding(repo, change, key, &reads));
        }
    }
    Ok(())
}

/// Whether a removed line sets a key that the added lines do not set.
pub(super) fn may_remove_keys(change: &ChangeView<'_>) -> bool {
    change.files.iter().any(|file| removed_keys(file).next().is_some())
}

/// Keys that the removed lines of a file set and its added lines do not set.
fn removed_keys(file: &ChangedFile) -> impl Iterator<Item = RemovedKey<'_>> {
    let path = file.old_path.as_deref().filter(|it| !is_excluded_path(it));
    let kind = path.and_then(ConfigKind::from_path);
    kind.into_iter().flat_map(move |kind| {
        let path = file.old_path.as_deref().unwrap_or(&file.path);
        let parse =
            |line| std::str::from_utf8(line).ok().and_then(|line| kind.parse_line(path, line));
        let removed: Vec<ConfigLine<'_>> = file.removed.iter().filter_map(|it| parse(it)).collect();
        let added: Vec<ConfigLine<'_>> =
            file.added.iter().filter_map(|it| parse(&it.text)).collect();
        let is_single_pair = removed.len() == 1 && added.len() == 1;
        let values: BTreeSet<&str> = added.iter().map(|it| it.value).collect();
        let names: BTreeSet<&str> = added.iter().map(|it| it.name).collect();
        let removed_keys = removed.iter().filter(|line| !names.contains(line.name));
        let removed_keys: Vec<RemovedKey<'_>> = removed_keys
            .map(|line| RemovedKey {
                file,
                kind,
                name: line.name.to_owned(),
                is_renamed: is_single_pair || !line.value.is_empty() && values.contains(line.value),
            })
            .collect();
        removed_keys
    })
}

/// Lines that read a key; `None` if another file may still set the key, or uses it in an unclear
/// way.
fn find_reads<'h>(
    repo: &RepoIndex<'_>,
    key: &RemovedKey<'_>,
    hits: &[&'h SearchHit],
) -> Option<Vec<&'h SearchHit>> {
    let mut reads = Vec::new();
    for hit in hits {
        if ConfigKind::from_path(&hit.path).is_some_and(|kind| {
            kind.parse_line(&hit.path, &hit.text).is_some_and(|line| line.name == key.name)
        }) {
            return None;
        }
        let Some(language) = Language::from_path(&hit.path) else {
            match paths::is_document(&hit.path) {
                true => continue,
                false => return None,
            }
        };
        if is_excluded_path(&hit.path) {
            continue;
        }
        match key.kind.classify(&hit.path, &hit.text, &key.name) {
            KeyMention::Read { at, has_fallback } => {
                if paths::is_sample(&hit.path) || has_fallback && !key.is_renamed {
                    continue;
                }
                let text = text(repo, &hit.path)?;
                let reads_settings = match key.kind {
                    ConfigKind::Django => text.contains("from django.conf import settings"),
                    ConfigKind::Environment | ConfigKind::Data => true,
                };
                if !reads_settings {
                    return None;
                }
                if is_code(language, &text, hit.line, at) {
                    reads.push(*hit);
                }
            }
            KeyMention::Sets => return None,
            KeyMention::Unclear(at) => {
                if key.kind != ConfigKind::Environment
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
    let Ok(tree) = SyntaxTree::new(language, text) else { return false };
    let row = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
    let from = tree_sitter::Point { row, column };
    let to = tree_sitter::Point { row, column: column + 1 };
    let mut node = tree.tree().root_node().descendant_for_point_range(from, to);
    while let Some(ancestor) = node {
        let kind = ancestor.kind();
        if matches!(kind, "interpolation" | "template_substitution") {
            return true;
        }
        if kind.contains("comment") || kind.contains("string") {
            return false;
        }
        node = ancestor.parent();
    }
    true
}

/// The finding is at a read if the change touches the file of the read, otherwise at the line that
/// set the key.
fn finding(
    repo: &RepoIndex<'_>,
    change: &ChangeView<'_>,
    key: &RemovedKey<'_>,
    reads: &[&SearchHit],
) -> FindingDraft {
    let is_touched = |hit: &&&SearchHit| change.files.iter().any(|it| it.path == hit.path);
    let touched_read = reads.iter().find(is_touched).copied();
    let path = key.file.old_path.as_deref().unwrap_or(&key.file.path);
    let mut draft = match touched_read {
        Some(hit) => FindingDraft::new(&CONFIG_KEY, &hit.path, hit.line, &hit.text),
        None => draft_at_removal(repo, key, path),
    };
    let others = reads.iter().filter(|it| Some(**it) != touched_read);
    let witnesses = others.take(WITNESSES_MAX);
    draft.witnesses = witnesses.map(|it| (it.path.clone(), it.line, it.text.clone())).collect();
    let key = &key.name;
    let first = reads.first().map(|it| format!("`{}` line {}", it.path, it.line));
    let title = match reads.len() {
        1 => format!("`{key}` is no longer set, but 1 place still reads it"),
        more => format!("`{key}` is no longer set, but {more} places still read it"),
    };
    draft.with_text(
        title,
        format!(
            "The change removes `{key}` from `{path}`, no other file sets it, and {} still reads it. A program that is set up from these files runs without the value.",
            first.unwrap_or_default()
        ),
        format!("Keep `{key}`, or change every place that reads it."),
    )
}

fn draft_at_removal(repo: &RepoIndex<'_>, key: &RemovedKey<'_>, path: &str) -> FindingDraft {
    let old_text = repo.text(Side::Old, path).unwrap_or_default();
    let sets_key =
        |line: &str| key.kind.parse_line(path, line).is_some_and(|it| it.name == key.name);
    let line = (1..).zip(old_text.lines()).find(|(_, it)| sets_key(it));
    draft_in_place_of(repo, &CONFIG_KEY, key.file, line.map_or(1, |(number, _)| number))
}
