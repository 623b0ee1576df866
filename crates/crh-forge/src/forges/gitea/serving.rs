//! Gitea and Forgejo: webhooks, and the API calls of crh's server.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Gitea, is_program};
use crate::forge_code::{FileCommit, OwnConversation, encode};
use crate::posting::{ForgeRequest, Verb};
use crate::rest::{
    ChangeAction, ChangeEvent, CommentEvent, RestChange, RestChangeRef, RestEvent, RestServing,
};
use crh_review::finding::Side;

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
    /// The new labels, which newer versions of Gitea send with `label_updated`.
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

/// A pull request, in payloads of webhooks and in replies of the API.
#[derive(Deserialize)]
struct PullRequestReply {
    number: u64,
    #[serde(default)]
    state: String,
    #[serde(default)]
    draft: bool,
    labels: Option<Vec<LabelPayload>>,
    head: BranchReply,
    base: BranchReply,
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

impl RestServing for Gitea {
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

    fn comments_path(&self, change: &RestChangeRef) -> String {
        format!("/repos/{}/issues/{}/comments", change.repository, change.number)
    }

    fn comment_author<'v>(&self, comment: &'v Value) -> &'v Value {
        &comment["user"]
    }

    fn thumbs_up_request(&self, change: &RestChangeRef, comment: u64) -> ForgeRequest {
        let path = format!("/repos/{}/issues/comments/{comment}/reactions", change.repository);
        ForgeRequest { verb: Verb::Post, path, body: json!({ "content": "+1" }) }
    }

    /// Gitea has no request that replies. It shows comments on the same line as one conversation.
    fn reply_request(
        &self,
        change: &RestChangeRef,
        conversation: &OwnConversation,
        body: &str,
    ) -> Option<ForgeRequest> {
        let spot = conversation.spot.as_ref()?;
        let (old, new) = match spot.side {
            Side::Old => (spot.line, 0),
            Side::New => (0, spot.line),
        };
        let comment =
            json!({ "path": spot.file, "body": body, "old_position": old, "new_position": new });
        let path = format!("{}/reviews", change.api_path());
        let body = json!({ "event": "COMMENT", "body": "", "comments": [comment] });
        Some(ForgeRequest { verb: Verb::Post, path, body })
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

/// Whether crh treats the sender as a program. It treats deleted accounts as programs, too.
fn is_bot(login: &str) -> bool {
    is_program(login) || login.eq_ignore_ascii_case("ghost")
}

fn change_event(hook: PullRequestHook) -> ChangeEvent {
    let PullRequestHook { action, mut pull_request, repository, sender, changes } = hook;
    // Older versions do not say which label is new. Then all labels count as new.
    let added = changes.and_then(|changes| changes.added_labels);
    let added = added.or_else(|| pull_request.labels.take()).unwrap_or_default();
    let action = match action.as_str() {
        "closed" => ChangeAction::Stop,
        "opened" | "reopened" | "synchronized" => ChangeAction::Update,
        // An edit can turn the pull request into a draft: a prefix of the title marks drafts.
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
        is_on_line: false,
        // A reply on a line comes like any other comment.
        may_be_reply: true,
        body: comment.body,
    })
}
