//! Rust: resolves paths by the folders of a crate.

use std::collections::{BTreeSet, HashMap};

use super::removed::{RemovalKind, RemovedSymbol, module_stem};
use super::repo_index::{PathIndex, RepoIndex, SourceFile, join, parent_folder};
use super::resolve::Resolution;
use crate::Project;
use crh_review::finding::Side;
use crh_syntax::{DeclarationKind, ImportedItem};

/// How many modules are followed for one name.
const HOPS_MAX: usize = 6;

/// Manifests read per repository.
const MANIFESTS_MAX: usize = 1_000;

/// A module: its file, and the inline module inside the file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct RustModule {
    file: String,
    within: String,
    /// The folder of its child modules.
    folder: String,
}

/// Whether macros that a file has on both sides make its list of names uncertain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MacroPolicy {
    /// They do: a macro may always have defined the name.
    Count,
    /// They do not: the name was defined beside them before, so no macro defines it.
    Ignore,
}

/// Resolves a path that is written in a file.
pub(super) fn resolve(
    repo: &RepoIndex<'_>,
    side: Side,
    makers: MacroPolicy,
    from: &str,
    path: &str,
) -> Resolution {
    let Ok(index) = repo.paths(side) else { return Resolution::Unknown };
    let segments: Vec<&str> = path.split("::").filter(|it| !it.is_empty()).collect();
    let home = source_folder(index, from);
    let (start, rest) = match (segments.split_first(), home) {
        (Some((&"crate", rest)), Some(home)) => (crate_root(repo, side, &home, from), rest),
        (Some((&("self" | "super"), _)), Some(home)) => {
            let ups = segments.iter().take_while(|it| **it == "super").count();
            let skip = if segments[0] == "self" { 1 } else { ups };
            (module_above(repo, side, &home, from, ups), &segments[skip..])
        }
        (None, _) | (Some((&("crate" | "self" | "super"), _)), None) => return Resolution::Unknown,
        (Some((first, rest)), home) => {
            // A module of the same file takes precedence.
            let is_own = repo.source(side, from).is_none_or(|unit| {
                let takes = unit.surface.imports.iter().filter(|it| it.module == "self");
                let mut modules = takes.filter_map(|it| it.local_name.as_deref());
                let mut offers = unit.surface.declarations.iter();
                modules.any(|it| it == *first)
                    || offers.any(|it| {
                        it.name == *first
                            && it.kind != DeclarationKind::Reexport
                            && !it.is_associated()
                    })
            });
            match (is_own, home) {
                (true, Some(home)) => {
                    (module_above(repo, side, &home, from, 0), segments.as_slice())
                }
                (true, None) => return Resolution::Unknown,
                (false, _) => (library_root(repo, side, first), rest),
            }
        }
    };
    let Some(start) = start else { return Resolution::Unknown };
    follow(repo, side, makers, start, rest)
}

/// The library root of a crate of this repository.
fn library_root(repo: &RepoIndex<'_>, side: Side, name: &str) -> Option<RustModule> {
    let home = join(repo.crates(side).get(name)?, "src");
    let file = join(&home, "lib.rs");
    let is_there = repo.paths(side).is_ok_and(|it| it.has(&file));
    is_there.then(|| RustModule { file, within: String::new(), folder: home })
}

/// Folders of the crates of a side, by the name used in code. A name that two crates have is left
/// out.
pub(super) fn crates(
    project: &dyn Project,
    side: Side,
    index: &PathIndex,
) -> HashMap<String, String> {
    let manifests = index.stems.get("Cargo").into_iter().flatten();
    // A crate without a library cannot be imported.
    let has_library = |it: &&String| index.has(&join(parent_folder(it), "src/lib.rs"));
    let manifests = manifests.filter(|it| it.ends_with("Cargo.toml")).filter(has_library);
    let manifests = manifests.take(MANIFESTS_MAX);
    let mut crates: HashMap<String, Option<String>> = HashMap::new();
    for path in manifests {
        let text =
            project.file(side, path).ok().flatten().and_then(|it| String::from_utf8(it).ok());
        let Some(name) = text.as_deref().and_then(crate_name) else { continue };
        let home = Some(parent_folder(path).to_owned());
        crates.entry(name).and_modify(|it| *it = None).or_insert(home);
    }
    crates.into_iter().filter_map(|(name, home)| Some((name, home?))).collect()
}

/// The name of a crate in code; `None` if its library is not at the default path.
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

