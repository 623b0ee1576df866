//! Java: a class is a file of its name in the folder of its package, and its methods are reached through its name.

use std::collections::BTreeSet;

use super::lost::{Lost, What};
use super::modules::Met;
use super::uses::{Break, User};
use super::world::{Index, World, folder};
use crh_review::finding::Side;
use crh_syntax::{OfferKind, Take, Taken, Use, UseRole};

/// More files than this that are not Java in one package, and it is not asked what they have.
const MIXED_MAX: usize = 100;

/// How far a class is followed to what it inherits from.
const HOPS_MAX: usize = 6;

/// Whether an import finds its class, or its member of a class.
pub(super) fn met(world: &World<'_>, side: Side, take: &Take) -> Met {
    let (Ok(index), Taken::Name(name)) = (world.index(side), &take.what) else {
        return Met::Unknown;
    };
    if let Some(path) = file(index, &take.module, name) {
        return Met::In(path.to_owned());
    }
    let (package, outer) = take.module.rsplit_once('.').unwrap_or(("", &take.module));
    if outer.starts_with(char::is_uppercase) {
        let Some(path) = file(index, package, outer) else { return Met::Unknown };
        let Some(unit) = world.unit(side, path) else { return Met::Unknown };
        if unit.surface.offers.iter().any(|it| it.within == outer && it.name == *name) {
            return Met::In(path.to_owned());
        }
        return match holds(world, side, path, outer, name) {
            Holds::All => Met::NoName(path.to_owned()),
            Holds::NotAll => Met::Unknown,
        };
    }
    let ending = take.module.replace('.', "/");
    let folders = index.folders.iter().filter(|it| ends_with(it, &ending));
    let files: Vec<&str> = folders.flat_map(|it| index.in_folder(it)).collect();
    // Any file of Kotlin may have any class of its package.
    let others = files.iter().filter(|it| !it.ends_with(".java"));
    let may_have = |path: &&&str| {
        let text = world.project.file(side, path).ok().flatten();
        text.is_none_or(|it| String::from_utf8_lossy(&it).contains(name.as_str()))
    };
    let is_mixed = others.clone().count() > MIXED_MAX || others.clone().any(|it| may_have(&it));
    // What a program writes has such names, or is written from such files.
    let is_made = index.has_schemas
        || name.contains('_')
        || ["Grpc", "Proto", "Generated", "Binding", "BuildConfig", "OuterClass"]
            .iter()
            .any(|it| name.ends_with(it));
    let is_absent = is_made || files.is_empty() || !name.starts_with(char::is_uppercase);
    match (is_mixed, is_absent) {
        (true, _) => Met::Unknown,
        (false, true) => Met::Absent,
        (false, false) => Met::NoModule,
    }
}

fn ends_with(folder: &str, ending: &str) -> bool {
    folder.strip_suffix(ending).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// The file of a class.
fn file<'i>(index: &'i Index, package: &str, name: &str) -> Option<&'i str> {
    let ending = package.replace('.', "/");
    let files =
        index.stems.get(name)?.iter().filter(|it| it.ends_with(".java") || it.ends_with(".kt"));
    files.map(String::as_str).find(|it| ends_with(folder(it), &ending))
}

/// Whether the text of a class shows all that can be meant by a name behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    All,
    NotAll,
}

/// Follows what the class inherits from, as far as that is in this repository.
fn holds(world: &World<'_>, side: Side, path: &str, class: &str, name: &str) -> Holds {
    let (mut path, mut class) = (path.to_owned(), class.to_owned());
    for hop in 0..HOPS_MAX {
        let Some(unit) = world.unit(side, &path) else { return Holds::NotAll };
        let surface = &unit.surface;
        let mut offers = surface.offers.iter();
        let own = offers.find(|it| it.name == class && it.within.is_empty());
        let Some(own) = own.filter(|_| !surface.is_open && !surface.has_errors) else {
            return Holds::NotAll;
        };
        let is_inherited = || surface.offers.iter().any(|it| it.within == class && it.name == name);
        let is_seen = match own.kind {
            OfferKind::Type => true,
            OfferKind::Implementer => name.starts_with(char::is_lowercase),
            OfferKind::Enumeration => is_constant(name),
            OfferKind::Function
            | OfferKind::OpenType
            | OfferKind::Module
            | OfferKind::Value
            | OfferKind::PassedOn => false,
        };
        if !is_seen || hop > 0 && is_inherited() {
            return Holds::NotAll;
        }
        let Some(above) = &own.extends else { return Holds::All };
        let Some(next) = inherited(world, side, &path, above) else { return Holds::NotAll };
        (path, class) = (next, above.clone());
    }
    Holds::NotAll
}

