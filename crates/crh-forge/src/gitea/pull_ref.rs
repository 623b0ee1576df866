//! Reference to a pull request of Gitea or Forgejo: its address.

use thiserror::Error;

use super::host;
use crate::rest::{RestHost, RestHostError, is_repository_path, parse_number};

/// A pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GiteaPullRef {
    /// The server.
    pub host: RestHost,
    /// `owner/name`.
    pub repository: String,
    /// Number.
    pub number: u64,
}

/// Why a text is no pull request.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GiteaPullRefError {
    /// Unknown form.
    #[error(
        "not a pull request: expected an address such as `https://codeberg.org/owner/name/pulls/12`"
    )]
    UnknownForm,
    /// Bad server address.
    #[error(transparent)]
    Host(#[from] RestHostError),
}

impl GiteaPullRef {
    /// Parses the address of a pull request. `default` is the configured server, which may be below
    /// a path.
    pub fn parse(url: &str, default: Option<&RestHost>) -> Result<Self, GiteaPullRefError> {
        let url = url.split(['?', '#']).next().unwrap_or_default();
        let (repository_url, rest) =
            url.split_once("/pulls/").ok_or(GiteaPullRefError::UnknownForm)?;
        let number = rest.split('/').next().and_then(parse_number);
        let number = number.ok_or(GiteaPullRefError::UnknownForm)?;
        let own = default.and_then(|host| Some((host.clone(), host.path(repository_url)?)));
        let (host, repository) = match own {
            Some(own) => own,
            None => {
                let (scheme, rest) =
                    repository_url.split_once("://").ok_or(GiteaPullRefError::UnknownForm)?;
                let (authority, path) =
                    rest.split_once('/').ok_or(GiteaPullRefError::UnknownForm)?;
                (host(&format!("{scheme}://{authority}"))?, path)
            }
        };
        let is_pair = repository.split('/').count() == 2 && is_repository_path(repository);
        match is_pair {
            true => Ok(Self { host, repository: repository.to_owned(), number }),
            false => Err(GiteaPullRefError::UnknownForm),
        }
    }

    /// Web address.
    pub fn url(&self) -> String {
        format!("{}/{}/pulls/{}", self.host.web(), self.repository, self.number)
    }

    /// Address to fetch a repository from with git.
    pub fn git_url(&self, repository: &str) -> String {
        format!("{}/{repository}.git", self.host.web())
    }

    /// Owner of the repository.
    pub(super) fn owner(&self) -> &str {
        self.repository.split('/').next().unwrap_or_default()
    }

    /// Path of the repository in the API.
    pub(super) fn repository_path(&self) -> String {
        format!("/repos/{}", self.repository)
    }

    /// Path of the pull request in the API.
    pub(super) fn api_path(&self) -> String {
        format!("{}/pulls/{}", self.repository_path(), self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed() {
        let below_path = host("https://forge.example/gitea").unwrap();
        for (url, expected) in [
            ("https://codeberg.org/ann/shop/pulls/12/files#x", Some("codeberg.org ann/shop 12")),
            (
                "https://forge.example/gitea/ann/shop/pulls/1",
                Some("forge.example/gitea ann/shop 1"),
            ),
            ("https://codeberg.org/ann/shop/pull/12", None),
            ("https://codeberg.org/ann/pulls/12", None),
            ("http://codeberg.org/ann/shop/pulls/12", None),
            ("https://codeberg.org/ann/shop/pulls/x", None),
        ] {
            let parsed = GiteaPullRef::parse(url, Some(&below_path)).ok();
            let parsed =
                parsed.map(|it| format!("{} {} {}", it.host.name(), it.repository, it.number));
            assert_eq!(parsed.as_deref(), expected, "{url}");
        }
    }
}
