//! Reads the repository's own reviewers from git.

use super::ReviewerFile;
use super::reviewer_file::FILE_MAX;
use crate::change_under_review::ChangeUnderReview;
use crate::checks::ChangeOrigin;
use crate::repo_config::RepoConfigFolder;

/// Folder of the repository's own reviewers.
const REVIEWERS_FOLDER: RepoConfigFolder = RepoConfigFolder {
    path: ".crh/reviewers",
    item: "reviewer",
    extensions: &[".md"],
    // The scout reads one row per reviewer on every change. The limit is about twice the number of
    // built-in reviewers.
    files_max: 50,
    file_max: FILE_MAX,
};

/// The files of the repository's own reviewers, and notes on unreadable files. crh reads the files
/// from the base revision, since the author of a change must not choose its reviewers. For
/// uncommitted work, crh reads them from `head`, the snapshot of the working tree.
pub fn own_reviewers(
    change: &ChangeUnderReview,
    origin: ChangeOrigin,
) -> (Vec<ReviewerFile>, Vec<String>) {
    let Ok(revisions) = change.tool_context.repository() else { return Default::default() };
    let round = change.workspace().ok().and_then(|workspace| workspace.latest());
    let (files, notes) = REVIEWERS_FOLDER.read(revisions, origin.config_revision(round));
    let files = files.into_iter().map(|(path, bytes)| ReviewerFile { path, bytes });
    (files.collect(), notes)
}
