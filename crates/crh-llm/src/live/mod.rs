//! HTTP client for model vendors. Only this module uses the client library (genai).
//!
//! All requests are streamed, so that malformed tool arguments are kept as text and crh notices a
//! vendor that stops sending. URLs and headers are built only in this module, so that a key reaches
//! only its own host.

mod client_error;
mod frames;
mod local_server;
mod network;
mod reply;
mod request;
mod request_address;
mod server_health;
mod usage;
mod vendor_error;

use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use client_error::CallFailure;
use frames::FrameRecorder;
use futures_util::StreamExt;
use genai::chat::{ChatStream, ChatStreamEvent};
use genai::resolver::AuthData;
use genai::{Client, Headers, ModelIden, ServiceTarget};
pub use local_server::{ContextLength, ModelServer, NoAnswer, ServerKind};
pub use network::ModelSetupError;
use reply::ReplyInput;
use request_address::RequestAddress;
use secrecy::{ExposeSecret, SecretString};
use server_health::ServerHealth;
use vendor_error::ReplyStarted;

use crate::token_estimate::PieceCounter;
use crate::{
    Endpoint, LengthUnit, ModelError, ModelReply, ModelRequest, Redactor, ReplyProgress, Wire,
};
use crh_http::{NetworkSettings, Timeouts};

const ANTHROPIC_VERSION: &str = "2023-06-01";

/// Maximum length of the caller's name in a header.
const MAX_CALLER_CHARS: usize = 64;

/// Maximum working time for one event. The client library copies an unfinished event for each piece
/// that arrives, so the work grows with the square of its length: an event of 1 MB takes some
/// milliseconds, one of 64 MB over a minute.
const EVENT_WORK_MAX: Duration = Duration::from_secs(3);

/// Words that a reply may have in addition to nine eighths of the tokens that crh asked for, for
/// servers that exceed a small limit.
const EXTRA_WORDS: u64 = 256;
/// If no request found the server loading its model for this long, the next such request starts a
/// new waiting time.
const LOADING_PAUSE: Duration = Duration::from_secs(30);

/// Client for one model at a vendor. Clones share connections; dropping a request cancels it.
#[derive(Clone)]
pub struct VendorClient {
    endpoint: Arc<Endpoint>,
    /// Further headers of the user. They replace headers of crh with the same name.
    extra_headers: Arc<Vec<(String, SecretString)>>,
    address: RequestAddress,
    client: Client,
    timeouts: Timeouts,
    redactor: Redactor,
    /// Times of the first and the last request that the server refused because it loads the model.
    loading: Arc<Mutex<Option<(Instant, Instant)>>>,
    health: Arc<Mutex<ServerHealth>>,
}

impl fmt::Debug for VendorClient {
    /// Never shows the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VendorClient")
            .field("wire", &self.endpoint.wire)
            .field("model", &self.endpoint.model)
            .finish_non_exhaustive()
    }
}

impl VendorClient {
    /// Creates a client without contacting the vendor.
    pub fn new(endpoint: Endpoint, network: &NetworkSettings) -> Result<Self, ModelSetupError> {
        network::check_key(endpoint.key.as_ref())?;
        let client = Client::builder().with_reqwest(crh_http::build_client(network)?).build();
        let client = client.map_err(|_| crh_http::ClientSetupError::Client)?;
        let redactor = Redactor::new(&endpoint.key);
        let address = RequestAddress::from_endpoint(&endpoint, &redactor);
        let timeouts = network.timeouts;
        let extra_headers = Arc::default();
        let (endpoint, loading, health) = (Arc::new(endpoint), Arc::default(), Arc::default());
        Ok(Self { endpoint, extra_headers, address, client, timeouts, redactor, loading, health })
    }

    /// Adds headers to every request. A header of crh with the same name is replaced.
    pub fn with_headers(
        self,
        headers: Vec<(String, SecretString)>,
    ) -> Result<Self, ModelSetupError> {
        network::check_headers(&headers)?;
        let secrets = headers.iter().map(|(_, value)| value).chain(&self.endpoint.key);
        let redactor = Redactor::new(secrets);
        let is_authorization = |name: &str| {
            matches!(name, "authorization" | "api-key" | "x-api-key" | "x-goog-api-key")
        };
        let address = match headers.iter().any(|(name, _)| is_authorization(name)) {
            true => self.address.with_key(),
            false => self.address,
        };
        Ok(Self { extra_headers: Arc::new(headers), address, redactor, ..self })
    }

