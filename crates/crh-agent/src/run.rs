//! The agent loop as a state machine: it decides the next step, and the driver executes that step.
//!
//! The driver asks the model, calls the tools and reports the results. This module has no I/O, no
//! clock and no randomness, so every branch is easy to test. Messages are only appended, because a
//! changed message would invalidate the vendor's prompt cache. Trimming is the one exception, and
//! it happens in bulk.

mod turn;
mod usage;

use std::time::Duration;

use self::turn::TurnCalls;
use self::usage::{RunUsage, UsageForecast};
use crate::call_history::CallHistory;
use crate::limits::{CountDoubt, LowCount};
use crate::model_texts::LastTurnReason;
use crate::protocol::{ToolProtocol, TurnDemand};
use crate::trim::TokenEstimator;
use crate::{
    AgentOutcome, AgentRunEnd, AgentTask, BudgetRefusal, CallCost, CallPurpose, ContextShortage,
    DoubtfulCount, EstimatedRequest, LimitKind, RunLimits, RunStep, Shortfall, ToolOutcome,
    model_texts, trim,
};
use crh_llm::{
    Conversation, Effort, LeastTokens, Message, ModelError, ModelFacts, ModelReply, ModelRequest,
    Money, Price, TokenUsage, ToolSpec,
};

/// Maximum characters of all results of a turn: about 25,000 tokens.
pub const TURN_RESULT_CHARS: usize = 80_000;

/// A conversation that does not fit is trimmed to the maximum input divided by this number. Half of
/// it leaves room for many turns, so the prompt cache is seldom invalidated.
const TRIM_DIVISOR: u64 = 2;

/// A request grants at least the context divided by this number as output, or the maximum output if
/// that is less.
const OUTPUT_DIVISOR: u64 = 8;

/// After the vendor rejects a conversation as too long, the conversation is trimmed to its
/// estimated size divided by this number. The estimate said that the conversation fits, so trimming
/// to half could fail again.
const HARD_TRIM_DIVISOR: u64 = 4;

/// The smallest context length that servers of models use. A smaller power of two is a coincidence.
const SMALLEST_CONTEXT: u64 = 2_048;

/// The results of the last turn are cut to this many characters before tools are left out. About a
/// screen of code: an agent without tools could not read more.
const MIN_RESULT_CHARS: usize = 2_000;

/// One run of an agent, from its task to its end.
#[derive(Debug)]
pub struct AgentRun<A> {
    task: AgentTask<A>,
    limits: RunLimits,
    enough_results: Option<u32>,
    facts: ModelFacts,
    /// Number of initial messages, which hold the task.
    task_messages: usize,
    max_output_tokens: u32,
    /// Output tokens that a turn usually needs, at least as many as the longest turn of this run
    /// had.
    usual_output: u64,
    /// Output tokens of the last reply, if the vendor counted them.
    last_output: Option<u64>,
    protocol: ToolProtocol,
    tokens: TokenEstimator,
    /// Largest number of input tokens that the vendor counted.
    largest_input: u64,
    /// Lower bounds of the last counted request, and its count.
    last_counted: Option<(LeastTokens, u64)>,
    doubtful_count: Option<DoubtfulCount>,
    /// The server's message, if it does not support tools.
    tool_refusal: Option<String>,
    usage: RunUsage,
    history: CallHistory,
    /// Size of the largest tool results of a turn, in tokens. The next results may be as large.
    largest_result_tokens: u64,
    /// Number of calls so far, for generating call ids.
    call_count: usize,
    /// Number of invalid answers or turns that the model was asked to correct.
    corrections: u32,
    /// Consecutive turns in which the model only repeated calls.
    stuck_turns: u32,
    reminder: Reminder,
    /// Why the next turn is the last, if it is.
    last_turn: Option<LastTurnReason>,
    limit_reached: Option<LimitKind>,
    state: RunState<A>,
}

