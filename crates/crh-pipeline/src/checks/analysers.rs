//! Runs installed analysers (linters of other projects) as reviewers.

use super::revision_project::RevisionProject;
use super::{CheckOptions, changed_file};
use crate::assignment::DiffPart;
use crate::change_under_review::ChangeUnderReview;
use crate::runs::RunRecord;
use crh_lint::analysers::Analysers;
use crh_lint::{ChangeView, Project};

/// Whether this reviewer is an analyser.
pub(crate) fn is_analyser(name: &str) -> bool {
    crh_lint::analysers::is_analyser(name)
}

/// Analysers that can check files of the change. If this machine has no sandbox for them, the list
/// is empty and the second value is the reason.
pub(crate) fn plan_analysers(
    subject: &ChangeUnderReview,
    options: &CheckOptions,
) -> (Vec<(&'static str, Vec<DiffPart>)>, Option<String>) {
    let Some(analysers) = &options.analysers else { return Default::default() };
    let files: Vec<_> =
        subject.files().map(|(_, file)| changed_file(&subject.diff, file)).collect();
    let Ok(revisions) = subject.tool_context.repository() else { return Default::default() };
    let repository = RevisionProject::new(revisions, subject.tool_context.stop());
    let change = ChangeView::new(&files, &files, Some(&repository as &dyn Project));
    let planned = analysers.plan(&change);
    if planned.is_empty() {
        return Default::default();
    }
    if let Err(why) = analysers.sandbox() {
        let names: Vec<&str> = planned.iter().map(|(name, _)| *name).collect();
        let note = format!("linters did not run ({}): {why}", names.join(", "));
        return (Vec::new(), Some(note));
    }
    let parts = |files: Vec<String>| files.into_iter().map(DiffPart::whole).collect();
    (planned.into_iter().map(|(name, files)| (name, parts(files))).collect(), None)
}

/// Runs the analysers. Without a sandbox nothing runs. The notes of the plan say so.
pub(super) fn run_planned(
    analysers: Option<&Analysers>,
    change: &ChangeView<'_>,
) -> Vec<RunRecord> {
    let Some(analysers) = analysers else { return Vec::new() };
    if analysers.plan(change).is_empty() || analysers.sandbox().is_err() {
        return Vec::new();
    }
    analysers.review(change).into_iter().map(|run| super::record_from_run(run, None)).collect()
}
