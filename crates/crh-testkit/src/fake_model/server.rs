//! State of the fake model between requests: script, requests and counts.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::count::{FakeUsage, Prompt, PromptCache, Tokens};
use super::request::{FakeRequest, Wire};
use super::script::{Outcome, ScriptedReply, UsageReport};
use super::{editor, reply, rules};
use crate::http::{HttpRequest, HttpResponse, Service};

/// Longest wait of a test for a request: several times what a slow machine needs.
const MAX_WAIT: Duration = Duration::from_secs(120);

/// State shared by all connections.
#[derive(Debug)]
pub(super) struct FakeModelServer {
    /// Answer to every request, instead of the script.
    fixed_reply: Option<ScriptedReply>,
    state: Mutex<FakeModelState>,
    /// Signalled for every request.
    request_arrived: Condvar,
}

#[derive(Debug, Default)]
pub(super) struct FakeModelState {
    pub(super) scripts: BTreeMap<String, VecDeque<ScriptedReply>>,
    numbers: BTreeMap<String, usize>,
    pub(super) requests: Vec<Arc<FakeRequest>>,
    pub(super) storage: RequestStorage,
    faults: Vec<String>,
    pub(super) usage: BTreeMap<String, FakeUsage>,
    cache: PromptCache,
    pub(super) tags: Vec<(String, String)>,
    /// Pages besides the model APIs, by path.
    pub(super) pages: BTreeMap<String, Value>,
    /// Pages that exist once the model is loaded.
    pub(super) pages_when_loaded: BTreeMap<String, Value>,
    /// Name and value of a header without which no page exists.
    pub(super) page_header: Option<(String, String)>,
    /// Whether a client made the server load its model with `/api/generate`.
    is_loaded: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum RequestStorage {
    #[default]
    Requests,
    Numbers,
}

impl FakeModelServer {
    pub(super) fn new(fixed_reply: Option<ScriptedReply>) -> Self {
        Self {
            fixed_reply,
            state: Mutex::new(FakeModelState::default()),
            request_arrived: Condvar::new(),
        }
    }

    /// Waits until a caller has sent this many requests. Returns whether it has.
    pub(super) fn wait_for(&self, caller: &str, times: usize) -> bool {
        let is_missing = |state: &mut FakeModelState| {
            state.numbers.get(caller).copied().unwrap_or_default() < times
        };
        let result = self.request_arrived.wait_timeout_while(self.state(), MAX_WAIT, is_missing);
        !result.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, FakeModelState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a problem that fails the test.
    fn fault(&self, fault: String) {
        self.state().faults.push(fault);
    }

    /// The reply to a request, or an error.
    fn reply(&self, mut request: FakeRequest) -> Result<(Arc<FakeRequest>, ScriptedReply), String> {
        let rule = rules::broken_rule(&request);
        let mut state = self.state();
        let number = state.numbers.entry(request.caller.clone()).or_default();
        *number += 1;
        request.number = *number;
        self.request_arrived.notify_all();
        let request = Arc::new(request);
        if state.storage == RequestStorage::Requests {
            state.requests.push(request.clone());
        }
        let reply = match &self.fixed_reply {
            None => state.scripts.get_mut(&request.caller).and_then(VecDeque::pop_front),
            Some(always) => Some(always.clone()),
        };
        drop(state);
        let fault = |problem: &str| {
            format!(
                "request {} of `{}` ({}) {problem}",
                request.number, request.caller, request.path
            )
        };
        if let Some(rule) = rule {
            return Err(fault(&format!("would be refused by the vendor: {rule}")));
        }
        let reply = reply.or_else(|| editor::publish_all(&request));
        let Some(next) = reply else { return Err(fault("has no reply in the script")) };
        let resolved = catch_unwind(AssertUnwindSafe(|| next.resolve(&request)));
        match resolved {
            Ok(scripted) => Ok((request, scripted)),
            Err(_) => Err(fault("made the deciding function panic")),
        }
    }
}

impl Service for FakeModelServer {
    /// The prompt, if it gets an answer.
    type Pending = Option<Prompt>;