/// Whether the model was reminded to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reminder {
    NotSent,
    /// The next turn must call a tool.
    JustSent,
    Sent,
}

/// Role of a turn in the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TurnKind {
    Work,
    /// The turn after the reminder.
    Reminded,
    /// The only turn of a run that is limited to one turn. The model must answer, and gets no
    /// notice, because no work was cut short.
    Only,
    /// The last turn, after `last_turn_notice`: the model must answer with what it knows.
    Last,
}

#[derive(Debug)]
enum RunState<A> {
    /// The next step is not decided yet.
    Ready,
    /// Waiting for the model, with the estimated tokens of the request.
    Asking(TurnKind, u64),
    /// Waiting for tools.
    Calling(TurnCalls),
    Ended(AgentRunEnd<A>),
}

impl TurnKind {
    fn is_last(self) -> bool {
        match self {
            Self::Work | Self::Reminded => false,
            Self::Only | Self::Last => true,
        }
    }
}

impl<A: Clone> AgentRun<A> {
    /// A run that has not started.
    pub fn new(task: AgentTask<A>, limits: RunLimits, facts: &ModelFacts) -> Self {
        let model_max_output = u32::try_from(facts.max_output).unwrap_or(u32::MAX);
        let reasoning_room = task.effort.map_or(0, Effort::reasoning_room);
        let max_output = task.max_output_tokens.saturating_add(reasoning_room);
        let max_output_tokens = max_output.min(model_max_output);
        Self {
            task_messages: task.conversation.messages.len(),
            max_output_tokens,
            usual_output: crh_llm::usual_output(max_output_tokens, task.effort).into(),
            last_output: None,
            task,
            limits,
            enough_results: None,
            facts: facts.clone(),
            protocol: ToolProtocol::best_for(facts.abilities),
            tokens: TokenEstimator::default(),
            largest_input: 0,
            last_counted: None,
            doubtful_count: None,
            tool_refusal: None,
            usage: RunUsage::default(),
            history: CallHistory::default(),
            largest_result_tokens: 0,
            call_count: 0,
            corrections: 0,
            stuck_turns: 0,
            reminder: Reminder::NotSent,
            last_turn: None,
            limit_reached: None,
            state: RunState::Ready,
        }
    }

    /// Executes no calls after the turn in which the number of results reaches this one. Each turn
    /// sends the whole conversation again, so a model should make all its calls in one turn.
    #[must_use]
    pub fn with_enough_results(self, enough_results: Option<u32>) -> Self {
        Self { enough_results, ..self }
    }

    /// Name of the caller, from the task.
    pub fn caller(&self) -> &str {
        &self.task.caller
    }

    /// Limits of the run.
    pub fn limits(&self) -> &RunLimits {
        &self.limits
    }

    /// Lowers the wall-time limit to that of the shared ledger. Otherwise the ledger could stop the
    /// run before its last turn starts.
    pub(crate) fn cap_wall_time(&mut self, wall: Duration) {
        self.limits.wall = self.limits.wall.min(wall);
    }

    /// The conversation so far, in a vendor-neutral form.
    pub fn conversation(&self) -> &Conversation {
        &self.task.conversation
    }

    /// Returns the next step. `elapsed` is the time since the start of the run. Without new events
    /// the step stays the same.
    pub fn next(&mut self, elapsed: Duration) -> RunStep<A> {
        if matches!(self.state, RunState::Ready) {
            self.decide_next(elapsed);
        }
        match &self.state {
            RunState::Asking(turn_kind, estimate) => RunStep::Ask(EstimatedRequest {
                request: ModelRequest {
                    max_output_tokens: self.output_limit(*estimate),
                    ..self.request(*turn_kind)
                },
                input: self.tokens.upper_bound(*estimate),
                purpose: if *turn_kind == TurnKind::Last {
                    CallPurpose::LastTurn
                } else {
                    self.task.purpose
                },
            }),
            RunState::Calling(turn_calls) => {
                RunStep::CallTools(turn_calls.calls().cloned().collect())
            }
            RunState::Ended(end) => RunStep::Stop(end.clone()),
            // Unreachable: `decide_next` leaves no run in `Ready`.
            RunState::Ready => RunStep::Stop(AgentRunEnd {
                outcome: AgentOutcome::NoAnswer,
                limit_reached: self.limit_reached,
            }),
        }
    }

