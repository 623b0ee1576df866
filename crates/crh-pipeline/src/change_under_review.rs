//! The change under review, resolved: workspace, diff, scope and repository.

use std::sync::Arc;

use crate::context_pack::ContextPack;
use crate::incremental::IncrementalReview;
use crate::scope::{Scope, ScopeFile};
use crate::tools::{ToolContext, ToolError};
use crate::workspace::Workspace;
use crh_memory::lesson::ReviewLessons;
use crh_review::diff::{Diff, FileDiff};
use crh_review::report;

/// The change under review. Immutable during a review, except for the list of files marked as
/// reviewed.
#[derive(Debug, Clone)]
pub struct ChangeUnderReview {
    /// Workspace and repository, as tools read them.
    pub tool_context: ToolContext,
    /// Diff of the latest version of the change.
    pub diff: Arc<Diff>,
    /// Which files of the diff are reviewed.
    pub scope: Scope,
    /// Title, author, branches and commits for the report.
    pub report_change: report::ReviewedChange,
    /// Untracked files of the checkout. They are not part of the change.
    pub untracked: Vec<String>,
    /// Notes for the reader about how the change was resolved.
    pub notes: Vec<String>,
    /// The previous review that this one continues. None if all files are reviewed.
    pub incremental: Option<Arc<IncrementalReview>>,
    /// Lessons of the maintainers, from the base branch and from the user. Never from the change.
    pub lessons: Arc<ReviewLessons>,
}

impl ChangeUnderReview {
    /// The workspace. Every change under review has one.
    pub fn workspace(&self) -> Result<&Workspace, ToolError> {
        self.tool_context.workspace()
    }

    /// The revision whose project instructions apply: `head` for local changes, `base` for changes
    /// from a forge. Otherwise the author of a change from a forge could give instructions to the
    /// reviewers.
    pub(crate) fn instructions_revision(&self) -> &'static str {
        let is_proposed =
            self.workspace().is_ok_and(|workspace| !workspace.metadata().url.is_empty());
        if is_proposed { "base" } else { "head" }
    }

    /// The files under review with their diffs, in the order of the diff.
    pub fn files(&self) -> impl Iterator<Item = (&ScopeFile, &FileDiff)> {
        // A scope has every file of its diff, in the same order.
        self.scope.files.iter().zip(self.diff.files()).filter(|(file, _)| file.decision.is_in())
    }

    /// Turns this into an incremental review: files that the previous review covered and that have
    /// not changed since go out of scope.
    #[must_use]
    pub fn into_incremental(mut self, previous: IncrementalReview) -> Self {
        let was_reviewed = |path: &str| previous.unchanged_files.contains(path);
        self.scope = self.scope.without_reviewed(&previous.head, was_reviewed);
        self.incremental = Some(Arc::new(previous));
        self
    }

    /// The context pack, built on first use.
    pub(crate) fn context_pack(&self) -> &ContextPack {
        self.tool_context.context_pack(|| ContextPack::build(self, &|_| true))
    }

    /// The file under review that has this path after the change.
    pub fn file(&self, path: &str) -> Option<(&ScopeFile, &FileDiff)> {
        self.files().find(|(file, _)| file.path.shown() == path)
    }
}
