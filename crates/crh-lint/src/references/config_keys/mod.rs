//! Keys of configuration that the change takes away while code still reads them and nothing else sets them.
//!
//! What a key is set by is in `keys.rs`, what reads it in `reads.rs`. A key that any other file may set is left alone.

mod keys;
mod reads;

use std::collections::{BTreeMap, BTreeSet};

use self::keys::{Key, Origin};
use self::reads::Mention;
use super::CONFIG_KEY;
use super::reason::is_foreign;
use super::world::World;
use crate::change::Became;
use crate::found::Found;
use crate::{Change, ChangedFile, HitLine, paths};
use crh_review::finding::Side;
use crh_syntax::{Language, Parsed};

/// The most keys that are followed: a change that takes away more has moved or dropped a whole file of them.
const KEYS_MAX: usize = 200;

/// The most lines that a search for all keys gives back. Keys are long words that few lines have.
const HITS_MAX: usize = 5_000;

/// The most places that are quoted.
const WITNESSES_MAX: usize = 5;

/// A key that a file has lost.
struct Gone<'a> {
    file: &'a ChangedFile,
    origin: Origin,
    key: String,
    /// Whether another key has taken over its value: then also a read with a value to fall back to is wrong.
    is_renamed: bool,
}

/// Finds keys that are read and not set any more.
pub(super) fn broken(
    change: &Change<'_>,
    world: &World<'_>,
    found: &mut Vec<Found>,
) -> Result<(), String> {
    let mut gone: Vec<Gone<'_>> = change.files.iter().flat_map(of_file).collect();
    if gone.is_empty() {
        return Ok(());
    }
    gone.truncate(KEYS_MAX);
    let words: BTreeSet<&str> = gone.iter().map(|it| it.key.as_str()).collect();
    let words: Vec<&str> = words.into_iter().collect();
    let hits = world.project.search(Side::New, &words, HITS_MAX)?;
    if !hits.is_all {
        return Err("the keys that were taken away are in too many places".to_owned());
    }
    let mut by_word: BTreeMap<&str, Vec<&HitLine>> = BTreeMap::new();
    for hit in &hits.lines {
        let in_line = hit.text.split(|it: char| !(it.is_alphanumeric() || it == '_'));
        for word in in_line.collect::<BTreeSet<_>>() {
            by_word.entry(word).or_default().push(hit);
        }
    }
    for it in &gone {
        let Some(lines) = by_word.get(it.key.as_str()) else { continue };
        let Some(reads) = reads_of(world, it, lines) else { continue };
        if !reads.is_empty() {
            found.push(lost(world, change, it, &reads));
        }
    }
    Ok(())
}

/// Whether the diff alone gives reason to look at all.
pub(super) fn has_reason(change: &Change<'_>) -> bool {
    change.files.iter().any(|file| of_file(file).next().is_some())
}

/// The keys that lines of a file set before and no line of it sets any more.
fn of_file(file: &ChangedFile) -> impl Iterator<Item = Gone<'_>> {
    let path = file.before.as_deref().filter(|it| !is_foreign(it));
    let origin = path.and_then(Origin::of);
    origin.into_iter().flat_map(move |origin| {
        let path = file.before.as_deref().unwrap_or(&file.path);
        let read = |line| std::str::from_utf8(line).ok().and_then(|line| origin.key(path, line));
        let removed: Vec<Key<'_>> = file.removed.iter().filter_map(|it| read(it)).collect();
        let added: Vec<Key<'_>> = file.added.iter().filter_map(|it| read(&it.text)).collect();
        let is_one = removed.len() == 1 && added.len() == 1;
        let values: BTreeSet<&str> = added.iter().map(|it| it.value).collect();
        let names: BTreeSet<&str> = added.iter().map(|it| it.name).collect();
        let gone = removed.iter().filter(|it| !names.contains(it.name));
        let gone: Vec<Gone<'_>> = gone
            .map(|it| Gone {
                file,
                origin,
                key: it.name.to_owned(),
                is_renamed: is_one || !it.value.is_empty() && values.contains(it.value),
            })
            .collect();
        gone
    })
}

