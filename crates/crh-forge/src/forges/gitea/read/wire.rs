//! Gitea's replies, as far as crh reads them.

use serde::Deserialize;

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct User {
    pub(super) id: u64,
    pub(super) login: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct VersionInfo {
    pub(super) version: String,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Pull {
    pub(super) number: u64,
    pub(super) title: String,
    pub(super) body: Option<String>,
    pub(super) state: String,
    #[serde(default)]
    pub(super) draft: bool,
    #[serde(default)]
    pub(super) merged: bool,
    pub(super) user: Option<User>,
    #[serde(default)]
    pub(super) labels: Vec<Label>,
    pub(super) head: Branch,
    pub(super) base: Branch,
    pub(super) merge_base: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Label {
    pub(super) name: String,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Branch {
    #[serde(rename = "ref")]
    pub(super) branch: String,
    pub(super) sha: String,
    pub(super) repo: Option<Repository>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Repository {
    pub(super) id: u64,
    pub(super) full_name: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct File {
    pub(super) filename: String,
    pub(super) previous_filename: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Comment {
    pub(super) id: u64,
    pub(super) user: Option<User>,
    pub(super) body: String,
    pub(super) created_at: String,
    pub(super) html_url: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Review {
    pub(super) id: u64,
    pub(super) user: Option<User>,
    pub(super) state: String,
    #[serde(default)]
    pub(super) body: String,
    pub(super) commit_id: Option<String>,
    #[serde(default)]
    pub(super) dismissed: bool,
    #[serde(default)]
    pub(super) comments_count: u64,
    pub(super) submitted_at: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct ReviewComment {
    pub(super) id: u64,
    pub(super) user: Option<User>,
    pub(super) body: String,
    pub(super) created_at: String,
    pub(super) html_url: String,
    pub(super) path: String,
    /// Line in the new file; 0 for a comment on the old one.
    #[serde(default)]
    pub(super) position: u32,
    /// Line in the old file; 0 for a comment on the new one.
    #[serde(default)]
    pub(super) original_position: u32,
    #[serde(default)]
    pub(super) diff_hunk: String,
    pub(super) resolver: Option<User>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Status {
    pub(super) context: String,
    pub(super) status: String,
    pub(super) target_url: Option<String>,
    pub(super) description: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Permission {
    pub(super) permission: String,
}
