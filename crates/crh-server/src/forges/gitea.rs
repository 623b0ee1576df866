//! Gitea and Forgejo: webhooks, and the API calls of a server.

use axum::http::{HeaderMap, HeaderValue};
use futures_util::future::BoxFuture;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Value, json};

use super::INSTANCE;
use super::rules::{
    ChangeAction, ChangeEvent, CommentEvent, EventHeaders, RestChange, RestEvent, RestForgeRules,
};
use crate::clock::UnixMillis;
use crate::forge_code::{FileCommit, FixSuggestion, OwnConversation, encode};
use crate::job::ChangeId;
use crate::webhook::plan::{CommentPlace, CommentRef};
use crate::webhook::signature::{SignatureError, verify_hex_signature};
use crh_forge::ForgeError;
use crh_forge::gitea::{GiteaPullRef, host, read};
use crh_forge::posting::{DiffRefs, ForgeRequest, ProposalState, Verb};
use crh_forge::rest::{RestClient, RestHost, RestHostError, RestToken};
use crh_review::finding::Side;

/// Events and API of Gitea and Forgejo.
#[derive(Debug)]
pub(super) struct GiteaEvents;

#[derive(Deserialize)]
struct PullRequestHook {
    #[serde(default)]
    action: String,
    pull_request: PullRequestReply,
    repository: RepositoryPayload,
    #[serde(default)]
    sender: UserPayload,
    changes: Option<ChangesPayload>,
}

#[derive(Default, Deserialize)]
struct ChangesPayload {
    /// Sent by newer versions with `label_updated`.
    added_labels: Option<Vec<LabelPayload>>,
}

#[derive(Deserialize)]
struct LabelPayload {
    name: String,
}

#[derive(Deserialize)]
struct RepositoryPayload {
    full_name: String,
    #[serde(default)]
    private: bool,
}

#[derive(Default, Deserialize)]
struct UserPayload {
    #[serde(default)]
    login: String,
}

/// A pull request, in payloads and replies.
#[derive(Deserialize)]
struct PullRequestReply {
    number: u64,
    #[serde(default)]
    state: String,
    #[serde(default)]
    draft: bool,
    #[serde(default)]
    labels: Option<Vec<LabelPayload>>,
    head: BranchReply,
    base: BranchReply,
    #[serde(default)]
    updated_at: Option<String>,
}

#[derive(Deserialize)]
struct BranchReply {
    #[serde(default)]
    sha: String,
    #[serde(default, rename = "ref")]
    branch: String,
    repo_id: Option<i64>,
}

#[derive(Deserialize)]
struct CommentHook {
    #[serde(default)]
    action: String,
    #[serde(default)]
    is_pull: bool,
    issue: IssuePayload,
    comment: CommentPayload,
    repository: RepositoryPayload,
}

#[derive(Deserialize)]
struct IssuePayload {
    number: u64,
    #[serde(default)]
    state: String,
}

#[derive(Deserialize)]
struct CommentPayload {
    id: u64,
    #[serde(default)]
    body: String,
    user: Option<UserPayload>,
}

impl From<PullRequestReply> for RestChange {
    fn from(pull: PullRequestReply) -> Self {
        Self {
            number: pull.number,
            head: pull.head.sha,
            branch: pull.head.branch,
            is_open: pull.state == "open",
            is_draft: pull.draft,
            from_fork: pull.head.repo_id.is_none() || pull.head.repo_id != pull.base.repo_id,
            updated_at: pull.updated_at.unwrap_or_default(),
        }
    }
}

