//! HTTP server of the fake: authentication, faults, replies and recording.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::state::FakeForgeState;
use super::{Dialect, Exchange, Fault, FaultKind, HoldPoint, JOB_TOKEN};
use crate::fake_github::faults::HeldWrite;
use crate::http;
use crate::http::{ConnectionEnd, HttpRequest, HttpResponse, Service};

#[derive(Debug)]
pub(super) struct FakeForgeServer {
    pub(super) dialect: Dialect,
    /// Path below which the forge is installed.
    prefix: String,
    state: Mutex<FakeForgeState>,
    traffic: Mutex<ForgeTraffic>,
    address: OnceLock<String>,
}

#[derive(Debug, Default)]
pub(super) struct ForgeTraffic {
    pub(super) exchanges: Vec<Exchange>,
    pub(super) faults: Vec<Fault>,
    pub(super) held: Vec<Arc<HeldWrite>>,
    pub(super) writes: usize,
}

/// A request to the API.
#[derive(Debug)]
pub(super) struct ForgeCall {
    pub(super) method: String,
    /// Segments of the path, decoded.
    pub(super) path: Vec<String>,
    pub(super) query: Vec<(String, String)>,
    pub(super) body: Value,
    /// Login of the account; `None` without a token or with the token of a job.
    pub(super) login: Option<String>,
    pub(super) is_job: bool,
    /// Web address of the forge.
    pub(super) web: String,
    /// Address of the request, without the query.
    address: String,
}

/// A reply of the API.
#[derive(Debug, Clone)]
pub(super) struct ForgeReply {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Value,
}

impl ForgeReply {
    pub(super) fn new(status: u16, body: Value) -> Self {
        Self { status, headers: Vec::new(), body }
    }

    /// A list that the forge does not split into pages.
    pub(super) fn whole_list(values: Vec<Value>) -> Self {
        Self::new(200, Value::Array(values))
    }

    /// A plain text, which is not sent as JSON.
    pub(super) fn text(text: &str) -> Self {
        Self { status: 200, headers: vec![("x-text", "1".to_owned())], body: json!(text) }
    }

    pub(super) fn refused(status: u16, message: &str) -> Self {
        Self::new(status, json!({ "message": message }))
    }
}

impl ForgeCall {
    pub(super) fn query(&self, name: &str) -> Option<&str> {
        let mut pairs = self.query.iter();
        pairs.find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn text(&self, name: &str) -> String {
        self.body[name].as_str().unwrap_or_default().to_owned()
    }

    /// The requested page of a list.
    pub(super) fn page(&self, values: Vec<Value>, size_name: &str, size_max: usize) -> ForgeReply {
        self.page_of(&values, size_name, size_max, Value::clone)
    }

    /// Like [`Self::page`], for long lists: it makes only the entries of the page.
    pub(super) fn page_of<T>(
        &self,
        all: &[T],
        size_name: &str,
        size_max: usize,
        shown: impl Fn(&T) -> Value,
    ) -> ForgeReply {
        let number = |name: &str| self.query(name).and_then(|text| text.parse::<usize>().ok());
        let size = number(size_name).unwrap_or(20).clamp(1, size_max);
        let page = number("page").unwrap_or(1).max(1);
        let total = all.len();
        let pages = total.div_ceil(size).max(1);
        let on_page = all.iter().skip((page - 1) * size).take(size).map(shown).collect();
        let next = (page < pages).then(|| (page + 1).to_string());
        let mut headers = vec![
            ("x-total", total.to_string()),
            ("x-total-count", total.to_string()),
            ("x-page", page.to_string()),
            ("x-per-page", size.to_string()),
            ("x-next-page", next.clone().unwrap_or_default()),
        ];
        if let Some(next) = next {
            let link = format!("<{}?page={next}&{size_name}={size}>; rel=\"next\"", self.address);
            headers.push(("link", link));
        }
        ForgeReply { status: 200, headers, body: Value::Array(on_page) }
    }
}

enum ForgeAnswer {
    Json(ForgeReply),
    Bytes(u16, String, Vec<u8>),
    Cut,
}

impl Service for FakeForgeServer {
    type Pending = ();

