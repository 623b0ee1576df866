//! The vendors whose models can be asked, a closed set: each has its wire format, its variables and its host.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Who serves a model. What each of them needs stands in `models.toml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provider {
    /// OpenAI by Chat Completions, and everything that is compatible with it.
    #[serde(rename = "openai")]
    OpenAi,
    /// OpenAI by Responses.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// Anthropic.
    Anthropic,
    /// Google.
    Gemini,
    /// OpenRouter, which resells others.
    #[serde(rename = "openrouter")]
    OpenRouter,
    /// Ollama, on this machine.
    Ollama,
}

impl Provider {
    /// All of them, in the order in which lists show them.
    pub const ALL: [Self; 6] = [
        Self::OpenAi,
        Self::OpenAiResponses,
        Self::Anthropic,
        Self::Gemini,
        Self::OpenRouter,
        Self::Ollama,
    ];

    /// The word in front of the colon.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::OpenAiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::OpenRouter => "openrouter",
            Self::Ollama => "ollama",
        }
    }

    /// The provider of this name, if there is one.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|provider| provider.as_str() == name)
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
