//! What is said about what breaks, and where it is said: at the use if the change touches its file, otherwise at what is gone.

use std::collections::BTreeSet;
use std::collections::HashMap;

use crh_review::finding::Side;
use crh_syntax::Take;
use crh_syntax::Taken;

use super::ARITY;
use super::MISSING_IMPORT;
use super::REMOVED;
use super::lost::Lost;
use super::lost::What;
use super::reason::Family;
use super::uses::Break;
use super::world::World;
use super::world::folder;
use crate::ChangedFile;
use crate::found::Found;

/// The most places that are quoted; the reader looks at the first ones.
const WITNESSES_MAX: usize = 5;

/// Something was lost, and these places go by it.
pub(super) fn broken(
    world: &World<'_>,
    changed: &HashMap<&str, &ChangedFile>,
    lost: &Lost<'_>,
    places: &BTreeSet<Break>,
) -> Found {
    let here = places.iter().find(|it| changed.contains_key(it.path.as_str()));
    let rule = match lost.what {
        What::Name | What::Module => &REMOVED,
        What::Shape { .. } => &ARITY,
    };
    let mut found = match here {
        Some(place) => Found::new(rule, &place.path, place.line, &place.text),
        None => at_the_loss(world, rule, lost),
    };
    let others = places.iter().filter(|it| Some(*it) != here);
    found.witnesses =
        others.take(WITNESSES_MAX).map(|it| (it.path.clone(), it.line, it.text.clone())).collect();
    let count = match places.len() {
        1 => "1 place".to_owned(),
        more => format!("{more} places"),
    };
    let quoted = found.witnesses.len() + usize::from(here.is_some());
    let more = match places.len() - quoted {
        0 => String::new(),
        more => format!(" {more} more are not listed."),
    };
    let path = match (&lost.what, lost.family) {
        (What::Module, Family::Go) => folder(lost.path),
        _ => lost.path,
    };
    let name = &lost.name;
    let first = places
        .iter()
        .next()
        .map(|it| format!("`{}` line {}", it.path, it.line))
        .unwrap_or_default();
    let (title, why, fix) = match &lost.what {
        What::Name => (
            format!("`{name}` is gone, and {count} still use it"),
            format!(
                "The change takes `{name}` out of `{path}`, but {first} still refers to it and nothing else there has that name. That code fails as soon as it is built, imported or run.{more}"
            ),
            format!("Keep `{name}`, or change every place that uses it."),
        ),
        What::Module => (
            format!("`{path}` is gone, and {count} still import it"),
            format!(
                "The change deletes or moves `{path}`, but {first} still imports it from there. That import fails.{more}"
            ),
            format!("Keep `{path}`, or change every import of it."),
        ),
        What::Shape { .. } => (
            format!("Calls of `{name}` do not fit its parameters any more: {count}"),
            format!(
                "The change gives `{name}` in `{path}` other parameters, but the call at {first} still has the arguments of before. That call fails.{more}"
            ),
            format!("Change the calls, or let `{name}` take what they give."),
        ),
    };
    let one = places.len() == 1;
    let title = if one {
        title.replace("still use ", "still uses ").replace("still import ", "still imports ")
    } else {
        title
    };
    found.saying(title, why, fix)
}

/// Where the author sees what was lost: at the new signature, next to the gap, or on the deleted line.
fn at_the_loss(world: &World<'_>, rule: &crate::Rule, lost: &Lost<'_>) -> Found {
    let path = &lost.file.path;
    let after = (!lost.file.is_deleted).then(|| world.unit(Side::New, path)).flatten();
    let before = world.unit(Side::Old, lost.path);
    if let (What::Shape { line, .. }, Some(after)) = (&lost.what, &after) {
        return Found::new(rule, path, *line, after.line(*line));
    }
    match (after, before) {
        (Some(after), Some(before)) => {
            let line = gap(&before.text, lost.line, &after.text);
            Found::new(rule, path, line, after.line(line))
        }
        (_, before) => {
            let text = before.as_ref().map_or("", |it| it.line(lost.line));
            Found { side: Some(Side::Old), ..Found::new(rule, lost.path, lost.line, text) }
        }
    }
}

/// The line after the change that stands where a line of before stood: behind the nearest one above that is still there, and there alone.
pub(super) fn gap(before: &str, line: u32, after: &str) -> u32 {
    let mut places: HashMap<&str, (u32, usize)> = HashMap::new();
    for (number, text) in (1..).zip(after.lines()) {
        places.entry(text).or_insert((number, 0)).1 += 1;
    }
    let above: Vec<&str> = before
        .lines()
        .take(usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1))
        .collect();
    let kept = above
        .iter()
        .rev()
        .filter(|it| !it.trim().is_empty())
        .find_map(|text| places.get(text).filter(|it| it.1 == 1));
    kept.map_or(1, |(number, _)| *number)
}

/// An import of what is not there.
pub(super) fn missing(file: &ChangedFile, take: &Take, without: Option<&str>, text: &str) -> Found {
    let module = &take.module;
    let (title, why) = match (&take.what, without) {
        (Taken::Name(name), Some(path)) => (
            format!("`{name}` is imported, and `{path}` does not have it"),
            format!(
                "`{path}` neither defines nor passes on `{name}`. The import fails, and with it the whole file."
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
                "No file of this repository is what `{module}` means from here. The import fails, and with it the whole file."
            ),
        ),
    };
    Found::new(&MISSING_IMPORT, &file.path, take.line, text).saying(
        title,
        why,
        "Import what is there, or add what is missing.",
    )
}
