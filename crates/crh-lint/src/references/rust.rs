//! Rust: which file a path leads to, by the folders of a crate, and whether the name is there.

use std::collections::{BTreeSet, HashMap};

use super::lost::{Lost, What, stem};
use super::modules::Met;
use super::world::{Index, Unit, World, below, folder};
use crate::Project;
use crh_review::finding::Side;
use crh_syntax::{OfferKind, Taken};

/// How often a name is followed from module to module.
const HOPS_MAX: usize = 6;

/// The most manifests that are read: no workspace comes near it.
const MANIFESTS_MAX: usize = 1_000;

/// Where a path has led so far: a file, and a module inside it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Spot {
    file: String,
    within: String,
    /// The folder in which the modules below are.
    folder: String,
}

/// Whether macros that a file has on both sides of the change count as a reason not to trust the list of its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Makers {
    /// They do: the name may always have been made by one.
    Count,
    /// They do not: the name was defined beside them before, so that none of them makes it.
    Known,
}

/// Whether a path that is written in a file leads to something.
pub(super) fn met(world: &World<'_>, side: Side, makers: Makers, from: &str, path: &str) -> Met {
    let Ok(index) = world.index(side) else { return Met::Unknown };
    let segments: Vec<&str> = path.split("::").filter(|it| !it.is_empty()).collect();
    let home = source_folder(index, from);
    let (start, rest) = match (segments.split_first(), home) {
        (Some((&"crate", rest)), Some(home)) => (root(world, side, &home, from), rest),
        (Some((&("self" | "super"), _)), Some(home)) => {
            let ups = segments.iter().take_while(|it| **it == "super").count();
            let skip = if segments[0] == "self" { 1 } else { ups };
            (above(world, side, &home, from, ups), &segments[skip..])
        }
        (None, _) | (Some((&("crate" | "self" | "super"), _)), None) => return Met::Unknown,
        (Some((first, rest)), home) => {
            // A module of the file's own comes first.
            let is_own = world.unit(side, from).is_none_or(|unit| {
                let takes = unit.surface.takes.iter().filter(|it| it.module == "self");
                let mut modules = takes.filter_map(|it| it.local.as_deref());
                let mut offers = unit.surface.offers.iter();
                modules.any(|it| it == *first)
                    || offers.any(|it| {
                        it.name == *first && it.kind != OfferKind::PassedOn && !it.is_associated()
                    })
            });
            match (is_own, home) {
                (true, Some(home)) => (above(world, side, &home, from, 0), segments.as_slice()),
                (true, None) => return Met::Unknown,
                (false, _) => (library(world, side, first), rest),
            }
        }
    };
    let Some(start) = start else { return Met::Unknown };
    follow(world, side, makers, start, rest)
}

/// The library of a crate of this repository.
fn library(world: &World<'_>, side: Side, name: &str) -> Option<Spot> {
    let home = below(world.crates(side).get(name)?, "src");
    let file = below(&home, "lib.rs");
    let is_there = world.index(side).is_ok_and(|it| it.has(&file));
    is_there.then(|| Spot { file, within: String::new(), folder: home })
}

/// The crates of a side by the name that code knows them by, with their folders. A name that two have is left out.
pub(super) fn crates(project: &dyn Project, side: Side, index: &Index) -> HashMap<String, String> {
    let manifests = index.stems.get("Cargo").into_iter().flatten();
    // What has no library, such as a sample among tests, is taken from by nobody.
    let has_library = |it: &&String| index.has(&below(folder(it), "src/lib.rs"));
    let manifests = manifests.filter(|it| it.ends_with("Cargo.toml")).filter(has_library);
    let manifests = manifests.take(MANIFESTS_MAX);
    let mut crates: HashMap<String, Option<String>> = HashMap::new();
    for path in manifests {
        let text =
            project.file(side, path).ok().flatten().and_then(|it| String::from_utf8(it).ok());
        let Some(name) = text.as_deref().and_then(crate_name) else { continue };
        let home = Some(folder(path).to_owned());
        crates.entry(name).and_modify(|it| *it = None).or_insert(home);
    }
    crates.into_iter().filter_map(|(name, home)| Some((name, home?))).collect()
}

/// The name that code knows a crate by; none if its library is not where libraries are.
fn crate_name(manifest: &str) -> Option<String> {
    let table: toml::Table = manifest.parse().ok()?;
    let package = table.get("package")?.get("name")?.as_str()?;
    let library = table.get("lib");
    if library.and_then(|it| it.get("path")).is_some_and(|it| it.as_str() != Some("src/lib.rs")) {
        return None;
    }
    let name = library.and_then(|it| it.get("name")).and_then(toml::Value::as_str);
    Some(name.unwrap_or(package).replace('-', "_"))
}

