//! What is known of providers and models without asking them: `models.toml`, corrected by the user's configuration.

mod entry;

use std::collections::BTreeMap;

pub use entry::{LongPrice, ModelEntry, PriceEntry};
use serde::Deserialize;
use thiserror::Error;

use crate::{LiveName, ModelFacts, Price, Provider, Wire};
use crh_http::BaseUrl;

/// The table as it is shipped.
const BUILT_IN: &str = include_str!("models.toml");

/// Everything that is known of providers and models.
#[derive(Debug, Clone)]
pub struct Catalogue {
    providers: Providers,
    /// By `provider:model`, other ids of the same model included.
    built_in: BTreeMap<String, ModelEntry>,
    overrides: BTreeMap<String, ModelEntry>,
}

/// What a provider needs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderFacts {
    /// The API that it speaks.
    pub wire: Wire,
    /// Where it is, unless a variable or a name says otherwise.
    pub base_url: String,
    /// The variable with the key; none if there is no key.
    pub key: Option<String>,
    /// The variable with another base address.
    pub base_url_variable: Option<String>,
    /// What the vendor's own clients put behind the address in that variable.
    pub base_url_variable_lacks: Option<String>,
    /// The provider whose models it serves, where it is another way to the same ones.
    pub models_of: Option<Provider>,
    /// The models to take when none is named.
    pub defaults: Option<DefaultModels>,
}

/// The models of a provider that are taken when none is named.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DefaultModels {
    /// For reviews.
    pub reviewer: String,
    /// For what needs little thought.
    pub cheap: String,
    /// For what the reviewer was unsure of.
    pub escalation: String,
}

/// A table that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CatalogueError {
    /// The name of an entry names no model.
    #[error("`{name}` is no `PROVIDER:MODEL`: {problem}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A number of an entry makes no sense.
    #[error("`{name}`: {problem}")]
    Entry {
        /// The entry.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The table that is shipped is damaged.
    #[error("the built-in table of models cannot be read: {0}")]
    BuiltIn(String),
}

/// One field for each provider, so that none can be missing.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Providers {
    openai: ProviderFacts,
    openai_responses: ProviderFacts,
    anthropic: ProviderFacts,
    gemini: ProviderFacts,
    openrouter: ProviderFacts,
    ollama: ProviderFacts,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    provider: Providers,
    models: BTreeMap<String, ModelEntry>,
}

impl Catalogue {
    /// The built-in table, corrected by entries of the same shape under `provider:model`. What an entry leaves out
    /// stays as it is built in.
    pub fn new(overrides: BTreeMap<String, ModelEntry>) -> Result<Self, CatalogueError> {
        let table: Table = toml::from_str(BUILT_IN)
            .map_err(|error| CatalogueError::BuiltIn(error.message().to_owned()))?;
        let catalogue = Self {
            providers: table.provider,
            built_in: under_all_ids(table.models)?,
            overrides: under_all_ids(overrides)?,
        };
        for (name, entry) in &catalogue.overrides {
            entry.check(name, catalogue.known(name).facts().context)?;
        }
        Ok(catalogue)
    }

    /// What a provider needs.
    pub fn provider(&self, provider: Provider) -> &ProviderFacts {
        match provider {
            Provider::OpenAi => &self.providers.openai,
            Provider::OpenAiResponses => &self.providers.openai_responses,
            Provider::Anthropic => &self.providers.anthropic,
            Provider::Gemini => &self.providers.gemini,
            Provider::OpenRouter => &self.providers.openrouter,
            Provider::Ollama => &self.providers.ollama,
        }
    }

    /// What is known of a model at this address. A known id has its facts wherever it is served: whoever serves it
    /// cheaper or dearer than its vendor can be given a price in the configuration. A model without a price that runs on
    /// this machine costs nothing.
    pub fn facts(&self, name: &LiveName, url: &BaseUrl) -> ModelFacts {
        let mut entry = self.known(&key(name.provider, &name.model));
        if let Some(provider) = self.provider(name.provider).models_of {
            entry = entry.or(self.known(&key(provider, &name.model)));
        }
        let mut facts = entry.facts();
        if facts.price.is_none() && url.is_loopback() {
            facts.price = Some(Price::free());
        }
        facts
    }

    /// The ids of a provider's models that have an entry, for lists.
    pub fn models(&self, provider: Provider) -> Vec<&str> {
        let of = self.provider(provider).models_of.unwrap_or(provider);
        let listed = self.built_in.iter().chain(&self.overrides);
        let mut ids: Vec<&str> = listed
            .filter_map(|(name, _)| name.split_once(':'))
            .filter(|(name, _)| [of.as_str(), provider.as_str()].contains(name))
            .map(|(_, id)| id)
            .collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    fn known(&self, name: &str) -> ModelEntry {
        let entry = |table: &BTreeMap<String, ModelEntry>| table.get(name).cloned();
        let overridden = entry(&self.overrides).unwrap_or_default();
        overridden.or(entry(&self.built_in).unwrap_or_default())
    }
}

fn key(provider: Provider, model: &str) -> String {
    format!("{provider}:{model}")
}

/// The entries under their names and under the other ids of the same models.
fn under_all_ids(
    entries: BTreeMap<String, ModelEntry>,
) -> Result<BTreeMap<String, ModelEntry>, CatalogueError> {
    let mut all = BTreeMap::new();
    for (name, mut entry) in entries {
        let problem = |problem: &str| CatalogueError::Name {
            name: name.clone(),
            problem: problem.to_owned(),
        };
        let parsed: crate::ModelName =
            name.parse().map_err(|error: crate::NameError| problem(&error.to_string()))?;
        let crate::ModelName::Live(live) = parsed else {
            return Err(problem("a recording brings its own facts"));
        };
        if live.base_url.is_some() {
            return Err(problem("an entry has no base URL"));
        }
        for id in std::mem::take(&mut entry.also) {
            all.insert(key(live.provider, &id), entry.clone());
        }
        all.insert(name, entry);
    }
    Ok(all)
}

#[cfg(test)]
mod tests;
