//! The transcript: all events of runs as JSON lines. Each event is one write, so that a killed
//! process loses at most one line. Everything passes through the redactor.

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

use crate::{
    AgentOutcome, AgentRunEnd, Budget, CallCost, EstimatedRequest, LimitKind, RunLimits,
    ToolOutcome, UsageTotals,
};
use crh_llm::{
    Conversation, Message, ModelError, ModelReply, ModelRequest, OutputForm, Redactor, ToolCall,
};

/// A transcript file. Clones write to the same file.
#[derive(Debug, Clone)]
pub struct Transcript {
    sink: Option<Arc<TranscriptSink>>,
}

/// Whether the transcript contains texts or only their lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptDetail {
    /// Only lengths, so that the reviewed code stays in its repository.
    LengthsOnly,
    /// Full texts.
    Full,
}

#[derive(Debug)]
struct TranscriptSink {
    redactor: Redactor,
    detail: TranscriptDetail,
    file: Mutex<TranscriptFile>,
}

#[derive(Debug)]
struct TranscriptFile {
    file: File,
    error: Option<String>,
}

impl Transcript {
    /// Appends to a file, creating it if needed. Terminates an incomplete last line that a killed
    /// process left behind.
    pub fn append_to(
        path: &Path,
        redactor: Redactor,
        detail: TranscriptDetail,
    ) -> io::Result<Self> {
        let mut file = OpenOptions::new().create(true).read(true).append(true).open(path)?;
        if file.metadata()?.is_file() && file.seek(SeekFrom::End(0))? > 0 {
            let mut last_byte = [0];
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last_byte)?;
            if last_byte != *b"\n" {
                file.write_all(b"\n")?;
            }
        }
        let file = Mutex::new(TranscriptFile { file, error: None });
        Ok(Self { sink: Some(Arc::new(TranscriptSink { redactor, detail, file })) })
    }

    /// A transcript that writes nothing.
    pub fn disabled() -> Self {
        Self { sink: None }
    }

    /// Why the file is incomplete; `None` if it is complete. Write errors do not stop a run; the
    /// report of the run shows them.
    pub fn error(&self) -> Option<String> {
        let sink = self.sink.as_ref()?;
        sink.file.lock().unwrap_or_else(PoisonError::into_inner).error.clone()
    }
}

impl TranscriptSink {
    fn write(&self, event: &Value) {
        let mut line = self.redactor.redact_json(event).to_string();
        line.push('\n');
        let mut transcript_file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // After a partial line the rest would be unreadable, so write nothing more.
        if transcript_file.error.is_none() {
            transcript_file.error = transcript_file
                .file
                .write_all(line.as_bytes())
                .err()
                .map(|error| error.to_string());
        }
    }

    /// Reduces texts to their lengths unless full texts are enabled.
    fn content(&self, value: Value) -> Value {
        match self.detail {
            TranscriptDetail::Full => value,
            TranscriptDetail::LengthsOnly => text_lengths(value),
        }
    }

    /// An error of a model call. The vendor may quote the reviewed code in it, so with
    /// `LengthsOnly` only the error's kind and the length of its message remain.
    fn model_error(&self, error: &ModelError) -> Value {
        match self.detail {
            TranscriptDetail::Full => json!(error.to_string()),
            TranscriptDetail::LengthsOnly => {
                // An error's JSON has one field, named after its kind.
                let kind = json!(error).as_object().and_then(|it| it.keys().next().cloned());
                let length = error.to_string().len();
                json!(format!("{}: <{length} bytes>", kind.unwrap_or_default()))
            }
        }
    }
}

/// Replaces all texts of a value by their lengths. Field names stay.
fn text_lengths(value: Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
        Value::String(text) => Value::String(format!("<{} bytes>", text.len())),
        Value::Array(values) => values.into_iter().map(text_lengths).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (name, text_lengths(value))).collect()
        }
    }
}

/// Writes the events of one run.
#[derive(Debug)]
pub(crate) struct TranscriptWriter<'a> {
    sink: Option<&'a TranscriptSink>,
    /// Name of the task, such as the name of a reviewer; part of every event.
    task_name: String,
    start: Instant,
    /// The last request. For the next one only new parts are written.
    last_request: Option<ModelRequest>,
    /// Whether a request was written since the last `remember_request`.
    request_written: bool,
}

