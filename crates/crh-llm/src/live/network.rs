//! Keys and addresses: what has to be right before the first call.

use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;

use crate::Wire;
use crh_http::BaseUrl;

/// Why a model cannot be asked at all.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SetupError {
    /// The key cannot stand in a header.
    #[error("the key holds characters that no key has; is there a line break in it?")]
    Key,
    /// No host can be reached.
    #[error(transparent)]
    Network(#[from] crh_http::SetupError),
}

/// Refuses a key that no header can carry.
pub(super) fn checked(key: Option<&SecretString>) -> Result<(), SetupError> {
    match key {
        Some(key) => {
            HeaderValue::from_str(key.expose_secret()).map(|_| ()).map_err(|_| SetupError::Key)
        }
        None => Ok(()),
    }
}

/// The whole address of a call.
pub(super) fn address(wire: Wire, base: &BaseUrl, model: &str) -> String {
    let base = base.as_str();
    match wire {
        Wire::OpenAiChat => format!("{base}/chat/completions"),
        Wire::OpenAiResponses => format!("{base}/responses"),
        Wire::Anthropic => format!("{base}/messages"),
        Wire::Gemini => {
            format!("{base}/models/{}:streamGenerateContent?alt=sse", segment(model))
        }
    }
}

/// A model's name as part of a path. What could end the segment is encoded; `/` is not, since names have it.
fn segment(name: &str) -> String {
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
