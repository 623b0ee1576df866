//! What people may do: roles in a repository, reactions, and what a signed-in user sees.

use serde_json::{Value, json};

use super::super::json::View;
use super::super::state::{App, FakeGitHubState, Repository};
use super::super::time::format_time;
use super::writes::{RepoName, fields};
use super::{Call, Reply, ReplyResult};

/// Reactions that GitHub knows.
const REACTIONS: [&str; 8] = ["+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"];

/// The role of an account. Anyone may read a public repository.
pub(super) fn permission(view: &View<'_>, repository: &Repository, login: &str) -> ReplyResult {
    if view.state.account(login).is_none() {
        return Err(Reply::refused(404, &format!("{login} is not a user")));
    }
    let role = repository.role(login);
    let permission = match role {
        "admin" => "admin",
        "maintain" | "write" => "write",
        "triage" | "read" => "read",
        _ => "none",
    };
    let user = view.user(login);
    Ok(Reply::with(200, json!({ "permission": permission, "role_name": role, "user": user })))
}

/// Adds a reaction to a comment.
pub(super) fn react(
    state: &mut FakeGitHubState,
    server: &str,
    call: &Call,
    (owner, name): RepoName<'_>,
    id: &str,
) -> ReplyResult {
    let sent = fields(state, "a reaction", &call.body, &["content"])?;
    let content = sent.get("content").and_then(Value::as_str).unwrap_or_default().to_owned();
    if !REACTIONS.contains(&content.as_str()) {
        return Err(Reply::invalid("Validation Failed", json!(["content is not a reaction"])));
    }
    let comment: u64 = id.parse().map_err(|_| Reply::not_found())?;
    let (reaction, created) = (state.id(), state.tick());
    let login = call.login.clone().unwrap_or_default();
    let repository = state.repository_mut(owner, name).ok_or_else(Reply::not_found)?;
    let has_comment = repository.pulls.values().any(|pull| {
        let in_threads = pull.threads.iter().flat_map(|thread| &thread.comments);
        pull.comments.iter().chain(in_threads).any(|one| one.id == comment)
    });
    if !has_comment {
        return Err(Reply::not_found());
    }
    repository.reactions.push((comment, content.clone()));
    let user = View { state, server }.user(&login);
    let body = json!({
        "id": reaction, "node_id": format!("REA_{reaction}"), "user": user, "content": content,
        "created_at": format_time(created),
    });
    Ok(Reply::with(201, body))
}

/// Installations with a repository that the user has a role in.
pub(super) fn installations(view: &View<'_>, call: &Call) -> ReplyResult {
    let login = user(call)?;
    let apps = view.state.apps.iter();
    let visible = apps.filter(|app| visible_repositories(view, app, login).next().is_some());
    let installations: Vec<Value> = visible.map(|app| view.installation(app)).collect();
    let total = installations.len();
    Ok(Reply::with(200, json!({ "total_count": total, "installations": installations })))
}

/// Repositories of an installation that the user has a role in.
pub(super) fn installation_repositories(view: &View<'_>, call: &Call, id: &str) -> ReplyResult {
    let login = user(call)?;
    let app = view.state.apps.iter().find(|app| app.installation.0.to_string() == id);
    let app = app.ok_or_else(Reply::not_found)?;
    let repositories: Vec<Value> = visible_repositories(view, app, login)
        .map(|repository| {
            let mut value = view.repository(repository);
            let role = repository.roles.get(login).map_or("admin", String::as_str);
            let rank = ["read", "triage", "write", "maintain", "admin"];
            let rank = rank.iter().position(|known| *known == role).unwrap_or_default();
            value["permissions"] = json!({
                "admin": rank >= 4, "maintain": rank >= 3, "push": rank >= 2, "triage": rank >= 1,
                "pull": true,
            });
            value
        })
        .collect();
    if repositories.is_empty() {
        return Err(Reply::not_found());
    }
    let total = repositories.len();
    Ok(Reply::with(200, json!({ "total_count": total, "repositories": repositories })))
}

fn visible_repositories<'a>(
    view: &'a View<'_>,
    app: &'a App,
    login: &'a str,
) -> impl Iterator<Item = &'a Repository> {
    view.state.repositories.iter().filter(move |repository| {
        !repository.gone
            && repository.owner == app.installation.1
            && (repository.owner == login || repository.roles.contains_key(login))
    })
}

fn user(call: &Call) -> Result<&str, Reply> {
    call.login.as_deref().ok_or_else(|| Reply::refused(401, "Requires authentication"))
}