/// One attempt to get a reply.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AskAttempt {
    pub(crate) turn: u32,
    /// Counts from 1.
    pub(crate) number: u32,
}

/// Why an attempt got no reply.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NoReplyCause<'a> {
    Model(&'a ModelError),
    Cancelled,
    TimedOut,
}

/// Duration and cost of an attempt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AttemptSummary {
    pub(crate) attempt: AskAttempt,
    pub(crate) duration: Duration,
    /// Booked cost; `None` if the attempt was not billed.
    pub(crate) cost: Option<CallCost>,
    /// Remaining budget of all runs.
    pub(crate) remaining_budget: Budget,
}

impl<'a> TranscriptWriter<'a> {
    pub(crate) fn new(transcript: &'a Transcript, task_name: &str, start: Instant) -> Self {
        let (sink, task_name) = (transcript.sink.as_deref(), task_name.to_owned());
        Self { sink, task_name, start, last_request: None, request_written: false }
    }

    pub(crate) fn write_start(&self, model: &str, limits: &RunLimits, conversation: &Conversation) {
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
                "prompt_sha256": prompt_hash(conversation),
            })
        });
    }

    /// Writes a request, without the parts that an earlier request contained. Messages that
    /// were shortened since the last request are a separate event.
    pub(crate) fn write_request(
        &mut self,
        attempt: AskAttempt,
        ask: &EstimatedRequest,
        model: &str,
        worst_case: Option<CallCost>,
    ) {
        self.request_written = true;
        let messages = &ask.request.conversation.messages;
        let last_messages =
            self.last_request.as_ref().map(|request| request.conversation.messages.as_slice());
        let written_messages = last_messages.unwrap_or_default();
        let is_retry = attempt.number > 1;
        let trimmed_indices: Vec<usize> = match is_retry {
            true => Vec::new(),
            false => (0..written_messages.len().min(messages.len()))
                .filter(|index| written_messages[*index] != messages[*index])
                .collect(),
        };
        if !trimmed_indices.is_empty() {
            self.write("trimmed", |sink| {
                let trimmed_messages: Vec<&Message> = trimmed_indices.iter().map(|index| &messages[*index]).collect();
                json!({ "messages": trimmed_indices, "content": sink.content(json!(trimmed_messages)) })
            });
        }
        self.write("asked", |sink| {
            let mut event = json!({
                "turn": attempt.turn,
                "attempt": attempt.number,
                "purpose": ask.purpose,
                "model": model,
                // The cost to assume if no later event reports the end of this attempt.
                "worst": cost_json(worst_case),
                "messages": messages.len(),
            });
            if is_retry {
                return event;
            }
            let request = &ask.request;
            let last_request = self.last_request.as_ref();
            let mut new_parts =
                json!({ "messages": messages.get(written_messages.len()..).unwrap_or_default() });
            // The system prompt can change within a run: if the vendor rejects native tool calls,
            // crh describes the tools there.
            if last_request.is_none_or(|last_request| {
                last_request.conversation.system != request.conversation.system
            }) {
                new_parts["system"] = json!(request.conversation.system);
            }
            if last_request.is_none_or(|last_request| last_request.tools != request.tools) {
                new_parts["tools"] = json!(request.tools);
            }
            event["added"] = sink.content(new_parts);
            event["tool_choice"] = json!(request.tool_choice);
            event["max_output_tokens"] = json!(request.max_output_tokens);
            event["output"] = json!(match request.output {
                OutputForm::Text => "text",
                OutputForm::Schema { .. } => "schema",
            });
            event
        });
    }

    /// Keeps a written request for comparison with the next one.
    pub(crate) fn remember_request(&mut self, request: ModelRequest) {
        if std::mem::take(&mut self.request_written) {
            self.last_request = self.sink.map(|_| request);
        }
    }

    pub(crate) fn write_reply(&self, summary: &AttemptSummary, reply: &ModelReply) {
        self.write("replied", |sink| {
            let mut event = summary.json();
            event["stop"] = json!(reply.stop);
            event["served"] = json!(reply.served);
            event["content"] = sink.content(json!(reply.turn));
            event
        });
    }

    pub(crate) fn write_failure(
        &self,
        summary: &AttemptSummary,
        cause: NoReplyCause<'_>,
        retry: Option<Duration>,
    ) {
        self.write("failed", |sink| {
            let mut event = summary.json();
            event["error"] = match cause {
                NoReplyCause::Model(error) => sink.model_error(error),
                NoReplyCause::Cancelled => json!("cancelled"),
                NoReplyCause::TimedOut => json!("timed out"),
            };
            event["retry_after_ms"] = json!(retry.map(milliseconds));
            event
        });
    }

    pub(crate) fn write_limit_refusal(&self, attempt: AskAttempt, limit: LimitKind) {
        self.write(
            "refused",
            |_| json!({ "turn": attempt.turn, "attempt": attempt.number, "limit": limit }),
        );
    }

    pub(crate) fn write_tool_call(&self, call: &ToolCall) {
        self.write("tool_call", |sink| {
            let content = sink.content(json!(call.arguments));
            json!({ "id": call.id, "name": call.name, "content": content })
        });
    }

    pub(crate) fn write_tool_result(
        &self,
        call: &ToolCall,
        duration: Duration,
        outcome: &ToolOutcome,
    ) {
        self.write("tool_result", |sink| {
            let content = sink.content(json!(outcome));
            json!({ "id": call.id, "name": call.name, "ms": milliseconds(duration), "content": content })
        });
    }

    pub(crate) fn write_end<A>(&self, end: &AgentRunEnd<A>, totals: &UsageTotals) {
        self.write("ended", |sink| {
            let (outcome, detail) = match &end.outcome {
                AgentOutcome::Answered(_) => ("answered", Value::Null),
                AgentOutcome::NoAnswer => ("no_answer", Value::Null),
                // This reason, like that of `Aborted`, may quote the answer or the reviewed code.
                AgentOutcome::BadAnswer(reason) => ("bad_answer", sink.content(json!(reason))),
                AgentOutcome::Stuck => ("stuck", Value::Null),
                AgentOutcome::OutOfBudget(_) => ("out_of_budget", Value::Null),
                AgentOutcome::ContextFull(shortage) => {
                    ("context_full", json!(shortage.to_string()))
                }
                AgentOutcome::Model(error) => ("model", sink.model_error(error)),
                AgentOutcome::Aborted(reason) => ("aborted", sink.content(json!(reason))),
                AgentOutcome::Cancelled => ("cancelled", Value::Null),
            };
            json!({
                "outcome": outcome,
                "detail": detail,
                "limited": end.limit_reached,
                "llm_calls": totals.llm_calls,
                // Calls without reported usage. They count at their worst case.
                "guessed_calls": totals.guessed_calls,
                "tool_calls": totals.tool_calls,
                "usage": totals.usage,
                "usd": totals.money.as_dollars(),
            })
        });
    }

    fn write(&self, event: &str, fields: impl FnOnce(&TranscriptSink) -> Value) {
        let Some(sink) = self.sink else { return };
        let mut line = fields(sink);
        line["event"] = json!(event);
        line["caller"] = json!(self.task_name);
        line["at_ms"] = json!(milliseconds(self.start.elapsed()));
        sink.write(&line);
    }
}

/// Identifies equal prompts, even if their texts are not written.
fn prompt_hash(conversation: &Conversation) -> String {
    let text = json!(conversation).to_string();
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl AttemptSummary {
    fn json(&self) -> Value {
        let Budget { llm_calls, tool_calls, input_tokens, wall, money } = self.remaining_budget;
        json!({
            "turn": self.attempt.turn,
            "attempt": self.attempt.number,
            "ms": milliseconds(self.duration),
            "cost": cost_json(self.cost),
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

fn cost_json(cost: Option<CallCost>) -> Value {
    cost.map_or(Value::Null, |CallCost { usage, money, basis }| {
        json!({ "usage": usage, "usd": money.as_dollars(), "basis": basis })
    })
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
