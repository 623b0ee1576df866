//! REST writes with GitHub's validation.

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use serde_json::{Map, Value, json};

use super::super::json::View;
use super::super::scenario::{Pull, PullHandle};
use super::super::state::{
    CheckRun, Comment, FakeGitHubState, Permission, PullRequest, Sarif, Thread,
};
use super::{Call, Reply, ReplyResult, check_permission, git_data, issues, people, review};

/// The longest text, in characters.
pub(super) const MAX_BODY: usize = 65_536;

/// Maximum number of annotations per request.
const MAX_ANNOTATIONS: usize = 50;

/// Largest unpacked SARIF report, in bytes. GitHub limits the packed size instead.
const MAX_SARIF: u64 = 64 * 1024 * 1024;

/// Owner and name of a repository.
pub(super) type RepoName<'a> = (&'a str, &'a str);

/// Answers a write in a repository. Writes are atomic.
pub(super) fn answer(
    state: &mut FakeGitHubState,
    server: &str,
    call: &Call,
    name: RepoName<'_>,
    path: &[&str],
) -> ReplyResult {
    let comments = [Permission::WriteIssues, Permission::WritePulls];
    match (call.method.as_str(), path) {
        ("POST", ["pulls"]) => {
            check_permission(state, call, &[Permission::WritePulls])?;
            open_pull(state, server, call, name)
        }
        ("POST", ["pulls", number, "reviews"]) => {
            check_permission(state, call, &[Permission::WritePulls])?;
            review::post(state, server, call, name, number)
        }
        ("POST", ["pulls", number, "reviews", id, "events"]) => {
            check_permission(state, call, &[Permission::WritePulls])?;
            review::submit(state, server, call, (name, number, id))
        }
        ("PUT", ["pulls", number, "reviews", id, "dismissals"]) => {
            check_permission(state, call, &[Permission::WritePulls])?;
            review::dismiss(state, server, call, (name, number, id))
        }
        ("POST", ["issues" | "pulls", "comments", id, "reactions"]) => {
            check_permission(state, call, &comments)?;
            people::react(state, server, call, name, id)
        }
        ("POST", ["pulls", number, "comments", id, "replies"]) => {
            check_permission(state, call, &[Permission::WritePulls])?;
            post_reply(state, server, call, name, (number, id))
        }
        ("POST", ["git", kind @ ("trees" | "commits")]) => {
            check_permission(state, call, &[Permission::WriteContents])?;
            match *kind {
                "trees" => git_data::create_tree(state, server, call, name),
                _ => git_data::create_commit(state, server, call, name),
            }
        }
        ("PATCH", ["git", "refs", "heads", branch @ ..]) => {
            check_permission(state, call, &[Permission::WriteContents])?;
            git_data::update_branch(state, server, call, name, &branch.join("/"))
        }
        ("POST", ["issues"]) => {
            check_permission(state, call, &[Permission::WriteIssues])?;
            issues::create(state, server, call, name)
        }
        ("POST", ["issues", number, "comments"]) => {
            check_permission(state, call, &comments)?;
            post_comment(state, server, call, name, number)
        }
        ("PATCH", ["issues", "comments", id]) => {
            check_permission(state, call, &comments)?;
            change_comment(state, server, call, name, id)
        }
        ("DELETE", ["issues", "comments", id]) => {
            check_permission(state, call, &comments)?;
            delete_comment(state, name, id)
        }
        ("POST", ["check-runs"]) => {
            check_is_app(state, call)?;
            check_run(state, server, call, name, None)
        }
        ("PATCH", ["check-runs", id]) => {
            check_is_app(state, call)?;
            check_run(state, server, call, name, Some(id))
        }
        ("POST", ["code-scanning", "sarifs"]) => {
            check_permission(state, call, &[Permission::WriteSecurity])?;
            sarif(state, server, call, name)
        }
        _ => Err(Reply::not_found()),
    }
}

/// Only Apps can create and change check runs.
fn check_is_app(state: &FakeGitHubState, call: &Call) -> Result<(), Reply> {
    let account = call.login.as_ref().and_then(|login| state.account(login));
    if account.is_some_and(|account| !account.bot) {
        return Err(Reply::refused(403, "You must authenticate via a GitHub App."));
    }
    check_permission(state, call, &[Permission::WriteChecks])
}

