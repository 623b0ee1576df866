//! Finds the remaining uses of removed symbols.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::globals::is_global;
use super::missing_imports::find_missing_imports;
use super::path_index::{join_path, parent_folder};
use super::removed::{RemovalKind, RemovedSymbol, removed_symbols};
use super::repo_index::RepoIndex;
use super::resolution::Resolution;
use super::resolve::{ModuleTarget, join_module, module_target, resolve, resolve_export};
use super::rust::MacroPolicy;
use super::suspects::{LanguageFamily, SuspectFile, is_excluded_path};
use super::using_file::{BrokenUse, UsingFile};
use super::{go, java, messages, ruby, rust};
use crate::findings::FindingDraft;
use crate::{ChangeView, ChangedFile, SearchHit};
use crh_review::finding::Side;
use crh_syntax::{ImportedItem, ModuleImport, NameUse, Surface, UseRole};

/// Maximum hits of the search for all removed names at once. If there are more, crh drops the
/// common names and searches again. If there are still more, the check stops with a note.
pub(super) const HITS_MAX: usize = 20_000;

/// Maximum lines with a name. A name on more lines is an ordinary word, and crh does not look for
/// its uses.
const HITS_OF_NAME_MAX: usize = 2_000;

/// Broken uses, by the index of the removed symbol.
pub(super) type BrokenUses = BTreeMap<usize, BTreeSet<BrokenUse>>;

/// Reports all broken uses and missing imports.
pub(super) fn find_broken_uses(
    change: &ChangeView<'_>,
    repo: &RepoIndex<'_>,
    suspects: &[SuspectFile<'_>],
    findings: &mut Vec<FindingDraft>,
) -> Result<(), String> {
    let removed_symbols = removed_symbols(repo, suspects);
    let changed_files: HashMap<&str, &ChangedFile> = change
        .all_files
        .iter()
        .filter(|it| !it.is_deleted)
        .map(|it| (it.path.as_str(), it))
        .collect();
    if !removed_symbols.is_empty() {
        let (paths_with_name, names) = search_names(repo, &removed_symbols)?;
        let followed_symbols: Vec<usize> = (0..removed_symbols.len())
            .filter(|at| names.contains(&removed_symbols[*at].search_word()))
            .collect();
        repo.track_names(
            followed_symbols.iter().map(|at| removed_symbols[*at].name.clone()).collect(),
        );
        let mut results = BrokenUses::new();
        for path in &paths_with_name {
            let language = repo.language(Side::New, path);
            let Some(family) = language.and_then(LanguageFamily::from_language) else { continue };
            if is_excluded_path(path) {
                continue;
            }
            let Some(text) = repo.text(Side::New, path) else { continue };
            let may_use = |symbol: &RemovedSymbol<'_>| {
                symbol.family == family && symbol.may_be_used_in(&text)
            };
            let followed_symbols = followed_symbols.iter().copied();
            let symbol_indexes: Vec<usize> =
                followed_symbols.filter(|at| may_use(&removed_symbols[*at])).collect();
            if symbol_indexes.is_empty() {
                continue;
            }
            let Some(source) = repo.source(Side::New, path) else { continue };
            if source.surface.has_errors {
                continue;
            }
            let changed_file = changed_files.get(path.as_str()).copied();
            let old_path = changed_file.and_then(|it| it.old_path.as_deref()).unwrap_or(path);
            let checker = UseChecker {
                repo,
                removed_symbols: &removed_symbols,
                symbol_indexes: &symbol_indexes,
                using_file: &UsingFile { path, old_path, source, changed_file },
                family,
                paths_with_name: &paths_with_name,
            };
            checker.check_all(&mut results);
        }
        for (at, uses) in results.into_iter().filter(|(_, uses)| !uses.is_empty()) {
            let symbol = &removed_symbols[at];
            findings.push(messages::removal_finding(repo, &changed_files, symbol, &uses));
        }
    }
    for suspect in suspects {
        let file = suspect.file;
        if suspect.may_miss_imports
            || file.old_path.as_ref().is_some_and(|old_path| *old_path != file.path)
        {
            find_missing_imports(repo, suspect, findings);
        }
    }
    Ok(())
}

