//! The demo forge's part of GitHub's API, and git over HTTP.

use axum::Json;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, patch, post};
use serde_json::{Value, json};

use super::records::{DemoCheckRun, DemoComment, DemoThread};
use super::{BOT, DemoPull, ForgeState, INSTALLATION, SharedForge, TIME, user};

/// Login of the only person who may write to the repository.
const MAINTAINER: &str = "maintainer";

pub(super) fn router() -> Router<SharedForge> {
    let repository = Router::new()
        .route("/installation", get(installation))
        .route("/pulls", get(pulls))
        .route("/pulls/{number}", get(pull))
        .route("/pulls/{number}/files", get(files))
        .route("/pulls/{number}/reviews", get(reviews).post(add_review))
        .route("/issues/{number}/comments", get(comments).post(add_comment))
        .route("/issues/comments/{id}", patch(edit_comment))
        .route("/commits/{sha}/check-runs", get(check_runs))
        .route("/commits/{sha}/status", get(async || Json(json!({ "statuses": [] }))))
        .route("/check-runs", post(add_check_run))
        .route("/check-runs/{id}", patch(edit_check_run))
        .route("/collaborators/{login}/permission", get(permission));
    Router::new()
        .nest("/api/v3/repos/{owner}/{name}", repository)
        .route("/api/v3/app/installations/{id}/access_tokens", post(access_token))
        .route("/api/graphql", post(graphql))
        .route("/{owner}/{name}/info/refs", get(advertise))
        .route("/{owner}/{name}/git-upload-pack", post(send_objects))
        .fallback(async || not_found())
}

/// Parts of a path. Nested routers add the owner and the name of the repository.
type PathParts = Path<std::collections::BTreeMap<String, String>>;

fn not_found() -> Response {
    (StatusCode::NOT_FOUND, Json(json!({ "message": "Not Found" }))).into_response()
}

fn created(value: Value) -> Response {
    (StatusCode::CREATED, Json(value)).into_response()
}

fn number(parts: &PathParts, name: &str) -> u64 {
    parts.get(name).and_then(|text| text.parse().ok()).unwrap_or_default()
}

async fn installation() -> Json<Value> {
    let permissions = json!({
        "checks": "write", "contents": "write", "issues": "write", "pull_requests": "write",
        "metadata": "read", "statuses": "read",
    });
    Json(json!({ "id": INSTALLATION, "app_slug": "crh-demo", "permissions": permissions }))
}

async fn access_token() -> Response {
    created(json!({ "token": "demo", "expires_at": "2100-01-01T00:00:00Z" }))
}

/// Web address of a pull request.
pub(super) fn pull_url(state: &ForgeState, number: u64) -> String {
    format!("http://{}/{}/pull/{number}", state.address, state.content.repository)
}

pub(super) fn pull_json(state: &ForgeState, pull: &DemoPull) -> Value {
    let repository = &state.content.repository;
    json!({
        "number": pull.number, "html_url": pull_url(state, pull.number), "title": pull.title, "body": pull.body,
        "user": user(100 + pull.number, &pull.author), "author_association": pull.association,
        "draft": false, "state": "open", "merged": false, "labels": [], "updated_at": TIME,
        "head": {
            "ref": pull.branch, "sha": pull.head,
            "repo": { "id": if pull.head_repository == *repository { 1 } else { 2 }, "full_name": pull.head_repository },
        },
        "base": { "ref": "main", "sha": pull.base, "repo": { "id": 1, "full_name": repository } },
        "changed_files": pull.files.len(),
    })
}

async fn pulls(State(state): State<SharedForge>) -> Json<Value> {
    Json(state.content.pulls.iter().map(|pull| pull_json(&state, pull)).collect())
}

async fn pull(State(state): State<SharedForge>, parts: PathParts) -> Response {
    match state.pull(number(&parts, "number")) {
        Some(pull) => Json(pull_json(&state, pull)).into_response(),
        None => not_found(),
    }
}

