//! Pull requests of the demo forge as a web page, with what crh posted.

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::get;
use minijinja::value::Serde;
use minijinja::{Environment, UndefinedBehavior};
use pulldown_cmark::{Options, Parser, html};
use serde_json::{Value, json};

use super::{DemoPull, ForgeState, SharedForge};
use crate::page::STYLE_SHEET;

const TEMPLATE: &str = include_str!("pull.html");

/// Content security policy. It allows styles of this server and nothing else: posted text can
/// neither run nor load anything.
const POLICY: &str = "default-src 'none'; style-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

pub(super) fn router() -> Router<SharedForge> {
    Router::new()
        .route("/", get(first_pull))
        .route("/{owner}/{name}", get(first_pull))
        .route("/{owner}/{name}/pull/{number}", get(pull_page))
        .route("/{owner}/{name}/pull/{number}/files", get(pull_page))
        .route(
            "/page.css",
            get(async || ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], STYLE_SHEET)),
        )
}

async fn first_pull(State(state): State<SharedForge>) -> Redirect {
    Redirect::to(&format!("/{}/pull/1", state.content.repository))
}

async fn pull_page(
    State(state): State<SharedForge>,
    Path((_, _, number)): Path<(String, String, u64)>,
) -> Response {
    let Some(pull) = state.pull(number) else { return StatusCode::NOT_FOUND.into_response() };
    match render(&pull_values(&state, pull)) {
        Ok(text) => {
            let policy = [(header::CONTENT_SECURITY_POLICY, POLICY)];
            (policy, Html(text)).into_response()
        }
        Err(error) => {
            tracing::error!(%error, "cannot render a page of the demo");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

fn render(values: &Value) -> Result<String, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.add_template("pull.html", TEMPLATE)?;
    environment.get_template("pull.html")?.render(Serde(values))
}

fn pull_values(state: &ForgeState, pull: &DemoPull) -> Value {
    let records = state.records();
    let pulls = state.content.pulls.iter();
    let pulls: Vec<Value> =
        pulls.map(|pull| json!({ "number": pull.number, "title": pull.title })).collect();
    let own = |number: u64| number == pull.number;
    let comments = records.comments.iter().filter(|comment| own(comment.pull));
    let comments: Vec<Value> = comments
        .map(|comment| json!({ "id": comment.id, "html": to_html(&comment.body) }))
        .collect();
    let threads = records.threads.iter().filter(|thread| own(thread.pull));
    let threads: Vec<Value> = threads
        .map(|thread| {
            let start = thread.start_line.map_or(String::new(), |line| format!("{line}–"));
            let line = thread.line.unwrap_or_default();
            json!({
                "place": format!("{}:{start}{line}", thread.path), "resolved": thread.resolved,
                "html": to_html(&thread.body),
            })
        })
        .collect();
    let checks = records.check_runs.iter().filter(|run| run.head == pull.head);
    let checks: Vec<Value> = checks
        .map(|run| {
            let summary = run.values["output"]["summary"].as_str().unwrap_or_default();
            json!({
                "name": run.values["name"], "conclusion": run.values["conclusion"],
                "title": run.values["output"]["title"], "html": to_html(summary),
            })
        })
        .collect();
    json!({
        "repository": state.content.repository, "pulls": pulls, "number": pull.number,
        "title": pull.title, "author": pull.author, "branch": pull.branch,
        "association": pull.association.to_ascii_lowercase().replace('_', " "),
        "html": to_html(&pull.body), "comments": comments, "threads": threads, "checks": checks,
        "files": pull.files.iter().map(|(path, hunks)| json!({ "path": path, "hunks": hunks })).collect::<Vec<_>>(),
    })
}

/// Markdown as HTML. crh escapes other people's texts before it posts them, and the page's policy
/// stops scripts.
fn to_html(markdown: &str) -> String {
    let mut text = String::new();
    html::push_html(&mut text, Parser::new_ext(markdown, Options::ENABLE_TABLES));
    text
}