    /// Adds the cost of an attempt. Returns the limit that another attempt could exceed. Like all
    /// event methods, this one ignores events that the current state does not expect.
    pub fn record_cost(&mut self, cost: CallCost) -> Option<LimitKind> {
        let RunState::Asking(_, estimate) = self.state else { return None };
        let tokens = cost.usage.input.saturating_add(cost.usage.output);
        self.usage.tokens = self.usage.tokens.saturating_add(tokens);
        self.usage.money += cost.money;
        self.usage.exceeded_by(&self.forecast(estimate).one_turn, &self.limits)
    }

    /// The model replied.
    pub fn on_reply(&mut self, reply: ModelReply) {
        let RunState::Asking(turn_kind, estimate) = self.state else { return };
        self.usage.turns += 1;
        if let Some(usage) = &reply.usage {
            let least_tokens = crh_llm::least_tokens(&self.request(turn_kind));
            match self.low_count(least_tokens, usage.input) {
                Some(LowCount::Cut { sent }) => {
                    let read = usage.input;
                    return self.end(AgentOutcome::Model(ModelError::PromptCut { sent, read }));
                }
                Some(LowCount::Doubtful(count)) => drop(self.doubtful_count.get_or_insert(count)),
                None => {}
            }
            self.largest_input = self.largest_input.max(usage.input);
            self.last_counted = Some((least_tokens, usage.input));
            self.tokens.record_count(estimate, usage.input);
            self.usual_output = self.usual_output.max(usage.output);
        }
        self.last_output = reply.usage.map(|usage| usage.output);
        self.state = RunState::Ready;
        if self.reminder == Reminder::JustSent {
            self.reminder = Reminder::Sent;
        }
        self.handle_reply(&reply, turn_kind);
    }

    /// Whether the server's count shows a cut of a prompt that has at least these tokens.
    ///
    /// Apart from trimming, a conversation only grows, so a count well below an earlier one means
    /// that the server does not count cached tokens. Such a count does not show how much the server
    /// read.
    fn low_count(&self, least_tokens: LeastTokens, read: u64) -> Option<LowCount> {
        let LeastTokens { texts, tools } = least_tokens;
        let sent = texts + tools;
        let is_whole_count = read > 0 && read >= self.largest_input - self.largest_input / 8;
        // A sixteenth of margin for tokenizers that were not measured.
        let is_low = read < sent - sent / 16;
        // Tokenizers that join words make fewer tokens, but not a third fewer. If the count covers
        // nearly all texts, the server may have left out only the tools.
        let is_cut = read * 3 < sent * 2 && read < texts - texts / 8;
        let is_unchanged = self.last_counted.is_some_and(|(last, last_read)| {
            last_read == read && last.tools == tools && last.texts < texts
        });
        // Ollama cuts a prompt to its context length, by default a power of two. Usual prompts have
        // at least a fifth more tokens than the lower bound.
        let is_context_length =
            read >= SMALLEST_CONTEXT && read.is_power_of_two() && read < sent + sent / 5;
        if !is_whole_count {
            return None;
        }
        let doubt = if is_cut {
            return Some(LowCount::Cut { sent });
        } else if is_low {
            CountDoubt::TooLow { sent }
        } else if is_unchanged {
            CountDoubt::Unchanged
        } else if is_context_length {
            CountDoubt::ContextLength
        } else {
            return None;
        };
        Some(LowCount::Doubtful(DoubtfulCount { read, doubt }))
    }

