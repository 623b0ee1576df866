//! Scripted replies, independent of the wire format.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::count::Tokens;
use super::json::sorted;
use super::request::FakeRequest;

/// A scripted reply: its content and how it is sent.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptedReply {
    pub(super) outcome: Outcome,
    pub(super) delivery: Delivery,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome {
    Answer(Answer),
    Failure(Failure),
    Malformed(Malformed),
    Redirect(String),
    HangUp,
    Decided(Decision),
}

/// Computes a reply from its request.
#[derive(Clone)]
pub(super) struct Decision(Arc<dyn Fn(&FakeRequest) -> ScriptedReply + Send + Sync>);

impl fmt::Debug for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("by its request")
    }
}

impl PartialEq for Decision {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Answer {
    pub(super) parts: Vec<Part>,
    pub(super) ending: Ending,
    pub(super) failure: Option<(Failure, ErrorPlace)>,
    pub(super) usage: UsageReport,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Thinking { text: String, signature: String },
    Sealed(String),
    Text(String),
    Refusal(String),
    Call { name: String, arguments: String },
}

/// Why the model stops.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Ending {
    #[default]
    Natural,
    Length,
    Refused,
    Window,
}

/// Place of an error in a stream of the Responses format, which has two such places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ErrorPlace {
    Response,
    Event,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum UsageReport {
    #[default]
    Counted,
    Told(Tokens),
    Nothing,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Failure {
    RateLimited { seconds: u64 },
    Overloaded,
    ContextFull,
    Refused,
    BadKey,
    NoCredit,
    BadRequest(String),
    ServerError,
    Other { status: u16, body: Value },
}

/// Ways in which a reply with status 200 can be unusable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// A stream that starts well and then has an event with half a JSON object.
    BrokenEvent,
    /// A line of text that is not an event, with the content type of an event stream.
    NoEvents,
    /// An HTML page, as proxies and captive portals send it.
    Html,
    /// An event stream without events.
    Empty,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Delivery {
    pub(super) delay: Duration,
    pub(super) stream_break: Option<StreamBreak>,
    pub(super) noise: Noise,
    pub(super) chunk: Option<usize>,
    pub(super) pieces: usize,
    pub(super) line_end: LineEnd,
}

/// Where a stream stops early, and how the client notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StreamBreak {
    pub(super) position: BreakPosition,
    pub(super) kind: BreakKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BreakPosition {
    Events(usize),
    Bytes(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BreakKind {
    Closed,
    Silent,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Noise {
    #[default]
    None,
    Unknown,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum LineEnd {
    #[default]
    Lf,
    CrLf,
}

/// Replies with a text.
pub fn says(text: impl Into<String>) -> ScriptedReply {
    answer(vec![Part::Text(text.into())], Ending::Natural)
}

/// Calls a tool.
pub fn calls(name: &str, arguments: Value) -> ScriptedReply {
    calls_all([(name, arguments)])
}

/// Calls several tools in one turn.
pub fn calls_all<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> ScriptedReply {
    let parts = calls.into_iter().map(|(name, arguments)| call(name, sorted(&arguments)));
    answer(parts.collect(), Ending::Natural)
}

/// Calls a tool with raw arguments, JSON or not. Gemini's format cannot carry invalid JSON, so the
/// turn ends with `MALFORMED_FUNCTION_CALL` there.
pub fn calls_raw(name: &str, arguments: impl Into<String>) -> ScriptedReply {
    answer(vec![call(name, arguments.into())], Ending::Natural)
}

/// Ends the turn without text.
pub fn says_nothing() -> ScriptedReply {
    answer(Vec::new(), Ending::Natural)
}

/// Stops with the format's reason for a filtered answer.
pub fn refuses() -> ScriptedReply {
    answer(Vec::new(), Ending::Refused)
}

/// Declines in the field that the format has for it. Anthropic and Gemini have none: there it is
/// text with a matching stop reason.
pub fn declines(text: impl Into<String>) -> ScriptedReply {
    answer(vec![Part::Refusal(text.into())], Ending::Natural)
}

/// Rejects the prompt: 400, and for Gemini an answer without a candidate.
pub fn refuses_prompt() -> ScriptedReply {
    failure(Failure::Refused)
}

/// 429 with a retry delay, in the body for Gemini and in `retry-after` for the others.
pub fn rate_limited(seconds: u64) -> ScriptedReply {
    failure(Failure::RateLimited { seconds })
}

/// 529 from Anthropic, 503 from the others.
pub fn overloaded() -> ScriptedReply {
    failure(Failure::Overloaded)
}

/// 400: the prompt exceeds the context.
pub fn context_full() -> ScriptedReply {
    failure(Failure::ContextFull)
}

/// Writes text until the context is full. Only Anthropic has a separate stop reason for that; the
/// others report `length`.
pub fn fills_context(text: impl Into<String>) -> ScriptedReply {
    answer(vec![Part::Text(text.into())], Ending::Window)
}

/// Wrong key: 401, and 400 from Gemini. The message repeats the key, as some vendors do.
pub fn bad_key() -> ScriptedReply {
    failure(Failure::BadKey)
}

/// No credit: 429 from OpenAI and Gemini, 400 from Anthropic.
pub fn no_credit() -> ScriptedReply {
    failure(Failure::NoCredit)
}

/// 400 with a message.
pub fn bad_request(message: impl Into<String>) -> ScriptedReply {
    failure(Failure::BadRequest(message.into()))
}

/// 500.
pub fn server_error() -> ScriptedReply {
    failure(Failure::ServerError)
}

/// Any status with any body, for behaviour of a single vendor.
pub fn fails_with(status: u16, body: Value) -> ScriptedReply {
    failure(Failure::Other { status, body })
}

/// Status 200 without a usable answer.
pub fn malformed(kind: Malformed) -> ScriptedReply {
    scripted(Outcome::Malformed(kind))
}

/// 307 to another URL. A client that follows it would leak its key.
pub fn redirects(url: impl Into<String>) -> ScriptedReply {
    scripted(Outcome::Redirect(url.into()))
}

/// Reads the request and closes the connection.
pub fn hangs_up() -> ScriptedReply {
    scripted(Outcome::HangUp)
}

/// Computes the reply from the request, for ids that the test cannot know in advance.
pub fn computed(
    decide: impl Fn(&FakeRequest) -> ScriptedReply + Send + Sync + 'static,
) -> ScriptedReply {
    scripted(Outcome::Decided(Decision(Arc::new(decide))))
}

fn answer(parts: Vec<Part>, ending: Ending) -> ScriptedReply {
    scripted(Outcome::Answer(Answer { parts, ending, ..Answer::default() }))
}

fn failure(failure: Failure) -> ScriptedReply {
    scripted(Outcome::Failure(failure))
}

fn scripted(outcome: Outcome) -> ScriptedReply {
    ScriptedReply { outcome, delivery: Delivery::default() }
}

fn call(name: &str, arguments: String) -> Part {
    Part::Call { name: name.to_owned(), arguments }
}

impl ScriptedReply {
    /// The reply to a request.
    pub(super) fn resolve(self, request: &FakeRequest) -> Self {
        match &self.outcome {
            Outcome::Decided(decision) => (decision.0)(request).resolve(request),
            Outcome::Answer(_)
            | Outcome::Failure(_)
            | Outcome::Malformed(_)
            | Outcome::Redirect(_)
            | Outcome::HangUp => self,
        }
    }

    /// Adds text.
    #[must_use]
    pub fn and_says(self, text: impl Into<String>) -> Self {
        self.and(Part::Text(text.into()))
    }

    /// Adds a tool call.
    #[must_use]
    pub fn and_calls(self, name: &str, arguments: Value) -> Self {
        self.and(call(name, sorted(&arguments)))
    }

    /// Adds a tool call with raw arguments.
    #[must_use]
    pub fn and_calls_raw(self, name: &str, arguments: impl Into<String>) -> Self {
        self.and(call(name, arguments.into()))
    }

    /// Starts with reasoning. The signature is Anthropic's `signature`, the `encrypted_content` of
    /// Responses, and Gemini's `thoughtSignature` on the first call or at the end of the text. Chat
    /// has no field for it.
    #[must_use]
    pub fn thinking(self, text: impl Into<String>, signature: impl Into<String>) -> Self {
        self.first(Part::Thinking { text: text.into(), signature: signature.into() })
    }

    /// Starts with hidden reasoning: `redacted_thinking`, or a reasoning item without a summary.
    /// Chat and Gemini send nothing.
    #[must_use]
    pub fn sealed_thinking(self, sealed: impl Into<String>) -> Self {
        self.first(Part::Sealed(sealed.into()))
    }

    /// Stops at the output limit.
    #[must_use]
    pub fn cut_by_length(self) -> Self {
        self.answer(|answer| answer.ending = Ending::Length)
    }

    /// Then fails inside the stream. In Responses this is `response.failed`.
    #[must_use]
    pub fn then(self, failing: Self) -> Self {
        self.failing(failing, ErrorPlace::Response)
    }

    /// Then fails inside the stream. In Responses this is the `error` event.
    #[must_use]
    pub fn then_error_event(self, failing: Self) -> Self {
        self.failing(failing, ErrorPlace::Event)
    }

    /// Reports and counts these tokens.
    #[must_use]
    pub fn usage(self, tokens: Tokens) -> Self {
        self.answer(|answer| answer.usage = UsageReport::Told(tokens))
    }

    /// Reports no tokens, but counts them.
    #[must_use]
    pub fn without_usage(self) -> Self {
        self.answer(|answer| answer.usage = UsageReport::Nothing)
    }

    /// Waits before the first byte.
    #[must_use]
    pub fn delayed(mut self, delay: Duration) -> Self {
        self.delivery.delay = delay;
        self
    }

    /// Closes the connection after this many events.
    #[must_use]
    pub fn cut_after_events(self, events: usize) -> Self {
        self.with_break(BreakPosition::Events(events), BreakKind::Closed)
    }

    /// Closes the connection after this many bytes, possibly inside a character.
    #[must_use]
    pub fn cut_after_bytes(self, bytes: usize) -> Self {
        self.with_break(BreakPosition::Bytes(bytes), BreakKind::Closed)
    }

    /// Goes silent after this many events and keeps the connection open.
    #[must_use]
    pub fn silent_after_events(self, events: usize) -> Self {
        self.with_break(BreakPosition::Events(events), BreakKind::Silent)
    }

    /// Puts comments, pings, unknown events, unknown fields and empty deltas between the events.
    #[must_use]
    pub fn unknown_events(mut self) -> Self {
        self.delivery.noise = Noise::Unknown;
        self
    }

    /// Sends chunks of this many bytes, so that characters and fields are split.
    #[must_use]
    pub fn chunks(mut self, bytes: usize) -> Self {
        assert!(bytes > 0, "a chunk of no bytes ends the stream");
        self.delivery.chunk = Some(bytes);
        self
    }

    /// Splits texts and arguments into up to this many pieces, interleaving parallel calls where
    /// the format allows it.
    #[must_use]
    pub fn pieces(mut self, pieces: usize) -> Self {
        self.delivery.pieces = pieces;
        self
    }

    /// Ends lines with CR LF.
    #[must_use]
    pub fn crlf(mut self) -> Self {
        self.delivery.line_end = LineEnd::CrLf;
        self
    }

    fn and(self, part: Part) -> Self {
        self.answer(|answer| answer.parts.push(part))
    }

    fn first(self, thought: Part) -> Self {
        self.answer(|answer| {
            let is_thought = |part: &Part| matches!(part, Part::Thinking { .. } | Part::Sealed(_));
            let thoughts = answer.parts.iter().take_while(|part| is_thought(part)).count();
            answer.parts.insert(thoughts, thought);
        })
    }

    fn failing(self, failing: Self, error_place: ErrorPlace) -> Self {
        let Outcome::Failure(failure) = failing.outcome else {
            panic!("only a reply that fails can be sent inside a stream, not {failing:?}");
        };
        self.answer(|answer| answer.failure = Some((failure, error_place)))
    }

    fn with_break(mut self, position: BreakPosition, kind: BreakKind) -> Self {
        self.delivery.stream_break = Some(StreamBreak { position, kind });
        self
    }

    fn answer(mut self, change: impl FnOnce(&mut Answer)) -> Self {
        let Outcome::Answer(answer) = &mut self.outcome else {
            panic!("only an answer can be added to, not {self:?}");
        };
        change(answer);
        self
    }
}