    /// Sends one request, without retries. `caller` is sent in the `User-Agent` header. `watch`
    /// receives the reply while it streams in.
    pub async fn ask(
        &self,
        caller: &str,
        request: &ModelRequest,
        watch: &mut (dyn FnMut(ReplyProgress<'_>) + Send),
    ) -> Result<ModelReply, ModelError> {
        let reply = Box::pin(self.stream_reply(caller, request, watch)).await;
        let reply = reply.map_err(|failure| {
            let error = vendor_error::clean_error(failure.error, &self.redactor);
            self.address.explain(CallFailure { error, ..failure })
        });
        let reply = self.server_health().update(reply, Instant::now());
        self.with_loading_time(reply)
    }

    /// The error that a request would get because no server runs. A caller that gets `None` asks.
    pub(crate) fn stopped_server(&self) -> Option<ModelError> {
        self.server_health().expected_error(Instant::now())
    }

    fn server_health(&self) -> MutexGuard<'_, ServerHealth> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the time since the first request of any run that the server refused because it loads
    /// the model, so that all runs together wait a bounded time.
    fn with_loading_time(
        &self,
        reply: Result<ModelReply, ModelError>,
    ) -> Result<ModelReply, ModelError> {
        let mut loading = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(ModelError::Loading { message, .. }) = reply {
            let now = Instant::now();
            // After a pause in which no run waited, the server may load the model anew.
            let recent = loading.filter(|(_, last)| now - *last < LOADING_PAUSE);
            let first = recent.map_or(now, |(first, _)| first);
            *loading = Some((first, now));
            return Err(ModelError::Loading { message, waited: now - first });
        }
        *loading = None;
        reply
    }

    async fn stream_reply(
        &self,
        caller: &str,
        request: &ModelRequest,
        watch: &mut (dyn FnMut(ReplyProgress<'_>) + Send),
    ) -> Result<ModelReply, CallFailure> {
        let Endpoint { wire, model, .. } = &*self.endpoint;
        let frames = Arc::new(FrameRecorder::new(*wire, request.max_output_tokens));
        let mut options = request::chat_options(*wire, model, request);
        options.raw_frame_sink = Some(frames.clone());
        let chat = request::chat_request(*wire, request);
        let response =
            self.client.exec_chat_stream(self.target(caller), chat, Some(&options)).await;
        let mut stream = ReplyStream {
            stream: response
                .map_err(|error| {
                    client_error::from_client_error(&error, &frames.summary(), ReplyStarted::No)
                })?
                .stream,
            frames,
            started: ReplyStarted::No,
            words: WordLimit::new(request.max_output_tokens),
            start_reported: false,
            has_complete_calls: *wire == Wire::Gemini,
            calls: Vec::new(),
        };
        loop {
            let next = stream.next_event(&self.timeouts, watch).await?;
            let Some(event) = next else { continue };
            if let ChatStreamEvent::Chunk(chunk) = &event {
                stream.words.add(&chunk.content)?;
            }
            if let Some(end) = stream.handle_event(event, watch) {
                let input = ReplyInput { wire: *wire, request, end, complete_calls: stream.calls };
                return Ok(reply::build_reply(input, &stream.frames.summary())?);
            }
        }
    }

    /// URL and headers of a request. crh builds them itself, because the client library would
    /// require a key and parse the model name.
    fn target(&self, caller: &str) -> ServiceTarget {
        let Endpoint { wire, url, model, .. } = &*self.endpoint;
        let base = format!("{}/", url.as_str());
        ServiceTarget {
            endpoint: genai::resolver::Endpoint::from_owned(base),
            auth: AuthData::RequestOverride {
                url: network::call_url(*wire, url, model),
                headers: self.headers(caller),
            },
            model: ModelIden::new(request::adapter(*wire), request::client_name(model)),
        }
    }

    fn headers(&self, caller: &str) -> Headers {
        let mut headers = vec![("user-agent", user_agent(caller))];
        let key = self.endpoint.key.as_ref().map(ExposeSecret::expose_secret);
        match self.endpoint.wire {
            Wire::OpenAiChat | Wire::OpenAiResponses => {
                headers.extend(key.map(|key| ("authorization", format!("Bearer {key}"))));
            }
            Wire::Anthropic => {
                headers.push(("anthropic-version", ANTHROPIC_VERSION.to_owned()));
                headers.extend(key.map(|key| ("x-api-key", key.to_owned())));
            }
            Wire::Gemini => {
                headers.extend(key.map(|key| ("x-goog-api-key", key.to_owned())));
            }
        }
        let mut headers: Vec<(String, String)> =
            headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        for (name, value) in self.extra_headers.iter() {
            headers.retain(|(known, _)| known != name);
            headers.push((name.clone(), value.expose_secret().to_owned()));
        }
        Headers::from(headers)
    }
}

/// Counts the words of a reply's text. Each word has at least one token. A reply with clearly more
/// words than the maximum of tokens that crh asked for counts as endless.
struct WordLimit {
    tokens: u32,
    words: PieceCounter,
}

impl WordLimit {
    fn new(tokens: u32) -> Self {
        Self { tokens, words: PieceCounter::default() }
    }

    fn add(&mut self, text: &str) -> Result<(), ModelError> {
        self.words.add(text);
        let tokens = u64::from(self.tokens);
        let max = tokens + tokens / 8 + EXTRA_WORDS;
        if self.words.pieces() <= max {
            return Ok(());
        }
        Err(ModelError::EndlessReply { max, unit: LengthUnit::Words, tokens })
    }
}

struct ReplyStream {
    stream: ChatStream,
    frames: Arc<FrameRecorder>,
    started: ReplyStarted,
    words: WordLimit,
    /// Whether `watch` has received `Started`.
    start_reported: bool,
    /// Whether each event with a tool call holds a complete call (Gemini).
    has_complete_calls: bool,
    calls: Vec<genai::chat::ToolCall>,
}

impl ReplyStream {
    /// The next event; `None` for a frame without an event. A timeout or an oversized reply is an
    /// error.
    async fn next_event(
        &mut self,
        timeouts: &Timeouts,
        watch: &mut (dyn FnMut(ReplyProgress<'_>) + Send),
    ) -> Result<Option<ChatStreamEvent>, CallFailure> {
        let frame_count = self.frames.summary().count;
        let limit = match frame_count {
            0 => timeouts.connect + timeouts.first_byte,
            _ => timeouts.idle,
        };
        let (stream, frames) = (&mut self.stream, &self.frames);
        let mut work = Duration::ZERO;
        let next = poll_fn(|context| {
            let start = Instant::now();
            let polled = stream.poll_next_unpin(context);
            work += start.elapsed();
            match polled {
                Poll::Ready(event) => Poll::Ready(Ok(Some(event))),
                // A frame without an event still shows that the vendor is alive.
                Poll::Pending if frames.summary().count > frame_count => Poll::Ready(Ok(None)),
                Poll::Pending if work > EVENT_WORK_MAX => {
                    let message = "an event is too long".to_owned();
                    Poll::Ready(Err(ModelError::CutStream { message }))
                }
                Poll::Pending => Poll::Pending,
            }
        });
        let Ok(next) = tokio::time::timeout(limit, next).await else {
            let seconds = limit.as_secs_f64();
            return Err(match frame_count {
                0 => vendor_error::no_response(format!("no reply within {seconds} s")),
                _ => ModelError::Stalled { message: format!("no data for {seconds} s") },
            }
            .into());
        };
        let next = next?;
        let summary = self.frames.summary();
        if summary.count > 0 && !self.start_reported {
            self.start_reported = true;
            watch(ReplyProgress::Started);
        }
        if let Some(fault) = summary.fault() {
            return Err(fault.into());
        }
        match next {
            None => Ok(None),
            Some(Some(Ok(event))) => Ok(Some(event)),
            Some(Some(Err(error))) if client_error::is_unknown_delta(&error, &summary) => Ok(None),
            Some(Some(Err(error))) => {
                Err(client_error::from_client_error(&error, &summary, self.started))
            }
            Some(None) => Err(reply::missing_end(&summary).into()),
        }
    }

    /// Reports the event to `watch`. Returns the end of the stream if the event is the end.
    fn handle_event(
        &mut self,
        event: ChatStreamEvent,
        watch: &mut (dyn FnMut(ReplyProgress<'_>) + Send),
    ) -> Option<genai::chat::StreamEnd> {
        match event {
            ChatStreamEvent::Chunk(chunk) => {
                self.started = ReplyStarted::Yes;
                watch(ReplyProgress::Text(&chunk.content));
            }
            ChatStreamEvent::ReasoningChunk(chunk) => {
                self.started = ReplyStarted::Yes;
                watch(ReplyProgress::Thought(&chunk.content));
            }
            ChatStreamEvent::ToolCallChunk(chunk) => {
                self.started = ReplyStarted::Yes;
                if self.has_complete_calls {
                    self.calls.push(chunk.tool_call);
                }
            }
            // The client emits `Start` before it sends the request.
            ChatStreamEvent::Start
            | ChatStreamEvent::ThoughtSignatureChunk(_)
            | ChatStreamEvent::Heartbeat => {}
            ChatStreamEvent::End(end) => return Some(end),
        }
        None
    }
}

/// `crh/0.1.0 (correctness)`, with characters allowed in a header.
fn user_agent(caller: &str) -> String {
    let header_safe =
        |c: char| if c.is_ascii_alphanumeric() || "._-/:".contains(c) { c } else { '-' };
    let caller: String = caller.chars().take(MAX_CALLER_CHARS).map(header_safe).collect();
    format!("crh/{} ({caller})", env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caller_name_cannot_inject_headers() {
        let version = env!("CARGO_PKG_VERSION");
        for (caller, expected) in [
            ("correctness", "correctness"),
            ("sub/agent:2", "sub/agent:2"),
            ("a\r\nx-evil: 1", "a--x-evil:-1"),
            ("prüfer (1)", "pr-fer--1-"),
        ] {
            assert_eq!(user_agent(caller), format!("crh/{version} ({expected})"));
        }
        assert_eq!(user_agent(&"x".repeat(1_000)).len(), format!("crh/{version} ()").len() + 64);
    }
}
