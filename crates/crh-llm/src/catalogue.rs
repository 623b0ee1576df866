//! Built-in facts about providers and models (`models.toml`), with overrides from the user's
//! configuration.

mod entry;

use std::collections::BTreeMap;

pub use entry::{LongPrice, ModelEntry, PriceEntry};
use serde::Deserialize;
use thiserror::Error;

use crate::{ContextSource, LiveName, ModelFacts, Price, Provider, Wire};
use crh_http::BaseUrl;

/// Maximum number of suggestions for a mistyped model.
const SIMILAR_MAX: usize = 3;

const BUILT_IN: &str = include_str!("models.toml");

/// Facts about all providers and models.
#[derive(Debug, Clone)]
pub struct ModelCatalogue {
    providers: Providers,
    /// Entries by `provider:model`. A model with aliases has one entry per alias.
    built_in: BTreeMap<String, ModelEntry>,
    overrides: BTreeMap<String, ModelEntry>,
}

/// Facts about a provider.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderFacts {
    /// API of the provider.
    pub wire: Wire,
    /// Default base URL.
    pub base_url: String,
    /// Variable with the API key; `None` if no key is needed.
    pub key: Option<String>,
    /// Variable with a different base URL.
    pub base_url_variable: Option<String>,
    /// Path that is missing in the value of that variable, because the vendor's own clients append
    /// it.
    pub base_url_variable_lacks: Option<String>,
    /// Provider whose model entries also apply here.
    pub models_of: Option<Provider>,
    /// Models for users who name no model.
    pub defaults: Option<DefaultModels>,
}

/// Models of a provider that are used if none is named.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DefaultModels {
    /// Model for reviews.
    pub reviewer: String,
    /// Model for simple tasks.
    pub cheap: String,
    /// Model that checks uncertain findings.
    pub escalation: String,
}

/// Why a model table is invalid.
#[expect(missing_docs, reason = "the message of a variant explains its fields")]
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CatalogueError {
    #[error("`{name}` is not a valid `PROVIDER:MODEL`: {problem}")]
    Name { name: String, problem: String },
    #[error("`{name}`: {problem}")]
    Entry { name: String, problem: String },
    #[error("cannot read the built-in model table: {0}")]
    BuiltIn(String),
}

/// Facts of all providers. There is one field per provider, so that no provider can be missing.
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
struct BuiltInTable {
    provider: Providers,
    models: BTreeMap<String, ModelEntry>,
}

impl ModelCatalogue {
    /// The built-in table with overrides under `provider:model`. Fields that an override omits keep
    /// their built-in value.
    pub fn new(overrides: BTreeMap<String, ModelEntry>) -> Result<Self, CatalogueError> {
        let table: BuiltInTable = toml::from_str(BUILT_IN)
            .map_err(|error| CatalogueError::BuiltIn(error.message().to_owned()))?;
        let catalogue = Self {
            providers: table.provider,
            built_in: index_by_id(table.models)?,
            overrides: index_by_id(overrides)?,
        };
        for (name, entry) in &catalogue.overrides {
            if let Some(other) = entry.same_as.as_ref().filter(|other| !catalogue.knows(other)) {
                return Err(CatalogueError::Entry {
                    name: name.clone(),
                    problem: format!(
                        "`same_as` names `{other}`, which is not in the model table{}",
                        did_you_mean(&catalogue.nearest_models(other))
                    ),
                });
            }
            entry.check(name, catalogue.merged_entry(name).facts().context)?;
        }
        Ok(catalogue)
    }

    /// Facts about a provider.
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

    /// Facts about a model at this base URL. A known model id has the same facts at every server. A
    /// model without a known price is free if its server is on this machine.
    pub fn facts(&self, name: &LiveName, url: &BaseUrl) -> ModelFacts {
        let mut facts = self.entry(name).facts();
        if facts.price.is_none() && url.is_loopback() {
            facts.price = Some(Price::free());
        }
        facts
    }

    /// Origin of the context length of a model.
    pub(crate) fn context_source(&self, name: &LiveName) -> ContextSource {
        let is_configured = |provider: Provider| {
            let entry = self.overrides.get(&model_key(provider, &name.model));
            entry.is_some_and(|entry| entry.context.is_some())
        };
        let table_provider = self.provider(name.provider).models_of;
        if is_configured(name.provider) || table_provider.is_some_and(is_configured) {
            return ContextSource::Configured;
        }
        match self.entry(name).context {
            Some(_) => ContextSource::Table,
            None => ContextSource::Assumed,
        }
    }

    /// The entry of a model. Missing facts come from the entry under the provider in `models_of`.
    fn entry(&self, name: &LiveName) -> ModelEntry {
        let entry = self.merged_entry(&model_key(name.provider, &name.model));
        match self.provider(name.provider).models_of {
            Some(provider) => entry.or(self.merged_entry(&model_key(provider, &name.model))),
            None => entry,
        }
    }

