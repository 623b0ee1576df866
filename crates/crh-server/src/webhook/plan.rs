//! Decides what to do about a webhook delivery of GitHub: a pure function from the event to a plan.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::admission::{Admission, PullRequestFacts, admit};
use super::payload::{
    AccountPayload, CommentPayload, EventPayload, PullRequestPayload, RepositoryPayload,
};
use crate::comment_commands::{CommandError, CommentCommand};
use crate::forge_time::parse_forge_time;
use crate::queue::StrangerPolicy;
use crate::tasks::ReplyTask;
use crh_forge::github::Repo;

/// Most repositories that one delivery may add. GitHub sends at most some hundreds.
const REPOSITORIES_MAX: usize = 10_000;

/// Longest reply that crh keeps, in characters.
const REPLY_MAX: usize = 16_000;

/// What crh does about a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebhookPlan {
    /// Review a head.
    Review(PlannedReview),
    /// A stranger's pull request: say that a maintainer must ask for the review.
    AwaitMaintainer(PlannedReview),
    /// The pull request was closed or made a draft: stop its reviews, and decide its outcomes.
    Stop(ChangeName),
    /// A person wrote a command.
    Command(PlannedCommand),
    /// A person replied on a line, perhaps to crh.
    Reply(PlannedReply),
    /// The App was installed or unsuspended, or got more repositories or permissions.
    Install(PlannedInstallation),
    /// The App lost access to repositories.
    RemoveRepositories(PlannedInstallation),
    /// The App was suspended. Its jobs stop, and its data stays.
    Suspend(PlannedInstallation),
    /// The App was uninstalled.
    Uninstall {
        /// Its id.
        installation: i64,
    },
    /// Nothing to do.
    Ignore(IgnoreReason),
}

/// Why a delivery leads to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IgnoreReason {
    /// An event or action that crh does not use.
    OtherEvent,
    /// Closed, or a draft.
    NotReady,
    /// A label with another name.
    OtherLabel,
    /// A bot added the label or wrote the comment.
    Bot,
    /// A comment that is not for crh.
    OtherComment,
}

impl IgnoreReason {
    /// Words for logs and for the answer to the delivery.
    pub fn word(self) -> &'static str {
        match self {
            Self::OtherEvent => "other event",
            Self::NotReady => "closed or draft",
            Self::OtherLabel => "other label",
            Self::Bot => "written by a bot",
            Self::OtherComment => "comment is not for crh",
        }
    }
}

/// A pull request of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeName {
    /// The installation of the App.
    pub installation: i64,
    /// `owner/name`.
    pub repository: String,
    /// Number of the pull request.
    pub number: u64,
}

/// A head to review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedReview {
    /// The pull request.
    pub change: ChangeName,
    /// Head commit.
    pub head: String,
    /// Whether the repository is private.
    pub private: bool,
    /// The forge's time of the last update, in milliseconds; `None` if the payload has none.
    pub revision: Option<i64>,
}

/// A command of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedCommand {
    /// The pull request.
    pub change: ChangeName,
    /// The comment.
    pub comment: CommentRef,
    /// The command, or what is wrong with it.
    pub command: Result<CommentCommand, String>,
}

/// A reply of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedReply {
    /// The pull request.
    pub change: ChangeName,
    /// Payload of the job.
    pub task: ReplyTask,
}

/// A comment and its author.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommentRef {
    /// Id.
    pub id: u64,
    /// Login of the author.
    pub author: String,
    /// Where the comment is.
    pub place: CommentPlace,
}

/// Where a comment is. The two kinds have separate ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CommentPlace {
    /// In the conversation.
    Conversation,
    /// On a line.
    Line,
}

/// An installation and some of its repositories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedInstallation {
    /// Its id.
    pub installation: i64,
    /// Account that installed the App.
    pub account: String,
    /// `owner/name`, and whether it is private.
    pub repositories: Vec<(String, bool)>,
}

/// Why a delivery cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PayloadError {
    /// Not JSON, or a field has another type.
    #[error("the payload is not a valid `{event}` event: {message}")]
    Invalid {
        /// Name of the event.
        event: String,
        /// What is wrong.
        message: String,
    },
    /// A field is missing, or its value is invalid.
    #[error("the payload has no `{0}`")]
    Missing(&'static str),
    /// The delivery comes from a repository webhook, not from the App.
    #[error(
        "the payload has no `installation`: send deliveries from the GitHub App, not from a repository's webhook"
    )]
    NoInstallation,
}

/// Settings that decide about deliveries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookRules {
    /// What crh does with pull requests of strangers.
    pub strangers: StrangerPolicy,
    /// The label that asks for a review.
    pub label: String,
}

