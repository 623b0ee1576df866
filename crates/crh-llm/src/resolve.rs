//! Resolves a model name and the user's settings to an endpoint.

use std::path::PathBuf;

use secrecy::SecretString;
use thiserror::Error;

use crate::catalogue::did_you_mean;
use crate::{
    Endpoint, LiveName, ModelCatalogue, ModelEnvironment, ModelFacts, ModelName, Provider,
};
use crh_http::BaseUrlError;

/// Providers whose default models are used, in this order, if no model is named.
const DEFAULT_PROVIDERS: [Provider; 4] =
    [Provider::OpenAi, Provider::Anthropic, Provider::Gemini, Provider::OpenRouter];

/// A model that can be asked.
#[derive(Debug, Clone)]
pub enum ResolvedModel {
    /// At a vendor.
    Live(Box<LiveModel>),
    /// From a recording, which contains its own facts.
    Replay(PathBuf),
}

/// A vendor's model with its endpoint.
#[derive(Debug, Clone)]
pub struct LiveModel {
    /// Name as users write it.
    pub name: LiveName,
    /// Server and key.
    pub endpoint: Endpoint,
    /// Further headers of the user, by name.
    pub headers: Vec<(String, SecretString)>,
    /// Facts; the price is always present.
    pub facts: ModelFacts,
    /// Origin of the context length in `facts`.
    pub context_source: ContextSource,
}

/// Where a context length comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextSource {
    /// The built-in model table.
    Table,
    /// The user's configuration.
    Configured,
    /// Unknown; crh assumes the length that hosted models have.
    Assumed,
}

/// Names of the default models of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultModelNames {
    /// Model for reviews.
    pub reviewer: LiveName,
    /// Model for simple tasks.
    pub cheap: LiveName,
    /// Model that checks uncertain findings.
    pub escalation: LiveName,
}

/// Why a model cannot be used.
#[expect(missing_docs, reason = "the message of a variant explains its fields")]
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ResolveError {
    #[error("no API key for `{origin}`: `{variable}` is not set")]
    MissingKey { variable: String, origin: String },
    #[error("no model is configured: none of {} is set", quoted_list(.variables))]
    NoKeys { variables: Vec<String> },
    #[error("the price of `{name}` is unknown{}", did_you_mean(.similar))]
    NoPrice { name: String, similar: Vec<String> },
    #[error("the base URL in `{variable}` {problem}")]
    BadBaseUrl { variable: String, problem: BaseUrlError },
    #[error("`model.headers` needs `{variable}` for `{origin}`, and it is not set")]
    MissingHeader { variable: String, origin: String },
    #[error("`{setting}` assigns `{variable}` to a name that is not a server address")]
    BadOrigin { setting: &'static str, variable: String },
}

impl ResolveError {
    /// What the user can do.
    pub fn hint(&self) -> String {
        match self {
            Self::MissingKey { variable, .. } => {
                format!("set `{variable}`, or choose another model")
            }
            Self::MissingHeader { variable, .. } => {
                format!("set `{variable}`, or remove the header from your configuration")
            }
            Self::NoKeys { .. } => {
                "set one of them, or choose a model that needs no key: `ollama:MODEL`, `openai:MODEL@http://localhost:8080/v1`".to_owned()
            }
            Self::NoPrice { name, .. } => format!(
                "add its price to your configuration, in dollars per million tokens: `models.\"{name}\".price = {{ input = 1.0, output = 4.0 }}`"
            ),
            Self::BadBaseUrl { .. } => "write it as `https://host/path`".to_owned(),
            Self::BadOrigin { .. } => {
                "write only scheme, host and port: `https://gateway.example:8443`".to_owned()
            }
        }
    }
}

impl ModelCatalogue {
    /// Resolves a model. Models without a price are rejected, because crh could not limit their
    /// cost.
    pub fn resolve(
        &self,
        name: &ModelName,
        environment: &ModelEnvironment,
    ) -> Result<ResolvedModel, ResolveError> {
        let name = match name {
            ModelName::Live(name) => name,
            ModelName::Replay(path) => return Ok(ResolvedModel::Replay(path.clone())),
        };
        let url = environment.url(self, name)?;
        let key = environment.key(self, name.provider, &url);
        let facts = self.facts(name, &url);
        let context_source = self.context_source(name);
        if facts.price.is_none() {
            let name = format!("{}:{}", name.provider, name.model);
            let similar = self.nearest_models(&name);
            // A key does not help a mistyped name.
            if similar.is_empty() {
                key?;
            }
            return Err(ResolveError::NoPrice { name, similar });
        }
        let key = key?;
        let headers = environment.headers(&url)?;
        let endpoint = Endpoint { wire: self.wire(name), url, key, model: name.model.clone() };
        Ok(ResolvedModel::Live(Box::new(LiveModel {
            name: name.clone(),
            endpoint,
            headers,
            facts,
            context_source,
        })))
    }

    /// Default models of the first provider that has a key.
    pub fn defaults(
        &self,
        environment: &ModelEnvironment,
    ) -> Result<DefaultModelNames, ResolveError> {
        let provider_models = DEFAULT_PROVIDERS.into_iter().find_map(|provider| {
            let models = self.provider(provider).defaults.as_ref()?;
            environment.has_key(self, provider).then_some((provider, models))
        });
        let Some((provider, models)) = provider_models else {
            let keys = DEFAULT_PROVIDERS.into_iter().filter_map(|p| self.provider(p).key.clone());
            return Err(ResolveError::NoKeys { variables: keys.collect() });
        };
        let live_name =
            |model: &str| LiveName { provider, model: model.to_owned(), base_url: None };
        Ok(DefaultModelNames {
            reviewer: live_name(&models.reviewer),
            cheap: live_name(&models.cheap),
            escalation: live_name(&models.escalation),
        })
    }
}

fn quoted_list(variables: &[String]) -> String {
    variables.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