    /// The server's first doubtful count of prompt tokens, if it did not fail the run.
    pub(crate) fn doubtful_count(&self) -> Option<DoubtfulCount> {
        self.doubtful_count
    }

    /// The server's message, if it does not support tools. The run goes on without them.
    pub(crate) fn tool_refusal(&self) -> Option<&str> {
        self.tool_refusal.as_deref()
    }

    /// The request failed after all retries.
    pub fn on_failure(&mut self, error: ModelError) {
        let RunState::Asking(turn_kind, _) = self.state else { return };
        let next_protocol = match &error {
            ModelError::BadRequest { message } => {
                let demand = self.demand(turn_kind);
                let next = self.protocol.fallback(message, demand, self.facts.abilities);
                let loses_tools = self.protocol.has_native_tools()
                    && next.is_some_and(|next| !next.has_native_tools());
                if loses_tools && message.to_lowercase().contains("support") {
                    self.tool_refusal = Some(message.clone());
                }
                next
            }
            ModelError::ContextFull { .. } => {
                let estimate = self.estimate(turn_kind);
                let needed_tokens = estimate - estimate / HARD_TRIM_DIVISOR;
                let is_smaller = self.trim(needed_tokens)
                    || self.cut_last_results(needed_tokens, MIN_RESULT_CHARS)
                    || self.leave_out_tools(self.optional_tools().count().div_ceil(2))
                    || self.leave_out_schema()
                    || self.cut_last_results(needed_tokens, 0);
                is_smaller.then_some(self.protocol)
            }
            ModelError::RateLimited { .. }
            | ModelError::Overloaded { .. }
            | ModelError::Loading { .. }
            | ModelError::Stalled { .. }
            | ModelError::Broken { .. }
            | ModelError::Refused { .. }
            | ModelError::BadKey { .. }
            | ModelError::NoKey { .. }
            | ModelError::NoServer { .. }
            | ModelError::NoCredit { .. }
            | ModelError::CutStream { .. }
            | ModelError::Transport { .. }
            | ModelError::PromptCut { .. }
            | ModelError::EndlessReply { .. }
            | ModelError::NotRecorded { .. } => None,
        };
        match (next_protocol, error) {
            (Some(next_protocol), _) => {
                self.protocol = next_protocol;
                self.tokens.invalidate_prefix();
                // The request changed and failed attempts may have cost money, so check the limits
                // again.
                if turn_kind.is_last() {
                    self.ask_last(turn_kind);
                } else {
                    self.state = RunState::Ready;
                }
            }
            (None, error) => self.end(AgentOutcome::Model(error)),
        }
    }

    /// The ledger has no budget for the request, or a run limit forbids another attempt.
    pub fn on_refusal(&mut self, refusal: impl Into<BudgetRefusal>) {
        let RunState::Asking(turn_kind, _) = self.state else { return };
        let BudgetRefusal { limit, shortfall } = refusal.into();
        self.limit_reached = Some(limit);
        if turn_kind.is_last() || self.usage.turns == 0 {
            // A run that spent money did work, so the amounts of its next call say little.
            let shortfall = shortfall.filter(|_| self.has_spent_nothing());
            self.end(AgentOutcome::OutOfBudget(BudgetRefusal { limit, shortfall }));
        } else {
            self.last_turn = Some(LastTurnReason::Limit(limit));
            self.state = RunState::Ready;
        }
    }

    /// Tool results, in the order of the calls. Trailing results may be missing if the ledger had
    /// no budget for the calls.
    pub fn on_tool_results(&mut self, outcomes: Vec<ToolOutcome>) {
        if !matches!(self.state, RunState::Calling(_)) {
            return;
        }
        if let RunState::Calling(turn_calls) = std::mem::replace(&mut self.state, RunState::Ready) {
            self.add_results(turn_calls, outcomes);
        }
    }

    /// Cancels the run. A run that has ended keeps its outcome.
    pub fn cancel(&mut self) {
        if !matches!(self.state, RunState::Ended(_)) {
            self.end(AgentOutcome::Cancelled);
        }
    }

