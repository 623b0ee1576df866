//! Code and conversations at GitHub: reads a file at the head, commits to a branch, suggests a fix,
//! and reads, answers and resolves a conversation about an issue.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::forge_access::ForgeFailure;
use crate::github_app::{GitHubAccess, list_pages};
use crate::job::ChangeId;
use crh_forge::ForgeError;
use crh_forge::posting::Verb;
use crh_review::identity::is_key;

/// Largest file that crh changes, in bytes.
const FILE_MAX: usize = 1 << 20;

/// Deepest path that crh looks up: one request per folder.
const DEPTH_MAX: usize = 40;

/// Most pages of conversations, with 50 each.
const THREAD_PAGES_MAX: usize = 40;

/// Modes of files that crh changes. Links and submodules have others.
const FILE_MODES: [&str; 2] = ["100644", "100755"];

const THREADS_QUERY: &str =
    "query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      reviewThreads(first: 50, after: $after) {
        pageInfo { hasNextPage endCursor }
        nodes {
          id isResolved
          root: comments(first: 1) { nodes { fullDatabaseId viewerDidAuthor body } }
          latest: comments(last: 50) { nodes { fullDatabaseId viewerDidAuthor body } }
        }
      }
    }
  }
}";

const RESOLVE: &str = "mutation($id: ID!) { resolveReviewThread(input: { threadId: $id }) { thread { id isResolved } } }";

/// Head of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullHead {
    /// Commit.
    pub commit: String,
    /// Branch.
    pub branch: String,
    /// Whether the branch is in the repository of the pull request.
    pub is_own_branch: bool,
}

/// A text file at a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadFile {
    /// Mode in git's words.
    pub mode: String,
    /// Tree of the commit.
    pub tree: String,
    /// Content.
    pub text: String,
}

/// A commit that changes one file.
#[derive(Debug, Clone, Copy)]
pub struct FileCommit<'a> {
    /// Branch to commit to.
    pub branch: &'a str,
    /// Commit that the branch must have.
    pub parent: &'a str,
    /// The file as it is.
    pub file: &'a HeadFile,
    /// Its path.
    pub path: &'a str,
    /// Its new content.
    pub text: &'a str,
    /// Message.
    pub message: &'a str,
}

/// What became of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitResult {
    /// The branch has the commit.
    Committed(String),
    /// GitHub refused: the branch moved, is protected, or the App may not write. Nothing changed.
    Refused,
}

/// A conversation that crh opened about an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnConversation {
    /// Id for GraphQL.
    pub thread: String,
    /// Whether it is resolved.
    pub resolved: bool,
    /// Key of the issue.
    pub issue_key: String,
    /// Texts of crh's own last comments.
    pub own_texts: Vec<String>,
}

#[derive(Deserialize)]
struct PullReply {
    head: HeadReply,
}

#[derive(Deserialize)]
struct HeadReply {
    sha: String,
    #[serde(rename = "ref")]
    branch: String,
    repo: Option<RepoReply>,
}

#[derive(Deserialize)]
struct RepoReply {
    full_name: String,
}

#[derive(Deserialize)]
struct CommitReply {
    message: String,
    tree: ObjectReply,
}

#[derive(Deserialize)]
struct ObjectReply {
    sha: String,
}

#[derive(Deserialize)]
struct TreeReply {
    tree: Vec<TreeEntry>,
}

#[derive(Deserialize)]
struct TreeEntry {
    path: String,
    mode: String,
    #[serde(rename = "type")]
    kind: String,
    sha: String,
}

#[derive(Deserialize)]
struct BlobReply {
    content: String,
    encoding: String,
    #[serde(default)]
    size: usize,
}

#[derive(Deserialize)]
struct LineComment {
    #[serde(default)]
    body: String,
    user: Option<UserReply>,
}

#[derive(Deserialize)]
struct UserReply {
    login: String,
}

impl GitHubAccess {
    /// Head of a pull request.
    pub async fn pull_head(&self, change: &ChangeId) -> Result<PullHead, ForgeFailure> {
        let repository = &change.repository;
        let path = format!("/repos/{repository}/pulls/{}", change.number);
        let HeadReply { sha, branch, repo } = self.get::<PullReply>(repository, &path).await?.head;
        let is_own_branch =
            repo.is_some_and(|repo| repo.full_name.eq_ignore_ascii_case(repository));
        Ok(PullHead { commit: sha, branch, is_own_branch })
    }

    /// Message of a commit.
    pub async fn commit_message(
        &self,
        repository: &str,
        commit: &str,
    ) -> Result<String, ForgeFailure> {
        Ok(self.commit_reply(repository, commit).await?.message)
    }

