//! GitLab: webhooks, and the API calls of crh's server.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{GitLab, is_program};
use crate::forge_code::{FileCommit, FixSuggestion, OwnConversation, encode_part};
use crate::posting::{DiffRefs, ForgeRequest, Verb};
use crate::rest::{
    ChangeAction, ChangeEvent, CommentEvent, RestChange, RestChangeRef, RestEvent, RestForge,
    RestServing,
};

/// Access level from which a member may push: Developer.
const DEVELOPER: u64 = 30;

/// Visibility level of a public project.
const PUBLIC: u32 = 20;

#[derive(Deserialize)]
struct MergeRequestHook {
    project: ProjectPayload,
    #[serde(default)]
    user: UserPayload,
    object_attributes: MergeRequestPayload,
    #[serde(default)]
    changes: ChangesPayload,
}

#[derive(Deserialize)]
struct ProjectPayload {
    path_with_namespace: String,
    #[serde(default)]
    visibility_level: u32,
}

#[derive(Default, Deserialize)]
struct UserPayload {
    #[serde(default)]
    username: String,
}

#[derive(Deserialize)]
struct MergeRequestPayload {
    iid: u64,
    #[serde(default)]
    state: String,
    #[serde(default)]
    action: String,
    /// Older versions write `work_in_progress`.
    #[serde(default, alias = "work_in_progress")]
    draft: bool,
    source_project_id: Option<u64>,
    target_project_id: u64,
    #[serde(default)]
    updated_at: String,
    #[serde(default)]
    source_branch: String,
    last_commit: Option<CommitPayload>,
    /// Present if commits were pushed.
    oldrev: Option<String>,
}

#[derive(Deserialize)]
struct CommitPayload {
    id: String,
}

#[derive(Default, Deserialize)]
struct ChangesPayload {
    draft: Option<FlagChange>,
    labels: Option<LabelChange>,
}

#[derive(Deserialize)]
struct FlagChange {
    current: Option<bool>,
}

#[derive(Default, Deserialize)]
struct LabelChange {
    #[serde(default)]
    previous: Vec<LabelPayload>,
    #[serde(default)]
    current: Vec<LabelPayload>,
}

#[derive(Deserialize)]
struct LabelPayload {
    #[serde(default)]
    title: String,
}

#[derive(Deserialize)]
struct NoteHook {
    project: ProjectPayload,
    #[serde(default)]
    user: UserPayload,
    object_attributes: NotePayload,
    merge_request: Option<NoteMergeRequest>,
}

#[derive(Deserialize)]
struct NotePayload {
    id: u64,
    #[serde(default)]
    note: String,
    #[serde(default)]
    system: bool,
    /// Older versions send only new notes, without an action.
    action: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
struct NoteMergeRequest {
    iid: u64,
    #[serde(default)]
    state: String,
}

/// A merge request in a reply of the API.
#[derive(Deserialize)]
struct MergeRequestReply {
    iid: u64,
    #[serde(default)]
    state: String,
    #[serde(default)]
    draft: bool,
    sha: Option<String>,
    #[serde(default)]
    source_branch: String,
    source_project_id: Option<u64>,
    target_project_id: u64,
    #[serde(default)]
    updated_at: String,
}

impl RestServing for GitLab {
    fn read_event(&self, event: &str, body: &[u8]) -> Result<RestEvent, serde_json::Error> {
        match event {
            "Merge Request Hook" => {
                serde_json::from_slice(body).map(|hook| RestEvent::Change(change_event(hook)))
            }
            "Note Hook" => serde_json::from_slice(body).map(comment_event),
            _ => Ok(RestEvent::Other),
        }
    }

    fn open_changes_path(&self, repository: &str) -> String {
        format!("{}/merge_requests?state=opened", self.repository_path(repository))
    }

    fn read_change(&self, reply: Value) -> Result<RestChange, serde_json::Error> {
        let reply: MergeRequestReply = serde_json::from_value(reply)?;
        Ok(RestChange {
            number: reply.iid,
            head: reply.sha.unwrap_or_default(),
            branch: reply.source_branch,
            is_open: reply.state == "opened",
            is_draft: reply.draft,
            from_fork: reply.source_project_id != Some(reply.target_project_id),
            updated_at: reply.updated_at,
        })
    }

    fn permission_path(&self, repository: &str, account: &str) -> String {
        format!("{}/members/all?query={account}", self.repository_path(repository))
    }

    fn may_write(&self, account: &str, reply: &Value) -> bool {
        reply.as_array().into_iter().flatten().any(|member| {
            self.login(member).is_some_and(|login| login.eq_ignore_ascii_case(account))
                && member["access_level"].as_u64().is_some_and(|level| level >= DEVELOPER)
        })
    }

