//! The agent loop as a value: it decides what happens next and never does it.
//!
//! Whoever drives it asks the model, calls the tools and says what came back; here is no I/O, no clock, no randomness,
//! so that every branch is a test of a few lines. Messages are only ever added to the conversation, so that the vendor's
//! cache keeps its beginning; trimming is the one exception, and it is done in bulk.

#[path = "run/usage.rs"]
mod spent;
mod turn;

use std::time::Duration;

use self::spent::{Forecast, Spent};
use self::turn::Asked;
use crate::repeat::Repeats;
use crate::trim::Gauge;
use crate::ways::{Demand, Way};
use crate::words::Reason;
use crate::{
    Ask, Cost, Ended, Limit, Limits, Outcome, Purpose, Step, Task, ToolOutcome, trim, words,
};
use crh_llm::{Conversation, ModelError, ModelFacts, Money, Reply, Request};

/// To this part of the room a conversation is trimmed that does not fit. Half of it lasts for as many turns as have been,
/// so that the vendor's cache is broken seldom.
const TRIM_TO: u64 = 2;

/// To this part of itself the conversation is trimmed after the vendor said that it does not fit: by our own count it did,
/// so that half would be a guess that may fail again.
const TRIM_HARDER_TO: u64 = 4;

/// One run of an agent, from its task to its end.
#[derive(Debug)]
pub struct Run<A> {
    task: Task<A>,
    limits: Limits,
    facts: ModelFacts,
    /// Messages that were there at the start: the task.
    given: usize,
    max_output_tokens: u32,
    way: Way,
    gauge: Gauge,
    spent: Spent,
    repeats: Repeats,
    /// The largest results of a turn, in tokens: so much may come in again before the next question.
    largest_results: u64,
    /// Calls so far, made or not, to number those that come without an id.
    calls_seen: usize,
    repairs: u32,
    /// Turns in a row in which the model did nothing but repeat itself.
    stuck_turns: u32,
    reminder: Reminder,
    /// Why the next question has to be the last.
    last_turn: Option<Reason>,
    limited: Option<Limit>,
    state: State<A>,
}

/// Whether the model has been reminded to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reminder {
    Unsaid,
    /// It has just been said: the next turn has to call something.
    Fresh,
    Said,
}

/// What a question is for the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Question {
    /// A turn as any other.
    Work,
    /// The turn after the reminder.
    Reminded,
    /// The only turn of a run that has but one: its answer is wanted at once, and nothing is cut short.
    Only,
    /// The last turn.
    Grace,
}

#[derive(Debug)]
enum State<A> {
    /// It is to be decided what is asked next.
    Ready,
    /// The model is being asked, something that we estimate to have so many tokens.
    Asking(Question, u64),
    /// Tools are being called.
    Calling(Asked),
    Ended(Ended<A>),
}

impl Question {
    fn is_last(self) -> bool {
        match self {
            Self::Work | Self::Reminded => false,
            Self::Only | Self::Grace => true,
        }
    }
}

impl<A: Clone> Run<A> {
    /// A run that has not begun.
    pub fn new(task: Task<A>, limits: Limits, facts: &ModelFacts) -> Self {
        let most = u32::try_from(facts.max_output).unwrap_or(u32::MAX);
        Self {
            given: task.conversation.messages.len(),
            max_output_tokens: task.max_output_tokens.min(most),
            task,
            limits,
            facts: facts.clone(),
            way: Way::best(facts.abilities),
            gauge: Gauge::default(),
            spent: Spent::default(),
            repeats: Repeats::default(),
            largest_results: 0,
            calls_seen: 0,
            repairs: 0,
            stuck_turns: 0,
            reminder: Reminder::Unsaid,
            last_turn: None,
            limited: None,
            state: State::Ready,
        }
    }

    /// Who asks: the name in the task.
    pub fn caller(&self) -> &str {
        &self.task.caller
    }

    /// How far it may go.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The time of all runs together may end before that of this one, which then comes to its grace turn in time.
    pub(crate) fn end_within(&mut self, wall: Duration) {
        self.limits.wall = self.limits.wall.min(wall);
    }

    /// What has been said so far, in words that belong to no vendor: calls are calls here, whatever the model can do.
    pub fn conversation(&self) -> &Conversation {
        &self.task.conversation
    }

