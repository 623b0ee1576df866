//! What is under review, pinned: the workspace, the diff in it, what of it is in scope, and the repository behind it.

use std::sync::Arc;

use crate::scope::{Scope, ScopeFile};
use crate::since::Since;
use crate::tools::{Bench, ToolError};
use crate::workspace::Workspace;
use crh_review::diff::{Diff, FileDiff};
use crh_review::report;

/// What is under review. Nothing in it changes during the review but the list of files that were marked.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The workspace and the repository, as the tools read them.
    pub bench: Bench,
    /// The diff of the latest round.
    pub diff: Arc<Diff>,
    /// What of it is reviewed.
    pub scope: Scope,
    /// What names the change in the report.
    pub change: report::Change,
    /// Files that lie in the checkout and are not part of the change.
    pub untracked: Vec<String>,
    /// What the reader should know about how the change was found.
    pub notes: Vec<String>,
    /// The earlier review that this one goes on from; none if everything is reviewed.
    pub since: Option<Arc<Since>>,
}

impl Subject {
    /// The workspace. A subject always has one.
    pub fn workspace(&self) -> Result<&Workspace, ToolError> {
        self.bench.workspace()
    }

    /// The files under review with their diffs, in the order of the diff.
    pub fn files(&self) -> impl Iterator<Item = (&ScopeFile, &FileDiff)> {
        // A scope has every file of its diff, in the same order.
        self.scope.files.iter().zip(self.diff.files()).filter(|(file, _)| file.decision.is_in())
    }

    /// The same as a review of what has changed since another one: files that were looked at then are out of scope.
    #[must_use]
    pub fn since(mut self, since: Since) -> Self {
        let was_reviewed = |path: &str| since.unchanged.contains(path);
        self.scope = self.scope.without_reviewed(&since.head, was_reviewed);
        self.since = Some(Arc::new(since));
        self
    }

    /// The file under review at a path after the change.
    pub fn file(&self, path: &str) -> Option<(&ScopeFile, &FileDiff)> {
        self.files().find(|(file, _)| file.path.shown() == path)
    }
}
