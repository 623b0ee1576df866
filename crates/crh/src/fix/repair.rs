//! Runs the fixer, an agent that works on a copy of the tree, and collects its edits.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use super::ground::Ground;
use super::outcome::Left;
use crate::commands::interrupts::InterruptGuard;
use crate::commands::run_lookup;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_agent::{Ledger, TranscriptDetail, UsageTotals};
use crh_git::TempCheckout;
use crh_pipeline::fixer::{FileEdit, FixTask, FixerResult, IssueOutcome, repair};
use crh_pipeline::journal::ReviewJournal;
use crh_pipeline::prompts::Prompts;
use crh_pipeline::review_context::ReviewContext;
use crh_pipeline::review_options::ModelSet;
use crh_pipeline::static_findings::StaticFindings;
use crh_review::finding::Side;
use crh_review::report::Issue;

const NO_MODEL: &str =
    "the report has no ready-made code for it, and no model is configured to write the fix";
const UNCHANGED: &str = "the fixer reported success but changed nothing for it";
/// Warning at the first Ctrl-C.
const STOPPING: &str = "stopping; the work of the fixer is discarded";

/// Result of a fixer run.
#[derive(Debug, Default)]
pub(super) struct Repaired {
    /// Edits that belong together, with their issues.
    pub(super) parts: Vec<Part>,
    /// Descriptions of the fixer, by issue number.
    pub(super) described: BTreeMap<u32, String>,
    pub(super) left: Vec<Left>,
}

/// Edits that share issues and therefore belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) edits: Vec<FileEdit>,
    pub(super) issues: BTreeSet<u32>,
}

/// Runs a fixer on a copy of a commit.
pub(super) fn repaired(
    ground: &Ground<'_>,
    issues: &[&Issue],
    commit: &str,
) -> Result<Repaired, Failure> {
    if issues.is_empty() {
        return Ok(Repaired::default());
    }
    let Some(crew) = &ground.begun.crew else {
        let left = issues.iter().map(|issue| Left::new(issue.number, NO_MODEL)).collect();
        return Ok(Repaired { left, ..Repaired::default() });
    };
    let tree = TempCheckout::create(ground.bare, commit).or_fail(FailureKind::External)?;
    let errand = FixTask {
        round: ground.next_fixer(),
        issues: issues.iter().map(|issue| (*issue).clone()).collect(),
        files: issues.iter().flat_map(|issue| files(issue)).collect(),
    };
    let FixerResult { edits, outcomes: told, .. } = asked(ground, crew, &errand, &tree)?;
    Ok(sorted(edits, told))
}

/// The files of an issue. The fixer may edit only these.
fn files(issue: &Issue) -> impl Iterator<Item = String> {
    let quoted = issue.evidence.iter().filter(|quote| quote.side == Side::New);
    let quoted = quoted.map(|quote| quote.file.clone());
    std::iter::once(issue.location.file.clone()).chain(quoted)
}

fn asked(
    ground: &Ground<'_>,
    crew: &ModelSet,
    errand: &FixTask,
    tree: &TempCheckout,
) -> Result<FixerResult, Failure> {
    let begun = ground.begun;
    let contents =
        if begun.log_content { TranscriptDetail::Full } else { TranscriptDetail::LengthsOnly };
    let folder = Some(ground.run().clone());
    let journal = ReviewJournal::open(folder, begun.redactor.clone(), contents, Vec::new(), |_| {});
    let stopped = journal.clone();
    let _interrupts = InterruptGuard::watch(move || {
        stopped.cancel().cancel();
        ui::warn(STOPPING);
    })?;
    let spent: UsageTotals = ground.run().spent_before().map_err(run_lookup::folder_failure)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.or_fail(FailureKind::External)?;
    let result = runtime.block_on(async {
        let terms = Arc::new(begun.terms.clone());
        let office = ReviewContext {
            change: Arc::new(begun.subject.clone()),
            prompts: Arc::new(Prompts::new(&begun.subject, &terms, crew.min_context())),
            models: crew.clone(),
            ledger: Ledger::resume(terms.budget.ledger_budget(), spent),
            options: terms,
            static_findings: StaticFindings::new(),
            journal: journal.clone(),
            retry_seed: RandomState::new().hash_one(()),
        };
        repair(&office, errand, tree).await
    });
    runtime.shutdown_background();
    Ok(result)
}

/// Groups the edits by shared issues.
fn sorted(edits: Vec<FileEdit>, told: BTreeMap<u32, IssueOutcome>) -> Repaired {
    let mut brought = Repaired::default();
    for edit in edits {
        let (touching, others): (Vec<Part>, Vec<Part>) =
            brought.parts.into_iter().partition(|part| !part.issues.is_disjoint(&edit.issues));
        let mut part = Part { issues: edit.issues.clone(), edits: vec![edit] };
        for other in touching {
            part.edits.extend(other.edits);
            part.issues.extend(other.issues);
        }
        brought.parts = others;
        brought.parts.push(part);
    }
    let changed = |number: &u32| brought.parts.iter().any(|part| part.issues.contains(number));
    for (number, told) in told {
        match told {
            IssueOutcome::Done(what) if changed(&number) => {
                drop(brought.described.insert(number, what));
            }
            IssueOutcome::Done(_) => brought.left.push(Left::new(number, UNCHANGED)),
            IssueOutcome::NotDone(why) => brought.left.push(Left::new(number, why)),
        }
    }
    brought
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(path: &str, issues: &[u32]) -> FileEdit {
        let issues = issues.iter().copied().collect();
        FileEdit { path: path.to_owned(), before: None, after: Some(Vec::new()), issues }
    }

    #[test]
    fn edits_with_shared_issues_are_grouped() {
        let edits = vec![edit("a", &[1]), edit("b", &[2]), edit("c", &[1, 3]), edit("d", &[3])];
        let told = [
            (1, IssueOutcome::Done("one".to_owned())),
            (2, IssueOutcome::Done("two".to_owned())),
            (3, IssueOutcome::Done("three".to_owned())),
            (4, IssueOutcome::Done("nothing".to_owned())),
            (5, IssueOutcome::NotDone("it needs a decision".to_owned())),
        ];
        let brought = sorted(edits, told.into_iter().collect());
        let parts: Vec<(Vec<&str>, &BTreeSet<u32>)> = brought
            .parts
            .iter()
            .map(|part| (part.edits.iter().map(|it| it.path.as_str()).collect(), &part.issues))
            .collect();
        let together = BTreeSet::from([1, 3]);
        assert_eq!(parts, [(vec!["b"], &BTreeSet::from([2])), (vec!["d", "c", "a"], &together)]);
        assert_eq!(brought.described.len(), 3);
        let left = [Left::new(4, UNCHANGED), Left::new(5, "it needs a decision")];
        assert_eq!(brought.left, left);
    }
}