async fn files(State(state): State<SharedForge>, parts: PathParts) -> Response {
    let Some(pull) = state.pull(number(&parts, "number")) else { return not_found() };
    let files = pull.files.iter();
    let files = files
        .map(|(path, hunks)| json!({ "filename": path, "status": "modified", "patch": hunks }));
    Json(files.collect::<Value>()).into_response()
}

async fn reviews(State(state): State<SharedForge>, parts: PathParts) -> Json<Value> {
    let number = number(&parts, "number");
    let records = state.records();
    let reviews = records.reviews.iter().filter(|review| review.pull == number);
    let reviews = reviews.map(|review| {
        json!({
            "id": review.id, "user": user(BOT.0, BOT.1), "state": review.state,
            "commit_id": review.commit, "body": review.body, "submitted_at": TIME,
        })
    });
    Json(reviews.collect())
}

async fn add_review(
    State(state): State<SharedForge>,
    parts: PathParts,
    Json(request): Json<Value>,
) -> Response {
    let id = state.records().add_review(number(&parts, "number"), &request);
    created(json!({ "id": id, "user": user(BOT.0, BOT.1), "state": "COMMENTED" }))
}

fn comment_json(state: &ForgeState, comment: &DemoComment) -> Value {
    let DemoComment { id, pull, body } = comment;
    let url = format!("{}#comment-{id}", pull_url(state, *pull));
    json!({
        "id": id, "user": user(BOT.0, BOT.1), "author_association": "NONE", "created_at": TIME,
        "body": body, "html_url": url,
    })
}

async fn comments(State(state): State<SharedForge>, parts: PathParts) -> Json<Value> {
    let number = number(&parts, "number");
    let records = state.records();
    let comments = records.comments.iter().filter(|comment| comment.pull == number);
    Json(comments.map(|comment| comment_json(&state, comment)).collect())
}

async fn add_comment(
    State(state): State<SharedForge>,
    parts: PathParts,
    Json(request): Json<Value>,
) -> Response {
    let mut records = state.records();
    let (id, pull) = (records.new_id(), number(&parts, "number"));
    let body = request["body"].as_str().unwrap_or_default().to_owned();
    let comment = DemoComment { id, pull, body };
    let answer = comment_json(&state, &comment);
    records.comments.push(comment);
    created(answer)
}

async fn edit_comment(
    State(state): State<SharedForge>,
    parts: PathParts,
    Json(request): Json<Value>,
) -> Response {
    let id = number(&parts, "id");
    let mut records = state.records();
    match records.comments.iter_mut().find(|comment| comment.id == id) {
        Some(comment) => {
            comment.body = request["body"].as_str().unwrap_or_default().to_owned();
            Json(comment_json(&state, comment)).into_response()
        }
        None => not_found(),
    }
}

fn check_run_json(run: &DemoCheckRun) -> Value {
    let mut values = run.values.clone();
    values["id"] = json!(run.id);
    values["output"]["annotations_count"] =
        json!(run.values["output"]["annotations"].as_array().map_or(0, Vec::len));
    values
}

async fn check_runs(State(state): State<SharedForge>, parts: PathParts) -> Json<Value> {
    let records = state.records();
    let runs = records.check_runs.iter().filter(|run| parts.get("sha") == Some(&run.head));
    let runs: Vec<Value> = runs.map(check_run_json).collect();
    Json(json!({ "total_count": runs.len(), "check_runs": runs }))
}

async fn add_check_run(State(state): State<SharedForge>, Json(request): Json<Value>) -> Response {
    let mut records = state.records();
    let id = records.new_id();
    let head = request["head_sha"].as_str().unwrap_or_default().to_owned();
    let run = DemoCheckRun { id, head, values: request };
    let answer = check_run_json(&run);
    records.check_runs.push(run);
    created(answer)
}

/// Answers a request to add annotations. The demo never has more annotations than fit into
/// [`add_check_run`], so this changes nothing.
async fn edit_check_run(State(state): State<SharedForge>, parts: PathParts) -> Response {
    let id = number(&parts, "id");
    let records = state.records();
    match records.check_runs.iter().find(|run| run.id == id) {
        Some(run) => Json(check_run_json(run)).into_response(),
        None => not_found(),
    }
}

