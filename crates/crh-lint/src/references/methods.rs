//! Methods that a class has lost and still calls on itself, in Python, JavaScript and TypeScript.

use super::reason::{Family, Reason, is_method};
use super::world::World;
use super::{REMOVED, say};
use crate::found::Found;
use crh_review::finding::Side;
use crh_syntax::{Class, Language, Parsed};

/// More lines than this with the name of a method, and it is a word like any other.
const HITS_MAX: usize = 500;

/// Finds calls of methods that their class has no more.
pub(super) fn broken(world: &World<'_>, reasons: &[Reason<'_>], found: &mut Vec<Found>) {
    for reason in reasons.iter().filter(|it| it.may_lose && loses_a_method(it)) {
        let file = reason.file;
        let Some(before) = file.before.as_deref() else { continue };
        let texts = [(Side::Old, before), (Side::New, file.path.as_str())]
            .map(|(side, path)| world.unit(side, path).filter(|it| !it.surface.has_errors));
        let [Some(old), Some(new)] = texts else { continue };
        let Some(language) = Language::of_path(&file.path) else { continue };
        let [Ok(was), Ok(is)] = [&old.text, &new.text].map(|text| Parsed::new(language, text))
        else {
            continue;
        };
        let was = was.classes();
        for class in is.classes().iter().filter(|it| !it.is_open) {
            let mut same = was.iter().filter(|it| it.name == class.name && !it.is_open);
            let (Some(was), None) = (same.next(), same.next()) else { continue };
            for gone in gone(was, class) {
                let name = gone.name;
                if is_nowhere(world, reason.family, name) {
                    let call = (file.path.clone(), gone.call, new.line(gone.call).to_owned());
                    let found_at = say::in_place_of(world, &REMOVED, file, gone.definition);
                    found.push(Found { witnesses: vec![call], ..found_at }.saying(
                        format!("`{}` calls its method `{name}`, which is gone", class.name),
                        format!("The change takes `{name}` out of `{}`, which inherits from nothing and still calls it at `{}:{}`. That call fails.", class.name, file.path, gone.call),
                        format!("Keep `{name}`, or change the call."),
                    ));
                }
            }
        }
    }
}

/// Whether a method may be among what the diff takes away.
pub(super) fn loses_a_method(reason: &Reason<'_>) -> bool {
    let mut removed = reason.file.removed.iter().filter_map(|it| std::str::from_utf8(it).ok());
    !reason.file.is_deleted && removed.any(|it| is_method(reason.family, it))
}

/// A method that a class calls and has no more.
struct Gone<'c> {
    name: &'c str,
    /// Its line before the change.
    definition: u32,
    /// The first line that calls it.
    call: u32,
}

/// The methods that a class had and does not have.
fn gone<'c>(was: &Class, class: &'c Class) -> Vec<Gone<'c>> {
    let mut gone: Vec<Gone<'c>> = Vec::new();
    for (name, call) in &class.calls {
        let lost = was.methods.iter().find(|it| it.0 == *name);
        let Some((_, definition)) = lost.filter(|_| !class.names.contains(name)) else { continue };
        if !gone.iter().any(|it| it.name == name) {
            gone.push(Gone { name, definition: *definition, call: *call });
        }
    }
    gone
}

/// Whether nothing else in the repository defines the name, or writes it as a text: a class that inherits may have it.
fn is_nowhere(world: &World<'_>, family: Family, name: &str) -> bool {
    let Ok(hits) = world.project.search(Side::New, &[name], HITS_MAX) else { return false };
    let may_define = |text: &str| {
        text.match_indices(name).any(|(at, _)| {
            let (before, behind) = (&text[..at], text[at + name.len()..].trim_start());
            let is_reached = before.ends_with('.');
            let is_quoted = before.ends_with(['"', '\'', '`']);
            is_quoted || !is_reached && (behind.starts_with(['(', '=', ':', '<', '?']))
        })
    };
    let code = hits.lines.iter().filter(|it| Family::of(&it.path) == Some(family));
    hits.is_all && !code.into_iter().any(|it| may_define(&it.text))
}
