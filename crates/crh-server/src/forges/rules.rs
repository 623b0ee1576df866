//! What a server needs to know about a forge with a plain REST API, and what its events mean. All
//! of it is pure, except for reading a change with its conversations.

use std::fmt;

use axum::http::HeaderMap;
use futures_util::future::BoxFuture;
use secrecy::SecretString;
use serde_json::Value;

use super::ACCOUNT;
use crate::clock::UnixMillis;
use crate::comment_commands::CommentCommand;
use crate::forge_code::{FileCommit, FixSuggestion, OwnConversation};
use crate::forge_time::parse_forge_time;
use crate::job::ChangeId;
use crate::queue::Authorship;
use crate::webhook::admission::{Admission, PullRequestFacts, admit};
use crate::webhook::plan::{
    ChangeName, CommentPlace, CommentRef, IgnoreReason, PayloadError, PlannedReview, WebhookPlan,
    WebhookRules, plan_text,
};
use crate::webhook::signature::SignatureError;
use crh_forge::ForgeError;
use crh_forge::posting::{DiffRefs, ForgeRequest, ProposalState};
use crh_forge::rest::{RestClient, RestHost, RestHostError, RestToken, is_repository_path};

/// What a server needs to know about a forge.
pub trait RestForgeRules: fmt::Debug + Send + Sync {
    /// Name in the address of the webhook, and name of the sink: `gitlab`.
    fn name(&self) -> &'static str;

    /// The server with this web address.
    fn host(&self, server: &str) -> Result<RestHost, RestHostError>;

    /// How the API takes a token.
    fn api_token(&self, token: SecretString) -> RestToken;

    /// Variables with which `crh` takes the address of the server, and the token.
    fn variables(&self) -> [&'static str; 2];

    /// Web address of a change, or of its repository if it has no number.
    fn change_url(&self, web: &str, change: &ChangeId) -> String;

    /// Checks that a delivery has the secret. During a rotation several secrets are valid.
    fn verify(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        secrets: &[SecretString],
        now: UnixMillis,
    ) -> Result<(), SignatureError>;

    /// Headers with the event and with the id of the delivery. The first one that is there counts.
    fn event_headers(&self) -> EventHeaders;

    /// Reads a payload.
    fn read_event(&self, event: &str, body: &[u8]) -> Result<RestEvent, serde_json::Error>;

    /// API path of a change.
    fn change_path(&self, change: &ChangeId) -> String;

    /// API path of the open changes of a repository.
    fn open_changes_path(&self, repository: &str) -> String;

    /// Reads a change from a reply.
    fn read_change(&self, reply: Value) -> Result<RestChange, serde_json::Error>;

    /// API path that tells what an account may do.
    fn permission_path(&self, repository: &str, account: &str) -> String;

    /// Whether the reply says that an account may write.
    fn may_write(&self, account: &str, reply: &Value) -> bool;

    /// Login of an account in a reply of the API.
    fn login<'v>(&self, account: &'v Value) -> Option<&'v str>;

    /// API path of the comments of a conversation.
    fn comments_path(&self, change: &ChangeId) -> String;