    /// API of a model: from its entry, else from its provider. If the name has a base URL, the
    /// entry's API does not count.
    pub fn wire(&self, name: &LiveName) -> Wire {
        let entry = self.merged_entry(&model_key(name.provider, &name.model));
        let entry_wire = entry.wire.filter(|_| name.base_url.is_none());
        entry_wire.unwrap_or(self.provider(name.provider).wire)
    }

    /// Ids of a provider's known models.
    pub fn models(&self, provider: Provider) -> Vec<&str> {
        let table_provider = self.provider(provider).models_of.unwrap_or(provider);
        let entries = self.built_in.iter().chain(&self.overrides);
        let mut ids: Vec<&str> = entries
            .filter_map(|(name, _)| name.split_once(':'))
            .filter(|(name, _)| [table_provider.as_str(), provider.as_str()].contains(name))
            .map(|(_, id)| id)
            .collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Names of known models that are similar to a name, with or without provider. At most three,
    /// the most similar first.
    pub fn nearest_models(&self, name: &str) -> Vec<String> {
        let (provider, id) = match name.split_once(':') {
            Some((provider, id)) => (Some(provider), id),
            None => (None, name),
        };
        let typed = normalised_id(id);
        let mut similar: Vec<(usize, &str)> = Vec::new();
        for known in self.built_in.keys().chain(self.overrides.keys()) {
            let Some((known_provider, known_id)) = known.split_once(':') else { continue };
            let is_other_provider = provider.is_some_and(|provider| provider != known_provider);
            let known_id = normalised_id(known_id);
            let distance = strsim::damerau_levenshtein(&typed, &known_id);
            // `gpt-5` is short for `gpt-5.4` and others.
            let is_prefix = typed.len() >= 4 && known_id.starts_with(&typed);
            if !is_other_provider && (is_prefix || distance * 5 <= known_id.len()) {
                similar.push((distance, known));
            }
        }
        similar.sort_unstable();
        similar.dedup();
        // If the name is another spelling of a known id, suggest only that id.
        if similar.first().is_some_and(|(distance, _)| *distance == 0) {
            similar.retain(|(distance, _)| *distance == 0);
        }
        similar.into_iter().take(SIMILAR_MAX).map(|(_, known)| known.to_owned()).collect()
    }

    fn knows(&self, name: &str) -> bool {
        self.built_in.contains_key(name) || self.overrides.contains_key(name)
    }

    /// The entry under this name. Missing facts come from the entry that `same_as` names.
    fn merged_entry(&self, name: &str) -> ModelEntry {
        let entry = self.own_entry(name);
        match entry.same_as.clone() {
            Some(other) => entry.or(self.own_entry(&other)),
            None => entry,
        }
    }

    /// The entry under this name: the override, with missing facts from the built-in table.
    fn own_entry(&self, name: &str) -> ModelEntry {
        let entry = |table: &BTreeMap<String, ModelEntry>| table.get(name).cloned();
        let override_entry = entry(&self.overrides).unwrap_or_default();
        override_entry.or(entry(&self.built_in).unwrap_or_default())
    }
}

/// A suggestion for a message, such as ` (did you mean `gpt-5.4`?)`. Empty without names.
pub(crate) fn did_you_mean(names: &[String]) -> String {
    match names {
        [] => String::new(),
        names => {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            format!(" (did you mean {}?)", names.join(" or "))
        }
    }
}

/// A model id in lower case, with `-` for `.` and `_`, because users mix these up.
fn normalised_id(id: &str) -> String {
    id.to_lowercase().replace(['.', '_'], "-")
}

fn model_key(provider: Provider, model: &str) -> String {
    format!("{provider}:{model}")
}

/// Indexes entries by their names and alias ids.
fn index_by_id(
    entries: BTreeMap<String, ModelEntry>,
) -> Result<BTreeMap<String, ModelEntry>, CatalogueError> {
    let mut index = BTreeMap::new();
    for (name, mut entry) in entries {
        let name_error = |problem: &str| CatalogueError::Name {
            name: name.clone(),
            problem: problem.to_owned(),
        };
        let model_name: crate::ModelName =
            name.parse().map_err(|error: crate::ModelNameError| name_error(&error.to_string()))?;
        let crate::ModelName::Live(live) = model_name else {
            return Err(name_error("entries for recordings are not allowed"));
        };
        if live.base_url.is_some() {
            return Err(name_error("remove the base URL"));
        }
        for id in std::mem::take(&mut entry.aliases) {
            index.insert(model_key(live.provider, &id), entry.clone());
        }
        index.insert(name, entry);
    }
    Ok(index)
}

#[cfg(test)]
mod tests;
