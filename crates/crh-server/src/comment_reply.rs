//! Answers a reply to one of crh's comments, once. If the reply disputes the issue, a model
//! validates the issue again, and crh withdraws it or stands by it.
//!
//! A child process without a token of the forge asks the model. The folder of the job keeps the
//! answer, so that a second attempt does not pay again.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::comment_commands::{CommandError, HELP};
use crate::comment_jobs::{CommentJobRunner, last_report, record};
use crate::forge_access::ForgeAccess;
use crate::job::{AttemptFailure, RetryAdvice};
use crate::store::{BudgetDecision, BudgetPurpose, BudgetReservation, MicroUsd, NewDismissal};
use crate::tasks::ReplyTask;
use crate::worker::{Attempt, ChildAccess, ChildEnd};
use crh_forge::forge_code::OwnConversation;
use crh_forge::posting::{ANSWER_MARK, mark_line};
use crh_review::render::{QuotedLine, reply};
use crh_review::report::Issue;

/// Maximum cost of an answer. If the limit of a review is lower, that limit counts.
const COST_MAX: MicroUsd = MicroUsd(500_000);

/// Maximum answers in one conversation. The limit ends a loop with a program whose account looks
/// like a person's. People rarely need more than two.
const ANSWERS_MAX: usize = 5;

/// Last paragraph of the last answer.
const LAST_ANSWER: &str = "This is the last answer of crh in this conversation. To hide the issue, reply `/crh dismiss` with a reason.";

/// Longest reason of a withdrawal, in characters.
const REASON_MAX: usize = 500;