    /// A text file at a commit. `None` if there is no such file, or if it is too large, a link or
    /// not UTF-8.
    pub async fn file_at(
        &self,
        repository: &str,
        commit: &str,
        path: &str,
    ) -> Result<Option<HeadFile>, ForgeFailure> {
        let tree = self.commit_reply(repository, commit).await?.tree.sha;
        let parts: Vec<&str> = path.split('/').collect();
        if parts.len() > DEPTH_MAX {
            return Ok(None);
        }
        let mut id = tree.clone();
        for (index, part) in parts.iter().enumerate() {
            let address = format!("/repos/{repository}/git/trees/{id}");
            let entries: TreeReply = self.get(repository, &address).await?;
            let Some(entry) = entries.tree.into_iter().find(|entry| entry.path == *part) else {
                return Ok(None);
            };
            let is_last = index + 1 == parts.len();
            match entry.kind.as_str() {
                "tree" if !is_last => id = entry.sha,
                "blob" if is_last && FILE_MODES.contains(&entry.mode.as_str()) => {
                    let address = format!("/repos/{repository}/git/blobs/{}", entry.sha);
                    let text = decode(self.get(repository, &address).await?);
                    return Ok(text.map(|text| HeadFile { mode: entry.mode, tree, text }));
                }
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    async fn commit_reply(
        &self,
        repository: &str,
        commit: &str,
    ) -> Result<CommitReply, ForgeFailure> {
        self.get(repository, &format!("/repos/{repository}/git/commits/{commit}")).await
    }

    /// Commits a file to a branch that still has the expected commit.
    pub async fn commit_file(
        &self,
        repository: &str,
        commit: &FileCommit<'_>,
    ) -> Result<CommitResult, ForgeFailure> {
        let FileCommit { branch, parent, file, path, text, message } = commit;
        let api = format!("/repos/{repository}/git");
        let entry = json!({ "path": path, "mode": file.mode, "type": "blob", "content": text });
        let tree = json!({ "base_tree": file.tree, "tree": [entry] });
        let Some(tree) =
            self.git_write(repository, Verb::Post, &format!("{api}/trees"), &tree).await?
        else {
            return Ok(CommitResult::Refused);
        };
        let new = json!({ "message": message, "tree": tree["sha"], "parents": [parent] });
        let Some(new) =
            self.git_write(repository, Verb::Post, &format!("{api}/commits"), &new).await?
        else {
            return Ok(CommitResult::Refused);
        };
        // Without force, GitHub refuses unless the branch has the parent.
        let moved = json!({ "sha": new["sha"], "force": false });
        let address = format!("{api}/refs/heads/{}", encode(branch));
        let moved = self.git_write(repository, Verb::Patch, &address, &moved).await?;
        let sha = new["sha"].as_str().unwrap_or_default().to_owned();
        Ok(moved.map_or(CommitResult::Refused, |_| CommitResult::Committed(sha)))
    }

    /// Sends a write. `None` if GitHub refused it.
    async fn git_write(
        &self,
        repository: &str,
        verb: Verb,
        path: &str,
        body: &Value,
    ) -> Result<Option<Value>, ForgeFailure> {
        match self.client(repository)?.write(verb, path, body).await {
            Ok(reply) => Ok(Some(reply)),
            // GitHub answers 404 for what a token may not write.
            Err(
                ForgeError::Forbidden { .. }
                | ForgeError::Refused { .. }
                | ForgeError::NotFound { .. },
            ) => Ok(None),
            Err(error) => Err(self.failure(error)),
        }
    }

    /// Whether a line comment of an App has this text.
    pub async fn has_line_comment(
        &self,
        change: &ChangeId,
        text: &str,
    ) -> Result<bool, ForgeFailure> {
        let path = format!("/repos/{}/pulls/{}/comments", change.repository, change.number);
        let client = self.client(&change.repository)?;
        let comments = list_pages(&client, &path, |page: Vec<LineComment>| page).await;
        let comments = comments.map_err(|error| self.failure(error))?;
        Ok(comments.iter().any(|comment| {
            let by_app = comment.user.as_ref().is_some_and(|user| user.login.ends_with("[bot]"));
            by_app && comment.body.contains(text)
        }))
    }

    /// Comments on lines of the head. Returns whether GitHub took it: the diff may not show them.
    pub async fn comment_on_lines(
        &self,
        change: &ChangeId,
        head: &str,
        (path, first, last): (&str, u32, u32),
        body: &str,
    ) -> Result<bool, ForgeFailure> {
        let mut comment = json!({ "path": path, "body": body, "line": last, "side": "RIGHT" });
        if first < last {
            comment["start_line"] = json!(first);
            comment["start_side"] = json!("RIGHT");
        }
        let review = json!({ "commit_id": head, "event": "COMMENT", "comments": [comment] });
        let address = format!("/repos/{}/pulls/{}/reviews", change.repository, change.number);
        let reply = self.git_write(&change.repository, Verb::Post, &address, &review).await?;
        Ok(reply.is_some())
    }

    /// The conversation that starts with a comment, if crh opened it about an issue.
    pub async fn own_conversation(
        &self,
        change: &ChangeId,
        root: u64,
    ) -> Result<Option<OwnConversation>, ForgeFailure> {
        let (owner, name) = change.repository.split_once('/').unwrap_or_default();
        let number: u64 = change.number.parse().unwrap_or_default();
        let client = self.client(&change.repository)?;
        let mut after = Value::Null;
        for _ in 0..THREAD_PAGES_MAX {
            let variables =
                json!({ "owner": owner, "name": name, "number": number, "after": after });
            let data: Value = client
                .graphql(THREADS_QUERY, &variables)
                .await
                .map_err(|error| self.failure(error))?;
            let threads = &data["repository"]["pullRequest"]["reviewThreads"];
            let nodes = threads["nodes"].as_array().cloned().unwrap_or_default();
            let is_root = |thread: &&Value| has_id(&thread["root"]["nodes"][0], root);
            if let Some(thread) = nodes.iter().find(is_root) {
                return Ok(own_conversation(thread));
            }
            if threads["pageInfo"]["hasNextPage"] != true {
                return Ok(None);
            }
            after = threads["pageInfo"]["endCursor"].clone();
        }
        Ok(None)
    }

    /// Replies in the conversation that starts with a comment.
    pub async fn reply(
        &self,
        change: &ChangeId,
        root: u64,
        body: &str,
    ) -> Result<(), ForgeFailure> {
        let (repository, number) = (&change.repository, &change.number);
        let path = format!("/repos/{repository}/pulls/{number}/comments/{root}/replies");
        self.write(repository, &path, json!({ "body": body })).await
    }

    /// Resolves a conversation. Doing it twice changes nothing.
    pub async fn resolve(&self, repository: &str, thread: &str) -> Result<(), ForgeFailure> {
        let (client, variables) = (self.client(repository)?, json!({ "id": thread }));
        let result = client.graphql::<Value>(RESOLVE, &variables).await;
        result.map(|_| ()).map_err(|error| self.failure(error))
    }
}

fn own_conversation(thread: &Value) -> Option<OwnConversation> {
    let root = &thread["root"]["nodes"][0];
    if root["viewerDidAuthor"] != true {
        return None;
    }
    let latest = thread["latest"]["nodes"].as_array().cloned().unwrap_or_default();
    let own = latest.iter().filter(|comment| comment["viewerDidAuthor"] == true);
    Some(OwnConversation {
        thread: thread["id"].as_str()?.to_owned(),
        resolved: thread["isResolved"] == true,
        issue_key: issue_key(root["body"].as_str()?)?.to_owned(),
        own_texts: own.filter_map(|comment| comment["body"].as_str()).map(str::to_owned).collect(),
    })
}

/// GitHub sends large ids as text.
fn has_id(comment: &Value, id: u64) -> bool {
    let found = &comment["fullDatabaseId"];
    found.as_u64() == Some(id) || found.as_str() == Some(id.to_string().as_str())
}

/// The key in the marker of a comment, of any instance of crh that uses this account.
fn issue_key(body: &str) -> Option<&str> {
    let line = body.trim_end().lines().next_back()?;
    let marker = line.strip_prefix("<!-- crh:")?.strip_suffix(" -->")?;
    let (_, key) = marker.rsplit_once(':')?;
    is_key(key).then_some(key)
}

/// The text of a blob. `None` if it is too large or not UTF-8.
fn decode(blob: BlobReply) -> Option<String> {
    if blob.size > FILE_MAX || blob.encoding != "base64" {
        return None;
    }
    let packed: String = blob.content.split_whitespace().collect();
    String::from_utf8(STANDARD.decode(packed).ok()?).ok()
}

/// A branch name as part of an address.
fn encode(branch: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    branch
        .bytes()
        .map(|byte| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branch_name_cannot_leave_its_address() {
        assert_eq!(encode("feature/a b?c#d%é"), "feature/a%20b%3Fc%23d%25%C3%A9");
    }

    #[test]
    fn only_a_marker_in_the_last_line_names_an_issue() {
        let key = "00112233445566aa";
        assert_eq!(issue_key(&format!("**P1** t\n\n<!-- crh:crh:{key} -->\n")), Some(key));
        assert_eq!(issue_key(&format!("<!-- crh:crh:{key} -->\nquoted")), None);
        assert_eq!(issue_key("<!-- crh:crh:state:abc -->"), None);
        assert_eq!(issue_key(""), None);
    }
}
