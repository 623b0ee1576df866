//! Reconciliation: lists open pull requests and adds the reviews and outcomes that a missed webhook
//! would have added.

use std::collections::BTreeSet;

use super::attempt::Attempt;
use crate::{
    forge_access::{ForgeAccess, ForgeFailure, OpenChange},
    job::{ChangeId, Enqueued, JobKey, JobKind, JobOrigin, NewJob, Priority},
    queue::may_start_review,
    store::{Installation, LeaseEnd, StoreResult},
};

/// Time between two reconciliations of a repository.
pub(super) const INTERVAL_MS: i64 = 60 * 60_000;

/// Maximum outcomes jobs that one reconciliation adds. Each job needs several requests to the
/// forge. The next reconciliation adds more.
const OUTCOMES_MAX: usize = 100;

/// The job that reconciles a repository in the current period of [`INTERVAL_MS`]. All workers make
/// the same key, so it runs once.
pub(super) fn reconcile_job(installation: &Installation, repository: &str, now_ms: i64) -> NewJob {
    NewJob {
        key: JobKey {
            change: ChangeId {
                forge: installation.forge.clone(),
                repository: repository.to_owned(),
                number: String::new(),
            },
            head: (now_ms / INTERVAL_MS).to_string(),
            kind: JobKind::Reconcile,
        },
        installation: installation.id,
        priority: Priority::Low,
        origin: JobOrigin::Automatic,
        revision: now_ms,
        payload: serde_json::Value::Null,
    }
}

/// Adds missing reviews and outcomes of a repository.
pub(super) async fn run_reconcile(
    attempt: &Attempt<'_>,
    forge: &impl ForgeAccess,
) -> StoreResult<LeaseEnd> {
    let job = attempt.job();
    let ChangeId { forge: host, repository, .. } = &job.key.change;
    let open = match forge.open_changes(host, job.installation, repository).await {
        Ok(open) => open,
        // The next webhook about the installation removes the repository from the list.
        Err(error @ ForgeFailure::Gone(_)) => return Ok(LeaseEnd::Skipped(error.to_string())),
        Err(error) => return Ok(LeaseEnd::Failed(error.into())),
    };
    let numbers: BTreeSet<String> = open.iter().map(|open| open.change.number.clone()).collect();
    let mut added = 0_u32;
    for change in open {
        if change.draft
            || !may_start_review(change.authorship, change.labelled, attempt.settings.strangers)
        {
            continue;
        }
        let result = attempt.store.enqueue(&missing_review(attempt, change)).await?;
        added += u32::from(matches!(result, Enqueued::Added(_)));
    }
    let all = "";
    let reviewed = attempt.store.undecided_pulls(host, repository, all).await?.into_iter();
    let closed = reviewed.filter(|pull| !numbers.contains(&pull.change.number));
    for pull in closed.take(OUTCOMES_MAX) {
        let new = NewJob::outcomes(pull, job.installation, attempt.store.now());
        let result = attempt.store.enqueue(&new).await?;
        added += u32::from(matches!(result, Enqueued::Added(_)));
    }
    tracing::info!(repository, added, "reconciled");
    Ok(LeaseEnd::Done(None))
}

fn missing_review(attempt: &Attempt<'_>, open: OpenChange) -> NewJob {
    NewJob {
        key: JobKey { change: open.change, head: open.head, kind: JobKind::Review },
        installation: attempt.job().installation,
        priority: Priority::Low,
        origin: JobOrigin::Automatic,
        revision: open.revision,
        payload: serde_json::Value::Null,
    }
}
