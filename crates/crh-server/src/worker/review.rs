//! The review of a pull request: prepare, review and post as separate processes.

use std::path::{Path, PathBuf};

use super::{
    attempt::{Attempt, ChildAccess},
    child::{ChildEnd, error_line},
    runs::{FinishedRun, StoredRun, failed_run_reason, find_run},
};
use crate::{
    forge_access::{CheckNotice, ForgeAccess, ForgeFailure},
    job::{AttemptFailure, Enqueued, JobOrigin, NewJob, Priority},
    queue::may_start_review,
    store::{
        BudgetDecision, BudgetPurpose, BudgetReservation, Deferral, LeaseEnd, MicroUsd, NewReview,
        Store, StoreError, StoreResult,
    },
};

/// Largest report in the database, in bytes. A report with fifty issues has about 200 kB.
const STORED_REPORT_MAX: u64 = 4 << 20;

/// Longest settings file that the page shows, in characters.
const SETTINGS_MAX: usize = 20_000;

/// Why a review did not reach its end.
#[derive(Debug)]
enum Interruption {
    /// The stop signal is set.
    Stopped,
    /// The attempt ends like this.
    End(LeaseEnd),
    /// The forge has another head now, or the pull request is closed.
    Outdated,
    /// The database failed.
    Store(StoreError),
}

