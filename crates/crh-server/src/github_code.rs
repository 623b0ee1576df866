//! Code and conversations at GitHub: reads a file at the head, commits to a branch, suggests a fix,
//! and reads, answers and resolves a conversation about an issue.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::forge_access::ForgeResult;
use crate::github_app::GitHubAccess;
use crate::job::ChangeId;
use crh_forge::ForgeError;
use crh_forge::forge_code::{
    CommitResult, FILE_MODES, FileCommit, FileVersion, FixSuggestion, HeadFile, OwnConversation,
    PullHead, decode, encode, issue_key,
};
use crh_forge::posting::Verb;

/// Deepest path that crh looks up: one request per folder.
const DEPTH_MAX: usize = 40;

/// Most pages of conversations that crh reads. A page has 50 conversations.
const THREAD_PAGES_MAX: usize = 40;

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

impl GitHubAccess {
    /// Head of a pull request.
    pub async fn pull_head(&self, change: &ChangeId) -> ForgeResult<PullHead> {
        let repository = &change.repository;
        let path = format!("/repos/{repository}/pulls/{}", change.number);
        let HeadReply { sha, branch, repo } = self.get::<PullReply>(repository, &path).await?.head;
        let is_own_branch =
            repo.is_some_and(|repo| repo.full_name.eq_ignore_ascii_case(repository));
        Ok(PullHead { commit: sha, branch, is_own_branch })
    }

    /// Message of a commit.
    pub async fn commit_message(&self, repository: &str, commit: &str) -> ForgeResult<String> {
        Ok(self.commit_reply(repository, commit).await?.message)
    }

    /// A text file at a commit. `None` if there is no such file, or if it is too large, a symlink
    /// or not UTF-8.
    pub async fn file_at(
        &self,
        repository: &str,
        commit: &str,
        path: &str,
    ) -> ForgeResult<Option<HeadFile>> {
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
                    let version = FileVersion::Entry { mode: entry.mode, tree };
                    return Ok(text.map(|text| HeadFile { text, version }));
                }
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    async fn commit_reply(&self, repository: &str, commit: &str) -> ForgeResult<CommitReply> {
        self.get(repository, &format!("/repos/{repository}/git/commits/{commit}")).await
    }

    /// Commits a file to a branch that still has the expected commit.
    pub async fn commit_file(
        &self,
        repository: &str,
        commit: &FileCommit<'_>,
    ) -> ForgeResult<CommitResult> {
        let FileCommit { branch, parent, file, path, text, message } = commit;
        let api = format!("/repos/{repository}/git");
        let FileVersion::Entry { mode, tree } = &file.version else {
            return Ok(CommitResult::Refused);
        };
        let entry = json!({ "path": path, "mode": mode, "type": "blob", "content": text });
        let tree = json!({ "base_tree": tree, "tree": [entry] });
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
        // Without force, GitHub refuses if the branch got a commit that the new one does not have
        // among its ancestors.
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
    ) -> ForgeResult<Option<Value>> {
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

    /// Suggests a fix at its lines of the head, once. Returns whether GitHub accepted it: GitHub
    /// refuses lines that the diff does not show.
    pub async fn suggest(
        &self,
        change: &ChangeId,
        head: &str,
        suggestion: &FixSuggestion<'_>,
    ) -> ForgeResult<bool> {
        let pull = format!("/repos/{}/pulls/{}", change.repository, change.number);
        let client = self.client(&change.repository)?;
        let comments = format!("{pull}/comments");
        if self.has_mark(&client, &comments, suggestion.mark).await? {
            return Ok(true);
        }
        let ((first, last), body) = (suggestion.lines, suggestion.body("suggestion"));
        let mut comment =
            json!({ "path": suggestion.path, "body": body, "line": last, "side": "RIGHT" });
        if first < last {
            comment["start_line"] = json!(first);
            comment["start_side"] = json!("RIGHT");
        }
        let review = json!({ "commit_id": head, "event": "COMMENT", "comments": [comment] });
        let address = format!("{pull}/reviews");
        let reply = self.git_write(&change.repository, Verb::Post, &address, &review).await?;
        Ok(reply.is_some())
    }

    /// The conversation that starts with this comment, if crh wrote the comment about an issue.
    pub async fn own_conversation(
        &self,
        change: &ChangeId,
        root: u64,
    ) -> ForgeResult<Option<OwnConversation>> {
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
                return Ok(own_conversation(thread, root));
            }
            if threads["pageInfo"]["hasNextPage"] != true {
                return Ok(None);
            }
            after = threads["pageInfo"]["endCursor"].clone();
        }
        Ok(None)
    }

    /// Posts a reply in the conversation that starts with the comment `root`.
    pub async fn reply(&self, change: &ChangeId, root: u64, body: &str) -> ForgeResult<()> {
        let (repository, number) = (&change.repository, &change.number);
        let path = format!("/repos/{repository}/pulls/{number}/comments/{root}/replies");
        self.write(repository, &path, json!({ "body": body })).await
    }

    /// Resolves a conversation. Doing it twice changes nothing.
    pub async fn resolve(&self, repository: &str, thread: &str) -> ForgeResult<()> {
        let (client, variables) = (self.client(repository)?, json!({ "id": thread }));
        let result = client.graphql::<Value>(RESOLVE, &variables).await;
        result.map(|_| ()).map_err(|error| self.failure(error))
    }
}

fn own_conversation(thread: &Value, id: u64) -> Option<OwnConversation> {
    let root = &thread["root"]["nodes"][0];
    if root["viewerDidAuthor"] != true {
        return None;
    }
    let latest = thread["latest"]["nodes"].as_array().cloned().unwrap_or_default();
    let own = latest.iter().filter(|comment| comment["viewerDidAuthor"] == true);
    Some(OwnConversation {
        thread: thread["id"].as_str()?.to_owned(),
        root: id,
        spot: None,
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