    /// The account that wrote a comment, from a reply of the API.
    fn comment_author<'v>(&self, comment: &'v Value) -> &'v Value;

    /// The request that adds a comment.
    fn comment_request(&self, change: &ChangeId, body: &str) -> ForgeRequest;

    /// The request that adds a thumbs-up to a comment.
    fn approval_request(&self, change: &ChangeId, comment: &CommentRef) -> ForgeRequest;

    /// Reads a change with its conversations.
    fn read_state<'a>(
        &'a self,
        client: &'a RestClient,
        url: &'a str,
    ) -> BoxFuture<'a, Result<ProposalState, ForgeError>>;

    /// The request that answers in a conversation.
    fn reply_request(
        &self,
        change: &ChangeId,
        conversation: &OwnConversation,
        body: &str,
    ) -> ForgeRequest;

    /// The request that resolves a conversation. `None` if the API has none.
    fn resolve_request(&self, change: &ChangeId, thread: &str) -> Option<ForgeRequest>;

    /// The request that suggests a fix at its lines. `None` if the forge has no suggestions.
    fn suggestion_request(
        &self,
        change: &ChangeId,
        refs: &DiffRefs,
        suggestion: &FixSuggestion<'_>,
    ) -> Option<ForgeRequest>;

    /// API path of a commit.
    fn commit_path(&self, repository: &str, commit: &str) -> String;

    /// Message of a commit in a reply of the API.
    fn commit_message<'v>(&self, reply: &'v Value) -> Option<&'v str>;

    /// API path of a file at a commit.
    fn file_path(&self, repository: &str, commit: &str, path: &str) -> String;

    /// API path of the list of files beside a file, each with path and mode. `None` if the reply
    /// about the file itself tells its type.
    fn folder_path(&self, repository: &str, commit: &str, path: &str) -> Option<String>;

    /// Id of the version of a file in a reply. `None` if it is not a plain file.
    fn file_version<'v>(&self, reply: &'v Value) -> Option<&'v str>;

    /// The request that commits a file with this content in base64.
    fn file_request(
        &self,
        repository: &str,
        commit: &FileCommit<'_>,
        version: &str,
        content: &str,
    ) -> ForgeRequest;

    /// Id of the commit in the reply to [`RestForgeRules::file_request`].
    fn new_commit<'v>(&self, reply: &'v Value) -> Option<&'v str>;
}

/// Headers of a delivery.
#[derive(Debug, Clone, Copy)]
pub struct EventHeaders {
    /// With the name of the event.
    pub event: &'static [&'static str],
    /// With an id that is the same for a redelivery.
    pub id: &'static [&'static str],
}

/// Event and id of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EventHead {
    pub(crate) event: String,
    pub(crate) id: String,
}

/// Content of a payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RestEvent {
    /// Something about a change.
    Change(ChangeEvent),
    /// A new comment on a change.
    Comment(CommentEvent),
    /// Something that crh does not use.
    Other,
}

/// An event about a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeEvent {
    /// The target repository.
    pub repository: String,
    /// Whether the repository is hidden from strangers.
    pub is_private: bool,
    /// The change.
    pub change: RestChange,
    /// What happened.
    pub action: ChangeAction,
    /// Whether a program did it.
    pub by_bot: bool,
}

/// What happened to a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeAction {
    /// It was opened, reopened, pushed to, or made ready.
    Update,
    /// Labels were added.
    Label(Vec<String>),
    /// It was closed, merged or made a draft.
    Stop,
    /// Something that crh does not use.
    Other,
}

/// A change at a forge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestChange {
    /// Number.
    pub number: u64,
    /// Head commit.
    pub head: String,
    /// Branch of the head.
    pub branch: String,
    /// Whether it is open.
    pub is_open: bool,
    /// Whether it is a draft.
    pub is_draft: bool,
    /// Whether its branch is in another repository.
    pub from_fork: bool,
    /// Time of the last update, as the forge writes it.
    pub updated_at: String,
}

/// A new comment on a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommentEvent {
    /// The target repository.
    pub repository: String,
    /// Number of the change.
    pub number: u64,
    /// Whether the change is open.
    pub is_open: bool,
    /// Id of the comment.
    pub id: u64,
    /// Login of the author.
    pub author: String,
    /// Whether a program wrote it.
    pub by_bot: bool,
    /// Where it is.
    pub place: CommentPlace,
    /// Whether it may be in a conversation on a line.
    pub may_be_reply: bool,
    /// Text.
    pub body: String,
}

impl RestChange {
    /// Relation of the author to the repository. Only people with write access can push a branch
    /// to the repository itself.
    pub fn authorship(&self) -> Authorship {
        self.facts().authorship()
    }