/// Decides what a delivery means. `event` is the header `X-GitHub-Event`.
pub fn plan_delivery(
    event: &str,
    body: &[u8],
    rules: &WebhookRules,
) -> Result<WebhookPlan, PayloadError> {
    if !EVENTS.contains(&event) {
        return Ok(WebhookPlan::Ignore(IgnoreReason::OtherEvent));
    }
    let payload: EventPayload = serde_json::from_slice(body).map_err(|error| {
        PayloadError::Invalid { event: event.to_owned(), message: error.to_string() }
    })?;
    match event {
        "pull_request" => plan_pull_request(payload, rules),
        "issue_comment" => plan_comment(payload),
        "pull_request_review_comment" => plan_line_comment(payload),
        "installation" => plan_installation(payload),
        _ => plan_repositories(payload),
    }
}

/// Events that crh uses.
const EVENTS: [&str; 5] = [
    "pull_request",
    "issue_comment",
    "pull_request_review_comment",
    "installation",
    "installation_repositories",
];

fn plan_pull_request(
    payload: EventPayload,
    rules: &WebhookRules,
) -> Result<WebhookPlan, PayloadError> {
    let action = payload.action.as_str();
    let used = ["opened", "synchronize", "reopened", "ready_for_review", "labeled"];
    let stops = ["closed", "converted_to_draft"];
    if !used.contains(&action) && !stops.contains(&action) {
        return Ok(WebhookPlan::Ignore(IgnoreReason::OtherEvent));
    }
    let pull = payload.pull_request.as_ref().ok_or(PayloadError::Missing("pull_request"))?;
    let change = change_name(&payload, pull.number)?;
    if stops.contains(&action) {
        return Ok(WebhookPlan::Stop(change));
    }
    let repository = repository(&payload)?;
    let review = PlannedReview {
        head: commit_id(&pull.head.sha)?.to_owned(),
        private: repository.private,
        revision: parse_forge_time(&pull.updated_at).map(|time| time.0),
        change,
    };
    let facts = pull_request_facts(pull, &repository.full_name);
    if action == "labeled" {
        let label = payload.label.as_ref().ok_or(PayloadError::Missing("label"))?;
        let by_bot = payload.sender.as_ref().is_none_or(AccountPayload::is_bot);
        return Ok(match admit(&facts, true, rules.strangers) {
            _ if !label.name.eq_ignore_ascii_case(&rules.label) => {
                WebhookPlan::Ignore(IgnoreReason::OtherLabel)
            }
            // A labelling bot may label every pull request, also those of strangers.
            _ if by_bot => WebhookPlan::Ignore(IgnoreReason::Bot),
            // GitHub lets only people with triage access add a label.
            Admission::Review | Admission::Stranger => WebhookPlan::Review(review),
            Admission::NotReady => WebhookPlan::Ignore(IgnoreReason::NotReady),
        });
    }
    Ok(match admit(&facts, false, rules.strangers) {
        Admission::Review => WebhookPlan::Review(review),
        Admission::Stranger => WebhookPlan::AwaitMaintainer(review),
        Admission::NotReady => WebhookPlan::Ignore(IgnoreReason::NotReady),
    })
}

fn pull_request_facts(pull: &PullRequestPayload, repository: &str) -> PullRequestFacts {
    let head_repository = pull.head.repo.as_ref().map(|repo| repo.full_name.as_str());
    PullRequestFacts {
        open: pull.state == "open",
        draft: pull.draft,
        from_fork: !head_repository.is_some_and(|name| name.eq_ignore_ascii_case(repository)),
        author_association: pull.author_association.clone(),
    }
}

fn plan_comment(payload: EventPayload) -> Result<WebhookPlan, PayloadError> {
    let issue = payload.issue.as_ref().ok_or(PayloadError::Missing("issue"))?;
    let comment = payload.comment.as_ref().ok_or(PayloadError::Missing("comment"))?;
    if payload.action != "created" || issue.pull_request.is_none() || issue.state != "open" {
        return Ok(WebhookPlan::Ignore(IgnoreReason::OtherComment));
    }
    let Some(author) = person(comment) else {
        return Ok(WebhookPlan::Ignore(IgnoreReason::Bot));
    };
    let Some(command) = CommentCommand::parse(comment.body.as_deref().unwrap_or_default()) else {
        return Ok(WebhookPlan::Ignore(IgnoreReason::OtherComment));
    };
    Ok(WebhookPlan::Command(PlannedCommand {
        change: change_name(&payload, issue.number)?,
        comment: CommentRef { id: comment.id, author, place: CommentPlace::Conversation },
        command: command.map_err(|error| error.to_string()),
    }))
}

