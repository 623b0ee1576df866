//! State of the fake model between requests: script, requests and counts.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::asked::{Asked, Wire};
use super::count::{Counted, Memory, Prompt, Tokens};
use super::script::{Outcome, Reported, Scripted};
use super::{reply, rules};
use crate::http::{Incoming, Outgoing, Service};

/// Longest wait of a test for a request. Several times what a slow machine needs.
const PATIENCE: Duration = Duration::from_secs(120);

/// State shared by all connections.
#[derive(Debug)]
pub(super) struct Book {
    /// Answer to every request, instead of the script.
    always: Option<Scripted>,
    state: Mutex<State>,
    /// Signalled for every request.
    asked: Condvar,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) scripts: BTreeMap<String, VecDeque<Scripted>>,
    numbers: BTreeMap<String, usize>,
    pub(super) requests: Vec<Arc<Asked>>,
    pub(super) keeps: Keeps,
    faults: Vec<String>,
    pub(super) counted: BTreeMap<String, Counted>,
    memory: Memory,
    pub(super) tags: Vec<(String, String)>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Keeps {
    #[default]
    Requests,
    Numbers,
}

impl Book {
    pub(super) fn new(always: Option<Scripted>) -> Self {
        Self { always, state: Mutex::new(State::default()), asked: Condvar::new() }
    }

    /// Waits until a caller has sent this many requests. Returns whether it has.
    pub(super) fn wait_for(&self, caller: &str, times: usize) -> bool {
        let is_due =
            |state: &mut State| state.numbers.get(caller).copied().unwrap_or_default() < times;
        let waited = self.asked.wait_timeout_while(self.state(), PATIENCE, is_due);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a problem that fails the test.
    fn fault(&self, fault: String) {
        self.state().faults.push(fault);
    }

    /// The reply to a request, or an error.
    fn reply(&self, mut asked: Asked) -> Result<(Arc<Asked>, Scripted), String> {
        let rule = rules::broken(&asked);
        let mut state = self.state();
        let number = state.numbers.entry(asked.caller.clone()).or_default();
        *number += 1;
        asked.number = *number;
        self.asked.notify_all();
        let asked = Arc::new(asked);
        if state.keeps == Keeps::Requests {
            state.requests.push(asked.clone());
        }
        let next = match &self.always {
            None => state.scripts.get_mut(&asked.caller).and_then(VecDeque::pop_front),
            Some(always) => Some(always.clone()),
        };
        drop(state);
        let fault = |why: &str| {
            format!("request {} of `{}` ({}) {why}", asked.number, asked.caller, asked.path)
        };
        if let Some(rule) = rule {
            return Err(fault(&format!("would be refused by the vendor: {rule}")));
        }
        let Some(next) = next else { return Err(fault("has no reply in the script")) };
        let decided = catch_unwind(AssertUnwindSafe(|| next.to(&asked)));
        match decided {
            Ok(scripted) => Ok((asked, scripted)),
            Err(_) => Err(fault("made the deciding function panic")),
        }
    }
}

impl Service for Book {
    /// The prompt, if it gets an answer.
    type Pending = Option<Prompt>;

    fn answer(&self, request: Incoming) -> (Outgoing, Option<Prompt>) {
        let answered = understood(request).and_then(|asked| self.reply(asked));
        match answered {
            Ok((asked, scripted)) => {
                let prompt = Prompt::of(&asked);
                let tokens = self.state().count(&asked, &prompt, &scripted);
                let answers = matches!(scripted.outcome, Outcome::Answer(_));
                (reply::outgoing(&scripted, &asked, tokens), answers.then_some(prompt))
            }
            Err(fault) => {
                let outgoing = reply::refused(&format!("the fake model cannot answer: {fault}"));
                self.fault(fault);
                (outgoing, None)
            }
        }
    }

    /// Called when an answer starts. Only now the prompt is cached, as vendors do: parallel calls
    /// do not profit.
    fn begins(&self, prompt: Option<Prompt>) {
        if let Some(prompt) = &prompt {
            self.state().memory.remember(prompt);
        }
    }

    fn misunderstood(&self, why: String) {
        self.fault(why);
    }
}

impl State {
    pub(super) fn all_faults(&self) -> Vec<String> {
        let mut faults = self.faults.clone();
        for (caller, replies) in &self.scripts {
            let asked = self.numbers.get(caller).copied().unwrap_or(0);
            for reply in replies {
                let outcome = &reply.outcome;
                faults
                    .push(format!("`{caller}` asked {asked} times and left a reply: {outcome:?}"));
            }
        }
        faults
    }

    /// Counts a request and the cost of its reply.
    fn count(&mut self, asked: &Asked, prompt: &Prompt, scripted: &Scripted) -> Tokens {
        let counted = self.counted.entry(asked.model.clone()).or_default();
        counted.requests += 1;
        let Outcome::Answer(answer) = &scripted.outcome else {
            return Tokens::default();
        };
        let tokens = match answer.usage {
            Reported::Told(tokens) => tokens,
            Reported::Counted | Reported::Nothing => {
                self.memory.count(asked.wire, prompt, &answer.parts)
            }
        };
        counted.add(&tokens);
        tokens
    }
}

fn understood(request: Incoming) -> Result<Asked, String> {
    let Incoming { method, path, headers, body } = request;
    let Some((wire, named)) = Wire::of(&path).filter(|_| method == "POST") else {
        return Err(format!("`{method} {path}` is not one of its paths"));
    };
    let body: Value = serde_json::from_slice(&body)
        .map_err(|error| format!("the body sent to `{path}` is no JSON: {error}"))?;
    let model = named.or_else(|| body["model"].as_str()).unwrap_or_default().to_owned();
    let agent = headers.iter().find(|(name, _)| name == "user-agent");
    let caller = agent.map(|(_, agent)| comment(agent).to_owned()).unwrap_or_default();
    Ok(Asked { caller, number: 0, wire, model, path, headers, body })
}

/// The comment of a `User-Agent`.
fn comment(agent: &str) -> &str {
    let after = agent.split_once('(').map_or("", |(_, after)| after);
    after.rsplit_once(')').map_or("", |(comment, _)| comment)
}
