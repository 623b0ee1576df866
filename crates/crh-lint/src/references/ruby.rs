//! Ruby: constants are known everywhere, by their whole name or from within what is around them.

use std::collections::BTreeSet;

use super::lost::{Lost, What};
use super::modules::{Met, normal};
use super::uses::{Break, User};
use super::world::{World, folder};
use crate::paths;
use crh_review::finding::Side;
use crh_syntax::{OfferKind, Take, Use, UseRole};

/// Whether a file that is required by its place is there.
pub(super) fn met(world: &World<'_>, side: Side, from: &str, take: &Take) -> Met {
    let Ok(index) = world.index(side) else { return Met::Unknown };
    let Some(path) = normal(folder(from), &take.module) else { return Met::Unknown };
    let file = if path.ends_with(".rb") { path.clone() } else { format!("{path}.rb") };
    if index.has(&file) {
        return Met::In(file);
    }
    let above = folder(&path);
    let has_folder = above.is_empty() || index.folders.contains(above);
    // A folder of that name is none; something that is compiled or filled in may be.
    let dot = format!("{path}.");
    let alike = index.files.range(dot.clone()..).next().is_some_and(|it| it.starts_with(&dot));
    match (index.has(&path) || alike, has_folder) {
        (true, _) => Met::Unknown,
        (false, true) => Met::NoModule,
        (false, false) => Met::Absent,
    }
}

/// The places in a file that go by a constant that is gone, or by a method of one.
pub(super) fn breaks(
    world: &World<'_>,
    lost: &Lost<'_>,
    user: &User<'_>,
    hits: &BTreeSet<String>,
) -> BTreeSet<Break> {
    let is_constant = lost.name.starts_with(char::is_uppercase);
    if matches!(lost.what, What::Module)
        || is_known(&lost.name)
        || lost.within.is_empty() && !is_constant
    {
        return BTreeSet::new();
    }
    let around = lost.within.as_str();
    let is_path = |of: &str| {
        let of = of.trim_start_matches("::");
        of == around || around.strip_suffix(of).is_some_and(|before| before.ends_with("::"))
    };
    let is_inside = user.unit.surface.offers.iter().any(|it| {
        let whole = if it.within.is_empty() {
            it.name.clone()
        } else {
            format!("{}::{}", it.within, it.name)
        };
        whole == around || whole.starts_with(&format!("{around}::"))
    });
    // Tests take in the whole module, somewhere.
    let is_mixed_in = is_compound(&lost.name) && paths::is_sample(user.path);
    let is_broken = |it: &&Use| {
        let is_used = match (&it.role, &lost.what) {
            (UseRole::Called(given), What::Shape { before, after, .. }) => {
                !after.takes(given) && (before.takes(given) || user.adds(it.line))
            }
            (UseRole::Called(_), What::Name | What::Module) => true,
            (UseRole::Read, What::Name | What::Module) => is_constant,
            (UseRole::Read, What::Shape { .. }) => false,
            (UseRole::Bound | UseRole::Key | UseRole::Taken | UseRole::Written, _) => false,
        };
        let is_meant = match it.of.is_empty() {
            true => is_constant && (around.is_empty() || is_inside || is_mixed_in),
            false => !around.is_empty() && is_path(&it.of),
        };
        it.name == lost.name && is_used && is_meant && !user.unit.line(it.line).contains("defined?")
    };
    let places: BTreeSet<Break> =
        user.unit.uses.iter().filter(is_broken).map(|it| user.breaks(it.line)).collect();
    if places.is_empty() || !is_gone(world, lost, hits) {
        return BTreeSet::new();
    }
    places
}

/// Whether no file that has the word defines it, or may.
fn is_gone(world: &World<'_>, lost: &Lost<'_>, hits: &BTreeSet<String>) -> bool {
    let is_constant = lost.name.starts_with(char::is_uppercase);
    // What only changed its parameters is still there itself.
    let is_it = |path: &str, it: &crh_syntax::Offer| {
        matches!(lost.what, What::Shape { .. })
            && path == lost.file.path
            && it.within == lost.within
    };
    let files = hits.iter().filter(|it| it.ends_with(".rb"));
    let is_nowhere = files.into_iter().all(|path| {
        world.unit(Side::New, path).is_some_and(|unit| {
            !unit.surface.is_open
                && !unit.surface.has_errors
                && !unit.surface.offers.iter().any(|it| it.name == lost.name && !is_it(path, it))
        })
    });
    if is_constant || !is_nowhere {
        return is_nowhere;
    }
    // A method may be inherited or mixed in, unless what it belongs to is all there.
    let (around, own) = lost.within.rsplit_once("::").unwrap_or(("", &lost.within));
    let after = world.unit(Side::New, &lost.file.path).filter(|_| !lost.file.is_deleted);
    after.is_some_and(|unit| {
        let same = |it: &&crh_syntax::Offer| it.name == own && it.within == around;
        unit.surface.offers.iter().filter(same).all(|it| it.kind == OfferKind::Type)
            && unit.surface.offers.iter().any(|it| same(&it))
    })
}

/// Whether a name has several words, so that others hardly have it by chance.
fn is_compound(name: &str) -> bool {
    name.as_bytes()
        .windows(2)
        .filter(|it| !it[0].is_ascii_uppercase() && it[1].is_ascii_uppercase())
        .count()
        > 1
}

/// Whether a constant is there without this repository.
fn is_known(name: &str) -> bool {
    matches!(
        name,
        "Object"
            | "Module"
            | "Class"
            | "Kernel"
            | "String"
            | "Symbol"
            | "Array"
            | "Hash"
            | "Integer"
            | "Float"
            | "Numeric"
            | "Range"
            | "Regexp"
            | "Proc"
            | "Method"
            | "Time"
            | "Date"
            | "DateTime"
            | "File"
            | "Dir"
            | "IO"
            | "Process"
            | "Thread"
            | "Logger"
            | "Set"
            | "Struct"
            | "Comparable"
            | "Enumerable"
            | "Exception"
            | "StandardError"
            | "JSON"
            | "YAML"
            | "URI"
            | "Net"
            | "Rails"
            | "ActiveRecord"
            | "ActiveSupport"
            | "NilClass"
            | "Liquid"
            | "Rack"
            | "VERSION"
    )
}
