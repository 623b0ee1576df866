//! Analysers of others as reviewers: who of them takes part in a review, and what they say.

use super::project::Repository;
use super::{CheckTerms, changed_file};
use crate::plan::Part;
use crate::runs::RunRecord;
use crate::subject::Subject;
use crh_lint::analysers::Analysers;
use crh_lint::{Change, Project};

/// Whether a reviewer of this name is one of them.
pub(crate) fn is_analyser(name: &str) -> bool {
    crh_lint::analysers::NAMES.contains(&name)
}

/// Who of them has files in the change; nobody, and why, if they cannot be shut in here.
pub(crate) fn planned(
    subject: &Subject,
    terms: &CheckTerms,
) -> (Vec<(&'static str, Vec<Part>)>, Option<String>) {
    let Some(analysers) = &terms.analysers else { return Default::default() };
    let files: Vec<_> =
        subject.files().map(|(_, file)| changed_file(&subject.diff, file)).collect();
    let Ok(revisions) = subject.bench.repository() else { return Default::default() };
    let repository = Repository::new(revisions, subject.bench.stop());
    let change = Change::new(&files, &files, Some(&repository as &dyn Project));
    let planned = analysers.planned(&change);
    if planned.is_empty() {
        return Default::default();
    }
    if let Err(why) = analysers.sandbox() {
        let names: Vec<&str> = planned.iter().map(|(name, _)| *name).collect();
        let note = format!("analysers were not run ({}): {why}", names.join(", "));
        return (Vec::new(), Some(note));
    }
    let parts = |files: Vec<String>| files.into_iter().map(Part::whole).collect();
    (planned.into_iter().map(|(name, files)| (name, parts(files))).collect(), None)
}

/// What they say. Where they cannot be shut in, nothing is run, which the plan has said.
pub(super) fn runs(analysers: Option<&Analysers>, change: &Change<'_>) -> Vec<RunRecord> {
    let Some(analysers) = analysers else { return Vec::new() };
    if analysers.planned(change).is_empty() || analysers.sandbox().is_err() {
        return Vec::new();
    }
    analysers.review(change).into_iter().map(|run| super::record_of(run, None)).collect()
}
