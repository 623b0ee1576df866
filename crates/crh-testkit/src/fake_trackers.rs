//! Stateful fakes of Linear and Jira on loopback, as far as filing tickets needs them. They can
//! fail before or after a ticket is created.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::http;
use crate::http::{ConnectionEnd, HttpRequest, HttpResponse, Server, Service};

/// API key that the fake Linear accepts.
pub const LINEAR_KEY: &str = "lin_api_fakeKeyOfTheReviewer0123456789";
/// Account that the fake Jira accepts.
pub const JIRA_EMAIL: &str = "reviewer@example.com";
/// Token of [`JIRA_EMAIL`].
pub const JIRA_TOKEN: &str = "fakeTokenOfTheReviewer0123456789";
/// Key of the only team (Linear) and project (Jira).
pub const PROJECT: &str = "SHOP";

/// A fault for the next ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrackerFault {
    /// Not created; answers with this status.
    StatusBefore(u16),
    /// Created; answers with this status.
    StatusAfter(u16),
    /// Not created; closes the connection.
    CutBefore,
    /// Created; closes the connection.
    CutAfter,
}

/// A ticket of a fake tracker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FakeTicket {
    /// Title.
    pub title: String,
    /// Body: Markdown at Linear, JSON at Jira.
    pub body: String,
    /// Labels.
    pub labels: Vec<String>,
    /// Whether another account created the ticket.
    pub is_foreign: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TrackerKind {
    Linear,
    Jira,
}

/// The fake tracker. It listens until it is dropped.
#[derive(Debug)]
pub struct FakeTracker {
    service: Arc<TrackerService>,
    server: Server,
}

#[derive(Debug)]
struct TrackerService {
    kind: TrackerKind,
    state: Mutex<FakeTrackerState>,
}

#[derive(Debug, Default)]
struct FakeTrackerState {
    tickets: Vec<FakeTicket>,
    requests: Vec<String>,
    faults: Vec<TrackerFault>,
    /// Labels that exist at Linear.
    labels: Vec<String>,
    refuses_labels: bool,
    surprises: Vec<String>,
}

/// Status and body.
type Answer = (u16, Value);

impl FakeTracker {
    /// A Linear with the team [`PROJECT`].
    pub fn linear() -> Self {
        Self::start(TrackerKind::Linear)
    }

    /// A Jira with the project [`PROJECT`].
    pub fn jira() -> Self {
        Self::start(TrackerKind::Jira)
    }

    fn start(kind: TrackerKind) -> Self {
        let service = Arc::new(TrackerService { kind, state: Mutex::default() });
        let server = Server::start(service.clone()).unwrap();
        Self { service, server }
    }

    /// Address of the tracker.
    pub fn url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// Injects a fault for the next ticket.
    pub fn fail(&self, fault: TrackerFault) {
        self.service.state().faults.push(fault);
    }

    /// Creates a label at Linear.
    pub fn label(&self, name: &str) {
        self.service.state().labels.push(name.to_owned());
    }

    /// Rejects every ticket with labels.
    pub fn refuse_labels(&self) {
        self.service.state().refuses_labels = true;
    }

    /// Adds an existing ticket.
    pub fn add(&self, ticket: FakeTicket) {
        self.service.state().tickets.push(ticket);
    }

    /// The tickets, oldest first.
    pub fn tickets(&self) -> Vec<FakeTicket> {
        self.service.state().tickets.clone()
    }

    /// All requests, in order of arrival: names of queries at Linear, methods and paths at Jira.
    pub fn requests(&self) -> Vec<String> {
        self.service.state().requests.clone()
    }

    /// Unexpected requests. Tests require that there are none.
    pub fn surprises(&self) -> Vec<String> {
        self.service.state().surprises.clone()
    }
}

impl Service for TrackerService {
    type Pending = ();

    fn answer(&self, request: HttpRequest) -> (HttpResponse, ()) {
        let mut state = self.state();
        let answer = match self.kind {
            TrackerKind::Linear => state.linear(&request),
            TrackerKind::Jira => state.jira(&request),
        };
        let json = [("content-type", "application/json".to_owned())];
        let (writes, end) = match answer {
            Some((status, body)) => {
                (vec![http::full_reply(status, &json, body.to_string())], ConnectionEnd::KeepAlive)
            }
            None => (Vec::new(), ConnectionEnd::Close),
        };
        (HttpResponse { delay: Duration::ZERO, writes, end }, ())
    }

