//! The repository, as static reviewers ask it.

use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use crate::revisions::Revisions;
use crh_git::{Pattern, Query, search};
use crh_lint::{HitLine, Hits, Project};
use crh_review::diff::RepoPath;
use crh_review::finding::Side;

/// The repository of a change.
pub(super) struct Repository<'a> {
    revisions: &'a Revisions,
    stop: &'a AtomicBool,
    paths: [OnceLock<Result<Vec<String>, String>>; 2],
}

impl<'a> Repository<'a> {
    pub(super) fn new(revisions: &'a Revisions, stop: &'a AtomicBool) -> Self {
        Self { revisions, stop, paths: Default::default() }
    }

    fn revision(&self, side: Side) -> Result<&str, String> {
        let name = match side {
            Side::Old => "base",
            Side::New => "head",
        };
        self.revisions.named(Some(name)).ok_or_else(|| format!("there is no {name}"))
    }
}

impl Project for Repository<'_> {
    fn file(&self, side: Side, path: &str) -> Result<Option<Vec<u8>>, String> {
        let (objects, revision) = (self.revisions.objects(), self.revision(side)?);
        // A name that is not UTF-8 is known as git quotes it.
        let quoted = RepoPath::unquoted(path.as_bytes());
        let path = quoted.as_ref().map_or(path.as_bytes(), RepoPath::as_bytes);
        objects.file_if_any(revision, path).map_err(|why| why.to_string())
    }

    fn paths(&self, side: Side) -> Result<&[String], String> {
        let [old, new] = &self.paths;
        let known = match side {
            Side::Old => old,
            Side::New => new,
        };
        let paths = known.get_or_init(|| {
            let files = self.revisions.objects().files(self.revision(side)?);
            // Links too: what they lead to is there, though nobody reads it.
            let files = files.map_err(|why| why.to_string())?.into_iter();
            let mut paths: Vec<String> =
                files.map(|entry| RepoPath::new(entry.path).shown().into_owned()).collect();
            paths.sort();
            Ok(paths)
        });
        paths.as_deref().map_err(String::clone)
    }

    fn search(&self, side: Side, words: &[&str], most: usize) -> Result<Hits, String> {
        if words.is_empty() {
            return Ok(Hits { lines: Vec::new(), is_all: true });
        }
        let words: Vec<String> = words.iter().map(|word| regex::escape(word)).collect();
        let query = Query {
            pattern: Pattern::Regex(format!(r"\b(?:{})\b", words.join("|"))),
            glob: None,
            ignore_case: false,
            max_matches: most,
        };
        let (objects, revision) = (self.revisions.objects(), self.revision(side)?);
        let found = search(objects, revision, &query, &|_| true, self.stop)
            .map_err(|why| why.to_string())?;
        let is_all =
            found.total <= u64::try_from(most).unwrap_or(u64::MAX) && found.unread.is_empty();
        let lines = found.matches.into_iter().map(|found| HitLine {
            path: RepoPath::new(found.path).shown().into_owned(),
            line: u32::try_from(found.line).unwrap_or(u32::MAX),
            text: String::from_utf8_lossy(&found.text).into_owned(),
        });
        Ok(Hits { lines: lines.collect(), is_all })
    }
}
