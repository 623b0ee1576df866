//! Opens a pull request for a branch that stands there already.

use serde::Deserialize;
use serde_json::json;

use super::{Client, Repo, Verb};
use crate::ForgeError;

/// What is to be proposed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPull {
    /// What it is called.
    pub title: String,
    /// What it says.
    pub body: String,
    /// Whose branch it is, and the branch.
    pub head: (String, String),
    /// The branch that it is proposed to; none for the one that changes go to where nobody says.
    pub base: Option<String>,
}

#[derive(Deserialize)]
struct Repository {
    default_branch: String,
}

#[derive(Deserialize)]
struct Opened {
    html_url: String,
}

/// Opens it in a repository; its address. A request of which nobody knows what became is not repeated.
pub async fn open_pull(client: &Client, repo: &Repo, new: &NewPull) -> Result<String, ForgeError> {
    let base = match &new.base {
        Some(base) => base.clone(),
        None => client.get_json::<Repository>(&format!("/repos/{repo}")).await?.default_branch,
    };
    let (owner, branch) = &new.head;
    let body = json!({
        "title": new.title, "body": new.body, "head": format!("{owner}:{branch}"), "base": base,
    });
    let path = format!("/repos/{repo}/pulls");
    let opened = client.write(Verb::Post, &path, &body).await?;
    let opened: Opened = serde_json::from_value(opened).map_err(|error| ForgeError::Ambiguous {
        what: format!("POST {path}"),
        message: error.to_string(),
    })?;
    Ok(opened.html_url)
}
