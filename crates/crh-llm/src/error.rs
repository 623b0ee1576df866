//! Errors of model requests, grouped by what the caller can do.
//!
//! Messages come from crh or from the vendor, shortened and redacted. They never contain a request
//! or a header.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Why a request got no reply.
#[expect(missing_docs, reason = "the message of a variant explains its fields")]
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelError {
    /// Rate limited: wait and retry.
    #[error("rate limited: {message}{}", retry_after_text(.retry_after.as_ref()))]
    RateLimited { retry_after: Option<Duration>, message: String },
    /// Overloaded: wait and retry.
    #[error("the model is overloaded: {message}{}", retry_after_text(.retry_after.as_ref()))]
    Overloaded { retry_after: Option<Duration>, message: String },
    /// The server runs and still loads the model: wait and retry.
    #[error("the server is loading the model: {message}{}", waited_text(*waited))]
    Loading {
        message: String,
        /// Time since the first request that the server answered in this way.
        waited: Duration,
    },
    /// Server error: retry a few times.
    #[error("server error: {message}")]
    Broken { message: String },
    #[error("the conversation exceeds the model's context window: {message}")]
    ContextFull { message: String },
    /// The model or a filter refused to answer.
    #[error("the model refuses to answer: {message}")]
    Refused { message: String },
    #[error("the API key was rejected: {message}")]
    BadKey { message: String },
    /// The server requires an API key, and crh has none for it.
    #[error("the server requires an API key, and crh sent none: {message}")]
    NoKey { message: String },
    /// The account has no credit, or reached its spending limit.
    #[error("the account has no credit left: {message}")]
    NoCredit { message: String },
    /// The request is invalid: unknown model, parameter or schema.
    #[error("the model rejected the request: {message}")]
    BadRequest { message: String },
    /// The stream ended early or was invalid. A retry may help; the cost is unknown.
    #[error("incomplete reply: {message}")]
    CutStream { message: String },
    /// The vendor could not be reached, or stopped responding.
    #[error("cannot reach the model server: {message}")]
    Transport {
        message: String,
        /// Whether the request may have arrived and cost money.
        spent: FailureCost,
    },
    /// A server on this machine stopped in the middle of a reply. Retry once.
    #[error("the model server stopped sending: {message}")]
    Stalled { message: String },
    /// The server cut the prompt to its context length and answered the rest.
    #[error(
        "the server read only {read} of at least {sent} prompt tokens; raise its context length \
         (Ollama: `OLLAMA_CONTEXT_LENGTH`, llama.cpp: `--ctx-size`, LM Studio: \"Context Length\")"
    )]
    PromptCut { sent: u64, read: u64 },
    /// The reply is far longer than requested. A model that does not stop rarely stops next time.
    #[error(
        "the reply does not end: it has more than {max} {unit}, and crh asked for at most {tokens} \
         tokens"
    )]
    EndlessReply { max: u64, unit: LengthUnit, tokens: u64 },
    /// No server runs at an address of this machine or of a private network, and none answered
    /// before. Retry once, since it may be starting.
    #[error("cannot connect to the model server: {message}")]
    NoServer { message: String },
    /// The recording has no answer to this question.
    #[error("{message}")]
    NotRecorded { message: String },
}

/// Unit of the length of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LengthUnit {
    /// Bytes on the wire.
    Bytes,
    /// Words, and runs of symbols.
    Words,
}

impl fmt::Display for LengthUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bytes => "bytes",
            Self::Words => "words",
        })
    }
}

/// Whether a failed request may have cost money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCost {
    /// The vendor did no work.
    Nothing,
    /// Unknown. The budget counts the worst case.
    Unknown,
}

impl ModelError {
    /// Whether the failed request may have cost money.
    pub fn cost(&self) -> FailureCost {
        match self {
            Self::RateLimited { .. }
            | Self::Overloaded { .. }
            | Self::Loading { .. }
            | Self::Broken { .. }
            | Self::ContextFull { .. }
            | Self::BadKey { .. }
            | Self::NoKey { .. }
            | Self::NoCredit { .. }
            | Self::BadRequest { .. }
            | Self::NoServer { .. }
            | Self::NotRecorded { .. } => FailureCost::Nothing,
            Self::Refused { .. }
            | Self::CutStream { .. }
            | Self::Stalled { .. }
            | Self::PromptCut { .. }
            | Self::EndlessReply { .. } => FailureCost::Unknown,
            Self::Transport { spent, .. } => *spent,
        }
    }

    pub(crate) fn message_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::RateLimited { message, .. }
            | Self::Overloaded { message, .. }
            | Self::Loading { message, .. }
            | Self::Broken { message }
            | Self::ContextFull { message }
            | Self::Refused { message }
            | Self::BadKey { message }
            | Self::NoKey { message }
            | Self::NoCredit { message }
            | Self::BadRequest { message }
            | Self::CutStream { message }
            | Self::Transport { message, .. }
            | Self::Stalled { message }
            | Self::NoServer { message }
            | Self::NotRecorded { message } => Some(message),
            Self::PromptCut { .. } | Self::EndlessReply { .. } => None,
        }
    }
}

fn retry_after_text(retry_after: Option<&Duration>) -> String {
    let seconds = |delay: &Duration| delay.as_millis() as f64 / 1000.0;
    retry_after.map_or_else(String::new, |delay| format!(" (retry after {} s)", seconds(delay)))
}

fn waited_text(waited: Duration) -> String {
    match waited.as_secs() {
        0 => String::new(),
        seconds => format!(" (for {seconds} s now)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_shown() {
        let message = || "slow down".to_owned();
        for (delay, suffix) in [
            (None, ""),
            (Some(30_000), " (retry after 30 s)"),
            (Some(1_500), " (retry after 1.5 s)"),
        ] {
            let retry_after = delay.map(Duration::from_millis);
            let rate_limited = ModelError::RateLimited { retry_after, message: message() };
            assert_eq!(rate_limited.to_string(), format!("rate limited: slow down{suffix}"));
            let overloaded = ModelError::Overloaded { retry_after, message: message() };
            assert_eq!(
                overloaded.to_string(),
                format!("the model is overloaded: slow down{suffix}")
            );
        }
    }
}
