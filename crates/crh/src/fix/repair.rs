//! Runs the fixer, an agent that works on a copy of the tree, and collects its edits.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use super::outcome::{SkipKind, SkippedIssue};
use super::reviewed_checkout::ReviewedCheckout;
use super::surroundings::issues_at;
use crate::commands::interrupts::InterruptGuard;
use crate::commands::review::session::ReviewSession;
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
use crh_review::verdict::CommandKind;

const NO_MODEL: &str = "the report contains no code for this fix, and no model is configured to write it (see `--model`)";
const CHECKS_ONLY: &str = "the report contains no code for this fix, and a model can write it only for a review made with `crh review`; run that first";
const UNCHANGED: &str = "the fixer reported success but changed nothing for it";
/// Warning at the first Ctrl-C.
const STOPPING: &str = "stopping; the work of the fixer is discarded";

/// Result of a fixer run.
#[derive(Debug, Default)]
pub(super) struct ModelFixes {
    /// Edits that belong together, with their issues.
    pub(super) parts: Vec<EditGroup>,
    /// Descriptions of the fixer, by issue number.
    pub(super) described: BTreeMap<u32, String>,
    pub(super) left: Vec<SkippedIssue>,
}

/// Edits that share issues and therefore belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EditGroup {
    pub(super) edits: Vec<FileEdit>,
    pub(super) issues: BTreeSet<u32>,
}

/// Runs a fixer on a copy of a commit.
pub(super) fn run_fixer(
    reviewed_checkout: &ReviewedCheckout<'_>,
    issues: &[&Issue],
    commit: &str,
) -> Result<ModelFixes, Failure> {
    if issues.is_empty() {
        return Ok(ModelFixes::default());
    }
    let session = reviewed_checkout.session;
    let Some(model_set) = &session.model_set else {
        let why = why_no_model(session);
        let not_tried = |issue: &&Issue| SkippedIssue {
            kind: SkipKind::NotTried,
            ..SkippedIssue::new(issue.number, why)
        };
        let left = issues.iter().map(not_tried).collect();
        return Ok(ModelFixes { left, ..ModelFixes::default() });
    };
    let tree =
        TempCheckout::create(reviewed_checkout.bare, commit).or_fail(FailureKind::External)?;
    let task = FixTask {
        round: reviewed_checkout.next_fixer(),
        issues: issues_at(reviewed_checkout, issues, commit)?,
        files: issues.iter().flat_map(|issue| files(issue)).collect(),
    };
    let FixerResult { edits, outcomes, has_answered, .. } =
        ask_fixer(reviewed_checkout, model_set, &task, &tree)?;
    Ok(group_edits(edits, outcomes, has_answered))
}

/// Why a session without a model cannot fix an issue that has no exact replacement.
pub(super) fn why_no_model(session: &ReviewSession) -> &'static str {
    match session.terms.command {
        CommandKind::Checks => CHECKS_ONLY,
        CommandKind::Review => NO_MODEL,
    }
}

/// The files of an issue. The fixer may edit only these.
fn files(issue: &Issue) -> impl Iterator<Item = String> {
    let quoted = issue.evidence.iter().filter(|quote| quote.side == Side::New);
    let quoted = quoted.map(|quote| quote.file.clone());
    let other_places = issue.other_places.iter().filter(|place| place.side == Side::New);
    let other_places = other_places.map(|place| place.file.clone());
    std::iter::once(issue.location.file.clone()).chain(quoted).chain(other_places)
}

fn ask_fixer(
    reviewed_checkout: &ReviewedCheckout<'_>,
    model_set: &ModelSet,
    task: &FixTask,
    tree: &TempCheckout,
) -> Result<FixerResult, Failure> {
    let session = reviewed_checkout.session;
    let contents =
        if session.log_content { TranscriptDetail::Full } else { TranscriptDetail::LengthsOnly };
    let folder = Some(reviewed_checkout.run().clone());
    let journal =
        ReviewJournal::open(folder, session.redactor.clone(), contents, Vec::new(), |_| {});
    let stopping_journal = journal.clone();
    let _interrupts = InterruptGuard::watch(move || {
        stopping_journal.cancel().cancel();
        ui::warn(STOPPING);
    })?;
    let spent: UsageTotals =
        reviewed_checkout.run().spent_before().map_err(run_lookup::folder_failure)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.or_fail(FailureKind::External)?;
    let result = runtime.block_on(async {
        let terms = Arc::new(session.terms.clone());
        let context = ReviewContext {
            change: Arc::new(session.subject.clone()),
            prompts: Arc::new(Prompts::new(&session.subject, &terms, model_set.min_context())),
            models: model_set.clone(),
            ledger: Ledger::resume(terms.budget.ledger_budget(), spent),
            options: terms,
            static_findings: StaticFindings::new(),
            journal: journal.clone(),
            retry_seed: RandomState::new().hash_one(()),
        };
        repair(&context, task, tree).await
    });
    runtime.shutdown_background();
    Ok(result)
}