fn follow(
    repo: &RepoIndex<'_>,
    side: Side,
    makers: MacroPolicy,
    start: RustModule,
    segments: &[&str],
) -> Resolution {
    let Ok(index) = repo.paths(side) else { return Resolution::Unknown };
    let mut spot = start;
    for (at, segment) in segments.iter().enumerate() {
        if *segment == "super" || *segment == "self" {
            return Resolution::Unknown;
        }
        let is_last = at + 1 == segments.len();
        let Some(unit) = repo.source(side, &spot.file) else { return Resolution::Unknown };
        let inside = unit
            .surface
            .declarations
            .iter()
            .find(|it| it.name == *segment && it.within == spot.within);
        if let Some(offer) = inside
            && (is_last || offer.kind != DeclarationKind::Module)
        {
            return Resolution::DefinedIn(spot.file);
        }
        if let Some(next) = child_module(index, &spot, segment) {
            if is_last {
                return Resolution::DefinedIn(next.file);
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
            spot = RustModule { within, ..spot };
            continue;
        }
        return resolve_globs(repo, side, makers, &spot, segment);
    }
    Resolution::DefinedIn(spot.file)
}

/// Resolves a name through glob re-exports.
fn resolve_globs(
    repo: &RepoIndex<'_>,
    side: Side,
    makers: MacroPolicy,
    spot: &RustModule,
    name: &str,
) -> Resolution {
    let (mut seen, mut waiting) = (BTreeSet::new(), vec![spot.file.clone()]);
    while let Some(file) = waiting.pop() {
        if !seen.insert(file.clone()) {
            continue;
        }
        let Some(unit) = repo.source(side, &file) else { return Resolution::Unknown };
        let surface = &unit.surface;
        if surface
            .declarations
            .iter()
            .filter(|it| it.name == name && !it.is_associated())
            .any(|it| file != spot.file || it.within == spot.within)
        {
            return Resolution::DefinedIn(file);
        }
        let is_open = surface.has_hidden_names
            && (makers == MacroPolicy::Count || !has_same_macros(repo, &file));
        if is_open || surface.has_errors || seen.len() > HOPS_MAX || !spot.within.is_empty() {
            return Resolution::Unknown;
        }
        for import in surface.imports.iter().filter(|it| it.item == ImportedItem::All) {
            let Resolution::DefinedIn(next) = resolve(repo, side, makers, &file, &import.module)
            else {
                return Resolution::Unknown;
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
        return Resolution::MaybeExternal;
    }
    Resolution::MissingName(spot.file.clone())
}

/// Whether `Type::name` can refer to nothing else: no trait or macro defines that name for the
/// type, and the type itself is unchanged.
pub(super) fn is_only_definition(
    repo: &RepoIndex<'_>,
    removed: &RemovedSymbol<'_>,
    owner: &str,
    hits: &BTreeSet<String>,
) -> bool {
    let [old, new] = [(Side::Old, removed.path), (Side::New, removed.file.path.as_str())]
        .map(|(side, path)| repo.source(side, path));
    let (Some(old), Some(new)) = (old, new) else { return false };
    let kind = |unit: &SourceFile| {
        let mut offers = unit.surface.declarations.iter();
        offers.find(|it| it.name == owner && it.within.is_empty()).map(|it| it.kind)
    };
    // A derive may add functions.
    let derived = |text: &str| text.lines().filter(|it| it.contains("derive(")).count();
    let is_same = kind(&old) == Some(DeclarationKind::Type)
        && kind(&new) == Some(DeclarationKind::Type)
        && derived(&old.text) == derived(&new.text)
        && old.surface.macro_texts == new.surface.macro_texts;
    let is_other =
        |it: &String| *it != removed.file.path || matches!(removed.what, RemovalKind::Name);
    let name = removed.name.as_str();
    let defines = |line: &str| {
        ["fn ", "const ", "type "].iter().any(|word| {
            let rest = line.split(word).nth(1).and_then(|it| it.strip_prefix(name));
            rest.is_some_and(|it| !it.starts_with(|it: char| it.is_alphanumeric() || it == '_'))
        })
    };
    let may_define = |path: &&String| {
        repo.source(Side::New, path).is_none_or(|unit| unit.text.lines().any(defines))
    };
    let mut files = hits.iter().filter(|it| it.ends_with(".rs") && is_other(it));
    is_same && !files.any(|it| may_define(&it))
}

/// Whether a file uses the same macros on both sides.
pub(super) fn has_same_macros(repo: &RepoIndex<'_>, file: &str) -> bool {
    let [old, new] = [Side::Old, Side::New].map(|side| repo.source(side, file));
    matches!((old, new), (Some(old), Some(new)) if old.surface.macro_texts == new.surface.macro_texts)
}

/// Whether a re-exported name may also be visible without the import, as a crate, macro or
/// primitive is.
pub(super) fn may_be_external(repo: &RepoIndex<'_>, removed: &RemovedSymbol<'_>) -> bool {
    let was_taken = repo.source(Side::Old, removed.path).is_some_and(|unit| {
        let mut offers = unit.surface.declarations.iter();
        offers.any(|it| it.name == removed.name && it.kind == DeclarationKind::Reexport)
    });
    was_taken && removed.name.starts_with(char::is_lowercase)
}

/// Whether the parent module declares a file; otherwise the file is not compiled. Returns `true` in
/// doubt.
pub(super) fn is_compiled(repo: &RepoIndex<'_>, path: &str) -> bool {
    let Ok(index) = repo.paths(Side::New) else { return true };
    let name = module_stem(path);
    let is_root = matches!(path.rsplit('/').next(), Some("lib.rs" | "main.rs"));
    let parent = source_folder(index, path)
        .filter(|_| !is_root)
        .and_then(|home| module_above(repo, Side::New, &home, path, 1))
        .and_then(|parent| repo.source(Side::New, &parent.file));
    parent.is_none_or(|parent| {
        parent.surface.has_hidden_names
            || parent
                .surface
                .imports
                .iter()
                .any(|it| it.local_name.as_deref() == Some(name.as_str()))
    })
}

/// The `src` folder of a file's crate, or the folder of a multi-file binary.
fn source_folder(index: &PathIndex, from: &str) -> Option<String> {
    let mut root = parent_folder(from);
    while !index.has(&join(root, "Cargo.toml")) {
        if root.is_empty() {
            return None;
        }
        root = parent_folder(root);
    }
    let home = join(root, "src");
    let rest = from.strip_prefix(&home)?.strip_prefix('/')?;
    let Some(program) = rest.strip_prefix("bin/") else { return Some(home) };
    let (program, _) = program.split_once('/')?;
    let home = join(&home, &format!("bin/{program}"));
    index.has(&join(&home, "main.rs")).then_some(home)
}

/// The root module of a file's crate. If the crate has a library and a binary, the one that
/// declares the file's module.
fn crate_root(repo: &RepoIndex<'_>, side: Side, home: &str, from: &str) -> Option<RustModule> {
    let index = repo.paths(side).ok()?;
    let [library, program] = ["lib.rs", "main.rs"].map(|it| join(home, it));
    let file = match (index.has(&library), index.has(&program)) {
        (true, true) if from == program => program,
        (true, true) if from != library => {
            let rest = from.strip_prefix(home)?.trim_start_matches('/');
            let first = rest.split('/').next()?.trim_end_matches(".rs");
            let has = |root: &str| {
                let source = repo.source(side, root);
                source.is_some_and(|unit| {
                    let mut takes = unit.surface.imports.iter();
                    takes.any(|it| it.module == "self" && it.local_name.as_deref() == Some(first))
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
    Some(RustModule { file, within: String::new(), folder: home.to_owned() })
}

/// The module of a file, or a module that many levels above it.
fn module_above(
    repo: &RepoIndex<'_>,
    side: Side,
    home: &str,
    from: &str,
    ups: usize,
) -> Option<RustModule> {
    let index = repo.paths(side).ok()?;
    let rest = from.strip_prefix(home)?.strip_prefix('/')?.strip_suffix(".rs")?;
    let mut parts: Vec<&str> = rest.split('/').collect();
    if matches!(parts.last(), Some(&("mod" | "lib" | "main"))) {
        parts.pop();
    }
    for _ in 0..ups {
        parts.pop()?;
    }
    let folder = parts.iter().fold(home.to_owned(), |folder, part| join(&folder, part));
    if parts.is_empty() {
        return crate_root(repo, side, home, from);
    }
    let files = [format!("{folder}.rs"), join(&folder, "mod.rs")];
    let file = files.into_iter().find(|it| index.has(it))?;
    Some(RustModule { file, within: String::new(), folder })
}

fn child_module(index: &PathIndex, spot: &RustModule, name: &str) -> Option<RustModule> {
    let inside = spot.within.split("::").filter(|it| !it.is_empty());
    let folder = inside.fold(spot.folder.clone(), |folder, part| join(&folder, part));
    let folder = join(&folder, name);
    let files = [format!("{folder}.rs"), join(&folder, "mod.rs")];
    let file = files.into_iter().find(|it| index.has(it))?;
    Some(RustModule { file, within: String::new(), folder })
}
