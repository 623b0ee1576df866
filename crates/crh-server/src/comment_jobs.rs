//! Runs commands in comments, and explains why a stranger's pull request waits.
//!
//! A job may run twice, because a worker can die before it stores the end of the job. Each answer
//! has a hidden mark with the id of the comment, and crh answers a comment only once.

use std::path::{Component, Path};

use serde::Deserialize;
use serde_json::json;

use crate::comment_commands::{CommentCommand, HELP};
use crate::forge_access::{CheckNotice, ForgeAccess, ForgeResult, OpenChange};
use crate::forges::ServerForges;
use crate::job::{
    AttemptFailure, Enqueued, JobKey, JobKind, JobOrigin, NewJob, Priority, RetryAdvice,
};
use crate::run_store::load_report;
use crate::store::{NewDismissal, ReviewFilter, StoreError, StoreResult, StoredReview};
use crate::tasks::{CommandTask, ReplyTask};
use crate::webhook::plan::CommentRef;
use crate::worker::{Attempt, CommentJobs};
use crh_forge::posting::ANSWER_MARK;
use crh_review::render::{comment_title, ticket};
use crh_review::report::{Issue, Report};

/// Largest report that crh reads, in bytes.
pub(crate) const REPORT_MAX: u64 = 32 << 20;

/// Answer to a command that was written before the last review ended.
const NEWER: &str = "There is a newer review than when you wrote this. Read its report, and repeat the command with the number of the issue there.";

/// Carries out jobs about comments.
#[derive(Debug, Clone)]
pub struct CommentJobRunner {
    pub(crate) access: ServerForges,
    /// Label that approves a stranger's pull request.
    label: String,
}

impl CommentJobRunner {
    /// A runner that acts as the server's accounts.
    pub fn new(access: impl Into<ServerForges>, label: String) -> Self {
        Self { access: access.into(), label }
    }
}

impl From<StoreError> for AttemptFailure {
    fn from(error: StoreError) -> Self {
        let retry = match &error {
            StoreError::Missing(_) | StoreError::Refused(_) => RetryAdvice::Never,
            StoreError::Unavailable(_)
            | StoreError::StaleLease
            | StoreError::Address(_)
            | StoreError::NewerSchema { .. }
            | StoreError::Content(_) => RetryAdvice::Backoff,
        };
        Self { reason: error.to_string(), retry }
    }
}

impl CommentJobs for CommentJobRunner {
    async fn handle(&self, attempt: &Attempt<'_>) -> Result<(), AttemptFailure> {
        let payload = attempt.job().payload.clone();
        match attempt.job().key.kind {
            JobKind::Command => match read_payload::<CommandTask>(payload)? {
                CommandTask::AwaitMaintainer => self.announce_wait(attempt).await,
                CommandTask::Comment { comment, command } => {
                    self.run_comment(attempt, &comment, command).await
                }
            },
            JobKind::Reply => self.run_reply(attempt, &read_payload::<ReplyTask>(payload)?).await,
            // These are not about comments.
            JobKind::Review | JobKind::Outcomes | JobKind::Reconcile | JobKind::Cleanup => Ok(()),
        }
    }
}

fn read_payload<T: for<'a> Deserialize<'a>>(
    payload: serde_json::Value,
) -> Result<T, AttemptFailure> {
    serde_json::from_value(payload).map_err(|error| AttemptFailure {
        reason: format!("the job cannot be read: {error}"),
        retry: RetryAdvice::Never,
    })
}

impl CommentJobRunner {
    async fn announce_wait(&self, attempt: &Attempt<'_>) -> Result<(), AttemptFailure> {
        let job = attempt.job();
        let notice = CheckNotice {
            title: "Not reviewed: a maintainer must ask for it".to_owned(),
            summary: format!(
                "crh reviews pull requests from forks and of first-time contributors only if a person with write access comments `/crh review`, or adds the label `{}`.",
                self.label
            ),
        };
        let (change, head) = (&job.key.change, &job.key.head);
        Ok(self.access.report_check(job.installation, change, head, &notice).await?)
    }