/// Paths of files that contain one of the names, and the names that are rare enough to be checked.
fn search_names(
    repo: &RepoIndex<'_>,
    removed_symbols: &[RemovedSymbol<'_>],
) -> Result<(BTreeSet<String>, BTreeSet<String>), String> {
    let mut names: BTreeSet<String> = removed_symbols
        .iter()
        .map(RemovedSymbol::search_word)
        .filter(|it| !it.is_empty())
        .collect();
    let search = |names: &BTreeSet<String>| {
        let words: Vec<&str> = names.iter().map(String::as_str).collect();
        repo.project.search(Side::New, &words, HITS_MAX)
    };
    let mut hits = search(&names)?;
    for name in common_names(&hits.lines, &names) {
        names.remove(&name);
    }
    if !hits.is_complete {
        hits = search(&names)?;
    }
    if !hits.is_complete {
        return Err("the removed names occur in too many places".to_owned());
    }
    Ok((hits.lines.into_iter().map(|it| it.path).collect(), names))
}

/// Names that occur on more than [`HITS_OF_NAME_MAX`] lines.
fn common_names(lines: &[SearchHit], names: &BTreeSet<String>) -> Vec<String> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for hit in lines {
        for word in hit.text.split(|it: char| !(it.is_alphanumeric() || it == '_')) {
            if let Some(name) = names.get(word) {
                *counts.entry(name).or_default() += 1;
            }
        }
    }
    let common = counts.into_iter().filter(|(_, count)| *count > HITS_OF_NAME_MAX);
    common.map(|(name, _)| name.to_owned()).collect()
}

/// Checks one file for uses of removed symbols.
struct UseChecker<'w, 'a> {
    repo: &'w RepoIndex<'w>,
    removed_symbols: &'w [RemovedSymbol<'a>],
    symbol_indexes: &'w [usize],
    using_file: &'w UsingFile<'w>,
    family: LanguageFamily,
    /// Paths of all files that contain one of the removed names.
    paths_with_name: &'w BTreeSet<String>,
}

impl UseChecker<'_, '_> {
    fn check_all(&self, results: &mut BrokenUses) {
        let using_file = self.using_file;
        if self.family == LanguageFamily::Rust && !rust::is_compiled(self.repo, using_file.path) {
            return;
        }
        for import in using_file.source.surface.imports.iter().filter(|it| !it.is_guarded) {
            match self.family {
                LanguageFamily::Python | LanguageFamily::Script => {
                    self.check_import(import, results);
                    self.check_members(import, results);
                    self.check_calls(import, results);
                }
                LanguageFamily::Rust => {
                    self.check_import(import, results);
                    self.check_calls(import, results);
                }
                LanguageFamily::Java | LanguageFamily::Ruby => self.check_import(import, results),
                LanguageFamily::Go => {}
            }
        }
        for (at, symbol) in self.symbols() {
            let broken_uses = match self.family {
                LanguageFamily::Go => go::broken_uses(self.repo, symbol, using_file),
                LanguageFamily::Java => java::broken_uses(self.repo, symbol, using_file),
                LanguageFamily::Ruby => {
                    ruby::broken_uses(self.repo, symbol, using_file, self.paths_with_name)
                }
                LanguageFamily::Rust => self.broken_paths(symbol),
                LanguageFamily::Python | LanguageFamily::Script => BTreeSet::new(),
            };
            results.entry(at).or_default().extend(broken_uses);
        }
        match self.family {
            LanguageFamily::Python | LanguageFamily::Script | LanguageFamily::Rust => {
                self.check_own_file(results);
            }
            LanguageFamily::Go | LanguageFamily::Java | LanguageFamily::Ruby => {}
        }
    }

    /// The removed symbols that this file may use, with their indexes.
    fn symbols(&self) -> impl Iterator<Item = (usize, &RemovedSymbol<'_>)> {
        self.symbol_indexes.iter().map(|at| (*at, &self.removed_symbols[*at]))
    }

