//! Git data: reads commits, trees and blobs, and writes a commit to a branch, with real objects.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::super::json::View;
use super::super::scenario::PullHandle;
use super::super::state::{FakeGitHubState, PullRequest, Repository};
use super::writes::{RepoName, fields};
use super::{Call, Reply, ReplyResult};

/// Answers a read: `commits`, `trees` or `blobs`.
pub(super) fn read(view: &View<'_>, repository: &Repository, kind: &str, id: &str) -> ReplyResult {
    let object_type = match kind {
        "commits" => "commit",
        "trees" => "tree",
        "blobs" => "blob",
        _ => return Err(Reply::not_found()),
    };
    let bare = &repository.bare;
    if bare.object_type(id).as_deref() != Some(object_type) {
        return Err(Reply::not_found());
    }
    let api = format!("{}/repos/{}/git", view.api(), repository.full_name());
    let body = match object_type {
        "commit" => commit(&api, repository, id),
        "tree" => {
            let entries = bare.tree(id).into_iter().map(|(mode, kind, sha, path)| {
                let url = format!("{api}/{kind}s/{sha}");
                json!({ "path": path, "mode": mode, "type": kind, "sha": sha, "url": url })
            });
            let entries: Vec<Value> = entries.collect();
            json!({ "sha": id, "url": format!("{api}/trees/{id}"), "tree": entries, "truncated": false })
        }
        _ => {
            let bytes = bare.blob(id);
            json!({
                "sha": id, "node_id": format!("B_{id}"), "url": format!("{api}/blobs/{id}"),
                "size": bytes.len(), "content": wrapped(&STANDARD.encode(&bytes)),
                "encoding": "base64",
            })
        }
    };
    Ok(Reply::with(200, body))
}

fn commit(api: &str, repository: &Repository, id: &str) -> Value {
    let (tree, parents, message) = repository.bare.commit_parts(id);
    let person = json!({ "name": "C", "email": "c@example.com", "date": "2026-01-01T00:00:00Z" });
    let url = |sha: &str| format!("{api}/commits/{sha}");
    let parents: Vec<Value> = parents
        .iter()
        .map(|sha| json!({ "sha": sha, "url": url(sha), "html_url": url(sha) }))
        .collect();
    json!({
        "sha": id, "node_id": format!("C_{id}"), "url": url(id), "html_url": url(id),
        "author": person, "committer": person, "message": message,
        "tree": { "sha": tree, "url": format!("{api}/trees/{tree}") }, "parents": parents,
        "verification": {
            "verified": false, "reason": "unsigned", "signature": null, "payload": null,
            "verified_at": null,
        },
    })
}

/// GitHub breaks base64 into lines.
fn wrapped(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(60).map(|line| line.iter().collect::<String>() + "\n").collect()
}

/// Creates a tree from another one with some files replaced.
pub(super) fn create_tree(
    state: &mut FakeGitHubState,
    server: &str,
    call: &Call,
    (owner, name): RepoName<'_>,
) -> ReplyResult {
    let sent = fields(state, "a tree", &call.body, &["base_tree", "tree"])?.clone();
    let entries = sent.get("tree").and_then(Value::as_array).cloned().unwrap_or_default();
    for entry in &entries {
        fields(state, "a tree entry", entry, &["path", "mode", "type", "content"])?;
    }
    let repository = state.repository(owner, name).ok_or_else(Reply::not_found)?;
    let base = sent.get("base_tree").and_then(Value::as_str).unwrap_or_default();
    if repository.bare.object_type(base).as_deref() != Some("tree") {
        return Err(Reply::refused(404, "base_tree is not a tree"));
    }
    let mut files = Vec::new();
    for entry in &entries {
        let word = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        let (path, mode) = (word("path"), word("mode"));
        let is_valid = !path.is_empty() && !path.starts_with('/') && word("type") == "blob";
        if !is_valid || !["100644", "100755"].contains(&mode.as_str()) {
            return Err(Reply::refused(422, "Must supply a valid tree.mode"));
        }
        files.push((path, mode, word("content")));
    }
    let tree = repository.bare.write_tree(base, &files);
    let view = View { state, server };
    let repository = view.state.repository(owner, name).ok_or_else(Reply::not_found)?;
    let reply = read(&view, repository, "trees", &tree)?;
    Ok(Reply::with(201, reply.body))
}

/// Creates a commit.
pub(super) fn create_commit(
    state: &mut FakeGitHubState,
    server: &str,
    call: &Call,
    (owner, name): RepoName<'_>,
) -> ReplyResult {
    let sent = fields(state, "a commit", &call.body, &["message", "tree", "parents"])?.clone();
    let word = |key: &str| sent.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let parents = sent.get("parents").and_then(Value::as_array).cloned().unwrap_or_default();
    let parents: Vec<String> =
        parents.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let repository = state.repository(owner, name).ok_or_else(Reply::not_found)?;
    let is_type = |id: &str, kind: &str| repository.bare.object_type(id).as_deref() == Some(kind);
    if !is_type(&word("tree"), "tree") || !parents.iter().all(|parent| is_type(parent, "commit")) {
        return Err(Reply::refused(422, "Tree SHA does not exist"));
    }
    let sha = repository.bare.write_commit(&word("tree"), &parents, &word("message"));
    let api = format!("{server}/api/v3/repos/{owner}/{name}/git");
    Ok(Reply::with(201, commit(&api, repository, &sha)))
}

/// Moves a branch, only forward. A request that does not forbid a forced move is a surprise.
pub(super) fn update_branch(
    state: &mut FakeGitHubState,
    server: &str,
    call: &Call,
    (owner, name): RepoName<'_>,
    branch: &str,
) -> ReplyResult {
    let sent = fields(state, "a ref", &call.body, &["sha", "force"])?.clone();
    let sha = sent.get("sha").and_then(Value::as_str).unwrap_or_default().to_owned();
    if sent.get("force") != Some(&json!(false)) {
        state.surprises.push("a branch is moved by force".to_owned());
    }
    let repository = state.repository(owner, name).ok_or_else(Reply::not_found)?;
    let tip = repository.bare.tip(branch);
    let tip = tip.ok_or_else(|| Reply::refused(422, "Reference does not exist"))?;
    if repository.bare.object_type(&sha).as_deref() != Some("commit") {
        return Err(Reply::refused(422, "Object does not exist"));
    }
    if repository.bare.merge_base(&tip, &sha).as_ref() != Some(&tip) {
        return Err(Reply::refused(422, "Update is not a fast forward"));
    }
    repository.bare.move_branch(branch, &sha);
    let is_from_here = |pull: &&PullRequest| {
        pull.open && pull.head == branch && pull.head_repository == repository.id
    };
    let numbers: Vec<u64> =
        repository.pulls.values().filter(is_from_here).map(|pull| pull.number).collect();
    for number in numbers {
        let handle = PullHandle { repository: format!("{owner}/{name}"), number };
        state.push(&handle).map_err(|_| Reply::not_found())?;
    }
    let api = format!("{server}/api/v3/repos/{owner}/{name}/git");
    let body = json!({
        "ref": format!("refs/heads/{branch}"), "node_id": "REF_1",
        "url": format!("{api}/refs/heads/{branch}"),
        "object": { "type": "commit", "sha": sha, "url": format!("{api}/commits/{sha}") },
    });
    Ok(Reply::with(200, body))
}
