//! Java: a public class has a file of its name in the folder of its package. Code reaches its
//! methods through the name of the class.

use std::collections::BTreeSet;

use super::path_index::{PathIndex, parent_folder};
use super::removed::{RemovalKind, RemovedSymbol};
use super::repo_index::RepoIndex;
use super::resolution::Resolution;
use super::using_file::{BrokenUse, UsingFile};
use crh_review::finding::Side;
use crh_syntax::{DeclarationKind, ImportedItem, ModuleImport, NameUse, UseRole};

/// Maximum non-Java files searched for a class of their package. If there are more, the import
/// counts as unknown.
const NON_JAVA_FILES_MAX: usize = 100;

/// Maximum classes from a class up to its last superclass. Longer chains are rare and count as
/// unknown.
const SUPERCLASSES_MAX: usize = 6;

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
        let Some(source) = repo.source(side, path) else { return Resolution::Unknown };
        if source.surface.declarations.iter().any(|it| it.container == outer && it.name == *name) {
            return Resolution::DefinedIn(path.to_owned());
        }
        return match class_coverage(repo, side, path, outer, name) {
            ClassCoverage::Complete => Resolution::MissingName(path.to_owned()),
            ClassCoverage::Incomplete => Resolution::Unknown,
        };
    }
    let package_path = import.module.replace('.', "/");
    let folders = index.folders.iter().filter(|it| has_path_suffix(it, &package_path));
    let files: Vec<&str> = folders.flat_map(|it| index.files_in_folder(it)).collect();
    // A Kotlin file may define any class of its package.
    let other_files = files.iter().filter(|it| !it.ends_with(".java"));
    let may_define = |path: &&&str| {
        let text = repo.project.file(side, path).ok().flatten();
        text.is_none_or(|it| String::from_utf8_lossy(&it).contains(name.as_str()))
    };
    let may_be_in_other_file = other_files.clone().count() > NON_JAVA_FILES_MAX
        || other_files.clone().any(|it| may_define(&it));
    // Generated classes are often not committed. They have one of these endings, or come from
    // schema files.
    let is_generated = index.has_schemas
        || name.contains('_')
        || ["Grpc", "Proto", "Generated", "Binding", "BuildConfig", "OuterClass"]
            .iter()
            .any(|it| name.ends_with(it));
    let may_be_external = is_generated || files.is_empty() || !name.starts_with(char::is_uppercase);
    match (may_be_in_other_file, may_be_external) {
        (true, _) => Resolution::Unknown,
        (false, true) => Resolution::MaybeExternal,
        (false, false) => Resolution::MissingModule,
    }
}

fn has_path_suffix(folder: &str, ending: &str) -> bool {
    folder.strip_suffix(ending).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

fn class_file<'i>(index: &'i PathIndex, package: &str, name: &str) -> Option<&'i str> {
    let ending = package.replace('.', "/");
    let files =
        index.stems.get(name)?.iter().filter(|it| it.ends_with(".java") || it.ends_with(".kt"));
    files.map(String::as_str).find(|it| has_path_suffix(parent_folder(it), &ending))
}

/// Whether the source of a class shows every member that a name may refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClassCoverage {
    Complete,
    Incomplete,
}

/// Checks a class and its superclasses within this repository.
fn class_coverage(
    repo: &RepoIndex<'_>,
    side: Side,
    path: &str,
    class: &str,
    name: &str,
) -> ClassCoverage {
    let (mut path, mut class) = (path.to_owned(), class.to_owned());
    for hop in 0..SUPERCLASSES_MAX {
        let Some(source) = repo.source(side, &path) else { return ClassCoverage::Incomplete };
        let surface = &source.surface;
        let mut declarations = surface.declarations.iter();
        let declaration = declarations.find(|it| it.name == class && it.container.is_empty());
        let Some(declaration) =
            declaration.filter(|_| !surface.has_hidden_names && !surface.has_errors)
        else {
            return ClassCoverage::Incomplete;
        };
        let has_member =
            || surface.declarations.iter().any(|it| it.container == class && it.name == name);
        let shows_all_members = match declaration.kind {
            DeclarationKind::Type => true,
            DeclarationKind::Implementer => name.starts_with(char::is_lowercase),
            DeclarationKind::Enumeration => is_constant(name),
            DeclarationKind::Function
            | DeclarationKind::OpenType
            | DeclarationKind::Module
            | DeclarationKind::Value
            | DeclarationKind::Reexport => false,
        };
        if !shows_all_members || hop > 0 && has_member() {
            return ClassCoverage::Incomplete;
        }
        let Some(superclass) = &declaration.extends else { return ClassCoverage::Complete };
        let Some(next) = superclass_file(repo, side, &path, superclass) else {
            return ClassCoverage::Incomplete;
        };
        (path, class) = (next, superclass.clone());
    }
    ClassCoverage::Incomplete
}

