//! GitLab's replies, as far as crh reads them.

use serde::Deserialize;

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct User {
    pub(super) id: u64,
    pub(super) username: String,
    pub(super) bot: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub(super) struct VersionInfo {
    pub(super) version: String,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct MergeRequest {
    pub(super) iid: u64,
    pub(super) title: String,
    pub(super) description: Option<String>,
    pub(super) state: String,
    #[serde(default)]
    pub(super) draft: bool,
    pub(super) author: Option<User>,
    #[serde(default)]
    pub(super) labels: Vec<String>,
    pub(super) source_branch: String,
    pub(super) target_branch: String,
    pub(super) source_project_id: Option<u64>,
    pub(super) target_project_id: Option<u64>,
    pub(super) sha: Option<String>,
    pub(super) diff_refs: Option<DiffRefs>,
    pub(super) references: Option<References>,
}

#[derive(Debug, Deserialize)]
pub(super) struct MergeRequestSummary {
    pub(super) iid: u64,
    pub(super) source_project_id: Option<u64>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct DiffRefs {
    pub(super) base_sha: Option<String>,
    pub(super) start_sha: Option<String>,
    pub(super) head_sha: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct References {
    pub(super) full: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Project {
    pub(super) id: u64,
    pub(super) path_with_namespace: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct FileDiff {
    pub(super) old_path: String,
    pub(super) new_path: String,
    #[serde(default)]
    pub(super) diff: String,
    #[serde(default)]
    pub(super) renamed_file: bool,
    pub(super) too_large: Option<bool>,
    pub(super) collapsed: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Discussion {
    pub(super) id: String,
    #[serde(default)]
    pub(super) individual_note: bool,
    pub(super) notes: Vec<Note>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Note {
    pub(super) id: u64,
    pub(super) author: Option<User>,
    pub(super) body: String,
    pub(super) created_at: String,
    #[serde(default)]
    pub(super) system: bool,
    #[serde(default)]
    pub(super) resolved: bool,
    pub(super) resolved_by: Option<User>,
    pub(super) position: Option<Position>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Position {
    pub(super) head_sha: Option<String>,
    pub(super) old_path: Option<String>,
    pub(super) new_path: Option<String>,
    pub(super) old_line: Option<u32>,
    pub(super) new_line: Option<u32>,
    pub(super) line_range: Option<LineRange>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct LineRange {
    pub(super) start: Option<LineRangeEnd>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct LineRangeEnd {
    pub(super) old_line: Option<u32>,
    pub(super) new_line: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Approvals {
    #[serde(default)]
    pub(super) approved_by: Vec<Approval>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Approval {
    pub(super) user: User,
}

#[derive(Debug, Deserialize)]
pub(super) struct Version {
    pub(super) id: u64,
    pub(super) head_commit_sha: String,
    pub(super) start_commit_sha: Option<String>,
    pub(super) created_at: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Pipeline {
    pub(super) id: u64,
    pub(super) sha: String,
    pub(super) project_id: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Job {
    pub(super) name: String,
    pub(super) status: String,
    pub(super) web_url: Option<String>,
    pub(super) failure_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Issue {
    pub(super) iid: u64,
    pub(super) title: String,
    pub(super) description: Option<String>,
    pub(super) web_url: Option<String>,
    pub(super) references: Option<References>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Member {
    pub(super) access_level: u32,
}
