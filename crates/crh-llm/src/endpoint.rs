//! Endpoints: a model, its base URL, its API and its key, as explicit values.

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crh_http::BaseUrl;

/// API of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// OpenAI Chat Completions, and compatible servers.
    OpenAiChat,
    /// OpenAI Responses.
    OpenAiResponses,
    /// Anthropic Messages.
    Anthropic,
    /// Google Gemini (`streamGenerateContent`).
    Gemini,
}

/// One model at one server. The key is sent only to the host of `url`.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// API of the server.
    pub wire: Wire,
    /// Base URL, including the API version: `https://api.openai.com/v1`.
    pub url: BaseUrl,
    /// API key. Without it, crh adds no header with a key.
    pub key: Option<SecretString>,
    /// Model id, sent unchanged.
    pub model: String,
}
