//! Imports of what is not there.

use std::collections::BTreeSet;

use super::crates::Makers;
use super::ignored::is_ignored;
use super::modules::{Met, met, normal};
use super::reason::{Family, Reason, is_foreign};
use super::world::{World, below, folder};
use super::{crates, package, say};
use crate::found::Found;
use crate::{ChangedFile, paths};
use crh_review::finding::Side;
use crh_syntax::{Take, Taken};

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
    let old = file.before.as_deref().and_then(|before| world.unit(Side::Old, before));
    // A module that is not there is one thing to say, however many names are taken from it.
    let mut said = BTreeSet::new();
    // What a test loads in passing, without a name for it, may be meant to fail.
    let is_test = reason.family == Family::Script && paths::is_sample(&file.path);
    let may_fail = |it: &Take| is_test && it.what == Taken::Module && it.local.is_none();
    for take in unit.surface.takes.iter().filter(|it| !it.is_guarded && !may_fail(it)) {
        let same = |it: &&Take| it.module == take.module && it.what == take.what;
        let was = old.as_ref().and_then(|old| old.surface.takes.iter().find(same));
        let Some(line) = touched(file, take, was.is_none()).or(moved.map(|_| take.line)) else {
            continue;
        };
        let is_module = reason.family == Family::Rust && say::is_module(unit.line(take.line));
        let gone = match now(world, reason, take, is_module) {
            Met::Absent if is_module => None,
            Met::In(_) | Met::Unknown | Met::Absent => continue,
            Met::NoModule => None,
            Met::NoName(module) => Some(module),
        };
        let before = file.before.as_deref().unwrap_or(&file.path);
        let is_old = was.is_some_and(|was| {
            !matches!(met(world, Side::Old, reason.family, before, was), Met::In(_))
        });
        if is_old || gone.is_none() && is_left_out(world, reason.family, &file.path, take) {
            continue;
        }
        let missing = say::missing(file, take, gone.as_deref(), line, unit.line(line));
        if said.insert(missing.title.clone()) {
            found.push(missing);
        }
    }
}

/// The line of an import that the change touches: its own, or one of its statement if the import was not there before.
fn touched(file: &ChangedFile, take: &Take, is_new: bool) -> Option<u32> {
    if file.adds(take.line) {
        return Some(take.line);
    }
    let (first, last) = take.statement;
    let from = file.added.partition_point(|it| it.number < first);
    let added = file.added.get(from).map(|it| it.number)?;
    (is_new && added <= last).then_some(added)
}

fn now(world: &World<'_>, reason: &Reason<'_>, take: &Take, is_module: bool) -> Met {
    let file = reason.file;
    match reason.family {
        Family::Go => package::met(world, &file.path, take),
        Family::Rust => match &take.what {
            Taken::Name(name) => {
                let path = format!("{}::{name}", take.module);
                // A module has a file, whatever macros make.
                let makers = if is_module { Makers::Known } else { Makers::Count };
                crates::met(world, Side::New, makers, &file.path, &path)
            }
            Taken::Module | Taken::All => Met::Unknown,
        },
        Family::Python | Family::Script | Family::Java | Family::Ruby => {
            met(world, Side::New, reason.family, &file.path, take)
        }
    }
}

/// Whether a module that is not there is one that the repository leaves out on purpose.
fn is_left_out(world: &World<'_>, family: Family, from: &str, take: &Take) -> bool {
    let ignored = |path: String| is_ignored(world, &path);
    match family {
        Family::Script => normal(folder(from), &take.module).is_some_and(|path| {
            let stem = [".js", ".jsx", ".mjs", ".cjs"].iter().find_map(|it| path.strip_suffix(it));
            let stem = stem.unwrap_or(&path);
            let endings = ["", "/index.js", "/index.ts", ".js", ".ts", ".tsx", ".d.ts", ".mjs"];
            ignored(path.clone()) || endings.iter().any(|it| ignored(format!("{stem}{it}")))
        }),
        Family::Ruby => normal(folder(from), &take.module)
            .is_some_and(|path| ignored(path.clone()) || ignored(format!("{path}.rb"))),
        Family::Python => {
            let module = take.module.trim_start_matches('.').replace('.', "/");
            let mut home = folder(from);
            // From which folder it counts is not told, so that any will do.
            loop {
                if ignored(below(home, &format!("{module}.py")))
                    || ignored(below(home, &format!("{module}/__init__.py")))
                {
                    return true;
                }
                if home.is_empty() {
                    return false;
                }
                home = folder(home);
            }
        }
        Family::Go | Family::Java | Family::Rust => false,
    }
}