fn follow(world: &World<'_>, side: Side, makers: Makers, start: Spot, segments: &[&str]) -> Met {
    let Ok(index) = world.index(side) else { return Met::Unknown };
    let mut spot = start;
    for (at, segment) in segments.iter().enumerate() {
        if *segment == "super" || *segment == "self" {
            return Met::Unknown;
        }
        let is_last = at + 1 == segments.len();
        let Some(unit) = world.unit(side, &spot.file) else { return Met::Unknown };
        let inside =
            unit.surface.offers.iter().find(|it| it.name == *segment && it.within == spot.within);
        if let Some(offer) = inside
            && (is_last || offer.kind != OfferKind::Module)
        {
            return Met::In(spot.file);
        }
        if let Some(next) = child(index, &spot, segment) {
            if is_last {
                return Met::In(next.file);
            }
            spot = next;
            continue;
        }
        if inside.is_some() {
            let within = if spot.within.is_empty() {
                (*segment).to_owned()
            } else {
                format!("{}::{segment}", spot.within)
            };
            spot = Spot { within, ..spot };
            continue;
        }
        return by_globs(world, side, makers, &spot, segment);
    }
    Met::In(spot.file)
}

/// Whether a module has a name because it passes on all that another has.
fn by_globs(world: &World<'_>, side: Side, makers: Makers, spot: &Spot, name: &str) -> Met {
    let (mut seen, mut waiting) = (BTreeSet::new(), vec![spot.file.clone()]);
    while let Some(file) = waiting.pop() {
        if !seen.insert(file.clone()) {
            continue;
        }
        let Some(unit) = world.unit(side, &file) else { return Met::Unknown };
        let surface = &unit.surface;
        if surface
            .offers
            .iter()
            .filter(|it| it.name == name && !it.is_associated())
            .any(|it| file != spot.file || it.within == spot.within)
        {
            return Met::In(file);
        }
        let is_open = surface.is_open && (makers == Makers::Count || !makes_the_same(world, &file));
        if is_open || surface.has_errors || seen.len() > HOPS_MAX || !spot.within.is_empty() {
            return Met::Unknown;
        }
        for take in surface.takes.iter().filter(|it| it.what == Taken::All) {
            let Met::In(next) = met(world, side, makers, &file, &take.module) else {
                return Met::Unknown;
            };
            waiting.push(next);
        }
    }
    // A macro is at the root of its crate, wherever it is defined.
    let is_root = spot.file.ends_with("lib.rs") || spot.file.ends_with("main.rs");
    if is_root
        && name.chars().all(|it| it.is_lowercase() || it == '_' || it.is_ascii_digit())
        && side == Side::New
    {
        return Met::Absent;
    }
    Met::NoName(spot.file.clone())
}

/// Whether nothing else can be meant by `Type::name`: no trait or macro gives the type something of that name, and the type itself is the same.
pub(super) fn is_nowhere_else(
    world: &World<'_>,
    lost: &Lost<'_>,
    owner: &str,
    hits: &BTreeSet<String>,
) -> bool {
    let [old, new] = [(Side::Old, lost.path), (Side::New, lost.file.path.as_str())]
        .map(|(side, path)| world.unit(side, path));
    let (Some(old), Some(new)) = (old, new) else { return false };
    let kind = |unit: &Unit| {
        let mut offers = unit.surface.offers.iter();
        offers.find(|it| it.name == owner && it.within.is_empty()).map(|it| it.kind)
    };
    // What is derived may have functions of its own.
    let derived = |text: &str| text.lines().filter(|it| it.contains("derive(")).count();
    let is_same = kind(&old) == Some(OfferKind::Type)
        && kind(&new) == Some(OfferKind::Type)
        && derived(&old.text) == derived(&new.text)
        && old.surface.makers == new.surface.makers;
    let is_other = |it: &String| *it != lost.file.path || matches!(lost.what, What::Name);
    let name = lost.name.as_str();
    let defines = |line: &str| {
        ["fn ", "const ", "type "].iter().any(|word| {
            let rest = line.split(word).nth(1).and_then(|it| it.strip_prefix(name));
            rest.is_some_and(|it| !it.starts_with(|it: char| it.is_alphanumeric() || it == '_'))
        })
    };
    let may_define = |path: &&String| {
        world.unit(Side::New, path).is_none_or(|unit| unit.text.lines().any(defines))
    };
    let mut files = hits.iter().filter(|it| it.ends_with(".rs") && is_other(it));
    is_same && !files.any(|it| may_define(&it))
}

