//! Validate: claims that code can refute are refuted, the rest is looked at by a fresh run.
//!
//! Invariant: an issue is only ever lost to a reason, given by code that found the contrary or by a run that answered. What
//! could not be asked about stays as it is.

mod answer;
mod batch;
mod claim;
pub(crate) mod excerpt;
mod refute;
mod second_look;
#[path = "validate/batch_runs.rs"]
mod session;

use std::collections::BTreeMap;
use std::future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::{task, time};

use self::batch::Batch;
use crate::code::Code;
use crate::collect::Collected;
use crate::office::Office;
use crate::runs::RunRecord;
use crate::subject::Subject;
use crh_review::finding::{Member, Severity};
use crh_review::report::{Issue, Validation};
use crh_review::{Judged, Judgement, Merged};

/// How long the search may take by which claims are refuted. The largest trees take some seconds; what it does not get
/// to is left to the run that checks.
const REFUTING: Duration = Duration::from_secs(30);

/// What the check of the issues said.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Validated {
    /// By `dedupe_key`. An issue that is not among them was not asked about.
    pub judgements: BTreeMap<String, Judgement>,
    /// The runs that were made for it.
    pub runs: Vec<RunRecord>,
    /// What the reader should know about it.
    pub notes: Vec<String>,
}

/// Looks at issues again. Without an office only what code can refute is refuted.
pub async fn validate(
    merged: &Merged,
    collected: &Collected,
    subject: &Subject,
    office: Option<&Office>,
) -> Validated {
    let mut validated = Validated::default();
    match refuted(&merged.issues, subject, office).await {
        Ok(judgements) => validated.judgements = judgements,
        Err(why) => validated.notes.push(format!("claims were not looked up in the code: {why}")),
    }
    for (key, judgement) in second_look::judgements(&merged.issues, &collected.checked) {
        validated.judgements.entry(key).or_insert(judgement);
    }
    let Some(office) = office else { return validated };
    let open: Vec<&Issue> =
        merged.issues.iter().filter(|issue| is_open(issue, &validated.judgements)).collect();
    let open: Vec<&Issue> = open.into_iter().filter(|issue| is_new(issue, collected)).collect();
    let (asked, rest) = open.split_at(open.len().min(office.terms.allowance.verify));
    let over = urgent(rest);
    if over > 0 {
        let most = office.terms.allowance.verify;
        validated.notes.push(format!("{over} P0 or P1 not checked: at most {most} are"));
    }
    if asked.is_empty() {
        return validated;
    }
    if office.journal.cancel().is_cancelled() {
        let count = urgent(asked);
        validated.notes.extend(unchecked(count, "the review was stopped"));
        return validated;
    }
    let batches = Batch::all(asked, &Code::of(subject), &subject.diff);
    for outcome in session::outcomes(batches, office).await {
        if outcome.is_needless() {
            continue;
        }
        validated.notes.extend(outcome.note);
        validated.judgements.extend(outcome.judgements);
        validated.runs.push(outcome.record);
    }
    validated
}

/// What code refutes, looked up on a thread of its own: a large tree takes a while to search, and nobody waits for that once
/// the review is stopped. Or why there was no looking up; then nothing is refuted.
async fn refuted(
    issues: &[Issue],
    subject: &Subject,
    office: Option<&Office>,
) -> Result<BTreeMap<String, Judgement>, &'static str> {
    if !refute::has_claims(issues) {
        return Ok(BTreeMap::new());
    }
    let stop = Arc::new(AtomicBool::new(false));
    let (issues, subject, stopped) = (issues.to_vec(), subject.clone(), Arc::clone(&stop));
    let search =
        task::spawn_blocking(move || refute::refuted(&issues, &Code::of(&subject), &stopped));
    let cancelled = async {
        match office {
            Some(office) => office.journal.cancel().cancelled().await,
            None => future::pending().await,
        }
    };
    let refuted = tokio::select! {
        biased;
        refuted = search => refuted.map_err(|_| "the search broke down, which is a bug in crh"),
        () = cancelled => Err("the review was stopped"),
        () = time::sleep(REFUTING) => Err("the search took too long"),
    };
    // Whoever still searches ends at the next file.
    stop.store(true, Ordering::Relaxed);
    refuted
}

/// Whether an issue still has to be looked at. What a program found is not asked about; a second look that failed is made
/// up for.
fn is_open(issue: &Issue, judgements: &BTreeMap<String, Judgement>) -> bool {
    let is_asked_about = match issue.validation {
        Validation::ByCode => false,
        Validation::NotRun | Validation::Confirmed | Validation::Unsure | Validation::Degraded => {
            true
        }
    };
    let said = judgements.get(&issue.dedupe_key).map(|judgement| judgement.result);
    is_asked_about && matches!(said, None | Some(Judged::Failed))
}

/// Whether an issue is one of this review. What comes from the last one was looked at then.
fn is_new(issue: &Issue, collected: &Collected) -> bool {
    let is_carried = |member: &Member| collected.carried.binary_search(&member.finding).is_ok();
    !issue.members.iter().all(is_carried)
}

/// Whether an issue is one that must not be lost.
fn is_urgent(issue: &Issue) -> bool {
    issue.severity <= Severity::P1
}

fn urgent(issues: &[&Issue]) -> usize {
    issues.iter().filter(|issue| is_urgent(issue)).count()
}

/// The note about urgent issues that nobody looked at; none if there is no such issue.
fn unchecked(count: usize, why: &str) -> Option<String> {
    (count > 0).then(|| format!("{count} P0 or P1 not checked: {why}"))
}
