//! What is said about what breaks, and where it is said: at what is gone, with the places that still go by it.

use std::collections::{BTreeSet, HashMap};

use super::lost::{Lost, What};
use super::reason::Family;
use super::uses::Break;
use super::world::{World, folder};
use super::{ARITY, MISSING_IMPORT, REMOVED};
use crate::change::Became;
use crate::found::Found;
use crate::{ChangedFile, source};
use crh_review::finding::Side;
use crh_syntax::{Take, Taken};

/// The most places that are quoted; the reader looks at the first ones.
const WITNESSES_MAX: usize = 5;

/// The most places that are named in the text: it is a sentence.
const LISTED_MAX: usize = 3;

/// Something was lost, and these places go by it.
pub(super) fn broken(
    world: &World<'_>,
    changed: &HashMap<&str, &ChangedFile>,
    lost: &Lost<'_>,
    places: &BTreeSet<Break>,
) -> Found {
    let found = match lost.what {
        What::Name | What::Module => at_the_loss(world, &REMOVED, lost),
        What::Shape { .. } => {
            // A call that the change itself writes is where its author looks.
            let adds =
                |it: &&Break| changed.get(it.path.as_str()).is_some_and(|file| file.adds(it.line));
            match places.iter().find(adds) {
                Some(place) => Found::new(&ARITY, &place.path, place.line, &place.text),
                None => at_the_loss(world, &ARITY, lost),
            }
        }
    };
    let found = Found { witnesses: witnesses(places), ..found };
    let count = counted(places);
    let path = match (&lost.what, lost.family) {
        (What::Module, Family::Go) => folder(lost.path),
        _ => lost.path,
    };
    let name = &lost.name;
    let listed = listed(places);
    let (title, why, fix) = match &lost.what {
        What::Name => (
            format!("`{name}` is gone, and {count} still use it"),
            format!(
                "The change takes `{name}` out of `{path}`, and nothing else there has that name. It is still used at {listed}. That code fails as soon as it is built, imported or run."
            ),
            format!("Keep `{name}`, or change every place that uses it."),
        ),
        What::Module => gone_file(path, places),
        What::Shape { .. } => (
            format!("Calls of `{name}` do not fit its parameters any more: {count}"),
            format!(
                "The change gives `{name}` in `{path}` other parameters. The arguments do not fit them at {listed}. Such a call fails."
            ),
            format!("Change the calls, or let `{name}` take what they give."),
        ),
    };
    let title = match places.len() {
        1 => title.replace("still use ", "still uses "),
        _ => title,
    };
    found.saying(title, why, fix)
}

/// What is said of a file that is gone.
fn gone_file(path: &str, places: &BTreeSet<Break>) -> (String, String, String) {
    let (count, listed) = (counted(places), listed(places));
    let (import, fails) = match places.len() {
        1 => ("imports", "That import fails"),
        _ => ("import", "Those imports fail"),
    };
    (
        format!("`{path}` is gone, and {count} still {import} it"),
        format!(
            "The change deletes or moves `{path}`. It is still imported from there at {listed}. {fails}."
        ),
        format!("Keep `{path}`, or change every import of it."),
    )
}

fn witnesses(places: &BTreeSet<Break>) -> Vec<(String, u32, String)> {
    let first = places.iter().take(WITNESSES_MAX);
    first.map(|it| (it.path.clone(), it.line, it.text.clone())).collect()
}

fn counted(places: &BTreeSet<Break>) -> String {
    match places.len() {
        1 => "1 place".to_owned(),
        more => format!("{more} places"),
    }
}