/// The file of a class that one in a file inherits from; none if it may be elsewhere.
fn inherited(world: &World<'_>, side: Side, from: &str, class: &str) -> Option<String> {
    let (unit, index) = (world.unit(side, from)?, world.index(side).ok()?);
    let surface = &unit.surface;
    if class.contains('.') || surface.offers.iter().any(|it| it.name == class) {
        return None;
    }
    let take = surface.takes.iter().find(|it| it.local.as_deref() == Some(class));
    let package = take.map(|it| &it.module).or(surface.package.as_ref())?;
    let path = file(index, package, class)?;
    // Not one of the same name in another part of the repository.
    let ending = package.replace('.', "/");
    let others = index.stems.get(class)?.iter().filter(|it| ends_with(folder(it), &ending));
    (others.count() == 1 && path.ends_with(".java")).then(|| path.to_owned())
}

/// Whether a name is written as constants are.
fn is_constant(name: &str) -> bool {
    name.len() > 1
        && name.chars().all(|it| it.is_ascii_uppercase() || it.is_ascii_digit() || it == '_')
}

/// The places in a file that go by what a class has lost, or by a class of its own package that is gone.
pub(super) fn breaks(world: &World<'_>, lost: &Lost<'_>, user: &User<'_>) -> BTreeSet<Break> {
    let none = BTreeSet::new();
    if lost.within.contains('.') || matches!(lost.what, What::Module) {
        return none;
    }
    let class = if lost.within.is_empty() { lost.name.as_str() } else { lost.within.as_str() };
    if !is_meant(world, lost, user, class) {
        return none;
    }
    if !lost.within.is_empty()
        && (lost.file.is_deleted
            || holds(world, Side::New, &lost.file.path, class, &lost.name) == Holds::NotAll)
    {
        return none;
    }
    let is_member = |it: &&Use| match lost.within.is_empty() {
        true => it.name == class && it.of.is_empty(),
        false => it.name == lost.name && it.of == class,
    };
    let is_gone_class = lost.within.is_empty() && matches!(lost.what, What::Name);
    // A gone class that is imported is said at the import.
    if is_gone_class
        && user
            .unit
            .surface
            .takes
            .iter()
            .any(|it| it.local.as_deref() == Some(class) || it.what == Taken::All)
    {
        return none;
    }
    let is_broken = |it: &&Use| match (&lost.what, &it.role) {
        (What::Name, UseRole::Called(_)) => true,
        (What::Name, UseRole::Read) => is_gone_class || is_constant(&lost.name),
        (What::Shape { before, after, .. }, UseRole::Called(given)) => {
            !after.takes(given) && (before.takes(given) || user.adds(it.line))
        }
        _ => false,
    };
    // `some.other.Name` is a class of that package.
    let dotted = format!(".{class}");
    let is_elsewhere = |it: &&Use| is_gone_class && user.unit.line(it.line).contains(&dotted);
    let uses = user.unit.uses.iter().filter(is_member).filter(|it| !is_elsewhere(it));
    uses.filter(is_broken).map(|it| user.breaks(it.line)).collect()
}

/// Whether a class's name means, in this file, the class that the lost thing belongs to.
fn is_meant(world: &World<'_>, lost: &Lost<'_>, user: &User<'_>, class: &str) -> bool {
    let surface = &user.unit.surface;
    let Some(before) = world.unit(Side::Old, lost.path) else { return false };
    let is_own = user.path == lost.file.path;
    let is_class = before.surface.offers.iter().any(|it| it.name == class && it.within.is_empty());
    // Only the class of the file's own name is found by others.
    if !is_class || lost.path.rsplit('/').next() != Some(&format!("{class}.java")) {
        return false;
    }
    let defined = surface.offers.iter().filter(|it| it.name == class).count();
    if defined > usize::from(is_own) || !is_own && !user.is_unbound(class) {
        return false;
    }
    let mut takes = surface.takes.iter().filter(|it| it.local.as_deref() == Some(class));
    if let Some(take) = takes.next() {
        return met(world, Side::Old, take) == Met::In(lost.path.to_owned())
            && takes.next().is_none();
    }
    let is_near = surface.package == before.surface.package && surface.package.is_some();
    let Ok(index) = world.index(Side::New) else { return false };
    let package = surface.package.as_deref().unwrap_or_default();
    let now = file(index, package, class);
    is_near && (now.is_none() || now == Some(&lost.file.path))
}