    /// Broken Rust paths such as `a::b::name`, with or without a `use` of the first part.
    fn broken_paths(&self, symbol: &RemovedSymbol<'_>) -> BTreeSet<BrokenUse> {
        if let Some(owner) = symbol.container.strip_suffix('.') {
            return self.broken_members(symbol, owner);
        }
        if !symbol.container.is_empty() {
            return BTreeSet::new();
        }
        let resolves_to_symbol = |name_use: &&NameUse| {
            let Some(path) = self.full_path(name_use) else { return false };
            let [old, new] = self.resolve_path(&path);
            let is_affected = match symbol.kind {
                RemovalKind::Name => matches!(
                    new,
                    Resolution::MissingName(_)
                        | Resolution::MissingModule
                        | Resolution::MaybeExternal
                ),
                RemovalKind::Signature { .. } => {
                    new == Resolution::DefinedIn(symbol.file.path.clone())
                }
                RemovalKind::Module => false,
            };
            is_affected && old == Resolution::DefinedIn(symbol.path.to_owned())
        };
        let uses = self.using_file.source.uses.iter();
        let uses = uses.filter(|it| it.name == symbol.name && !it.qualifier.is_empty());
        let uses = uses.filter(|it| self.using_file.breaks_use(symbol, it));
        uses.filter(resolves_to_symbol).map(|it| self.using_file.broken_use(it.line)).collect()
    }

    /// Resolves a Rust path of the file before and after the change.
    fn resolve_path(&self, path: &str) -> [Resolution; 2] {
        [(Side::Old, self.using_file.old_path), (Side::New, self.using_file.path)].map(
            |(side, from)| rust::resolve(self.repo, side, MacroPolicy::CannotDefine, from, path),
        )
    }

    /// The path of a use, starting with `crate`, `self`, `super` or a crate's name; `None` if the
    /// start is unknown.
    fn full_path(&self, name_use: &NameUse) -> Option<String> {
        let first = name_use.qualifier.split("::").next()?;
        if matches!(first, "crate" | "self" | "super") {
            return Some(format!("{}::{}", name_use.qualifier, name_use.name));
        }
        let surface = &self.using_file.source.surface;
        let rest = &name_use.qualifier[first.len()..];
        let mut imports = surface.imports.iter();
        if let Some(import) = imports.find(|it| it.local_name.as_deref() == Some(first)) {
            let ImportedItem::Name(name) = &import.item else { return None };
            return Some(format!("{}::{name}{rest}::{}", import.module, name_use.name));
        }
        let mut declarations = surface.declarations.iter();
        if declarations.any(|it| it.name == first && it.container.is_empty()) {
            return Some(format!("self::{}::{}", name_use.qualifier, name_use.name));
        }
        let is_crate = self.repo.crates(Side::New).contains_key(first);
        is_crate.then(|| format!("{}::{}", name_use.qualifier, name_use.name))
    }

    /// Broken Rust paths such as `Type::name`, where the type exists and no longer has the variant,
    /// function or constant.
    fn broken_members(&self, symbol: &RemovedSymbol<'_>, owner: &str) -> BTreeSet<BrokenUse> {
        let type_files =
            [symbol.path, &symbol.file.path].map(|it| Resolution::DefinedIn(it.to_owned()));
        let is_member = |name_use: &&NameUse| {
            let path = self.full_path(name_use);
            let type_path = path.as_deref().and_then(|it| it.rsplit_once("::"));
            type_path.is_some_and(|(path, _)| self.resolve_path(path) == type_files)
        };
        let uses = self.using_file.source.uses.iter().filter(|name_use| {
            name_use.name == symbol.name && name_use.qualifier.rsplit("::").next() == Some(owner)
        });
        let broken_uses = self.using_file.filter_broken(symbol, uses.filter(is_member));
        let is_reported = !broken_uses.is_empty()
            && rust::is_only_definition(self.repo, symbol, owner, self.paths_with_name);
        if is_reported { broken_uses } else { BTreeSet::new() }
    }

