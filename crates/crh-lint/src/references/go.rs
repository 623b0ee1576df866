//! Go: a package is a folder. Its files see each other's names; other packages write
//! `package.Name`.

use std::collections::BTreeSet;

use super::path_index::{join_path, parent_folder};
use super::removed::{RemovalKind, RemovedSymbol};
use super::repo_index::RepoIndex;
use super::resolution::Resolution;
use super::using_file::{BrokenUse, UsingFile};
use crh_review::finding::Side;
use crh_syntax::{ImportedItem, ModuleImport, Surface, UseRole};

/// Uses of a removed symbol, in the symbol's own package or in a file that imports the package.
pub(super) fn broken_uses(
    repo: &RepoIndex<'_>,
    symbol: &RemovedSymbol<'_>,
    using_file: &UsingFile<'_>,
) -> BTreeSet<BrokenUse> {
    let no_uses = BTreeSet::new();
    let package_folder = parent_folder(symbol.path);
    if is_empty_package(repo, package_folder) {
        return match symbol.kind {
            RemovalKind::Module => broken_imports(repo, package_folder, using_file),
            RemovalKind::Name | RemovalKind::Signature { .. } => no_uses,
        };
    }
    if matches!(symbol.kind, RemovalKind::Module)
        || has_build_constraint(&using_file.source.text)
        || PREDECLARED.contains(&symbol.name.as_str())
    {
        return no_uses;
    }
    let Some(old_source) = repo.source(Side::Old, symbol.path) else { return no_uses };
    if has_build_constraint(&old_source.text) || is_test(symbol.path) && !is_test(using_file.path) {
        return no_uses;
    }
    let surface = &using_file.source.surface;
    let broken_uses = if parent_folder(using_file.path) == package_folder
        && surface.package == old_source.surface.package
    {
        let has_dot_import = surface.imports.iter().any(|it| it.item == ImportedItem::All);
        let definition_count =
            surface.declarations.iter().filter(|it| it.name == symbol.name).count();
        let uses = || using_file.uses_of(&symbol.name, "");
        let binding_count =
            uses().filter(|it| matches!(it.role, UseRole::Bound | UseRole::Imported)).count();
        if has_dot_import || binding_count > definition_count {
            return no_uses;
        }
        using_file.filter_broken(symbol, uses())
    } else {
        let Some(local) =
            local_name(repo, package_folder, old_source.surface.package.as_deref(), surface)
        else {
            return no_uses;
        };
        if !using_file.is_unbound(&local) {
            return no_uses;
        }
        using_file.filter_broken(symbol, using_file.uses_of(&symbol.name, &local))
    };
    if broken_uses.is_empty() || !is_gone_from_package(repo, package_folder, symbol) {
        return no_uses;
    }
    broken_uses
}

/// Whether a package has no files left.
fn is_empty_package(repo: &RepoIndex<'_>, package_folder: &str) -> bool {
    repo.paths(Side::New)
        .is_ok_and(|it| !it.files_in_folder(package_folder).any(|path| path.ends_with(".go")))
}

fn broken_imports(
    repo: &RepoIndex<'_>,
    package_folder: &str,
    using_file: &UsingFile<'_>,
) -> BTreeSet<BrokenUse> {
    let Some(path) = import_path(repo, package_folder) else { return BTreeSet::new() };
    let imports = using_file.source.surface.imports.iter();
    let unchanged_imports = imports.filter(|it| it.module == path && !using_file.adds(it.line));
    unchanged_imports.map(|it| using_file.broken_use(it.line)).collect()
}

/// Whether no file of the package defines the name any more. If only the parameters changed:
/// whether no other file of the package defines the name.
fn is_gone_from_package(
    repo: &RepoIndex<'_>,
    package_folder: &str,
    symbol: &RemovedSymbol<'_>,
) -> bool {
    let Ok(index) = repo.paths(Side::New) else { return false };
    index.files_in_folder(package_folder).filter(|it| it.ends_with(".go")).all(|path| {
        let is_changed_file =
            matches!(symbol.kind, RemovalKind::Signature { .. }) && path == symbol.file.path;
        is_changed_file
            || repo.source(Side::New, path).is_some_and(|source| {
                !source.surface.has_errors
                    && !source.surface.has_hidden_names
                    && !source.surface.declarations.iter().any(|it| it.name == symbol.name)
            })
    })
}

/// The local name of a package in a file.
fn local_name(
    repo: &RepoIndex<'_>,
    package_folder: &str,
    package: Option<&str>,
    surface: &Surface,
) -> Option<String> {
    let path = import_path(repo, package_folder)?;
    let import = surface.imports.iter().find(|it| it.module == path)?;
    let local = import.local_name.clone().or_else(|| package.map(str::to_owned))?;
    (!matches!(local.as_str(), "_" | ".")).then_some(local)
}

fn import_path(repo: &RepoIndex<'_>, package_folder: &str) -> Option<String> {
    let (root, module) = enclosing_module(repo, package_folder)?;
    let rest = package_folder.strip_prefix(root.as_str())?.trim_start_matches('/');
    Some(join_path(&module, rest).trim_end_matches('/').to_owned())
}

/// The root folder and the name of the Go module around a folder.
fn enclosing_module(repo: &RepoIndex<'_>, package_folder: &str) -> Option<(String, String)> {
    let index = repo.paths(Side::New).ok()?;
    let mut root = package_folder;
    loop {
        let path = join_path(root, "go.mod");
        if index.has_file(&path) {
            let text = repo.text(Side::New, &path)?;
            let name = text.lines().find_map(|it| it.trim().strip_prefix("module "))?;
            return Some((root.to_owned(), name.trim().trim_matches('"').to_owned()));
        }
        if root.is_empty() {
            return None;
        }
        root = parent_folder(root);
    }
}

/// Resolves the import of a package.
pub(super) fn resolve(repo: &RepoIndex<'_>, from: &str, import: &ModuleImport) -> Resolution {
    let Some((root, module)) = enclosing_module(repo, parent_folder(from)) else {
        return Resolution::Unknown;
    };
    let Ok(index) = repo.paths(Side::New) else { return Resolution::Unknown };
    let Some(rest) = import.module.strip_prefix(&format!("{module}/")) else {
        return Resolution::Unknown;
    };
    let package_folder = join_path(&root, rest);
    // Generated packages are often not committed.
    let is_generated = rest
        .split('/')
        .any(|part| part.ends_with("pb") || matches!(part, "gen" | "generated" | "mock" | "mocks"));
    match index.folders.contains(&package_folder) || is_generated {
        true => Resolution::Unknown,
        false => Resolution::MissingModule,
    }
}

fn is_test(path: &str) -> bool {
    path.ends_with("_test.go")
}

fn has_build_constraint(text: &str) -> bool {
    text.lines()
        .take_while(|it| !it.starts_with("package "))
        .any(|it| it.starts_with("//go:build") || it.starts_with("// +build"))
}

#[rustfmt::skip]
const PREDECLARED: [&str; 29] = [
    "any", "append", "bool", "byte", "cap", "clear", "close", "complex", "copy", "delete", "error", "false", "imag", "int", "iota",
    "len", "make", "max", "min", "new", "nil", "panic", "print", "println", "real", "recover", "rune", "string", "true",
];
