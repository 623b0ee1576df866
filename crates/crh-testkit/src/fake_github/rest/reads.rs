//! REST reads.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::json::View;
use super::super::state::{
    CheckRun, Comment, PENDING, Permission, PullRequest, Repository, Review, Status, Thread,
};
use super::super::time::now;
use super::{Call, Reply, ReplyResult, git_data, issues, page, people};

/// Maximum number of files that GitHub lists.
const MAX_FILES: usize = 3_000;

/// Permissions of which one is required; empty for public data.
pub(super) fn needs(path: &[&str]) -> &'static [Permission] {
    match path {
        ["pulls", ..] => &[Permission::ReadPulls, Permission::WritePulls],
        ["issues", ..] | ["labels", ..] => &[
            Permission::ReadIssues,
            Permission::WriteIssues,
            Permission::ReadPulls,
            Permission::WritePulls,
        ],
        ["git", ..] => &[Permission::Contents, Permission::WriteContents],
        ["commits", _, "check-runs"] => &[Permission::ReadChecks, Permission::WriteChecks],
        ["commits", _, "status"] => &[Permission::ReadStatuses],
        _ => &[],
    }
}

pub(super) fn user(view: &View<'_>, call: &Call) -> ReplyResult {
    let Some(login) = &call.login else {
        return Err(Reply::refused(401, "Requires authentication"));
    };
    if view.state.account(login).is_some_and(|account| account.bot) {
        return Err(Reply::refused(403, "Resource not accessible by integration"));
    }
    Ok(Reply::with(200, view.private_user(login)))
}

pub(super) fn rate_limit() -> Reply {
    let limit = json!({ "limit": 5000, "used": 0, "remaining": 5000, "reset": now() + 3_600 });
    let resources = json!({ "core": limit, "graphql": limit, "search": limit });
    Reply::with(200, json!({ "resources": resources, "rate": limit }))
}

/// Answers a read in a repository.
pub(super) fn answer(
    view: &View<'_>,
    call: &Call,
    repository: &Repository,
    path: &[&str],
) -> ReplyResult {
    let reply = match path {
        [] => Reply::with(200, view.full_repository(repository)),
        ["pulls"] => pulls(view, call, repository),
        ["collaborators", login, "permission"] => {
            return people::permission(view, repository, login);
        }
        ["pulls", number, rest @ ..] => {
            let pull = number.parse().ok().and_then(|number: u64| repository.pulls.get(&number));
            let Some(pull) = pull else { return Err(Reply::not_found()) };
            return of_pull(view, call, repository, pull, rest);
        }
        ["issues"] => issues::list(view, call, repository),
        ["labels", name] => return issues::label(view, repository, name),
        ["issues", "comments", id] => {
            let id: u64 = id.parse().unwrap_or_default();
            let comment = repository.pulls.values().find_map(|pull| {
                let comment = pull.comments.iter().find(|comment| comment.id == id)?;
                Some(view.comment(repository, pull.number, comment))
            });
            Reply::with(200, comment.ok_or_else(Reply::not_found)?)
        }
        ["issues", number, rest @ ..] => return of_issue(view, call, repository, number, rest),
        ["git", kind, id] => return git_data::read(view, repository, kind, id),
        ["commits", sha, "check-runs"] => check_runs(view, call, repository, sha),
        ["commits", sha, "status"] => status(view, call, repository, sha),
        _ => return Err(Reply::not_found()),
    };
    Ok(reply)
}

fn pulls(view: &View<'_>, call: &Call, repository: &Repository) -> Reply {
    let state = call.parameter("state").unwrap_or("open");
    let is_selected = |pull: &PullRequest| {
        let head = format!("{}:{}", pull.head_owner, pull.head);
        let is_state = match state {
            "all" => true,
            "closed" => !pull.open,
            _ => pull.open,
        };
        is_state
            && call.parameter("head").is_none_or(|asked| asked.eq_ignore_ascii_case(&head))
            && call.parameter("base").is_none_or(|asked| asked == pull.base)
    };
    // Newest first, unless the request asks for `asc`.
    let mut pulls: Vec<_> = repository.pulls.values().filter(|pull| is_selected(pull)).collect();
    if call.parameter("direction") != Some("asc") {
        pulls.reverse();
    }
    page(view, call, repository, &pulls, |pull| view.simple_pull(repository, pull))
}

