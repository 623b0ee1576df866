//! HTTP server of the fake: authentication, faults, replies and recording.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::barrier::RequestBarrier;
use super::faults::{LaunchpadFault, LaunchpadFaultKind};
use super::rest::{LaunchpadCall, LaunchpadReply};
use super::state::FakeLaunchpadState;
use super::{oauth, rest};
use crate::fake_github::Exchange;
use crate::fake_github::faults::{HeldWrite, HoldPoint};
use crate::fake_github::server::{parse_query, percent_decode};
use crate::http;
use crate::http::{ConnectionEnd, HttpRequest, HttpResponse, Service};

#[derive(Debug, Default)]
pub(super) struct FakeLaunchpadServer {
    state: Mutex<FakeLaunchpadState>,
    traffic: Mutex<LaunchpadTraffic>,
    addresses: OnceLock<(String, String)>,
}

#[derive(Debug, Default)]
pub(super) struct LaunchpadTraffic {
    pub(super) exchanges: Vec<Exchange>,
    pub(super) librarian: Vec<Exchange>,
    pub(super) faults: Vec<LaunchpadFault>,
    pub(super) held: Vec<Arc<HeldWrite>>,
    pub(super) gathering: Option<RequestBarrier>,
    writes: usize,
    oopses: usize,
}

/// The host that serves diffs. It must not get credentials.
#[derive(Debug)]
pub(super) struct Librarian(pub(super) Arc<FakeLaunchpadServer>);

impl Service for FakeLaunchpadServer {
    type Pending = ();

    fn answer(&self, request: HttpRequest) -> (HttpResponse, ()) {
        (response(self.handle(&request)), ())
    }

    fn on_reply_start(&self, (): ()) {}

    fn on_invalid_request(&self, problem: String) {
        self.state().surprises.push(problem);
    }
}

impl Service for Librarian {
    type Pending = ();

    fn answer(&self, request: HttpRequest) -> (HttpResponse, ()) {
        let service = &self.0;
        let path = request.path.clone();
        let number = path.trim_start_matches('/').split('/').next().unwrap_or_default();
        let state = service.state();
        let diffs = state.proposals.values().flat_map(|proposal| &proposal.diffs);
        let text = diffs.into_iter().find(|diff| diff.id.to_string() == number);
        let reply = match text {
            Some(diff) => LaunchpadReply {
                status: 200,
                headers: vec![("content-type", "text/plain; charset=utf-8".to_owned())],
                body: diff.text.clone(),
            },
            None => LaunchpadReply::not_found(number),
        };
        drop(state);
        if request.header("authorization").is_some() {
            service.state().surprises.push("the librarian was told who asks".to_owned());
        }
        let (write, status) = (None, Some(reply.status));
        service.traffic().librarian.push(exchange(&request, &path, "", write, status));
        (response(Some(reply)), ())
    }

    fn on_reply_start(&self, (): ()) {}

    fn on_invalid_request(&self, problem: String) {
        self.0.state().surprises.push(problem);
    }
}