/// Fields of a body. Unknown fields are recorded as surprises.
pub(super) fn fields<'a>(
    state: &mut FakeGitHubState,
    what: &str,
    value: &'a Value,
    known: &[&str],
) -> Result<&'a Map<String, Value>, Reply> {
    let Some(fields) = value.as_object() else {
        return Err(Reply::refused(400, "Problems parsing JSON"));
    };
    for field in fields.keys().filter(|field| !known.contains(&field.as_str())) {
        state.surprises.push(format!("{what} has a field that GitHub does not know: `{field}`"));
    }
    Ok(fields)
}

/// The required field `body`, of limited length.
fn text(fields: &Map<String, Value>, resource: &str) -> Result<String, Reply> {
    let refused = |code: &str, message: &str| {
        let error =
            json!({ "resource": resource, "code": code, "field": "body", "message": message });
        Reply::invalid("Validation Failed", json!([error]))
    };
    match fields.get("body").and_then(Value::as_str) {
        None => Err(refused("missing_field", "body is missing")),
        Some(text) if text.trim().is_empty() => Err(refused("custom", "body cannot be blank")),
        Some(text) if text.chars().count() > MAX_BODY => {
            Err(refused("custom", "body is too long (maximum is 65536 characters)"))
        }
        Some(text) => Ok(text.to_owned()),
    }
}

/// Opens a pull request for a pushed branch. A branch has at most one open pull request.
fn open_pull(
    state: &mut FakeGitHubState,
    server: &str,
    call: &Call,
    (owner, name): RepoName<'_>,
) -> ReplyResult {
    let field_names = ["title", "body", "head", "base", "draft", "maintainer_can_modify"];
    let input = fields(state, "a pull request", &call.body, &field_names)?;
    let text = |name: &str| input.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let author = call.login.clone().unwrap_or_default();
    let (head, base) = (text("head"), text("base"));
    let pull = Pull { title: text("title"), body: text("body"), author, ..Pull::default() };
    let refused = |field: &str, message: &str| {
        let error = json!({
            "resource": "PullRequest", "code": "invalid", "field": field, "message": message,
        });
        Reply::invalid("Validation Failed", json!([error]))
    };
    let repository = state.repository(owner, name).ok_or_else(Reply::not_found)?;
    let (head_owner, branch) = head.split_once(':').unwrap_or((owner, &head));
    let is_same = |pull: &PullRequest| {
        pull.open && (pull.head_owner.as_str(), pull.head.as_str()) == (head_owner, branch)
    };
    if repository.pulls.values().any(is_same) {
        let message = format!("A pull request already exists for {head_owner}:{branch}.");
        return Err(refused("head", &message));
    }
    let number = state.open((owner, name), Pull { head: head.clone(), base, ..pull });
    let number = number.ok_or_else(|| refused("head", "there is no such repository"))?;
    let handle = PullHandle { repository: format!("{owner}/{name}"), number };
    if let Err(missing) = state.push(&handle) {
        let repository = state.repository_mut(owner, name).ok_or_else(Reply::not_found)?;
        repository.pulls.remove(&number);
        let field = if missing == branch { "head" } else { "base" };
        return Err(refused(field, "there is no such branch"));
    }
    let view = View { state, server };
    let repository = view.state.repository(owner, name).ok_or_else(Reply::not_found)?;
    Ok(Reply::with(201, view.pull(repository, &repository.pulls[&number])))
}

fn post_comment(
    state: &mut FakeGitHubState,
    server: &str,
    call: &Call,
    (owner, name): RepoName<'_>,
    number: &str,
) -> ReplyResult {
    let body = text(fields(state, "an issue comment", &call.body, &["body"])?, "IssueComment")?;
    let author = call.login.clone().unwrap_or_default();
    let (id, now) = (state.id(), state.tick());
    let repository = state.repository_mut(owner, name).ok_or_else(Reply::not_found)?;
    let number: u64 = number.parse().map_err(|_| Reply::not_found())?;
    let pull = repository.pulls.get_mut(&number).ok_or_else(Reply::not_found)?;
    let comment =
        Comment { id, author, body, created: now, updated: now, review: None, minimized: false };
    pull.comments.push(comment.clone());
    let view = View { state, server };
    let repository = view.state.repository(owner, name).ok_or_else(Reply::not_found)?;
    Ok(Reply::with(201, view.comment(repository, number, &comment)))
}

