//! The repository on both sides. Each file is read and parsed at most once, up to a limit.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use super::gitignore::GitIgnore;
use super::rust;
use crate::{Project, source};
use crh_review::finding::Side;
use crh_syntax::{Language, NameUse, Surface, SyntaxTree};

/// Files parsed per change, at some milliseconds each.
const FILES_MAX: usize = 1_500;

/// Index of the repository on both sides.
pub(super) struct RepoIndex<'a> {
    pub(super) project: &'a dyn Project,
    sources: RefCell<HashMap<SourceKey, Option<Rc<SourceFile>>>>,
    path_indexes: [OnceCell<PathIndex>; 2],
    crates: [OnceCell<HashMap<String, String>>; 2],
    parsed: Cell<usize>,
    pub(super) ignored: GitIgnore,
    /// Names whose uses are recorded.
    names: RefCell<BTreeSet<String>>,
}

/// Side (`true` is the new one) and path.
type SourceKey = (bool, String);

/// A parsed file.
#[derive(Debug)]
pub(super) struct SourceFile {
    pub(super) surface: Surface,
    /// Uses of the tracked names and of the local names of imports.
    pub(super) uses: Vec<NameUse>,
    pub(super) text: String,
}

/// Paths of one side, indexed.
#[derive(Debug, Default)]
pub(super) struct PathIndex {
    pub(super) files: BTreeSet<String>,
    /// Files by their name up to the first dot.
    pub(super) stems: HashMap<String, Vec<String>>,
    pub(super) folders: BTreeSet<String>,
    /// Whether there are schema files from which classes are generated.
    pub(super) has_schemas: bool,
}

/// Extensions of schema files from which classes are generated.
const SCHEMAS: [&str; 7] = [".proto", ".thrift", ".avsc", ".avdl", ".g4", ".fbs", ".xsd"];

impl SourceFile {
    /// A line, 1-based.
    pub(super) fn line(&self, number: u32) -> &str {
        let at = usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1);
        self.text.lines().nth(at).unwrap_or_default()
    }
}

impl<'a> RepoIndex<'a> {
    pub(super) fn new(project: &'a dyn Project) -> Self {
        Self {
            project,
            sources: RefCell::default(),
            path_indexes: Default::default(),
            crates: Default::default(),
            parsed: Cell::new(0),
            ignored: GitIgnore::default(),
            names: RefCell::default(),
        }
    }

    /// Notes for the report.
    pub(super) fn notes(&self) -> Vec<String> {
        let is_over = self.parsed.get() > FILES_MAX;
        let over = is_over
            .then(|| format!("references were followed only in the first {FILES_MAX} files"));
        over.into_iter().chain(self.ignored.notes()).collect()
    }

    /// Records uses of these names from now on and clears the cache.
    pub(super) fn track_names(&self, names: BTreeSet<String>) {
        self.sources.borrow_mut().clear();
        *self.names.borrow_mut() = names;
    }

    /// Returns a parsed file; `None` if it does not exist, is not text, or the limit is reached.
    pub(super) fn source(&self, side: Side, path: &str) -> Option<Rc<SourceFile>> {
        let key = (side == Side::New, path.to_owned());
        if let Some(known) = self.sources.borrow().get(&key) {
            return known.clone();
        }
        let source = self.read(side, path).map(Rc::new);
        self.sources.borrow_mut().insert(key, source.clone());
        source
    }

    fn read(&self, side: Side, path: &str) -> Option<SourceFile> {
        let language = Language::from_path(path)?;
        if self.parsed.get() > FILES_MAX {
            return None;
        }
        let text = source::text(self.project.file(side, path).ok()??)?;
        self.parsed.set(self.parsed.get() + 1);
        let parsed = SyntaxTree::new(language, &text).ok()?;
        let surface = parsed.surface()?;
        let names = self.names.borrow();
        let mut wanted: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        if !wanted.is_empty() {
            let locals = surface.imports.iter().filter_map(|take| take.local_name.as_deref());
            wanted.extend(locals.flat_map(|local| local.split('.')));
        }
        let uses = if wanted.is_empty() { Vec::new() } else { parsed.uses(&wanted) };
        Some(SourceFile { uses, surface, text })
    }

    /// Names and folders of the Rust crates of a side.
    pub(super) fn crates(&self, side: Side) -> &HashMap<String, String> {
        let [old, new] = &self.crates;
        let cell = match side {
            Side::Old => old,
            Side::New => new,
        };
        cell.get_or_init(|| {
            let index = self.paths(side).ok();
            index.map(|index| rust::crates(self.project, side, index)).unwrap_or_default()
        })
    }

    pub(super) fn paths(&self, side: Side) -> Result<&PathIndex, String> {
        let [old, new] = &self.path_indexes;
        let cell = match side {
            Side::Old => old,
            Side::New => new,
        };
        if let Some(index) = cell.get() {
            return Ok(index);
        }
        let paths = self.project.paths(side)?;
        Ok(cell.get_or_init(|| PathIndex::from_paths(paths)))
    }
}

impl PathIndex {
    fn from_paths(paths: &[String]) -> Self {
        let mut index = Self::default();
        for path in paths {
            let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
            let stem = name.split('.').next().unwrap_or(name);
            index.stems.entry(stem.to_owned()).or_default().push(path.clone());
            index.has_schemas |= SCHEMAS.iter().any(|it| name.ends_with(it));
            index.files.insert(path.clone());
            let mut folder = folder;
            while !folder.is_empty() && !index.folders.contains(folder) {
                index.folders.insert(folder.to_owned());
                folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
            }
        }
        index
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.files.contains(path)
    }

    /// The files directly in a folder.
    pub(super) fn in_folder<'i>(&'i self, folder: &'i str) -> impl Iterator<Item = &'i str> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let from = prefix.clone();
        let length = prefix.len();
        self.files
            .range(from..)
            .take_while(move |it| it.starts_with(&prefix))
            .filter(move |it| !it[length..].contains('/'))
            .map(String::as_str)
    }
}

/// The folder of a path; empty at the top.
pub(super) fn parent_folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

pub(super) fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