fn of_pull(
    view: &View<'_>,
    call: &Call,
    repository: &Repository,
    pull: &PullRequest,
    path: &[&str],
) -> ReplyResult {
    let number = pull.number;
    let reply = match path {
        [] => Reply::with(200, view.pull(repository, pull)),
        ["files"] => {
            let files = &pull.diff.files[..pull.diff.files.len().min(MAX_FILES)];
            page(view, call, repository, files, |file| view.file(repository, &pull.head_sha, file))
        }
        ["commits"] => {
            page(view, call, repository, &pull.commits, |commit| view.commit(repository, commit))
        }
        ["reviews"] => {
            let is_shown = |review: &&Review| {
                review.state != PENDING || call.login.as_ref() == Some(&review.author)
            };
            let reviews: Vec<&Review> = pull.reviews.iter().filter(is_shown).collect();
            page(view, call, repository, &reviews, |review| view.review(repository, number, review))
        }
        ["comments"] => {
            let mut comments: Vec<(&Thread, &Comment)> = Vec::new();
            for thread in &pull.threads {
                comments.extend(thread.comments.iter().map(|comment| (thread, comment)));
            }
            comments.sort_by_key(|(_, comment)| comment.id);
            page(view, call, repository, &comments, |(thread, comment)| {
                view.review_comment(repository, pull, thread, comment)
            })
        }
        _ => return Err(Reply::not_found()),
    };
    Ok(reply)
}

fn of_issue(
    view: &View<'_>,
    call: &Call,
    repository: &Repository,
    number: &str,
    path: &[&str],
) -> ReplyResult {
    let number: u64 = number.parse().map_err(|_| Reply::not_found())?;
    let pull = repository.pulls.get(&number);
    let issue = repository.issues.get(&number);
    match (path, pull, issue) {
        ([], Some(pull), _) => Ok(Reply::with(200, view.pull_as_issue(repository, pull))),
        ([], None, Some(issue)) => Ok(Reply::with(200, view.issue(repository, issue))),
        (["comments"], Some(pull), _) => {
            Ok(page(view, call, repository, &pull.comments, |comment| {
                view.comment(repository, number, comment)
            }))
        }
        (["comments"], None, Some(_)) => Ok(Reply::with(200, json!([]))),
        _ => Err(Reply::not_found()),
    }
}

fn check_runs(view: &View<'_>, call: &Call, repository: &Repository, sha: &str) -> Reply {
    let has_name = |name: &str| call.parameter("check_name").is_none_or(|asked| asked == name);
    let name = |run: &CheckRun| {
        run.fields.get("name").and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let runs = repository.check_runs.iter();
    let mut runs: Vec<_> = runs.filter(|run| run.head_sha == sha && has_name(&name(run))).collect();
    if call.parameter("filter") != Some("all") {
        // Keep the newest run of each name and App.
        let mut seen_names = BTreeSet::new();
        runs.reverse();
        runs.retain(|run| seen_names.insert((name(run), &run.app)));
        runs.reverse();
    }
    let mut reply = page(view, call, repository, &runs, |run| view.check_run(repository, run));
    let runs_on_page = reply.body.take();
    reply.body = json!({ "total_count": runs.len(), "check_runs": runs_on_page });
    reply
}

fn status(view: &View<'_>, call: &Call, repository: &Repository, sha: &str) -> Reply {
    // Only the newest of each context counts.
    let mut statuses: Vec<_> = Vec::new();
    for status in repository.statuses.iter().filter(|status| status.sha == sha).rev() {
        if !statuses.iter().any(|known: &&Status| known.context == status.context) {
            statuses.push(status);
        }
    }
    let has = |state: &str| statuses.iter().any(|status| status.state == state);
    let state = if has("failure") || has("error") {
        "failure"
    } else if statuses.is_empty() || has("pending") {
        "pending"
    } else {
        "success"
    };
    let mut reply =
        page(view, call, repository, &statuses, |status| view.status(repository, status));
    let statuses_on_page = reply.body.take();
    let url = format!("{}/repos/{}/commits/{sha}", view.api(), repository.full_name());
    reply.body = json!({
        "state": state, "statuses": statuses_on_page, "sha": sha, "total_count": statuses.len(),
        "repository": view.repository(repository), "commit_url": url, "url": format!("{url}/status"),
    });
    reply
}
