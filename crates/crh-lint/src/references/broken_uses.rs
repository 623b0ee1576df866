//! Finds the remaining uses of removed symbols.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use super::gitignore::is_ignored;
use super::globals::is_global;
use super::missing_imports::find_missing_imports;
use super::removed::{RemovalKind, RemovedSymbol, removed_symbols};
use super::repo_index::{RepoIndex, SourceFile};
use super::resolve::{ModuleTarget, Resolution, module_target, resolve, resolve_export};
use super::rust::MacroPolicy;
use super::suspects::{LanguageFamily, SuspectFile, is_foreign};
use super::{go, java, messages, ruby, rust};
use crate::findings::FindingDraft;
use crate::{ChangeView, ChangedFile, SearchHit};
use crh_review::finding::Side;
use crh_syntax::{ImportedItem, ModuleImport, NameUse, Surface, UseRole};

/// Search limit for all names.
pub(super) const HITS_MAX: usize = 20_000;

/// A name on more lines is an ordinary word and is not followed.
const HITS_OF_NAME_MAX: usize = 2_000;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BrokenUse {
    pub(super) path: String,
    pub(super) line: u32,
    pub(super) text: String,
}

/// Broken uses, by the index of the removed symbol.
pub(super) type BrokenUses = BTreeMap<usize, BTreeSet<BrokenUse>>;

/// A file that may use a removed symbol.
pub(super) struct UsingFile<'a> {
    pub(super) path: &'a str,
    /// Old path.
    pub(super) before: &'a str,
    pub(super) source: Rc<SourceFile>,
    /// Set if the change touches the file.
    pub(super) changed: Option<&'a ChangedFile>,
}

impl UsingFile<'_> {
    pub(super) fn adds(&self, line: u32) -> bool {
        self.changed.is_some_and(|it| it.adds(line))
    }

    pub(super) fn broken_use(&self, line: u32) -> BrokenUse {
        BrokenUse { path: self.path.to_owned(), line, text: self.source.line(line).to_owned() }
    }

    /// Whether a name is bound nowhere in the file except by its import.
    pub(super) fn is_unbound(&self, name: &str) -> bool {
        let first = name.split(['.', ':']).next().unwrap_or(name);
        let names = |it: &&NameUse| {
            it.name == first && it.qualifier.is_empty() && it.role == UseRole::Bound
        };
        !self.source.uses.iter().any(|it| names(&it))
    }
}