    /// Time of the last update, in milliseconds. Webhooks of GitLab write
    /// `2026-01-02 03:04:05 UTC`, and replies have fractions of a second.
    pub fn revision(&self) -> Option<i64> {
        let (date, time) = (self.updated_at.get(..10)?, self.updated_at.get(11..19)?);
        let offset = self.updated_at.get(19..)?.trim_start_matches('.');
        let offset = offset.trim_start_matches(|digit: char| digit.is_ascii_digit()).trim();
        let is_utc = ["Z", "UTC", "+00:00"].contains(&offset);
        parse_forge_time(&format!("{date}T{time}Z")).filter(|_| is_utc).map(|time| time.0)
    }

    fn facts(&self) -> PullRequestFacts {
        let association = if self.from_fork { "" } else { "COLLABORATOR" };
        PullRequestFacts {
            open: self.is_open,
            draft: self.is_draft,
            from_fork: self.from_fork,
            author_association: association.to_owned(),
        }
    }
}

/// Decides what an event means.
pub(crate) fn plan_event(
    event: RestEvent,
    rules: &WebhookRules,
) -> Result<WebhookPlan, PayloadError> {
    match event {
        RestEvent::Other => Ok(WebhookPlan::Ignore(IgnoreReason::OtherEvent)),
        RestEvent::Change(event) => plan_change(event, rules),
        RestEvent::Comment(event) => plan_comment(event),
    }
}

fn plan_change(event: ChangeEvent, rules: &WebhookRules) -> Result<WebhookPlan, PayloadError> {
    let change = change_name(&event.repository, event.change.number)?;
    let added = match event.action {
        ChangeAction::Other => return Ok(WebhookPlan::Ignore(IgnoreReason::OtherEvent)),
        ChangeAction::Stop => return Ok(WebhookPlan::Stop(change)),
        ChangeAction::Update => None,
        ChangeAction::Label(added) => Some(added),
    };
    let is_approval = added.is_some();
    if added.is_some_and(|added| !added.iter().any(|name| name.eq_ignore_ascii_case(&rules.label)))
    {
        return Ok(WebhookPlan::Ignore(IgnoreReason::OtherLabel));
    }
    // A labelling bot may label every change, also those of strangers.
    if is_approval && event.by_bot {
        return Ok(WebhookPlan::Ignore(IgnoreReason::Bot));
    }
    let revision = event.change.revision();
    let facts = event.change.facts();
    let head = commit_id(event.change.head)?;
    let review = PlannedReview { change, head, private: event.is_private, revision };
    Ok(match admit(&facts, is_approval, rules.strangers) {
        Admission::Review => WebhookPlan::Review(review),
        Admission::Stranger => WebhookPlan::AwaitMaintainer(review),
        Admission::NotReady => WebhookPlan::Ignore(IgnoreReason::NotReady),
    })
}

fn plan_comment(event: CommentEvent) -> Result<WebhookPlan, PayloadError> {
    if event.by_bot {
        return Ok(WebhookPlan::Ignore(IgnoreReason::Bot));
    }
    // The forge also delivers crh's own comments. They end with a mark.
    let is_own = event.body.lines().next_back().is_some_and(|line| line.starts_with("<!-- crh"));
    if is_own || !event.is_open {
        return Ok(WebhookPlan::Ignore(IgnoreReason::OtherComment));
    }
    let change = change_name(&event.repository, event.number)?;
    let comment = CommentRef { id: event.id, author: event.author, place: event.place };
    let command = CommentCommand::parse(&event.body);
    Ok(plan_text(change, comment, command, event.may_be_reply.then_some((event.id, &event.body))))
}

/// Rejects invalid names, because names become parts of paths and addresses.
fn change_name(repository: &str, number: u64) -> Result<ChangeName, PayloadError> {
    if !is_repository_path(repository) {
        return Err(PayloadError::Missing("name of the repository"));
    }
    Ok(ChangeName { installation: ACCOUNT.0, repository: repository.to_owned(), number })
}

/// Rejects a text that is no commit id, because ids become arguments of programs.
fn commit_id(text: String) -> Result<String, PayloadError> {
    let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match is_hex && matches!(text.len(), 40 | 64) {
        true => Ok(text),
        false => Err(PayloadError::Missing("head commit")),
    }
}
