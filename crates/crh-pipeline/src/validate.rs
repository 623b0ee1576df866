//! Stage "validate": code refutes claims that a search can decide. A validation run, which has not
//! seen the review, checks the other issues.
//!
//! Invariant: every dropped issue has a reason, found by code or given by a run. Issues that could
//! not be checked stay.

mod answer;
mod batch;
mod batch_runs;
mod claim;
pub(crate) mod excerpt;
mod refute;
mod second_look;

use std::collections::{BTreeMap, BTreeSet};
use std::future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::{task, time};

use self::batch::Batch;
use crate::change_under_review::ChangeUnderReview;
use crate::code_reader::CodeReader;
use crate::collect::ReviewFindings;
use crate::review_context::ReviewContext;
use crate::runs::RunRecord;
use crh_review::finding::{Member, Severity};
use crh_review::report::Issue;
use crh_review::{Judgement, JudgementResult, MergeResult};

/// Timeout of the search for contradictions. Large repositories take a few seconds. After a
/// timeout, code refutes nothing and leaves all issues to the validation runs.
const REFUTE_TIMEOUT: Duration = Duration::from_secs(30);

/// Results of validation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ValidationOutcome {
    /// Judgements by `dedupe_key`. An issue without one was not checked.
    pub judgements: BTreeMap<String, Judgement>,
    /// Records of the validation runs.
    pub runs: Vec<RunRecord>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// Validates issues. Without a review context no model is available, so only code can refute them.
/// `undecided` has the keys of the issues that a model checks; None means all.
pub async fn validate(
    merged: &MergeResult,
    undecided: Option<&BTreeSet<String>>,
    collected: &ReviewFindings,
    change: &ChangeUnderReview,
    ctx: Option<&ReviewContext>,
) -> ValidationOutcome {
    let mut outcome = ValidationOutcome::default();
    match refute_by_code(&merged.issues, change, ctx).await {
        Ok(judgements) => outcome.judgements = judgements,
        Err(why) => {
            outcome.notes.push(format!("claims were not checked against the code: {why}"));
        }
    }
    for (key, judgement) in second_look::judgements(&merged.issues, &collected.checked) {
        outcome.judgements.entry(key).or_insert(judgement);
    }
    let Some(ctx) = ctx else { return outcome };
    let limit = ctx.options.budget.verify;
    let unchecked: Vec<&Issue> = merged
        .issues
        .iter()
        .filter(|issue| needs_check(issue, &outcome.judgements) && is_new(issue, collected))
        .filter(|issue| undecided.is_none_or(|keys| keys.contains(&issue.dedupe_key)))
        .collect();
    let (to_check, rest) = unchecked.split_at(unchecked.len().min(limit));
    let over_limit = count_urgent(rest);
    if over_limit > 0 {
        outcome.notes.push(format!(
            "{over_limit} P0 or P1 not validated by a second model run: the limit is {limit}"
        ));
    }
    if to_check.is_empty() {
        return outcome;
    }
    if ctx.journal.cancel().is_cancelled() {
        let count = count_urgent(to_check);
        outcome.notes.extend(unchecked_note(count, "the review was stopped"));
        return outcome;
    }
    let batches = Batch::from_issues(to_check, &CodeReader::new(change), &change.diff);
    for batch in batch_runs::check_batches(batches, ctx).await {
        if batch.is_skippable() {
            continue;
        }
        outcome.notes.extend(batch.note);
        outcome.judgements.extend(batch.judgements);
        outcome.runs.push(batch.record);
    }
    outcome
}

impl ValidationOutcome {
    /// Adds a note on the P0 and P1 issues that no model run validated.
    pub(crate) fn note_unchecked(
        &mut self,
        issues: &[Issue],
        collected: &ReviewFindings,
        why: &str,
    ) {
        let is_unchecked =
            |issue: &&Issue| needs_check(issue, &self.judgements) && is_new(issue, collected);
        let unchecked: Vec<&Issue> = issues.iter().filter(is_unchecked).collect();
        self.notes.extend(unchecked_note(count_urgent(&unchecked), why));
    }
}

/// An issue as a claim with its code, as validation runs see it.
pub(crate) fn claim_text(issue: &Issue, change: &ChangeUnderReview) -> String {
    batch::candidate_text(issue, &CodeReader::new(change), &change.diff)
}

/// Judgements on issues that code refutes, by `dedupe_key`. The search runs on its own thread and
/// is abandoned if the review is cancelled. The error says why the search did not finish.
async fn refute_by_code(
    issues: &[Issue],
    change: &ChangeUnderReview,
    ctx: Option<&ReviewContext>,
) -> Result<BTreeMap<String, Judgement>, &'static str> {
    if !refute::has_claims(issues) {
        return Ok(BTreeMap::new());
    }
    let stop = Arc::new(AtomicBool::new(false));
    let (issues, change, stop_flag) = (issues.to_vec(), change.clone(), Arc::clone(&stop));
    let search = task::spawn_blocking(move || {
        refute::refute_claims(&issues, &CodeReader::new(&change), &stop_flag)
    });
    let cancelled = async {
        match ctx {
            Some(ctx) => ctx.journal.cancel().cancelled().await,
            None => future::pending().await,
        }
    };
    let refuted = tokio::select! {
        biased;
        refuted = search => refuted.map_err(|_| "the search crashed (a bug in crh)"),
        () = cancelled => Err("the review was stopped"),
        () = time::sleep(REFUTE_TIMEOUT) => Err("the search timed out"),
    };
    // A search that still runs stops at the next file.
    stop.store(true, Ordering::Relaxed);
    refuted
}

/// Whether a validation run has to check an issue. Issues of static checks and of requirements need
/// no validation. An issue whose earlier check failed is checked again.
fn needs_check(issue: &Issue, judgements: &BTreeMap<String, Judgement>) -> bool {
    let result = judgements.get(&issue.dedupe_key).map(|judgement| judgement.result);
    issue.takes_second_look() && matches!(result, None | Some(JudgementResult::Failed))
}

/// Whether an issue is from this review. Carried-over issues were checked before.
pub(crate) fn is_new(issue: &Issue, collected: &ReviewFindings) -> bool {
    let is_carried =
        |member: &Member| collected.carried_findings.binary_search(&member.finding).is_ok();
    !issue.members.iter().all(is_carried)
}

/// P0 or P1.
fn is_urgent(issue: &Issue) -> bool {
    issue.severity <= Severity::P1
}

fn count_urgent(issues: &[&Issue]) -> usize {
    issues.iter().filter(|issue| is_urgent(issue)).count()
}

/// A note on unchecked P0 and P1 issues. None if there are none.
fn unchecked_note(count: usize, why: &str) -> Option<String> {
    (count > 0).then(|| format!("{count} P0 or P1 not validated: {why}"))
}
