//! What an import of Python, JavaScript or TypeScript means: which file it is of, and whether that file has the name.

use std::collections::BTreeSet;

use super::reason::Family;
use super::world::{Index, World, below, folder};
use super::{classes, constants, crates};
use crh_review::finding::Side;
use crh_syntax::{Take, Taken};

/// How often a name is followed from file to file: packages of packages of packages.
const HOPS_MAX: usize = 6;

/// Endings that an import of a script may leave out, the likely ones first.
const SCRIPT_ENDINGS: [&str; 9] =
    [".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts"];

/// What the module of an import is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Module {
    /// A file of this repository.
    File(String),
    /// Of this repository, and not there.
    Missing,
    /// Not there; it may well come from elsewhere.
    Absent,
    /// A folder that is a package without a file of its own.
    Folder,
    /// From elsewhere, or not to be told.
    Unknown,
}

/// Whether an import finds what it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Met {
    /// It does, and this file defines it.
    In(String),
    /// The module is not there, and should be.
    NoModule,
    /// The module is not there, and may be elsewhere.
    Absent,
    /// The module, this file, does not have the name.
    NoName(String),
    Unknown,
}

/// Whether an import in a file finds what it takes.
pub(super) fn met(world: &World<'_>, side: Side, family: Family, from: &str, take: &Take) -> Met {
    match family {
        Family::Java => return classes::met(world, side, take),
        Family::Ruby => return constants::met(world, side, from, take),
        Family::Python | Family::Script | Family::Go | Family::Rust => {}
    }
    if family == Family::Rust {
        let Taken::Name(name) = &take.what else { return Met::Unknown };
        let path = format!("{}::{name}", take.module);
        return crates::met(world, side, crates::Makers::Known, from, &path);
    }
    let Ok(index) = world.index(side) else { return Met::Unknown };
    let module = module(index, family, from, &take.module);
    match (&take.what, module) {
        (_, Module::Unknown) => Met::Unknown,
        (Taken::Name(name), Module::Folder) => {
            match self::module(index, family, from, &joined(&take.module, name)) {
                Module::File(path) => Met::In(path),
                Module::Missing => Met::NoModule,
                Module::Absent => Met::Absent,
                Module::Unknown | Module::Folder => Met::Unknown,
            }
        }
        (Taken::Module | Taken::All, Module::Folder) => Met::Unknown,
        (_, Module::Missing) => Met::NoModule,
        (_, Module::Absent) => Met::Absent,
        (Taken::Module | Taken::All, Module::File(path)) => Met::In(path),
        // Every module of Python has `__file__`, `__name__` and their like.
        (Taken::Name(name), Module::File(_))
            if family == Family::Python && name.starts_with("__") =>
        {
            Met::Unknown
        }
        (Taken::Name(name), Module::File(path)) => {
            let met = offered(world, side, family, &path, name);
            if family == Family::Python && matches!(met, Met::NoName(_)) {
                let below = self::module(index, family, from, &joined(&take.module, name));
                if let Module::File(path) = below {
                    return Met::In(path);
                }
                if has_anything(index, folder(&path), name) && path.ends_with("__init__.py") {
                    return Met::Unknown;
                }
            }
            met
        }
    }
}

fn joined(module: &str, name: &str) -> String {
    if module.ends_with('.') { format!("{module}{name}") } else { format!("{module}.{name}") }
}

/// Whether a file has a name for others, also if it passes on what another has.
pub(super) fn offered(
    world: &World<'_>,
    side: Side,
    family: Family,
    path: &str,
    name: &str,
) -> Met {
    let Ok(index) = world.index(side) else { return Met::Unknown };
    let (mut seen, mut waiting) = (BTreeSet::new(), vec![path.to_owned()]);
    let mut is_known = true;
    while let Some(at) = waiting.pop() {
        if !seen.insert(at.clone()) {
            continue;
        }
        if seen.len() > HOPS_MAX {
            return Met::Unknown;
        }
        let Some(unit) = world.unit(side, &at) else { return Met::Unknown };
        let surface = &unit.surface;
        if surface.offers.iter().any(|it| it.is_exported && it.name == name) {
            return Met::In(at);
        }
        is_known &= !surface.has_errors && !surface.is_open;
        if family == Family::Script
            && !surface.offers.iter().any(|it| it.is_exported)
            && surface.takes.is_empty()
        {
            // Neither kind of module: a script that leaves its names to everybody.
            is_known = false;
        }
        for take in surface.takes.iter().filter(|it| it.what == Taken::All && it.is_passed_on) {
            match module(index, family, &at, &take.module) {
                Module::File(next) => waiting.push(next),
                Module::Missing | Module::Absent | Module::Unknown | Module::Folder => {
                    is_known = false;
                }
            }
        }
    }
    if is_known { Met::NoName(path.to_owned()) } else { Met::Unknown }
}

