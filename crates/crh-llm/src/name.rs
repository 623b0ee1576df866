//! Model names as users type them: `PROVIDER:MODEL[@BASE_URL]`, or `replay:FILE` for a recording.

use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::str::FromStr;

use thiserror::Error;

use crate::catalogue::did_you_mean;
use crate::{ModelCatalogue, Provider};
use crh_http::{BaseUrl, BaseUrlError};

/// Prefix of a name that refers to a recording.
const REPLAY: &str = "replay";

/// A parsed model name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelName {
    /// A model at a vendor.
    Live(LiveName),
    /// A recording in this file.
    Replay(PathBuf),
}

/// A model at a vendor or compatible server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveName {
    /// The provider.
    pub provider: Provider,
    /// Model id as the vendor writes it. It may contain colons and `@`.
    pub model: String,
    /// Base URL, if not the provider's default.
    pub base_url: Option<BaseUrl>,
}

/// Why a model name is invalid. Base URLs are not repeated because they may contain a password.
#[expect(missing_docs, reason = "the message of a variant explains its fields")]
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ModelNameError {
    #[error("`{name}` has no `PROVIDER:` before the model{}; the providers are {}", did_you_mean(.similar), provider_list())]
    NoProvider { name: String, similar: Vec<String> },
    #[error("unknown provider `{provider}`{}; available: {}", suggestion(.nearest.as_deref()), provider_list())]
    UnknownProvider { provider: String, nearest: Option<String> },
    #[error("`{provider}:` has no model; write the model id after the colon")]
    EmptyModel { provider: Provider },
    #[error("the model id for `{provider}` contains an invalid character: {character:?}")]
    BadModel { provider: Provider, character: char },
    /// A base URL without a scheme, which would otherwise become part of the model id.
    #[error(
        "the part after `@` in the model id for `{provider}` must be a URL that starts with `http://` or `https://`"
    )]
    AddressInModel { provider: Provider },
    #[error("the base URL {0}")]
    BadUrl(#[from] BaseUrlError),
    #[error("`replay:` has no file; write the path of a recording after the colon")]
    EmptyPath,
}

impl FromStr for ModelName {
    type Err = ModelNameError;

    fn from_str(name: &str) -> Result<Self, ModelNameError> {
        let Some((provider, rest)) = name.split_once(':') else {
            let catalogue = ModelCatalogue::new(BTreeMap::new());
            let similar = catalogue.map(|catalogue| catalogue.nearest_models(name));
            let (name, similar) = (name.to_owned(), similar.unwrap_or_default());
            return Err(ModelNameError::NoProvider { name, similar });
        };
        if provider == REPLAY {
            return match rest {
                "" => Err(ModelNameError::EmptyPath),
                path => Ok(Self::Replay(PathBuf::from(path))),
            };
        }
        let Some(provider) = Provider::from_name(provider) else {
            let nearest = nearest_name(provider).map(str::to_owned);
            return Err(ModelNameError::UnknownProvider { provider: provider.to_owned(), nearest });
        };
        parse_live(provider, rest).map(Self::Live)
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Live(name) => name.fmt(f),
            Self::Replay(path) => write!(f, "{REPLAY}:{}", path.display()),
        }
    }
}

impl fmt::Display for LiveName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.provider, self.model)?;
        match &self.base_url {
            Some(url) => write!(f, "@{url}"),
            None => Ok(()),
        }
    }
}

fn parse_live(provider: Provider, rest: &str) -> Result<LiveName, ModelNameError> {
    let (model, url) = match base_url_at(rest) {
        Some(position) => (&rest[..position], Some(&rest[position + 1..])),
        None => (rest, None),
    };
    if model.is_empty() {
        return Err(ModelNameError::EmptyModel { provider });
    }
    if let Some(character) = model.chars().find(|c| c.is_whitespace() || c.is_control()) {
        return Err(ModelNameError::BadModel { provider, character });
    }
    let mut at_signs = model.match_indices('@').map(|(position, _)| position);
    if at_signs.any(|position| is_mistyped_address(&model[..position], &model[position + 1..])) {
        return Err(ModelNameError::AddressInModel { provider });
    }
    let base_url = url.map(str::parse).transpose()?;
    Ok(LiveName { provider, model: model.to_owned(), base_url })
}

/// Position of the `@` before a base URL. Model ids may contain an `@` too (`claude-x@20250929`).
fn base_url_at(rest: &str) -> Option<usize> {
    let is_url = |text: &str| {
        ["http://", "https://"].iter().any(|scheme| {
            text.get(..scheme.len()).is_some_and(|prefix| prefix.eq_ignore_ascii_case(scheme))
        })
    };
    rest.match_indices('@')
        .map(|(position, _)| position)
        .find(|position| is_url(&rest[position + 1..]))
}

/// Whether the text after an `@` is an address without a scheme. Model ids have only a version
/// there (`claude-x@20250929`, `gemini-x@default`), or start with the `@` (`@cf/meta/llama-3.1`).
fn is_mistyped_address(before: &str, after: &str) -> bool {
    let version = after.strip_prefix('v').unwrap_or(after);
    let is_version = version.starts_with(|first: char| first.is_ascii_digit())
        || matches!(after, "default" | "latest");
    let is_address = after.contains("://")
        || after.contains('/')
        || after.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok())
        || after.parse::<Ipv4Addr>().is_ok();
    !before.is_empty() && (is_address || !is_version)
}

fn provider_list() -> String {
    let names = Provider::ALL.map(Provider::as_str);
    names.iter().chain(&[REPLAY]).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| format!(" (did you mean `{nearest}`?)"))
}

/// The provider name that is most similar to the typed one, if at least half of its letters match.
fn nearest_name(provider: &str) -> Option<&'static str> {
    let lowercase_name = provider.to_lowercase();
    let names = Provider::ALL.into_iter().map(Provider::as_str).chain([REPLAY]);
    let distance = |name: &&str| strsim::damerau_levenshtein(&lowercase_name, name);
    let nearest = names.min_by_key(distance)?;
    (distance(&nearest) * 2 <= nearest.len()).then_some(nearest)
}

#[cfg(test)]
mod tests;
