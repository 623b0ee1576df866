//! Java: a class is a file of its name in the folder of its package, and its methods are reached by
//! its name.

use std::collections::BTreeSet;

use super::broken_uses::{BrokenUse, UsingFile};
use super::removed::{RemovalKind, RemovedSymbol};
use super::repo_index::{PathIndex, RepoIndex, parent_folder};
use super::resolve::Resolution;
use crh_review::finding::Side;
use crh_syntax::{DeclarationKind, ImportedItem, ModuleImport, NameUse, UseRole};

/// If a package has more non-Java files, they are not searched.
const MIXED_MAX: usize = 100;

/// How many superclasses are followed.
const HOPS_MAX: usize = 6;

/// Resolves an import of a class or of a class member.
pub(super) fn resolve(repo: &RepoIndex<'_>, side: Side, import: &ModuleImport) -> Resolution {
    let (Ok(index), ImportedItem::Name(name)) = (repo.paths(side), &import.item) else {
        return Resolution::Unknown;
    };
    if let Some(path) = class_file(index, &import.module, name) {
        return Resolution::DefinedIn(path.to_owned());
    }
    let (package, outer) = import.module.rsplit_once('.').unwrap_or(("", &import.module));
    if outer.starts_with(char::is_uppercase) {
        let Some(path) = class_file(index, package, outer) else { return Resolution::Unknown };
        let Some(unit) = repo.source(side, path) else { return Resolution::Unknown };
        if unit.surface.declarations.iter().any(|it| it.within == outer && it.name == *name) {
            return Resolution::DefinedIn(path.to_owned());
        }
        return match class_coverage(repo, side, path, outer, name) {
            ClassCoverage::Complete => Resolution::MissingName(path.to_owned()),
            ClassCoverage::Incomplete => Resolution::Unknown,
        };
    }
    let ending = import.module.replace('.', "/");
    let folders = index.folders.iter().filter(|it| ends_with(it, &ending));
    let files: Vec<&str> = folders.flat_map(|it| index.in_folder(it)).collect();
    // A Kotlin file may define any class of its package.
    let others = files.iter().filter(|it| !it.ends_with(".java"));
    let may_have = |path: &&&str| {
        let text = repo.project.file(side, path).ok().flatten();
        text.is_none_or(|it| String::from_utf8_lossy(&it).contains(name.as_str()))
    };
    let is_mixed = others.clone().count() > MIXED_MAX || others.clone().any(|it| may_have(&it));
    // Generated classes have such names or come from schema files.
    let is_made = index.has_schemas
        || name.contains('_')
        || ["Grpc", "Proto", "Generated", "Binding", "BuildConfig", "OuterClass"]
            .iter()
            .any(|it| name.ends_with(it));
    let is_absent = is_made || files.is_empty() || !name.starts_with(char::is_uppercase);
    match (is_mixed, is_absent) {
        (true, _) => Resolution::Unknown,
        (false, true) => Resolution::MaybeExternal,
        (false, false) => Resolution::MissingModule,
    }
}

fn ends_with(folder: &str, ending: &str) -> bool {
    folder.strip_suffix(ending).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

fn class_file<'i>(index: &'i PathIndex, package: &str, name: &str) -> Option<&'i str> {
    let ending = package.replace('.', "/");
    let files =
        index.stems.get(name)?.iter().filter(|it| it.ends_with(".java") || it.ends_with(".kt"));
    files.map(String::as_str).find(|it| ends_with(parent_folder(it), &ending))
}

/// Whether the source of a class shows every member that a name may refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClassCoverage {
    Complete,
    Incomplete,
}

/// Follows superclasses within this repository.
fn class_coverage(
    repo: &RepoIndex<'_>,
    side: Side,
    path: &str,
    class: &str,
    name: &str,
) -> ClassCoverage {
    let (mut path, mut class) = (path.to_owned(), class.to_owned());
    for hop in 0..HOPS_MAX {
        let Some(unit) = repo.source(side, &path) else { return ClassCoverage::Incomplete };
        let surface = &unit.surface;
        let mut offers = surface.declarations.iter();
        let own = offers.find(|it| it.name == class && it.within.is_empty());
        let Some(own) = own.filter(|_| !surface.has_hidden_names && !surface.has_errors) else {
            return ClassCoverage::Incomplete;
        };
        let is_inherited =
            || surface.declarations.iter().any(|it| it.within == class && it.name == name);
        let is_seen = match own.kind {
            DeclarationKind::Type => true,
            DeclarationKind::Implementer => name.starts_with(char::is_lowercase),
            DeclarationKind::Enumeration => is_constant(name),
            DeclarationKind::Function
            | DeclarationKind::OpenType
            | DeclarationKind::Module
            | DeclarationKind::Value
            | DeclarationKind::Reexport => false,
        };
        if !is_seen || hop > 0 && is_inherited() {
            return ClassCoverage::Incomplete;
        }
        let Some(above) = &own.extends else { return ClassCoverage::Complete };
        let Some(next) = superclass_file(repo, side, &path, above) else {
            return ClassCoverage::Incomplete;
        };
        (path, class) = (next, above.clone());
    }
    ClassCoverage::Incomplete
}