    fn on_reply_start(&self, (): ()) {}

    fn on_invalid_request(&self, problem: String) {
        self.state().surprises.push(problem);
    }
}

impl TrackerService {
    fn state(&self) -> MutexGuard<'_, FakeTrackerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FakeTrackerState {
    fn linear(&mut self, request: &HttpRequest) -> Option<Answer> {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let query = body["query"].as_str().unwrap_or_default();
        let name = query.split(['(', '{']).next().unwrap_or_default().trim().to_owned();
        self.requests.push(name.clone());
        if (request.method.as_str(), request.path.as_str()) != ("POST", "/graphql") {
            self.surprises.push(format!("{} {}", request.method, request.path));
        }
        if request.header("authorization") != Some(LINEAR_KEY) {
            let code = json!({ "code": "AUTHENTICATION_ERROR" });
            let error = json!({ "message": "Authentication required", "extensions": code });
            return Some((400, json!({ "errors": [error] })));
        }
        let variables = &body["variables"];
        let has_team = variables["team"].as_str() == Some(PROJECT);
        let teams = if has_team { json!([{ "id": "team-1" }]) } else { json!([]) };
        let data = match name.as_str() {
            "query Probe" => json!({ "viewer": { "id": "me" }, "teams": { "nodes": teams } }),
            "query Find" => {
                let mark = variables["mark"].as_str().unwrap_or_default();
                let matching_tickets = self.tickets.iter().enumerate().filter(|(_, ticket)| {
                    has_team && !ticket.is_foreign && ticket.body.contains(mark)
                });
                let nodes: Vec<Value> = matching_tickets
                    .map(|(at, ticket)| json!({ "url": url(at + 1), "description": ticket.body }))
                    .collect();
                json!({ "issues": { "nodes": nodes } })
            }
            "query Place" => {
                let label_names = variables["labels"].as_array().cloned().unwrap_or_default();
                let labels = self.labels.iter().filter(|label| label_names.contains(&json!(label)));
                let labels: Vec<Value> =
                    labels.map(|label| json!({ "id": label, "team": null })).collect();
                json!({ "teams": { "nodes": teams }, "issueLabels": { "nodes": labels } })
            }
            "mutation Create" => return self.create_at_linear(&variables["input"]),
            _ => {
                self.surprises.push(name);
                return Some((400, json!({ "errors": [{ "message": "Unknown query" }] })));
            }
        };
        Some((200, json!({ "data": data })))
    }

    fn create_at_linear(&mut self, input: &Value) -> Option<Answer> {
        self.check_fields(input, &["teamId", "title", "description", "labelIds"]);
        let text = |name: &str| input[name].as_str().unwrap_or_default().to_owned();
        if text("teamId") != "team-1" || text("title").is_empty() {
            return Some((200, json!({ "errors": [{ "message": "Argument Validation Error" }] })));
        }
        let labels = strings(&input["labelIds"]);
        if self.refuses_labels && !labels.is_empty() {
            return Some((200, json!({ "errors": [{ "message": "labelIds are not valid" }] })));
        }
        let ticket = FakeTicket {
            title: text("title"),
            body: text("description"),
            labels,
            is_foreign: false,
        };
        self.create(ticket, |number| {
            (200, json!({ "data": { "issueCreate": { "success": true, "issue": { "url": url(number) } } } }))
        })
    }

