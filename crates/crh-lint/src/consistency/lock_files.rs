//! Manifests whose dependencies change while the lock file stays as it is.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::manifest::{Kind, WORKSPACE, python_name};
use super::{Repository, split};
use crate::found::Found;
use crate::look::Looked;
use crate::{Change, ChangedFile, Rule, paths};
use crh_review::finding::{Category, Confidence, Severity, Side};

pub(super) const LOCK_FILE: Rule = Rule {
    id: "consistency/lock-file",
    severity: Severity::P2,
    category: Category::Bug,
    confidence: Confidence::thousandths(850),
    finds: "dependencies of a manifest that change while its lock file does not",
    also: &[],
};

/// A name is told; more are counted.
const NAMES_SHOWN: usize = 3;
/// More manifests than this are a program's work; the first ones tell.
const MANIFESTS_MAX: usize = 50;
/// Of the dependencies that change in one manifest, so many are looked up.
const STEPS_MAX: usize = 100;
/// More packages of one name than this are not looked at to learn whether one is the repository's own.
const NAMESAKES_MAX: usize = 8;

/// Manifests that left their lock files behind.
pub(super) fn found(change: &Change<'_>, repository: &Repository<'_>) -> Looked {
    let touched: HashSet<&str> = change
        .all
        .iter()
        .flat_map(|file| [Some(file.path.as_str()), file.before.as_deref()])
        .flatten()
        .collect();
    let files = change.files.iter().filter(|file| {
        // Another folder has another lock file: a manifest that moved is not compared.
        file.after().is_some() && file.before.as_deref() == Some(file.path.as_str())
    });
    let manifests: Vec<&ChangedFile> =
        files.filter(|file| Kind::of(split(&file.path).1).is_some()).collect();
    let looked_at = manifests.iter().take(MANIFESTS_MAX);
    let found = looked_at.filter_map(|file| left_behind(file, repository, &touched)).collect();
    let more = manifests.len().saturating_sub(MANIFESTS_MAX);
    let note = format!("{more} more manifests were not compared with their lock files");
    Looked { found, notes: Some(note).filter(|_| more > 0).into_iter().collect() }
}

/// One dependency that the change added, changed or took away.
struct Step {
    name: String,
    table: String,
    old: Option<String>,
    new: Option<String>,
}

fn left_behind(
    file: &ChangedFile,
    repository: &Repository<'_>,
    touched: &HashSet<&str>,
) -> Option<Found> {
    let (folder, name) = split(&file.path);
    let kind = Kind::of(name)?;
    if paths::is_vendored(&file.path) || paths::is_fixture(&file.path) {
        return None;
    }
    let old_text = repository.text(Side::Old, &file.path)?;
    let new_text = repository.text(Side::New, &file.path)?;
    let mut steps = steps(kind, &old_text, &new_text)?;
    steps.truncate(STEPS_MAX);
    if steps.is_empty() {
        return None;
    }
    let locks = covering(kind, folder, repository);
    if kind != Kind::Go && locks.iter().any(|lock| touched.contains(lock.path.as_str())) {
        return None;
    }
    let lock = locks.first()?;
    let manifest = Manifest { kind, folder, text: &new_text, repository };
    let stale: Vec<Step> =
        manifest.stale(steps, lock).into_iter().filter(|step| !manifest.is_own(step)).collect();
    said(file, &old_text, &stale, lock)
}

fn steps(kind: Kind, old: &str, new: &str) -> Option<Vec<Step>> {
    let (old, new) = (kind.dependencies(old)?, kind.dependencies(new)?);
    let mut steps = Vec::new();
    for ((table, name), requirement) in &new {
        let before = old.get(&(table.clone(), name.clone()));
        if before != Some(requirement) {
            steps.push(Step {
                name: name.clone(),
                table: table.clone(),
                old: before.cloned(),
                new: Some(requirement.clone()),
            });
        }
    }
    // One that only moves to another table is not gone.
    let names: HashSet<&str> = new.keys().map(|(_, name)| name.as_str()).collect();
    let gone = old.iter().filter(|((_, name), _)| !names.contains(name.as_str()));
    steps.extend(gone.map(|((table, name), requirement)| Step {
        name: name.clone(),
        table: table.clone(),
        old: Some(requirement.clone()),
        new: None,
    }));
    Some(steps)
}

/// A lock file, and how it is brought up to date.
struct Lock {
    path: String,
    name: &'static str,
    /// The manifest's folder as seen from the lock file: empty if they stand side by side.
    below: String,
    text: String,
    command: &'static str,
    effect: &'static str,
}

