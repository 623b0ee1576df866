//! C and C++: `#include "…"` of a file that the change deletes or moves.

use std::collections::BTreeSet;

use crh_review::finding::Side;
use crh_syntax::Language;

use super::ignored::is_ignored;
use super::modules::normal;
use super::reason::is_foreign;
use super::say;
use super::uses::Break;
use super::world::Index;
use super::world::World;
use super::world::folder;
use crate::Change;
use crate::ChangedFile;
use crate::found::Found;
use crate::source;

/// More lines than this with the name of a header, and it is a word like any other.
const HITS_MAX: usize = 2_000;

/// The most files that are followed: a change that takes away more has moved a whole library.
const FILES_MAX: usize = 100;

/// The files of C and C++ that the change deletes or moves.
pub(super) fn gone<'a>(change: &Change<'a>) -> Vec<(&'a ChangedFile, &'a str)> {
    let went = change.all.iter().filter_map(|file| {
        let before = file.before.as_deref()?;
        let is_gone = file.is_deleted || file.path != before;
        (is_gone && file.has_lines && is_c(before) && !is_foreign(before)).then_some((file, before))
    });
    went.take(FILES_MAX).collect()
}

fn is_c(path: &str) -> bool {
    let is_part = [".inc", ".inl", ".ipp", ".tcc"].iter().any(|it| path.ends_with(it));
    is_part || matches!(Language::of_path(path), Some(Language::C | Language::Cpp))
}

/// Finds what still includes them.
pub(super) fn broken(
    world: &World<'_>,
    gone: &[(&ChangedFile, &str)],
    found: &mut Vec<Found>,
) -> Result<(), String> {
    for (file, before) in gone {
        let (old, new) = (world.index(Side::Old)?, world.index(Side::New)?);
        let name = before.rsplit('/').next().unwrap_or(before);
        let stem = name.split('.').next().unwrap_or(name);
        let words = stem.split(|it: char| !(it.is_alphanumeric() || it == '_'));
        let Some(word) = words.max_by_key(|it| it.len()).filter(|it| !it.is_empty()) else {
            continue;
        };
        let hits = world.project.search(Side::New, &[word], HITS_MAX)?;
        if new.has(before) || !hits.is_all || is_ignored(world, before) {
            continue;
        }
        let includes = hits.lines.into_iter().filter(|it| {
            let path = included(&it.text).filter(|path| path.rsplit('/').next() == Some(name));
            let is_user = is_c(&it.path) && !is_foreign(&it.path);
            is_user && path.is_some_and(|path| is_lost(old, new, &it.path, path, before))
        });
        let certain = includes.filter(|it| is_certain(world, &it.path, it.line));
        let places: BTreeSet<Break> =
            certain.map(|it| Break { path: it.path, line: it.line, text: it.text }).collect();
        if !places.is_empty() {
            found.push(say::gone(world, file, before, &places));
        }
    }
    Ok(())
}

/// What a line includes by a path in quotes.
fn included(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
    rest.trim_start().strip_prefix('"')?.split('"').next()
}

/// Whether an include meant the file before, by whatever folder it was found, and can mean no other after.
fn is_lost(old: &Index, new: &Index, from: &str, path: &str, before: &str) -> bool {
    let ends = |it: &str, path: &str| {
        it.strip_suffix(path).is_some_and(|above| above.is_empty() || above.ends_with('/'))
    };
    // Without what leads upwards, since that depends on where it starts.
    let plain = path.trim_start_matches("./").trim_start_matches("../");
    if plain.contains("..") {
        return false;
    }
    let near = normal(folder(from), path);
    let is_meant = near.as_deref() == Some(before)
        || old.files.iter().filter(|it| ends(it, plain)).map(String::as_str).eq([before]);
    is_meant && !new.files.iter().any(|it| ends(it, plain))
}

/// Whether a line is read by every compiler: it stands in no comment and under no condition but the guard of its file.
fn is_certain(world: &World<'_>, path: &str, line: u32) -> bool {
    let text = world.project.file(Side::New, path).ok().flatten().and_then(source::text);
    let Some(text) = text else { return false };
    let (mut depth, mut guards, mut is_comment, mut is_first) = (0_usize, 0_usize, false, true);
    for (number, row) in (1..).zip(text.lines()) {
        if number == line {
            return !is_comment && depth == guards;
        }
        let (opened, closed) = (row.rfind("/*"), row.rfind("*/"));
        is_comment = opened > closed || is_comment && closed.is_none();
        let Some(word) = row.trim_start().strip_prefix('#').map(str::trim_start) else { continue };
        if word.starts_with("if") {
            depth += 1;
            guards += usize::from(is_first && word.starts_with("ifndef"));
        } else if word.starts_with("endif") {
            depth = depth.saturating_sub(1);
            guards = guards.min(depth);
        }
        is_first = false;
    }
    false
}