    /// What is to be done next, so long after the start. Without news in between it is the same step again.
    pub fn next(&mut self, elapsed: Duration) -> Step<A> {
        if matches!(self.state, State::Ready) {
            self.decide(elapsed);
        }
        match &self.state {
            State::Asking(question, estimate) => Step::Ask(Ask {
                request: self.request(*question),
                input: self.gauge.at_most(*estimate),
                purpose: if *question == Question::Grace {
                    Purpose::Grace
                } else {
                    self.task.purpose
                },
            }),
            State::Calling(asked) => Step::CallTools(asked.calls().cloned().collect()),
            State::Ended(ended) => Step::Stop(ended.clone()),
            // Deciding leaves no run undecided; if it did, this would be the honest end of it.
            State::Ready => Step::Stop(Ended { outcome: Outcome::NoAnswer, limited: self.limited }),
        }
    }

    /// An attempt to ask cost so much, whatever came of it; the limit that another attempt could pass. News that was not
    /// waited for is not heard, here and below.
    pub fn charged(&mut self, cost: Cost) -> Option<Limit> {
        let State::Asking(_, estimate) = self.state else { return None };
        let tokens = cost.usage.input.saturating_add(cost.usage.output);
        self.spent.tokens = self.spent.tokens.saturating_add(tokens);
        self.spent.money += cost.money;
        self.spent.passed_by(&self.forecast(estimate).alone, &self.limits)
    }

    /// The model answered.
    pub fn replied(&mut self, reply: Reply) {
        let State::Asking(question, estimate) = self.state else { return };
        self.spent.turns += 1;
        if let Some(usage) = &reply.usage {
            self.gauge.counted(estimate, usage.input);
        }
        self.state = State::Ready;
        if self.reminder == Reminder::Fresh {
            self.reminder = Reminder::Said;
        }
        self.hear(&reply, question);
    }

    /// The model could not be asked, retries included.
    pub fn failed(&mut self, error: ModelError) {
        let State::Asking(question, _) = self.state else { return };
        let way = match &error {
            ModelError::BadRequest { message } => {
                self.way.after(message, self.demand(question), self.facts.abilities)
            }
            ModelError::ContextFull { .. } => {
                let estimate = self.estimate(question);
                self.trim(estimate - estimate / TRIM_HARDER_TO).then_some(self.way)
            }
            ModelError::RateLimited { .. }
            | ModelError::Overloaded { .. }
            | ModelError::Broken { .. }
            | ModelError::Refused { .. }
            | ModelError::BadKey { .. }
            | ModelError::NoCredit { .. }
            | ModelError::CutStream { .. }
            | ModelError::Transport { .. }
            | ModelError::NotRecorded { .. } => None,
        };
        match (way, error) {
            (Some(way), _) => {
                self.way = way;
                self.gauge.changed();
                // The question has changed, and failed attempts may have cost: whether there is room is another question.
                if question.is_last() {
                    self.ask_for_the_last_time(question);
                } else {
                    self.state = State::Ready;
                }
            }
            (None, ModelError::ContextFull { .. }) => self.end(Outcome::ContextFull),
            (None, error) => self.end(Outcome::Model(error)),
        }
    }

    /// The ledger that runs share has no room for the question, or a limit of the run none for another attempt.
    pub fn refused(&mut self, limit: Limit) {
        let State::Asking(question, _) = self.state else { return };
        self.limited = Some(limit);
        if question.is_last() || self.spent.turns == 0 {
            self.end(Outcome::OutOfBudget(limit));
        } else {
            self.last_turn = Some(Reason::Limit(limit));
            self.state = State::Ready;
        }
    }

    /// What calling the tools brought: an outcome for each call, in the order of the calls. The last may be left out: they
    /// were not made, since the ledger that runs share has no room for them.
    pub fn called(&mut self, outcomes: Vec<ToolOutcome>) {
        if !matches!(self.state, State::Calling(_)) {
            return;
        }
        if let State::Calling(asked) = std::mem::replace(&mut self.state, State::Ready) {
            self.settle(asked, outcomes);
        }
    }

    /// Whoever started the run wants it to stop. A run that has ended stays as it ended.
    pub fn cancel(&mut self) {
        if !matches!(self.state, State::Ended(_)) {
            self.end(Outcome::Cancelled);
        }
    }

    fn end(&mut self, outcome: Outcome<A>) {
        self.state = State::Ended(Ended { outcome, limited: self.limited });
    }

