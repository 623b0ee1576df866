//! From a model's name, and what the user has set, to everything that is needed to ask it.

use std::path::PathBuf;

use thiserror::Error;

use crate::{Catalogue, Endpoint, LiveName, ModelFacts, ModelName, Provider, Surroundings};
use crh_http::BadUrl;

/// The order in which providers are tried when no model is named.
const PREFERRED: [Provider; 4] =
    [Provider::OpenAi, Provider::Anthropic, Provider::Gemini, Provider::OpenRouter];

/// A model that is ready to be asked.
#[derive(Debug, Clone)]
pub enum Resolved {
    /// A vendor's.
    Live(Box<LiveModel>),
    /// A recording, which brings its own facts.
    Replay(PathBuf),
}

/// A vendor's model with everything that is needed to ask it.
#[derive(Debug, Clone)]
pub struct LiveModel {
    /// How people name it.
    pub name: LiveName,
    /// Where it is, and with which key.
    pub endpoint: Endpoint,
    /// What is known of it. The price is always known.
    pub facts: ModelFacts,
}

/// The models that are taken when none is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defaults {
    /// For reviews.
    pub reviewer: LiveName,
    /// For what needs little thought.
    pub cheap: LiveName,
    /// For what the reviewer was unsure of.
    pub escalation: LiveName,
}

/// Why a model cannot be asked, before anything was sent.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ResolveError {
    /// The server wants a key, and its variable is not set.
    #[error("`{origin}` needs a key, and `{variable}` is not set")]
    MissingKey {
        /// The variable.
        variable: String,
        /// To whom the key would go.
        origin: String,
    },
    /// No provider has a key.
    #[error("no model is configured: none of {} is set", listed(.variables))]
    NoKeys {
        /// The variables that would do.
        variables: Vec<String>,
    },
    /// A remote model may cost any amount.
    #[error("the price of `{name}` is not known")]
    NoPrice {
        /// The model, without its address.
        name: String,
    },
    /// The address in a variable is refused.
    #[error("the base URL in `{variable}` {problem}")]
    BadBaseUrl {
        /// The variable.
        variable: String,
        /// What is wrong with it.
        problem: BadUrl,
    },
    /// The user's list of keys names something that is no origin.
    #[error("the key in `{variable}` is meant for something that is no origin")]
    BadOrigin {
        /// The variable.
        variable: String,
    },
}

impl ResolveError {
    /// What to do about it, in a sentence.
    pub fn hint(&self) -> String {
        match self {
            Self::MissingKey { variable, .. } => {
                format!("set `{variable}`, or name another model")
            }
            Self::NoKeys { .. } => {
                "set one of them, or name a model that needs no key: `ollama:MODEL`, `openai:MODEL@http://localhost:8080/v1`".to_owned()
            }
            Self::NoPrice { name } => format!(
                "give it a price in your configuration, in dollars for a million tokens: `models.\"{name}\".price = {{ input = 1.0, output = 4.0 }}`"
            ),
            Self::BadBaseUrl { .. } => "write it as `https://host/path`".to_owned(),
            Self::BadOrigin { .. } => {
                "write scheme, host and port alone: `https://gateway.example:8443`".to_owned()
            }
        }
    }
}

impl Catalogue {
    /// Everything that is needed to ask a model. A remote model whose price nobody knows is refused: its cost could not
    /// be held to a budget.
    pub fn resolve(
        &self,
        name: &ModelName,
        surroundings: &Surroundings,
    ) -> Result<Resolved, ResolveError> {
        let name = match name {
            ModelName::Live(name) => name,
            ModelName::Replay(path) => return Ok(Resolved::Replay(path.clone())),
        };
        let url = surroundings.url(self, name)?;
        let key = surroundings.key(self, name.provider, &url)?;
        let facts = self.facts(name, &url);
        if facts.price.is_none() {
            let name = format!("{}:{}", name.provider, name.model);
            return Err(ResolveError::NoPrice { name });
        }
        let endpoint = Endpoint {
            wire: self.provider(name.provider).wire,
            url,
            key,
            model: name.model.clone(),
        };
        Ok(Resolved::Live(Box::new(LiveModel { name: name.clone(), endpoint, facts })))
    }

    /// The models of the first provider that has a key.
    pub fn defaults(&self, surroundings: &Surroundings) -> Result<Defaults, ResolveError> {
        let found = PREFERRED.into_iter().find_map(|provider| {
            let models = self.provider(provider).defaults.as_ref()?;
            surroundings.has_key(self, provider).then_some((provider, models))
        });
        let Some((provider, models)) = found else {
            let keys = PREFERRED.into_iter().filter_map(|p| self.provider(p).key.clone());
            return Err(ResolveError::NoKeys { variables: keys.collect() });
        };
        let named = |model: &str| LiveName { provider, model: model.to_owned(), base_url: None };
        Ok(Defaults {
            reviewer: named(&models.reviewer),
            cheap: named(&models.cheap),
            escalation: named(&models.escalation),
        })
    }
}

fn listed(variables: &[String]) -> String {
    variables.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