    fn has_spent_nothing(&self) -> bool {
        self.usage.turns == 0 && self.usage.money == Money::ZERO
    }

    fn end(&mut self, outcome: AgentOutcome<A>) {
        self.state = RunState::Ended(AgentRunEnd { outcome, limit_reached: self.limit_reached });
    }

    /// Decides the kind of the next turn, or ends the run.
    fn decide_next(&mut self, elapsed: Duration) {
        self.usage.begin_turn(elapsed);
        let usual_kind = match self.reminder {
            Reminder::JustSent => TurnKind::Reminded,
            Reminder::NotSent | Reminder::Sent => TurnKind::Work,
        };
        let estimate = match self.fit_context(usual_kind) {
            Ok(estimate) => estimate,
            Err(shortage) => return self.end(AgentOutcome::ContextFull(shortage)),
        };
        let forecast = self.forecast(estimate);
        let near_limit = if self.usage.no_calls_left(&self.limits) {
            Some(LimitKind::ToolCalls)
        } else {
            self.usage.exceeded_by(&forecast.with_last_turn, &self.limits)
        };
        let turn_kind = match self.last_turn.or(near_limit.map(LastTurnReason::Limit)) {
            None => usual_kind,
            Some(LastTurnReason::Limit(LimitKind::Turns)) if self.limits.turns == 1 => {
                TurnKind::Only
            }
            Some(reason) => {
                if let LastTurnReason::Limit(limit) = reason {
                    self.limit_reached = Some(limit);
                }
                self.last_turn = Some(reason);
                self.send_text(model_texts::last_turn_notice(reason, &self.task.submit.spec.name));
                TurnKind::Last
            }
        };
        if turn_kind.is_last() {
            self.ask_last(turn_kind);
        } else {
            self.state = RunState::Asking(turn_kind, estimate);
        }
    }

    /// Asks for the last turn. If that turn could exceed a limit, trims the conversation, and ends
    /// the run if that is not enough.
    fn ask_last(&mut self, turn_kind: TurnKind) {
        if self.protocol == ToolProtocol::Schema {
            // The last turn has its own schema, so it does not share the counted prefix.
            self.tokens.invalidate_prefix();
        }
        let mut estimate = match self.fit_context(turn_kind) {
            Ok(estimate) => estimate,
            Err(shortage) => return self.end(AgentOutcome::ContextFull(shortage)),
        };
        let exceeded_limit = |run: &Self, estimate| {
            run.usage.exceeded_by(&run.forecast(estimate).one_turn, &run.limits)
        };
        if exceeded_limit(self, estimate).is_some() && self.trim(u64::MAX) {
            estimate = self.estimate(turn_kind);
        }
        match exceeded_limit(self, estimate) {
            None => self.state = RunState::Asking(turn_kind, estimate),
            Some(limit) => {
                self.limit_reached = Some(limit);
                let is_skipped = limit == LimitKind::Money && self.has_spent_nothing();
                let shortfall = is_skipped.then(|| Shortfall {
                    cost: self.forecast(estimate).one_turn.money,
                    left: self.limits.money.minus(self.usage.money),
                });
                self.end(AgentOutcome::OutOfBudget(BudgetRefusal { limit, shortfall }));
            }
        }
    }