/// The lock files of the nearest folder that has any, if they are for this manifest.
fn covering(kind: Kind, folder: &str, repository: &Repository<'_>) -> Vec<Lock> {
    let mut at = folder;
    loop {
        let here: Vec<Lock> = kind
            .locks()
            .iter()
            .filter(|(name, ..)| repository.has(Side::New, &format!("{at}{name}")))
            .map(|(name, command, effect)| {
                let path = format!("{at}{name}");
                // What is not text is compared with nothing.
                let text = repository.text(Side::New, &path).unwrap_or_default();
                let below = folder[at.len()..].trim_end_matches('/').to_owned();
                Lock { path, name, below, text, command, effect }
            })
            .collect();
        if !here.is_empty() {
            return here.into_iter().filter(|lock| is_member(lock, at, repository)).collect();
        }
        if at.is_empty() || kind == Kind::Go {
            return Vec::new();
        }
        at = split(at.trim_end_matches('/')).0;
    }
}

/// Whether a lock file in a folder above says that it is for this manifest too.
fn is_member(lock: &Lock, at: &str, repository: &Repository<'_>) -> bool {
    let (text, below) = (&lock.text, &lock.below);
    if below.is_empty() {
        return true;
    }
    match lock.name {
        "package-lock.json" | "npm-shrinkwrap.json" | "bun.lock" => {
            text.contains(&format!("\"{below}\": {{"))
        }
        "pnpm-lock.yaml" => {
            text.contains(&format!("\n  {below}:")) || text.contains(&format!("\n  '{below}':"))
        }
        "yarn.lock" if text.contains("@workspace:") => {
            text.contains(&format!("@workspace:{below}\""))
        }
        "yarn.lock" | "bun.lockb" => {
            let root = repository.text(Side::New, &format!("{at}package.json"));
            root.is_some_and(|root| is_in_workspaces(&root, below))
        }
        "Cargo.lock" => true,
        "uv.lock" => ["editable", "virtual", "directory"]
            .iter()
            .any(|it| text.contains(&format!("{it} = \"{below}\""))),
        _ => false,
    }
}

fn is_in_workspaces(root: &str, below: &str) -> bool {
    let Ok(root) = serde_json::from_str::<serde_json::Value>(root) else { return false };
    let workspaces = root.get("workspaces");
    let globs = workspaces.and_then(|it| it.get("packages")).or(workspaces);
    let globs = globs.and_then(serde_json::Value::as_array).into_iter().flatten();
    globs.filter_map(serde_json::Value::as_str).any(|glob| {
        let glob = glob.trim_start_matches("./").trim_end_matches('/');
        match glob.strip_suffix("/*") {
            Some(parent) => split(below).0.trim_end_matches('/') == parent,
            None => glob == below,
        }
    })
}

/// A manifest after the change.
struct Manifest<'a> {
    kind: Kind,
    folder: &'a str,
    text: &'a str,
    repository: &'a Repository<'a>,
}

