//! Manifests whose dependencies change while the lock file stays the same.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::manifests::{ManifestKind, WORKSPACE_TABLE, normalized_python_name};
use super::{RepoReader, split_path};
use crate::file_context::FileFindings;
use crate::findings::FindingDraft;
use crate::{ChangeView, ChangedFile, LintRule, paths};
use crh_review::finding::{Category, Confidence, Severity, Side};

pub(super) const LOCK_FILE: LintRule = LintRule {
    id: "consistency/lock-file",
    severity: Severity::P2,
    category: Category::Bug,
    confidence: Confidence::thousandths(850),
    summary: "changed dependencies in a manifest while its lock file stays the same",
    aliases: &[],
};

/// Dependencies named in a finding; the others are counted.
const NAMES_SHOWN: usize = 3;
/// Maximum manifests to check. A change with more is generated.
const MANIFESTS_MAX: usize = 50;
/// Limit for the changed dependencies of one manifest.
const CHANGES_MAX: usize = 100;
/// Maximum `package.json` files in folders named like a dependency to read. They show whether the
/// dependency is a package of this repository.
const NAMESAKES_MAX: usize = 8;

/// Reports manifests whose lock files are stale.
pub(super) fn check(change: &ChangeView<'_>, repository: &RepoReader<'_>) -> FileFindings {
    let touched_paths: HashSet<&str> = change
        .all_files
        .iter()
        .flat_map(|file| [Some(file.path.as_str()), file.old_path.as_deref()])
        .flatten()
        .collect();
    let files = change.files.iter().filter(|file| {
        // A moved manifest has another lock file, so it is not compared.
        file.new_path().is_some() && file.old_path.as_deref() == Some(file.path.as_str())
    });
    let manifests: Vec<&ChangedFile> = files
        .filter(|file| ManifestKind::from_file_name(split_path(&file.path).1).is_some())
        .collect();
    let checked_manifests = manifests.iter().take(MANIFESTS_MAX);
    let findings = checked_manifests
        .filter_map(|file| stale_lock_finding(file, repository, &touched_paths))
        .collect();
    let more = manifests.len().saturating_sub(MANIFESTS_MAX);
    let note = format!("{more} more manifests were not compared with their lock files");
    let notes = Some(note).filter(|_| more > 0).into_iter().collect();
    FileFindings { findings, notes, ..FileFindings::default() }
}

/// A dependency that the change adds, changes or removes.
struct DependencyChange {
    name: String,
    table: String,
    old: Option<String>,
    new: Option<String>,
}

fn stale_lock_finding(
    file: &ChangedFile,
    repository: &RepoReader<'_>,
    touched_paths: &HashSet<&str>,
) -> Option<FindingDraft> {
    let (folder, name) = split_path(&file.path);
    let kind = ManifestKind::from_file_name(name)?;
    if paths::is_vendored(&file.path) || paths::is_fixture(&file.path) {
        return None;
    }
    let old_text = repository.text(Side::Old, &file.path)?;
    let new_text = repository.text(Side::New, &file.path)?;
    let mut changes = dependency_changes(kind, &old_text, &new_text)?;
    changes.truncate(CHANGES_MAX);
    if changes.is_empty() {
        return None;
    }
    let locks = lock_files_for(kind, folder, repository);
    if kind != ManifestKind::Go
        && locks.iter().any(|lock| touched_paths.contains(lock.path.as_str()))
    {
        return None;
    }
    let lock = locks.first()?;
    let manifest = Manifest { kind, folder, text: &new_text, repository };
    let stale: Vec<DependencyChange> = manifest
        .stale_changes(changes, lock)
        .into_iter()
        .filter(|change| !manifest.is_workspace_package(change))
        .collect();
    finding(file, &old_text, &stale, lock)
}

fn dependency_changes(kind: ManifestKind, old: &str, new: &str) -> Option<Vec<DependencyChange>> {
    let (old, new) = (kind.dependencies(old)?, kind.dependencies(new)?);
    let mut changes = Vec::new();
    for ((table, name), requirement) in &new {
        let before = old.get(&(table.clone(), name.clone()));
        if before != Some(requirement) {
            changes.push(DependencyChange {
                name: name.clone(),
                table: table.clone(),
                old: before.cloned(),
                new: Some(requirement.clone()),
            });
        }
    }
    // A dependency that only moved to another table is not removed.
    let names: HashSet<&str> = new.keys().map(|(_, name)| name.as_str()).collect();
    let removed = old.iter().filter(|((_, name), _)| !names.contains(name.as_str()));
    changes.extend(removed.map(|((table, name), requirement)| DependencyChange {
        name: name.clone(),
        table: table.clone(),
        old: Some(requirement.clone()),
        new: None,
    }));
    Some(changes)
}

