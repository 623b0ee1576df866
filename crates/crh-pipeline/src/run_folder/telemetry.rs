//! `telemetry.json`: time and cost of every stage and model call, from the transcripts. Pure code
//! without I/O.
//!
//! A request without a recorded reply, because the process was killed, counts at its maximum cost.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::events::Stage;
use crh_agent::{CallCost, CallPurpose, CostBasis, LimitKind, UsageTotals};
use crh_llm::{Money, TokenUsage};

/// Error text of a request without a recorded reply.
const UNANSWERED: &str = "no reply recorded";

/// Time and cost of a review.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Telemetry {
    /// Name of the run folder.
    pub run_id: String,
    /// Stages, in the order in which they ended.
    pub stages: Vec<StageTime>,
    /// Agent runs by name. A repeated run has one entry per attempt.
    pub runs: Vec<RunCalls>,
    /// Sum over all calls.
    pub total: CallTotals,
}

/// Duration of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct StageTime {
    /// Stage.
    pub stage: Stage,
    /// Milliseconds.
    pub took_ms: u64,
}

/// Model calls of one agent run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunCalls {
    /// Name of its assignment.
    pub run: String,
    /// How the run ended, as in the transcript. `None` if it did not end.
    pub outcome: Option<String>,
    /// Limit that the run reached.
    pub limited: Option<LimitKind>,
    /// Calls; retries are merged.
    pub calls: Vec<ModelCall>,
}

/// A request to a model with all its attempts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelCall {
    /// Turn of the run.
    pub turn: u32,
    /// Purpose of the request.
    pub purpose: CallPurpose,
    /// Requested model.
    pub model: String,
    /// Model that answered, by the vendor's name.
    pub served: Option<String>,
    /// Attempts after the first.
    pub retries: u32,
    /// Errors of failed attempts.
    pub errors: Vec<String>,
    /// Milliseconds for all attempts, without the delays between them.
    pub latency_ms: u64,
    /// Cost of the call.
    #[serde(flatten)]
    pub used: CallTotals,
    /// Tools that the reply called.
    pub tools: Vec<ToolTime>,
    /// Remaining budget of the review after the call.
    pub left: Value,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolTime {
    /// Name of the tool.
    pub tool: String,
    /// Milliseconds. `None` if the tool did not return.
    pub took_ms: Option<u64>,
}

/// Calls, tokens and cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct CallTotals {
    /// Model calls that cost money or may have.
    pub llm_calls: u32,
    /// The part of `llm_calls` that is booked at its maximum cost, because the vendor reported no
    /// usage.
    pub guessed_calls: u32,
    /// Attempts without a reply.
    pub failed_calls: u32,
    /// Tool calls.
    pub tool_calls: u32,
    /// Token counts.
    pub tokens: TokenCounts,
    /// US dollars.
    pub cost_usd: f64,
    #[serde(skip)]
    totals: UsageTotals,
}

/// Token counts, named as in the report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TokenCounts {
    /// Tokens sent.
    #[serde(rename = "in")]
    pub input: u64,
    /// Tokens received.
    #[serde(rename = "out")]
    pub output: u64,
    /// Sent tokens that the vendor's cache served.
    pub cached: u64,
    /// Sent tokens that were written to the cache.
    pub cache_written: u64,
}

/// The parts of a transcript line that matter for time and cost.
#[derive(Debug, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum TranscriptLine {
    Started,
    Asked {
        turn: u32,
        attempt: u32,
        purpose: CallPurpose,
        model: String,
        worst: Option<BookedCost>,
    },
    Replied {
        ms: u64,
        cost: Option<BookedCost>,
        left: Value,
        served: Option<String>,
    },
    Failed {
        ms: u64,
        cost: Option<BookedCost>,
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
        limited: Option<LimitKind>,
    },
    /// Events without time or cost.
    #[serde(other)]
    Other,
}

/// A cost as written in transcripts.
#[derive(Debug, Clone, Copy, Deserialize)]
struct BookedCost {
    usage: TokenUsage,
    usd: f64,
    basis: CostBasis,
}

/// Reads the calls of a run from its transcript. Skips malformed lines, such as the partial last
/// line of a killed process.
pub fn parse_calls<L: AsRef<[u8]>>(run: &str, lines: impl IntoIterator<Item = L>) -> Vec<RunCalls> {
    let mut reader =
        TranscriptReader { run, runs: Vec::new(), unanswered_cost: None, ids: Vec::new() };
    for line in lines {
        if let Ok(line) = serde_json::from_slice(line.as_ref()) {
            reader.read_line(line);
        }
    }
    reader.book_unanswered();
    reader.runs
}

