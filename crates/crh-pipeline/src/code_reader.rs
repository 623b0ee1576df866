//! Reads the files of base and head by the paths that reviewers and reports use.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use crate::change_under_review::ChangeUnderReview;
use crate::revisions::Revisions;
use crate::tools::ToolContext;
use crh_review::diff::{FileDiff, RepoPath};
use crh_review::finding::Side;
use crh_syntax::Symbols;

/// Maximum number of changed files that are parsed in advance. A report shows few issues, so
/// parsing more files mostly wastes memory.
const PARSE_AHEAD_MAX: usize = 60;

/// Reads the files of base and head. A change that is only a diff has no files to read.
#[derive(Debug)]
pub(crate) struct CodeReader<'a> {
    tool_context: &'a ToolContext,
    repository: Option<&'a Revisions>,
    changed_files: BTreeMap<String, &'a FileDiff>,
}

impl<'a> CodeReader<'a> {
    /// A reader for the files around a change.
    pub(crate) fn new(change: &'a ChangeUnderReview) -> Self {
        let files = change.diff.files().iter();
        let changed_files = files.map(|file| (file.path.shown().into_owned(), file)).collect();
        Self {
            tool_context: &change.tool_context,
            repository: change.tool_context.repository().ok(),
            changed_files,
        }
    }

    /// The repository. None if the change is only a diff.
    pub(crate) fn repository(&self) -> Option<&'a Revisions> {
        self.repository
    }

    /// Whether the diff contains this path.
    pub(crate) fn is_changed(&self, path: &str) -> bool {
        self.changed_files.contains_key(path)
    }

    /// The bytes of a file on one side. A renamed file has its new path on both sides. None if the
    /// file does not exist or cannot be read. Then quotes are checked against the diff only.
    pub(crate) fn bytes(&self, side: Side, path: &str) -> Option<Vec<u8>> {
        let repository = self.repository?;
        let revision = repository.resolve(Some(match side {
            Side::Old => "base",
            Side::New => "head",
        }))?;
        let file = self.changed_files.get(path);
        let old_path = file.and_then(|file| file.old_path.as_ref());
        let diff_path = match side {
            Side::Old => old_path.or(file.map(|file| &file.path)),
            Side::New => file.map(|file| &file.path),
        };
        let objects = repository.objects();
        match diff_path {
            Some(diff_path) => objects.file(revision, diff_path.as_bytes()).ok(),
            // Paths that are not UTF-8 are shown, and therefore cited, in git's quoted form.
            None => objects.file(revision, path).ok().or_else(|| {
                objects.file(revision, RepoPath::from_quoted(path.as_bytes())?.as_bytes()).ok()
            }),
        }
    }

    /// Functions and types of a file. None if the language is unknown or the file does not parse.
    pub(crate) fn symbols(&self, side: Side, path: &str) -> Option<Arc<Symbols>> {
        self.tool_context.symbols(side, path, || self.text(side, path))
    }

    /// Parses the first changed files into the cache, until the deadline, if there is one.
    pub(crate) fn parse_ahead(&self, deadline: Option<Instant>) {
        for path in self.changed_files.keys().take(PARSE_AHEAD_MAX) {
            for side in [Side::New, Side::Old] {
                if deadline.is_none_or(|deadline| Instant::now() < deadline) {
                    self.symbols(side, path);
                }
            }
        }
    }

    /// Parses files into the cache, on all processors, until the current call must end.
    pub(crate) fn parse_in_parallel(&self, files: &[(Side, String)]) {
        self.tool_context.parse_in_parallel(files, |side, path| self.text(side, path));
    }

    /// The text of a file on one side. Invalid UTF-8 is replaced.
    pub(crate) fn text(&self, side: Side, path: &str) -> Option<String> {
        let bytes = self.bytes(side, path)?;
        Some(match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        })
    }
}
