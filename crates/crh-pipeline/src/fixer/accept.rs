//! Decides which work of a fixer to accept: compares the fixer's tree with the reviewed tree and
//! with the fixer's report.

use std::collections::{BTreeMap, BTreeSet};

use super::changed_lines::{ChangedLines, FileChanges};
use super::report::ReportedRepair;
use super::{AcceptedWork, FileEdit, FixTask, IssueOutcome};
use crate::text::one_line;
use crh_git::{CheckoutDifference, DifferenceKind, TempCheckoutError};
use crh_review::finding::Side;
use crh_review::report::Issue;

/// Why an issue without an edit is not done.
const NO_FILE: &str = "no file was changed for it";
/// Why an issue is not done if the fixer changed only other files for it.
const OTHER_FILES: &str = "only other files were changed for it";

/// Accepts the reported repairs, or returns the reason why nothing is accepted. `base` returns a file
/// as it was before the reviewed change.
pub(super) fn accept_work(
    fix_task: &FixTask,
    reported: BTreeMap<u32, ReportedRepair>,
    differences: Result<Vec<CheckoutDifference>, TempCheckoutError>,
    base: impl Fn(&str) -> Option<Vec<u8>>,
) -> Result<AcceptedWork, String> {
    let differences = differences.map_err(|why| format!("cannot compare its tree: {why}"))?;
    let mut edits = edits_of_task(fix_task, differences)?;
    let mut outcomes: BTreeMap<u32, IssueOutcome> = fix_task.issues_over_limit().collect();
    let done: Vec<(&Issue, &ReportedRepair)> = fix_task
        .shown_issues()
        .filter_map(|issue| Some((issue, reported.get(&issue.number)?)))
        .filter(|(_, repair)| matches!(repair.outcome, IssueOutcome::Done(_)))
        .collect();
    let files: Vec<FileChanges<'_>> =
        edits.iter().map(|edit| FileChanges::new(edit, base(&edit.path).as_deref())).collect();
    let made: BTreeMap<u32, Result<Vec<usize>, &str>> = done
        .iter()
        .map(|(issue, repair)| (issue.number, edits_for(issue, repair, &files, &done)))
        .collect();
    drop(files);
    for number in fix_task.shown_issues().map(|issue| issue.number) {
        let outcome = match reported.get(&number) {
            Some(ReportedRepair { outcome: IssueOutcome::Done(sentence), .. }) => {
                match made.get(&number).unwrap_or(&Err(NO_FILE)) {
                    Ok(own_edits) => {
                        for index in own_edits {
                            edits[*index].issues.insert(number);
                        }
                        IssueOutcome::Done(sentence.clone())
                    }
                    Err(why) => IssueOutcome::NotDone(format!(
                        "{why}, although the fixer reports: {sentence}"
                    )),
                }
            }
            Some(ReportedRepair {
                outcome: outcome @ (IssueOutcome::NotDone(_) | IssueOutcome::NotTried(_)),
                ..
            }) => outcome.clone(),
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

/// The edits of a tree, for no issue yet, or the reason why nothing is accepted.
fn edits_of_task(
    fix_task: &FixTask,
    differences: Vec<CheckoutDifference>,
) -> Result<Vec<FileEdit>, String> {
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
    Ok(edits)
}

/// Indexes of the edits that were made for an issue, or why none was.
///
/// A change counts for the issue if it is at one of its places, or a few lines from it and not at
/// the lines of another repaired issue. A change at no place of the others counts, too, if it may be
/// for the issue or if the report names the file for the issue; but not if it may as well be for
/// another issue, or if another report names the file. At least one of the changes must be in a file
/// that the issue cites, unless it is about removed lines.
fn edits_for(
    issue: &Issue,
    repair: &ReportedRepair,
    files: &[FileChanges<'_>],
    done: &[(&Issue, &ReportedRepair)],
) -> Result<Vec<usize>, &'static str> {
    let own = || files.iter().enumerate().filter(|(_, file)| repair.files.contains(file.path()));
    let is_for_issue = |file: &FileChanges<'_>| {
        let others: Vec<&(&Issue, &ReportedRepair)> = done
            .iter()
            .filter(|(other, repair)| {
                other.number != issue.number && repair.files.contains(file.path())
            })
            .collect();
        let is_named = repair.named.contains(file.path());
        file.substantial(issue).into_iter().any(|change| {
            let is_claimed = |other: &Issue| {
                file.is_around(other, change)
                    || file.is_in_block(other, change) && !file.is_around(issue, change)
            };
            let is_of_other = |(other, repair): &&(&Issue, &ReportedRepair)| {
                file.touches(other, change)
                    || !is_named
                        && (repair.named.contains(file.path())
                            || !file.brings_back(issue, change) && is_claimed(other))
            };
            let is_at_other_lines = || {
                !file.replaces(issue, change)
                    && others.iter().any(|(other, _)| file.replaces(other, change))
            };
            file.touches(issue, change) && !is_at_other_lines()
                || (is_named || may_be_for(file, issue, change)) && !others.iter().any(is_of_other)
        })
    };
    let made: Vec<usize> =
        own().filter(|(_, file)| is_for_issue(file)).map(|(index, _)| index).collect();
    let has_substance = || own().any(|(_, file)| !file.substantial(issue).is_empty());
    let is_near = |(_, file): (usize, &FileChanges<'_>)| {
        file.substantial(issue).into_iter().any(|change| may_be_for(file, issue, change))
    };
    match made.is_empty() {
        false if made.iter().any(|index| is_cited(issue, files[*index].path())) => Ok(made),
        false => Err(OTHER_FILES),
        true if own().next().is_none() => Err(NO_FILE),
        true if own().any(is_near) => Err("the change around its lines may be for another issue"),
        true if has_substance() => Err("the code around its lines was not changed"),
        true => Err("only comments or white space were changed for it"),
    }
}

/// Whether a change may be for an issue by where it is, or because it brings back what the issue says
/// was removed.
fn may_be_for(file: &FileChanges<'_>, issue: &Issue, change: &ChangedLines) -> bool {
    file.is_around(issue, change)
        || file.is_in_block(issue, change)
        || file.brings_back(issue, change)
}

/// Whether an issue cites a file. What replaces a removed line may be in any file.
fn is_cited(issue: &Issue, path: &str) -> bool {
    issue.location.side == Side::Old
        || issue.location.file == path
        || issue.other_places.iter().any(|place| place.file == path)
        || issue.evidence.iter().any(|quote| quote.file == path)
}

fn is_blank(text: &[u8]) -> bool {
    text.iter().all(u8::is_ascii_whitespace)
}
