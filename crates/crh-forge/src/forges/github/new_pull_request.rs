//! Opens a pull request for a branch that is already pushed.

use serde::Deserialize;
use serde_json::json;

use super::{GitHubClient, Repo};
use crate::ForgeError;
use crate::posting::Verb;

/// A pull request to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPullRequest {
    /// Title.
    pub title: String,
    /// Description.
    pub body: String,
    /// Owner of the branch, and the branch.
    pub head: (String, String),
    /// Target branch; `None` for the repository's default branch.
    pub base: Option<String>,
}

#[derive(Deserialize)]
struct RepositoryReply {
    default_branch: String,
}

#[derive(Deserialize)]
struct OpenedPullReply {
    html_url: String,
}

/// Opens a pull request and returns its address. Does not retry an unconfirmed request.
pub async fn open_pull_request(
    client: &GitHubClient,
    repo: &Repo,
    pull_request: &NewPullRequest,
) -> Result<String, ForgeError> {
    let base = match &pull_request.base {
        Some(base) => base.clone(),
        None => client.get_json::<RepositoryReply>(&format!("/repos/{repo}")).await?.default_branch,
    };
    let (owner, branch) = &pull_request.head;
    let body = json!({
        "title": pull_request.title, "body": pull_request.body, "head": format!("{owner}:{branch}"), "base": base,
    });
    let path = format!("/repos/{repo}/pulls");
    let reply = client.write(Verb::Post, &path, &body).await?;
    let opened_pull: OpenedPullReply = serde_json::from_value(reply).map_err(|error| {
        ForgeError::Ambiguous { request: format!("POST {path}"), message: error.to_string() }
    })?;
    Ok(opened_pull.html_url)
}