/// A lock file and the command that updates it.
struct LockFile {
    path: String,
    name: &'static str,
    /// The manifest's folder relative to the lock file; empty if both are in one folder.
    relative_folder: String,
    text: String,
    command: &'static str,
    effect: &'static str,
}

/// The lock files that cover this manifest, from the nearest folder that has any: the manifest's
/// own or, except for Go, a folder above.
fn lock_files_for(kind: ManifestKind, folder: &str, repository: &RepoReader<'_>) -> Vec<LockFile> {
    let mut search_folder = folder;
    loop {
        let lock_files: Vec<LockFile> = kind
            .lock_files()
            .iter()
            .filter(|(name, ..)| repository.has(Side::New, &format!("{search_folder}{name}")))
            .map(|(name, command, effect)| {
                let path = format!("{search_folder}{name}");
                // A binary lock file has no text to compare.
                let text = repository.text(Side::New, &path).unwrap_or_default();
                let relative_folder =
                    folder[search_folder.len()..].trim_end_matches('/').to_owned();
                LockFile { path, name, relative_folder, text, command, effect }
            })
            .collect();
        if !lock_files.is_empty() {
            return lock_files
                .into_iter()
                .filter(|lock| covers_manifest(lock, search_folder, repository))
                .collect();
        }
        if search_folder.is_empty() || kind == ManifestKind::Go {
            return Vec::new();
        }
        search_folder = split_path(search_folder.trim_end_matches('/')).0;
    }
}

/// Whether a lock file covers this manifest. In the manifest's own folder it always does. `at` is
/// the folder of the lock file.
fn covers_manifest(lock: &LockFile, at: &str, repository: &RepoReader<'_>) -> bool {
    let (text, relative_folder) = (&lock.text, &lock.relative_folder);
    if relative_folder.is_empty() {
        return true;
    }
    match lock.name {
        "package-lock.json" | "npm-shrinkwrap.json" | "bun.lock" => {
            text.contains(&format!("\"{relative_folder}\": {{"))
        }
        "pnpm-lock.yaml" => {
            text.contains(&format!("\n  {relative_folder}:"))
                || text.contains(&format!("\n  '{relative_folder}':"))
        }
        "yarn.lock" if text.contains("@workspace:") => {
            text.contains(&format!("@workspace:{relative_folder}\""))
        }
        "yarn.lock" | "bun.lockb" => {
            let root = repository.text(Side::New, &format!("{at}package.json"));
            root.is_some_and(|root| is_in_workspaces(&root, relative_folder))
        }
        "Cargo.lock" => true,
        "uv.lock" => ["editable", "virtual", "directory"]
            .iter()
            .any(|it| text.contains(&format!("{it} = \"{relative_folder}\""))),
        _ => false,
    }
}

fn is_in_workspaces(root: &str, relative_folder: &str) -> bool {
    let Ok(root) = serde_json::from_str::<serde_json::Value>(root) else { return false };
    let workspaces = root.get("workspaces");
    let globs = workspaces.and_then(|it| it.get("packages")).or(workspaces);
    let globs = globs.and_then(serde_json::Value::as_array).into_iter().flatten();
    globs.filter_map(serde_json::Value::as_str).any(|glob| {
        let glob = glob.trim_start_matches("./").trim_end_matches('/');
        match glob.strip_suffix("/*") {
            Some(parent) => split_path(relative_folder).0.trim_end_matches('/') == parent,
            None => glob == relative_folder,
        }
    })
}

/// A manifest after the change.
struct Manifest<'a> {
    kind: ManifestKind,
    folder: &'a str,
    text: &'a str,
    repository: &'a RepoReader<'a>,
}