    /// Checks an import that resolved before the change.
    fn check_import(&self, import: &ModuleImport, results: &mut BrokenUses) {
        let using_file = self.using_file;
        let name = match &import.item {
            ImportedItem::Name(name) => name.as_str(),
            ImportedItem::Module | ImportedItem::All => "",
        };
        let words = || import.module.split(['.', '/', ':']).chain([name]);
        let names_removed_symbol =
            self.symbols().any(|(_, symbol)| words().any(|word| word == symbol.name));
        if using_file.adds(import.line)
            || !names_removed_symbol
                && !words().any(|it| it == "default")
                && !words().all(str::is_empty)
        {
            return;
        }
        let new_resolution = resolve(self.repo, Side::New, self.family, using_file.path, import);
        if matches!(new_resolution, Resolution::DefinedIn(_) | Resolution::Unknown) {
            return;
        }
        let Resolution::DefinedIn(old_file) =
            resolve(self.repo, Side::Old, self.family, using_file.old_path, import)
        else {
            return;
        };
        // A Java import may name a member of a class.
        let is_matching_owner = |container: &str| {
            container.is_empty()
                || self.family == LanguageFamily::Java
                    && import.module.rsplit('.').next() == Some(container)
        };
        let names = self.symbols().filter(|(_, symbol)| {
            symbol.path == old_file
                && symbol.name == name
                && is_matching_owner(&symbol.container)
                && matches!(symbol.kind, RemovalKind::Name)
        });
        let modules = self
            .symbols()
            .filter(|(_, it)| it.path == old_file && matches!(it.kind, RemovalKind::Module));
        // A removed module is reported once, not for each of its names.
        if let Some((at, symbol)) = modules.chain(names).next()
            && !(self.is_missing_file(symbol.path) && self.repo.is_ignored(symbol.path))
        {
            results.entry(at).or_default().insert(using_file.broken_use(import.line));
        }
    }

    /// Whether the new tree has no file with this path. A committed file exists even if git ignores
    /// its path.
    fn is_missing_file(&self, path: &str) -> bool {
        self.repo.paths(Side::New).is_ok_and(|index| !index.has_file(path))
    }

    /// The file of the module that an import binds to its local name; `None` if the import binds
    /// something else or the file is unknown.
    fn imported_module(&self, import: &ModuleImport) -> Option<String> {
        let index = self.repo.paths(Side::New).ok()?;
        let path = match (&import.item, self.family) {
            (ImportedItem::Module, _) => import.module.clone(),
            (ImportedItem::Name(name), LanguageFamily::Python) => join_module(&import.module, name),
            (ImportedItem::Name(_) | ImportedItem::All, _) => return None,
        };
        match module_target(index, self.family, self.using_file.path, &path) {
            ModuleTarget::File(path) => Some(path),
            ModuleTarget::Missing
            | ModuleTarget::MaybeExternal
            | ModuleTarget::Folder
            | ModuleTarget::Unknown => None,
        }
    }