/// Reports all broken uses and missing imports.
pub(super) fn find_broken_uses(
    change: &ChangeView<'_>,
    repo: &RepoIndex<'_>,
    suspects: &[SuspectFile<'_>],
    found: &mut Vec<FindingDraft>,
) -> Result<(), String> {
    let removed = removed_symbols(repo, suspects);
    let changed: HashMap<&str, &ChangedFile> = change
        .all_files
        .iter()
        .filter(|it| !it.is_deleted)
        .map(|it| (it.path.as_str(), it))
        .collect();
    if !removed.is_empty() {
        let (hits, names) = search_names(repo, &removed)?;
        let wanted =
            removed.iter().filter(|it| names.contains(&it.search_word())).map(|it| it.name.clone());
        repo.track_names(wanted.collect());
        let searched: Vec<usize> =
            (0..removed.len()).filter(|at| names.contains(&removed[*at].search_word())).collect();
        let mut broken = BrokenUses::new();
        for path in &hits {
            let Some(family) = LanguageFamily::from_path(path) else { continue };
            if is_foreign(path) {
                continue;
            }
            let relevant: Vec<usize> =
                searched.iter().copied().filter(|at| removed[*at].family == family).collect();
            if relevant.is_empty() {
                continue;
            }
            let Some(unit) = repo.source(Side::New, path) else { continue };
            if unit.surface.has_errors {
                continue;
            }
            let changed = changed.get(path.as_str()).copied();
            let before = changed.map_or(Some(path.as_str()), |it| it.old_path.as_deref());
            let user = UsingFile { path, before: before.unwrap_or(path), source: unit, changed };
            let checker = UseChecker {
                repo,
                removed: &removed,
                relevant: &relevant,
                user: &user,
                family,
                hits: &hits,
            };
            checker.check_all(&mut broken);
        }
        for (at, places) in broken {
            found.push(messages::removal_finding(repo, &changed, &removed[at], &places));
        }
    }
    for suspect in suspects.iter().filter(|it| {
        it.may_miss_imports
            || it.file.old_path.as_deref().is_some_and(|before| before != it.file.path)
    }) {
        find_missing_imports(repo, suspect, found);
    }
    Ok(())
}

/// Files that contain one of the names, and the names that can be followed.
fn search_names(
    repo: &RepoIndex<'_>,
    removed: &[RemovedSymbol<'_>],
) -> Result<(BTreeSet<String>, BTreeSet<String>), String> {
    let mut names: BTreeSet<String> =
        removed.iter().map(RemovedSymbol::search_word).filter(|it| !it.is_empty()).collect();
    let search = |names: &BTreeSet<String>| {
        let words: Vec<&str> = names.iter().map(String::as_str).collect();
        repo.project.search(Side::New, &words, HITS_MAX)
    };
    let mut hits = search(&names)?;
    for name in too_common(&hits.lines, &names) {
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

/// Names on too many lines.
fn too_common(lines: &[SearchHit], names: &BTreeSet<String>) -> Vec<String> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for line in lines {
        for word in line.text.split(|it: char| !(it.is_alphanumeric() || it == '_')) {
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
    removed: &'w [RemovedSymbol<'a>],
    relevant: &'w [usize],
    user: &'w UsingFile<'w>,
    family: LanguageFamily,
    /// All files that contain one of the names.
    hits: &'w BTreeSet<String>,
}

impl UseChecker<'_, '_> {
    fn check_all(&self, broken: &mut BrokenUses) {
        match self.family {
            LanguageFamily::Python | LanguageFamily::Script => {
                for import in self.user.source.surface.imports.iter().filter(|it| !it.is_guarded) {
                    self.check_import(import, broken);
                    self.check_members(import, broken);
                    self.check_calls(import, broken);
                }
                self.check_own_file(broken);
            }
            LanguageFamily::Go => {
                for at in self.relevant {
                    let places = go::broken_uses(self.repo, &self.removed[*at], self.user);
                    if !places.is_empty() {
                        broken.entry(*at).or_default().extend(places);
                    }
                }
            }
            LanguageFamily::Rust if !rust::is_compiled(self.repo, self.user.path) => {}
            LanguageFamily::Rust => {
                for import in self.user.source.surface.imports.iter().filter(|it| !it.is_guarded) {
                    self.check_import(import, broken);
                    self.check_calls(import, broken);
                }
                self.check_paths(broken);
                self.check_own_file(broken);
            }
            LanguageFamily::Java | LanguageFamily::Ruby => {
                for import in self.user.source.surface.imports.iter().filter(|it| !it.is_guarded) {
                    self.check_import(import, broken);
                }
                for at in self.relevant {
                    let removed = &self.removed[*at];
                    let places = match self.family {
                        LanguageFamily::Java => java::broken_uses(self.repo, removed, self.user),
                        _ => ruby::broken_uses(self.repo, removed, self.user, self.hits),
                    };
                    if !places.is_empty() {
                        broken.entry(*at).or_default().extend(places);
                    }
                }
            }
        }
    }

    /// Rust: `a::b::name`, with or without a `use` of the first part.
    fn check_paths(&self, broken: &mut BrokenUses) {
        let user = self.user;
        for at in self.relevant.iter().copied() {
            let removed = &self.removed[at];
            if let Some(owner) = removed.within.strip_suffix('.') {
                self.check_associated(at, owner, broken);
            }
            if !removed.within.is_empty() {
                continue;
            }
            for it in user
                .source
                .uses
                .iter()
                .filter(|it| it.name == removed.name && !it.qualifier.is_empty())
            {
                let is_broken = match (&removed.what, &it.role) {
                    (RemovalKind::Name, UseRole::Read | UseRole::Called(_)) => true,
                    (RemovalKind::Shape { before, after, .. }, UseRole::Called(given)) => {
                        !after.accepts(given) && (before.accepts(given) || user.adds(it.line))
                    }
                    _ => false,
                };
                let Some(path) = self.whole_path(it).filter(|_| is_broken) else { continue };
                let was =
                    rust::resolve(self.repo, Side::Old, MacroPolicy::Ignore, user.before, &path);
                let now =
                    rust::resolve(self.repo, Side::New, MacroPolicy::Ignore, user.path, &path);
                let is_gone = match removed.what {
                    RemovalKind::Name => matches!(
                        now,
                        Resolution::MissingName(_)
                            | Resolution::MissingModule
                            | Resolution::MaybeExternal
                    ),
                    RemovalKind::Shape { .. } => {
                        now == Resolution::DefinedIn(removed.file.path.clone())
                    }
                    RemovalKind::Module => false,
                };
                if is_gone && was == Resolution::DefinedIn(removed.path.to_owned()) {
                    broken.entry(at).or_default().insert(user.broken_use(it.line));
                }
            }
        }
    }

    /// The full path of a use.
    fn whole_path(&self, it: &NameUse) -> Option<String> {
        let first = it.qualifier.split("::").next()?;
        if matches!(first, "crate" | "self" | "super") {
            return Some(format!("{}::{}", it.qualifier, it.name));
        }
        let surface = &self.user.source.surface;
        let rest = &it.qualifier[first.len()..];
        let take = surface.imports.iter().find(|take| take.local_name.as_deref() == Some(first));
        if let Some(import) = take {
            let ImportedItem::Name(name) = &import.item else { return None };
            return Some(format!("{}::{name}{rest}::{}", import.module, it.name));
        }
        let is_own = surface.declarations.iter().any(|it| it.name == first && it.within.is_empty());
        let is_crate = || self.repo.crates(Side::New).contains_key(first);
        if is_own {
            return Some(format!("self::{}::{}", it.qualifier, it.name));
        }
        is_crate().then(|| format!("{}::{}", it.qualifier, it.name))
    }

    /// Rust: `Type::name`, where the type exists and no longer has the variant, function or
    /// constant.
    fn check_associated(&self, at: usize, owner: &str, broken: &mut BrokenUses) {
        let (user, lost) = (self.user, &self.removed[at]);
        let is_meant =
            |it: &&NameUse| it.name == lost.name && it.qualifier.rsplit("::").next() == Some(owner);
        let mut places = BTreeSet::new();
        for it in user.source.uses.iter().filter(is_meant) {
            let is_broken = match (&lost.what, &it.role) {
                (RemovalKind::Name, UseRole::Read | UseRole::Called(_)) => true,
                (RemovalKind::Shape { before, after, .. }, UseRole::Called(given)) => {
                    !after.accepts(given) && (before.accepts(given) || user.adds(it.line))
                }
                _ => false,
            };
            let path = self.whole_path(it).filter(|_| is_broken);
            let path = path.as_deref().and_then(|it| it.rsplit_once("::"));
            let Some((path, _)) = path else { continue };
            let was = rust::resolve(self.repo, Side::Old, MacroPolicy::Ignore, user.before, path);
            let now = rust::resolve(self.repo, Side::New, MacroPolicy::Ignore, user.path, path);
            if was == Resolution::DefinedIn(lost.path.to_owned())
                && now == Resolution::DefinedIn(lost.file.path.clone())
            {
                places.insert(user.broken_use(it.line));
            }
        }
        if !places.is_empty() && rust::is_only_definition(self.repo, lost, owner, self.hits) {
            broken.entry(at).or_default().extend(places);
        }
    }

    /// An import that resolved before the change and does not any more.
    fn check_import(&self, import: &ModuleImport, broken: &mut BrokenUses) {
        let user = self.user;
        let words = || {
            import.module.split(['.', '/', ':']).chain(match &import.item {
                ImportedItem::Name(name) => Some(name.as_str()),
                ImportedItem::Module | ImportedItem::All => None,
            })
        };
        let is_relevant =
            self.relevant.iter().any(|at| words().any(|word| word == self.removed[*at].name));
        if user.adds(import.line)
            || !is_relevant && !words().any(|it| it == "default") && !words().all(str::is_empty)
        {
            return;
        }
        let now = resolve(self.repo, Side::New, self.family, user.path, import);
        if matches!(now, Resolution::DefinedIn(_) | Resolution::Unknown) {
            return;
        }
        let Resolution::DefinedIn(was) =
            resolve(self.repo, Side::Old, self.family, user.before, import)
        else {
            return;
        };
        let name = match &import.item {
            ImportedItem::Name(name) => name.as_str(),
            ImportedItem::Module | ImportedItem::All => "",
        };
        let all = || self.relevant.iter().map(|at| (*at, &self.removed[*at]));
        // A Java import may name a member of a class.
        let is_inside = |within: &str| {
            within.is_empty()
                || self.family == LanguageFamily::Java
                    && import.module.rsplit('.').next() == Some(within)
        };
        let names = all().filter(|(_, it)| {
            it.path == was
                && it.name == name
                && is_inside(&it.within)
                && matches!(it.what, RemovalKind::Name)
        });
        let modules =
            all().filter(|(_, it)| it.path == was && matches!(it.what, RemovalKind::Module));
        // A removed module is reported once, not for each of its names.
        if let Some((at, lost)) = modules.chain(names).next()
            && !(self.is_gone(lost.path) && is_ignored(self.repo, lost.path))
        {
            broken.entry(at).or_default().insert(user.broken_use(import.line));
        }
    }

    /// Whether the file no longer exists. An existing file counts even if git ignores its path.
    fn is_gone(&self, path: &str) -> bool {
        self.repo.paths(Side::New).is_ok_and(|index| !index.has(path))
    }

    /// The module that an import binds to its local name, if it imports a whole module.
    fn namespace(&self, side: Side, import: &ModuleImport) -> Option<String> {
        let index = self.repo.paths(side).ok()?;
        let from = match side {
            Side::Old => self.user.before,
            Side::New => self.user.path,
        };
        let path = match (&import.item, self.family) {
            (ImportedItem::Module, _) => import.module.clone(),
            (ImportedItem::Name(name), LanguageFamily::Python) if import.module.ends_with('.') => {
                format!("{}{name}", import.module)
            }
            (ImportedItem::Name(name), LanguageFamily::Python) => {
                format!("{}.{name}", import.module)
            }
            (ImportedItem::Name(_) | ImportedItem::All, _) => return None,
        };
        match module_target(index, self.family, from, &path) {
            ModuleTarget::File(path) => Some(path),
            ModuleTarget::Missing
            | ModuleTarget::MaybeExternal
            | ModuleTarget::Folder
            | ModuleTarget::Unknown => None,
        }
    }

    /// `module.name`, where the name is removed or has other parameters.
    fn check_members(&self, import: &ModuleImport, broken: &mut BrokenUses) {
        let user = self.user;
        let Some(local) = import.local_name.as_deref() else { return };
        let is_member = |it: &&NameUse| it.qualifier == local;
        if !user.source.uses.iter().any(|it| is_member(&it)) || !user.is_unbound(local) {
            return;
        }
        let Some(now) = self.namespace(Side::New, import) else { return };
        for at in self.relevant.iter().copied() {
            let removed = &self.removed[at];
            if removed.file.path != now || removed.file.is_deleted || !removed.within.is_empty() {
                continue;
            }
            let uses =
                || user.source.uses.iter().filter(|it| it.name == removed.name && is_member(it));
            if uses().any(|it| it.role == UseRole::Written) {
                continue;
            }
            let is_broken = |it: &&NameUse| match (&removed.what, &it.role) {
                (RemovalKind::Name, UseRole::Read | UseRole::Called(_)) => true,
                (RemovalKind::Shape { before, after, .. }, UseRole::Called(given)) => {
                    !after.accepts(given) && (before.accepts(given) || user.adds(it.line))
                }
                _ => false,
            };
            let places: BTreeSet<BrokenUse> =
                uses().filter(is_broken).map(|it| user.broken_use(it.line)).collect();
            if places.is_empty() {
                continue;
            }
            let is_gone = match removed.what {
                RemovalKind::Name => {
                    matches!(
                        resolve_export(self.repo, Side::New, self.family, &now, &removed.name),
                        Resolution::MissingName(_)
                    ) && !self.is_submodule(&now, &removed.name)
                }
                RemovalKind::Module => false,
                RemovalKind::Shape { .. } => true,
            };
            if is_gone {
                broken.entry(at).or_default().extend(places);
            }
        }
    }

    /// Whether a name is a submodule of a package.
    fn is_submodule(&self, package: &str, name: &str) -> bool {
        let Ok(index) = self.repo.paths(Side::New) else { return true };
        let below = super::repo_index::join(super::repo_index::parent_folder(package), name);
        index.folders.contains(&below) || index.has(&format!("{below}.py"))
    }

    /// Calls of a function that was imported by name.
    fn check_calls(&self, import: &ModuleImport, broken: &mut BrokenUses) {
        let (ImportedItem::Name(name), Some(local)) = (&import.item, import.local_name.as_deref())
        else {
            return;
        };
        let is_shape = |at: &&usize| {
            self.removed[**at].name == *name
                && matches!(self.removed[**at].what, RemovalKind::Shape { .. })
        };
        if !self.relevant.iter().any(|at| is_shape(&at)) || !self.user.is_unbound(local) {
            return;
        }
        let Resolution::DefinedIn(now) =
            resolve(self.repo, Side::New, self.family, self.user.path, import)
        else {
            return;
        };
        let same_name = self
            .user
            .source
            .surface
            .imports
            .iter()
            .filter(|it| it.local_name.as_deref() == Some(local));
        if same_name.count() > 1 {
            return;
        }
        for at in self.relevant.iter().filter(is_shape) {
            if self.removed[*at].file.path == now {
                let places = self.mismatched_calls(&self.removed[*at], local);
                if !places.is_empty() {
                    broken.entry(*at).or_default().extend(places);
                }
            }
        }
    }

    fn mismatched_calls(&self, removed: &RemovedSymbol<'_>, local: &str) -> BTreeSet<BrokenUse> {
        let RemovalKind::Shape { before, after, .. } = &removed.what else {
            return BTreeSet::new();
        };
        let calls =
            self.user.source.uses.iter().filter(|it| it.name == local && it.qualifier.is_empty());
        calls
            .filter(|it| match &it.role {
                UseRole::Called(given) => {
                    !after.accepts(given) && (before.accepts(given) || self.user.adds(it.line))
                }
                UseRole::Bound
                | UseRole::Key
                | UseRole::Imported
                | UseRole::Written
                | UseRole::Read => false,
            })
            .map(|it| self.user.broken_use(it.line))
            .collect()
    }

    /// Whether another classic script defines a name globally.
    fn may_be_global(&self, name: &str) -> bool {
        let is_module = |surface: &Surface| {
            !surface.imports.is_empty() || surface.declarations.iter().any(|it| it.is_exported)
        };
        let has = |path: &&String| {
            LanguageFamily::from_path(path) == Some(LanguageFamily::Script)
                && self.repo.source(Side::New, path).is_some_and(|unit| {
                    unit.surface.declarations.iter().any(|it| it.name == name)
                        && !is_module(&unit.surface)
                })
        };
        !is_module(&self.user.source.surface) && self.hits.iter().any(|it| has(&it))
    }

    /// Uses in the file that lost the name.
    fn check_own_file(&self, broken: &mut BrokenUses) {
        let (user, surface) = (self.user, &self.user.source.surface);
        let is_open = surface.has_hidden_names
            && (self.family != LanguageFamily::Rust
                || !rust::has_same_macros(self.repo, user.path));
        if is_open
            || surface
                .imports
                .iter()
                .any(|it| it.item == ImportedItem::All && self.family != LanguageFamily::Script)
        {
            return;
        }
        for at in self.relevant.iter().copied() {
            let removed = &self.removed[at];
            if removed.file.path != user.path
                || removed.file.is_deleted
                || removed.path != user.before
                || is_global(self.family, &removed.name)
                || removed.within.ends_with('.')
                || self.family == LanguageFamily::Rust && rust::may_be_external(self.repo, removed)
                || self.family == LanguageFamily::Script && self.may_be_global(&removed.name)
            {
                continue;
            }
            let uses: Vec<&NameUse> = user
                .source
                .uses
                .iter()
                .filter(|it| it.name == removed.name && it.qualifier.is_empty())
                .collect();
            // Also nested imports: `use a::{b::Name}`.
            let takes = user.source.uses.iter().filter(|it| it.name == removed.name);
            let bound = takes
                .filter(|it| match it.role {
                    UseRole::Imported => true,
                    UseRole::Bound => it.qualifier.is_empty(),
                    UseRole::Key | UseRole::Written | UseRole::Read | UseRole::Called(_) => false,
                })
                .count();
            let mut offers = surface.declarations.iter().filter(|it| !it.is_associated());
            let is_listed = offers.any(|it| it.name == removed.name);
            let places: BTreeSet<BrokenUse> = match &removed.what {
                RemovalKind::Name if bound == 0 && !is_listed => uses
                    .iter()
                    .filter(|it| matches!(it.role, UseRole::Read | UseRole::Called(_)))
                    .map(|it| user.broken_use(it.line))
                    .collect(),
                RemovalKind::Shape { .. } if bound == 1 => {
                    self.mismatched_calls(removed, &removed.name)
                }
                RemovalKind::Name | RemovalKind::Shape { .. } | RemovalKind::Module => {
                    BTreeSet::new()
                }
            };
            if !places.is_empty() {
                broken.entry(at).or_default().extend(places);
            }
        }
    }
}
