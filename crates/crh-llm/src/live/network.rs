//! Validates API keys and headers, and builds request URLs.

use reqwest::header::{HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;

use crate::Wire;
use crh_http::BaseUrl;

/// Why a client cannot be created.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ModelSetupError {
    /// The key has characters that are invalid in a header.
    #[error("the API key contains invalid characters; does it contain a line break?")]
    Key,
    /// A configured header is invalid.
    #[error("the header `{0}` in `model.headers` has an invalid name or value")]
    Header(String),
    /// The HTTP client cannot be created.
    #[error(transparent)]
    Network(#[from] crh_http::ClientSetupError),
}

pub(super) fn check_key(key: Option<&SecretString>) -> Result<(), ModelSetupError> {
    match key {
        Some(key) => {
            HeaderValue::from_str(key.expose_secret()).map(|_| ()).map_err(|_| ModelSetupError::Key)
        }
        None => Ok(()),
    }
}

pub(super) fn check_headers(headers: &[(String, SecretString)]) -> Result<(), ModelSetupError> {
    let is_valid = |(name, value): &(String, SecretString)| {
        HeaderName::from_bytes(name.as_bytes()).is_ok()
            && HeaderValue::from_str(value.expose_secret()).is_ok()
    };
    match headers.iter().find(|header| !is_valid(header)) {
        Some((name, _)) => Err(ModelSetupError::Header(name.clone())),
        None => Ok(()),
    }
}

/// URL of a request.
pub(super) fn call_url(wire: Wire, base: &BaseUrl, model: &str) -> String {
    let base = base.as_str();
    match wire {
        Wire::OpenAiChat => format!("{base}/chat/completions"),
        Wire::OpenAiResponses => format!("{base}/responses"),
        Wire::Anthropic => format!("{base}/messages"),
        Wire::Gemini => {
            format!("{base}/models/{}:streamGenerateContent?alt=sse", encode_segment(model))
        }
    }
}

/// Percent-encodes a model name for a path. `/`, `:` and `@` stay, because model names contain
/// them.
fn encode_segment(name: &str) -> String {
    let mut segment = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'-' | b'/' | b':' | b'@' => {
                segment.push(char::from(byte));
            }
            other => segment.push_str(&format!("%{other:02X}")),
        }
    }
    segment
}

#[cfg(test)]
mod tests;
