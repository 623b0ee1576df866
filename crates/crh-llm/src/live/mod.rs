//! Asks a vendor's model over HTTP. The only place that knows the client library and HTTP.
//!
//! Every call is a stream: that is how malformed arguments of a tool are kept as text and how a silent vendor is
//! noticed. Addresses and headers are made here and nowhere else, so that a key goes to its own host only.

#[path = "reply.rs"]
mod answer;
#[path = "vendor_error.rs"]
mod errors;
#[path = "client_error.rs"]
mod failure;
mod frames;
mod network;
#[path = "asked_address.rs"]
mod place;
#[path = "request.rs"]
mod question;
mod usage;

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use answer::Ended;
use errors::Begun;
use failure::Failed;
use frames::Frames;
use futures_util::StreamExt;
use genai::chat::{ChatStream, ChatStreamEvent};
use genai::resolver::AuthData;
use genai::{Client, Headers, ModelIden, ServiceTarget};
pub use network::SetupError;
use place::Place;
use secrecy::ExposeSecret;

use crate::{Endpoint, ModelError, Progress, Redactor, Reply, Request, Wire};
use crh_http::{Network, Timeouts};

/// The version of Anthropic's API that is spoken.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// The longest name of a caller in a header; reviewers have short names.
const MAX_CALLER_CHARS: usize = 64;

/// A model at a vendor's. Clones share their connections; a call that is dropped is cancelled.
#[derive(Clone)]
pub struct Live {
    endpoint: Arc<Endpoint>,
    place: Place,
    client: Client,
    timeouts: Timeouts,
    redactor: Redactor,
}

impl fmt::Debug for Live {
    /// Where and what, never the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live")
            .field("wire", &self.endpoint.wire)
            .field("model", &self.endpoint.model)
            .finish_non_exhaustive()
    }
}

impl Live {
    /// A model at this endpoint. Nothing is asked yet.
    pub fn new(endpoint: Endpoint, network: &Network) -> Result<Self, SetupError> {
        network::checked(endpoint.key.as_ref())?;
        let client = Client::builder().with_reqwest(crh_http::client(network)?).build();
        let client = client.map_err(|_| crh_http::SetupError::Client)?;
        let redactor = Redactor::new(&endpoint.key);
        let place = Place::of(&endpoint, &redactor);
        let timeouts = network.timeouts;
        Ok(Self { endpoint: Arc::new(endpoint), place, client, timeouts, redactor })
    }

