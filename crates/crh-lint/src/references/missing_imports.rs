//! Imports of modules and names that do not exist.

use std::collections::BTreeSet;

use super::gitignore::is_ignored;
use super::repo_index::{RepoIndex, join, parent_folder};
use super::resolve::{Resolution, normalize_path, resolve};
use super::rust::MacroPolicy;
use super::suspects::{LanguageFamily, SuspectFile, is_foreign};
use super::{go, messages, rust};
use crate::findings::FindingDraft;
use crate::{ChangedFile, paths};
use crh_review::finding::Side;
use crh_syntax::{ImportedItem, ModuleImport};

/// Reports imports, added or moved by the change, that do not resolve.
pub(super) fn find_missing_imports(
    repo: &RepoIndex<'_>,
    suspect: &SuspectFile<'_>,
    found: &mut Vec<FindingDraft>,
) {
    let file = suspect.file;
    if file.is_deleted || is_foreign(&file.path) {
        return;
    }
    let Some(unit) = repo.source(Side::New, &file.path) else { return };
    if unit.surface.has_errors {
        return;
    }
    let moved = file.old_path.as_deref().filter(|before| *before != file.path);
    let old = file.old_path.as_deref().and_then(|before| repo.source(Side::Old, before));
    // Report a missing module once, even if several names are imported from it.
    let mut reported = BTreeSet::new();
    // A test may load a module on purpose to see it fail.
    let is_test = suspect.family == LanguageFamily::Script && paths::is_sample(&file.path);
    let may_fail =
        |it: &ModuleImport| is_test && it.item == ImportedItem::Module && it.local_name.is_none();
    for import in unit.surface.imports.iter().filter(|it| !it.is_guarded && !may_fail(it)) {
        let same = |it: &&ModuleImport| it.module == import.module && it.item == import.item;
        let was = old.as_ref().and_then(|old| old.surface.imports.iter().find(same));
        let Some(line) = touched_line(file, import, was.is_none()).or(moved.map(|_| import.line))
        else {
            continue;
        };
        let is_module = suspect.family == LanguageFamily::Rust
            && messages::is_module_declaration(unit.line(import.line));
        let module_without_name = match resolve_now(repo, suspect, import, is_module) {
            Resolution::MaybeExternal if is_module => None,
            Resolution::DefinedIn(_) | Resolution::Unknown | Resolution::MaybeExternal => continue,
            Resolution::MissingModule => None,
            Resolution::MissingName(module) => Some(module),
        };
        let before = file.old_path.as_deref().unwrap_or(&file.path);
        let is_old = was.is_some_and(|was| {
            !matches!(
                resolve(repo, Side::Old, suspect.family, before, was),
                Resolution::DefinedIn(_)
            )
        });
        if is_old
            || module_without_name.is_none()
                && is_ignored_module(repo, suspect.family, &file.path, import)
        {
            continue;
        }
        let missing = messages::missing_import_finding(
            file,
            import,
            module_without_name.as_deref(),
            line,
            unit.line(line),
        );
        if reported.insert(missing.title.clone()) {
            found.push(missing);
        }
    }
}

/// The line of an import that the change touches: its own line, or an added line of its statement
/// if the import is new.
fn touched_line(file: &ChangedFile, import: &ModuleImport, is_new: bool) -> Option<u32> {
    if file.adds(import.line) {
        return Some(import.line);
    }
    let (first, last) = import.statement;
    let from = file.added.partition_point(|it| it.number < first);
    let added = file.added.get(from).map(|it| it.number)?;
    (is_new && added <= last).then_some(added)
}

fn resolve_now(
    repo: &RepoIndex<'_>,
    suspect: &SuspectFile<'_>,
    import: &ModuleImport,
    is_module: bool,
) -> Resolution {
    let file = suspect.file;
    match suspect.family {
        LanguageFamily::Go => go::resolve(repo, &file.path, import),
        LanguageFamily::Rust => match &import.item {
            ImportedItem::Name(name) => {
                let path = format!("{}::{name}", import.module);
                // Macros define no module files.
                let makers = if is_module { MacroPolicy::Ignore } else { MacroPolicy::Count };
                rust::resolve(repo, Side::New, makers, &file.path, &path)
            }
            ImportedItem::Module | ImportedItem::All => Resolution::Unknown,
        },
        LanguageFamily::Python
        | LanguageFamily::Script
        | LanguageFamily::Java
        | LanguageFamily::Ruby => resolve(repo, Side::New, suspect.family, &file.path, import),
    }
}

/// Whether git ignores a missing module.
fn is_ignored_module(
    repo: &RepoIndex<'_>,
    family: LanguageFamily,
    from: &str,
    import: &ModuleImport,
) -> bool {
    let ignored = |path: String| is_ignored(repo, &path);
    match family {
        LanguageFamily::Script => {
            normalize_path(parent_folder(from), &import.module).is_some_and(|path| {
                let stem =
                    [".js", ".jsx", ".mjs", ".cjs"].iter().find_map(|it| path.strip_suffix(it));
                let stem = stem.unwrap_or(&path);
                let endings = ["", "/index.js", "/index.ts", ".js", ".ts", ".tsx", ".d.ts", ".mjs"];
                ignored(path.clone()) || endings.iter().any(|it| ignored(format!("{stem}{it}")))
            })
        }
        LanguageFamily::Ruby => normalize_path(parent_folder(from), &import.module)
            .is_some_and(|path| ignored(path.clone()) || ignored(format!("{path}.rb"))),
        LanguageFamily::Python => {
            let module = import.module.trim_start_matches('.').replace('.', "/");
            let mut home = parent_folder(from);
            // The import root is unknown, so any folder will do.
            loop {
                if ignored(join(home, &format!("{module}.py")))
                    || ignored(join(home, &format!("{module}/__init__.py")))
                {
                    return true;
                }
                if home.is_empty() {
                    return false;
                }
                home = parent_folder(home);
            }
        }
        LanguageFamily::Go | LanguageFamily::Java | LanguageFamily::Rust => false,
    }
}
