//! Go: a package is a folder whose files share their names; other packages use them by the
//! package's name.

use std::collections::BTreeSet;

use super::broken_uses::{BrokenUse, UsingFile};
use super::removed::{RemovalKind, RemovedSymbol};
use super::repo_index::{RepoIndex, join, parent_folder};
use super::resolve::Resolution;
use crh_review::finding::Side;
use crh_syntax::{ImportedItem, ModuleImport, NameUse, Surface, UseRole};

/// Uses of a symbol that the same package or an imported one has lost.
pub(super) fn broken_uses(
    repo: &RepoIndex<'_>,
    removed: &RemovedSymbol<'_>,
    user: &UsingFile<'_>,
) -> BTreeSet<BrokenUse> {
    let none = BTreeSet::new();
    let home = parent_folder(removed.path);
    if is_empty_package(repo, home) {
        return match removed.what {
            RemovalKind::Module => broken_imports(repo, home, user),
            RemovalKind::Name | RemovalKind::Shape { .. } => none,
        };
    }
    if matches!(removed.what, RemovalKind::Module)
        || has_build_constraint(&user.source.text)
        || is_predeclared(&removed.name)
    {
        return none;
    }
    let Some(before) = repo.source(Side::Old, removed.path) else { return none };
    if has_build_constraint(&before.text) || is_test(removed.path) && !is_test(user.path) {
        return none;
    }
    let surface = &user.source.surface;
    let places = if parent_folder(user.path) == home && surface.package == before.surface.package {
        let is_dotted = surface.imports.iter().any(|it| it.item == ImportedItem::All);
        let defined = surface.declarations.iter().filter(|it| it.name == removed.name).count();
        let uses: Vec<&NameUse> = uses_of(user, &removed.name, "");
        let bound =
            uses.iter().filter(|it| matches!(it.role, UseRole::Bound | UseRole::Imported)).count();
        if is_dotted || bound > defined {
            return none;
        }
        broken_among(removed, user, &uses)
    } else {
        let Some(local) = local_name(repo, home, before.surface.package.as_deref(), surface) else {
            return none;
        };
        if !user.is_unbound(&local) {
            return none;
        }
        broken_among(removed, user, &uses_of(user, &removed.name, &local))
    };
    if places.is_empty() || !is_gone(repo, home, removed) {
        return none;
    }
    places
}

/// Whether a package has no files left.
fn is_empty_package(repo: &RepoIndex<'_>, home: &str) -> bool {
    repo.paths(Side::New).is_ok_and(|it| !it.in_folder(home).any(|path| path.ends_with(".go")))
}

/// Imports of a removed package.
fn broken_imports(repo: &RepoIndex<'_>, home: &str, user: &UsingFile<'_>) -> BTreeSet<BrokenUse> {
    let Some(path) = import_path(repo, home) else { return BTreeSet::new() };
    let takes = user.source.surface.imports.iter();
    let old = takes.filter(|it| it.module == path && !user.adds(it.line));
    old.map(|it| user.broken_use(it.line)).collect()
}

fn uses_of<'u>(user: &'u UsingFile<'_>, name: &str, of: &str) -> Vec<&'u NameUse> {
    user.source.uses.iter().filter(|it| it.name == name && it.qualifier == of).collect()
}

fn broken_among(
    removed: &RemovedSymbol<'_>,
    user: &UsingFile<'_>,
    uses: &[&NameUse],
) -> BTreeSet<BrokenUse> {
    let is_broken = |it: &&&NameUse| match (&removed.what, &it.role) {
        (RemovalKind::Name, UseRole::Read | UseRole::Called(_)) => true,
        (RemovalKind::Shape { before, after, .. }, UseRole::Called(given)) => {
            !after.accepts(given) && (before.accepts(given) || user.adds(it.line))
        }
        _ => false,
    };
    uses.iter().filter(is_broken).map(|it| user.broken_use(it.line)).collect()
}

/// Whether no file of the package has the name any more; for changed parameters, whether no other
/// file has it.
fn is_gone(repo: &RepoIndex<'_>, home: &str, removed: &RemovedSymbol<'_>) -> bool {
    let Ok(index) = repo.paths(Side::New) else { return false };
    index.in_folder(home).filter(|it| it.ends_with(".go")).all(|path| {
        let is_own = matches!(removed.what, RemovalKind::Shape { .. }) && path == removed.file.path;
        is_own
            || repo.source(Side::New, path).is_some_and(|unit| {
                !unit.surface.has_errors
                    && !unit.surface.has_hidden_names
                    && !unit.surface.declarations.iter().any(|it| it.name == removed.name)
            })
    })
}

/// The local name of a package in a file.
fn local_name(
    repo: &RepoIndex<'_>,
    home: &str,
    package: Option<&str>,
    surface: &Surface,
) -> Option<String> {
    let path = import_path(repo, home)?;
    let take = surface.imports.iter().find(|it| it.module == path)?;
    let local = take.local_name.clone().or_else(|| package.map(str::to_owned))?;
    (!matches!(local.as_str(), "_" | ".")).then_some(local)
}

/// The import path of a folder.
fn import_path(repo: &RepoIndex<'_>, home: &str) -> Option<String> {
    let (root, module) = module_around(repo, home)?;
    let rest = home.strip_prefix(root.as_str())?.trim_start_matches('/');
    Some(join(&module, rest).trim_end_matches('/').to_owned())
}

/// The root folder and the name of the Go module around a folder.
fn module_around(repo: &RepoIndex<'_>, home: &str) -> Option<(String, String)> {
    let index = repo.paths(Side::New).ok()?;
    let mut root = home;
    loop {
        let path = join(root, "go.mod");
        if index.has(&path) {
            let text = crate::source::text(repo.project.file(Side::New, &path).ok()??)?;
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
    let Some((root, module)) = module_around(repo, parent_folder(from)) else {
        return Resolution::Unknown;
    };
    let Ok(index) = repo.paths(Side::New) else { return Resolution::Unknown };
    let Some(rest) = import.module.strip_prefix(&format!("{module}/")) else {
        return Resolution::Unknown;
    };
    let home = join(&root, rest);
    // Generated packages are often not committed.
    let is_made = rest
        .split('/')
        .any(|part| part.ends_with("pb") || matches!(part, "gen" | "generated" | "mock" | "mocks"));
    match index.folders.contains(&home) || is_made {
        true => Resolution::Unknown,
        false => Resolution::MissingModule,
    }
}

fn is_test(path: &str) -> bool {
    path.ends_with("_test.go")
}

/// Whether a file has a build constraint.
fn has_build_constraint(text: &str) -> bool {
    text.lines()
        .take_while(|it| !it.starts_with("package "))
        .any(|it| it.starts_with("//go:build") || it.starts_with("// +build"))
}

fn is_predeclared(name: &str) -> bool {
    matches!(
        name,
        "any"
            | "append"
            | "cap"
            | "clear"
            | "close"
            | "complex"
            | "copy"
            | "delete"
            | "error"
            | "imag"
            | "len"
            | "make"
            | "max"
            | "min"
            | "new"
            | "panic"
            | "print"
            | "println"
            | "real"
            | "recover"
            | "string"
            | "int"
            | "bool"
            | "byte"
            | "rune"
            | "true"
            | "false"
            | "nil"
            | "iota"
    )
}