    fn answer(&self, request: HttpRequest) -> (HttpResponse, ()) {
        let (writes, end) = match self.handle(&request) {
            ForgeAnswer::Cut => (Vec::new(), ConnectionEnd::Close),
            ForgeAnswer::Json(reply) => {
                let is_text = reply.headers.iter().any(|(name, _)| *name == "x-text");
                let body = match &reply.body {
                    _ if reply.status == 204 => String::new(),
                    Value::String(text) if is_text => text.clone(),
                    body => body.to_string(),
                };
                let json = ("content-type", "application/json".to_owned());
                let headers = [&reply.headers[..], &[json]].concat();
                (vec![http::full_reply(reply.status, &headers, body)], ConnectionEnd::KeepAlive)
            }
            ForgeAnswer::Bytes(status, kind, body) => {
                let headers = [("content-type", kind)];
                (vec![http::full_reply(status, &headers, body)], ConnectionEnd::KeepAlive)
            }
        };
        (HttpResponse { delay: std::time::Duration::ZERO, writes, end }, ())
    }

    fn on_reply_start(&self, (): ()) {}

    fn on_invalid_request(&self, problem: String) {
        self.state().surprises.push(problem);
    }
}

impl FakeForgeServer {
    pub(super) fn new(dialect: Dialect, prefix: &str) -> Self {
        Self {
            dialect,
            prefix: prefix.to_owned(),
            state: Mutex::new(FakeForgeState::new(dialect)),
            traffic: Mutex::default(),
            address: OnceLock::new(),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, FakeForgeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn traffic(&self) -> MutexGuard<'_, ForgeTraffic> {
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_address(&self, address: String) {
        self.address.set(address).unwrap();
    }

    pub(super) fn address(&self) -> &str {
        self.address.get().map_or("", String::as_str)
    }

    /// Answers a request. Records requests to the API.
    fn handle(&self, request: &HttpRequest) -> ForgeAnswer {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let path = path.strip_prefix(&self.prefix).unwrap_or(path);
        let Some(below) = path.strip_prefix(self.dialect.rules().api_path) else {
            return self.git(request, path, query);
        };
        let body: Value = serde_json::from_slice(&request.body)
            .unwrap_or_else(|_| multipart(request).unwrap_or_default());
        let is_write = request.method != "GET";
        let (index, fault, held) = {
            let mut traffic = self.traffic();
            traffic.writes += usize::from(is_write);
            let write = is_write.then_some(traffic.writes);
            let fault = traffic.take_fault(&request.method, path, write, &body);
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
            let held = traffic.held.iter().find(|held| Some(held.write) == write).cloned();
            (traffic.exchanges.len() - 1, fault, held)
        };
        if let Some(held) = held.as_ref().filter(|held| held.moment == HoldPoint::Before) {
            held.reach();
            return ForgeAnswer::Cut;
        }
        let early = fault.as_ref().and_then(|fault| self.answer_before_applying(fault));
        if let Some(answer) = early {
            return answer;
        }
        let call = self.call(request, below, query, body);
        let reply = (self.dialect.rules().answer)(&mut self.state(), &call);
        {
            let mut traffic = self.traffic();
            let exchange = &mut traffic.exchanges[index];
            exchange.applied = is_write && reply.status < 300;
            exchange.status = Some(reply.status);
            exchange.reply = reply.body.clone();
        }
        if let Some(held) = held.filter(|held| held.moment == HoldPoint::After) {
            held.reach();
        }
        match fault {
            Some(FaultKind::StatusAfter(status)) => {
                ForgeAnswer::Json(ForgeReply::refused(status, "Server Error"))
            }
            Some(FaultKind::CutAfter) => ForgeAnswer::Cut,
            Some(_) | None => ForgeAnswer::Json(reply),
        }
    }

    /// Answer to a request that a fault stops before it is applied.
    fn answer_before_applying(&self, fault: &FaultKind) -> Option<ForgeAnswer> {
        match fault {
            FaultKind::StatusBefore(status) => {
                Some(ForgeAnswer::Json(ForgeReply::refused(*status, "Server Error")))
            }
            FaultKind::SecondaryLimit { retry_after } => {
                let mut reply = ForgeReply::refused(429, "Too Many Requests");
                reply.headers.extend(retry_after.map(|time| ("retry-after", time.to_string())));
                Some(ForgeAnswer::Json(reply))
            }
            FaultKind::BadLine { .. } => {
                let (status, message) = self.dialect.rules().bad_line;
                Some(ForgeAnswer::Json(ForgeReply::refused(status, message)))
            }
            FaultKind::CutBefore => Some(ForgeAnswer::Cut),
            _ => None,
        }
    }

    fn call(&self, request: &HttpRequest, below: &str, query: &str, body: Value) -> ForgeCall {
        let state = self.state();
        let token = token(request);
        let is_job = request.header("job-token") == Some(JOB_TOKEN);
        ForgeCall {
            method: request.method.clone(),
            path: below.split('/').map(decode).collect(),
            query: url_pairs(query),
            body,
            login: token.and_then(|token| state.tokens.get(&token).cloned()),
            is_job,
            web: self.address().to_owned(),
            address: format!("{}{}{below}", self.address(), self.dialect.rules().api_path),
        }
    }

    /// Git over HTTP, with the token as password.
    fn git(&self, request: &HttpRequest, path: &str, query: &str) -> ForgeAnswer {
        let Some((repository, service)) = path.trim_start_matches('/').split_once(".git/") else {
            return ForgeAnswer::Json(ForgeReply::refused(404, "Not Found"));
        };
        let bare = {
            let state = self.state();
            let login = token(request).and_then(|token| state.tokens.get(&token).cloned());
            let project = state.projects.get(repository);
            project.filter(|project| project.can_read(login.as_deref())).map(|it| it.bare.clone())
        };
        match bare {
            Some(bare) => {
                let reply = bare.serve(request, service, query);
                ForgeAnswer::Bytes(reply.status, reply.content_type, reply.body)
            }
            None => ForgeAnswer::Json(ForgeReply::refused(404, "Not Found")),
        }
    }
}

impl ForgeTraffic {
    fn take_fault(
        &mut self,
        method: &str,
        path: &str,
        write: Option<usize>,
        body: &Value,
    ) -> Option<FaultKind> {
        let is_affected = |fault: &&mut Fault| {
            let is_line = match &fault.kind {
                FaultKind::BadLine { path, line } => has_line(body, path, *line),
                _ => true,
            };
            is_line && fault.applies_to(method, path, write)
        };
        let fault = self.faults.iter_mut().find(is_affected)?;
        fault.times = fault.times.saturating_sub(1);
        Some(fault.kind.clone())
    }
}

/// Fields of a multipart form, which some clients send. `a[b]` is a field of `a`.
fn multipart(request: &HttpRequest) -> Option<Value> {
    let (_, boundary) = request.header("content-type")?.split_once("boundary=")?;
    let text = String::from_utf8_lossy(&request.body);
    let mut fields = json!({});
    for part in text.split(&format!("--{}", boundary.trim_matches('"'))) {
        let Some((head, value)) = part.split_once("\r\n\r\n") else { continue };
        let name = head.split("name=\"").nth(1)?.split('"').next()?;
        let value = value.trim_end_matches("\r\n");
        let value = value.parse::<u64>().map_or_else(|_| json!(value), |number| json!(number));
        match name.split_once('[') {
            Some((name, field)) => fields[name][field.trim_end_matches(']')] = value,
            None => fields[name] = value,
        }
    }
    Some(fields)
}

/// Whether a request comments on a line of the new file.
fn has_line(body: &Value, path: &str, line: u32) -> bool {
    let position = &body["position"];
    let on_line = |path_value: &Value, line_value: &Value| path_value == path && line_value == line;
    let comments = body["comments"].as_array().into_iter().flatten();
    on_line(&position["new_path"], &position["new_line"])
        || comments.into_iter().any(|it| on_line(&it["path"], &it["new_position"]))
}

/// The token of a request, from one of the headers that clients use.
fn token(request: &HttpRequest) -> Option<String> {
    if let Some(token) = request.header("private-token") {
        return Some(token.to_owned());
    }
    let header = request.header("authorization")?;
    let (scheme, rest) = header.split_once(' ')?;
    match scheme.to_ascii_lowercase().as_str() {
        "bearer" | "token" => Some(rest.trim().to_owned()),
        "basic" => {
            let text = String::from_utf8(STANDARD.decode(rest.trim()).ok()?).ok()?;
            text.split_once(':').map(|(_, password)| password.to_owned())
        }
        _ => None,
    }
}

fn decode(text: &str) -> String {
    let pairs = url_pairs(&format!("x={}", text.replace('+', "%2B")));
    pairs.into_iter().next().map(|(_, value)| value).unwrap_or_default()
}

fn url_pairs(query: &str) -> Vec<(String, String)> {
    crate::fake_github::server::parse_query(query)
}