/// The file of a module.
pub(super) fn module(index: &Index, family: Family, from: &str, module: &str) -> Module {
    match family {
        Family::Python => python(index, from, module),
        Family::Script => script(index, from, module),
        Family::Go | Family::Rust | Family::Java | Family::Ruby => Module::Unknown,
    }
}

fn script(index: &Index, from: &str, module: &str) -> Module {
    if !module.starts_with('.') || module.contains(['?', '!', '*', '#']) {
        return Module::Unknown;
    }
    let Some(path) = normal(folder(from), module) else { return Module::Unknown };
    if path.is_empty() {
        return Module::Unknown;
    }
    let exact = Some(path.clone()).filter(|path| index.has(path));
    let with = |stem: &str| {
        let files = SCRIPT_ENDINGS.iter().map(|ending| format!("{stem}{ending}"));
        files.into_iter().find(|path| index.has(path))
    };
    // `./x.js` is written for what `x.ts` will be.
    let compiled = [".js", ".jsx", ".mjs", ".cjs"].iter().find_map(|it| path.strip_suffix(it));
    let file = exact
        .or_else(|| with(&path))
        .or_else(|| compiled.and_then(with))
        .or_else(|| with(&below(&path, "index")));
    match file {
        Some(file) if Family::of(&file) == Some(Family::Script) => Module::File(file),
        Some(_) => Module::Unknown,
        None => {
            let stem = SCRIPT_ENDINGS.iter().find_map(|it| path.strip_suffix(it)).unwrap_or(&path);
            let (folder, name) = stem.rsplit_once('/').unwrap_or(("", stem));
            // `./x.css`, `./x.vue` and the like are for somebody else to find; `./user.service` is code.
            let is_code = name.rsplit_once('.').is_none_or(|(_, end)| SCRIPT_KINDS.contains(&end));
            let has_folder = folder.is_empty() || index.folders.contains(folder);
            match !is_code || has_alike(index, stem) {
                true => Module::Unknown,
                false if is_built(index, &path) || !has_folder => Module::Absent,
                false => Module::Missing,
            }
        }
    }
}

/// Words that the name of a script ends with before its ending, which an import then leaves out.
#[rustfmt::skip]
const SCRIPT_KINDS: [&str; 24] = [
    "service", "component", "module", "controller", "model", "util", "utils", "config", "types", "helper", "helpers", "store",
    "schema", "entity", "dto", "interface", "guard", "pipe", "directive", "routes", "router", "constants", "resolver", "mock",
];

/// What stands behind the name of a script in the names of files that belong to it and are not it: `x.test.ts`, `x.stories.tsx`.
const BESIDE: [&str; 9] =
    ["test", "spec", "stories", "story", "bench", "e2e", "module", "md", "snap"];

/// Whether something else is there that an import of this name may mean: `x.vue`, `x.native.ts`.
fn has_alike(index: &Index, stem: &str) -> bool {
    let dot = format!("{stem}.");
    let files = index.files.range(dot.clone()..).take_while(|it| it.starts_with(&dot));
    let mut rests = files.map(|it| it[dot.len()..].split('.').next().unwrap_or_default());
    index.has(stem) || index.folders.contains(stem) || rests.any(|it| !BESIDE.contains(&it))
}

