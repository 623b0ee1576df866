//! Everything that happens in runs, as JSON lines: one write an event, so that a killed process loses only what was
//! under way. Nothing is written that has not gone through the redactor.

#[cfg(test)]
mod tests;

use std::fs::{File, OpenOptions};
use std::io;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::{Ask, Budget, Cost, Ended, Limit, Limits, Outcome, ToolOutcome, Totals};
use crh_llm::{Conversation, Message, OutputForm, Redactor, Reply, Request, ToolCall};

/// Where runs write down what happens. Clones write to the same file.
#[derive(Debug, Clone)]
pub struct Transcript {
    sink: Option<Arc<Sink>>,
}

/// Whether the words of prompts, answers and tools are written, or only how long they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contents {
    /// Only lengths: the code under review does not leave its repository.
    Withheld,
    /// All of it.
    Full,
}

#[derive(Debug)]
struct Sink {
    redactor: Redactor,
    contents: Contents,
    file: Mutex<Lines>,
}

#[derive(Debug)]
struct Lines {
    file: File,
    error: Option<String>,
}

impl Transcript {
    /// Appends to a file, which is made if it is not there. If its last line is half of one, since whoever wrote it was
    /// killed, it is ended first.
    pub fn to(path: &Path, redactor: Redactor, contents: Contents) -> io::Result<Self> {
        let mut file = OpenOptions::new().create(true).read(true).append(true).open(path)?;
        if file.metadata()?.is_file() && file.seek(SeekFrom::End(0))? > 0 {
            let mut last = [0];
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                file.write_all(b"\n")?;
            }
        }
        let file = Mutex::new(Lines { file, error: None });
        Ok(Self { sink: Some(Arc::new(Sink { redactor, contents, file })) })
    }

    /// Writes nothing.
    pub fn none() -> Self {
        Self { sink: None }
    }

    /// Why the file is incomplete, if it is. A run does not end for that; its report says it.
    pub fn error(&self) -> Option<String> {
        let sink = self.sink.as_ref()?;
        sink.file.lock().unwrap_or_else(PoisonError::into_inner).error.clone()
    }
}

impl Sink {
    fn write(&self, event: &Value) {
        let mut line = self.redactor.redact_json(event).to_string();
        line.push('\n');
        let mut lines = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // After half a line nothing more can be read, so nothing more is written.
        if lines.error.is_none() {
            lines.error =
                lines.file.write_all(line.as_bytes()).err().map(|error| error.to_string());
        }
    }

    /// Words that are only written down where contents are.
    fn content(&self, value: Value) -> Value {
        match self.contents {
            Contents::Full => value,
            Contents::Withheld => lengths(value),
        }
    }
}

/// The value with its texts replaced by their lengths; names of fields stay.
fn lengths(value: Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
        Value::String(text) => Value::String(format!("<{} bytes>", text.len())),
        Value::Array(values) => values.into_iter().map(lengths).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (name, lengths(value))).collect()
        }
    }
}

/// The events of one run.
#[derive(Debug)]
pub(crate) struct Pen<'a> {
    sink: Option<&'a Sink>,
    caller: String,
    start: Instant,
    /// The last question; of the next one only what is new is written.
    asked: Option<Request>,
    /// Whether a question has been written that is not kept yet.
    asked_since: bool,
}

/// One of the attempts to get one answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt {
    pub(crate) turn: u32,
    /// The first is 1.
    pub(crate) number: u32,
}

/// What an attempt came to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settlement {
    pub(crate) attempt: Attempt,
    pub(crate) took: Duration,
    /// What was booked for it; none if it left no trace.
    pub(crate) cost: Option<Cost>,
    /// What all runs together may still use.
    pub(crate) left: Budget,
}

impl<'a> Pen<'a> {
    /// Begins a run.
    pub(crate) fn new(transcript: &'a Transcript, caller: &str, start: Instant) -> Self {
        let (sink, caller) = (transcript.sink.as_deref(), caller.to_owned());
        Self { sink, caller, start, asked: None, asked_since: false }
    }

    pub(crate) fn started(&self, model: &str, limits: &Limits, conversation: &Conversation) {
        self.write("started", |_| {
            json!({
                "model": model,
                "limits": {
                    "turns": limits.turns,
                    "tool_calls": limits.tool_calls,
                    "tokens": limits.tokens,
                    "usd": limits.money.as_dollars(),
                    "wall_ms": milliseconds(limits.wall),
                },
                "prompt_sha256": hash(conversation),
            })
        });
    }

