//! Parses references to pull requests: addresses, `owner/name#12` and plain numbers.

use std::fmt;

use thiserror::Error;

use super::{GitHubHost, GitHubHostError};

/// Longest name of an owner or a repository, in bytes. GitHub allows 39 for owners and 100 for
/// repositories.
const NAME_MAX: usize = 100;

/// `owner/name` of a repository. Both names have only characters that need no escaping in an
/// address.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Repo {
    owner: String,
    name: String,
}

/// A pull request on a GitHub server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequestRef {
    /// The GitHub server.
    pub host: GitHubHost,
    /// Target repository.
    pub repo: Repo,
    /// Number.
    pub number: u64,
}

/// Why a text is not a reference to a pull request. Messages repeat typed text only if it cannot be
/// a secret.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PullRequestRefError {
    /// No known form.
    #[error(
        "not a pull request: expected `https://github.com/owner/name/pull/12`, `owner/name#12` or `12`"
    )]
    UnknownForm,
    /// Not a valid number.
    #[error("`{text}` is not a pull request number")]
    Number {
        /// The text in place of a number.
        text: String,
    },
    /// A bare number outside a clone.
    #[error(
        "`{number}` works only in a clone of a GitHub repository; elsewhere use `owner/name#{number}`"
    )]
    NoRepository {
        /// The number.
        number: u64,
    },
    /// The address has no valid `owner/name`.
    #[error("the address has no repository (`owner/name`)")]
    Repository,
    /// The address of another page.
    #[error("this is the address of {article} {kind}, not of a GitHub pull request, which ends in `/pull/NUMBER`", article = article(kind))]
    NotAPull {
        /// Kind of the page.
        kind: &'static str,
    },
    /// Not the address of a GitHub server.
    #[error(transparent)]
    Host(#[from] GitHubHostError),
}

impl Repo {
    /// Parses `owner/name`.
    pub fn parse(text: &str) -> Option<Self> {
        let (owner, name) = text.split_once('/')?;
        Self::new(owner, name)
    }

    /// Returns `None` if GitHub does not allow these names.
    pub fn new(owner: &str, name: &str) -> Option<Self> {
        (is_name(owner) && is_name(name))
            .then(|| Self { owner: owner.to_owned(), name: name.to_owned() })
    }

    /// The owner.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// The name without the owner.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for Repo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

impl PullRequestRef {
    /// Parses an address, `owner/name#12`, or, in a clone of `clone_repo`, `12` or `#12`.
    /// References without an address belong to the default host. If an address has the origin of
    /// the default host, the result is the default host itself, because its API addresses may be
    /// configured.
    pub fn parse(
        text: &str,
        default_host: &GitHubHost,
        clone_repo: Option<&Repo>,
    ) -> Result<Self, PullRequestRefError> {
        let text = text.trim();
        if let Some((scheme @ ("http" | "https"), rest)) = text.split_once("://") {
            return parse_address(scheme, rest, default_host);
        }
        let (repo, number) = text.split_once('#').unwrap_or(("", text));
        let number = match (repo, number) {
            ("", number) if is_digits(number) => parse_number(number)?,
            ("", _) => return Err(PullRequestRefError::UnknownForm),
            (_, number) => parse_number(number)?,
        };
        let repo = match repo {
            "" => clone_repo.cloned().ok_or(PullRequestRefError::NoRepository { number })?,
            name => Repo::parse(name).ok_or(PullRequestRefError::UnknownForm)?,
        };
        Ok(Self { host: default_host.clone(), repo, number })
    }

    /// Web address.
    pub fn url(&self) -> String {
        format!("{}/{}/pull/{}", self.host.server(), self.repo, self.number)
    }
}

impl fmt::Display for PullRequestRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.repo, self.number)
    }
}

fn parse_address(
    scheme: &str,
    rest: &str,
    default_host: &GitHubHost,
) -> Result<PullRequestRef, PullRequestRefError> {
    let path = rest.split(['?', '#']).next().unwrap_or(rest);
    let (server, path) = path.split_once('/').unwrap_or((path, ""));
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let server = format!("{scheme}://{server}");
    let host = match GitHubHost::from_server_url(&server)? {
        host if host.origin() == default_host.origin() => default_host.clone(),
        host => host,
    };
    let repo = match (parts.next(), parts.next()) {
        (Some(owner), Some(name)) => {
            Repo::new(owner, name).ok_or(PullRequestRefError::Repository)?
        }
        (_, _) => return Err(PullRequestRefError::Repository),
    };
    match (parts.next(), parts.next()) {
        // GitHub redirects `/pulls/12` to `/pull/12`.
        (Some("pull" | "pulls"), Some(number)) => {
            Ok(PullRequestRef { host, repo, number: parse_number(number)? })
        }
        (kind, _) => Err(PullRequestRefError::NotAPull { kind: page_kind(kind) }),
    }
}