impl FakeLaunchpadServer {
    pub(super) fn state(&self) -> MutexGuard<'_, FakeLaunchpadState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn traffic(&self) -> MutexGuard<'_, LaunchpadTraffic> {
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_addresses(&self, web: String, librarian: String) {
        self.addresses.set((web, librarian)).unwrap();
    }

    pub(super) fn address(&self) -> &str {
        self.addresses.get().map_or("", |(web, _)| web)
    }

    pub(super) fn librarian_address(&self) -> &str {
        self.addresses.get().map_or("", |(_, librarian)| librarian)
    }

    /// Answers a request and records the exchange; `None` if the connection is cut.
    fn handle(&self, request: &HttpRequest) -> Option<LaunchpadReply> {
        let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
        let writes = request.method == "POST" && path.starts_with("/devel/");
        let gathering = self.traffic().gathering.clone();
        if let Some(gathering) = gathering.filter(|_| path.starts_with("/devel/")) {
            gathering.join();
        }
        let (index, fault, held) = {
            let mut traffic = self.traffic();
            traffic.writes += usize::from(writes);
            let (write, unanswered) = (writes.then_some(traffic.writes), None);
            traffic.exchanges.push(exchange(request, path, query, write, unanswered));
            let fits = |fault: &&mut LaunchpadFault| fault.applies_to(&request.method, path, write);
            let fault = traffic.faults.iter_mut().find(fits).map(|fault| {
                fault.times -= 1;
                fault.kind.clone()
            });
            let held = traffic.held.iter().find(|held| Some(held.write) == write).cloned();
            (traffic.exchanges.len() - 1, fault, held)
        };
        if let Some(held) = held.as_ref().filter(|held| held.moment == HoldPoint::Before) {
            held.reach();
            return None;
        }
        let reply = match fault {
            Some(LaunchpadFaultKind::StatusBefore(status)) => Some(self.failure(status)),
            Some(LaunchpadFaultKind::CutBefore) => None,
            Some(LaunchpadFaultKind::Redirect(location)) => {
                Some(LaunchpadReply::see_other(location))
            }
            Some(LaunchpadFaultKind::StatusAfter(_) | LaunchpadFaultKind::CutAfter) | None => {
                let reply = self.respond(request, path, query);
                let applied = writes && reply.status < 300;
                self.traffic().exchanges[index].applied = applied;
                match fault {
                    Some(LaunchpadFaultKind::StatusAfter(status)) => Some(self.failure(status)),
                    Some(LaunchpadFaultKind::CutAfter) => None,
                    Some(
                        LaunchpadFaultKind::StatusBefore(_)
                        | LaunchpadFaultKind::CutBefore
                        | LaunchpadFaultKind::Redirect(_),
                    )
                    | None => Some(reply),
                }
            }
        };
        if let Some(held) = held.filter(|held| held.moment == HoldPoint::After) {
            held.reach();
        }
        let exchange = &mut self.traffic().exchanges[index];
        exchange.status = reply.as_ref().map(|reply| reply.status);
        if let Some(reply) = &reply {
            exchange.reply = serde_json::from_slice(&reply.body).unwrap_or(Value::Null);
        }
        reply
    }

    /// A scripted error, with an OOPS number from 500 on.
    fn failure(&self, status: u16) -> LaunchpadReply {
        let mut reply = LaunchpadReply::text(status, "it is on script");
        if status >= 500 {
            let mut traffic = self.traffic();
            traffic.oopses += 1;
            reply.headers.push(("x-lazr-oopsid", format!("OOPS-fake{}", traffic.oopses)));
        }
        reply
    }

    fn respond(&self, request: &HttpRequest, path: &str, query: &str) -> LaunchpadReply {
        if let Some(below) = path.strip_prefix("/devel") {
            return self.web_service(request, below, query);
        }
        let page = path.trim_start_matches('/');
        if let ("POST", "+request-token" | "+access-token") = (request.method.as_str(), page) {
            let form = parse_query(&String::from_utf8_lossy(&request.body));
            return oauth::token_flow(&mut self.state(), page, &form);
        }
        if page == "+authorize-token" {
            return LaunchpadReply::text(200, "a page on which a person says yes");
        }
        self.git(request, page, query)
    }

    fn web_service(&self, request: &HttpRequest, below: &str, query: &str) -> LaunchpadReply {
        let mut state = self.state();
        let person = match oauth::requester(&mut state, request) {
            Ok(person) => person,
            Err(refused) => return refused,
        };
        let call = LaunchpadCall {
            method: request.method.clone(),
            path: percent_decode(below.trim_start_matches('/')),
            query: parse_query(query),
            form: parse_query(&String::from_utf8_lossy(&request.body)),
            accept: request.header("accept").unwrap_or_default().to_owned(),
            person,
        };
        let answered = rest::answer(&mut state, self.address(), self.librarian_address(), &call);
        answered.unwrap_or_else(|refused| refused)
    }

    /// Git over HTTP, read-only.
    fn git(&self, request: &HttpRequest, path: &str, query: &str) -> LaunchpadReply {
        let services = ["/info/refs", "/git-upload-pack", "/git-receive-pack"];
        let repository_path = services.iter().find_map(|service| {
            path.strip_suffix(service)
                .map(|name| (percent_decode(name), service.trim_start_matches('/')))
        });
        let Some((name, service)) = repository_path else {
            self.state().surprises.push(format!("{} /{path}", request.method));
            return LaunchpadReply::not_found(path);
        };
        let state = self.state();
        let Some(repository) = state.repository(&name) else {
            return LaunchpadReply::not_found(path);
        };
        let opens = |(user, token): (String, String)| state.git_tokens.get(&token) == Some(&user);
        if repository.private && !user_and_password(request).is_some_and(opens) {
            let mut reply = LaunchpadReply::text(401, "Unauthorized");
            reply.headers.push(("www-authenticate", "Basic realm=\"turnip\"".to_owned()));
            return reply;
        }
        if query.contains("git-receive-pack") || service == "git-receive-pack" {
            return LaunchpadReply::text(403, "Permission denied.");
        }
        let bare = repository.bare.clone();
        drop(state);
        let reply = bare.serve(request, service, query);
        let headers = vec![("content-type", reply.content_type)];
        LaunchpadReply { status: reply.status, headers, body: reply.body }
    }
}

fn user_and_password(request: &HttpRequest) -> Option<(String, String)> {
    let pair = request.header("authorization")?.strip_prefix("Basic ")?;
    let pair = String::from_utf8(STANDARD.decode(pair.trim()).ok()?).ok()?;
    pair.split_once(':').map(|(user, password)| (user.to_owned(), password.to_owned()))
}

fn exchange(
    request: &HttpRequest,
    path: &str,
    query: &str,
    write: Option<usize>,
    status: Option<u16>,
) -> Exchange {
    let form = parse_query(&String::from_utf8_lossy(&request.body));
    let is_form = request.header("content-type").is_some_and(|it| it.contains("form-urlencoded"));
    let fields = form.into_iter().map(|(name, value)| (name, Value::String(value)));
    let body = if is_form { Value::Object(fields.collect()) } else { Value::Null };
    Exchange {
        method: request.method.clone(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers: request.headers.clone(),
        body,
        write,
        applied: false,
        status,
        reply: Value::Null,
    }
}

fn response(reply: Option<LaunchpadReply>) -> HttpResponse {
    let (writes, end) = match reply {
        None => (Vec::new(), ConnectionEnd::Close),
        Some(reply) => (
            vec![http::full_reply(reply.status, &reply.headers, reply.body)],
            ConnectionEnd::KeepAlive,
        ),
    };
    HttpResponse { delay: Duration::ZERO, writes, end }
}
