//! A run that is being resumed.

use std::path::PathBuf;

use super::resolved_change::ResumeState;
use crh_pipeline::review_options::ReviewOptions;
use crh_pipeline::run_folder::RunFolder;

/// Hint if a run cannot be resumed.
pub(super) const START_ANEW_HINT: &str = "start a new review without `--resume`";

/// A run that is being resumed. It is locked.
pub(super) struct ResumedRun {
    pub(super) folder: RunFolder,
    pub(super) options: ReviewOptions,
    pub(super) change_facts: ResumeState,
}

impl ResumedRun {
    pub(super) fn workspace(&self) -> PathBuf {
        self.folder.workspace()
    }
}
