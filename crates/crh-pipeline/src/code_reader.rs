//! The files of base and head, by the paths under which reviewers and reports know them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::revisions::Revisions;
use crate::subject::Subject;
use crate::tools::Bench;
use crh_review::diff::{FileDiff, RepoPath};
use crh_review::finding::Side;
use crh_syntax::Symbols;

/// Issues are shown of fifteen files, or thirty; what is parsed for nothing is not worth the memory.
const AHEAD_MAX: usize = 60;

/// The files of base and head. Of a change that is only a diff, there are none.
#[derive(Debug)]
pub(crate) struct Code<'a> {
    bench: &'a Bench,
    repository: Option<&'a Revisions>,
    changed: BTreeMap<String, &'a FileDiff>,
}

impl<'a> Code<'a> {
    /// The files around a change.
    pub(crate) fn of(subject: &'a Subject) -> Self {
        let files = subject.diff.files().iter();
        let changed = files.map(|file| (file.path.shown().into_owned(), file)).collect();
        Self { bench: &subject.bench, repository: subject.bench.repository().ok(), changed }
    }

    /// The repository; none if the change is only a diff.
    pub(crate) fn repository(&self) -> Option<&'a Revisions> {
        self.repository
    }

    /// Whether the change has to do with a file.
    pub(crate) fn is_changed(&self, path: &str) -> bool {
        self.changed.contains_key(path)
    }

    /// The bytes of a file on one side. A renamed file goes by its new path on both. None if it is not there, is no
    /// file, or cannot be read: it can then only be quoted from the diff.
    pub(crate) fn bytes(&self, side: Side, path: &str) -> Option<Vec<u8>> {
        let repository = self.repository?;
        let revision = repository.named(Some(match side {
            Side::Old => "base",
            Side::New => "head",
        }))?;
        let file = self.changed.get(path);
        let old = file.and_then(|file| file.old_path.as_ref());
        let known = match side {
            Side::Old => old.or(file.map(|file| &file.path)),
            Side::New => file.map(|file| &file.path),
        };
        let objects = repository.objects();
        match known {
            Some(known) => objects.file(revision, known.as_bytes()).ok(),
            // A name that is not UTF-8 is shown, and so cited, as git quotes it.
            None => objects.file(revision, path).ok().or_else(|| {
                objects.file(revision, RepoPath::unquoted(path.as_bytes())?.as_bytes()).ok()
            }),
        }
    }

    /// The functions and types of a file on one side; none if it has no grammar or cannot be parsed.
    pub(crate) fn symbols(&self, side: Side, path: &str) -> Option<Arc<Symbols>> {
        self.bench.symbols(side, path, || self.text(side, path))
    }

    /// Parses the files of the change, as many as a review cites at most, for those who ask later.
    pub(crate) fn parse_ahead(&self) {
        for path in self.changed.keys().take(AHEAD_MAX) {
            for side in [Side::New, Side::Old] {
                self.symbols(side, path);
            }
        }
    }

    /// The text of a file on one side.
    pub(crate) fn text(&self, side: Side, path: &str) -> Option<String> {
        let bytes = self.bytes(side, path)?;
        Some(match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        })
    }
}
