//! The parts of GitHub's payloads that crh reads. Unknown fields are ignored.

use serde::Deserialize;

#[derive(Debug, Clone, Deserialize)]
pub(super) struct AccountPayload {
    pub(super) login: String,
    #[serde(default, rename = "type")]
    pub(super) kind: String,
}

impl AccountPayload {
    pub(super) fn is_bot(&self) -> bool {
        self.kind == "Bot" || self.login.ends_with("[bot]")
    }
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct RepositoryPayload {
    pub(super) full_name: String,
    #[serde(default)]
    pub(super) private: bool,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct InstallationPayload {
    pub(super) id: i64,
    pub(super) account: Option<AccountPayload>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct LabelPayload {
    pub(super) name: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct BranchPayload {
    pub(super) sha: String,
    /// `None` if the fork was deleted.
    pub(super) repo: Option<RepositoryPayload>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct PullRequestPayload {
    pub(super) number: u64,
    #[serde(default)]
    pub(super) state: String,
    #[serde(default)]
    pub(super) draft: bool,
    pub(super) head: BranchPayload,
    #[serde(default)]
    pub(super) author_association: String,
    #[serde(default)]
    pub(super) updated_at: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct CommentPayload {
    pub(super) id: u64,
    pub(super) body: Option<String>,
    pub(super) user: Option<AccountPayload>,
    /// The comment that starts the conversation. `None` if this one does.
    pub(super) in_reply_to_id: Option<u64>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct IssuePayload {
    pub(super) number: u64,
    #[serde(default)]
    pub(super) state: String,
    /// Present if the issue is a pull request.
    pub(super) pull_request: Option<serde::de::IgnoredAny>,
}

/// One payload for all events: each event has some of these fields.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct EventPayload {
    #[serde(default)]
    pub(super) action: String,
    pub(super) repository: Option<RepositoryPayload>,
    pub(super) installation: Option<InstallationPayload>,
    pub(super) sender: Option<AccountPayload>,
    pub(super) pull_request: Option<PullRequestPayload>,
    pub(super) issue: Option<IssuePayload>,
    pub(super) comment: Option<CommentPayload>,
    /// The label that was just added.
    pub(super) label: Option<LabelPayload>,
    /// Repositories of a new installation.
    #[serde(default)]
    pub(super) repositories: Vec<RepositoryPayload>,
    #[serde(default)]
    pub(super) repositories_added: Vec<RepositoryPayload>,
    #[serde(default)]
    pub(super) repositories_removed: Vec<RepositoryPayload>,
}
