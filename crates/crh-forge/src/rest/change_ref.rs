//! Reference to a change on a forge with a plain REST API: its address, or a shorter name.

use thiserror::Error;

use super::{RestForge, RestHost, RestHostError, RestProfile, parse_number};

/// A change.
#[derive(Debug, Clone)]
pub struct RestChangeRef {
    /// The forge.
    pub forge: &'static dyn RestForge,
    /// The server.
    pub host: RestHost,
    /// Path of the target repository, with all groups.
    pub repository: String,
    /// Number.
    pub number: u64,
}

/// Why a text names no change.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RestChangeRefError {
    /// Unknown form.
    #[error("not a {word}: expected {forms}")]
    UnknownForm {
        /// What the forge calls a change.
        word: &'static str,
        /// Known forms.
        forms: &'static str,
    },
    /// A number without a repository, outside a clone.
    #[error("`{text}` needs a clone of a {forge} project")]
    NoClone {
        /// The text.
        text: String,
        /// The forge.
        forge: &'static str,
    },
    /// Bad server address.
    #[error(transparent)]
    Host(#[from] RestHostError),
}

/// Whether a text names a change of this forge. A plain number does not, because it may be of any
/// forge: the caller takes the forge of the clone.
pub fn is_rest_reference(forge: &dyn RestForge, text: &str) -> bool {
    match text.contains("://") {
        true => text.contains(forge.rest_profile().web_mark),
        false => forge.split_short_name(text).is_some(),
    }
}

impl RestChangeRef {
    /// Parses a reference. `default` is the configured server, which may be below a path; `clone`
    /// is the repository of the current folder with its server.
    pub fn parse(
        forge: &'static dyn RestForge,
        text: &str,
        default: Option<&RestHost>,
        clone: Option<&(RestHost, String)>,
    ) -> Result<Self, RestChangeRefError> {
        let found = match text.contains("://") {
            true => split_url(forge.rest_profile(), text, default).transpose()?,
            false => split_name(forge, text, default, clone).transpose()?,
        };
        let found = found.filter(|(_, repository, _)| forge.is_repository(repository));
        let (host, repository, number) = found.ok_or(RestChangeRefError::UnknownForm {
            word: forge.name().word(),
            forms: forge.rest_profile().reference_forms,
        })?;
        Ok(Self { forge, host, repository, number })
    }

    /// Web address.
    pub fn url(&self) -> String {
        let mark = self.forge.rest_profile().web_mark;
        format!("{}/{}{mark}{}", self.host.web(), self.repository, self.number)
    }

    /// Address to fetch a repository from with git.
    pub fn git_url(&self, repository: &str) -> String {
        format!("{}/{repository}.git", self.host.web())
    }

    /// The ref of the target repository with the commits of the change.
    pub fn head_ref(&self) -> String {
        format!("{}/{}/head", self.forge.rest_profile().head_refs, self.number)
    }

    /// Path of the repository in the API.
    pub(crate) fn repository_path(&self) -> String {
        self.forge.repository_path(&self.repository)
    }

    /// Path in the API.
    pub fn api_path(&self) -> String {
        let mark = self.forge.rest_profile().api_mark;
        format!("{}{mark}{}", self.repository_path(), self.number)
    }
}

/// Server, repository and number.
type ChangeParts = (RestHost, String, u64);

/// Splits an address. `None` if it is not the address of a change.
fn split_url(
    profile: &RestProfile,
    url: &str,
    default: Option<&RestHost>,
) -> Option<Result<ChangeParts, RestHostError>> {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let (repository_url, rest) = url.split_once(profile.web_mark)?;
    let number = rest.split('/').next().and_then(parse_number)?;
    if let Some((host, path)) = default.and_then(|it| Some((it, it.path(repository_url)?))) {
        return Some(Ok((host.clone(), path.to_owned(), number)));
    }
    // Another server: only a configured one can be below a path.
    let (scheme, rest) = repository_url.split_once("://")?;
    let (authority, path) = rest.split_once('/')?;
    let host = profile.host(&format!("{scheme}://{authority}"));
    Some(host.map(|host| (host, path.to_owned(), number)))
}

/// Splits a short name, such as `GROUP/NAME!12`. `None` if the text is none.
fn split_name(
    forge: &dyn RestForge,
    text: &str,
    default: Option<&RestHost>,
    clone: Option<&(RestHost, String)>,
) -> Option<Result<ChangeParts, RestChangeRefError>> {
    let (path, number) = forge.split_short_name(text)?;
    Some(match (path, clone) {
        ("", Some((host, repository))) => Ok((host.clone(), repository.clone(), number)),
        ("", None) => {
            let (text, forge) = (text.to_owned(), forge.profile().name);
            Err(RestChangeRefError::NoClone { text, forge })
        }
        (path, _) => Ok((default?.clone(), path.to_owned(), number)),
    })
}
