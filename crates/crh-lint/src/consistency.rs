//! Files that must change together: manifests and lock files, migrations and schemas, tests and the
//! code they test.

mod deleted_tests;
mod lock_files;
mod manifests;
mod prisma_schema;
mod rails_schema;

use std::cell::RefCell;
use std::collections::BTreeSet;

use crate::findings::FindingDraft;
use crate::{ChangeView, LintRule, Project, SearchHits, StaticOutput, source};
use crh_review::finding::Side;

pub(crate) const RULES: &[LintRule] =
    &[lock_files::LOCK_FILE, rails_schema::SCHEMA_DRIFT, deleted_tests::TEST_DELETED];

pub(crate) fn review(change: &ChangeView<'_>) -> StaticOutput {
    let Some(project) = change.project else { return StaticOutput::default() };
    let repository = RepoReader { project, unread_paths: RefCell::default() };
    let mut notes = Vec::new();
    let mut findings: Vec<FindingDraft> = Vec::new();
    for result in [
        rails_schema::check(change, &repository),
        prisma_schema::check(change, &repository),
        lock_files::check(change, &repository),
        deleted_tests::check(change, &repository),
    ] {
        findings.extend(result.findings);
        notes.extend(result.notes);
    }
    notes.extend(repository.note());
    findings.sort_by(|a, b| (&a.file, a.line, &a.rule).cmp(&(&b.file, b.line, &b.rule)));
    StaticOutput { findings: findings.into_iter().map(FindingDraft::into_finding).collect(), notes }
}

/// Repository access that treats unreadable files as missing and counts them, because there is
/// nothing to compare with.
struct RepoReader<'a> {
    project: &'a dyn Project,
    /// Unreadable paths. An empty string stands for a failed file list or search.
    unread_paths: RefCell<BTreeSet<String>>,
}

impl<'a> RepoReader<'a> {
    fn text(&self, side: Side, path: &str) -> Option<String> {
        let bytes = self.project.file(side, path).unwrap_or_else(|_| {
            self.unread_paths.borrow_mut().insert(path.to_owned());
            None
        });
        source::text(bytes?)
    }

    fn paths(&self, side: Side) -> &'a [String] {
        self.project.paths(side).unwrap_or_else(|_| {
            self.unread_paths.borrow_mut().insert(String::new());
            &[]
        })
    }

    fn search(&self, side: Side, word: &str, max_hits: usize) -> Option<SearchHits> {
        let hits = self.project.search(side, &[word], max_hits);
        hits.map_err(|_| self.unread_paths.borrow_mut().insert(String::new())).ok()
    }

    /// A note about files that could not be read.
    fn note(&self) -> Option<String> {
        let unread_paths = self.unread_paths.borrow();
        match (unread_paths.contains(""), unread_paths.len()) {
            (_, 0) => None,
            (true, _) => Some(
                "cannot list the files of the repository; some comparisons were skipped".to_owned(),
            ),
            (false, 1) => Some("1 file cannot be read and was not compared".to_owned()),
            (false, count) => Some(format!("{count} files cannot be read and were not compared")),
        }
    }

    fn has(&self, side: Side, path: &str) -> bool {
        self.paths(side).binary_search_by(|it| it.as_str().cmp(path)).is_ok()
    }
}

/// Splits a path into its folder (with a trailing `/`) and its name.
fn split_path(path: &str) -> (&str, &str) {
    path.split_at(path.rfind('/').map_or(0, |at| at + 1))
}

#[cfg(test)]
mod tests;