impl RestForgeRules for GiteaEvents {
    fn name(&self) -> &'static str {
        "gitea"
    }

    fn host(&self, server: &str) -> Result<RestHost, RestHostError> {
        host(server)
    }

    fn api_token(&self, token: SecretString) -> RestToken {
        RestToken { header: "authorization", prefix: "token ", token }
    }

    fn variables(&self) -> [&'static str; 2] {
        ["GITEA_SERVER_URL", "GITEA_TOKEN"]
    }

    fn change_url(&self, web: &str, change: &ChangeId) -> String {
        let repository = &change.repository;
        match change.number.as_str() {
            "" => format!("{web}/{repository}"),
            number => format!("{web}/{repository}/pulls/{number}"),
        }
    }

    fn verify(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        secrets: &[SecretString],
        _: UnixMillis,
    ) -> Result<(), SignatureError> {
        let names = ["x-gitea-signature", "x-forgejo-signature"];
        let header = names.iter().find_map(|name| headers.get(*name));
        verify_hex_signature(secrets, header.map(HeaderValue::as_bytes), body)
    }

    fn event_headers(&self) -> EventHeaders {
        EventHeaders {
            event: &["x-gitea-event", "x-forgejo-event"],
            id: &["x-gitea-delivery", "x-forgejo-delivery"],
        }
    }

    fn read_event(&self, event: &str, body: &[u8]) -> Result<RestEvent, serde_json::Error> {
        match event {
            "pull_request" => {
                serde_json::from_slice(body).map(|hook| RestEvent::Change(change_event(hook)))
            }
            // Reviews come as `pull_request_comment`, without the ids of their comments. Replies on
            // lines come as `issue_comment`.
            "issue_comment" => serde_json::from_slice(body).map(comment_event),
            _ => Ok(RestEvent::Other),
        }
    }

    fn change_path(&self, change: &ChangeId) -> String {
        format!("/repos/{}/pulls/{}", change.repository, change.number)
    }

    fn open_changes_path(&self, repository: &str) -> String {
        format!("/repos/{repository}/pulls?state=open")
    }

    fn read_change(&self, reply: Value) -> Result<RestChange, serde_json::Error> {
        serde_json::from_value::<PullRequestReply>(reply).map(RestChange::from)
    }

    fn permission_path(&self, repository: &str, account: &str) -> String {
        format!("/repos/{repository}/collaborators/{account}/permission")
    }

    fn may_write(&self, _: &str, reply: &Value) -> bool {
        matches!(reply["permission"].as_str(), Some("write" | "admin" | "owner"))
    }

    fn login<'v>(&self, account: &'v Value) -> Option<&'v str> {
        account["login"].as_str()
    }

    fn comments_path(&self, change: &ChangeId) -> String {
        format!("/repos/{}/issues/{}/comments", change.repository, change.number)
    }

    fn comment_author<'v>(&self, comment: &'v Value) -> &'v Value {
        &comment["user"]
    }

    fn comment_request(&self, change: &ChangeId, body: &str) -> ForgeRequest {
        let path = self.comments_path(change);
        ForgeRequest { verb: Verb::Post, path, body: json!({ "body": body }) }
    }

    fn approval_request(&self, change: &ChangeId, comment: &CommentRef) -> ForgeRequest {
        let path = format!("/repos/{}/issues/comments/{}/reactions", change.repository, comment.id);
        ForgeRequest { verb: Verb::Post, path, body: json!({ "content": "+1" }) }
    }

    fn read_state<'a>(
        &'a self,
        client: &'a RestClient,
        url: &'a str,
    ) -> BoxFuture<'a, Result<ProposalState, ForgeError>> {
        Box::pin(async move {
            let change = GiteaPullRef::parse(url, Some(client.host()))
                .map_err(|_| ForgeError::NotFound { request: url.to_owned() })?;
            Ok(read::pull_request(client, &change, INSTANCE).await?.1)
        })
    }

    /// Gitea has no request that replies. It shows comments on the same line as one conversation.
    /// If the line is gone, the answer is a comment on the pull request.
    fn reply_request(
        &self,
        change: &ChangeId,
        conversation: &OwnConversation,
        body: &str,
    ) -> ForgeRequest {
        let Some(spot) = &conversation.spot else { return self.comment_request(change, body) };
        let (old, new) = match spot.side {
            Side::Old => (spot.line, 0),
            Side::New => (0, spot.line),
        };
        let comment =
            json!({ "path": spot.file, "body": body, "old_position": old, "new_position": new });
        let path = format!("{}/reviews", self.change_path(change));
        let body = json!({ "event": "COMMENT", "body": "", "comments": [comment] });
        ForgeRequest { verb: Verb::Post, path, body }
    }

    fn resolve_request(&self, _: &ChangeId, _: &str) -> Option<ForgeRequest> {
        None
    }

    fn suggestion_request(
        &self,
        _: &ChangeId,
        _: &DiffRefs,
        _: &FixSuggestion<'_>,
    ) -> Option<ForgeRequest> {
        None
    }

    fn commit_path(&self, repository: &str, commit: &str) -> String {
        format!("/repos/{repository}/git/commits/{commit}")
    }

    fn commit_message<'v>(&self, reply: &'v Value) -> Option<&'v str> {
        reply["commit"]["message"].as_str()
    }

    fn file_path(&self, repository: &str, commit: &str, path: &str) -> String {
        format!("/repos/{repository}/contents/{}?ref={commit}", encode(path))
    }

    fn folder_path(&self, _: &str, _: &str, _: &str) -> Option<String> {
        None
    }

    fn file_version<'v>(&self, reply: &'v Value) -> Option<&'v str> {
        reply["sha"].as_str().filter(|_| reply["type"] == "file")
    }

    /// Gitea refuses the commit if the branch has another version of the file.
    fn file_request(
        &self,
        repository: &str,
        commit: &FileCommit<'_>,
        version: &str,
        content: &str,
    ) -> ForgeRequest {
        let path = format!("/repos/{repository}/contents/{}", encode(commit.path));
        let body = json!({
            "branch": commit.branch, "message": commit.message, "sha": version, "content": content,
        });
        ForgeRequest { verb: Verb::Put, path, body }
    }

    fn new_commit<'v>(&self, reply: &'v Value) -> Option<&'v str> {
        reply["commit"]["sha"].as_str()
    }
}