impl Manifest<'_> {
    /// What the lock file does not know of.
    fn stale(&self, steps: Vec<Step>, lock: &Lock) -> Vec<Step> {
        match self.kind {
            Kind::Npm => {
                let known = Npm::new(lock);
                steps.into_iter().filter(|step| !known.knows(step)).collect()
            }
            Kind::Cargo => self.stale_crates(steps, lock).unwrap_or_default(),
            Kind::Python if lock.name == "uv.lock" => {
                steps.into_iter().filter(|step| !uv_knows(step, &lock.text)).collect()
            }
            Kind::Python | Kind::Pipfile | Kind::Composer => steps,
            Kind::Bundler => stale_gems(steps, &lock.text),
            Kind::Go => self.stale_modules(steps, lock),
        }
    }

    /// Whether a dependency is a package of this repository: those need not be locked.
    fn is_own(&self, step: &Step) -> bool {
        if self.kind != Kind::Npm {
            return false;
        }
        let requirement = step.new.as_ref().or(step.old.as_ref()).map_or("", String::as_str);
        if ["workspace:", "link:", "portal:", "file:"].iter().any(|it| requirement.starts_with(it))
        {
            return true;
        }
        let unscoped = step.name.rsplit('/').next().unwrap_or(&step.name);
        let end = format!("/{unscoped}/package.json");
        let scope = step.name.split('/').next().filter(|scope| scope.starts_with('@'));
        let is_scope =
            scope.is_some_and(|scope| self.text.contains(&format!("\"name\": \"{scope}/")));
        let paths = self.repository.paths(Side::New).iter();
        let namesakes = paths.filter(|path| path.ends_with(&end) && !path.contains("node_modules"));
        let named = format!("\"{}\"", step.name);
        is_scope
            || namesakes.take(NAMESAKES_MAX).any(|path| {
                let text = self.repository.text(Side::New, path);
                text.is_some_and(|text| text.contains(&named))
            })
    }

    fn stale_crates(&self, steps: Vec<Step>, lock: &Lock) -> Option<Vec<Step>> {
        let manifest: toml::Table = self.text.parse().ok()?;
        let locked: toml::Table = lock.text.parse().ok()?;
        let own =
            manifest.get("package").and_then(|it| it.get("name")).and_then(toml::Value::as_str);
        let mut versions: HashMap<&str, Vec<semver::Version>> = HashMap::new();
        let mut needed: Option<HashSet<&str>> = None;
        for package in locked.get("package")?.as_array()? {
            let field = |name: &str| package.get(name).and_then(toml::Value::as_str);
            let (Some(name), Some(version)) = (field("name"), field("version")) else { continue };
            versions.entry(name).or_default().extend(semver::Version::parse(version).ok());
            if own == Some(name) && field("source").is_none() {
                let names = package.get("dependencies").and_then(toml::Value::as_array);
                let names = names.into_iter().flatten().filter_map(toml::Value::as_str);
                needed = Some(names.filter_map(|it| it.split(' ').next()).collect());
            }
        }
        let satisfies = |step: &Step| {
            let requirement = step.new.as_deref().unwrap_or_default();
            let requirement =
                semver::VersionReq::parse(requirement).unwrap_or(semver::VersionReq::STAR);
            let versions = versions.get(step.name.as_str());
            // A crate that nobody asks for is in no lock file.
            versions.is_none_or(|versions| versions.iter().any(|it| requirement.matches(it)))
        };
        let is_stale = |step: &Step| {
            if step.table == WORKSPACE {
                return step.new.is_some() && !satisfies(step);
            }
            let Some(needed) = &needed else { return false };
            let is_needed = needed.contains(step.name.as_str());
            match step.new {
                Some(_) => !is_needed || !satisfies(step),
                None => is_needed,
            }
        };
        Some(steps.into_iter().filter(is_stale).collect())
    }

    /// A module without a checksum stops the build; one too many does not.
    fn stale_modules(&self, steps: Vec<Step>, lock: &Lock) -> Vec<Step> {
        let folder = self.folder;
        let has = |name: &str| self.repository.has(Side::New, &format!("{folder}{name}"));
        if has("vendor/modules.txt") || has("go.work") || self.repository.has(Side::New, "go.work")
        {
            return Vec::new();
        }
        let known: HashSet<(&str, &str)> = lock
            .text
            .lines()
            .filter_map(|line| {
                let mut words = line.split(' ');
                let (module, version) = (words.next()?, words.next()?);
                Some((module, version.trim_end_matches("/go.mod")))
            })
            .collect();
        let is_stale = |step: &Step| {
            step.new.as_deref().is_some_and(|new| !known.contains(&(step.name.as_str(), new)))
        };
        steps.into_iter().filter(is_stale).collect()
    }
}

/// What a lock file of the JavaScript tools says.
enum Npm<'l> {
    /// The tables of this package.
    Tables(serde_json::Value),
    /// Requirements by name, wherever they stand, and the names that locked packages ask for themselves.
    Requirements { pairs: HashSet<(&'l str, &'l str)>, inner: HashSet<&'l str> },
    /// The text, for what is written as in a manifest.
    Text(&'l str),
}

impl<'l> Npm<'l> {
    fn new(lock: &'l Lock) -> Self {
        match lock.name {
            "package-lock.json" | "npm-shrinkwrap.json" => {
                let text: serde_json::Value = serde_json::from_str(&lock.text).unwrap_or_default();
                let tables = text.get("packages").and_then(|it| it.get(&lock.below));
                Self::Tables(tables.cloned().unwrap_or_default())
            }
            "pnpm-lock.yaml" => {
                let lines: Vec<&str> = lock.text.lines().collect();
                let bare = |it: &'l str| it.trim().trim_matches(['\'', '"']);
                let pairs = lines.windows(2).filter_map(|pair| {
                    let name = pair[0].trim().strip_suffix(':')?;
                    Some((bare(name), bare(pair[1].trim().strip_prefix("specifier:")?)))
                });
                Self::Requirements { pairs: pairs.collect(), inner: HashSet::new() }
            }
            "yarn.lock" => {
                let headers =
                    lock.text.lines().filter(|line| line.ends_with(':') && !line.starts_with(' '));
                let all = headers.flat_map(|line| line.trim_end_matches(':').split(','));
                let pairs = all.filter_map(|it| {
                    let it = it.trim().trim_matches('"');
                    let at = it.get(1..)?.find('@')? + 1;
                    let requirement = &it[at + 1..];
                    Some((&it[..at], requirement.strip_prefix("npm:").unwrap_or(requirement)))
                });
                let inner = lock.text.lines().filter_map(|line| {
                    let name = line.strip_prefix("    ")?.split([' ', ':']).next()?;
                    Some(name.trim_matches('"'))
                });
                Self::Requirements { pairs: pairs.collect(), inner: inner.collect() }
            }
            _ => Self::Text(&lock.text),
        }
    }

    /// Whether the lock file is as it should be after a step.
    fn knows(&self, step: &Step) -> bool {
        let name = step.name.as_str();
        let has = |requirement: &String| match self {
            Self::Tables(tables) => {
                let locked = tables.get(&step.table).and_then(|table| table.get(name));
                locked.and_then(serde_json::Value::as_str) == Some(requirement)
            }
            Self::Requirements { pairs, .. } => pairs.contains(&(name, requirement.as_str())),
            Self::Text(text) => text.contains(&format!("\"{name}\": \"{requirement}\"")),
        };
        // An old lock file of npm has no tables: nothing can be said.
        let is_silent = matches!(self, Self::Tables(tables) if tables.is_null());
        let is_asked_for = matches!(self, Self::Requirements { inner, .. } if inner.contains(name));
        match (&step.new, &step.old) {
            _ if is_silent => true,
            (None, _) if is_asked_for => true,
            (Some(new), _) => has(new),
            (None, Some(old)) => !has(old),
            (None, None) => true,
        }
    }
}