/// Replies in the thread whose first comment has the given id.
fn post_reply(
    state: &mut FakeGitHubState,
    server: &str,
    call: &Call,
    (owner, name): RepoName<'_>,
    (number, id): (&str, &str),
) -> ReplyResult {
    let body = fields(state, "a reply", &call.body, &["body"])?;
    let body = text(body, "PullRequestReviewComment")?;
    let author = call.login.clone().unwrap_or_default();
    let (new, now) = (state.id(), state.tick());
    let number: u64 = number.parse().map_err(|_| Reply::not_found())?;
    let comment = Comment {
        id: new,
        author,
        body,
        created: now,
        updated: now,
        review: None,
        minimized: false,
    };
    let repository = state.repository_mut(owner, name).ok_or_else(Reply::not_found)?;
    let pull = repository.pulls.get_mut(&number).ok_or_else(Reply::not_found)?;
    let is_first = |thread: &&mut Thread| thread.comments[0].id.to_string() == id;
    let thread = pull.threads.iter_mut().find(is_first).ok_or_else(Reply::not_found)?;
    thread.comments.push(comment.clone());
    let thread = thread.clone();
    let view = View { state, server };
    let repository = view.state.repository(owner, name).ok_or_else(Reply::not_found)?;
    let pull = repository.pulls.get(&number).ok_or_else(Reply::not_found)?;
    Ok(Reply::with(201, view.review_comment(repository, pull, &thread, &comment)))
}

fn change_comment(
    state: &mut FakeGitHubState,
    server: &str,
    call: &Call,
    (owner, name): RepoName<'_>,
    id: &str,
) -> ReplyResult {
    let body = text(fields(state, "an issue comment", &call.body, &["body"])?, "IssueComment")?;
    let now = state.tick();
    let repository = state.repository_mut(owner, name).ok_or_else(Reply::not_found)?;
    let may_change = |login: &str, author: &str, association: &str| {
        // People with push access may edit others' comments.
        login == author || matches!(association, "OWNER" | "MEMBER" | "COLLABORATOR")
    };
    let login = call.login.clone().unwrap_or_default();
    let association = repository.association(&login).to_owned();
    let comment = repository.pulls.values_mut().find_map(|pull| {
        let number = pull.number;
        let comment = pull.comments.iter_mut().find(|comment| comment.id.to_string() == id)?;
        Some((number, comment))
    });
    let (number, comment) = comment.ok_or_else(Reply::not_found)?;
    if !may_change(&login, &comment.author, &association) {
        return Err(Reply::refused(403, "Must have admin rights to Repository."));
    }
    comment.body = body;
    comment.updated = now;
    let comment = comment.clone();
    let view = View { state, server };
    let repository = view.state.repository(owner, name).ok_or_else(Reply::not_found)?;
    Ok(Reply::with(200, view.comment(repository, number, &comment)))
}

fn delete_comment(
    state: &mut FakeGitHubState,
    (owner, name): RepoName<'_>,
    id: &str,
) -> ReplyResult {
    let repository = state.repository_mut(owner, name).ok_or_else(Reply::not_found)?;
    for pull in repository.pulls.values_mut() {
        let count = pull.comments.len();
        pull.comments.retain(|comment| comment.id.to_string() != id);
        if pull.comments.len() < count {
            return Ok(Reply::with(204, Value::Null));
        }
    }
    Err(Reply::not_found())
}

const CHECK_FIELDS: [&str; 10] = [
    "name",
    "head_sha",
    "details_url",
    "external_id",
    "status",
    "started_at",
    "conclusion",
    "completed_at",
    "output",
    "actions",
];

const CONCLUSIONS: [&str; 7] =
    ["action_required", "cancelled", "failure", "neutral", "success", "skipped", "timed_out"];

/// Creates or changes a check run.
fn check_run(
    state: &mut FakeGitHubState,
    server: &str,
    call: &Call,
    (owner, name): RepoName<'_>,
    id: Option<&str>,
) -> ReplyResult {
    let sent = fields(state, "a check run", &call.body, &CHECK_FIELDS)?.clone();
    let annotations = check_annotations(&sent, id.is_none())?;
    let new = state.id();
    let login = call.login.clone().unwrap_or_default();
    let repository = state.repository_mut(owner, name).ok_or_else(Reply::not_found)?;
    let index = match id {
        Some(id) => {
            let position = repository.check_runs.iter().position(|run| run.id.to_string() == id);
            position.ok_or_else(Reply::not_found)?
        }
        None => {
            let head_sha = sent["head_sha"].as_str().unwrap_or_default().to_owned();
            let app = login.trim_end_matches("[bot]").to_owned();
            let (fields, annotations) = (Map::new(), Vec::new());
            repository.check_runs.push(CheckRun { id: new, head_sha, app, fields, annotations });
            repository.check_runs.len() - 1
        }
    };
    let run = &mut repository.check_runs[index];
    run.fields.extend(sent);
    run.annotations.extend(annotations);
    if run.fields.contains_key("conclusion") {
        run.fields.insert("status".to_owned(), json!("completed"));
    }
    let run = run.clone();
    let view = View { state, server };
    let repository = view.state.repository(owner, name).ok_or_else(Reply::not_found)?;
    let status = if id.is_none() { 201 } else { 200 };
    Ok(Reply::with(status, view.check_run(repository, &run)))
}

