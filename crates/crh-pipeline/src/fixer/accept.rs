//! Decides which work of a fixer to accept: compares the fixer's tree with the reviewed tree and
//! with the fixer's report.

use std::collections::{BTreeMap, BTreeSet};

use super::report::ReportedRepair;
use super::{AcceptedWork, FileEdit, FixTask, IssueOutcome};
use crate::text::one_line;
use crh_git::{CheckoutDifference, DifferenceKind, TempCheckoutError};

/// Accepts the reported repairs, or returns the reason why nothing is accepted.
pub(super) fn accept_work(
    fix_task: &FixTask,
    reported: BTreeMap<u32, ReportedRepair>,
    differences: Result<Vec<CheckoutDifference>, TempCheckoutError>,
) -> Result<AcceptedWork, String> {
    let differences = differences.map_err(|why| format!("cannot compare its tree: {why}"))?;
    let mut edits = Vec::new();
    for CheckoutDifference { path, kind } in differences {
        let rejection = |reason: &str| {
            let path = one_line(&String::from_utf8_lossy(&path));
            format!("it changed `{path}`, {reason}; all its work is rejected")
        };
        let name = String::from_utf8(path.clone()).ok();
        let Some(name) = name.filter(|name| fix_task.files.contains(name)) else {
            return Err(rejection("which is not one of its files"));
        };
        match kind {
            // A person must decide whether a file is deleted.
            DifferenceKind::Text { before: Some(_), after: None } => {
                let name = one_line(&name);
                return Err(format!("it deleted `{name}`; all its work is rejected"));
            }
            DifferenceKind::Text { before: Some(before), after: Some(after) }
                if is_blank(&after) && !is_blank(&before) =>
            {
                let name = one_line(&name);
                return Err(format!("it emptied `{name}`; all its work is rejected"));
            }
            DifferenceKind::Text { before, after } => {
                let issues = BTreeSet::new();
                edits.push(FileEdit { path: name, before, after, issues });
            }
            DifferenceKind::Other(description) => {
                return Err(rejection(&format!("but not its text ({description})")));
            }
        }
    }
    let mut outcomes: BTreeMap<u32, IssueOutcome> = fix_task.issues_over_limit().collect();
    for (number, _) in fix_task.issue_files() {
        let outcome = match reported.get(&number) {
            Some(ReportedRepair { outcome: IssueOutcome::Done(sentence), files }) => {
                let own_edits = edits.iter_mut().filter(|edit| files.contains(&edit.path));
                let edit_count = own_edits.map(|edit| edit.issues.insert(number)).count();
                if edit_count == 0 {
                    let why = "no file was changed for it, although the fixer reports";
                    IssueOutcome::NotDone(format!("{why}: {sentence}"))
                } else {
                    IssueOutcome::Done(sentence.clone())
                }
            }
            Some(ReportedRepair { outcome: outcome @ IssueOutcome::NotDone(_), .. }) => {
                outcome.clone()
            }
            None => IssueOutcome::NotDone("the fixer did not report about it".to_owned()),
        };
        outcomes.insert(number, outcome);
    }
    let (edits, unneeded_edits): (Vec<_>, Vec<_>) =
        edits.into_iter().partition(|edit| !edit.issues.is_empty());
    let note = |edit: FileEdit| {
        format!(
            "the edit of `{}` belongs to no repaired issue and is rejected",
            one_line(&edit.path)
        )
    };
    Ok(AcceptedWork { edits, outcomes, notes: unneeded_edits.into_iter().map(note).collect() })
}

fn is_blank(text: &[u8]) -> bool {
    text.iter().all(u8::is_ascii_whitespace)
}