    fn login<'v>(&self, account: &'v Value) -> Option<&'v str> {
        account["username"].as_str()
    }

    fn comments_path(&self, change: &RestChangeRef) -> String {
        format!("{}/notes", change.api_path())
    }

    fn comment_author<'v>(&self, comment: &'v Value) -> &'v Value {
        &comment["author"]
    }

    fn thumbs_up_request(&self, change: &RestChangeRef, comment: u64) -> ForgeRequest {
        let path = format!("{}/{comment}/award_emoji", self.comments_path(change));
        ForgeRequest { verb: Verb::Post, path, body: json!({ "name": "thumbsup" }) }
    }

    fn reply_request(
        &self,
        change: &RestChangeRef,
        conversation: &OwnConversation,
        body: &str,
    ) -> Option<ForgeRequest> {
        let path = format!("{}/discussions/{}/notes", change.api_path(), conversation.thread);
        Some(ForgeRequest { verb: Verb::Post, path, body: json!({ "body": body }) })
    }

    fn resolve_request(&self, change: &RestChangeRef, thread: &str) -> Option<ForgeRequest> {
        let path = format!("{}/discussions/{thread}", change.api_path());
        Some(ForgeRequest { verb: Verb::Put, path, body: json!({ "resolved": true }) })
    }

    /// The position has no old line, so GitLab refuses suggestions on lines that the change does
    /// not add.
    fn suggestion_request(
        &self,
        change: &RestChangeRef,
        refs: &DiffRefs,
        suggestion: &FixSuggestion<'_>,
    ) -> Option<ForgeRequest> {
        let (first, last) = suggestion.lines;
        let word = format!("suggestion:-{}+0", last.saturating_sub(first));
        let position = json!({
            "position_type": "text", "new_line": last,
            "base_sha": refs.base, "start_sha": refs.start, "head_sha": refs.head,
            "old_path": suggestion.path, "new_path": suggestion.path,
        });
        let path = format!("{}/discussions", change.api_path());
        let body = json!({ "body": suggestion.body(&word), "position": position });
        Some(ForgeRequest { verb: Verb::Post, path, body })
    }

    fn commit_path(&self, repository: &str, commit: &str) -> String {
        format!("{}/repository/commits/{commit}", self.repository_path(repository))
    }

    fn commit_message<'v>(&self, reply: &'v Value) -> Option<&'v str> {
        reply["message"].as_str()
    }

    fn file_path(&self, repository: &str, commit: &str, path: &str) -> String {
        let path = encode_part(path);
        format!("{}/repository/files/{path}?ref={commit}", self.repository_path(repository))
    }

    /// Unlike the reply about a file, the list of its folder tells symlinks from files.
    fn folder_path(&self, repository: &str, commit: &str, path: &str) -> Option<String> {
        let folder = path.rsplit_once('/').map(|(folder, _)| encode_part(folder));
        let folder = folder.unwrap_or_default();
        let project = self.repository_path(repository);
        Some(format!("{project}/repository/tree?path={folder}&ref={commit}"))
    }

    fn file_version<'v>(&self, reply: &'v Value) -> Option<&'v str> {
        reply["last_commit_id"].as_str()
    }

    /// GitLab refuses the commit if the file has another last commit.
    fn file_request(
        &self,
        repository: &str,
        commit: &FileCommit<'_>,
        version: &str,
        content: &str,
    ) -> ForgeRequest {
        let action = json!({
            "action": "update", "file_path": commit.path, "content": content,
            "encoding": "base64", "last_commit_id": version,
        });
        let path = format!("{}/repository/commits", self.repository_path(repository));
        let body = json!({
            "branch": commit.branch, "commit_message": commit.message, "actions": [action],
        });
        ForgeRequest { verb: Verb::Post, path, body }
    }

    fn new_commit<'v>(&self, reply: &'v Value) -> Option<&'v str> {
        reply["id"].as_str()
    }
}

/// Whether crh treats the sender of a delivery as a program. Only the name tells, because a
/// delivery does not have the kind of the account. crh treats deleted accounts as programs, too.
fn is_bot(username: &str) -> bool {
    is_program(username) || username == "ghost"
}

fn change_event(hook: MergeRequestHook) -> ChangeEvent {
    let MergeRequestHook { project, user, object_attributes: merge, changes } = hook;
    let was_pushed = merge.oldrev.is_some();
    let became_draft = changes.draft.as_ref().and_then(|draft| draft.current);
    let labels = changes.labels.unwrap_or_default();
    let is_old = |label: &&LabelPayload| {
        labels.previous.iter().any(|previous| previous.title == label.title)
    };
    let added = labels.current.iter().filter(|label| !is_old(label));
    let added: Vec<String> = added.map(|label| label.title.clone()).collect();
    let action = match (merge.action.as_str(), became_draft) {
        ("close" | "merge", _) | ("update", Some(true)) => ChangeAction::Stop,
        ("open" | "reopen", _) | ("update", Some(false)) => ChangeAction::Update,
        ("update", None) if was_pushed => ChangeAction::Update,
        ("update", None) if !added.is_empty() => ChangeAction::Label(added),
        (_, _) => ChangeAction::Other,
    };
    ChangeEvent {
        repository: project.path_with_namespace,
        is_private: project.visibility_level < PUBLIC,
        change: RestChange {
            number: merge.iid,
            head: merge.last_commit.map(|commit| commit.id).unwrap_or_default(),
            branch: merge.source_branch,
            is_open: merge.state == "opened",
            is_draft: merge.draft,
            from_fork: merge.source_project_id != Some(merge.target_project_id),
            updated_at: merge.updated_at,
        },
        action,
        by_bot: is_bot(&user.username),
    }
}

fn comment_event(hook: NoteHook) -> RestEvent {
    let NoteHook { project, user, object_attributes: note, merge_request } = hook;
    let is_new = note.action.as_deref().is_none_or(|action| action == "create");
    let Some(merge) = merge_request.filter(|_| is_new && !note.system) else {
        return RestEvent::Other;
    };
    let is_on_line = note.kind.as_deref() == Some("DiffNote");
    RestEvent::Comment(CommentEvent {
        repository: project.path_with_namespace,
        number: merge.iid,
        is_open: merge.state == "opened",
        id: note.id,
        by_bot: is_bot(&user.username),
        author: user.username,
        is_on_line,
        may_be_reply: is_on_line,
        body: note.note,
    })
}