/// Validates a check run and returns its annotations.
fn check_annotations(sent: &Map<String, Value>, new: bool) -> Result<Vec<Value>, Reply> {
    let refused = |message: String| Reply::invalid("Invalid request.", json!([message]));
    for needed in ["name", "head_sha"] {
        if new && sent.get(needed).and_then(Value::as_str).is_none_or(str::is_empty) {
            return Err(refused(format!("\"{needed}\" wasn't supplied.")));
        }
    }
    let conclusion = sent.get("conclusion").and_then(Value::as_str);
    if conclusion.is_some_and(|word| !CONCLUSIONS.contains(&word)) {
        return Err(refused(format!("{conclusion:?} is not a member of {CONCLUSIONS:?}.")));
    }
    if sent.get("status").is_some_and(|status| status == "completed") && conclusion.is_none() {
        return Err(refused("a completed check run needs a conclusion".to_owned()));
    }
    let Some(output) = sent.get("output") else { return Ok(Vec::new()) };
    if !output["title"].is_string() || !output["summary"].is_string() {
        return Err(refused("\"title\", \"summary\" weren't supplied.".to_owned()));
    }
    for key in ["summary", "text"] {
        let length = output[key].as_str().map_or(0, |text| text.chars().count());
        if length > MAX_BODY - 1 {
            return Err(refused(format!(
                "Only 65535 characters are allowed; {length} were supplied."
            )));
        }
    }
    let annotations = output["annotations"].as_array().cloned().unwrap_or_default();
    if annotations.len() > MAX_ANNOTATIONS {
        let count = annotations.len();
        return Err(refused(format!("No more than 50 items are allowed; {count} were supplied.")));
    }
    for annotation in &annotations {
        let level = annotation["annotation_level"].as_str().unwrap_or_default();
        let lines = annotation["start_line"].as_u64().zip(annotation["end_line"].as_u64());
        if !["notice", "warning", "failure"].contains(&level)
            || lines.is_none_or(|(start, end)| start > end)
            || annotation["path"].as_str().is_none_or(str::is_empty)
            || annotation["message"].as_str().is_none_or(str::is_empty)
        {
            return Err(refused(format!("an annotation is not complete: {annotation}")));
        }
    }
    Ok(annotations)
}

const SARIF_FIELDS: [&str; 7] =
    ["commit_sha", "ref", "sarif", "checkout_uri", "started_at", "tool_name", "validate"];

fn sarif(
    state: &mut FakeGitHubState,
    server: &str,
    call: &Call,
    (owner, name): RepoName<'_>,
) -> ReplyResult {
    let sent = fields(state, "a SARIF upload", &call.body, &SARIF_FIELDS)?;
    let word = |key: &str| sent.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (commit, reference, packed) = (word("commit_sha"), word("ref"), word("sarif"));
    if commit.len() != 40 || !reference.starts_with("refs/") {
        return Err(Reply::refused(400, "commit_sha or ref is not as it should be"));
    }
    let mut report = Vec::new();
    let unpacked = STANDARD.decode(packed).ok().and_then(|packed| {
        GzDecoder::new(&packed[..]).take(MAX_SARIF).read_to_end(&mut report).ok()
    });
    let report: Option<Value> =
        unpacked.and_then(|_| serde_json::from_slice(&report).ok()).filter(Value::is_object);
    let Some(report) = report else {
        return Err(Reply::refused(400, "SARIF is not gzip in base64, or no JSON"));
    };
    let id = format!("00000000-0000-4000-8000-{:012}", state.id());
    let repository = state.repository_mut(owner, name).ok_or_else(Reply::not_found)?;
    repository.sarifs.push(Sarif { id: id.clone(), commit, reference, report });
    let url = format!("{server}/api/v3/repos/{owner}/{name}/code-scanning/sarifs/{id}");
    Ok(Reply::with(202, json!({ "id": id, "url": url })))
}
