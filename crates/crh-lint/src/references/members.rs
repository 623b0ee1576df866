//! Methods that a class has lost and still calls on itself, in Python, JavaScript and TypeScript.

use crh_review::finding::Side;
use crh_syntax::Class;
use crh_syntax::Language;
use crh_syntax::Parsed;

use super::REMOVED;
use super::reason::Family;
use super::reason::Reason;
use super::reason::is_method;
use super::world::World;
use crate::found::Found;

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
            for (name, line) in gone(was, class) {
                if is_nowhere(world, reason.family, name) {
                    let text = new.line(line);
                    found.push(Found::new(&REMOVED, &file.path, line, text).saying(
                        format!("`{}` calls its method `{name}`, which is gone", class.name),
                        format!("The change takes `{name}` out of `{}`, which inherits from nothing and still calls it. That call fails.", class.name),
                        format!("Keep `{name}`, or change the call."),
                    ));
                }
            }
        }
    }
}

/// Whether a method may be among what the diff takes away.
fn loses_a_method(reason: &Reason<'_>) -> bool {
    let mut removed = reason.file.removed.iter().filter_map(|it| std::str::from_utf8(it).ok());
    !reason.file.is_deleted && removed.any(|it| is_method(reason.family, it))
}

/// The methods that a class had and does not have, with the first line that calls each.
fn gone<'c>(was: &Class, class: &'c Class) -> Vec<(&'c str, u32)> {
    let mut gone: Vec<(&str, u32)> = Vec::new();
    for (name, line) in &class.calls {
        let is_lost = !class.names.contains(name) && was.methods.iter().any(|it| it.0 == *name);
        if is_lost && !gone.iter().any(|it| it.0 == name) {
            gone.push((name, *line));
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