    /// Decides what is asked, or that nothing more can be.
    fn decide(&mut self, elapsed: Duration) {
        self.spent.begin_turn(elapsed);
        let ordinary = match self.reminder {
            Reminder::Fresh => Question::Reminded,
            Reminder::Unsaid | Reminder::Said => Question::Work,
        };
        let Some(estimate) = self.fit(ordinary) else { return self.end(Outcome::ContextFull) };
        let forecast = self.forecast(estimate);
        let near = if self.spent.no_calls_left(&self.limits) {
            Some(Limit::ToolCalls)
        } else {
            self.spent.passed_by(&forecast.with_grace, &self.limits)
        };
        let question = match self.last_turn.or(near.map(Reason::Limit)) {
            None => ordinary,
            Some(Reason::Limit(Limit::Turns)) if self.limits.turns == 1 => Question::Only,
            Some(reason) => {
                if let Reason::Limit(limit) = reason {
                    self.limited = Some(limit);
                }
                self.last_turn = Some(reason);
                self.say(words::grace(reason, &self.task.submit.spec.name));
                Question::Grace
            }
        };
        if question.is_last() {
            self.ask_for_the_last_time(question);
        } else {
            self.state = State::Asking(question, estimate);
        }
    }

    /// The last question may take what room there is: it is asked unless it alone could pass a limit.
    fn ask_for_the_last_time(&mut self, question: Question) {
        if self.way == Way::Schema {
            // Its schema is another, so that it does not begin with what was counted.
            self.gauge.changed();
        }
        let Some(mut estimate) = self.fit(question) else { return self.end(Outcome::ContextFull) };
        let passed =
            |run: &Self, estimate| run.spent.passed_by(&run.forecast(estimate).alone, &run.limits);
        if passed(self, estimate).is_some() && self.trim(u64::MAX) {
            estimate = self.estimate(question);
        }
        match passed(self, estimate) {
            None => self.state = State::Asking(question, estimate),
            Some(limit) => {
                self.limited = Some(limit);
                self.end(Outcome::OutOfBudget(limit));
            }
        }
    }

    /// Trims the conversation if a question would not fit into the model's context; its estimate, or none if it does not
    /// fit whatever is trimmed.
    fn fit(&mut self, question: Question) -> Option<u64> {
        let estimate = self.estimate(question);
        let tokens = self.gauge.tokens(estimate);
        if tokens <= self.room() {
            return Some(estimate);
        }
        self.trim(self.gauge.estimate(tokens.saturating_sub(self.room() / TRIM_TO)));
        let estimate = self.estimate(question);
        (self.gauge.tokens(estimate) <= self.room()).then_some(estimate)
    }

    /// Whether anything could be trimmed.
    fn trim(&mut self, needed: u64) -> bool {
        let trimmed = trim::trim(&mut self.task.conversation, self.given, needed);
        self.repeats.forget(&trimmed.places);
        if trimmed.freed > 0 {
            self.gauge.changed();
        }
        trimmed.freed > 0
    }

    /// The most tokens that a question may have.
    fn room(&self) -> u64 {
        self.facts.context.saturating_sub(self.max_output_tokens.into())
    }

    /// What a question of this size can use up, at the worst.
    fn forecast(&self, estimate: u64) -> Forecasts {
        let output = u64::from(self.max_output_tokens);
        let input = self.gauge.tokens(estimate);
        // The grace turn reads what this turn writes, and the results.
        let later = input.saturating_add(output).saturating_add(self.largest_results);
        let money = |input| {
            self.facts.price.as_ref().map_or(Money::ZERO, |price| price.worst(input, output))
        };
        let alone = Forecast {
            turns: 1,
            longest_turns: 0,
            tokens: input.saturating_add(output),
            money: money(input),
        };
        let with_grace = Forecast {
            turns: 2,
            longest_turns: 2,
            tokens: alone.tokens.saturating_add(later).saturating_add(output),
            money: alone.money + money(later),
        };
        Forecasts { alone, with_grace }
    }

    fn demand(&self, question: Question) -> Demand {
        match question {
            // Where there are no tools, there is nothing but an answer to call.
            Question::Work | Question::Reminded if self.task.tools.is_empty() => Demand::Submit,
            Question::Work => Demand::Nothing,
            Question::Reminded => Demand::Call,
            Question::Only | Question::Grace => Demand::Submit,
        }
    }

    fn estimate(&self, question: Question) -> u64 {
        crh_llm::estimated_tokens(&self.request(question))
    }

    fn request(&self, question: Question) -> Request {
        let Task { conversation, tools, submit, temperature, effort, .. } = &self.task;
        let form = self.way.form(conversation, tools, &submit.spec, self.demand(question));
        Request {
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

/// What a question can use up by itself, and together with the grace turn that may have to follow it.
struct Forecasts {
    alone: Forecast,
    with_grace: Forecast,
}

#[cfg(test)]
mod tests;