impl Manifest<'_> {
    /// The dependency changes that the lock file does not contain.
    fn stale_changes(
        &self,
        changes: Vec<DependencyChange>,
        lock: &LockFile,
    ) -> Vec<DependencyChange> {
        match self.kind {
            ManifestKind::Npm => {
                let npm_lock = NpmLock::new(lock);
                changes.into_iter().filter(|change| !npm_lock.is_up_to_date(change)).collect()
            }
            ManifestKind::Cargo => self.stale_crates(changes, lock).unwrap_or_default(),
            ManifestKind::Python if lock.name == "uv.lock" => changes
                .into_iter()
                .filter(|change| !uv_lock_is_up_to_date(change, &lock.text))
                .collect(),
            ManifestKind::Python | ManifestKind::Pipfile | ManifestKind::Composer => changes,
            ManifestKind::Bundler => stale_gems(changes, &lock.text),
            ManifestKind::Go => self.stale_modules(changes, lock),
        }
    }

    /// Whether a dependency is a package of this repository; those need no lock entry.
    fn is_workspace_package(&self, change: &DependencyChange) -> bool {
        if self.kind != ManifestKind::Npm {
            return false;
        }
        let requirement = change.new.as_ref().or(change.old.as_ref()).map_or("", String::as_str);
        if ["workspace:", "link:", "portal:", "file:"].iter().any(|it| requirement.starts_with(it))
        {
            return true;
        }
        let unscoped = change.name.rsplit('/').next().unwrap_or(&change.name);
        let end = format!("/{unscoped}/package.json");
        let scope = change.name.split('/').next().filter(|scope| scope.starts_with('@'));
        let is_scope =
            scope.is_some_and(|scope| self.text.contains(&format!("\"name\": \"{scope}/")));
        let paths = self.repository.paths(Side::New).iter();
        let namesakes = paths.filter(|path| path.ends_with(&end) && !path.contains("node_modules"));
        let quoted_name = format!("\"{}\"", change.name);
        is_scope
            || namesakes.take(NAMESAKES_MAX).any(|path| {
                let text = self.repository.text(Side::New, path);
                text.is_some_and(|text| text.contains(&quoted_name))
            })
    }

    fn stale_crates(
        &self,
        changes: Vec<DependencyChange>,
        lock: &LockFile,
    ) -> Option<Vec<DependencyChange>> {
        let manifest: toml::Table = self.text.parse().ok()?;
        let locked: toml::Table = lock.text.parse().ok()?;
        let own_name =
            manifest.get("package").and_then(|it| it.get("name")).and_then(toml::Value::as_str);
        let mut versions: HashMap<&str, Vec<semver::Version>> = HashMap::new();
        let mut own_dependencies: Option<HashSet<&str>> = None;
        for package in locked.get("package")?.as_array()? {
            let field = |name: &str| package.get(name).and_then(toml::Value::as_str);
            let (Some(name), Some(version)) = (field("name"), field("version")) else { continue };
            versions.entry(name).or_default().extend(semver::Version::parse(version).ok());
            if own_name == Some(name) && field("source").is_none() {
                let names = package.get("dependencies").and_then(toml::Value::as_array);
                let names = names.into_iter().flatten().filter_map(toml::Value::as_str);
                own_dependencies = Some(names.filter_map(|it| it.split(' ').next()).collect());
            }
        }
        let satisfies = |change: &DependencyChange| {
            let requirement = change.new.as_deref().unwrap_or_default();
            let requirement =
                semver::VersionReq::parse(requirement).unwrap_or(semver::VersionReq::STAR);
            let versions = versions.get(change.name.as_str());
            // An unused workspace dependency is in no lock file.
            versions.is_none_or(|versions| versions.iter().any(|it| requirement.matches(it)))
        };
        let is_stale = |change: &DependencyChange| {
            if change.table == WORKSPACE_TABLE {
                return change.new.is_some() && !satisfies(change);
            }
            let Some(needed) = &own_dependencies else { return false };
            let is_needed = needed.contains(change.name.as_str());
            match change.new {
                Some(_) => !is_needed || !satisfies(change),
                None => is_needed,
            }
        };
        Some(changes.into_iter().filter(is_stale).collect())
    }

    /// A missing module checksum breaks the build; a superfluous one does not.
    fn stale_modules(
        &self,
        changes: Vec<DependencyChange>,
        lock: &LockFile,
    ) -> Vec<DependencyChange> {
        let folder = self.folder;
        let has = |name: &str| self.repository.has(Side::New, &format!("{folder}{name}"));
        if has("vendor/modules.txt") || has("go.work") || self.repository.has(Side::New, "go.work")
        {
            return Vec::new();
        }
        let checksums: HashSet<(&str, &str)> = lock
            .text
            .lines()
            .filter_map(|line| {
                let mut words = line.split(' ');
                let (module, version) = (words.next()?, words.next()?);
                Some((module, version.trim_end_matches("/go.mod")))
            })
            .collect();
        let is_stale = |change: &DependencyChange| {
            change
                .new
                .as_deref()
                .is_some_and(|new| !checksums.contains(&(change.name.as_str(), new)))
        };
        changes.into_iter().filter(is_stale).collect()
    }
}