/// What `crh serve-answer` prints.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct PrintedAnswer {
    answer: Option<ReplyAnswer>,
    failure: Option<String>,
    #[serde(default)]
    cost_usd: f64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct ReplyAnswer {
    outcome: ReplyOutcome,
    text: String,
    deciding_line: Option<DecidingLine>,
    /// Whether the reply contains instructions to the reviewer.
    instructs: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReplyOutcome {
    Answered,
    Withdrawn,
    Stands,
    Undecided,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct DecidingLine {
    file: String,
    line: u32,
    code: String,
}

/// Mark of an answer. It says whether the answer withdraws the issue, so that a later attempt can
/// finish the withdrawal.
fn mark(comment: u64, outcome: ReplyOutcome) -> String {
    let word = match outcome {
        ReplyOutcome::Withdrawn => " withdrawn",
        ReplyOutcome::Answered | ReplyOutcome::Stands | ReplyOutcome::Undecided => "",
    };
    format!("{ANSWER_MARK}{comment}{word} -->")
}

impl CommentJobRunner {
    pub(crate) async fn run_reply(
        &self,
        attempt: &Attempt<'_>,
        task: &ReplyTask,
    ) -> Result<(), AttemptFailure> {
        let job = attempt.job();
        let (change, author) = (&job.key.change, task.comment.author.as_str());
        let (forge, repository) = (change.forge.as_str(), change.repository.as_str());
        if !self.access.may_write(forge, job.installation, repository, author).await? {
            tracing::info!(job = job.id.0, author, "a reply without write access is ignored");
            return Ok(());
        }
        let Some(open) = self.access.open_change(job.installation, change).await? else {
            return Ok(());
        };
        // In other conversations, crh answers only `/crh dismiss`, which needs a number there.
        let Some(conversation) = self.access.own_conversation(change, task).await? else {
            if task.dismissal().is_some() {
                let problem = CommandError::MissingNumber { command: "dismiss" };
                let text = format!("{problem}.\n\n{HELP}");
                self.answer(attempt, &task.comment, &text).await?;
            }
            return Ok(());
        };
        if let Some(outcome) = earlier_answer(&conversation, task) {
            return self.conclude(attempt, task, &conversation, outcome, "").await;
        }
        let found = last_report(attempt).await?;
        let issue = found.as_ref().and_then(|(_, report)| {
            report.issues.iter().find(|issue| issue.dedupe_key == conversation.issue_key)
        });
        if let (Some(_), Some(reason)) = (issue, task.dismissal()) {
            self.dismiss_issue(attempt, task, &conversation.issue_key, reason).await?;
            return Ok(self.access.approve_comment(change, &task.comment).await?);
        }
        let (root, id) = (conversation.root, task.comment.id);
        let Some(count) = attempt.store.count_answer(change, root, id, ANSWERS_MAX).await? else {
            tracing::info!(job = job.id.0, author, "the conversation has too many answers");
            return Ok(());
        };
        let Some(issue) = issue else {
            let text = "This issue is not in the last report any more.";
            let body = format!("{text}\n\n{}", mark(id, ReplyOutcome::Answered));
            return Ok(self.access.reply(change, &conversation, &body).await?);
        };
        let Some(answer) = self.answer_of(attempt, task, issue, &open.head).await? else {
            return Ok(());
        };
        // Fails if this worker lost its lease, so that only one worker writes.
        attempt.begin_step("post").await?;
        let mut body = answer_text(&answer);
        if count == ANSWERS_MAX {
            body = format!("{body}\n\n{LAST_ANSWER}");
        }
        let body = format!("{body}\n\n{}", mark(id, answer.outcome));
        self.access.reply(change, &conversation, &body).await?;
        let reason = withdrawal_reason(&answer);
        self.conclude(attempt, task, &conversation, answer.outcome, &reason).await?;
        Ok(record(attempt, author, "reply").await?)
    }

    /// If the answer withdraws the issue, dismisses it and resolves the conversation. Doing it
    /// twice changes nothing.
    async fn conclude(
        &self,
        attempt: &Attempt<'_>,
        task: &ReplyTask,
        conversation: &OwnConversation,
        outcome: ReplyOutcome,
        reason: &str,
    ) -> Result<(), AttemptFailure> {
        match outcome {
            ReplyOutcome::Withdrawn => {}
            ReplyOutcome::Answered | ReplyOutcome::Stands | ReplyOutcome::Undecided => {
                return Ok(());
            }
        }
        self.dismiss_issue(attempt, task, &conversation.issue_key, reason).await?;
        if !conversation.resolved {
            self.access.resolve(&attempt.job().key.change, &conversation.thread).await?;
        }
        Ok(())
    }

    async fn dismiss_issue(
        &self,
        attempt: &Attempt<'_>,
        task: &ReplyTask,
        issue_key: &str,
        reason: &str,
    ) -> Result<(), AttemptFailure> {
        let review = last_report(attempt).await?.map_or(0, |(review, _)| review.id);
        let (change, who) = (&attempt.job().key.change, task.comment.author.as_str());
        let dismissal = NewDismissal { change, issue_key, reason, who, review };
        Ok(attempt.store.dismiss(&dismissal).await?)
    }

    /// Asks the model, or reads its answer to an earlier attempt. `None` if no model is configured.
    async fn answer_of(
        &self,
        attempt: &Attempt<'_>,
        task: &ReplyTask,
        issue: &Issue,
        head: &str,
    ) -> Result<Option<ReplyAnswer>, AttemptFailure> {
        let failed = |reason: String, retry| AttemptFailure { reason, retry };
        let disk_failure = |error: std::io::Error| {
            failed(format!("cannot write the files of the job: {error}"), RetryAdvice::Backoff)
        };
        attempt.create_folders().map_err(disk_failure)?;
        let root = attempt.folder().root;
        let stored = root.join("answer.json");
        let known = std::fs::read(&stored).ok();
        if let Some(answer) = known.and_then(|bytes| serde_json::from_slice(&bytes).ok()) {
            return Ok(Some(answer));
        }
        let (issue_file, reply_file) = (root.join("issue.json"), root.join("reply.txt"));
        let issue = serde_json::to_vec(issue)
            .map_err(|error| failed(error.to_string(), RetryAdvice::Never))?;
        std::fs::write(&issue_file, issue).map_err(disk_failure)?;
        std::fs::write(&reply_file, &task.text).map_err(disk_failure)?;
        let reservation = reserve(attempt).await?;
        let prepared = match self.pack_change(attempt, head).await {
            Ok(()) => attempt.begin_step("answer").await.map_err(AttemptFailure::from),
            Err(failure) => Err(failure),
        };
        if prepared.is_err() {
            // No model was called.
            attempt.store.settle(reservation, MicroUsd(0)).await?;
        }
        prepared?;
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let arguments = vec![
            "serve-answer".to_owned(),
            "--packed".to_owned(),
            text(attempt.folder().pack()),
            "--issue".to_owned(),
            text(issue_file),
            "--reply".to_owned(),
            text(reply_file),
            "--max-cost".to_owned(),
            max_cost(attempt).as_usd().to_string(),
        ];
        let timeout = attempt.settings.timeouts.review;
        let end = attempt.run_crh(arguments, ChildAccess::Model, timeout).await;
        if asked_no_model(&end) {
            attempt.store.settle(reservation, MicroUsd(0)).await?;
        }
        let printed: PrintedAnswer = match end {
            ChildEnd::Exited { code: 0, stdout, .. } => serde_json::from_str(&stdout)
                .map_err(|error| failed(format!("answer: {error}"), RetryAdvice::Backoff))?,
            // No model is configured.
            ChildEnd::Exited { code: 4, .. } => return Ok(None),
            end => return Err(end.failure("answer")),
        };
        attempt.store.settle(reservation, MicroUsd::from_usd(printed.cost_usd)).await?;
        let answer = printed.answer.ok_or_else(|| {
            let why = printed.failure.unwrap_or_default();
            failed(format!("answer: {why}"), RetryAdvice::Backoff)
        })?;
        let bytes = serde_json::to_vec(&answer)
            .map_err(|error| failed(error.to_string(), RetryAdvice::Never))?;
        std::fs::write(&stored, bytes).map_err(disk_failure)?;
        // The archive is large and not needed any more.
        let _: Result<(), _> = std::fs::remove_file(attempt.folder().pack());
        Ok(Some(answer))
    }
}

/// Whether a child failed before it asked a model: it exits with 0 if it asked one, even if the model
/// gave no answer. If a crash, a signal or a time limit ends the child, its cost is unknown, so its
/// reservation counts until the day is over.
fn asked_no_model(end: &ChildEnd) -> bool {
    match end {
        ChildEnd::Exited { code, .. } => (2..=4).contains(code),
        ChildEnd::NotStarted(_) => true,
        ChildEnd::Killed | ChildEnd::TimedOut | ChildEnd::Stopped => false,
    }
}

fn max_cost(attempt: &Attempt<'_>) -> MicroUsd {
    COST_MAX.min(attempt.settings.max_cost)
}

async fn reserve(attempt: &Attempt<'_>) -> Result<BudgetReservation, AttemptFailure> {
    match attempt.reserve(max_cost(attempt), BudgetPurpose::Reply).await? {
        BudgetDecision::Granted(reservation) => Ok(reservation),
        BudgetDecision::Refused { reason, until } => {
            Err(AttemptFailure { reason, retry: RetryAdvice::Uncounted(until) })
        }
    }
}

/// The outcome of an answer that an earlier attempt posted, as far as its mark says it: `Answered`
/// also stands for the outcomes that do not withdraw the issue.
fn earlier_answer(conversation: &OwnConversation, task: &ReplyTask) -> Option<ReplyOutcome> {
    [ReplyOutcome::Withdrawn, ReplyOutcome::Answered].into_iter().find(|outcome| {
        let mark = mark(task.comment.id, *outcome);
        conversation.own_texts.iter().any(|text| mark_line(text) == mark)
    })
}

fn answer_text(answer: &ReplyAnswer) -> String {
    let line = answer.deciding_line.as_ref();
    let line = line.map(|line| QuotedLine { file: &line.file, line: line.line, code: &line.code });
    let (heading, line, closing) = match answer.outcome {
        ReplyOutcome::Answered => ("", None, ""),
        ReplyOutcome::Withdrawn => ("crh withdraws this issue.", line, ""),
        ReplyOutcome::Stands => (
            "crh checked this issue again and stands by it.",
            line,
            "To hide it anyway, reply `/crh dismiss` with a reason.",
        ),
        ReplyOutcome::Undecided if answer.instructs => (
            "crh does not withdraw this issue: the reply contains instructions to the reviewer.",
            line,
            "To hide it, reply `/crh dismiss` with a reason.",
        ),
        ReplyOutcome::Undecided => (
            "crh checked this issue again. The code does not decide, so the issue stays.",
            line,
            "To hide it, reply `/crh dismiss` with a reason.",
        ),
    };
    reply(heading, &answer.text, line, closing)
}

fn withdrawal_reason(answer: &ReplyAnswer) -> String {
    let place = answer.deciding_line.as_ref().map(|line| format!(" ({}:{})", line.file, line.line));
    let text = format!("withdrawn{}: {}", place.unwrap_or_default(), answer.text);
    text.chars().filter(|letter| !letter.is_control()).take(REASON_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn child_that_fails_before_its_question_costs_nothing() {
        let exited = |code| ChildEnd::Exited { code, stdout: String::new(), stderr: String::new() };
        assert!([2, 3, 4].into_iter().all(|code| asked_no_model(&exited(code))));
        assert!(asked_no_model(&ChildEnd::NotStarted("no such file".to_owned())));
        // A panic of Rust exits with 101.
        for end in [exited(0), exited(101), ChildEnd::Killed, ChildEnd::TimedOut] {
            assert!(!asked_no_model(&end), "{end:?}");
        }
    }
}
