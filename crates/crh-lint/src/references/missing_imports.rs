//! Imports of modules and names that do not exist.

use std::collections::BTreeSet;

use super::path_index::{join_path, normalize_path, parent_folder};
use super::repo_index::RepoIndex;
use super::resolution::Resolution;
use super::resolve::resolve;
use super::rust::MacroPolicy;
use super::suspects::{LanguageFamily, SuspectFile, is_excluded_path};
use super::{go, messages, rust};
use crate::findings::FindingDraft;
use crate::{ChangedFile, paths};
use crh_review::finding::Side;
use crh_syntax::{ImportedItem, ModuleImport};

/// Reports imports, added or moved by the change, that do not resolve.
pub(super) fn find_missing_imports(
    repo: &RepoIndex<'_>,
    suspect: &SuspectFile<'_>,
    findings: &mut Vec<FindingDraft>,
) {
    let file = suspect.file;
    if file.is_deleted || is_excluded_path(&file.path) {
        return;
    }
    let Some(source) = repo.source(Side::New, &file.path) else { return };
    if source.surface.has_errors {
        return;
    }
    let path_before_move = file.old_path.as_deref().filter(|old_path| *old_path != file.path);
    let old_source = file.old_path.as_deref().and_then(|old_path| repo.source(Side::Old, old_path));
    // Report a missing module once, even if several names are imported from it.
    let mut reported = BTreeSet::new();
    // A test may load a missing module on purpose and expect an error.
    let is_test = suspect.family == LanguageFamily::Script && paths::is_sample(&file.path);
    let may_fail =
        |it: &ModuleImport| is_test && it.item == ImportedItem::Module && it.local_name.is_none();
    for import in source.surface.imports.iter().filter(|it| !it.is_guarded && !may_fail(it)) {
        let is_same_import =
            |it: &&ModuleImport| it.module == import.module && it.item == import.item;
        let old_import = old_source
            .as_ref()
            .and_then(|old_source| old_source.surface.imports.iter().find(is_same_import));
        let Some(line) = touched_line(file, import, old_import.is_none())
            .or(path_before_move.map(|_| import.line))
        else {
            continue;
        };
        let is_module = suspect.family == LanguageFamily::Rust
            && messages::is_module_declaration(source.line(import.line));
        let module_without_name = match resolve_in_new_tree(repo, suspect, import, is_module) {
            Resolution::MaybeExternal if is_module => None,
            Resolution::DefinedIn(_) | Resolution::Unknown | Resolution::MaybeExternal => continue,
            Resolution::MissingModule => None,
            Resolution::MissingName(module) => Some(module),
        };
        let old_path = file.old_path.as_deref().unwrap_or(&file.path);
        // An import that fails in a sample is harmless until the file comes into use.
        let comes_into_use = paths::is_in_use(&file.path) && !paths::is_in_use(old_path);
        let was_already_broken = old_import.filter(|_| !comes_into_use).is_some_and(|old_import| {
            !matches!(
                resolve(repo, Side::Old, suspect.family, old_path, old_import),
                Resolution::DefinedIn(_)
            )
        });
        if was_already_broken
            || module_without_name.is_none()
                && is_ignored_module(repo, suspect.family, &file.path, import)
        {
            continue;
        }
        let finding = messages::missing_import_finding(
            file,
            import,
            module_without_name.as_deref(),
            line,
            source.line(line),
        );
        if reported.insert(finding.title.clone()) {
            findings.push(finding);
        }
    }
}

/// The line at which an import is reported: its own line if the change adds it, or, for a new
/// import, an added line of its statement.
fn touched_line(file: &ChangedFile, import: &ModuleImport, is_new: bool) -> Option<u32> {
    if file.adds(import.line) {
        return Some(import.line);
    }
    let (first, last) = import.statement;
    let start = file.added.partition_point(|it| it.number < first);
    let added_line = file.added.get(start).map(|it| it.number)?;
    (is_new && added_line <= last).then_some(added_line)
}

fn resolve_in_new_tree(
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
                let macro_policy =
                    if is_module { MacroPolicy::CannotDefine } else { MacroPolicy::MayDefine };
                rust::resolve(repo, Side::New, macro_policy, &file.path, &path)
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
    let is_ignored_path = |path: String| repo.is_ignored(&path);
    match family {
        LanguageFamily::Script => {
            normalize_path(parent_folder(from), &import.module).is_some_and(|path| {
                let stem =
                    [".js", ".jsx", ".mjs", ".cjs"].iter().find_map(|it| path.strip_suffix(it));
                let stem = stem.unwrap_or(&path);
                let endings = ["", "/index.js", "/index.ts", ".js", ".ts", ".tsx", ".d.ts", ".mjs"];
                is_ignored_path(path.clone())
                    || endings.iter().any(|it| is_ignored_path(format!("{stem}{it}")))
            })
        }
        LanguageFamily::Ruby => {
            normalize_path(parent_folder(from), &import.module).is_some_and(|path| {
                is_ignored_path(path.clone()) || is_ignored_path(format!("{path}.rb"))
            })
        }
        LanguageFamily::Python => {
            let module = import.module.trim_start_matches('.').replace('.', "/");
            let mut folder = parent_folder(from);
            // The import root is unknown, so each folder above the file is tried.
            loop {
                if is_ignored_path(join_path(folder, &format!("{module}.py")))
                    || is_ignored_path(join_path(folder, &format!("{module}/__init__.py")))
                {
                    return true;
                }
                if folder.is_empty() {
                    return false;
                }
                folder = parent_folder(folder);
            }
        }
        LanguageFamily::Go | LanguageFamily::Java | LanguageFamily::Rust => false,
    }
}