    /// A question goes out. What was in the one before is not repeated; what was trimmed since is an event of its own.
    pub(crate) fn asked(&mut self, attempt: Attempt, ask: &Ask, model: &str, worst: Option<Cost>) {
        self.asked_since = true;
        let messages = &ask.request.conversation.messages;
        let before = self.asked.as_ref().map(|request| request.conversation.messages.as_slice());
        let known = before.unwrap_or_default();
        let again = attempt.number > 1;
        let trimmed: Vec<usize> = match again {
            true => Vec::new(),
            false => (0..known.len().min(messages.len()))
                .filter(|at| known[*at] != messages[*at])
                .collect(),
        };
        if !trimmed.is_empty() {
            self.write("trimmed", |sink| {
                let now: Vec<&Message> = trimmed.iter().map(|at| &messages[*at]).collect();
                json!({ "messages": trimmed, "content": sink.content(json!(now)) })
            });
        }
        self.write("asked", |sink| {
            let mut event = json!({
                "turn": attempt.turn,
                "attempt": attempt.number,
                "purpose": ask.purpose,
                "model": model,
                // Counts if no more is heard of the question.
                "worst": booked(worst),
                "messages": messages.len(),
            });
            if again {
                return event;
            }
            let request = &ask.request;
            let before = self.asked.as_ref();
            let mut added = json!({ "messages": messages.get(known.len()..).unwrap_or_default() });
            // They change with the way in which the model is asked.
            if before.is_none_or(|it| it.conversation.system != request.conversation.system) {
                added["system"] = json!(request.conversation.system);
            }
            if before.is_none_or(|it| it.tools != request.tools) {
                added["tools"] = json!(request.tools);
            }
            event["added"] = sink.content(added);
            event["tool_choice"] = json!(request.tool_choice);
            event["max_output_tokens"] = json!(request.max_output_tokens);
            event["output"] = json!(match request.output {
                OutputForm::Text => "text",
                OutputForm::Schema { .. } => "schema",
            });
            event
        });
    }

    /// The question is through: the next one is compared with it, if it was written.
    pub(crate) fn keep(&mut self, request: Request) {
        if std::mem::take(&mut self.asked_since) {
            self.asked = self.sink.map(|_| request);
        }
    }

    pub(crate) fn replied(&self, settlement: &Settlement, reply: &Reply) {
        self.write("replied", |sink| {
            let mut event = settlement.json();
            event["stop"] = json!(reply.stop);
            event["served"] = json!(reply.served);
            event["content"] = sink.content(json!(reply.turn));
            event
        });
    }

    pub(crate) fn failed(&self, settlement: &Settlement, error: &str, retry: Option<Duration>) {
        self.write("failed", |_| {
            let mut event = settlement.json();
            event["error"] = json!(error);
            event["retry_after_ms"] = json!(retry.map(milliseconds));
            event
        });
    }

    pub(crate) fn refused(&self, attempt: Attempt, limit: Limit) {
        self.write(
            "refused",
            |_| json!({ "turn": attempt.turn, "attempt": attempt.number, "limit": limit }),
        );
    }

    pub(crate) fn tool_call(&self, call: &ToolCall) {
        self.write("tool_call", |sink| {
            let content = sink.content(json!(call.arguments));
            json!({ "id": call.id, "name": call.name, "content": content })
        });
    }

    pub(crate) fn tool_result(&self, call: &ToolCall, took: Duration, outcome: &ToolOutcome) {
        self.write("tool_result", |sink| {
            let content = sink.content(json!(outcome));
            json!({ "id": call.id, "name": call.name, "ms": milliseconds(took), "content": content })
        });
    }

    pub(crate) fn ended<A>(&self, ended: &Ended<A>, totals: &Totals) {
        self.write("ended", |sink| {
            let (outcome, detail) = match &ended.outcome {
                Outcome::Answered(_) => ("answered", Value::Null),
                Outcome::NoAnswer => ("no_answer", Value::Null),
                // What is wrong with an answer may quote it, and what ends a tool the code.
                Outcome::BadAnswer(why) => ("bad_answer", sink.content(json!(why))),
                Outcome::Stuck => ("stuck", Value::Null),
                Outcome::OutOfBudget(_) => ("out_of_budget", Value::Null),
                Outcome::ContextFull => ("context_full", Value::Null),
                Outcome::Model(error) => ("model", json!(error.to_string())),
                Outcome::Aborted(why) => ("aborted", sink.content(json!(why))),
                Outcome::Cancelled => ("cancelled", Value::Null),
            };
            json!({
                "outcome": outcome,
                "detail": detail,
                "limited": ended.limited,
                "llm_calls": totals.llm_calls,
                "guessed_calls": totals.guessed_calls,
                "tool_calls": totals.tool_calls,
                "usage": totals.usage,
                "usd": totals.money.as_dollars(),
            })
        });
    }

    fn write(&self, event: &str, fields: impl FnOnce(&Sink) -> Value) {
        let Some(sink) = self.sink else { return };
        let mut line = fields(sink);
        line["event"] = json!(event);
        line["caller"] = json!(self.caller);
        line["at_ms"] = json!(milliseconds(self.start.elapsed()));
        sink.write(&line);
    }
}

/// Tells whether two runs began with the same words, also where these are withheld.
fn hash(conversation: &Conversation) -> String {
    let text = json!(conversation).to_string();
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Settlement {
    fn json(&self) -> Value {
        let Budget { llm_calls, tool_calls, input_tokens, wall, money } = self.left;
        json!({
            "turn": self.attempt.turn,
            "attempt": self.attempt.number,
            "ms": milliseconds(self.took),
            "cost": booked(self.cost),
            "left": {
                "llm_calls": llm_calls,
                "tool_calls": tool_calls,
                "input_tokens": input_tokens,
                "usd": money.as_dollars(),
                "wall_ms": milliseconds(wall),
            },
        })
    }
}

/// What was booked for a call, in dollars as people read them.
fn booked(cost: Option<Cost>) -> Value {
    cost.map_or(Value::Null, |Cost { usage, money, basis }| {
        json!({ "usage": usage, "usd": money.as_dollars(), "basis": basis })
    })
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
