//! Files that change together or not at all: manifests and lock files, migrations and schemas, tests and their subjects.

#[path = "consistency/deleted_tests.rs"]
mod deleted;
#[path = "consistency/lock_files.rs"]
mod lock;
#[path = "consistency/manifests.rs"]
mod manifest;
#[path = "consistency/prisma_schema.rs"]
mod prisma;
#[path = "consistency/rails_schema.rs"]
mod rails;

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::found::Found;
use crate::{Change, Hits, Project, Returned, Rule, source};
use crh_review::finding::Side;

/// What is looked for.
pub(crate) const RULES: &[Rule] = &[lock::LOCK_FILE, rails::SCHEMA_DRIFT, deleted::TEST_DELETED];

/// Looks at which files the change has to do with.
pub(crate) fn review(change: &Change<'_>) -> Returned {
    let Some(project) = change.project else { return Returned::default() };
    let repository = Repository { project, unread: RefCell::default() };
    let mut notes = Vec::new();
    let mut found: Vec<Found> = Vec::new();
    found.extend(rails::found(change, &repository));
    for looked in [
        prisma::found(change, &repository),
        lock::found(change, &repository),
        deleted::found(change, &repository),
    ] {
        found.extend(looked.found);
        notes.extend(looked.notes);
    }
    notes.extend(repository.note());
    found.sort_by(|a, b| (&a.file, a.line, &a.rule).cmp(&(&b.file, b.line, &b.rule)));
    Returned { findings: found.into_iter().map(Found::reported).collect(), notes }
}

/// The repository, with what cannot be read taken as not there, and counted: then there is nothing to compare with.
struct Repository<'a> {
    project: &'a dyn Project,
    /// What could not be read; the repository as a whole goes by no name.
    unread: RefCell<BTreeSet<String>>,
}

impl<'a> Repository<'a> {
    fn text(&self, side: Side, path: &str) -> Option<String> {
        let bytes = self.project.file(side, path).unwrap_or_else(|_| {
            self.unread.borrow_mut().insert(path.to_owned());
            None
        });
        source::text(bytes?)
    }

    fn paths(&self, side: Side) -> &'a [String] {
        self.project.paths(side).unwrap_or_else(|_| {
            self.unread.borrow_mut().insert(String::new());
            &[]
        })
    }

    fn search(&self, side: Side, word: &str, most: usize) -> Option<Hits> {
        let hits = self.project.search(side, &[word], most);
        hits.map_err(|_| self.unread.borrow_mut().insert(String::new())).ok()
    }

    /// What the reader should know about what was not there.
    fn note(&self) -> Option<String> {
        let unread = self.unread.borrow();
        match (unread.contains(""), unread.len()) {
            (_, 0) => None,
            (true, _) => Some("the files of the repository could not be gone through: not everything was compared with them".to_owned()),
            (false, 1) => Some("1 file could not be read and was not compared".to_owned()),
            (false, count) => Some(format!("{count} files could not be read and were not compared")),
        }
    }

    fn has(&self, side: Side, path: &str) -> bool {
        self.paths(side).binary_search_by(|it| it.as_str().cmp(path)).is_ok()
    }
}

/// A path's folder, with a `/` behind it, and its name.
fn split(path: &str) -> (&str, &str) {
    path.split_at(path.rfind('/').map_or(0, |at| at + 1))
}

#[cfg(test)]
mod tests;
