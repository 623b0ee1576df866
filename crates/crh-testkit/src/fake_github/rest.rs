//! REST: routes, permissions and pages.

mod apps;
mod git_data;
mod issues;
mod people;
mod reads;
mod review;
mod writes;

pub(super) use apps::public_key;
use serde_json::{Value, json};

use super::json::View;
use super::state::{FakeGitHubState, Permission, Repository};

/// Default and largest page size.
const PAGE: (usize, usize) = (30, 100);

const DOCUMENTATION: &str = "https://docs.github.com/rest";

/// A parsed request.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) method: String,
    /// Segments after `/api/v3/`.
    pub(super) path: Vec<String>,
    pub(super) query: Vec<(String, String)>,
    /// Null without a body.
    pub(super) body: Value,
    /// Token, if any.
    pub(super) token: Option<String>,
    /// Account of the token; `None` for an App's JWT.
    pub(super) login: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Value,
}

/// A reply or a refusal.
pub(super) type ReplyResult = Result<Reply, Reply>;

impl Call {
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        let parameter = self.query.iter().find(|(known, _)| known == name);
        parameter.map(|(_, value)| value.as_str())
    }
}

impl Reply {
    pub(super) fn with(status: u16, body: Value) -> Self {
        Self { status, headers: Vec::new(), body }
    }

    /// A refusal in GitHub's format.
    pub(super) fn refused(status: u16, message: &str) -> Self {
        let status_word = status.to_string();
        let body = json!({ "message": message, "documentation_url": DOCUMENTATION, "status": status_word });
        Self::with(status, body)
    }

    /// A validation error.
    pub(super) fn invalid(message: &str, errors: Value) -> Self {
        let mut refused = Self::refused(422, message);
        refused.body["errors"] = errors;
        refused
    }

    pub(super) fn not_found() -> Self {
        Self::refused(404, "Not Found")
    }
}

/// Applies and answers a request.
pub(super) fn answer(state: &mut FakeGitHubState, server: &str, call: &Call) -> ReplyResult {
    let path: Vec<&str> = call.path.iter().map(String::as_str).collect();
    // `Link` headers use repository ids.
    if let ["repositories", id, rest @ ..] = &path[..] {
        let repository = id.parse().ok().and_then(|id| state.repository_by_id(id));
        let Some(repository) = repository else { return Err(Reply::not_found()) };
        let (owner, name) = (repository.owner.clone(), repository.name.clone());
        return in_repository(state, server, call, &owner, &name, rest);
    }
    match (call.method.as_str(), &path[..]) {
        ("GET", ["user"]) => reads::user(&View { state, server }, call),
        ("GET", ["user", "installations"]) => people::installations(&View { state, server }, call),
        ("GET", ["user", "installations", id, "repositories"]) => {
            people::installation_repositories(&View { state, server }, call, id)
        }
        ("GET", ["rate_limit"]) => Ok(reads::rate_limit()),
        ("POST", ["app", "installations", id, "access_tokens"]) => {
            apps::access_token(state, call, id)
        }
        (_, ["repos", owner, name, rest @ ..]) => {
            in_repository(state, server, call, owner, name, rest)
        }
        _ => Err(Reply::not_found()),
    }
}

fn in_repository(
    state: &mut FakeGitHubState,
    server: &str,
    call: &Call,
    owner: &str,
    name: &str,
    rest: &[&str],
) -> ReplyResult {
    if let ("GET", ["installation"]) = (call.method.as_str(), rest) {
        return apps::installation(&View { state, server }, call, owner, name);
    }
    let Some(repository) = state.repository(owner, name) else { return Err(Reply::not_found()) };
    if repository.private && call.login.is_none() {
        return Err(Reply::not_found());
    }
    if call.method == "GET" {
        check_permission(state, call, reads::needs(rest))?;
        return reads::answer(&View { state, server }, call, repository, rest);
    }
    if call.login.is_none() {
        return Err(Reply::refused(401, "Requires authentication"));
    }
    writes::answer(state, server, call, (owner, name), rest)
}

/// Fails if the token of a request has none of the permissions. A request without a token passes.
pub(super) fn check_permission(
    state: &FakeGitHubState,
    call: &Call,
    any: &[Permission],
) -> Result<(), Reply> {
    let Some(token) = call.token.as_ref().and_then(|token| state.tokens.get(token)) else {
        return Ok(());
    };
    if any.is_empty() || any.iter().any(|one| token.permissions.contains(one)) {
        return Ok(());
    }
    let bot = state.account(&token.login).is_some_and(|account| account.bot);
    let kind = if bot { "integration" } else { "personal access token" };
    Err(Reply::refused(403, &format!("Resource not accessible by {kind}")))
}

/// One page of a list, with links to the others.
fn page<T>(
    view: &View<'_>,
    call: &Call,
    repository: &Repository,
    items: &[T],
    shown: impl Fn(&T) -> Value,
) -> Reply {
    let number = |name: &str| call.parameter(name).and_then(|text| text.parse::<usize>().ok());
    let size = number("per_page").filter(|size| *size > 0).unwrap_or(PAGE.0).min(PAGE.1);
    let page = number("page").filter(|page| *page > 0).unwrap_or(1);
    let last_page = items.len().div_ceil(size).max(1);
    let on_page = items.iter().skip(size.saturating_mul(page - 1)).take(size);
    let mut reply = Reply::with(200, on_page.map(shown).collect());
    let links: Vec<String> = [
        ("prev", page - 1, page > 1),
        ("next", page + 1, page < last_page),
        ("last", last_page, page < last_page),
        ("first", 1, page > 1),
    ]
    .into_iter()
    .filter(|(_, _, due)| *due)
    .map(|(relation, page, _)| {
        let url = link(view, call, repository, page);
        format!("<{url}>; rel=\"{relation}\"")
    })
    .collect();
    if !links.is_empty() {
        reply.headers.push(("link", links.join(", ")));
    }
    reply
}

fn link(view: &View<'_>, call: &Call, repository: &Repository, page: usize) -> String {
    // A link has the id of the repository, and then the rest of the path.
    let skipped = if call.path[0] == "repos" { 3 } else { 2 };
    let path = call.path[skipped..].join("/");
    let mut query: Vec<String> = call
        .query
        .iter()
        .filter(|(name, _)| name != "page")
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    query.push(format!("page={page}"));
    format!("{}/repositories/{}/{path}?{}", view.api(), repository.id, query.join("&"))
}
