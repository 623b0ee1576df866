//! Which key goes to which host: each to its own and nowhere else.
//!
//! A provider's key is sent to the provider's own origin, or to the origin that the provider's own `*_BASE_URL` names.
//! Any other place gets the key that the user's configuration names for it, or none. Nothing here reads the
//! environment: variables come in as values.

use std::collections::BTreeMap;
use std::fmt;

use secrecy::{ExposeSecret, SecretString};

use crate::{Catalogue, LiveName, Provider, ResolveError};
use crh_http::BaseUrl;

/// What the user has set: variables, and which of them is the key for which other server.
#[derive(Clone, Default)]
pub struct Surroundings {
    variables: BTreeMap<String, SecretString>,
    keys: BTreeMap<String, String>,
}

impl Surroundings {
    /// Variables by their names, and the names of variables by origin (`https://gateway.example`). Variables that are
    /// empty count as not set; white space around a value is no part of it.
    pub fn new(
        variables: BTreeMap<String, SecretString>,
        keys: BTreeMap<String, String>,
    ) -> Result<Self, ResolveError> {
        let keys = keys.into_iter().map(|(origin, variable)| match origin.parse::<BaseUrl>() {
            Ok(url) if url.is_origin() => Ok((url.origin(), variable)),
            Ok(_) | Err(_) => Err(ResolveError::BadOrigin { variable }),
        });
        Ok(Self { variables, keys: keys.collect::<Result<_, _>>()? })
    }

    /// The variables that may matter, so that a caller knows what to read.
    pub fn variables_of_interest<'a>(
        catalogue: &'a Catalogue,
        keys: &'a BTreeMap<String, String>,
    ) -> Vec<&'a str> {
        let own = Provider::ALL.into_iter().flat_map(|provider| {
            let facts = catalogue.provider(provider);
            [facts.key.as_deref(), facts.base_url_variable.as_deref()].into_iter().flatten()
        });
        let mut names: Vec<&str> = own.chain(keys.values().map(String::as_str)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Every key that is set, for redaction.
    pub fn secrets<'a>(&'a self, catalogue: &'a Catalogue) -> impl Iterator<Item = SecretString> {
        let own = Provider::ALL.into_iter().filter_map(|p| catalogue.provider(p).key.as_deref());
        own.chain(self.keys.values().map(String::as_str)).filter_map(|name| self.variable(name))
    }

    /// Whether a provider's own key is set.
    pub fn has_key(&self, catalogue: &Catalogue, provider: Provider) -> bool {
        let key = catalogue.provider(provider).key.as_deref();
        key.is_some_and(|variable| self.variable(variable).is_some())
    }

    /// Where a provider's models are asked: where its variable says, else at the provider's own.
    pub fn base_url(
        &self,
        catalogue: &Catalogue,
        provider: Provider,
    ) -> Result<BaseUrl, ResolveError> {
        match self.url_of_variable(catalogue, provider)? {
            Some(url) => Ok(url),
            None => default_url(catalogue, provider),
        }
    }

    /// Where a model is asked: where its name says, else where the variable says, else at the provider's.
    pub(crate) fn url(
        &self,
        catalogue: &Catalogue,
        name: &LiveName,
    ) -> Result<BaseUrl, ResolveError> {
        match &name.base_url {
            Some(url) => Ok(url.clone()),
            None => self.base_url(catalogue, name.provider),
        }
    }

    /// The key for a model at this address; none where no key belongs.
    pub(crate) fn key(
        &self,
        catalogue: &Catalogue,
        provider: Provider,
        url: &BaseUrl,
    ) -> Result<Option<SecretString>, ResolveError> {
        let origin = url.origin();
        if let Some(variable) = self.keys.get(&origin) {
            let missing = || ResolveError::MissingKey { variable: variable.clone(), origin };
            return self.variable(variable).ok_or_else(missing).map(Some);
        }
        let Some(variable) = catalogue.provider(provider).key.as_deref() else { return Ok(None) };
        if origin == default_url(catalogue, provider)?.origin() {
            let missing = || ResolveError::MissingKey { variable: variable.to_owned(), origin };
            return self.variable(variable).ok_or_else(missing).map(Some);
        }
        // A server of one's own may need no key.
        let own = self.url_of_variable(catalogue, provider)?;
        let is_own = own.is_some_and(|own| own.origin() == origin);
        Ok(is_own.then(|| self.variable(variable)).flatten())
    }

    fn url_of_variable(
        &self,
        catalogue: &Catalogue,
        provider: Provider,
    ) -> Result<Option<BaseUrl>, ResolveError> {
        let facts = catalogue.provider(provider);
        let Some(variable) = facts.base_url_variable.as_deref() else { return Ok(None) };
        let Some(value) = self.variable(variable) else { return Ok(None) };
        let bad = |problem| ResolveError::BadBaseUrl { variable: variable.to_owned(), problem };
        let url: BaseUrl = value.expose_secret().parse().map_err(bad)?;
        let Some(path) = facts.base_url_variable_lacks.as_deref() else { return Ok(Some(url)) };
        if url.as_str().ends_with(path) {
            return Ok(Some(url));
        }
        format!("{url}{path}").parse().map(Some).map_err(bad)
    }

    fn variable(&self, name: &str) -> Option<SecretString> {
        let value = self.variables.get(name)?.expose_secret().trim();
        (!value.is_empty()).then(|| SecretString::from(value))
    }
}

impl fmt::Debug for Surroundings {
    /// Names which variables there are, never what is in them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings")
            .field("variables", &self.variables.keys())
            .field("keys", &self.keys)
            .finish()
    }
}

fn default_url(catalogue: &Catalogue, provider: Provider) -> Result<BaseUrl, ResolveError> {
    let parsed = catalogue.provider(provider).base_url.parse();
    parsed.map_err(|problem| ResolveError::BadBaseUrl { variable: provider.to_string(), problem })
}