impl From<StoreError> for Interruption {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<AttemptFailure> for Interruption {
    fn from(failure: AttemptFailure) -> Self {
        Self::End(LeaseEnd::Failed(failure))
    }
}

impl From<ForgeFailure> for Interruption {
    fn from(failure: ForgeFailure) -> Self {
        AttemptFailure::from(failure).into()
    }
}

/// Runs a review job and returns how the attempt ended.
pub(super) async fn run_review(
    attempt: &Attempt<'_>,
    forge: &impl ForgeAccess,
) -> StoreResult<LeaseEnd> {
    match review(attempt, forge).await {
        Ok(review) => Ok(LeaseEnd::Done(Some(review))),
        Err(Interruption::End(end)) => Ok(end),
        Err(Interruption::Store(error)) => Err(error),
        Err(Interruption::Outdated) => follow_head(attempt, forge).await,
        Err(Interruption::Stopped) => Ok(attempt.stopped_end()),
    }
}

async fn review(
    attempt: &Attempt<'_>,
    forge: &impl ForgeAccess,
) -> Result<NewReview, Interruption> {
    let started_at = attempt.store.now();
    attempt.create_folders().map_err(|error| {
        AttemptFailure::retried(format!("cannot create the folders of the job: {error}"))
    })?;
    forget_earlier_result(attempt)
        .map_err(|error| AttemptFailure::retried(format!("cannot begin a full review: {error}")))?;
    // An earlier attempt on this machine may have finished the review and failed to post it.
    let run = match find_run(&attempt.folder()) {
        Some(StoredRun::Finished(run)) => run,
        unfinished => {
            let reservation = reserve(attempt, forge).await?;
            let interrupted = match unfinished {
                Some(StoredRun::Unfinished(folder)) => Some(folder),
                Some(StoredRun::Finished(_)) | None => None,
            };
            let prepared = prepare(attempt, forge).await;
            if prepared.is_err() {
                attempt.store.settle(reservation, MicroUsd(0)).await?;
            }
            prepared?;
            ask_models(attempt, interrupted, reservation).await?
        }
    };
    post(attempt, forge, &run).await?;
    // The archive is large and not needed any more.
    let _: Result<(), _> = std::fs::remove_file(attempt.folder().pack());
    let change = &attempt.job().key.change;
    let issues_fixed = attempt.store.replace_issues(change, &run.issue_keys).await?;
    let folder = run.folder.strip_prefix(&attempt.settings.state).unwrap_or(&run.folder);
    Ok(NewReview {
        verdict: run.verdict,
        issues_shown: run.issues,
        issues_fixed,
        cost: run.cost,
        tokens: run.tokens,
        started_at,
        folder: folder.to_string_lossy().into_owned(),
        worker: attempt.settings.name.clone(),
        posted: true,
        report: read_report_text(&run.folder),
    })
}

/// If a new `/crh review full` started the job, deletes the archive and unposted runs of earlier
/// requests.
fn forget_earlier_result(attempt: &Attempt<'_>) -> std::io::Result<()> {
    let Some(request) = attempt.job().payload["full"].as_u64().map(|id| id.to_string()) else {
        return Ok(());
    };
    let folder = attempt.folder();
    if std::fs::read_to_string(folder.full_request()).is_ok_and(|known| known == request) {
        return Ok(());
    }
    for file in [folder.pack(), folder.unfinished_pack()] {
        match std::fs::remove_file(file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    while let Some(run) = find_run(&folder) {
        std::fs::remove_dir_all(run.folder())?;
    }
    std::fs::write(folder.full_request(), request)
}

/// The report of a run as text, unless it is too large for the database.
fn read_report_text(run: &Path) -> Option<String> {
    let path = run.join("review.json");
    let size = std::fs::metadata(&path).ok()?.len();
    if size > STORED_REPORT_MAX { None } else { std::fs::read_to_string(path).ok() }
}

/// Reserves the highest cost of the review. If a limit is reached, defers the job and reports why
/// at the forge.
async fn reserve(
    attempt: &Attempt<'_>,
    forge: &impl ForgeAccess,
) -> Result<BudgetReservation, Interruption> {
    let job = attempt.job();
    match attempt.reserve(attempt.settings.max_cost, BudgetPurpose::Review).await? {
        BudgetDecision::Granted(reservation) => Ok(reservation),
        BudgetDecision::Refused { reason, until } => {
            let notice = CheckNotice {
                title: "Not reviewed: a limit is reached".to_owned(),
                summary: format!("crh reviews this commit later: {reason}."),
            };
            let (change, head) = (&job.key.change, &job.key.head);
            if let Err(error) = forge.report_check(job.installation, change, head, &notice).await {
                tracing::warn!(job = job.id.0, %error, "cannot report the limit");
            }
            Err(Interruption::End(LeaseEnd::Deferred(Deferral { until, reason })))
        }
    }
}

async fn prepare(attempt: &Attempt<'_>, forge: &impl ForgeAccess) -> Result<(), Interruption> {
    if attempt.folder().pack().exists() {
        return Ok(());
    }
    let job = attempt.job();
    let change = &job.key.change;
    let mut flags = Vec::new();
    match job.origin {
        JobOrigin::Person => flags.push("--no-skip"),
        JobOrigin::Automatic => {}
    }
    if job.payload["since_last"] == true {
        flags.push("--since-last");
    }
    match attempt.prepare(forge, &job.key.head, &flags).await? {
        Ok(stdout) => {
            let settings = base_settings(&stdout);
            attempt.store.save_settings(&change.forge, &change.repository, &settings).await?;
            Ok(())
        }
        Err(ChildEnd::Exited { code: 4, stderr, .. }) => {
            Err(Interruption::End(LeaseEnd::Skipped(error_line(&stderr, "skipped by a setting"))))
        }
        Err(end) => Err(failed_step(attempt, forge, "prepare", end).await),
    }
}

/// The settings file of the base branch, from the output of `crh prepare`. Empty if there is none.
fn base_settings(stdout: &str) -> String {
    let summary: serde_json::Value = serde_json::from_str(stdout).unwrap_or_default();
    summary["settings"].as_str().unwrap_or_default().chars().take(SETTINGS_MAX).collect()
}

/// Writes the dismissed issues of the repository for `crh review`.
async fn write_dismissals(attempt: &Attempt<'_>) -> Result<PathBuf, Interruption> {
    let change = &attempt.job().key.change;
    let dismissals = attempt.store.dismissals(&change.forge, &change.repository).await?;
    let file = attempt.folder().dismissals();
    std::fs::write(&file, serde_json::json!(dismissals).to_string()).map_err(|error| {
        AttemptFailure::retried(format!("cannot write the dismissed issues: {error}"))
    })?;
    Ok(file)
}

/// Runs `crh review`, or resumes the run that an earlier attempt began.
async fn ask_models(
    attempt: &Attempt<'_>,
    interrupted: Option<PathBuf>,
    reservation: BudgetReservation,
) -> Result<FinishedRun, Interruption> {
    attempt.begin_step("review").await?;
    let folder = attempt.folder();
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    let mut arguments = vec!["review".to_owned(), "--packed".to_owned(), text(folder.pack())];
    let is_resumed = interrupted.is_some();
    match interrupted {
        Some(run) => arguments.extend(["--resume".to_owned(), text(run)]),
        None => {
            let dismissals = write_dismissals(attempt).await?;
            arguments.extend(["--dismissals".to_owned(), text(dismissals)]);
        }
    }
    arguments.extend(["--run-dir".to_owned(), text(folder.runs())]);
    arguments.extend(["--max-cost".to_owned(), attempt.settings.max_cost.as_usd().to_string()]);
    arguments.extend(
        ["--fail-on", "never", "--allow-incomplete", "--quiet", "--color", "never"]
            .map(str::to_owned),
    );
    arguments.extend(attempt.settings.review_arguments.iter().cloned());
    let timeout = attempt.settings.timeouts.review;
    let end = attempt.run_crh(arguments, ChildAccess::Model, timeout).await;
    let run = find_run(&folder);
    // Without a stored cost, the whole reservation stays counted until the run is resumed, or its
    // day is over.
    match run.as_ref().and_then(StoredRun::cost) {
        Some(cost) if is_resumed => {
            attempt.store.settle_resumed(attempt.job().id, reservation, cost).await?;
        }
        Some(cost) => attempt.store.settle(reservation, cost).await?,
        None => {}
    }
    match (end, run) {
        (ChildEnd::Exited { code: 0, .. }, Some(StoredRun::Finished(run))) => Ok(run),
        (ChildEnd::Exited { code: 0, .. }, _) => {
            Err(AttemptFailure::retried("review: crh stored no report").into())
        }
        // The report of a review that failed as a whole has the reason.
        (ChildEnd::Exited { code, stdout, stderr }, _) if stderr.trim().is_empty() => {
            let stderr = failed_run_reason(&folder).unwrap_or_default();
            Err(step_failure("review", ChildEnd::Exited { code, stdout, stderr }))
        }
        (end, _) => Err(step_failure("review", end)),
    }
}

async fn post(
    attempt: &Attempt<'_>,
    forge: &impl ForgeAccess,
    run: &FinishedRun,
) -> Result<(), Interruption> {
    // Fails if this worker lost its lease, so that only one worker writes.
    attempt.begin_step("post").await?;
    if attempt.stop.reason().is_some() {
        return Err(Interruption::Stopped);
    }
    let job = attempt.job();
    let change = &job.key.change;
    let token = forge.token(&change.forge, job.installation, &change.repository).await?;
    let mut arguments = vec![
        "post".to_owned(),
        run.folder.to_string_lossy().into_owned(),
        "--head".to_owned(),
        job.key.head.clone(),
        "--quiet".to_owned(),
    ];
    arguments.extend(attempt.settings.change_arguments(change).post);
    arguments.extend(attempt.settings.post_arguments.iter().cloned());
    let timeout = attempt.settings.timeouts.post;
    match attempt.run_crh(arguments, ChildAccess::Forge(token), timeout).await {
        ChildEnd::Exited { code: 0, .. } => {
            record_post(attempt.store, attempt).await?;
            Ok(())
        }
        end => Err(failed_step(attempt, forge, "post", end).await),
    }
}

async fn record_post(store: &Store, attempt: &Attempt<'_>) -> StoreResult<()> {
    let (who, key) = (&attempt.settings.name, &attempt.job().key);
    let detail = format!("review of {}", key.head);
    store.record_action(who, "post", &key.change, &detail).await
}

/// Why a step that uses the forge failed. The head may have moved meanwhile.
async fn failed_step(
    attempt: &Attempt<'_>,
    forge: &impl ForgeAccess,
    step: &str,
    end: ChildEnd,
) -> Interruption {
    let job = attempt.job();
    let failure = step_failure(step, end);
    if matches!(failure, Interruption::Stopped) {
        return failure;
    }
    match forge.open_change(job.installation, &job.key.change).await {
        Ok(Some(open)) if open.head == job.key.head => failure,
        Ok(_) => Interruption::Outdated,
        Err(error @ (ForgeFailure::Gone(_) | ForgeFailure::RateLimited { .. })) => error.into(),
        Err(ForgeFailure::Unavailable(_) | ForgeFailure::Denied(_)) => failure,
    }
}

fn step_failure(step: &str, end: ChildEnd) -> Interruption {
    match end {
        ChildEnd::Stopped => Interruption::Stopped,
        end => end.failure(step).into(),
    }
}

/// Ends a review of a head that is not current any more, and adds one of the current head.
async fn follow_head(attempt: &Attempt<'_>, forge: &impl ForgeAccess) -> StoreResult<LeaseEnd> {
    let job = attempt.job();
    match forge.open_change(job.installation, &job.key.change).await {
        Ok(Some(open)) if open.draft => {
            Ok(LeaseEnd::Skipped("the pull request is a draft".to_owned()))
        }
        // An approval holds for the head that a maintainer saw.
        Ok(Some(open))
            if !may_start_review(open.authorship, open.labelled, attempt.settings.strangers) =>
        {
            Ok(LeaseEnd::Skipped(format!("head {} waits for a maintainer", open.head)))
        }
        Ok(Some(open)) => {
            let mut key = job.key.clone();
            key.head.clone_from(&open.head);
            let added = attempt
                .store
                .enqueue(&NewJob {
                    key,
                    installation: job.installation,
                    priority: Priority::Normal,
                    origin: JobOrigin::Automatic,
                    revision: open.revision.max(job.revision),
                    payload: job.payload.clone(),
                })
                .await?;
            Ok(match added {
                // Adding the newer head asked this job to stop.
                Enqueued::Added(_) | Enqueued::Exists(_) => LeaseEnd::Stopped,
                Enqueued::Outdated => LeaseEnd::Skipped("a newer head is reviewed".to_owned()),
                Enqueued::Paused => LeaseEnd::Skipped("the pull request is paused".to_owned()),
            })
        }
        Ok(None) => Ok(LeaseEnd::Skipped("the pull request is closed".to_owned())),
        Err(failure) => Ok(LeaseEnd::Failed(failure.into())),
    }
}
