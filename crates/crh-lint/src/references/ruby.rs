//! Ruby: constants are visible everywhere, by their full name or from within their namespace.

use std::collections::BTreeSet;

use super::path_index::{normalize_path, parent_folder};
use super::removed::{RemovalKind, RemovedSymbol};
use super::repo_index::RepoIndex;
use super::resolution::Resolution;
use super::using_file::{BrokenUse, UsingFile};
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
    if index.has_file(&file) {
        return Resolution::DefinedIn(file);
    }
    let parent = parent_folder(&path);
    let has_parent_folder = parent.is_empty() || index.folders.contains(parent);
    // A compiled or generated file of that name may be loaded.
    let dot = format!("{path}.");
    let has_similar_file =
        index.files.range(dot.clone()..).next().is_some_and(|it| it.starts_with(&dot));
    match (index.has_file(&path) || has_similar_file, has_parent_folder) {
        (true, _) => Resolution::Unknown,
        (false, true) => Resolution::MissingModule,
        (false, false) => Resolution::MaybeExternal,
    }
}

/// Uses of a removed constant or of a constant's removed method.
pub(super) fn broken_uses(
    repo: &RepoIndex<'_>,
    symbol: &RemovedSymbol<'_>,
    using_file: &UsingFile<'_>,
    paths_with_name: &BTreeSet<String>,
) -> BTreeSet<BrokenUse> {
    let is_constant = symbol.name.starts_with(char::is_uppercase);
    if matches!(symbol.kind, RemovalKind::Module)
        || STANDARD_CONSTANTS.contains(&symbol.name.as_str())
        || symbol.container.is_empty() && !is_constant
    {
        return BTreeSet::new();
    }
    let namespace = symbol.container.as_str();
    let is_namespace = |qualifier: &str| {
        let qualifier = qualifier.trim_start_matches("::");
        qualifier == namespace
            || namespace.strip_suffix(qualifier).is_some_and(|before| before.ends_with("::"))
    };
    let is_inside = using_file.source.surface.declarations.iter().any(|declaration| {
        let full_name = if declaration.container.is_empty() {
            declaration.name.clone()
        } else {
            format!("{}::{}", declaration.container, declaration.name)
        };
        full_name == namespace || full_name.starts_with(&format!("{namespace}::"))
    });
    // Tests often `include` the whole module and then use its constants without a namespace.
    let may_be_included = is_compound(&symbol.name) && paths::is_sample(using_file.path);
    let is_broken = |name_use: &&NameUse| {
        let can_break = match (&symbol.kind, &name_use.role) {
            (RemovalKind::Name, UseRole::Read) => is_constant,
            _ => using_file.breaks_use(symbol, name_use),
        };
        let refers_to_removed = match name_use.qualifier.is_empty() {
            true => is_constant && (namespace.is_empty() || is_inside || may_be_included),
            false => !namespace.is_empty() && is_namespace(&name_use.qualifier),
        };
        name_use.name == symbol.name
            && can_break
            && refers_to_removed
            && !using_file.source.line(name_use.line).contains("defined?")
    };
    let uses = using_file.source.uses.iter().filter(is_broken);
    let broken_uses: BTreeSet<BrokenUse> = uses.map(|it| using_file.broken_use(it.line)).collect();
    if broken_uses.is_empty() || !is_defined_nowhere(repo, symbol, paths_with_name) {
        return BTreeSet::new();
    }
    broken_uses
}

/// Whether it is certain that no Ruby file defines the name any more.
fn is_defined_nowhere(
    repo: &RepoIndex<'_>,
    symbol: &RemovedSymbol<'_>,
    paths_with_name: &BTreeSet<String>,
) -> bool {
    let is_constant = symbol.name.starts_with(char::is_uppercase);
    // A method whose parameters changed is still defined, in its own file.
    let is_changed_method = |path: &str, declaration: &crh_syntax::Declaration| {
        matches!(symbol.kind, RemovalKind::Signature { .. })
            && path == symbol.file.path
            && declaration.container == symbol.container
    };
    let files = paths_with_name.iter().filter(|it| it.ends_with(".rb"));
    let is_defined_in_no_file = files.into_iter().all(|path| {
        repo.source(Side::New, path).is_some_and(|source| {
            !source.surface.has_hidden_names
                && !source.surface.has_errors
                && !source
                    .surface
                    .declarations
                    .iter()
                    .any(|it| it.name == symbol.name && !is_changed_method(path, it))
        })
    });
    if is_constant || !is_defined_in_no_file {
        return is_defined_in_no_file;
    }
    // The class may still inherit the method or mix it in, unless crh sees all its members.
    let (namespace, class_name) =
        symbol.container.rsplit_once("::").unwrap_or(("", &symbol.container));
    let new_source = repo.source(Side::New, &symbol.file.path).filter(|_| !symbol.file.is_deleted);
    new_source.is_some_and(|source| {
        let is_class =
            |it: &&crh_syntax::Declaration| it.name == class_name && it.container == namespace;
        source
            .surface
            .declarations
            .iter()
            .filter(is_class)
            .all(|it| it.kind == DeclarationKind::Type)
            && source.surface.declarations.iter().any(|it| is_class(&it))
    })
}

/// Whether a name has at least three words. Unrelated code rarely uses such a name by chance.
fn is_compound(name: &str) -> bool {
    name.as_bytes()
        .windows(2)
        .filter(|it| !it[0].is_ascii_uppercase() && it[1].is_ascii_uppercase())
        .count()
        > 1
}

/// Constants that Ruby or a common framework defines.
#[rustfmt::skip]
const STANDARD_CONSTANTS: [&str; 41] = [
    "ActiveRecord", "ActiveSupport", "Array", "Class", "Comparable", "Date", "DateTime", "Dir", "Enumerable", "Exception", "File",
    "Float", "Hash", "IO", "Integer", "JSON", "Kernel", "Liquid", "Logger", "Method", "Module", "Net", "NilClass", "Numeric",
    "Object", "Proc", "Process", "Rack", "Rails", "Range", "Regexp", "Set", "StandardError", "String", "Struct", "Symbol",
    "Thread", "Time", "URI", "VERSION", "YAML",
];
