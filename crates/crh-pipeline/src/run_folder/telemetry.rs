//! `telemetry.json`: what every stage and every call of a model took, put together from the transcripts. Pure.
//!
//! A question of which nothing more was heard, since the process was killed, counts at the worst it could cost.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::events::Stage;
use crh_agent::{Basis, Cost, Limit, Purpose, Totals};
use crh_llm::{Money, Usage};

/// What is said of a question that was never answered.
const UNHEARD: &str = "no more was heard of it";

/// What a review took.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Telemetry {
    /// The name of the run.
    pub run_id: String,
    /// The stages, in the order in which they ended.
    pub stages: Vec<StageTime>,
    /// The runs inside it, by their names; of one that was made again, each attempt.
    pub runs: Vec<RunCalls>,
    /// All of it together.
    pub total: Used,
}

/// How long a stage took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StageTime {
    /// Which.
    pub stage: Stage,
    /// In milliseconds.
    pub took_ms: u64,
}

/// The calls of one run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunCalls {
    /// The name of its assignment.
    pub run: String,
    /// How it ended, in the transcript's word; none if it did not.
    pub outcome: Option<String>,
    /// A limit that it met.
    pub limited: Option<Limit>,
    /// Its calls, attempts put together.
    pub calls: Vec<ModelCall>,
}

/// A question to a model, with all attempts to get an answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelCall {
    /// Which turn of the run it was.
    pub turn: u32,
    /// What it was for.
    pub purpose: Purpose,
    /// The model that was asked.
    pub model: String,
    /// The model that answered, as its vendor calls it.
    pub served: Option<String>,
    /// Attempts after the first.
    pub retries: u32,
    /// Why attempts failed.
    pub errors: Vec<String>,
    /// How long all attempts took, without the waits between them, in milliseconds.
    pub latency_ms: u64,
    /// What it took from the budget.
    #[serde(flatten)]
    pub used: Used,
    /// The tools that the answer called.
    pub tools: Vec<ToolTime>,
    /// What all runs together could still use afterwards.
    pub left: Value,
}

/// A tool that was called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolTime {
    /// Which.
    pub tool: String,
    /// In milliseconds; none if it did not come back.
    pub took_ms: Option<u64>,
}

/// What calls took from the budget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Used {
    /// Calls of models that cost something or may have.
    pub llm_calls: u32,
    /// Of these, calls that are booked at the worst, since nobody counted.
    pub guessed_calls: u32,
    /// Calls of tools.
    pub tool_calls: u32,
    /// Tokens.
    pub tokens: Tokens,
    /// In US dollars.
    pub cost_usd: f64,
    #[serde(skip)]
    totals: Totals,
}

/// Tokens, by the names that the report has for them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tokens {
    /// Sent.
    #[serde(rename = "in")]
    pub input: u64,
    /// Received.
    #[serde(rename = "out")]
    pub output: u64,
    /// Of those sent, served from the vendor's cache.
    pub cached: u64,
    /// Of those sent, written to it.
    pub cache_written: u64,
}

/// A line of a transcript, as far as it says what something took.
#[derive(Debug, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line {
    Started,
    Asked {
        turn: u32,
        attempt: u32,
        purpose: Purpose,
        model: String,
        worst: Option<Booked>,
    },
    Replied {
        ms: u64,
        cost: Option<Booked>,
        left: Value,
        served: Option<String>,
    },
    Failed {
        ms: u64,
        cost: Option<Booked>,
        left: Value,
        error: String,
    },
    ToolCall {
        id: String,
        name: String,
    },
    ToolResult {
        id: String,
        ms: u64,
    },
    Ended {
        outcome: String,
        limited: Option<Limit>,
    },
    /// What takes nothing.
    #[serde(other)]
    Other,
}

/// A cost as transcripts have it.
#[derive(Debug, Clone, Copy, Deserialize)]
struct Booked {
    usage: Usage,
    usd: f64,
    basis: Basis,
}

/// The calls of a run, from the lines of its transcript. Lines that are no events, such as the torn last one of a
/// process that was killed, are passed over.
pub fn calls<L: AsRef<[u8]>>(run: &str, lines: impl IntoIterator<Item = L>) -> Vec<RunCalls> {
    let mut reading = Reading { run, runs: Vec::new(), unheard: None, ids: Vec::new() };
    for line in lines {
        if let Ok(line) = serde_json::from_slice(line.as_ref()) {
            reading.take(line);
        }
    }
    reading.give_up();
    reading.runs
}

impl Telemetry {
    /// What a review took: the stages as they were timed, and the calls of its runs.
    pub fn new(run_id: &str, stages: &[StageTime], runs: Vec<RunCalls>) -> Self {
        let mut total = Used::default();
        for call in runs.iter().flat_map(|run| &run.calls) {
            total.add(&call.used.totals);
        }
        Self { run_id: run_id.to_owned(), stages: stages.to_vec(), runs, total }
    }