/// Whether a path leads to where programs write: what is built is not in the repository.
fn is_built(index: &Index, path: &str) -> bool {
    let folders: Vec<&str> = folder(path).split('/').collect();
    let is_theirs = path.split('/').any(|part| {
        matches!(
            part,
            "dist"
                | "build"
                | "out"
                | "generated"
                | "gen"
                | "node_modules"
                | ".next"
                | ".nuxt"
                | "__generated__"
                | ".svelte-kit"
        )
    });
    // People write into such folders as well.
    let mut places = (1..=folders.len()).filter(|to| matches!(folders[to - 1], "lib" | "types"));
    is_theirs || places.any(|to| !index.folders.contains(&folders[..to].join("/")))
}

/// A path from a folder, without `.` and `..`; none if it leads out of the repository.
pub(super) fn normal(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|it| !it.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Whether a folder has a file or a folder with this name, whatever its ending.
pub(super) fn has_anything(index: &Index, folder: &str, stem: &str) -> bool {
    let path = below(folder, stem);
    let dot = format!("{path}.");
    index.has(&path)
        || index.folders.contains(&path)
        || index.files.range(dot.clone()..).next().is_some_and(|it| it.starts_with(&dot))
}

fn python(index: &Index, from: &str, module: &str) -> Module {
    let dots = module.len() - module.trim_start_matches('.').len();
    let parts: Vec<&str> = module[dots..].split('.').filter(|it| !it.is_empty()).collect();
    if dots > 0 {
        let mut base = folder(from);
        for _ in 1..dots {
            if base.is_empty() {
                return Module::Unknown;
            }
            base = folder(base);
        }
        return python_below(index, base, &parts);
    }
    let [first, ..] = parts.as_slice() else { return Module::Unknown };
    let mut roots: BTreeSet<&str> = BTreeSet::new();
    // A package with a file of its own keeps out everything else of its name.
    for path in index.stems.get("__init__").into_iter().flatten() {
        let package = folder(path);
        if path.ends_with("/__init__.py") && package.rsplit('/').next() == Some(first) {
            roots.insert(folder(package));
        }
    }
    for path in index.stems.get(*first).into_iter().flatten().filter(|it| it.ends_with(".py")) {
        roots.insert(folder(path));
    }
    // One without may have parts elsewhere.
    let at_top = index.folders.contains(*first).then_some("");
    let in_src = index.folders.contains(&below("src", first)).then_some("src");
    roots.extend(at_top.into_iter().chain(in_src));
    roots.retain(|root| is_root(index, from, root));
    let mut met = BTreeSet::new();
    let (mut is_missing, mut is_folder) = (false, false);
    for root in &roots {
        match python_below(index, root, &parts) {
            Module::File(path) => {
                met.insert(path);
            }
            Module::Missing => is_missing = true,
            Module::Absent => {}
            Module::Folder => is_folder = true,
            Module::Unknown => return Module::Unknown,
        }
    }
    match (met.len(), roots.len()) {
        (1, _) => met.pop_first().map_or(Module::Unknown, Module::File),
        (0, _) if is_folder => Module::Folder,
        (0, 1) if is_missing => Module::Missing,
        (0, _) => Module::Absent,
        _ => Module::Unknown,
    }
}

/// Whether modules are found from this folder by their full name.
fn is_root(index: &Index, from: &str, root: &str) -> bool {
    let is_package = index.has(&below(root, "__init__.py"));
    let is_above = root.is_empty() || from.starts_with(&format!("{root}/"));
    let is_project =
        ["pyproject.toml", "setup.py", "setup.cfg"].iter().any(|it| index.has(&below(root, it)));
    !is_package && (is_above || is_project || root == "src" || root.ends_with("/src"))
}

fn python_below(index: &Index, root: &str, parts: &[&str]) -> Module {
    let path = below(root, &parts.join("/"));
    let path = path.trim_end_matches('/');
    for file in [format!("{path}/__init__.py"), format!("{path}.py")] {
        if index.has(file.trim_start_matches('/')) {
            return Module::File(file.trim_start_matches('/').to_owned());
        }
    }
    if index.folders.contains(path) || path.is_empty() {
        return Module::Folder;
    }
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_made = name.contains("version") || name.contains("_pb2") || name.starts_with('_');
    // Its package has to be there, with a file of its own.
    let has_package = index.has(&below(above, "__init__.py")) || parts.len() == 1;
    if has_anything(index, above, name) {
        return Module::Unknown;
    }
    if is_made || !has_package { Module::Absent } else { Module::Missing }
}