    /// Checks uses such as `module.name`, where the name is removed or has other parameters.
    fn check_members(&self, import: &ModuleImport, results: &mut BrokenUses) {
        let using_file = self.using_file;
        let Some(local) = import.local_name.as_deref() else { return };
        let has_members = using_file.source.uses.iter().any(|it| it.qualifier == local);
        if !has_members || !using_file.is_unbound(local) {
            return;
        }
        let Some(new_file) = self.imported_module(import) else { return };
        let is_in_module = |symbol: &RemovedSymbol<'_>| {
            symbol.file.path == new_file && !symbol.file.is_deleted && symbol.container.is_empty()
        };
        for (at, symbol) in self.symbols().filter(|(_, symbol)| is_in_module(symbol)) {
            let uses = || using_file.uses_of(&symbol.name, local);
            let broken_uses = using_file.filter_broken(symbol, uses());
            if broken_uses.is_empty() || uses().any(|it| it.role == UseRole::Written) {
                continue;
            }
            let is_affected = match symbol.kind {
                RemovalKind::Name => {
                    matches!(
                        resolve_export(self.repo, Side::New, self.family, &new_file, &symbol.name),
                        Resolution::MissingName(_)
                    ) && !self.is_submodule(&new_file, &symbol.name)
                }
                RemovalKind::Module => false,
                RemovalKind::Signature { .. } => true,
            };
            if is_affected {
                results.entry(at).or_default().extend(broken_uses);
            }
        }
    }

    fn is_submodule(&self, package: &str, name: &str) -> bool {
        let Ok(index) = self.repo.paths(Side::New) else { return true };
        let submodule = join_path(parent_folder(package), name);
        index.folders.contains(&submodule) || index.has_file(&format!("{submodule}.py"))
    }

    /// Checks calls of a function that is imported by name.
    fn check_calls(&self, import: &ModuleImport, results: &mut BrokenUses) {
        let (ImportedItem::Name(name), Some(local)) = (&import.item, import.local_name.as_deref())
        else {
            return;
        };
        let changed_symbols = || {
            self.symbols().filter(|(_, symbol)| {
                symbol.name == *name && matches!(symbol.kind, RemovalKind::Signature { .. })
            })
        };
        let using_file = self.using_file;
        if changed_symbols().next().is_none() || !using_file.is_unbound(local) {
            return;
        }
        let Resolution::DefinedIn(new_file) =
            resolve(self.repo, Side::New, self.family, using_file.path, import)
        else {
            return;
        };
        let imports = using_file.source.surface.imports.iter();
        if imports.filter(|it| it.local_name.as_deref() == Some(local)).count() > 1 {
            return;
        }
        for (at, symbol) in changed_symbols().filter(|(_, it)| it.file.path == new_file) {
            let broken_uses = using_file.filter_broken(symbol, using_file.uses_of(local, ""));
            results.entry(at).or_default().extend(broken_uses);
        }
    }

    /// Whether another classic script (one without imports and exports) defines a name globally.
    fn may_be_global(&self, name: &str) -> bool {
        let is_module = |surface: &Surface| {
            !surface.imports.is_empty() || surface.declarations.iter().any(|it| it.is_exported)
        };
        let defines_name = |path: &&String| {
            LanguageFamily::from_path(path) == Some(LanguageFamily::Script)
                && self.repo.source(Side::New, path).is_some_and(|source| {
                    source.surface.declarations.iter().any(|it| it.name == name)
                        && !is_module(&source.surface)
                })
        };
        !is_module(&self.using_file.source.surface)
            && self.paths_with_name.iter().any(|it| defines_name(&it))
    }

    /// Checks uses in the file that defined the name, or that still defines it with other
    /// parameters.
    fn check_own_file(&self, results: &mut BrokenUses) {
        let (using_file, surface) = (self.using_file, &self.using_file.source.surface);
        let may_have_more_names = surface.has_hidden_names
            && (self.family != LanguageFamily::Rust
                || !rust::has_same_macros(self.repo, using_file.path));
        let has_glob_import = self.family != LanguageFamily::Script
            && surface.imports.iter().any(|it| it.item == ImportedItem::All);
        if may_have_more_names || has_glob_import {
            return;
        }
        for (at, symbol) in self.symbols() {
            if symbol.file.path != using_file.path
                || symbol.file.is_deleted
                || symbol.path != using_file.old_path
                || is_global(self.family, &symbol.name)
                || symbol.container.ends_with('.')
                || self.family == LanguageFamily::Rust && rust::may_be_external(self.repo, symbol)
                || self.family == LanguageFamily::Script && self.may_be_global(&symbol.name)
            {
                continue;
            }
            // The parser gives a nested import such as `use a::{b::Name}` a qualifier, so these
            // uses are counted with any qualifier.
            let all_uses = using_file.source.uses.iter().filter(|it| it.name == symbol.name);
            let binding_count = all_uses
                .filter(|name_use| match name_use.role {
                    UseRole::Imported => true,
                    UseRole::Bound => name_use.qualifier.is_empty(),
                    UseRole::Key | UseRole::Written | UseRole::Read | UseRole::Called(_) => false,
                })
                .count();
            let mut declarations = surface.declarations.iter().filter(|it| !it.is_associated());
            let is_declared = declarations.any(|it| it.name == symbol.name);
            let may_break = match symbol.kind {
                RemovalKind::Name => binding_count == 0 && !is_declared,
                RemovalKind::Signature { .. } => binding_count == 1,
                RemovalKind::Module => false,
            };
            if may_break {
                let uses = using_file.uses_of(&symbol.name, "");
                results.entry(at).or_default().extend(using_file.filter_broken(symbol, uses));
            }
        }
    }
}