/// The file of a superclass; `None` if it may be outside the repository.
fn superclass_file(repo: &RepoIndex<'_>, side: Side, from: &str, class: &str) -> Option<String> {
    let (source, index) = (repo.source(side, from)?, repo.paths(side).ok()?);
    let surface = &source.surface;
    if class.contains('.') || surface.declarations.iter().any(|it| it.name == class) {
        return None;
    }
    let import = surface.imports.iter().find(|it| it.local_name.as_deref() == Some(class));
    let package = import.map(|it| &it.module).or(surface.package.as_ref())?;
    let path = class_file(index, package, class)?;
    // Another part of the repository may have a class with the same package and name.
    let ending = package.replace('.', "/");
    let same_name_files =
        index.stems.get(class)?.iter().filter(|it| has_path_suffix(parent_folder(it), &ending));
    (same_name_files.count() == 1 && path.ends_with(".java")).then(|| path.to_owned())
}

fn is_constant(name: &str) -> bool {
    name.len() > 1
        && name.chars().all(|it| it.is_ascii_uppercase() || it.is_ascii_digit() || it == '_')
}

/// Uses of a removed class member, or of a removed class of the same package.
pub(super) fn broken_uses(
    repo: &RepoIndex<'_>,
    symbol: &RemovedSymbol<'_>,
    using_file: &UsingFile<'_>,
) -> BTreeSet<BrokenUse> {
    let no_uses = BTreeSet::new();
    if symbol.container.contains('.') || matches!(symbol.kind, RemovalKind::Module) {
        return no_uses;
    }
    let class =
        if symbol.container.is_empty() { symbol.name.as_str() } else { symbol.container.as_str() };
    if !refers_to_class(repo, symbol, using_file, class) {
        return no_uses;
    }
    if !symbol.container.is_empty()
        && (symbol.file.is_deleted
            || class_coverage(repo, Side::New, &symbol.file.path, class, &symbol.name)
                == ClassCoverage::Incomplete)
    {
        return no_uses;
    }
    let is_removed_class = symbol.container.is_empty() && matches!(symbol.kind, RemovalKind::Name);
    // A removed class that is imported is reported at the import.
    let mut imports = using_file.source.surface.imports.iter();
    if is_removed_class
        && imports.any(|it| it.local_name.as_deref() == Some(class) || it.item == ImportedItem::All)
    {
        return no_uses;
    }
    let is_broken = |name_use: &&NameUse| match (&symbol.kind, &name_use.role) {
        (RemovalKind::Name, UseRole::Read) => is_removed_class || is_constant(&symbol.name),
        _ => using_file.breaks_use(symbol, name_use),
    };
    // `some.other.Name` is a class of another package.
    let qualified_class = format!(".{class}");
    let is_other_package = |name_use: &&NameUse| {
        is_removed_class && using_file.source.line(name_use.line).contains(&qualified_class)
    };
    let qualifier = if symbol.container.is_empty() { "" } else { class };
    let uses = using_file.uses_of(&symbol.name, qualifier).filter(|it| !is_other_package(it));
    uses.filter(is_broken).map(|it| using_file.broken_use(it.line)).collect()
}

/// Whether a class name in this file refers to the class of the removed symbol.
fn refers_to_class(
    repo: &RepoIndex<'_>,
    symbol: &RemovedSymbol<'_>,
    using_file: &UsingFile<'_>,
    class: &str,
) -> bool {
    let surface = &using_file.source.surface;
    let Some(old_source) = repo.source(Side::Old, symbol.path) else { return false };
    let is_same_file = using_file.path == symbol.file.path;
    let mut old_declarations = old_source.surface.declarations.iter();
    let is_class = old_declarations.any(|it| it.name == class && it.container.is_empty());
    // Other files find a class only if its file has the same name.
    if !is_class || symbol.path.rsplit('/').next() != Some(&format!("{class}.java")) {
        return false;
    }
    let definition_count = surface.declarations.iter().filter(|it| it.name == class).count();
    if definition_count > usize::from(is_same_file)
        || !is_same_file && !using_file.is_unbound(class)
    {
        return false;
    }
    let mut imports = surface.imports.iter().filter(|it| it.local_name.as_deref() == Some(class));
    if let Some(import) = imports.next() {
        return resolve(repo, Side::Old, import) == Resolution::DefinedIn(symbol.path.to_owned())
            && imports.next().is_none();
    }
    let is_same_package =
        surface.package == old_source.surface.package && surface.package.is_some();
    let Ok(index) = repo.paths(Side::New) else { return false };
    let package = surface.package.as_deref().unwrap_or_default();
    let current_file = class_file(index, package, class);
    is_same_package && (current_file.is_none() || current_file == Some(&symbol.file.path))
}