    async fn run_comment(
        &self,
        attempt: &Attempt<'_>,
        comment: &CommentRef,
        command: Result<CommentCommand, String>,
    ) -> Result<(), AttemptFailure> {
        let job = attempt.job();
        let change = &job.key.change;
        let (forge, repository) = (change.forge.as_str(), change.repository.as_str());
        let author = comment.author.as_str();
        if !self.access.may_write(forge, job.installation, repository, author).await? {
            // Strangers get no answer, so that they cannot make crh write.
            tracing::info!(job = job.id.0, author, "a command without write access is ignored");
            return Ok(());
        }
        let Some(open) = self.access.open_change(job.installation, change).await? else {
            return Ok(());
        };
        let answer = match command {
            Err(problem) => Some(format!("{problem}.\n\n{HELP}")),
            Ok(command) => {
                let answer = self.run_command(attempt, comment, &open, &command).await?;
                record(attempt, author, command.name()).await?;
                answer
            }
        };
        match answer {
            Some(text) => self.answer(attempt, comment, &text).await?,
            None => self.access.approve_comment(change, comment).await?,
        }
        Ok(())
    }

    /// Carries out a command. Returns the answer, or `None` if a reaction is enough.
    async fn run_command(
        &self,
        attempt: &Attempt<'_>,
        comment: &CommentRef,
        open: &OpenChange,
        command: &CommentCommand,
    ) -> Result<Option<String>, AttemptFailure> {
        let (store, change) = (attempt.store, &attempt.job().key.change);
        match command {
            CommentCommand::Review { full: false } => {
                self.add_review(attempt, open, json!({ "since_last": true })).await?;
                Ok(None)
            }
            CommentCommand::Review { full: true } => {
                let payload = json!({ "since_last": false, "full": comment.id });
                Ok(match self.add_review(attempt, open, payload).await? {
                    Enqueued::Added(_) => None,
                    Enqueued::Exists(_) | Enqueued::Outdated | Enqueued::Paused => Some(
                        "A review of this pull request runs already. Ask again when it has ended."
                            .to_owned(),
                    ),
                })
            }
            CommentCommand::Pause => {
                store.pause(change, &comment.author).await?;
                Ok(None)
            }
            CommentCommand::Resume => {
                store.resume(change, &comment.author).await?;
                self.add_review(attempt, open, json!({ "since_last": true })).await?;
                Ok(None)
            }
            CommentCommand::Help => Ok(Some(HELP.to_owned())),
            CommentCommand::Explain { issue } => match find_issue(attempt, *issue).await? {
                Ok((_, report, issue)) => Ok(Some(issue_text(&report, &issue))),
                Err(answer) => Ok(Some(answer)),
            },
            CommentCommand::Fix { issue } => self.fix_issue(attempt, comment, *issue).await,
            CommentCommand::Dismiss { issue, reason } => match find_issue(attempt, *issue).await? {
                Ok((review, _, issue)) => {
                    let (issue_key, who) = (issue.dedupe_key.as_str(), comment.author.as_str());
                    let review = review.id;
                    let dismissal = NewDismissal { change, issue_key, reason, who, review };
                    store.dismiss(&dismissal).await?;
                    let title = comment_title(&issue, None);
                    Ok(Some(format!("Later reviews hide issue {}: {title}", issue.number)))
                }
                Err(answer) => Ok(Some(answer)),
            },
        }
    }

    async fn add_review(
        &self,
        attempt: &Attempt<'_>,
        open: &OpenChange,
        payload: serde_json::Value,
    ) -> Result<Enqueued, AttemptFailure> {
        let job = attempt.job();
        let (change, head) = (job.key.change.clone(), open.head.clone());
        let review = NewJob {
            key: JobKey { change, head, kind: JobKind::Review },
            installation: job.installation,
            priority: Priority::High,
            origin: JobOrigin::Person,
            revision: open.revision,
            payload,
        };
        Ok(attempt.store.enqueue(&review).await?)
    }

