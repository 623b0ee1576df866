//! Selects the API key for a host. A key is never sent to another host.
//!
//! If the user's configuration assigns a key to an origin, that origin gets this key. Otherwise a
//! provider's key goes to the provider's own origin and to the origin in its `*_BASE_URL` variable,
//! and other origins get none. This module does not read the environment; callers pass variables as
//! values.

use std::collections::BTreeMap;
use std::fmt;

use secrecy::{ExposeSecret, SecretString};

use crate::{LiveName, ModelCatalogue, Provider, ResolveError};
use crh_http::BaseUrl;

/// Environment variables, and the key variable of each additional origin.
#[derive(Clone, Default)]
pub struct ModelEnvironment {
    variables: BTreeMap<String, SecretString>,
    key_variables: BTreeMap<String, String>,
    /// Variables with the values of further headers, by origin and header.
    header_variables: HeaderVariables,
}

/// Names of variables that hold the values of headers, by origin and name of the header.
pub type HeaderVariables = BTreeMap<String, BTreeMap<String, String>>;

impl ModelEnvironment {
    /// Creates the environment. `keys` maps origins (`https://gateway.example`) to names of
    /// variables that hold the key. Empty variables count as unset, and values are trimmed.
    pub fn new(
        variables: BTreeMap<String, SecretString>,
        keys: BTreeMap<String, String>,
    ) -> Result<Self, ResolveError> {
        let keys = keys.into_iter().map(|(origin, variable)| match parse_origin(&origin) {
            Some(origin) => Ok((origin, variable)),
            None => Err(ResolveError::BadOrigin { setting: "model.keys", variable }),
        });
        let key_variables = keys.collect::<Result<_, _>>()?;
        Ok(Self { variables, key_variables, header_variables: BTreeMap::new() })
    }

    /// Sets headers for requests to some origins.
    pub fn with_headers(self, headers: HeaderVariables) -> Result<Self, ResolveError> {
        let headers = headers.into_iter().map(|(origin, by_name)| match parse_origin(&origin) {
            Some(origin) => Ok((origin, by_name)),
            None => Err(ResolveError::BadOrigin {
                setting: "model.headers",
                variable: by_name.into_values().next().unwrap_or_default(),
            }),
        });
        Ok(Self { header_variables: headers.collect::<Result<_, _>>()?, ..self })
    }

