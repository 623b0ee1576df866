//! A repository with cached contents of the files under review, which several reviewers read.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use crate::{ChangeView, Project, SearchHits};
use crh_review::finding::Side;

/// Cache limit, far above what a reviewable change needs.
const BYTES_MAX: usize = 64 << 20;

/// Reads each file under review once per side, unless the cache is full or two threads read the
/// file at the same time.
pub(crate) struct CachedProject<'a> {
    project: &'a dyn Project,
    /// Paths of the files under review, on both sides.
    paths: HashSet<&'a str>,
    cache: Mutex<CachedFiles>,
}

#[derive(Default)]
struct CachedFiles {
    files: [HashMap<String, Option<Vec<u8>>>; 2],
    bytes: usize,
}

impl<'a> CachedProject<'a> {
    pub(crate) fn new(project: &'a dyn Project, change: &ChangeView<'a>) -> Self {
        let paths = change.files.iter().flat_map(|file| {
            [Some(file.path.as_str()), file.old_path.as_deref()].into_iter().flatten()
        });
        Self { project, paths: paths.collect(), cache: Mutex::default() }
    }
}

impl Project for CachedProject<'_> {
    fn file(&self, side: Side, path: &str) -> Result<Option<Vec<u8>>, String> {
        if !self.paths.contains(path) || self.is_stopped() {
            return self.project.file(side, path);
        }
        let side_index = usize::from(side == Side::New);
        let lock = || self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cached_file) = lock().files[side_index].get(path) {
            return Ok(cached_file.clone());
        }
        // Reads run outside the lock; at worst a file is read twice.
        let file = self.project.file(side, path)?;
        let bytes = file.as_ref().map_or(0, Vec::len);
        let mut cache = lock();
        if cache.bytes + bytes <= BYTES_MAX {
            cache.bytes += bytes;
            cache.files[side_index].insert(path.to_owned(), file.clone());
        }
        Ok(file)
    }

    fn paths(&self, side: Side) -> Result<&[String], String> {
        self.project.paths(side)
    }

    fn search(&self, side: Side, words: &[&str], max_hits: usize) -> Result<SearchHits, String> {
        self.project.search(side, words, max_hits)
    }

    fn is_stopped(&self) -> bool {
        self.project.is_stopped()
    }
}