    fn answer(&self, request: HttpRequest) -> (HttpResponse, Option<Prompt>) {
        if is_page(&request) {
            let mut state = self.state();
            // Ollama loads a model if it is asked without a prompt.
            state.is_loaded |= request.path == "/api/generate";
            let loaded = state.pages_when_loaded.get(&request.path);
            let page = loaded.filter(|_| state.is_loaded || !state.requests.is_empty());
            let page = page.or(state.pages.get(&request.path)).filter(|_| {
                let header = state.page_header.as_ref();
                header.is_none_or(|(name, value)| request.header(name) == Some(value.as_str()))
            });
            return (reply::page_response(page), None);
        }
        let result = parse_request(request).and_then(|request| self.reply(request));
        match result {
            Ok((request, scripted)) => {
                let prompt = Prompt::from_request(&request);
                let tokens = self.state().count(&request, &prompt, &scripted);
                let answers = matches!(scripted.outcome, Outcome::Answer(_));
                (reply::response(&scripted, &request, tokens), answers.then_some(prompt))
            }
            Err(fault) => {
                let outgoing =
                    reply::error_response(&format!("the fake model cannot answer: {fault}"));
                self.fault(fault);
                (outgoing, None)
            }
        }
    }

    /// Called when an answer starts. As at real vendors, the prompt is cached only now, so parallel
    /// calls do not profit from the cache.
    fn on_reply_start(&self, prompt: Option<Prompt>) {
        if let Some(prompt) = &prompt {
            self.state().cache.remember(prompt);
        }
    }

    fn on_invalid_request(&self, problem: String) {
        self.fault(problem);
    }
}

impl FakeModelState {
    pub(super) fn all_faults(&self) -> Vec<String> {
        let mut faults = self.faults.clone();
        for (caller, replies) in &self.scripts {
            let request_count = self.numbers.get(caller).copied().unwrap_or(0);
            for reply in replies {
                let outcome = &reply.outcome;
                faults.push(format!(
                    "`{caller}` asked {request_count} times and left a reply: {outcome:?}"
                ));
            }
        }
        faults
    }

    /// Counts a request and the cost of its reply.
    fn count(
        &mut self,
        request: &FakeRequest,
        prompt: &Prompt,
        scripted: &ScriptedReply,
    ) -> Tokens {
        let usage = self.usage.entry(request.model.clone()).or_default();
        usage.requests += 1;
        let Outcome::Answer(answer) = &scripted.outcome else {
            return Tokens::default();
        };
        let tokens = match answer.usage {
            UsageReport::Told(tokens) => tokens,
            UsageReport::Counted | UsageReport::Nothing => {
                self.cache.count(request.wire, prompt, &answer.parts)
            }
        };
        usage.add(&tokens);
        tokens
    }
}

fn parse_request(request: HttpRequest) -> Result<FakeRequest, String> {
    let HttpRequest { method, path, headers, body } = request;
    let Some((wire, path_model)) = Wire::from_path(&path).filter(|_| method == "POST") else {
        return Err(format!("`{method} {path}` is not one of its paths"));
    };
    let body: Value = serde_json::from_slice(&body)
        .map_err(|error| format!("the body sent to `{path}` is no JSON: {error}"))?;
    let model = path_model.or_else(|| body["model"].as_str()).unwrap_or_default().to_owned();
    let agent = headers.iter().find(|(name, _)| name == "user-agent");
    let caller = agent.map(|(_, agent)| comment(agent).to_owned()).unwrap_or_default();
    Ok(FakeRequest { caller, number: 0, wire, model, path, headers, body })
}

/// Whether a request asks about the server, not the model. crh may send it to any server.
fn is_page(request: &HttpRequest) -> bool {
    match request.method.as_str() {
        "GET" => true,
        _ => request.path.starts_with("/api/"),
    }
}

/// The comment of a `User-Agent`.
fn comment(agent: &str) -> &str {
    let tail = agent.split_once('(').map_or("", |(_, after)| after);
    tail.rsplit_once(')').map_or("", |(comment, _)| comment)
}