/// Whether `uv.lock` is as it should be after a step.
fn uv_knows(step: &Step, lock: &str) -> bool {
    let name = format!("{{ name = \"{}\"", step.name);
    let mut lines = lock.lines().filter(|line| line.contains(&name) && line.contains(" = \""));
    let Some(new) = &step.new else {
        return !lines.any(|line| line.contains("specifier"));
    };
    let requirement = new.split(';').next().unwrap_or_default();
    let mut versions: Vec<&str> = requirement.split(',').collect();
    versions.sort_unstable();
    lines.any(|line| {
        // A package of the same repository is locked without what is required of it.
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

fn stale_gems(steps: Vec<Step>, lock: &str) -> Vec<Step> {
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
    let is_stale = |step: &Step| match (locked.get(step.name.as_str()), &step.new) {
        (None, Some(_)) | (Some(_), None) => true,
        (None, None) => false,
        (Some(locked), Some(new)) => {
            let mut wanted = new.split(", ").filter(|it| !it.is_empty());
            wanted.any(|it| !locked.contains(it)) || new.is_empty() && !locked.is_empty()
        }
    };
    steps.into_iter().filter(is_stale).collect()
}

fn said(file: &ChangedFile, old: &str, stale: &[Step], lock: &Lock) -> Option<Found> {
    let first = stale.iter().find(|step| step.new.is_some()).or_else(|| stale.first())?;
    let (side, line, text) = place(file, old, first);
    let (_, manifest) = split(&file.path);
    let done = match (&first.old, &first.new) {
        (None, _) => "is added",
        (Some(_), Some(_)) => "is changed",
        (Some(_), None) => "is removed",
    };
    let mut names: Vec<String> = stale.iter().map(|step| format!("`{}`", step.name)).collect();
    names.dedup();
    let more = names.len().saturating_sub(NAMES_SHOWN);
    names.truncate(NAMES_SHOWN);
    let mut names = names.join(", ");
    if more > 0 {
        names += &format!(" and {more} more");
    }
    let mut found = Found::new(&LOCK_FILE, &file.path, line, &text).saying(
        format!("`{}` {done} in `{manifest}` and not in `{}`", first.name, lock.name),
        format!(
            "`{}` stays as it was and does not know of what this change does to {names}: {}.",
            lock.path, lock.effect
        ),
        format!("Run `{}` and commit `{}` with this change.", lock.command, lock.path),
    );
    found.side = side;
    Some(found)
}

/// Where a step is to be seen: on the line that was added, or else on the one that is there no more.
fn place(file: &ChangedFile, old: &str, step: &Step) -> (Option<Side>, u32, String) {
    let name = python_name(&step.name);
    // A name is written in quotes, as a key or as a word; in Python in any spelling of it.
    let is_name = |it: char| it.is_alphanumeric() || "-_./@".contains(it);
    let names = |line: &str| {
        line.split(|it| !is_name(it)).any(|word| word == step.name || python_name(word) == name)
    };
    let added: Vec<(u32, String)> = file
        .added
        .iter()
        .map(|line| (line.number, String::from_utf8_lossy(&line.text).into_owned()))
        .collect();
    let on_added = added.iter().find(|(_, text)| names(text));
    if step.new.is_none() && on_added.is_none() {
        let removed: HashSet<&[u8]> = file.removed.iter().map(Vec::as_slice).collect();
        let gone = (1..)
            .zip(old.lines())
            .find(|(_, line)| names(line) && removed.contains(line.as_bytes()));
        if let Some((number, line)) = gone {
            return (Some(Side::Old), number, line.to_owned());
        }
    }
    let (number, text) = on_added.or_else(|| added.first()).cloned().unwrap_or((1, String::new()));
    (None, number, text)
}
