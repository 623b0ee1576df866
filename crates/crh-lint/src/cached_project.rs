//! The repository with the changed files in memory: several reviewers read the same ones.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use crate::{Change, Hits, Project};
use crh_review::finding::Side;

/// What is kept at the most, so that a change of huge files takes no more memory than it did: a change that people read has a hundredth of it.
const BYTES_MAX: usize = 64 << 20;

/// A repository that is asked once for each file of the change.
pub(crate) struct Remembered<'a> {
    project: &'a dyn Project,
    /// The paths of the change, on either side.
    paths: HashSet<&'a str>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    files: [HashMap<String, Option<Vec<u8>>>; 2],
    bytes: usize,
}

impl<'a> Remembered<'a> {
    pub(crate) fn new(project: &'a dyn Project, change: &Change<'a>) -> Self {
        let paths = change.files.iter().flat_map(|file| {
            [Some(file.path.as_str()), file.before.as_deref()].into_iter().flatten()
        });
        Self { project, paths: paths.collect(), kept: Mutex::default() }
    }
}

impl Project for Remembered<'_> {
    fn file(&self, side: Side, path: &str) -> Result<Option<Vec<u8>>, String> {
        if !self.paths.contains(path) {
            return self.project.file(side, path);
        }
        let at = usize::from(side == Side::New);
        let locked = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = locked().files[at].get(path) {
            return Ok(known.clone());
        }
        // Nobody waits for another's read; at worst a file is read twice.
        let file = self.project.file(side, path)?;
        let bytes = file.as_ref().map_or(0, Vec::len);
        let mut kept = locked();
        if kept.bytes + bytes <= BYTES_MAX {
            kept.bytes += bytes;
            kept.files[at].insert(path.to_owned(), file.clone());
        }
        Ok(file)
    }

    fn paths(&self, side: Side) -> Result<&[String], String> {
        self.project.paths(side)
    }

    fn search(&self, side: Side, words: &[&str], most: usize) -> Result<Hits, String> {
        self.project.search(side, words, most)
    }
}