    /// If the request exceeds the model's context, trims the conversation. If that is not enough,
    /// cuts the results of the last turn, and then leaves out tools and the schema of the answer.
    /// Returns the estimated tokens, or what is missing if the request still does not fit.
    fn fit_context(&mut self, turn_kind: TurnKind) -> Result<u64, ContextShortage> {
        let estimate = self.estimate(turn_kind);
        let tokens = self.tokens.tokens(estimate);
        if tokens <= self.input_limit() {
            return Ok(estimate);
        }
        self.trim(self.tokens.estimate(tokens.saturating_sub(self.input_limit() / TRIM_DIVISOR)));
        loop {
            let estimate = self.estimate(turn_kind);
            let likely_tokens = self.tokens.likely_tokens(estimate);
            let excess_tokens = likely_tokens.saturating_sub(self.input_limit());
            if excess_tokens == 0 {
                return Ok(estimate);
            }
            let needed_tokens = self.tokens.estimate(excess_tokens);
            let is_smaller = self.cut_last_results(needed_tokens, MIN_RESULT_CHARS)
                || self.leave_out_tools(1)
                || self.leave_out_schema()
                || self.cut_last_results(needed_tokens, 0);
            if !is_smaller {
                let needed = likely_tokens.saturating_add(self.least_output());
                return Err(ContextShortage { needed, context: self.facts.context });
            }
        }
    }

    /// Returns whether anything was trimmed.
    fn trim(&mut self, needed_tokens: u64) -> bool {
        let trim_result =
            trim::trim(&mut self.task.conversation, self.task_messages, needed_tokens);
        self.history.forget(&trim_result.positions);
        if trim_result.freed_tokens > 0 {
            self.tokens.invalidate_prefix();
        }
        trim_result.freed_tokens > 0
    }

    /// Cuts the results of the last turn, but keeps `min_chars` characters of them. Returns whether
    /// anything was cut.
    fn cut_last_results(&mut self, needed_tokens: u64, min_chars: usize) -> bool {
        let conversation = &mut self.task.conversation;
        let freed_tokens =
            trim::cut_last_results(conversation, self.task_messages, needed_tokens, min_chars);
        // If the model replied to the results, the counted request contains them.
        let last_reply_or_results =
            conversation.messages.iter().rfind(|message| !matches!(message, Message::User(_)));
        if freed_tokens > 0 && !matches!(last_reply_or_results, Some(Message::Results(_))) {
            self.tokens.invalidate_prefix();
        }
        freed_tokens > 0
    }

    /// Leaves out the last `count` optional tools, because an agent with few tools is better than
    /// none. Returns whether it left out any.
    fn leave_out_tools(&mut self, count: usize) -> bool {
        let optional = self.optional_tools().rev().take(count);
        let left_out: Vec<String> = optional.map(|tool| tool.name.clone()).collect();
        if left_out.is_empty() {
            return false;
        }
        self.task.tools.retain(|tool| !left_out.contains(&tool.name));
        self.tokens.invalidate_prefix();
        true
    }

    /// Tools that the request may lack: the agent can answer without them, and the conversation has
    /// no calls of them.
    fn optional_tools(&self) -> impl DoubleEndedIterator<Item = &ToolSpec> {
        let AgentTask { conversation, tools, submit, .. } = &self.task;
        let is_called = |name: &str| {
            conversation.messages.iter().any(|message| match message {
                Message::Assistant(turn) => turn.calls().any(|call| call.name == name),
                Message::User(_) | Message::Results(_) => false,
            })
        };
        tools.iter().filter(move |tool| !submit.requires_tool(&tool.name) && !is_called(&tool.name))
    }

    /// Leaves out the schema of the answer: the prompt describes the answer, too. Returns whether
    /// there was one.
    fn leave_out_schema(&mut self) -> bool {
        let has_schema = self.protocol == ToolProtocol::Schema;
        if has_schema {
            self.protocol = ToolProtocol::Text;
            self.tokens.invalidate_prefix();
        }
        has_schema
    }

    /// Maximum characters of all results of a turn: about half of the model's context, up to
    /// [`TURN_RESULT_CHARS`]. A token of code has about three characters.
    pub(super) fn result_chars(&self) -> usize {
        let half = usize::try_from(self.input_limit() / 2).unwrap_or(usize::MAX);
        half.saturating_mul(3).min(TURN_RESULT_CHARS)
    }

    /// Maximum input tokens of a request.
    fn input_limit(&self) -> u64 {
        self.facts.context.saturating_sub(self.least_output())
    }

