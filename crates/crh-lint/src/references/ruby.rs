//! Ruby: constants are visible everywhere, by their full name or from within their namespace.

use std::collections::BTreeSet;

use super::broken_uses::{BrokenUse, UsingFile};
use super::removed::{RemovalKind, RemovedSymbol};
use super::repo_index::{RepoIndex, parent_folder};
use super::resolve::{Resolution, normalize_path};
use crate::paths;
use crh_review::finding::Side;
use crh_syntax::{DeclarationKind, ModuleImport, NameUse, UseRole};

/// Resolves a `require_relative`.
pub(super) fn resolve(
    repo: &RepoIndex<'_>,
    side: Side,
    from: &str,
    import: &ModuleImport,
) -> Resolution {
    let Ok(index) = repo.paths(side) else { return Resolution::Unknown };
    let Some(path) = normalize_path(parent_folder(from), &import.module) else {
        return Resolution::Unknown;
    };
    let file = if path.ends_with(".rb") { path.clone() } else { format!("{path}.rb") };
    if index.has(&file) {
        return Resolution::DefinedIn(file);
    }
    let above = parent_folder(&path);
    let has_folder = above.is_empty() || index.folders.contains(above);
    // A folder of that name does not count; a compiled or template file may.
    let dot = format!("{path}.");
    let alike = index.files.range(dot.clone()..).next().is_some_and(|it| it.starts_with(&dot));
    match (index.has(&path) || alike, has_folder) {
        (true, _) => Resolution::Unknown,
        (false, true) => Resolution::MissingModule,
        (false, false) => Resolution::MaybeExternal,
    }
}

/// Uses of a removed constant or of a constant's removed method.
pub(super) fn broken_uses(
    repo: &RepoIndex<'_>,
    removed: &RemovedSymbol<'_>,
    user: &UsingFile<'_>,
    hits: &BTreeSet<String>,
) -> BTreeSet<BrokenUse> {
    let is_constant = removed.name.starts_with(char::is_uppercase);
    if matches!(removed.what, RemovalKind::Module)
        || is_standard_constant(&removed.name)
        || removed.within.is_empty() && !is_constant
    {
        return BTreeSet::new();
    }
    let around = removed.within.as_str();
    let is_path = |of: &str| {
        let of = of.trim_start_matches("::");
        of == around || around.strip_suffix(of).is_some_and(|before| before.ends_with("::"))
    };
    let is_inside = user.source.surface.declarations.iter().any(|it| {
        let whole = if it.within.is_empty() {
            it.name.clone()
        } else {
            format!("{}::{}", it.within, it.name)
        };
        whole == around || whole.starts_with(&format!("{around}::"))
    });
    // Tests often include the whole module.
    let is_mixed_in = is_compound(&removed.name) && paths::is_sample(user.path);
    let is_broken = |it: &&NameUse| {
        let is_used = match (&it.role, &removed.what) {
            (UseRole::Called(given), RemovalKind::Shape { before, after, .. }) => {
                !after.accepts(given) && (before.accepts(given) || user.adds(it.line))
            }
            (UseRole::Called(_), RemovalKind::Name | RemovalKind::Module) => true,
            (UseRole::Read, RemovalKind::Name | RemovalKind::Module) => is_constant,
            (UseRole::Read, RemovalKind::Shape { .. }) => false,
            (UseRole::Bound | UseRole::Key | UseRole::Imported | UseRole::Written, _) => false,
        };
        let is_meant = match it.qualifier.is_empty() {
            true => is_constant && (around.is_empty() || is_inside || is_mixed_in),
            false => !around.is_empty() && is_path(&it.qualifier),
        };
        it.name == removed.name
            && is_used
            && is_meant
            && !user.source.line(it.line).contains("defined?")
    };
    let places: BTreeSet<BrokenUse> =
        user.source.uses.iter().filter(is_broken).map(|it| user.broken_use(it.line)).collect();
    if places.is_empty() || !is_gone(repo, removed, hits) {
        return BTreeSet::new();
    }
    places
}

/// Whether no file with the word defines it or may define it.
fn is_gone(repo: &RepoIndex<'_>, removed: &RemovedSymbol<'_>, hits: &BTreeSet<String>) -> bool {
    let is_constant = removed.name.starts_with(char::is_uppercase);
    // A method with changed parameters still exists.
    let is_it = |path: &str, it: &crh_syntax::Declaration| {
        matches!(removed.what, RemovalKind::Shape { .. })
            && path == removed.file.path
            && it.within == removed.within
    };
    let files = hits.iter().filter(|it| it.ends_with(".rb"));
    let is_nowhere = files.into_iter().all(|path| {
        repo.source(Side::New, path).is_some_and(|unit| {
            !unit.surface.has_hidden_names
                && !unit.surface.has_errors
                && !unit
                    .surface
                    .declarations
                    .iter()
                    .any(|it| it.name == removed.name && !is_it(path, it))
        })
    });
    if is_constant || !is_nowhere {
        return is_nowhere;
    }
    // A method may be inherited or mixed in, unless its class is fully known.
    let (around, own) = removed.within.rsplit_once("::").unwrap_or(("", &removed.within));
    let after = repo.source(Side::New, &removed.file.path).filter(|_| !removed.file.is_deleted);
    after.is_some_and(|unit| {
        let same = |it: &&crh_syntax::Declaration| it.name == own && it.within == around;
        unit.surface.declarations.iter().filter(same).all(|it| it.kind == DeclarationKind::Type)
            && unit.surface.declarations.iter().any(|it| same(&it))
    })
}

/// Whether a name has several words, so that other code hardly has it by chance.
fn is_compound(name: &str) -> bool {
    name.as_bytes()
        .windows(2)
        .filter(|it| !it[0].is_ascii_uppercase() && it[1].is_ascii_uppercase())
        .count()
        > 1
}

/// Whether a constant exists outside of this repository.
fn is_standard_constant(name: &str) -> bool {
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