/// Whether an account counts as a program: Actions, names that end with `[bot]`, and deleted
/// accounts. Other programs cannot be told from people.
fn is_bot(login: &str) -> bool {
    let login = login.to_ascii_lowercase();
    login.ends_with("[bot]")
        || ["gitea-actions", "forgejo-actions", "ghost"].contains(&login.as_str())
}

fn change_event(hook: PullRequestHook) -> ChangeEvent {
    let PullRequestHook { action, mut pull_request, repository, sender, changes } = hook;
    // Older versions do not say which label is new. Then all labels count.
    let added = changes.and_then(|changes| changes.added_labels);
    let added = added.or_else(|| pull_request.labels.take()).unwrap_or_default();
    let action = match action.as_str() {
        "closed" => ChangeAction::Stop,
        "opened" | "reopened" | "synchronized" => ChangeAction::Update,
        // A prefix of the title makes a draft.
        "edited" if pull_request.draft => ChangeAction::Stop,
        "edited" => ChangeAction::Update,
        "label_updated" => ChangeAction::Label(added.into_iter().map(|label| label.name).collect()),
        _ => ChangeAction::Other,
    };
    ChangeEvent {
        repository: repository.full_name,
        is_private: repository.private,
        change: pull_request.into(),
        action,
        by_bot: is_bot(&sender.login),
    }
}

fn comment_event(hook: CommentHook) -> RestEvent {
    let CommentHook { action, is_pull, issue, comment, repository } = hook;
    let author = comment.user.map(|user| user.login).unwrap_or_default();
    if action != "created" || !is_pull || author.is_empty() {
        return RestEvent::Other;
    }
    RestEvent::Comment(CommentEvent {
        repository: repository.full_name,
        number: issue.number,
        is_open: issue.state == "open",
        id: comment.id,
        by_bot: is_bot(&author),
        author,
        place: CommentPlace::Conversation,
        // A reply on a line comes like any other comment.
        may_be_reply: true,
        body: comment.body,
    })
}

#[cfg(test)]
mod tests;
