//! Gives static checks access to the repository.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::revisions::Revisions;
use crh_git::{SearchQuery, search};
use crh_lint::{Project, SearchHit, SearchHits};
use crh_review::diff::RepoPath;
use crh_review::finding::Side;

/// The repository of a change.
pub(super) struct RevisionProject<'a> {
    revisions: &'a Revisions,
    stop: &'a AtomicBool,
    paths: [OnceLock<Result<Vec<String>, String>>; 2],
    /// Why the files of a revision could not be listed or searched.
    failure: OnceLock<String>,
}

impl<'a> RevisionProject<'a> {
    pub(super) fn new(revisions: &'a Revisions, stop: &'a AtomicBool) -> Self {
        Self { revisions, stop, paths: Default::default(), failure: OnceLock::new() }
    }

    /// Why checks that need the whole repository may have missed something.
    pub(super) fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }

    fn record_failure(&self, why: &impl ToString) -> String {
        self.failure.get_or_init(|| why.to_string()).clone()
    }

    fn revision(&self, side: Side) -> Result<&str, String> {
        let name = match side {
            Side::Old => "base",
            Side::New => "head",
        };
        self.revisions.resolve(Some(name)).ok_or_else(|| format!("there is no {name}"))
    }
}

impl Project for RevisionProject<'_> {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn file(&self, side: Side, path: &str) -> Result<Option<Vec<u8>>, String> {
        if self.is_stopped() {
            return Err("the checks were stopped".to_owned());
        }
        let (objects, revision) = (self.revisions.objects(), self.revision(side)?);
        // Paths that are not UTF-8 are quoted as in git.
        let quoted = RepoPath::from_quoted(path.as_bytes());
        let path = quoted.as_ref().map_or(path.as_bytes(), RepoPath::as_bytes);
        objects.file_if_any(revision, path).map_err(|why| why.to_string())
    }

    fn paths(&self, side: Side) -> Result<&[String], String> {
        let [old, new] = &self.paths;
        let cell = match side {
            Side::Old => old,
            Side::New => new,
        };
        let paths = cell.get_or_init(|| {
            let files = self.revisions.objects().files(self.revision(side)?);
            // Includes symlinks: code may refer to them, even if no check reads them.
            let files = files.map_err(|why| self.record_failure(&why))?.into_iter();
            let mut paths: Vec<String> =
                files.map(|entry| RepoPath::new(entry.path).shown().into_owned()).collect();
            paths.sort();
            Ok(paths)
        });
        paths.as_deref().map_err(String::clone)
    }

    fn search(&self, side: Side, words: &[&str], max_matches: usize) -> Result<SearchHits, String> {
        if words.is_empty() {
            return Ok(SearchHits { lines: Vec::new(), is_complete: true });
        }
        let query = SearchQuery { max_matches, ..SearchQuery::for_words(words.iter().copied()) };
        let (objects, revision) = (self.revisions.objects(), self.revision(side)?);
        let results = search(objects, revision, &query, &|_| true, self.stop)
            .map_err(|why| self.record_failure(&why))?;
        let is_complete = results.total <= u64::try_from(max_matches).unwrap_or(u64::MAX)
            && results.unreadable_files.is_empty();
        let lines = results.matches.into_iter().map(|hit| SearchHit {
            path: RepoPath::new(hit.path).shown().into_owned(),
            line: u32::try_from(hit.line).unwrap_or(u32::MAX),
            text: String::from_utf8_lossy(&hit.text).into_owned(),
        });
        Ok(SearchHits { lines: lines.collect(), is_complete })
    }
}