fn plan_line_comment(payload: EventPayload) -> Result<WebhookPlan, PayloadError> {
    let pull = payload.pull_request.as_ref().ok_or(PayloadError::Missing("pull_request"))?;
    let comment = payload.comment.as_ref().ok_or(PayloadError::Missing("comment"))?;
    if payload.action != "created" || pull.state != "open" {
        return Ok(WebhookPlan::Ignore(IgnoreReason::OtherComment));
    }
    let Some(author) = person(comment) else {
        return Ok(WebhookPlan::Ignore(IgnoreReason::Bot));
    };
    let body = comment.body.as_deref().unwrap_or_default();
    let reference = CommentRef { id: comment.id, author, place: CommentPlace::Line };
    let change = change_name(&payload, pull.number)?;
    let reply = comment.in_reply_to_id.map(|root| (root, body));
    Ok(plan_text(change, reference, CommentCommand::parse(body), reply))
}

/// What a comment of a person means. If the comment may be a reply, `reply` has the root for
/// [`ReplyTask`], and the comment's text.
pub(crate) fn plan_text(
    change: ChangeName,
    comment: CommentRef,
    command: Option<Result<CommentCommand, CommandError>>,
    reply: Option<(u64, &str)>,
) -> WebhookPlan {
    match (command, reply) {
        // In a conversation, `/crh dismiss` needs no number.
        (
            None | Some(Err(CommandError::MissingNumber { command: "dismiss" })),
            Some((root, body)),
        ) => {
            let text = body.chars().take(REPLY_MAX).collect();
            WebhookPlan::Reply(PlannedReply { change, task: ReplyTask { comment, root, text } })
        }
        (None, None) => WebhookPlan::Ignore(IgnoreReason::OtherComment),
        (Some(command), _) => {
            let command = command.map_err(|error| error.to_string());
            WebhookPlan::Command(PlannedCommand { change, comment, command })
        }
    }
}

fn plan_installation(payload: EventPayload) -> Result<WebhookPlan, PayloadError> {
    let installation = payload.installation.as_ref().ok_or(PayloadError::NoInstallation)?.id;
    match payload.action.as_str() {
        "created" | "unsuspend" | "new_permissions_accepted" => {
            let repositories = payload.repositories.clone();
            Ok(WebhookPlan::Install(planned_installation(&payload, repositories)?))
        }
        "suspend" => Ok(WebhookPlan::Suspend(planned_installation(&payload, Vec::new())?)),
        "deleted" => Ok(WebhookPlan::Uninstall { installation }),
        _ => Ok(WebhookPlan::Ignore(IgnoreReason::OtherEvent)),
    }
}

fn plan_repositories(payload: EventPayload) -> Result<WebhookPlan, PayloadError> {
    match payload.action.as_str() {
        "added" => {
            let added = payload.repositories_added.clone();
            Ok(WebhookPlan::Install(planned_installation(&payload, added)?))
        }
        "removed" => {
            let removed = payload.repositories_removed.clone();
            Ok(WebhookPlan::RemoveRepositories(planned_installation(&payload, removed)?))
        }
        _ => Ok(WebhookPlan::Ignore(IgnoreReason::OtherEvent)),
    }
}

fn planned_installation(
    payload: &EventPayload,
    repositories: Vec<RepositoryPayload>,
) -> Result<PlannedInstallation, PayloadError> {
    let installation = payload.installation.as_ref().ok_or(PayloadError::NoInstallation)?;
    let account = installation.account.as_ref().map(|account| account.login.clone());
    let named = repositories.into_iter().filter(|repository| is_name(&repository.full_name));
    Ok(PlannedInstallation {
        installation: installation.id,
        account: account.unwrap_or_default(),
        repositories: named
            .take(REPOSITORIES_MAX)
            .map(|repository| (repository.full_name, repository.private))
            .collect(),
    })
}

/// Author of a comment, if it is a person.
fn person(comment: &CommentPayload) -> Option<String> {
    comment.user.as_ref().filter(|user| !user.is_bot()).map(|user| user.login.clone())
}

fn change_name(payload: &EventPayload, number: u64) -> Result<ChangeName, PayloadError> {
    let installation = payload.installation.as_ref().ok_or(PayloadError::NoInstallation)?.id;
    let repository = repository(payload)?.full_name.clone();
    Ok(ChangeName { installation, repository, number })
}

fn repository(payload: &EventPayload) -> Result<&RepositoryPayload, PayloadError> {
    let repository = payload.repository.as_ref().ok_or(PayloadError::Missing("repository"))?;
    if is_name(&repository.full_name) {
        return Ok(repository);
    }
    Err(PayloadError::Missing("repository.full_name"))
}

/// Whether a repository name is valid. Names become parts of paths and addresses.
fn is_name(name: &str) -> bool {
    Repo::parse(name).is_some()
}

/// Rejects a text that is no commit id, because ids become arguments of programs.
fn commit_id(text: &str) -> Result<&str, PayloadError> {
    let hex = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if hex && matches!(text.len(), 40 | 64) {
        return Ok(text);
    }
    Err(PayloadError::Missing("pull_request.head.sha"))
}

#[cfg(test)]
mod tests;
