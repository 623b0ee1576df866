//! The repository before the change (old side) and after it (new side). It caches what it reads and
//! parses, and limits how much it reads.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use super::gitignore::GitIgnore;
use super::path_index::PathIndex;
use super::rust_crates::crates;
use crate::{Project, paths, source};
use crh_review::finding::Side;
use crh_review::identity::content_id;
use crh_syntax::{Language, NameUse, Surface, SyntaxTree};

/// Maximum files parsed per change. Each takes some milliseconds, so parsing takes some seconds at
/// most.
const FILES_MAX: usize = 1_500;

/// Both sides of the repository, indexed on demand.
pub(super) struct RepoIndex<'a> {
    pub(super) project: &'a dyn Project,
    sources: RefCell<HashMap<SourceKey, Option<Rc<SourceFile>>>>,
    /// Parsed texts. Files with the same text share one.
    parsed_texts: RefCell<HashMap<TextKey, Option<Rc<SourceFile>>>>,
    path_indexes: [OnceCell<PathIndex>; 2],
    crates: [OnceCell<HashMap<String, String>>; 2],
    parsed_count: Cell<usize>,
    gitignore: GitIgnore,
    /// Names whose uses are recorded when a file is parsed.
    tracked_names: RefCell<BTreeSet<String>>,
}

/// Side (`true` is the new side) and path.
type SourceKey = (bool, String);

/// Language and content id of a text.
type TextKey = (Language, String);

/// A parsed file.
#[derive(Debug)]
pub(super) struct SourceFile {
    pub(super) surface: Surface,
    /// Uses of the tracked names and of the local names of imports; empty if no names are tracked.
    pub(super) uses: Vec<NameUse>,
    pub(super) text: String,
}

impl SourceFile {
    /// The text of a line, by its 1-based number.
    pub(super) fn line(&self, number: u32) -> &str {
        source::line(&self.text, number)
    }
}

impl<'a> RepoIndex<'a> {
    pub(super) fn new(project: &'a dyn Project) -> Self {
        Self {
            project,
            sources: RefCell::default(),
            parsed_texts: RefCell::default(),
            path_indexes: Default::default(),
            crates: Default::default(),
            parsed_count: Cell::new(0),
            gitignore: GitIgnore::default(),
            tracked_names: RefCell::default(),
        }
    }

    /// Notes for the report.
    pub(super) fn notes(&self) -> Vec<String> {
        let limit_reached = self.parsed_count.get() > FILES_MAX;
        let limit_note = limit_reached
            .then(|| format!("references were followed only in the first {FILES_MAX} files"));
        limit_note.into_iter().chain(self.gitignore.notes()).collect()
    }

    /// Records uses of these names from now on and clears the cache.
    pub(super) fn track_names(&self, names: BTreeSet<String>) {
        self.sources.borrow_mut().clear();
        self.parsed_texts.borrow_mut().clear();
        *self.tracked_names.borrow_mut() = names;
    }

    /// Returns a parsed file; `None` if the file does not exist or cannot be parsed, or if
    /// [`FILES_MAX`] is reached.
    pub(super) fn source(&self, side: Side, path: &str) -> Option<Rc<SourceFile>> {
        let key = (side == Side::New, path.to_owned());
        if let Some(cached) = self.sources.borrow().get(&key) {
            return cached.clone();
        }
        let source = self.parse_file(side, path);
        self.sources.borrow_mut().insert(key, source.clone());
        source
    }

    /// The text of a file of any language; `None` if the file does not exist or is binary.
    pub(super) fn text(&self, side: Side, path: &str) -> Option<String> {
        source::text(self.project.file(side, path).ok()??)
    }

    /// Language of a file. A file without an extension may name its interpreter.
    pub(super) fn language(&self, side: Side, path: &str) -> Option<Language> {
        Language::from_path(path).or_else(|| {
            let text = self.text(side, path).filter(|_| paths::extension(path).is_empty())?;
            Language::of_file(path, text.as_bytes())
        })
    }

    fn parse_file(&self, side: Side, path: &str) -> Option<Rc<SourceFile>> {
        if self.parsed_count.get() > FILES_MAX {
            return None;
        }
        let text = self.text(side, path)?;
        let language = Language::of_file(path, text.as_bytes())?;
        let key = (language, content_id(text.as_bytes()));
        if let Some(parsed) = self.parsed_texts.borrow().get(&key) {
            return parsed.clone();
        }
        self.parsed_count.set(self.parsed_count.get() + 1);
        let source = self.parse_text(language, text).map(Rc::new);
        self.parsed_texts.borrow_mut().insert(key, source.clone());
        source
    }

    fn parse_text(&self, language: Language, text: String) -> Option<SourceFile> {
        let tree = SyntaxTree::new(language, &text).ok()?;
        let surface = tree.surface()?;
        let names = self.tracked_names.borrow();
        let mut names_to_record: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        if !names_to_record.is_empty() {
            let locals = surface.imports.iter().filter_map(|import| import.local_name.as_deref());
            names_to_record.extend(locals.flat_map(|local| local.split('.')));
        }
        let uses =
            if names_to_record.is_empty() { Vec::new() } else { tree.uses(&names_to_record) };
        Some(SourceFile { uses, surface, text })
    }

    /// Folders of the Rust crates of a side, by crate name.
    pub(super) fn crates(&self, side: Side) -> &HashMap<String, String> {
        pick_side(&self.crates, side).get_or_init(|| {
            let index = self.paths(side).ok();
            index.map(|index| crates(self.project, side, index)).unwrap_or_default()
        })
    }

    pub(super) fn paths(&self, side: Side) -> Result<&PathIndex, String> {
        let cell = pick_side(&self.path_indexes, side);
        if let Some(index) = cell.get() {
            return Ok(index);
        }
        let paths = self.project.paths(side)?;
        Ok(cell.get_or_init(|| PathIndex::from_paths(paths)))
    }

    /// Whether git ignores a missing file or a folder above it.
    pub(super) fn is_ignored(&self, path: &str) -> bool {
        self.gitignore.is_ignored(path, |side, file| {
            self.paths(side).ok().filter(|it| it.has_file(file))?;
            self.project.file(side, file).ok().flatten()
        })
    }
}

fn pick_side<T>([old, new]: &[T; 2], side: Side) -> &T {
    match side {
        Side::Old => old,
        Side::New => new,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SearchHits;

    struct SameText;

    impl Project for SameText {
        fn file(&self, _: Side, _: &str) -> Result<Option<Vec<u8>>, String> {
            Ok(Some(b"def f():\n    pass\n".to_vec()))
        }

        fn paths(&self, _: Side) -> Result<&[String], String> {
            Ok(&[])
        }

        fn search(&self, _: Side, _: &[&str], _: usize) -> Result<SearchHits, String> {
            Ok(SearchHits::default())
        }
    }

    #[test]
    fn files_with_the_same_text_are_parsed_once() {
        let index = RepoIndex::new(&SameText);
        let first = index.source(Side::New, "a.py").unwrap();
        for (side, path) in [(Side::New, "b.py"), (Side::Old, "a.py"), (Side::Old, "c/d.py")] {
            assert!(Rc::ptr_eq(&first, &index.source(side, path).unwrap()), "{path}");
        }
        assert_eq!(index.parsed_count.get(), 1);
    }
}
