//! What `crh serve` needs to know about a forge with a plain REST API: its webhooks, and the
//! requests of jobs. All of it is pure.

use serde_json::Value;

use super::RestChangeRef;
use crate::forge_code::{FileCommit, FixSuggestion, OwnConversation};
use crate::posting::{DiffRefs, ForgeRequest};

/// Webhooks, and requests and replies of jobs.
pub trait RestServing {
    /// Reads the payload of a webhook.
    fn read_event(&self, event: &str, body: &[u8]) -> Result<RestEvent, serde_json::Error>;

    /// API path of the open changes of a repository.
    fn open_changes_path(&self, repository: &str) -> String;

    /// Reads a change from a reply.
    fn read_change(&self, reply: Value) -> Result<RestChange, serde_json::Error>;

    /// API path that tells what an account may do.
    fn permission_path(&self, repository: &str, account: &str) -> String;

    /// Whether the reply says that an account may write.
    fn may_write(&self, account: &str, reply: &Value) -> bool;

    /// Name of an account in a reply.
    fn login<'v>(&self, account: &'v Value) -> Option<&'v str>;

    /// API path of the general comments of a change. A POST there adds one.
    fn comments_path(&self, change: &RestChangeRef) -> String;

    /// The account that wrote a comment of a reply.
    fn comment_author<'v>(&self, comment: &'v Value) -> &'v Value;

    /// The request that adds a thumbs-up to the comment with this id.
    fn thumbs_up_request(&self, change: &RestChangeRef, comment: u64) -> ForgeRequest;

    /// The request that answers in a conversation. `None` if its line is gone.
    fn reply_request(
        &self,
        change: &RestChangeRef,
        conversation: &OwnConversation,
        body: &str,
    ) -> Option<ForgeRequest>;

    /// The request that resolves a conversation. `None` if the API has none.
    fn resolve_request(&self, _change: &RestChangeRef, _thread: &str) -> Option<ForgeRequest> {
        None
    }

    /// The request that suggests a fix at its lines. `None` if the forge has no suggestions.
    fn suggestion_request(
        &self,
        _change: &RestChangeRef,
        _refs: &DiffRefs,
        _suggestion: &FixSuggestion<'_>,
    ) -> Option<ForgeRequest> {
        None
    }

    /// API path of a commit.
    fn commit_path(&self, repository: &str, commit: &str) -> String;

    /// Message of a commit in a reply.
    fn commit_message<'v>(&self, reply: &'v Value) -> Option<&'v str>;

    /// API path of a file at a commit.
    fn file_path(&self, repository: &str, commit: &str, path: &str) -> String;

    /// API path of the list of files beside a file, each with path and mode. `None` if the reply
    /// about the file itself tells its type.
    fn folder_path(&self, _repository: &str, _commit: &str, _path: &str) -> Option<String> {
        None
    }

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

    /// Id of the commit in the reply to [`RestServing::file_request`].
    fn new_commit<'v>(&self, reply: &'v Value) -> Option<&'v str>;
}

/// How a webhook proves that it comes from the forge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookProof {
    /// The first of these headers that is there has a signature of the body: HMAC-SHA256 in
    /// hexadecimal digits.
    HexSignature(&'static [&'static str]),
    /// This header has the secret itself. Without it, the webhook has a signature of Standard
    /// Webhooks.
    SecretOrStandardSignature(&'static str),
}

/// The event that a payload reports.
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
    /// The change was opened, reopened, pushed to or made ready. Some forges send it for edits,
    /// too.
    Update,
    /// Labels were added.
    Label(Vec<String>),
    /// The change was closed, merged or made a draft.
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
    /// Whether the forge keeps it with the comments on lines.
    pub is_on_line: bool,
    /// Whether it may be in a conversation on a line.
    pub may_be_reply: bool,
    /// Text.
    pub body: String,
}
