//! Names of models as people type them: `PROVIDER:MODEL[@BASE_URL]`, or `replay:FILE` for a recording.

use std::fmt;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::str::FromStr;

use thiserror::Error;

use crate::Provider;
use crh_http::{BadUrl, BaseUrl};

/// The word that asks for a recording instead of a vendor.
const REPLAY: &str = "replay";

/// What people name when they choose a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelName {
    /// A vendor's model.
    Live(LiveName),
    /// The cassette in this file.
    Replay(PathBuf),
}

/// A vendor's model and where it is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveName {
    /// Who serves it.
    pub provider: Provider,
    /// Its id, exactly as the vendor writes it; colons and `@` may be part of it.
    pub model: String,
    /// Where, if not at the provider's usual place.
    pub base_url: Option<BaseUrl>,
}

/// A text that names no model. The address is never repeated: it may carry a password.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NameError {
    /// There is no colon.
    #[error("`{name}` names no provider: write `PROVIDER:MODEL`, with one of {}", known())]
    NoProvider {
        /// What was typed.
        name: String,
    },
    /// Nobody is called that.
    #[error("there is no provider `{provider}`{}; known are {}", meant(.nearest.as_deref()), known())]
    UnknownProvider {
        /// What was typed in front of the colon.
        provider: String,
        /// What may have been meant.
        nearest: Option<String>,
    },
    /// Nothing stands behind the colon.
    #[error("`{provider}:` names no model: write its id behind the colon")]
    EmptyModel {
        /// The provider.
        provider: Provider,
    },
    /// No id has white space or control characters.
    #[error("the id of a model of `{provider}` has a character that no id has: {character:?}")]
    BadModel {
        /// The provider.
        provider: Provider,
        /// The character.
        character: char,
    },
    /// An address without a scheme would be sent as a part of the id.
    #[error(
        "what stands behind an `@` in the model of `{provider}` looks like an address: it must begin with `http://` or `https://`"
    )]
    AddressInModel {
        /// The provider.
        provider: Provider,
    },
    /// What stands behind the `@` is no base address.
    #[error("the base URL {0}")]
    BadUrl(#[from] BadUrl),
    /// `replay:` without a file.
    #[error("`replay:` names no file: write the path of a cassette behind the colon")]
    EmptyPath,
}

impl FromStr for ModelName {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Self, NameError> {
        let Some((provider, rest)) = name.split_once(':') else {
            return Err(NameError::NoProvider { name: name.to_owned() });
        };
        if provider == REPLAY {
            return match rest {
                "" => Err(NameError::EmptyPath),
                path => Ok(Self::Replay(PathBuf::from(path))),
            };
        }
        let Some(provider) = Provider::named(provider) else {
            let nearest = nearest(provider).map(str::to_owned);
            return Err(NameError::UnknownProvider { provider: provider.to_owned(), nearest });
        };
        live(provider, rest).map(Self::Live)
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

fn live(provider: Provider, rest: &str) -> Result<LiveName, NameError> {
    let (model, url) = match base_url_at(rest) {
        Some(at) => (&rest[..at], Some(&rest[at + 1..])),
        None => (rest, None),
    };
    if model.is_empty() {
        return Err(NameError::EmptyModel { provider });
    }
    if let Some(character) = model.chars().find(|c| c.is_whitespace() || c.is_control()) {
        return Err(NameError::BadModel { provider, character });
    }
    if model.match_indices('@').any(|(at, _)| looks_like_address(&model[at + 1..])) {
        return Err(NameError::AddressInModel { provider });
    }
    let base_url = url.map(str::parse).transpose()?;
    Ok(LiveName { provider, model: model.to_owned(), base_url })
}

/// The place of the `@` in front of an address. Ids may have one too (`claude-x@20250929`), without an address behind.
fn base_url_at(rest: &str) -> Option<usize> {
    let is_url = |text: &str| {
        ["http://", "https://"].iter().any(|scheme| {
            text.get(..scheme.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme))
        })
    };
    rest.match_indices('@').map(|(at, _)| at).find(|at| is_url(&rest[at + 1..]))
}

/// Whether a text is meant as an address: it has a scheme or a port, or what stands before its first slash is a name of
/// a host with a letter behind its last dot, an IP address or `localhost`. Ids have none of these behind an `@`
/// (`claude-x@20250929`, `@cf/meta/llama-3.1`).
fn looks_like_address(text: &str) -> bool {
    let host = text.split(['/', '?', '#']).next().unwrap_or(text);
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| {
        !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
    });
    let is_name = host
        .rsplit_once('.')
        .is_some_and(|(_, last)| last.starts_with(|first: char| first.is_alphabetic()));
    text.contains("://")
        || has_port
        || is_name
        || host.starts_with('[')
        || host.parse::<Ipv4Addr>().is_ok()
        || host.eq_ignore_ascii_case("localhost")
}

fn known() -> String {
    let names = Provider::ALL.map(Provider::as_str);
    names.iter().chain(&[REPLAY]).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn meant(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| format!(" (did you mean `{nearest}`?)"))
}

/// The name that needs the fewest changes, if they leave half of it as it was.
fn nearest(provider: &str) -> Option<&'static str> {
    let typed = provider.to_lowercase();
    let names = Provider::ALL.into_iter().map(Provider::as_str).chain([REPLAY]);
    let distance = |name: &&str| strsim::damerau_levenshtein(&typed, name);
    let nearest = names.min_by_key(distance)?;
    (distance(&nearest) * 2 <= nearest.len()).then_some(nearest)
}

#[cfg(test)]
mod tests;