/// Groups the edits by shared issues. If the fixer has answered, the issues that it did not repair
/// count as rejected.
fn group_edits(
    edits: Vec<FileEdit>,
    outcomes: BTreeMap<u32, IssueOutcome>,
    has_answered: bool,
) -> ModelFixes {
    let mut fixes = ModelFixes::default();
    for edit in edits {
        let (touching, others): (Vec<EditGroup>, Vec<EditGroup>) =
            fixes.parts.into_iter().partition(|part| !part.issues.is_disjoint(&edit.issues));
        let mut part = EditGroup { issues: edit.issues.clone(), edits: vec![edit] };
        for other in touching {
            part.edits.extend(other.edits);
            part.issues.extend(other.issues);
        }
        fixes.parts = others;
        fixes.parts.push(part);
    }
    let changed = |number: &u32| fixes.parts.iter().any(|part| part.issues.contains(number));
    let not_done = |number: u32, why: String| match has_answered {
        true => SkippedIssue::rejected(number, why),
        false => SkippedIssue::new(number, why),
    };
    for (number, outcome) in outcomes {
        match outcome {
            IssueOutcome::Done(what) if changed(&number) => {
                drop(fixes.described.insert(number, what));
            }
            IssueOutcome::Done(_) => fixes.left.push(not_done(number, UNCHANGED.to_owned())),
            IssueOutcome::NotDone(why) => fixes.left.push(not_done(number, why)),
            IssueOutcome::NotTried(why) => fixes.left.push(SkippedIssue::new(number, why)),
        }
    }
    fixes
}

#[cfg(test)]
mod tests {
    use super::super::outcome::SkipKind;
    use super::*;

    fn edit(path: &str, issues: &[u32]) -> FileEdit {
        let issues = issues.iter().copied().collect();
        FileEdit { path: path.to_owned(), before: None, after: Some(Vec::new()), issues }
    }

    #[test]
    fn edits_with_shared_issues_are_grouped() {
        let edits = vec![edit("a", &[1]), edit("b", &[2]), edit("c", &[1, 3]), edit("d", &[3])];
        let outcomes = [
            (1, IssueOutcome::Done("one".to_owned())),
            (2, IssueOutcome::Done("two".to_owned())),
            (3, IssueOutcome::Done("three".to_owned())),
            (4, IssueOutcome::Done("nothing".to_owned())),
            (5, IssueOutcome::NotDone("it needs a decision".to_owned())),
            (6, IssueOutcome::NotTried("there are too many".to_owned())),
        ];
        let outcomes: BTreeMap<u32, IssueOutcome> = outcomes.into_iter().collect();
        let failed = group_edits(Vec::new(), outcomes.clone(), false);
        assert!(failed.left.iter().all(|left| left.kind == SkipKind::Failed));
        let fixes = group_edits(edits, outcomes, true);
        let parts: Vec<(Vec<&str>, &BTreeSet<u32>)> = fixes
            .parts
            .iter()
            .map(|part| (part.edits.iter().map(|it| it.path.as_str()).collect(), &part.issues))
            .collect();
        let together = BTreeSet::from([1, 3]);
        assert_eq!(parts, [(vec!["b"], &BTreeSet::from([2])), (vec!["d", "c", "a"], &together)]);
        assert_eq!(fixes.described.len(), 3);
        let left = [
            SkippedIssue::rejected(4, UNCHANGED),
            SkippedIssue::rejected(5, "it needs a decision"),
            SkippedIssue::new(6, "there are too many"),
        ];
        assert_eq!(fixes.left, left);
    }
}