    /// All of it together, as the ledger counts.
    pub fn totals(&self) -> Totals {
        self.total.totals
    }
}

/// A transcript while it is read.
struct Reading<'a> {
    run: &'a str,
    runs: Vec<RunCalls>,
    /// What the question costs at the worst that nothing more was heard of so far.
    unheard: Option<Option<Booked>>,
    /// The ids of the calls of the last answer, in the order of its tools.
    ids: Vec<String>,
}

impl Reading<'_> {
    fn take(&mut self, line: Line) {
        match line {
            Line::Started => {
                self.give_up();
                self.begin();
            }
            Line::Asked { turn, attempt, purpose, model, worst } => {
                self.give_up();
                self.ask(turn, attempt, purpose, model);
                self.unheard = Some(worst);
            }
            Line::Replied { ms, cost, left, served } => {
                self.settle(ms, cost, left);
                if let Some(call) = self.call() {
                    call.served = served;
                }
            }
            Line::Failed { ms, cost, left, error } => {
                self.settle(ms, cost, left);
                if let Some(call) = self.call() {
                    call.errors.push(error);
                }
            }
            Line::ToolCall { id, name } => {
                self.ids.push(id);
                if let Some(call) = self.call() {
                    call.tools.push(ToolTime { tool: name, took_ms: None });
                    call.used.add(&Totals { tool_calls: 1, ..Totals::default() });
                }
            }
            Line::ToolResult { id, ms } => {
                let at = self.ids.iter().rposition(|known| *known == id);
                let tool = at.and_then(|at| self.call()?.tools.get_mut(at));
                if let Some(tool) = tool {
                    tool.took_ms = Some(ms);
                }
            }
            Line::Ended { outcome, limited } => {
                self.give_up();
                if let Some(run) = self.runs.last_mut() {
                    run.outcome = Some(outcome);
                    run.limited = limited;
                }
            }
            Line::Other => {}
        }
    }

    fn begin(&mut self) {
        let run = self.run.to_owned();
        self.runs.push(RunCalls { run, outcome: None, limited: None, calls: Vec::new() });
    }

    fn ask(&mut self, turn: u32, attempt: u32, purpose: Purpose, model: String) {
        if self.runs.last().is_none_or(|run| run.outcome.is_some()) {
            self.begin();
        }
        let Some(run) = self.runs.last_mut() else { return };
        match run.calls.last_mut() {
            Some(call) if attempt > 1 && call.turn == turn => call.retries += 1,
            Some(_) | None => {
                self.ids.clear();
                run.calls.push(ModelCall {
                    turn,
                    purpose,
                    model,
                    served: None,
                    retries: 0,
                    errors: Vec::new(),
                    latency_ms: 0,
                    used: Used::default(),
                    tools: Vec::new(),
                    left: Value::Null,
                });
            }
        }
    }

    fn settle(&mut self, ms: u64, cost: Option<Booked>, left: Value) {
        self.unheard = None;
        let Some(call) = self.call() else { return };
        call.latency_ms = call.latency_ms.saturating_add(ms);
        call.left = left;
        if let Some(cost) = cost {
            call.used.add(&cost.totals());
        }
    }

    /// Books what nothing more will be heard of.
    fn give_up(&mut self) {
        let Some(worst) = self.unheard.take() else { return };
        let Some(call) = self.call() else { return };
        call.errors.push(UNHEARD.to_owned());
        if let Some(worst) = worst {
            call.used.add(&worst.totals());
        }
    }

    fn call(&mut self) -> Option<&mut ModelCall> {
        self.runs.last_mut()?.calls.last_mut()
    }
}

impl Booked {
    fn totals(self) -> Totals {
        let Self { usage, usd, basis } = self;
        // An amount that is none was not written by us; the most is what then may have been spent.
        let money = Money::dollars(usd).unwrap_or(Money::cents(u64::MAX));
        let mut totals = Totals::default();
        totals.add(Cost { usage, money, basis });
        totals
    }
}

impl Used {
    fn add(&mut self, more: &Totals) {
        self.totals = self.totals.plus(more);
        let Totals { llm_calls, guessed_calls, tool_calls, usage, money } = self.totals;
        self.llm_calls = llm_calls;
        self.guessed_calls = guessed_calls;
        self.tool_calls = tool_calls;
        self.tokens = Tokens {
            input: usage.input,
            output: usage.output,
            cached: usage.cache_read,
            cache_written: usage.cache_written,
        };
        self.cost_usd = money.as_dollars();
    }
}
