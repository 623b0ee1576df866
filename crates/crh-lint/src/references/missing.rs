//! Imports of what is not there.

use crh_review::finding::Side;
use crh_syntax::Taken;

use super::crates;
use super::crates::Makers;
use super::modules::Met;
use super::modules::met;
use super::package;
use super::reason::Family;
use super::reason::Reason;
use super::reason::is_foreign;
use super::say;
use super::world::World;
use crate::found::Found;

/// Imports that the change adds, or moves, of what is not there.
pub(super) fn missing(world: &World<'_>, reason: &Reason<'_>, found: &mut Vec<Found>) {
    let file = reason.file;
    if file.is_deleted || is_foreign(&file.path) {
        return;
    }
    let Some(unit) = world.unit(Side::New, &file.path) else { return };
    if unit.surface.has_errors {
        return;
    }
    let moved = file.before.as_deref().filter(|before| *before != file.path);
    for take in unit.surface.takes.iter().filter(|it| !it.is_guarded) {
        let is_added = file.adds(take.line);
        if !is_added && moved.is_none() {
            continue;
        }
        let now = match reason.family {
            Family::Go => package::met(world, &file.path, take),
            Family::Rust => match &take.what {
                Taken::Name(name) => {
                    let path = format!("{}::{name}", take.module);
                    crates::met(world, Side::New, Makers::Count, &file.path, &path)
                }
                Taken::Module | Taken::All => Met::Unknown,
            },
            Family::Python | Family::Script | Family::Java | Family::Ruby => {
                met(world, Side::New, reason.family, &file.path, take)
            }
        };
        let gone = match now {
            Met::In(_) | Met::Unknown | Met::Absent => continue,
            Met::NoModule => None,
            Met::NoName(module) => Some(module),
        };
        let was = moved.map(|before| met(world, Side::Old, reason.family, before, take));
        if !is_added && !matches!(was, Some(Met::In(_))) {
            continue;
        }
        found.push(say::missing(file, take, gone.as_deref(), unit.line(take.line)));
    }
}