/// The lines that read a key; none if anything may still set it.
fn reads_of<'h>(
    world: &World<'_>,
    gone: &Gone<'_>,
    hits: &[&'h HitLine],
) -> Option<Vec<&'h HitLine>> {
    let mut reads = Vec::new();
    for hit in hits {
        if Origin::of(&hit.path)
            .is_some_and(|it| it.key(&hit.path, &hit.text).is_some_and(|it| it.name == gone.key))
        {
            return None;
        }
        let Some(language) = Language::of_path(&hit.path) else {
            match paths::is_document(&hit.path) {
                true => continue,
                false => return None,
            }
        };
        if is_foreign(&hit.path) {
            continue;
        }
        match gone.origin.mention(&hit.path, &hit.text, &gone.key) {
            Mention::Read { at, has_fallback } => {
                if paths::is_sample(&hit.path) || has_fallback && !gone.is_renamed {
                    continue;
                }
                let text = text(world, &hit.path)?;
                let is_taken = match gone.origin {
                    Origin::Django => text.contains("from django.conf import settings"),
                    Origin::Environment | Origin::Data => true,
                };
                if !is_taken {
                    return None;
                }
                if is_code(language, &text, hit.line, at) {
                    reads.push(*hit);
                }
            }
            Mention::Sets => return None,
            Mention::Unclear(at) => {
                if gone.origin != Origin::Environment
                    && is_code(language, &text(world, &hit.path)?, hit.line, at)
                {
                    return None;
                }
            }
            Mention::Unrelated => {}
        }
    }
    Some(reads)
}

fn text(world: &World<'_>, path: &str) -> Option<String> {
    String::from_utf8(world.project.file(Side::New, path).ok()??).ok()
}

/// Whether a place in a text is code, rather than in a comment or a string.
fn is_code(language: Language, text: &str, line: u32, column: usize) -> bool {
    let Ok(parsed) = Parsed::new(language, text) else { return false };
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

/// What is said: at a read if the change touches its file, otherwise where the key was.
fn lost(world: &World<'_>, change: &Change<'_>, gone: &Gone<'_>, reads: &[&HitLine]) -> Found {
    let is_touched = |hit: &&&HitLine| change.files.iter().any(|it| it.path == hit.path);
    let here = reads.iter().find(is_touched).copied();
    let path = gone.file.before.as_deref().unwrap_or(&gone.file.path);
    let mut found = match here {
        Some(hit) => Found::new(&CONFIG_KEY, &hit.path, hit.line, &hit.text),
        None => at_the_loss(world, gone, path),
    };
    let others = reads.iter().filter(|it| Some(**it) != here);
    let witnesses = others.take(WITNESSES_MAX);
    found.witnesses = witnesses.map(|it| (it.path.clone(), it.line, it.text.clone())).collect();
    let key = &gone.key;
    let first = reads.first().map(|it| format!("`{}` line {}", it.path, it.line));
    let title = match reads.len() {
        1 => format!("`{key}` is set nowhere any more, and 1 place still reads it"),
        more => format!("`{key}` is set nowhere any more, and {more} places still read it"),
    };
    found.saying(
        title,
        format!(
            "The change takes `{key}` out of `{path}`, no other file sets it, and {} still reads it by that name. Whoever sets up the program by these files runs it without the value.",
            first.unwrap_or_default()
        ),
        format!("Keep `{key}`, or change every place that reads it."),
    )
}

fn at_the_loss(world: &World<'_>, gone: &Gone<'_>, path: &str) -> Found {
    let text = |side, path: &str| -> String {
        let bytes = world.project.file(side, path).ok().flatten();
        bytes.and_then(|it| String::from_utf8(it).ok()).unwrap_or_default()
    };
    let before = text(Side::Old, path);
    let is_it = |line: &str| gone.origin.key(path, line).is_some_and(|it| it.name == gone.key);
    let (number, line) = (1..).zip(before.lines()).find(|(_, it)| is_it(it)).unwrap_or((1, ""));
    match gone.file.became(number) {
        Became::Another(number) | Became::Itself(number) if !gone.file.is_deleted => {
            let after = text(Side::New, &gone.file.path);
            let at = usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1);
            let line = after.lines().nth(at).unwrap_or_default();
            Found::new(&CONFIG_KEY, &gone.file.path, number, line)
        }
        Became::Another(_) | Became::Itself(_) | Became::Nothing => {
            let found = Found::new(&CONFIG_KEY, &gone.file.path, number, line);
            Found { side: Some(Side::Old), ..found }
        }
    }
}