    /// Names of the variables with keys and base URLs. Callers read these, and those of headers.
    pub fn relevant_variables<'a>(
        catalogue: &'a ModelCatalogue,
        keys: &'a BTreeMap<String, String>,
    ) -> Vec<&'a str> {
        let provider_variables = Provider::ALL.into_iter().flat_map(|provider| {
            let facts = catalogue.provider(provider);
            [facts.key.as_deref(), facts.base_url_variable.as_deref()].into_iter().flatten()
        });
        let mut names: Vec<&str> =
            provider_variables.chain(keys.values().map(String::as_str)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// All keys and header values that are set, for redaction.
    pub fn secrets<'a>(
        &'a self,
        catalogue: &'a ModelCatalogue,
    ) -> impl Iterator<Item = SecretString> {
        let provider_keys =
            Provider::ALL.into_iter().filter_map(|p| catalogue.provider(p).key.as_deref());
        let headers = self.header_variables.values().flat_map(BTreeMap::values);
        provider_keys
            .chain(self.key_variables.values().map(String::as_str))
            .chain(headers.map(String::as_str))
            .filter_map(|name| self.variable(name))
    }

    /// Whether a provider's own key is set.
    pub fn has_key(&self, catalogue: &ModelCatalogue, provider: Provider) -> bool {
        let key = catalogue.provider(provider).key.as_deref();
        key.is_some_and(|variable| self.variable(variable).is_some())
    }

    /// Base URL of a provider: from its variable, or else the default.
    pub fn base_url(
        &self,
        catalogue: &ModelCatalogue,
        provider: Provider,
    ) -> Result<BaseUrl, ResolveError> {
        match self.variable_url(catalogue, provider)? {
            Some(url) => Ok(url),
            None => default_url(catalogue, provider),
        }
    }

    /// Base URL of a model: from its name, or else the provider's base URL.
    pub(crate) fn url(
        &self,
        catalogue: &ModelCatalogue,
        name: &LiveName,
    ) -> Result<BaseUrl, ResolveError> {
        match &name.base_url {
            Some(url) => Ok(url.clone()),
            None => self.base_url(catalogue, name.provider),
        }
    }

    /// Key for a base URL; `None` if no key belongs to its origin. A required key that is not set
    /// is an error.
    pub(crate) fn key(
        &self,
        catalogue: &ModelCatalogue,
        provider: Provider,
        url: &BaseUrl,
    ) -> Result<Option<SecretString>, ResolveError> {
        let origin = url.origin();
        let provider_key = catalogue.provider(provider).key.as_ref();
        let required_key = match self.key_variables.get(&origin) {
            Some(variable) => Some(variable),
            None if origin == default_url(catalogue, provider)?.origin() => provider_key,
            None => None,
        };
        if let Some(variable) = required_key {
            let missing_key = || ResolveError::MissingKey { variable: variable.clone(), origin };
            return self.variable(variable).ok_or_else(missing_key).map(Some);
        }
        let Some(provider_key) = provider_key else { return Ok(None) };
        // The origin in the provider's `*_BASE_URL` variable gets the key if one is set. A
        // self-hosted server may need none.
        let variable_url = self.variable_url(catalogue, provider)?;
        let is_variable_origin = variable_url.is_some_and(|url| url.origin() == origin);
        Ok(is_variable_origin.then(|| self.variable(provider_key)).flatten())
    }

    /// Further headers for a base URL.
    pub(crate) fn headers(
        &self,
        url: &BaseUrl,
    ) -> Result<Vec<(String, SecretString)>, ResolveError> {
        let origin = url.origin();
        let headers = self.header_variables.get(&origin).into_iter().flatten();
        headers
            .map(|(name, variable)| {
                let value = self.variable(variable).ok_or_else(|| ResolveError::MissingHeader {
                    variable: variable.clone(),
                    origin: origin.clone(),
                })?;
                Ok((name.to_ascii_lowercase(), value))
            })
            .collect()
    }

    fn variable_url(
        &self,
        catalogue: &ModelCatalogue,
        provider: Provider,
    ) -> Result<Option<BaseUrl>, ResolveError> {
        let facts = catalogue.provider(provider);
        let Some(variable) = facts.base_url_variable.as_deref() else { return Ok(None) };
        let Some(value) = self.variable(variable) else { return Ok(None) };
        let bad_base_url =
            |problem| ResolveError::BadBaseUrl { variable: variable.to_owned(), problem };
        let url: BaseUrl = value.expose_secret().parse().map_err(bad_base_url)?;
        let Some(path) = facts.base_url_variable_lacks.as_deref() else { return Ok(Some(url)) };
        if url.as_str().ends_with(path) {
            return Ok(Some(url));
        }
        format!("{url}{path}").parse().map(Some).map_err(bad_base_url)
    }

    fn variable(&self, name: &str) -> Option<SecretString> {
        let value = self.variables.get(name)?.expose_secret().trim();
        (!value.is_empty()).then(|| SecretString::from(value))
    }
}

impl fmt::Debug for ModelEnvironment {
    /// Lists variable names, never values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelEnvironment")
            .field("variables", &self.variables.keys())
            .field("keys", &self.key_variables)
            .finish()
    }
}

fn parse_origin(text: &str) -> Option<String> {
    text.parse().ok().filter(BaseUrl::is_origin).map(|url| url.origin())
}

fn default_url(catalogue: &ModelCatalogue, provider: Provider) -> Result<BaseUrl, ResolveError> {
    let url = catalogue.provider(provider).base_url.parse();
    url.map_err(|problem| ResolveError::BadBaseUrl { variable: provider.to_string(), problem })
}