/// The first places in words, and how many there are more.
fn listed(places: &BTreeSet<Break>) -> String {
    let shown = places.iter().take(LISTED_MAX).map(|it| format!("`{}:{}`", it.path, it.line));
    let shown = shown.collect::<Vec<String>>().join(", ");
    match places.len().saturating_sub(LISTED_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Where the author sees what was lost: at the new signature, at the line that stands in its place, or on the line that is gone.
fn at_the_loss(world: &World<'_>, rule: &crate::Rule, lost: &Lost<'_>) -> Found {
    match lost.what {
        What::Shape { line, .. } => at(world, rule, lost.file, line),
        What::Module => at_the_top(world, rule, lost.file),
        What::Name => in_place_of(world, rule, lost.file, lost.line),
    }
}

/// The first line of a file with a text: where it is now, or where it was.
fn at_the_top(world: &World<'_>, rule: &crate::Rule, file: &ChangedFile) -> Found {
    let side = if file.is_deleted { Side::Old } else { Side::New };
    let text = world.project.file(side, &file.path).ok().flatten().and_then(source::text);
    let text = text.unwrap_or_default();
    let first = (1..).zip(text.lines()).find(|(_, it)| !it.trim().is_empty());
    let (line, text) = first.unwrap_or((1, ""));
    Found { side: file.is_deleted.then_some(side), ..Found::new(rule, &file.path, line, text) }
}

/// A finding at what stands in the place of a line of before.
pub(super) fn in_place_of(
    world: &World<'_>,
    rule: &crate::Rule,
    file: &ChangedFile,
    line: u32,
) -> Found {
    match file.became(line) {
        Became::Another(line) | Became::Itself(line) if !file.is_deleted => {
            at(world, rule, file, line)
        }
        Became::Another(_) | Became::Itself(_) | Became::Nothing => {
            let before = file.before.as_deref().unwrap_or(&file.path);
            let unit = world.unit(Side::Old, before);
            let text = unit.as_ref().map_or("", |it| it.line(line));
            // A file that moved goes by its new path on both sides.
            Found { side: Some(Side::Old), ..Found::new(rule, &file.path, line, text) }
        }
    }
}

fn at(world: &World<'_>, rule: &crate::Rule, file: &ChangedFile, line: u32) -> Found {
    let unit = world.unit(Side::New, &file.path);
    Found::new(rule, &file.path, line, unit.as_ref().map_or("", |it| it.line(line)))
}

/// Whether a line of Rust declares a module.
pub(super) fn is_module(line: &str) -> bool {
    let line = line.trim_start();
    let shown = line.strip_prefix("pub").map(|it| it.split_once(')').map_or(it, |(_, it)| it));
    shown.unwrap_or(line).trim_start().starts_with("mod ")
}

/// An import of what is not there.
pub(super) fn missing(
    file: &ChangedFile,
    take: &Take,
    without: Option<&str>,
    line: u32,
    text: &str,
) -> Found {
    let module = &take.module;
    let (title, why) = match (&take.what, without) {
        (Taken::Name(name), _) if module == "self" && is_module(text) => (
            format!("`mod {name}` is declared, and there is no file for it"),
            format!(
                "Neither `{name}.rs` nor `{name}/mod.rs` is where this module would be. The crate does not compile."
            ),
        ),
        (Taken::Name(name), Some(path)) => (
            format!("`{name}` is imported, and `{path}` does not have it"),
            format!(
                "`{path}` neither defines nor passes on `{name}`. The import fails as soon as it is reached."
            ),
        ),
        (Taken::Name(name), None) if Family::of(&file.path) == Some(Family::Java) => (
            format!("`{name}` is imported, and nothing of that name is in `{module}`"),
            format!(
                "The package `{module}` is in this repository and has no `{name}`. The import does not compile."
            ),
        ),
        (Taken::Name(_) | Taken::Module | Taken::All, _) => (
            format!("`{module}` is imported, and there is no such module"),
            format!(
                "No file of this repository is what `{module}` means from here. The import fails as soon as it is reached."
            ),
        ),
    };
    Found::new(&MISSING_IMPORT, &file.path, line, text).saying(
        title,
        why,
        "Import what is there, or add what is missing.",
    )
}