    /// Asks once. `caller` says who asks and goes along in the `User-Agent`; `watch` hears of the answer while it
    /// comes in. Nothing is tried again.
    pub async fn ask(
        &self,
        caller: &str,
        request: &Request,
        watch: &mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Result<Reply, ModelError> {
        let asked = Box::pin(self.asked(caller, request, watch)).await;
        asked.map_err(|Failed { error, status }| {
            self.place.noted(errors::cleaned(error, &self.redactor), status)
        })
    }

    async fn asked(
        &self,
        caller: &str,
        request: &Request,
        watch: &mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Result<Reply, Failed> {
        let Endpoint { wire, model, .. } = &*self.endpoint;
        let frames = Arc::new(Frames::new(*wire));
        let mut options = question::options(*wire, model, request);
        options.raw_frame_sink = Some(frames.clone());
        let chat = question::chat(*wire, request);
        let started = self.client.exec_chat_stream(self.target(caller), chat, Some(&options)).await;
        let mut answer = Answer {
            stream: started.map_err(|error| failure::of(&error, &frames.seen(), Begun::No))?.stream,
            frames,
            begun: Begun::No,
            told: false,
            whole_calls: *wire == Wire::Gemini,
            calls: Vec::new(),
        };
        loop {
            let heard = answer.heard(&self.timeouts, watch).await?;
            let Some(event) = heard else { continue };
            if let Some(end) = answer.take(event, watch) {
                let ended = Ended { wire: *wire, request, end, whole_calls: answer.calls };
                return Ok(answer::reply(ended, &answer.frames.seen())?);
            }
        }
    }

    /// Where to ask, with the headers that belong there. The address and the headers are ours: the client would
    /// insist on a key and take the model's name apart.
    fn target(&self, caller: &str) -> ServiceTarget {
        let Endpoint { wire, url, model, .. } = &*self.endpoint;
        let base = format!("{}/", url.as_str());
        ServiceTarget {
            endpoint: genai::resolver::Endpoint::from_owned(base),
            auth: AuthData::RequestOverride {
                url: network::address(*wire, url, model),
                headers: self.headers(caller),
            },
            model: ModelIden::new(question::adapter(*wire), question::client_name(model)),
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
        Headers::from(headers)
    }
}

/// An answer while it comes in.
struct Answer {
    stream: ChatStream,
    frames: Arc<Frames>,
    begun: Begun,
    /// Whether the watcher knows that it has begun.
    told: bool,
    /// Whether each event of a call is a whole one.
    whole_calls: bool,
    calls: Vec<genai::chat::ToolCall>,
}

impl Answer {
    /// The next event, or none if a frame came that is none. What takes too long or is too much is an error.
    async fn heard(
        &mut self,
        timeouts: &Timeouts,
        watch: &mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Result<Option<ChatStreamEvent>, Failed> {
        let known = self.frames.seen().count;
        let limit = match known {
            0 => timeouts.connect + timeouts.first_byte,
            _ => timeouts.idle,
        };
        let (stream, frames) = (&mut self.stream, &self.frames);
        let next = poll_fn(|context| match stream.poll_next_unpin(context) {
            Poll::Ready(event) => Poll::Ready(Some(event)),
            // A frame without an event is a sign of life all the same.
            Poll::Pending if frames.seen().count > known => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        });
        let Ok(next) = tokio::time::timeout(limit, next).await else {
            let seconds = limit.as_secs_f64();
            let message = match known {
                0 => format!("no answer began within {seconds} s"),
                _ => format!("the answer fell silent for {seconds} s"),
            };
            return Err(errors::silent(message).into());
        };
        let seen = self.frames.seen();
        if seen.count > 0 && !self.told {
            self.told = true;
            watch(Progress::Started);
        }
        if let Some(fault) = seen.fault() {
            return Err(ModelError::CutStream { message: fault }.into());
        }
        match next {
            None => Ok(None),
            Some(Some(Ok(event))) => Ok(Some(event)),
            Some(Some(Err(error))) if failure::is_unknown_piece(&error, &seen) => Ok(None),
            Some(Some(Err(error))) => Err(failure::of(&error, &seen, self.begun)),
            Some(None) => Err(answer::without_end(&seen).into()),
        }
    }

    /// Tells the watcher, and gives the end if this is it.
    fn take(
        &mut self,
        event: ChatStreamEvent,
        watch: &mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Option<genai::chat::StreamEnd> {
        match event {
            ChatStreamEvent::Chunk(chunk) => {
                self.begun = Begun::Yes;
                watch(Progress::Text(&chunk.content));
            }
            ChatStreamEvent::ReasoningChunk(chunk) => {
                self.begun = Begun::Yes;
                watch(Progress::Thought(&chunk.content));
            }
            ChatStreamEvent::ToolCallChunk(chunk) => {
                self.begun = Begun::Yes;
                if self.whole_calls {
                    self.calls.push(chunk.tool_call);
                }
            }
            // `Start` comes before anything is sent, so it says nothing.
            ChatStreamEvent::Start
            | ChatStreamEvent::ThoughtSignatureChunk(_)
            | ChatStreamEvent::Heartbeat => {}
            ChatStreamEvent::End(end) => return Some(end),
        }
        None
    }
}

/// `crh/0.1.0 (correctness)`: who asks, in characters that a header can carry.
fn user_agent(caller: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "._-/:".contains(c) { c } else { '-' };
    let caller: String = caller.chars().take(MAX_CALLER_CHARS).map(safe).collect();
    format!("crh/{} ({caller})", env!("CARGO_PKG_VERSION"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callers_name_cannot_break_out_of_its_header() {
        let version = env!("CARGO_PKG_VERSION");
        for (caller, shown) in [
            ("correctness", "correctness"),
            ("sub/agent:2", "sub/agent:2"),
            ("a\r\nx-evil: 1", "a--x-evil:-1"),
            ("prüfer (1)", "pr-fer--1-"),
        ] {
            assert_eq!(user_agent(caller), format!("crh/{version} ({shown})"));
        }
        assert_eq!(user_agent(&"x".repeat(1_000)).len(), format!("crh/{version} ()").len() + 64);
    }
}
