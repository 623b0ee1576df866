//! GitHub's replies, as far as crh reads them. Unknown fields are ignored.

use serde::Deserialize;

use crate::forges::github::Repo;

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct User {
    pub(super) id: u64,
    pub(super) login: String,
    /// GitHub's account type.
    #[serde(default, rename = "type")]
    pub(super) kind: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Repository {
    /// Repository that this one was forked from.
    parent: Option<Parent>,
}

impl Repository {
    pub(super) fn parent(self) -> Option<Repo> {
        Repo::parse(&self.parent?.full_name)
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
struct Parent {
    full_name: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Pull {
    pub(super) number: u64,
    #[serde(default)]
    pub(super) html_url: String,
    #[serde(default)]
    pub(super) title: String,
    pub(super) body: Option<String>,
    pub(super) user: Option<User>,
    /// Missing in some answers of GitHub Enterprise.
    pub(super) author_association: Option<String>,
    #[serde(default)]
    pub(super) draft: bool,
    pub(super) state: String,
    /// Missing in lists of pull requests.
    #[serde(default)]
    pub(super) merged: bool,
    #[serde(default)]
    pub(super) labels: Vec<Label>,
    pub(super) head: BranchTip,
    pub(super) base: BranchTip,
    pub(super) changed_files: Option<usize>,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Label {
    #[serde(default)]
    pub(super) name: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct BranchTip {
    #[serde(rename = "ref")]
    pub(super) branch: String,
    pub(super) sha: String,
    /// `None` if the repository is gone.
    pub(super) repo: Option<EndRepository>,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct EndRepository {
    pub(super) id: u64,
    pub(super) full_name: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct File {
    pub(super) filename: String,
    pub(super) previous_filename: Option<String>,
    pub(super) patch: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Comment {
    pub(super) id: u64,
    pub(super) user: Option<User>,
    #[serde(default)]
    pub(super) author_association: String,
    #[serde(default)]
    pub(super) created_at: String,
    pub(super) body: Option<String>,
    #[serde(default)]
    pub(super) html_url: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Review {
    pub(super) id: u64,
    pub(super) user: Option<User>,
    #[serde(default)]
    pub(super) state: String,
    pub(super) commit_id: Option<String>,
    pub(super) body: Option<String>,
    /// `None` for a pending review.
    pub(super) submitted_at: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct CheckRuns {
    pub(super) check_runs: Vec<CheckRun>,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct CheckRun {
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) status: String,
    pub(super) conclusion: Option<String>,
    pub(super) details_url: Option<String>,
    pub(super) html_url: Option<String>,
    #[serde(default)]
    pub(super) output: Output,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Output {
    pub(super) title: Option<String>,
    pub(super) summary: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Statuses {
    pub(super) statuses: Vec<Status>,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct Status {
    #[serde(default)]
    pub(super) context: String,
    #[serde(default)]
    pub(super) state: String,
    pub(super) description: Option<String>,
    pub(super) target_url: Option<String>,
}

/// The answer to a query about a pull request.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PullQueryData {
    pub(super) viewer: Option<Viewer>,
    pub(super) repository: Option<QueriedRepository>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Viewer {
    pub(super) login: String,
    pub(super) database_id: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct QueriedRepository {
    pub(super) pull_request: Option<QueriedPull>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct QueriedPull {
    pub(super) head_ref_oid: String,
    pub(super) review_threads: Connection<Thread>,
    /// Only in the first page; `None` if the token may not see issues.
    pub(super) closing_issues_references: Option<Connection<Issue>>,
}

/// The answer to a query for more comments of a thread.
#[derive(Debug, Deserialize)]
pub(super) struct ThreadQueryData {
    pub(super) node: Option<MoreComments>,
}

#[derive(Debug, Deserialize)]
pub(super) struct MoreComments {
    pub(super) comments: Connection<ThreadComment>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Connection<T> {
    /// Null for nodes that the token may not see.
    pub(super) nodes: Vec<Option<T>>,
    pub(super) page_info: PageInfo,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PageInfo {
    pub(super) has_next_page: bool,
    pub(super) end_cursor: Option<String>,
}

impl PageInfo {
    /// Cursor of the next page.
    pub(super) fn next(self) -> Option<String> {
        self.end_cursor.filter(|_| self.has_next_page)
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Thread {
    pub(super) id: String,
    pub(super) is_resolved: bool,
    pub(super) is_outdated: bool,
    pub(super) path: String,
    pub(super) line: Option<u32>,
    pub(super) start_line: Option<u32>,
    pub(super) original_line: Option<u32>,
    pub(super) original_start_line: Option<u32>,
    pub(super) diff_side: Option<String>,
    pub(super) resolved_by: Option<Actor>,
    pub(super) comments: Connection<ThreadComment>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ThreadComment {
    pub(super) full_database_id: Option<Number>,
    pub(super) state: Option<String>,
    pub(super) viewer_did_author: bool,
    pub(super) author: Option<Actor>,
    pub(super) author_association: String,
    pub(super) created_at: String,
    pub(super) body: String,
    pub(super) url: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Actor {
    #[serde(default, rename = "__typename")]
    pub(super) kind: String,
    pub(super) login: String,
}

/// A large number, which GraphQL sends as text.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Number {
    Text(String),
    Plain(u64),
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Issue {
    pub(super) number: u64,
    pub(super) title: String,
    pub(super) body: String,
    pub(super) url: String,
    pub(super) repository: IssueRepository,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct IssueRepository {
    pub(super) name_with_owner: String,
}
