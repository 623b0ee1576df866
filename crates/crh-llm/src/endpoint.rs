//! Where a model is asked and in which language: explicit values, nothing is looked up.

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crh_http::BaseUrl;

/// The API that an endpoint speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// OpenAI's Chat Completions, and everything that calls itself compatible with it.
    OpenAiChat,
    /// OpenAI's Responses.
    OpenAiResponses,
    /// Anthropic's Messages.
    Anthropic,
    /// Google's Gemini (`streamGenerateContent`).
    Gemini,
}

/// One model at one place. The key is sent to the host of `url` and nowhere else.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The API spoken there.
    pub wire: Wire,
    /// The base address, with the version where the vendor has one: `https://api.openai.com/v1`.
    pub url: BaseUrl,
    /// The key; none sends no header that could carry one.
    pub key: Option<SecretString>,
    /// The model's name, sent exactly as it stands here.
    pub model: String,
}