/// Describes the page of a repository whose path continues with `part`, for the error message about
/// an address that is not a pull request.
fn page_kind(part: Option<&str>) -> &'static str {
    match part {
        None => "repository",
        Some("issues") => "issue",
        Some("pull" | "pulls") => "list of pull requests",
        Some("tree") => "branch",
        Some("blob" | "raw" | "blame" | "edit") => "file",
        Some("commit" | "commits") => "commit",
        Some("compare") => "comparison",
        Some("actions" | "runs") => "run of Actions",
        Some("discussions") => "discussion",
        Some("releases" | "tags") => "release",
        Some(_) => "page",
    }
}

fn article(kind: &str) -> &'static str {
    if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}

fn parse_number(text: &str) -> Result<u64, PullRequestRefError> {
    let number = is_digits(text).then(|| text.parse().ok()).flatten();
    // The typed text may be long or contain control characters.
    let invalid_number = || PullRequestRefError::Number {
        text: text.chars().take(20).filter(char::is_ascii_graphic).collect(),
    };
    number.filter(|number| *number > 0).ok_or_else(invalid_number)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_name(text: &str) -> bool {
    let is_name_byte =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    !text.is_empty()
        && text.len() <= NAME_MAX
        && text.bytes().all(is_name_byte)
        && !matches!(text, "." | "..")
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(texts: &[&str], clone_repo: Option<&str>, expected: Expect) {
        let default = GitHubHost::from_variables(
            Some("http://127.0.0.1:5"),
            Some("http://127.0.0.1:5/other/api"),
            None,
        )
        .unwrap();
        let clone_repo = clone_repo.map(|name| Repo::parse(name).unwrap());
        let mut lines = String::new();
        for text in texts {
            let line = match PullRequestRef::parse(text, &default, clone_repo.as_ref()) {
                Ok(name) => format!("{name} at {} ({})", name.url(), name.host.api()),
                Err(error) => error.to_string(),
            };
            lines += &format!("{text}: {line}\n");
        }
        expected.assert_eq(&lines);
    }

    #[test]
    fn parses_addresses_and_short_references() {
        check(
            &[
                "https://github.com/o/r/pull/12",
                "https://github.com/o/r/pull/12/files#diff-1",
                "https://github.com/o/r/pull/12/commits/abc?w=1",
                "https://github.com/some-org/a.b_c-d/pulls/3/",
                "https://www.github.com/o/r/pull/12#issuecomment-1",
                "https://github.example/o/r/pull/7",
                "http://127.0.0.1:5/o/r/pull/7",
                "http://127.0.0.1:6/o/r/pull/7",
                "o/r#12",
                " some-org/a.b_c-d#3 ",
                "12",
                "#12",
            ],
            Some("here/it"),
            expect![[r#"
                https://github.com/o/r/pull/12: o/r#12 at https://github.com/o/r/pull/12 (https://api.github.com)
                https://github.com/o/r/pull/12/files#diff-1: o/r#12 at https://github.com/o/r/pull/12 (https://api.github.com)
                https://github.com/o/r/pull/12/commits/abc?w=1: o/r#12 at https://github.com/o/r/pull/12 (https://api.github.com)
                https://github.com/some-org/a.b_c-d/pulls/3/: some-org/a.b_c-d#3 at https://github.com/some-org/a.b_c-d/pull/3 (https://api.github.com)
                https://www.github.com/o/r/pull/12#issuecomment-1: o/r#12 at https://github.com/o/r/pull/12 (https://api.github.com)
                https://github.example/o/r/pull/7: o/r#7 at https://github.example/o/r/pull/7 (https://github.example/api/v3)
                http://127.0.0.1:5/o/r/pull/7: o/r#7 at http://127.0.0.1:5/o/r/pull/7 (http://127.0.0.1:5/other/api)
                http://127.0.0.1:6/o/r/pull/7: o/r#7 at http://127.0.0.1:6/o/r/pull/7 (http://127.0.0.1:6/api/v3)
                o/r#12: o/r#12 at http://127.0.0.1:5/o/r/pull/12 (http://127.0.0.1:5/other/api)
                 some-org/a.b_c-d#3 : some-org/a.b_c-d#3 at http://127.0.0.1:5/some-org/a.b_c-d/pull/3 (http://127.0.0.1:5/other/api)
                12: here/it#12 at http://127.0.0.1:5/here/it/pull/12 (http://127.0.0.1:5/other/api)
                #12: here/it#12 at http://127.0.0.1:5/here/it/pull/12 (http://127.0.0.1:5/other/api)
            "#]],
        );
    }

    #[test]
    fn invalid_references_are_explained() {
        check(
            &[
                "12",
                "",
                "main",
                "feature/12",
                "#",
                "#x",
                "o/r#x",
                "o/r#0",
                "o/r#99999999999999999999",
                "r#1",
                "o/r/s#1",
                "../r#1",
                "o/r?x#1",
                "https://github.com",
                "https://github.com/o",
                "https://github.com/o/r",
                "https://github.com/o/../pull/1",
                "https://github.com/o/r%2e/pull/1",
                "https://github.com/o/r/pull",
                "https://github.com/o/r/pull/new",
                "https://github.com/o/r/issues/5",
                "https://github.com/o/r/tree/main",
                "https://github.com/o/r/blob/main/a.rs",
                "https://github.com/o/r/wiki",
                "http://github.com/o/r/pull/1",
                "https://user:secret@github.com/o/r/pull/1",
                "https:///o/r/pull/1",
                "ftp://github.com/o/r/pull/1",
            ],
            None,
            expect![[r#"
                12: `12` works only in a clone of a GitHub repository; elsewhere use `owner/name#12`
                : not a pull request: expected `https://github.com/owner/name/pull/12`, `owner/name#12` or `12`
                main: not a pull request: expected `https://github.com/owner/name/pull/12`, `owner/name#12` or `12`
                feature/12: not a pull request: expected `https://github.com/owner/name/pull/12`, `owner/name#12` or `12`
                #: not a pull request: expected `https://github.com/owner/name/pull/12`, `owner/name#12` or `12`
                #x: not a pull request: expected `https://github.com/owner/name/pull/12`, `owner/name#12` or `12`
                o/r#x: `x` is not a pull request number
                o/r#0: `0` is not a pull request number
                o/r#99999999999999999999: `99999999999999999999` is not a pull request number
                r#1: not a pull request: expected `https://github.com/owner/name/pull/12`, `owner/name#12` or `12`
                o/r/s#1: not a pull request: expected `https://github.com/owner/name/pull/12`, `owner/name#12` or `12`
                ../r#1: not a pull request: expected `https://github.com/owner/name/pull/12`, `owner/name#12` or `12`
                o/r?x#1: not a pull request: expected `https://github.com/owner/name/pull/12`, `owner/name#12` or `12`
                https://github.com: the address has no repository (`owner/name`)
                https://github.com/o: the address has no repository (`owner/name`)
                https://github.com/o/r: this is the address of a repository, not of a GitHub pull request, which ends in `/pull/NUMBER`
                https://github.com/o/../pull/1: the address has no repository (`owner/name`)
                https://github.com/o/r%2e/pull/1: the address has no repository (`owner/name`)
                https://github.com/o/r/pull: this is the address of a list of pull requests, not of a GitHub pull request, which ends in `/pull/NUMBER`
                https://github.com/o/r/pull/new: `new` is not a pull request number
                https://github.com/o/r/issues/5: this is the address of an issue, not of a GitHub pull request, which ends in `/pull/NUMBER`
                https://github.com/o/r/tree/main: this is the address of a branch, not of a GitHub pull request, which ends in `/pull/NUMBER`
                https://github.com/o/r/blob/main/a.rs: this is the address of a file, not of a GitHub pull request, which ends in `/pull/NUMBER`
                https://github.com/o/r/wiki: this is the address of a page, not of a GitHub pull request, which ends in `/pull/NUMBER`
                http://github.com/o/r/pull/1: the address is not `https`; the token would be sent unencrypted
                https://user:secret@github.com/o/r/pull/1: the address must not contain a user name or password; credentials come from variables
                https:///o/r/pull/1: the address is not a valid URL
                ftp://github.com/o/r/pull/1: not a pull request: expected `https://github.com/owner/name/pull/12`, `owner/name#12` or `12`
            "#]],
        );
    }
}