impl Telemetry {
    /// Sums up stages and calls.
    pub fn new(run_id: &str, stages: &[StageTime], runs: Vec<RunCalls>) -> Self {
        let mut total = CallTotals::default();
        for call in runs.iter().flat_map(|run| &run.calls) {
            total.add(&call.used.totals);
        }
        Self { run_id: run_id.to_owned(), stages: stages.to_vec(), runs, total }
    }

    /// Sum over all calls, as the ledger counts.
    pub fn totals(&self) -> UsageTotals {
        self.total.totals
    }
}

struct TranscriptReader<'a> {
    run: &'a str,
    runs: Vec<RunCalls>,
    /// Maximum cost of the request that has no reply yet.
    unanswered_cost: Option<Option<BookedCost>>,
    /// Ids of the last reply's tool calls, in the order of its tools.
    ids: Vec<String>,
}

impl TranscriptReader<'_> {
    fn read_line(&mut self, line: TranscriptLine) {
        match line {
            TranscriptLine::Started => {
                self.book_unanswered();
                self.begin_run();
            }
            TranscriptLine::Asked { turn, attempt, purpose, model, worst } => {
                self.book_unanswered();
                self.begin_call(turn, attempt, purpose, model);
                self.unanswered_cost = Some(worst);
            }
            TranscriptLine::Replied { ms, cost, left, served } => {
                self.book_attempt(ms, cost, left);
                if let Some(call) = self.call() {
                    call.served = served;
                }
            }
            TranscriptLine::Failed { ms, cost, left, error } => {
                self.book_attempt(ms, cost, left);
                if let Some(call) = self.call() {
                    call.used.add(&UsageTotals { failed_calls: 1, ..UsageTotals::default() });
                    call.errors.push(error);
                }
            }
            TranscriptLine::ToolCall { id, name } => {
                self.ids.push(id);
                if let Some(call) = self.call() {
                    call.tools.push(ToolTime { tool: name, took_ms: None });
                    call.used.add(&UsageTotals { tool_calls: 1, ..UsageTotals::default() });
                }
            }
            TranscriptLine::ToolResult { id, ms } => {
                let index = self.ids.iter().rposition(|known| *known == id);
                let tool = index.and_then(|index| self.call()?.tools.get_mut(index));
                if let Some(tool) = tool {
                    tool.took_ms = Some(ms);
                }
            }
            TranscriptLine::Ended { outcome, limited } => {
                self.book_unanswered();
                if let Some(run) = self.runs.last_mut() {
                    run.outcome = Some(outcome);
                    run.limited = limited;
                }
            }
            TranscriptLine::Other => {}
        }
    }

    fn begin_run(&mut self) {
        let run = self.run.to_owned();
        self.runs.push(RunCalls { run, outcome: None, limited: None, calls: Vec::new() });
    }

    fn begin_call(&mut self, turn: u32, attempt: u32, purpose: CallPurpose, model: String) {
        if self.runs.last().is_none_or(|run| run.outcome.is_some()) {
            self.begin_run();
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
                    used: CallTotals::default(),
                    tools: Vec::new(),
                    left: Value::Null,
                });
            }
        }
    }

    fn book_attempt(&mut self, ms: u64, cost: Option<BookedCost>, left: Value) {
        self.unanswered_cost = None;
        let Some(call) = self.call() else { return };
        call.latency_ms = call.latency_ms.saturating_add(ms);
        call.left = left;
        if let Some(cost) = cost {
            call.used.add(&cost.totals());
        }
    }

    /// Books a request that will get no reply.
    fn book_unanswered(&mut self) {
        let Some(worst) = self.unanswered_cost.take() else { return };
        let Some(call) = self.call() else { return };
        call.errors.push(UNANSWERED.to_owned());
        if let Some(worst) = worst {
            call.used.add(&worst.totals());
        }
    }

    fn call(&mut self) -> Option<&mut ModelCall> {
        self.runs.last_mut()?.calls.last_mut()
    }
}

impl BookedCost {
    fn totals(self) -> UsageTotals {
        let Self { usage, usd, basis } = self;
        // crh writes no invalid amount. If there is one, assume the maximum.
        let money = Money::dollars(usd).unwrap_or(Money::cents(u64::MAX));
        let mut totals = UsageTotals::default();
        totals.add(CallCost { usage, money, basis });
        totals
    }
}

impl CallTotals {
    fn add(&mut self, usage: &UsageTotals) {
        self.totals = self.totals.plus(usage);
        let UsageTotals { llm_calls, guessed_calls, failed_calls, tool_calls, usage, money } =
            self.totals;
        self.llm_calls = llm_calls;
        self.failed_calls = failed_calls;
        self.guessed_calls = guessed_calls;
        self.tool_calls = tool_calls;
        self.tokens = TokenCounts {
            input: usage.input,
            output: usage.output,
            cached: usage.cache_read,
            cache_written: usage.cache_written,
        };
        self.cost_usd = money.as_dollars();
    }
}