/// Whether what makes names in a file is what did so before the change.
pub(super) fn makes_the_same(world: &World<'_>, file: &str) -> bool {
    let [old, new] = [Side::Old, Side::New].map(|side| world.unit(side, file));
    matches!((old, new), (Some(old), Some(new)) if old.surface.makers == new.surface.makers)
}

/// Whether a name that was taken from elsewhere means something without being taken, as that of a crate, a macro or a number does.
pub(super) fn may_be_outside(world: &World<'_>, lost: &Lost<'_>) -> bool {
    let was_taken = world.unit(Side::Old, lost.path).is_some_and(|unit| {
        let mut offers = unit.surface.offers.iter();
        offers.any(|it| it.name == lost.name && it.kind == OfferKind::PassedOn)
    });
    was_taken && lost.name.starts_with(char::is_lowercase)
}

/// Whether the module above a file names it; one that nobody names is never compiled. In doubt it is.
pub(super) fn is_built(world: &World<'_>, path: &str) -> bool {
    let Ok(index) = world.index(Side::New) else { return true };
    let name = stem(path);
    let is_root = matches!(path.rsplit('/').next(), Some("lib.rs" | "main.rs"));
    let parent = source_folder(index, path)
        .filter(|_| !is_root)
        .and_then(|home| above(world, Side::New, &home, path, 1))
        .and_then(|parent| world.unit(Side::New, &parent.file));
    parent.is_none_or(|parent| {
        parent.surface.is_open
            || parent.surface.takes.iter().any(|it| it.local.as_deref() == Some(name.as_str()))
    })
}

/// The folder `src` of the crate around a file that belongs to its main part, or that of another program which has modules of its own.
fn source_folder(index: &Index, from: &str) -> Option<String> {
    let mut root = folder(from);
    while !index.has(&below(root, "Cargo.toml")) {
        if root.is_empty() {
            return None;
        }
        root = folder(root);
    }
    let home = below(root, "src");
    let rest = from.strip_prefix(&home)?.strip_prefix('/')?;
    let Some(program) = rest.strip_prefix("bin/") else { return Some(home) };
    let (program, _) = program.split_once('/')?;
    let home = below(&home, &format!("bin/{program}"));
    index.has(&below(&home, "main.rs")).then_some(home)
}

/// The root of the crate that a file belongs to: of the two that a folder can have, the one that has its module.
fn root(world: &World<'_>, side: Side, home: &str, from: &str) -> Option<Spot> {
    let index = world.index(side).ok()?;
    let [library, program] = ["lib.rs", "main.rs"].map(|it| below(home, it));
    let file = match (index.has(&library), index.has(&program)) {
        (true, true) if from == program => program,
        (true, true) if from != library => {
            let rest = from.strip_prefix(home)?.trim_start_matches('/');
            let first = rest.split('/').next()?.trim_end_matches(".rs");
            let has = |root: &str| {
                let unit = world.unit(side, root);
                unit.is_some_and(|unit| {
                    let mut takes = unit.surface.takes.iter();
                    takes.any(|it| it.module == "self" && it.local.as_deref() == Some(first))
                })
            };
            match (has(&library), has(&program)) {
                (true, false) => library,
                (false, true) => program,
                (true, true) | (false, false) => return None,
            }
        }
        (true, _) => library,
        (false, true) => program,
        (false, false) => return None,
    };
    Some(Spot { file, within: String::new(), folder: home.to_owned() })
}

/// The module of a file, or one that is so many above it.
fn above(world: &World<'_>, side: Side, home: &str, from: &str, ups: usize) -> Option<Spot> {
    let index = world.index(side).ok()?;
    let rest = from.strip_prefix(home)?.strip_prefix('/')?.strip_suffix(".rs")?;
    let mut parts: Vec<&str> = rest.split('/').collect();
    if matches!(parts.last(), Some(&("mod" | "lib" | "main"))) {
        parts.pop();
    }
    for _ in 0..ups {
        parts.pop()?;
    }
    let folder = parts.iter().fold(home.to_owned(), |folder, part| below(&folder, part));
    if parts.is_empty() {
        return root(world, side, home, from);
    }
    let files = [format!("{folder}.rs"), below(&folder, "mod.rs")];
    let file = files.into_iter().find(|it| index.has(it))?;
    Some(Spot { file, within: String::new(), folder })
}

fn child(index: &Index, spot: &Spot, name: &str) -> Option<Spot> {
    let inside = spot.within.split("::").filter(|it| !it.is_empty());
    let folder = inside.fold(spot.folder.clone(), |folder, part| below(&folder, part));
    let folder = below(&folder, name);
    let files = [format!("{folder}.rs"), below(&folder, "mod.rs")];
    let file = files.into_iter().find(|it| index.has(it))?;
    Some(Spot { file, within: String::new(), folder })
}