/// The file of a superclass; `None` if it may be outside the repository.
fn superclass_file(repo: &RepoIndex<'_>, side: Side, from: &str, class: &str) -> Option<String> {
    let (unit, index) = (repo.source(side, from)?, repo.paths(side).ok()?);
    let surface = &unit.surface;
    if class.contains('.') || surface.declarations.iter().any(|it| it.name == class) {
        return None;
    }
    let take = surface.imports.iter().find(|it| it.local_name.as_deref() == Some(class));
    let package = take.map(|it| &it.module).or(surface.package.as_ref())?;
    let path = class_file(index, package, class)?;
    // Another part of the repository may have a class of the same name.
    let ending = package.replace('.', "/");
    let others = index.stems.get(class)?.iter().filter(|it| ends_with(parent_folder(it), &ending));
    (others.count() == 1 && path.ends_with(".java")).then(|| path.to_owned())
}

/// Whether a name is written like a constant.
fn is_constant(name: &str) -> bool {
    name.len() > 1
        && name.chars().all(|it| it.is_ascii_uppercase() || it.is_ascii_digit() || it == '_')
}

/// Uses of a removed class member, or of a removed class of the same package.
pub(super) fn broken_uses(
    repo: &RepoIndex<'_>,
    removed: &RemovedSymbol<'_>,
    user: &UsingFile<'_>,
) -> BTreeSet<BrokenUse> {
    let none = BTreeSet::new();
    if removed.within.contains('.') || matches!(removed.what, RemovalKind::Module) {
        return none;
    }
    let class =
        if removed.within.is_empty() { removed.name.as_str() } else { removed.within.as_str() };
    if !refers_to_class(repo, removed, user, class) {
        return none;
    }
    if !removed.within.is_empty()
        && (removed.file.is_deleted
            || class_coverage(repo, Side::New, &removed.file.path, class, &removed.name)
                == ClassCoverage::Incomplete)
    {
        return none;
    }
    let is_member = |it: &&NameUse| match removed.within.is_empty() {
        true => it.name == class && it.qualifier.is_empty(),
        false => it.name == removed.name && it.qualifier == class,
    };
    let is_gone_class = removed.within.is_empty() && matches!(removed.what, RemovalKind::Name);
    // A removed class that is imported is reported at the import.
    if is_gone_class
        && user
            .source
            .surface
            .imports
            .iter()
            .any(|it| it.local_name.as_deref() == Some(class) || it.item == ImportedItem::All)
    {
        return none;
    }
    let is_broken = |it: &&NameUse| match (&removed.what, &it.role) {
        (RemovalKind::Name, UseRole::Called(_)) => true,
        (RemovalKind::Name, UseRole::Read) => is_gone_class || is_constant(&removed.name),
        (RemovalKind::Shape { before, after, .. }, UseRole::Called(given)) => {
            !after.accepts(given) && (before.accepts(given) || user.adds(it.line))
        }
        _ => false,
    };
    // `some.other.Name` is a class of another package.
    let dotted = format!(".{class}");
    let is_elsewhere = |it: &&NameUse| is_gone_class && user.source.line(it.line).contains(&dotted);
    let uses = user.source.uses.iter().filter(is_member).filter(|it| !is_elsewhere(it));
    uses.filter(is_broken).map(|it| user.broken_use(it.line)).collect()
}

/// Whether a class name in this file refers to the class of the removed symbol.
fn refers_to_class(
    repo: &RepoIndex<'_>,
    removed: &RemovedSymbol<'_>,
    user: &UsingFile<'_>,
    class: &str,
) -> bool {
    let surface = &user.source.surface;
    let Some(before) = repo.source(Side::Old, removed.path) else { return false };
    let is_own = user.path == removed.file.path;
    let is_class =
        before.surface.declarations.iter().any(|it| it.name == class && it.within.is_empty());
    // Other files find only the class with the file's name.
    if !is_class || removed.path.rsplit('/').next() != Some(&format!("{class}.java")) {
        return false;
    }
    let defined = surface.declarations.iter().filter(|it| it.name == class).count();
    if defined > usize::from(is_own) || !is_own && !user.is_unbound(class) {
        return false;
    }
    let mut takes = surface.imports.iter().filter(|it| it.local_name.as_deref() == Some(class));
    if let Some(import) = takes.next() {
        return resolve(repo, Side::Old, import) == Resolution::DefinedIn(removed.path.to_owned())
            && takes.next().is_none();
    }
    let is_near = surface.package == before.surface.package && surface.package.is_some();
    let Ok(index) = repo.paths(Side::New) else { return false };
    let package = surface.package.as_deref().unwrap_or_default();
    let now = class_file(index, package, class);
    is_near && (now.is_none() || now == Some(&removed.file.path))
}
