//! The repository's own reviewers, read from git objects at one revision.

use super::ReviewerFile;
use super::front::FILE_MAX;
use crate::checks::Work;
use crate::own_files::Folder;
use crate::subject::Subject;

/// Where a repository keeps its reviewers.
const FOLDER: Folder = Folder {
    path: ".crh/reviewers",
    what: "reviewer",
    endings: &[".md"],
    // The scout is told about every one of them on every change; the catalogue itself has half as many.
    files_max: 50,
    file_max: FILE_MAX,
};

/// The files of a repository's own reviewers, and a sentence about each that was not read. They are those of the base, but for
/// work that is not committed: who wrote a change must not choose who looks at it.
pub fn own_reviewers(subject: &Subject, work: Work) -> (Vec<ReviewerFile>, Vec<String>) {
    let Ok(revisions) = subject.bench.repository() else { return Default::default() };
    let round = subject.workspace().ok().and_then(|workspace| workspace.latest());
    let (files, notes) = FOLDER.read(revisions, work.own_end(round));
    let files = files.into_iter().map(|(path, bytes)| ReviewerFile { path, bytes });
    (files.collect(), notes)
}