/// Contents of a JavaScript lock file.
enum NpmLock<'l> {
    /// The dependency tables of this package.
    Tables(serde_json::Value),
    /// Name and requirement pairs from the whole file, and names that locked packages depend on.
    Requirements { pairs: HashSet<(&'l str, &'l str)>, dependency_names: HashSet<&'l str> },
    /// Raw text, for formats written like a manifest.
    Text(&'l str),
}

impl<'l> NpmLock<'l> {
    fn new(lock: &'l LockFile) -> Self {
        match lock.name {
            "package-lock.json" | "npm-shrinkwrap.json" => {
                let text: serde_json::Value = serde_json::from_str(&lock.text).unwrap_or_default();
                let tables = text.get("packages").and_then(|it| it.get(&lock.relative_folder));
                Self::Tables(tables.cloned().unwrap_or_default())
            }
            "pnpm-lock.yaml" => {
                let lines: Vec<&str> = lock.text.lines().collect();
                let unquote = |it: &'l str| it.trim().trim_matches(['\'', '"']);
                let pairs = lines.windows(2).filter_map(|pair| {
                    let name = pair[0].trim().strip_suffix(':')?;
                    Some((unquote(name), unquote(pair[1].trim().strip_prefix("specifier:")?)))
                });
                Self::Requirements { pairs: pairs.collect(), dependency_names: HashSet::new() }
            }
            "yarn.lock" => {
                let headers =
                    lock.text.lines().filter(|line| line.ends_with(':') && !line.starts_with(' '));
                let specs = headers.flat_map(|line| line.trim_end_matches(':').split(','));
                let pairs = specs.filter_map(|spec| {
                    let spec = spec.trim().trim_matches('"');
                    let at = spec.get(1..)?.find('@')? + 1;
                    let requirement = &spec[at + 1..];
                    Some((&spec[..at], requirement.strip_prefix("npm:").unwrap_or(requirement)))
                });
                let dependency_names = lock.text.lines().filter_map(|line| {
                    let name = line.strip_prefix("    ")?.split([' ', ':']).next()?;
                    Some(name.trim_matches('"'))
                });
                Self::Requirements {
                    pairs: pairs.collect(),
                    dependency_names: dependency_names.collect(),
                }
            }
            _ => Self::Text(&lock.text),
        }
    }

    /// Whether the lock file reflects a dependency change.
    fn is_up_to_date(&self, change: &DependencyChange) -> bool {
        let name = change.name.as_str();
        let has = |requirement: &String| match self {
            Self::Tables(tables) => {
                let locked = tables.get(&change.table).and_then(|table| table.get(name));
                locked.and_then(serde_json::Value::as_str) == Some(requirement)
            }
            Self::Requirements { pairs, .. } => pairs.contains(&(name, requirement.as_str())),
            Self::Text(text) => text.contains(&format!("\"{name}\": \"{requirement}\"")),
        };
        // An old npm lock file has no tables, so nothing can be compared.
        let has_no_tables = matches!(self, Self::Tables(tables) if tables.is_null());
        let is_transitive = matches!(self, Self::Requirements { dependency_names, .. } if dependency_names.contains(name));
        match (&change.new, &change.old) {
            _ if has_no_tables => true,
            (None, _) if is_transitive => true,
            (Some(new), _) => has(new),
            (None, Some(old)) => !has(old),
            (None, None) => true,
        }
    }
}