async fn permission(parts: PathParts) -> Json<Value> {
    let is_maintainer = parts.get("login").is_some_and(|login| login == MAINTAINER);
    Json(json!({ "permission": if is_maintainer { "admin" } else { "read" } }))
}

async fn graphql(State(state): State<SharedForge>, Json(request): Json<Value>) -> Json<Value> {
    let query = request["query"].as_str().unwrap_or_default();
    let variables = &request["variables"];
    let mut records = state.records();
    if query.contains("resolveReviewThread") {
        let id = variables["id"].as_str().unwrap_or_default();
        for thread in records.threads.iter_mut().filter(|thread| node_id(thread) == id) {
            thread.resolved = true;
        }
        let thread = json!({ "id": id, "isResolved": true });
        return Json(json!({ "data": { "resolveReviewThread": { "thread": thread } } }));
    }
    let viewer = json!({ "login": BOT.1, "databaseId": BOT.0 });
    let number = variables["number"].as_u64().unwrap_or_default();
    let Some(pull) = state.pull(number) else {
        return Json(json!({ "data": { "viewer": viewer, "repository": null } }));
    };
    let threads = records.threads.iter().filter(|thread| thread.pull == number);
    let threads: Vec<Value> = threads.map(thread_json).collect();
    let list = |nodes: Vec<Value>| json!({ "nodes": nodes, "pageInfo": { "hasNextPage": false, "endCursor": null } });
    Json(json!({ "data": {
        "viewer": viewer,
        "repository": { "pullRequest": {
            "headRefOid": pull.head, "reviewThreads": list(threads),
            "closingIssuesReferences": list(Vec::new()),
        } },
    } }))
}

fn node_id(thread: &DemoThread) -> String {
    format!("thread-{}", thread.id)
}

fn thread_json(thread: &DemoThread) -> Value {
    let comment = json!({
        "fullDatabaseId": thread.id.to_string(), "state": "SUBMITTED", "viewerDidAuthor": true,
        "author": { "__typename": "Bot", "login": BOT.1 }, "authorAssociation": "NONE",
        "createdAt": TIME, "body": thread.body, "url": "",
    });
    json!({
        "id": node_id(thread), "isResolved": thread.resolved, "isOutdated": false,
        "path": thread.path, "line": thread.line, "startLine": thread.start_line,
        "originalLine": thread.line, "originalStartLine": thread.start_line,
        "diffSide": thread.side, "resolvedBy": null,
        "comments": { "nodes": [comment], "pageInfo": { "hasNextPage": false, "endCursor": null } },
    })
}

async fn advertise(
    State(state): State<SharedForge>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    if query.as_deref() != Some("service=git-upload-pack") {
        return (StatusCode::FORBIDDEN, "the demo can only be fetched from\n").into_response();
    }
    let answer = run_git(state, headers, None).await;
    let kind = [(header::CONTENT_TYPE, "application/x-git-upload-pack-advertisement")];
    answer.map_or_else(failed_git, |refs| {
        let body = [b"001e# service=git-upload-pack\n0000".as_slice(), &refs].concat();
        (kind, body).into_response()
    })
}

async fn send_objects(
    State(state): State<SharedForge>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let answer = run_git(state, headers, Some(body)).await;
    let kind = [(header::CONTENT_TYPE, "application/x-git-upload-pack-result")];
    answer.map_or_else(failed_git, |objects| (kind, objects).into_response())
}

async fn run_git(
    state: SharedForge,
    headers: HeaderMap,
    input: Option<Bytes>,
) -> Result<Vec<u8>, String> {
    let protocol = headers.get("git-protocol").and_then(|value| value.to_str().ok());
    let protocol = protocol.unwrap_or_default().to_owned();
    let run = move || (state.content.upload_pack)(&protocol, input.as_deref());
    tokio::task::spawn_blocking(run).await.unwrap_or_else(|error| Err(error.to_string()))
}

fn failed_git(error: String) -> Response {
    tracing::warn!(error, "git failed in the demo");
    StatusCode::INTERNAL_SERVER_ERROR.into_response()
}
