//! The repository on both sides, each file read and parsed at most once, and only so many of them.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use super::crates;
use super::ignored::Ignored;
use crate::{Project, source};
use crh_review::finding::Side;
use crh_syntax::{Language, Parsed, Surface, Use};

/// The most files that are parsed for one change: at some milliseconds each, what a person waits for.
const FILES_MAX: usize = 1_500;

/// The repository on both sides.
pub(super) struct World<'a> {
    pub(super) project: &'a dyn Project,
    units: RefCell<HashMap<Place, Option<Rc<Unit>>>>,
    indices: [OnceCell<Index>; 2],
    crates: [OnceCell<HashMap<String, String>>; 2],
    parsed: Cell<usize>,
    pub(super) ignored: Ignored,
    /// The names whose uses are of interest.
    names: RefCell<BTreeSet<String>>,
}

/// Whether it is the side after the change, and the path.
type Place = (bool, String);

/// A file that was read.
#[derive(Debug)]
pub(super) struct Unit {
    pub(super) surface: Surface,
    /// Uses of the names of interest, and of the local names of what is imported.
    pub(super) uses: Vec<Use>,
    pub(super) text: String,
}

/// The paths of one side, by what is looked for.
#[derive(Debug, Default)]
pub(super) struct Index {
    pub(super) files: BTreeSet<String>,
    /// Files by their name without what is behind the first dot; packages by the name of their folder.
    pub(super) stems: HashMap<String, Vec<String>>,
    pub(super) folders: BTreeSet<String>,
    /// Whether there are files of which programs make classes.
    pub(super) has_schemas: bool,
}

/// Endings of files of which programs make classes.
const SCHEMAS: [&str; 7] = [".proto", ".thrift", ".avsc", ".avdl", ".g4", ".fbs", ".xsd"];

impl Unit {
    /// A line, 1-based.
    pub(super) fn line(&self, number: u32) -> &str {
        let at = usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1);
        self.text.lines().nth(at).unwrap_or_default()
    }
}

impl<'a> World<'a> {
    pub(super) fn new(project: &'a dyn Project) -> Self {
        Self {
            project,
            units: RefCell::default(),
            indices: Default::default(),
            crates: Default::default(),
            parsed: Cell::new(0),
            ignored: Ignored::default(),
            names: RefCell::default(),
        }
    }

    /// What the reader should know.
    pub(super) fn notes(&self) -> Vec<String> {
        let is_over = self.parsed.get() > FILES_MAX;
        let over = is_over
            .then(|| format!("references were followed in the first {FILES_MAX} files alone"));
        over.into_iter().chain(self.ignored.notes()).collect()
    }

    /// From here on uses of these names are of interest; what was read before is forgotten.
    pub(super) fn look_for(&self, names: BTreeSet<String>) {
        self.units.borrow_mut().clear();
        *self.names.borrow_mut() = names;
    }

    /// A file; none if it is not there, cannot be read as text, or is one too many.
    pub(super) fn unit(&self, side: Side, path: &str) -> Option<Rc<Unit>> {
        let key = (side == Side::New, path.to_owned());
        if let Some(known) = self.units.borrow().get(&key) {
            return known.clone();
        }
        let unit = self.read(side, path).map(Rc::new);
        self.units.borrow_mut().insert(key, unit.clone());
        unit
    }

    fn read(&self, side: Side, path: &str) -> Option<Unit> {
        let language = Language::of_path(path)?;
        if self.parsed.get() > FILES_MAX {
            return None;
        }
        let text = source::text(self.project.file(side, path).ok()??)?;
        self.parsed.set(self.parsed.get() + 1);
        let parsed = Parsed::new(language, &text).ok()?;
        let surface = parsed.surface()?;
        let names = self.names.borrow();
        let mut wanted: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        if !wanted.is_empty() {
            let locals = surface.takes.iter().filter_map(|take| take.local.as_deref());
            wanted.extend(locals.flat_map(|local| local.split('.')));
        }
        let uses = if wanted.is_empty() { Vec::new() } else { parsed.uses(&wanted) };
        Some(Unit { uses, surface, text })
    }

    /// The Rust crates of a side: their names and folders.
    pub(super) fn crates(&self, side: Side) -> &HashMap<String, String> {
        let [old, new] = &self.crates;
        let cell = match side {
            Side::Old => old,
            Side::New => new,
        };
        cell.get_or_init(|| {
            let index = self.index(side).ok();
            index.map(|index| crates::crates(self.project, side, index)).unwrap_or_default()
        })
    }

    /// All paths of a side.
    pub(super) fn index(&self, side: Side) -> Result<&Index, String> {
        let [old, new] = &self.indices;
        let cell = match side {
            Side::Old => old,
            Side::New => new,
        };
        if let Some(index) = cell.get() {
            return Ok(index);
        }
        let paths = self.project.paths(side)?;
        Ok(cell.get_or_init(|| Index::of(paths)))
    }
}

impl Index {
    fn of(paths: &[String]) -> Self {
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

    /// Whether there is such a file.
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
pub(super) fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// A path below a folder.
pub(super) fn below(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}