    fn least_output(&self) -> u64 {
        least_output(self.max_output_tokens, self.facts.context)
    }

    /// Output tokens of a request with this estimated size: what the context leaves, but at least
    /// `least_output` and at most the maximum.
    fn output_limit(&self, estimate: u64) -> u32 {
        let room = self.facts.context.saturating_sub(self.tokens.upper_bound(estimate));
        let output = room.max(self.least_output()).min(self.max_output_tokens.into());
        u32::try_from(output).unwrap_or(self.max_output_tokens)
    }

    /// Likely usage of a turn whose request has this estimated size. The ledger reserves the upper
    /// bound.
    fn forecast(&self, estimate: u64) -> TurnForecasts {
        let output = self.usual_output;
        let input = self.tokens.tokens(estimate);
        // The last turn reads this turn's output and its tool results.
        let last_turn_input =
            input.saturating_add(output).saturating_add(self.largest_result_tokens);
        let price = self.facts.price.clone().unwrap_or_else(Price::free);
        // The vendor has this turn's input in its prompt cache when the last turn reads it.
        let last_turn =
            TokenUsage { input: last_turn_input, cache_read: input, cache_written: 0, output };
        let one_turn = UsageForecast {
            turns: 1,
            turns_to_fit: 0,
            tokens: input.saturating_add(output),
            money: price.worst_case(input, output),
        };
        let with_last_turn = UsageForecast {
            turns: 2,
            turns_to_fit: 2,
            tokens: one_turn.tokens.saturating_add(last_turn_input).saturating_add(output),
            money: one_turn.money + price.cost(&last_turn),
        };
        TurnForecasts { one_turn, with_last_turn }
    }

    fn demand(&self, turn_kind: TurnKind) -> TurnDemand {
        match turn_kind {
            // Without tools, the only possible call is the answer.
            TurnKind::Work | TurnKind::Reminded if self.task.tools.is_empty() => TurnDemand::Submit,
            TurnKind::Work => TurnDemand::Nothing,
            TurnKind::Reminded => TurnDemand::Call,
            TurnKind::Only | TurnKind::Last => TurnDemand::Submit,
        }
    }

    fn estimate(&self, turn_kind: TurnKind) -> u64 {
        crh_llm::estimated_tokens(&self.request(turn_kind))
    }

    fn request(&self, turn_kind: TurnKind) -> ModelRequest {
        let AgentTask { conversation, tools, submit, temperature, effort, .. } = &self.task;
        let form =
            self.protocol.request_form(conversation, tools, &submit.spec, self.demand(turn_kind));
        ModelRequest {
            conversation: form.conversation,
            tools: form.tools,
            tool_choice: form.tool_choice,
            output: form.output,
            max_output_tokens: self.max_output_tokens,
            temperature: *temperature,
            effort: *effort,
        }
    }
}

/// Output tokens that a request grants at least. In a small context, a large output limit would
/// leave no room for the task.
pub fn least_output(max_output_tokens: u32, context: u64) -> u64 {
    u64::from(max_output_tokens).min(context / OUTPUT_DIVISOR)
}

/// What is missing if the first request of a task does not fit into the model's context; `None` if
/// it fits. A run tests its first request in the same way, and first leaves out optional tools.
pub fn context_shortage<A: Clone>(
    task: AgentTask<A>,
    facts: &ModelFacts,
) -> Option<ContextShortage> {
    // The limits of a run do not change whether its first request fits.
    let limits =
        RunLimits { turns: 1, tool_calls: 0, tokens: 0, money: Money::ZERO, wall: Duration::ZERO };
    AgentRun::new(task, limits, facts).fit_context(TurnKind::Work).err()
}

/// Likely usage of a turn, alone and with the last turn after it.
struct TurnForecasts {
    one_turn: UsageForecast,
    with_last_turn: UsageForecast,
}

#[cfg(test)]
mod tests;