/// Whether `uv.lock` reflects a dependency change.
fn uv_lock_is_up_to_date(change: &DependencyChange, lock: &str) -> bool {
    let name = format!("{{ name = \"{}\"", change.name);
    let mut lines = lock.lines().filter(|line| line.contains(&name) && line.contains(" = \""));
    let Some(new) = &change.new else {
        return !lines.any(|line| line.contains("specifier"));
    };
    let requirement = new.split(';').next().unwrap_or_default();
    let mut versions: Vec<&str> = requirement.split(',').collect();
    versions.sort_unstable();
    lines.any(|line| {
        // A package of the same repository is locked without a version requirement.
        let is_own = ["editable", "directory", "virtual"]
            .iter()
            .any(|it| line.contains(&format!("{it} = ")));
        let specifier = line.split("specifier = \"").nth(1).and_then(|it| it.split('"').next());
        let mut locked: Vec<&str> =
            specifier.unwrap_or_default().split(',').map(str::trim).collect();
        locked.sort_unstable();
        is_own || specifier.is_some() && locked == versions
    })
}

fn stale_gems(changes: Vec<DependencyChange>, lock: &str) -> Vec<DependencyChange> {
    let section = lock.split("\nDEPENDENCIES\n").nth(1).unwrap_or_default();
    let locked: BTreeMap<&str, &str> = section
        .lines()
        .take_while(|line| line.starts_with(' '))
        .map(|line| {
            let (name, versions) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
            (name.trim_end_matches('!'), versions.trim_end_matches('!'))
        })
        .collect();
    if locked.is_empty() {
        return Vec::new();
    }
    let is_stale = |change: &DependencyChange| match (locked.get(change.name.as_str()), &change.new)
    {
        (None, Some(_)) | (Some(_), None) => true,
        (None, None) => false,
        (Some(locked), Some(new)) => {
            let mut requirements = new.split(", ").filter(|it| !it.is_empty());
            requirements.any(|it| !locked.contains(it)) || new.is_empty() && !locked.is_empty()
        }
    };
    changes.into_iter().filter(is_stale).collect()
}

fn finding(
    file: &ChangedFile,
    old: &str,
    stale: &[DependencyChange],
    lock: &LockFile,
) -> Option<FindingDraft> {
    let first = stale.iter().find(|change| change.new.is_some()).or_else(|| stale.first())?;
    let (side, line, text) = location(file, old, first);
    let (_, manifest) = split_path(&file.path);
    let action = match (&first.old, &first.new) {
        (None, _) => "is added",
        (Some(_), Some(_)) => "is changed",
        (Some(_), None) => "is removed",
    };
    let mut names: Vec<String> = stale.iter().map(|change| format!("`{}`", change.name)).collect();
    names.dedup();
    let more = names.len().saturating_sub(NAMES_SHOWN);
    names.truncate(NAMES_SHOWN);
    let mut names = names.join(", ");
    if more > 0 {
        names += &format!(" and {more} more");
    }
    let mut draft = FindingDraft::new(&LOCK_FILE, &file.path, line, &text).with_text(
        format!("`{}` {action} in `{manifest}` but not in `{}`", first.name, lock.name),
        format!(
            "`{}` is unchanged and does not contain this change of {names}: {}.",
            lock.path, lock.effect
        ),
        format!("Run `{}` and commit `{}` with this change.", lock.command, lock.path),
    );
    draft.side = side;
    Some(draft)
}

/// Where to report a dependency change: on the first added line that names the dependency. If no
/// added line names a removed dependency, on the removed line that names it. If there is no such
/// line either, on the first added line.
fn location(
    file: &ChangedFile,
    old: &str,
    change: &DependencyChange,
) -> (Option<Side>, u32, String) {
    let name = normalized_python_name(&change.name);
    // The name is quoted, a key or a word. Names of Python packages have several spellings.
    let is_name = |it: char| it.is_alphanumeric() || "-_./@".contains(it);
    let names_dependency = |line: &str| {
        line.split(|it| !is_name(it))
            .any(|word| word == change.name || normalized_python_name(word) == name)
    };
    let added: Vec<(u32, String)> = file
        .added
        .iter()
        .map(|line| (line.number, String::from_utf8_lossy(&line.text).into_owned()))
        .collect();
    let added_line = added.iter().find(|(_, text)| names_dependency(text));
    if change.new.is_none() && added_line.is_none() {
        let removed: HashSet<&[u8]> = file.removed.iter().map(Vec::as_slice).collect();
        let removed = (1..)
            .zip(old.lines())
            .find(|(_, line)| names_dependency(line) && removed.contains(line.as_bytes()));
        if let Some((number, line)) = removed {
            return (Some(Side::Old), number, line.to_owned());
        }
    }
    let (number, text) =
        added_line.or_else(|| added.first()).cloned().unwrap_or((1, String::new()));
    (None, number, text)
}