    fn jira(&mut self, request: &HttpRequest) -> Option<Answer> {
        self.requests.push(format!("{} {}", request.method, request.path));
        let basic = format!("Basic {}", STANDARD.encode(format!("{JIRA_EMAIL}:{JIRA_TOKEN}")));
        if request.header("authorization") != Some(&basic) {
            return Some((401, json!({ "message": "Client must be authenticated" })));
        }
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        match (request.method.as_str(), request.path.as_str()) {
            ("GET", path) if path == format!("/rest/api/3/project/{PROJECT}") => {
                Some((200, json!({ "key": PROJECT })))
            }
            ("GET", path) if path.starts_with("/rest/api/3/project/") => {
                Some((404, json!({ "errorMessages": ["No project could be found"] })))
            }
            ("POST", "/rest/api/3/search/jql") => Some((200, self.search_jira(&body))),
            ("POST", "/rest/api/3/issue") => self.create_at_jira(&body["fields"]),
            (method, path) => {
                self.surprises.push(format!("{method} {path}"));
                Some((404, Value::Null))
            }
        }
    }

    /// Returns all tickets of the account, whatever text the query has, so that the client has to
    /// filter.
    fn search_jira(&mut self, body: &Value) -> Value {
        self.check_fields(body, &["jql", "fields", "maxResults"]);
        let jql = body["jql"].as_str().unwrap_or_default();
        let mine = format!("project = \"{PROJECT}\" AND creator = currentUser() AND ");
        if !jql.starts_with(&mine) {
            self.surprises.push(jql.to_owned());
        }
        let issues = self.tickets.iter().enumerate().filter(|(_, ticket)| !ticket.is_foreign);
        let issues: Vec<Value> = issues
            .map(|(at, ticket)| {
                let description: Value = serde_json::from_str(&ticket.body).unwrap_or_default();
                let fields = json!({ "labels": ticket.labels, "description": description });
                json!({ "key": format!("{PROJECT}-{}", at + 1), "fields": fields })
            })
            .collect();
        json!({ "issues": issues })
    }

    fn create_at_jira(&mut self, fields: &Value) -> Option<Answer> {
        self.check_fields(fields, &["project", "issuetype", "summary", "description", "labels"]);
        if fields["project"]["key"] != PROJECT || fields["issuetype"]["name"] != "Task" {
            return Some((400, json!({ "errors": { "project": "valid project is required" } })));
        }
        let labels = strings(&fields["labels"]);
        if self.refuses_labels && !labels.is_empty() {
            let message =
                "Field 'labels' cannot be set. It is not on the appropriate screen, or unknown.";
            return Some((400, json!({ "errorMessages": [], "errors": { "labels": message } })));
        }
        let document = &fields["description"];
        if document["type"] != "doc" || document["version"] != 1 {
            return Some((
                400,
                json!({ "errors": { "description": "Operation value must be an Atlassian Document" } }),
            ));
        }
        let ticket = FakeTicket {
            title: fields["summary"].as_str().unwrap_or_default().to_owned(),
            body: document.to_string(),
            labels,
            is_foreign: false,
        };
        self.create(ticket, |number| {
            (201, json!({ "id": number.to_string(), "key": format!("{PROJECT}-{number}") }))
        })
    }

    /// Creates a ticket, unless the next fault strikes before. Uses up that fault.
    fn create(&mut self, ticket: FakeTicket, answer: impl Fn(usize) -> Answer) -> Option<Answer> {
        let fault = (!self.faults.is_empty()).then(|| self.faults.remove(0));
        let failure = |status: u16| Some((status, json!({ "message": "Something went wrong" })));
        match fault {
            Some(TrackerFault::StatusBefore(status)) => return failure(status),
            Some(TrackerFault::CutBefore) => return None,
            Some(TrackerFault::StatusAfter(_) | TrackerFault::CutAfter) | None => {
                self.tickets.push(ticket);
            }
        }
        match fault {
            Some(TrackerFault::StatusAfter(status)) => failure(status),
            Some(TrackerFault::CutAfter) => None,
            Some(TrackerFault::StatusBefore(_) | TrackerFault::CutBefore) | None => {
                Some(answer(self.tickets.len()))
            }
        }
    }

    fn check_fields(&mut self, value: &Value, fields: &[&str]) {
        let names = value.as_object().into_iter().flatten().map(|(name, _)| name);
        let unknown = names.filter(|name| !fields.contains(&name.as_str()));
        self.surprises.extend(unknown.map(|name| format!("the field `{name}`")));
    }
}

fn strings(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn url(number: usize) -> String {
    format!("https://linear.app/shop/issue/{PROJECT}-{number}")
}