    /// Fetches the change at a head into the archive of the job.
    pub(crate) async fn pack_change(
        &self,
        attempt: &Attempt<'_>,
        head: &str,
    ) -> Result<(), AttemptFailure> {
        let prepared = attempt.prepare(&self.access, head, &["--no-skip"]).await?;
        prepared.map(|_| ()).map_err(|end| {
            // The head may have moved: the next attempt reads it again.
            AttemptFailure { retry: RetryAdvice::Backoff, ..end.failure("prepare") }
        })
    }

    /// Answers a comment in the conversation, once.
    pub(crate) async fn answer(
        &self,
        attempt: &Attempt<'_>,
        comment: &CommentRef,
        text: &str,
    ) -> ForgeResult<()> {
        let change = &attempt.job().key.change;
        let mark = answer_mark(comment.id);
        if self.access.has_marked_comment(change, &mark).await? {
            return Ok(());
        }
        let body = format!("{text}\n\n{mark}");
        self.access.comment(change, &body).await
    }
}

/// Hidden mark of the answer to a comment.
pub(crate) fn answer_mark(comment: u64) -> String {
    format!("{ANSWER_MARK}{comment} -->")
}

pub(crate) async fn record(attempt: &Attempt<'_>, who: &str, command: &str) -> StoreResult<()> {
    let (action, change) = (format!("/crh {command}"), &attempt.job().key.change);
    attempt.store.record_action(who, &action, change, "").await
}

/// The last review of the pull request, its report and one of its issues, or an answer that says
/// why crh cannot use this number.
pub(crate) async fn find_issue(
    attempt: &Attempt<'_>,
    number: u32,
) -> Result<Result<(StoredReview, Report, Issue), String>, AttemptFailure> {
    let Some((review, report)) = last_report(attempt).await? else {
        return Ok(Err("There is no review of this pull request yet.".to_owned()));
    };
    // The person saw an earlier report, in which the number can mean another issue.
    if review.ended_at > attempt.job().created_at {
        return Ok(Err(NEWER.to_owned()));
    }
    match report.issue(number).cloned() {
        Some(issue) => Ok(Ok((review, report, issue))),
        None => Ok(Err(format!("The last report has no issue {number}."))),
    }
}

/// The last review of the pull request with its report.
pub(crate) async fn last_report(
    attempt: &Attempt<'_>,
) -> Result<Option<(StoredReview, Report)>, AttemptFailure> {
    let change = &attempt.job().key.change;
    let filter = ReviewFilter::newest_of(change, attempt.job().installation, 1);
    let Some(review) = attempt.store.reviews(&filter).await?.into_iter().next() else {
        return Ok(None);
    };
    let stored = attempt.store.report(review.id).await?;
    let mut report = stored.and_then(|text| serde_json::from_str(&text).ok());
    if report.is_none() {
        let (state, runs) = (&attempt.settings.state, attempt.settings.runs.as_ref());
        report = load_report(state, runs, &review.folder).await;
    }
    match report {
        Some(report) => Ok(Some((review, report))),
        None => {
            // A report that is too large for the database may be on another worker's machine.
            Err(AttemptFailure::retried(format!(
                "the report of review {} is not on this machine",
                review.id
            )))
        }
    }
}

/// Reads the report of a run folder inside the state folder.
pub(crate) fn read_report(state: &Path, folder: &str) -> Option<Report> {
    let folder = Path::new(folder);
    if !folder.components().all(|part| matches!(part, Component::Normal(_))) {
        return None;
    }
    let path = state.join(folder).join("review.json");
    if std::fs::metadata(&path).ok()?.len() > REPORT_MAX {
        return None;
    }
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// An issue as Markdown, with its evidence and its proposed fix.
pub(crate) fn issue_text(report: &Report, issue: &Issue) -> String {
    let title = comment_title(issue, None);
    format!("**Issue {} ({}): {title}**\n\n{}", issue.number, issue.severity, ticket(issue, report))
}

pub(crate) fn fix_text(report: &Report, issue: &Issue) -> String {
    if issue.replacement.is_none() && issue.suggested_fix.is_none() {
        return format!("Issue {} has no fix that crh could propose.", issue.number);
    }
    issue_text(report, issue)
}
