//! HTTP server of the fake: authentication, faults, replies and recording.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::exchange::Exchange;
use super::faults::{Fault, FaultKind, HeldWrite, HoldPoint};
use super::rest::{Call, Reply};
use super::state::{FakeGitHubState, Permission};
use super::time::now;
use super::{graphql, oauth, rest};
use crate::http;
use crate::http::{ConnectionEnd, HttpRequest, HttpResponse, Service};

/// Requests per hour, with and without a token.
const LIMIT: (u64, u64) = (5_000, 60);

#[derive(Debug, Default)]
pub(super) struct FakeGitHubServer {
    state: Mutex<FakeGitHubState>,
    traffic: Mutex<GitHubTraffic>,
    address: OnceLock<String>,
}

#[derive(Debug, Default)]
pub(super) struct GitHubTraffic {
    pub(super) exchanges: Vec<Exchange>,
    pub(super) faults: Vec<Fault>,
    pub(super) held: Vec<Arc<HeldWrite>>,
    pub(super) latency: Duration,
    /// Number of exchanges at the start that `requests` no longer returns.
    pub(super) forgotten: usize,
    pub(super) writes: usize,
    etags: usize,
}

/// A reply before serialisation.
enum ServerAnswer {
    Json(Reply),
    Bytes(u16, Vec<(&'static str, String)>, Vec<u8>),
    Cut,
}

enum FakeRoute {
    Rest,
    Graphql(Result<graphql::GraphQuery, Reply>),
    Git,
    /// Sign-in of a browser.
    OAuth,
}

impl Service for FakeGitHubServer {
    type Pending = ();

    fn answer(&self, request: HttpRequest) -> (HttpResponse, ()) {
        let delay = self.traffic().latency;
        let (writes, end) = match self.handle(&request) {
            ServerAnswer::Cut => (Vec::new(), ConnectionEnd::Close),
            ServerAnswer::Json(reply) => {
                let json = ("content-type", "application/json; charset=utf-8".to_owned());
                let has_no_body = matches!(reply.status, 204 | 304);
                let body = if has_no_body { String::new() } else { reply.body.to_string() };
                let headers = [&reply.headers[..], &[json]].concat();
                (vec![http::full_reply(reply.status, &headers, body)], ConnectionEnd::KeepAlive)
            }
            ServerAnswer::Bytes(status, headers, body) => {
                (vec![http::full_reply(status, &headers, body)], ConnectionEnd::KeepAlive)
            }
        };
        (HttpResponse { delay, writes, end }, ())
    }

    fn on_reply_start(&self, (): ()) {}

    fn on_invalid_request(&self, problem: String) {
        self.state().surprises.push(problem);
    }
}

impl FakeGitHubServer {
    pub(super) fn state(&self) -> MutexGuard<'_, FakeGitHubState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn traffic(&self) -> MutexGuard<'_, GitHubTraffic> {
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_address(&self, address: String) {
        self.address.set(address).unwrap();
    }

    pub(super) fn address(&self) -> &str {
        self.address.get().map_or("", String::as_str)
    }

    /// Answers a request and records the exchange.
    fn handle(&self, request: &HttpRequest) -> ServerAnswer {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let body = serde_json::from_slice(&request.body);
        let body: Value = body.unwrap_or(Value::Null);
        let route = route(path, &body);
        let is_write = match &route {
            FakeRoute::Rest => request.method != "GET" && !path.ends_with("/access_tokens"),
            FakeRoute::Graphql(query) => query.as_ref().is_ok_and(graphql::GraphQuery::writes),
            FakeRoute::Git | FakeRoute::OAuth => false,
        };
        let (index, write, fault, held) = {
            let mut traffic = self.traffic();
            traffic.writes += usize::from(is_write);
            let write = is_write.then_some(traffic.writes);
            traffic.exchanges.push(Exchange {
                method: request.method.clone(),
                path: path.to_owned(),
                query: query.to_owned(),
                headers: request.headers.clone(),
                body: body.clone(),
                write,
                applied: false,
                status: None,
                reply: Value::Null,
            });
            let index = traffic.exchanges.len() - 1;
            let fault = traffic.fault(&request.method, path, write, &body);
            let held = traffic.held.iter().find(|held| Some(held.write) == write).cloned();
            (index, write, fault, held)
        };
        if let Some(held) = held.as_ref().filter(|held| held.moment == HoldPoint::Before) {
            held.reach();
            return ServerAnswer::Cut;
        }
        let mut applied = false;
        let answer =
            self.respond(request, (path, query), &body, &route, fault.as_ref(), &mut applied);
        let applied = applied && write.is_some();
        self.record_answer(index, &answer, applied);
        if let Some(held) = held.filter(|held| held.moment == HoldPoint::After) {
            held.reach();
        }
        answer
    }

    fn record_answer(&self, index: usize, answer: &ServerAnswer, applied: bool) {
        let exchange = &mut self.traffic().exchanges[index];
        exchange.applied = applied;
        match answer {
            ServerAnswer::Cut => {}
            ServerAnswer::Bytes(status, _, _) => exchange.status = Some(*status),
            ServerAnswer::Json(reply) => {
                exchange.status = Some(reply.status);
                exchange.reply = reply.body.clone();
            }
        }
    }

    fn respond(
        &self,
        request: &HttpRequest,
        (path, query): (&str, &str),
        body: &Value,
        route: &FakeRoute,
        fault: Option<&FaultKind>,
        applied: &mut bool,
    ) -> ServerAnswer {
        if let Some(answer) = fault.and_then(|how| answer_before_applying(how, route)) {
            return answer;
        }
        let mut answer = if let FakeRoute::OAuth = route {
            let (status, headers, body) =
                oauth::answer(&mut self.state(), path, query, &request.body);
            ServerAnswer::Bytes(status, headers, body)
        } else if let FakeRoute::Git = route {
            self.git(request, path, query)
        } else {
            ServerAnswer::Json(self.json(request, (path, query), body, route, fault))
        };
        if let ServerAnswer::Json(reply) = &answer {
            *applied = reply.status < 300 && reply.body.get("errors").is_none();
        }
        match fault {
            Some(FaultKind::StatusAfter(status)) => {
                answer = ServerAnswer::Json(Reply::refused(*status, "Server Error"));
            }
            Some(FaultKind::CutAfter) => answer = ServerAnswer::Cut,
            Some(
                FaultKind::StatusBefore(_)
                | FaultKind::TooLarge
                | FaultKind::Timeout
                | FaultKind::CutBefore
                | FaultKind::BadLine { .. }
                | FaultKind::SecondaryLimit { .. }
                | FaultKind::PrimaryLimit { .. }
                | FaultKind::NotModified
                | FaultKind::NewEtag,
            )
            | None => {}
        }
        answer
    }

    /// Replies of REST and GraphQL, with common headers.
    fn json(
        &self,
        request: &HttpRequest,
        (path, query): (&str, &str),
        body: &Value,
        route: &FakeRoute,
        fault: Option<&FaultKind>,
    ) -> Reply {
        if request.header("user-agent").is_none_or(str::is_empty) {
            return Reply::refused(
                403,
                "Request forbidden by administrative rules. Please make sure your request has a User-Agent header",
            );
        }
        if body.is_null() && !request.body.is_empty() {
            return Reply::refused(400, "Problems parsing JSON");
        }
        let mut state = self.state();
        let (token, login) = match requester(&state, request, path) {
            Ok(asker) => asker,
            Err(refused) => return refused,
        };
        let below = path.strip_prefix("/api/v3/").unwrap_or_default();
        let call = Call {
            method: request.method.clone(),
            path: below.split('/').map(percent_decode).collect(),
            query: parse_query(query),
            body: body.clone(),
            token,
            login,
        };
        let server = self.address();
        let mut reply = match route {
            FakeRoute::Graphql(Ok(asked)) => asked.answer(&mut state, server, &call),
            FakeRoute::Graphql(Err(refused)) => refused.clone(),
            FakeRoute::Rest | FakeRoute::Git | FakeRoute::OAuth => {
                rest::answer(&mut state, server, &call).unwrap_or_else(|refused| refused)
            }
        };
        if call.method == "GET" && reply.status == 200 {
            self.tag(&mut reply, request, &call, fault);
        }
        let resource = if let FakeRoute::Graphql(_) = route { "graphql" } else { "core" };
        add_rate_limit(&mut state, &call, resource, &mut reply);
        reply
    }

    /// Adds an `ETag`, and replies "not modified" if the client has it.
    fn tag(
        &self,
        reply: &mut Reply,
        request: &HttpRequest,
        call: &Call,
        fault: Option<&FaultKind>,
    ) {
        let mut hash = Sha256::new();
        hash.update(reply.body.to_string());
        hash.update(call.login.as_deref().unwrap_or_default());
        if fault == Some(&FaultKind::NewEtag) {
            let mut traffic = self.traffic();
            traffic.etags += 1;
            hash.update(traffic.etags.to_string());
        }
        let hash = hash.finalize();
        let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
        let etag = format!("W/\"{hex}\"");
        let known = request.header("if-none-match").is_some_and(|known| known.contains(&hex));
        if known {
            reply.status = 304;
        }
        reply.headers.push(("etag", etag));
        reply.headers.push(("cache-control", "private, max-age=60, s-maxage=60".to_owned()));
    }

    /// Git over HTTP, read-only.
    fn git(&self, request: &HttpRequest, path: &str, query: &str) -> ServerAnswer {
        let refused = |status: u16, message: &str| {
            let headers = match status {
                401 => vec![("www-authenticate", "Basic realm=\"GitHub\"".to_owned())],
                _ => Vec::new(),
            };
            ServerAnswer::Bytes(status, headers, message.as_bytes().to_vec())
        };
        let words: Vec<&str> = path.trim_start_matches('/').splitn(3, '/').collect();
        let [owner, name, service] = words[..] else { return refused(404, "Not Found") };
        let name = name.strip_suffix(".git").unwrap_or(name);
        let state = self.state();
        let (token, login) = match requester(&state, request, path) {
            Ok(asker) => asker,
            Err(_) => return refused(401, "Invalid username or token."),
        };
        let Some(repository) = state.repository(owner, name) else {
            // As GitHub does, ask for a login, so that a missing repository looks like a private one.
            let status = if login.is_none() { 401 } else { 404 };
            return refused(status, "Repository not found.");
        };
        if repository.private && login.is_none() {
            return refused(401, "Repository not found.");
        }
        let token = token.and_then(|token| state.tokens.get(&token));
        let may_read = [Permission::Contents, Permission::WriteContents];
        if token.is_some_and(|token| !may_read.iter().any(|one| token.permissions.contains(one))) {
            // GitHub's message, although the request only reads.
            return refused(403, "Write access to repository not granted.");
        }
        if query.contains("git-receive-pack") || service == "git-receive-pack" {
            return refused(403, "Permission denied.");
        }
        let bare = repository.bare.clone();
        drop(state);
        let reply = bare.serve(request, service, query);
        let headers =
            vec![("content-type", reply.content_type), ("cache-control", "no-cache".into())];
        ServerAnswer::Bytes(reply.status, headers, reply.body)
    }
}

impl GitHubTraffic {
    /// The fault for a request, if any.
    fn fault(
        &mut self,
        method: &str,
        path: &str,
        write: Option<usize>,
        body: &Value,
    ) -> Option<FaultKind> {
        let due = self.faults.iter_mut().find(|fault| {
            fault.applies_to(method, path, write)
                && match &fault.kind {
                    FaultKind::BadLine { path, line } => comments_on(body, path, *line),
                    FaultKind::StatusBefore(_)
                    | FaultKind::StatusAfter(_)
                    | FaultKind::TooLarge
                    | FaultKind::Timeout
                    | FaultKind::CutBefore
                    | FaultKind::CutAfter
                    | FaultKind::SecondaryLimit { .. }
                    | FaultKind::PrimaryLimit { .. }
                    | FaultKind::NotModified
                    | FaultKind::NewEtag => true,
                }
        })?;
        due.times -= 1;
        Some(due.kind.clone())
    }
}

fn route(path: &str, body: &Value) -> FakeRoute {
    if path == "/api/graphql" {
        FakeRoute::Graphql(graphql::GraphQuery::parse(body))
    } else if path.starts_with("/api/v3/") {
        FakeRoute::Rest
    } else if path.starts_with("/login/oauth/") {
        FakeRoute::OAuth
    } else {
        FakeRoute::Git
    }
}

/// The reply to a request that a fault stops before it is applied.
fn answer_before_applying(fault: &FaultKind, route: &FakeRoute) -> Option<ServerAnswer> {
    let reply = match fault {
        FaultKind::StatusBefore(status) => Reply::refused(*status, "Server Error"),
        FaultKind::TooLarge => {
            return Some(ServerAnswer::Bytes(200, Vec::new(), vec![b' '; (64 << 20) + 1]));
        }
        FaultKind::Timeout => {
            const WHY: &str = "Something went wrong while executing your query. This may be the result of a timeout, or it could be a GitHub bug. Please include `FAKE:0` when reporting this issue.";
            Reply::with(200, json!({ "data": null, "errors": [{ "message": WHY }] }))
        }
        FaultKind::CutBefore => return Some(ServerAnswer::Cut),
        FaultKind::BadLine { .. } => {
            Reply::invalid("Unprocessable Entity", json!(["Line could not be resolved"]))
        }
        FaultKind::SecondaryLimit { retry_after } => {
            let mut reply = Reply::refused(
                403,
                "You have exceeded a secondary rate limit. Please wait a few minutes before you try again. If you reach out to GitHub Support for help, please include the request ID FAKE:0.",
            );
            reply.body["documentation_url"] = json!(
                "https://docs.github.com/free-pro-team@latest/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"
            );
            reply.headers.extend(retry_after.map(|seconds| ("retry-after", seconds.to_string())));
            reply
        }
        FaultKind::PrimaryLimit { resets_in } => primary_limit_reply(*resets_in, route),
        FaultKind::NotModified => Reply::with(304, Value::Null),
        FaultKind::StatusAfter(_) | FaultKind::CutAfter | FaultKind::NewEtag => return None,
    };
    Some(ServerAnswer::Json(reply))
}

/// Primary rate limit. GraphQL reports it with status 200.
fn primary_limit_reply(resets_in: u64, route: &FakeRoute) -> Reply {
    const WHY: &str = "API rate limit exceeded for user ID 1001. If you reach out to GitHub Support for help, please include the request ID FAKE:0.";
    let (mut reply, resource) = match route {
        FakeRoute::Graphql(_) => {
            let error = json!({ "type": "RATE_LIMITED", "message": WHY });
            (Reply::with(200, json!({ "errors": [error] })), "graphql")
        }
        FakeRoute::Rest | FakeRoute::Git | FakeRoute::OAuth => (Reply::refused(403, WHY), "core"),
    };
    reply.headers = vec![
        ("x-ratelimit-limit", LIMIT.0.to_string()),
        ("x-ratelimit-remaining", "0".to_owned()),
        ("x-ratelimit-used", LIMIT.0.to_string()),
        ("x-ratelimit-reset", (now() + resets_in).to_string()),
        ("x-ratelimit-resource", resource.to_owned()),
    ];
    reply
}

fn comments_on(body: &Value, path: &str, line: u32) -> bool {
    let comments = body["comments"].as_array();
    comments.is_some_and(|all| all.iter().any(|one| one["path"] == path && one["line"] == line))
}

/// Token and account of a request. An App's JWT has no account.
type Requester = (Option<String>, Option<String>);

fn requester(
    state: &FakeGitHubState,
    request: &HttpRequest,
    path: &str,
) -> Result<Requester, Reply> {
    let Some(header) = request.header("authorization") else { return Ok((None, None)) };
    let bad_credentials = || Reply::refused(401, "Bad credentials");
    let (scheme, rest) = header.split_once(' ').ok_or_else(bad_credentials)?;
    let token = match scheme.to_ascii_lowercase().as_str() {
        "bearer" | "token" => rest.trim().to_owned(),
        "basic" => {
            let decoded = STANDARD.decode(rest.trim()).map_err(|_| bad_credentials())?;
            let decoded = String::from_utf8(decoded).map_err(|_| bad_credentials())?;
            decoded.split_once(':').ok_or_else(bad_credentials)?.1.to_owned()
        }
        _ => return Err(bad_credentials()),
    };
    if let Some(known) = state.tokens.get(&token) {
        if known.ends.is_some_and(|ends| ends <= now()) {
            return Err(bad_credentials());
        }
        let login = known.login.clone();
        return Ok((Some(token), Some(login)));
    }
    let signed = token.matches('.').count() == 2;
    if signed && (path.ends_with("/access_tokens") || path.ends_with("/installation")) {
        return Ok((Some(token), None));
    }
    Err(bad_credentials())
}

/// Counts a request and adds the rate limit headers.
fn add_rate_limit(state: &mut FakeGitHubState, call: &Call, resource: &str, reply: &mut Reply) {
    let token = call.token.as_ref().and_then(|token| state.tokens.get_mut(token));
    let (limit, used) = match token {
        Some(token) => {
            token.used += u64::from(reply.status != 304);
            (LIMIT.0, token.used)
        }
        None => (LIMIT.1, 1),
    };
    for (name, value) in [
        ("x-ratelimit-limit", limit),
        ("x-ratelimit-remaining", limit.saturating_sub(used)),
        ("x-ratelimit-used", used),
        ("x-ratelimit-reset", now() + 3_600),
    ] {
        reply.headers.push((name, value.to_string()));
    }
    reply.headers.push(("x-ratelimit-resource", resource.to_owned()));
    reply.headers.push(("x-github-request-id", "FAKE:0".to_owned()));
}

/// Parses a query string or form.
pub(crate) fn parse_query(query: &str) -> Vec<(String, String)> {
    let words = query.split('&').filter(|word| !word.is_empty());
    words
        .map(|word| {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            (percent_decode(name), percent_decode(&value.replace('+', " ")))
        })
        .collect()
}

pub(crate) fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        let escaped = escaped.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match escaped.filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
