//! Which pull request is meant, and of which repository: what people type.

use std::fmt;

use thiserror::Error;

use super::{Host, HostError};

/// The longest name of an owner or of a repository; GitHub allows 39 and 100.
const NAME_MAX: usize = 100;

/// `owner/name` of a repository. Both are written in characters that need no encoding in an address.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Repo {
    owner: String,
    name: String,
}

/// A pull request of some repository at some GitHub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// Where.
    pub host: Host,
    /// The repository that it is proposed to.
    pub repo: Repo,
    /// Its number.
    pub number: u64,
}

/// Why something is no pull request. What was typed is repeated only where it is known to hold no secret.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NameError {
    /// It has none of the forms.
    #[error(
        "a pull request is written as `https://github.com/owner/name/pull/12`, `owner/name#12` or `12`"
    )]
    NoName,
    /// There is no such number.
    #[error("`{text}` is no number of a pull request")]
    Number {
        /// What stood in its place.
        text: String,
    },
    /// A number alone says nothing outside a clone.
    #[error(
        "`{number}` needs a clone of a repository at GitHub; elsewhere write `owner/name#{number}`"
    )]
    NoRepository {
        /// The number.
        number: u64,
    },
    /// A name that no repository has.
    #[error("the address names no repository: that would be `owner/name`")]
    Repository,
    /// An address of something else.
    #[error("the address is that of {article} {kind}, not of a pull request: that would end in `/pull/12`", article = article(kind))]
    NotAPull {
        /// What it is.
        kind: &'static str,
    },
    /// There can be no GitHub there.
    #[error(transparent)]
    Host(#[from] HostError),
}

impl Repo {
    /// Reads `owner/name`; none if that is not one.
    pub fn parse(text: &str) -> Option<Self> {
        let (owner, name) = text.split_once('/')?;
        Self::new(owner, name)
    }

    /// A repository of this owner with this name; none if GitHub gives out no such names.
    pub fn new(owner: &str, name: &str) -> Option<Self> {
        (is_name(owner) && is_name(name))
            .then(|| Self { owner: owner.to_owned(), name: name.to_owned() })
    }

    /// Who it belongs to.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Its name without its owner.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether two names are those of one repository: GitHub does not look at capitals.
    pub fn is(&self, other: &Self) -> bool {
        self.owner.eq_ignore_ascii_case(&other.owner) && self.name.eq_ignore_ascii_case(&other.name)
    }
}

impl fmt::Display for Repo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

impl Name {
    /// The pull request that `text` means: its address, `owner/name#12`, or `12` and `#12` in a clone of `here`. Without an address
    /// it is at the default host; an address at that host is at it with all its variables.
    pub fn parse(text: &str, host: &Host, here: Option<&Repo>) -> Result<Self, NameError> {
        let text = text.trim();
        if let Some((scheme @ ("http" | "https"), rest)) = text.split_once("://") {
            return of_address(scheme, rest, host);
        }
        let (repo, number) = text.split_once('#').unwrap_or(("", text));
        let number = match (repo, number) {
            ("", number) if is_digits(number) => number_of(number)?,
            ("", _) => return Err(NameError::NoName),
            (_, number) => number_of(number)?,
        };
        let repo = match repo {
            "" => here.cloned().ok_or(NameError::NoRepository { number })?,
            named => Repo::parse(named).ok_or(NameError::NoName)?,
        };
        Ok(Self { host: host.clone(), repo, number })
    }

    /// Where it can be looked at.
    pub fn url(&self) -> String {
        format!("{}/{}/pull/{}", self.host.server(), self.repo, self.number)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.repo, self.number)
    }
}

fn of_address(scheme: &str, rest: &str, default: &Host) -> Result<Name, NameError> {
    let path = rest.split(['?', '#']).next().unwrap_or(rest);
    let (server, path) = path.split_once('/').unwrap_or((path, ""));
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let server = format!("{scheme}://{server}");
    let host = match Host::of(&server)? {
        host if host.origin() == default.origin() => default.clone(),
        host => host,
    };
    let repo = match (parts.next(), parts.next()) {
        (Some(owner), Some(name)) => Repo::new(owner, name).ok_or(NameError::Repository)?,
        (_, _) => return Err(NameError::Repository),
    };
    match (parts.next(), parts.next()) {
        // GitHub itself goes on from `/pulls/12` to `/pull/12`.
        (Some("pull" | "pulls"), Some(number)) => {
            Ok(Name { host, repo, number: number_of(number)? })
        }
        (kind, _) => Err(NameError::NotAPull { kind: kind_of(kind) }),
    }
}

/// What else an address in a repository leads to.
fn kind_of(part: Option<&str>) -> &'static str {
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

fn number_of(text: &str) -> Result<u64, NameError> {
    let number = is_digits(text).then(|| text.parse().ok()).flatten();
    // What is not shown whole is not shown at all: it may be anything.
    let shown = || NameError::Number {
        text: text.chars().take(20).filter(char::is_ascii_graphic).collect(),
    };
    number.filter(|number| *number > 0).ok_or_else(shown)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    !text.is_empty()
        && text.len() <= NAME_MAX
        && text.bytes().all(plain)
        && !matches!(text, "." | "..")
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(texts: &[&str], here: Option<&str>, expected: Expect) {
        let default = Host::from_variables(
            Some("http://127.0.0.1:5"),
            Some("http://127.0.0.1:5/other/api"),
            None,
        )
        .unwrap();
        let here = here.map(|here| Repo::parse(here).unwrap());
        let mut lines = String::new();
        for text in texts {
            let line = match Name::parse(text, &default, here.as_ref()) {
                Ok(name) => format!("{name} at {} ({})", name.url(), name.host.api()),
                Err(error) => error.to_string(),
            };
            lines += &format!("{text}: {line}\n");
        }
        expected.assert_eq(&lines);
    }

    #[test]
    fn a_pull_request_is_named_by_its_address_or_by_its_repository_and_number() {
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
    fn what_is_no_pull_request_is_refused_in_one_sentence() {
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
                12: `12` needs a clone of a repository at GitHub; elsewhere write `owner/name#12`
                : a pull request is written as `https://github.com/owner/name/pull/12`, `owner/name#12` or `12`
                main: a pull request is written as `https://github.com/owner/name/pull/12`, `owner/name#12` or `12`
                feature/12: a pull request is written as `https://github.com/owner/name/pull/12`, `owner/name#12` or `12`
                #: a pull request is written as `https://github.com/owner/name/pull/12`, `owner/name#12` or `12`
                #x: a pull request is written as `https://github.com/owner/name/pull/12`, `owner/name#12` or `12`
                o/r#x: `x` is no number of a pull request
                o/r#0: `0` is no number of a pull request
                o/r#99999999999999999999: `99999999999999999999` is no number of a pull request
                r#1: a pull request is written as `https://github.com/owner/name/pull/12`, `owner/name#12` or `12`
                o/r/s#1: a pull request is written as `https://github.com/owner/name/pull/12`, `owner/name#12` or `12`
                ../r#1: a pull request is written as `https://github.com/owner/name/pull/12`, `owner/name#12` or `12`
                o/r?x#1: a pull request is written as `https://github.com/owner/name/pull/12`, `owner/name#12` or `12`
                https://github.com: the address names no repository: that would be `owner/name`
                https://github.com/o: the address names no repository: that would be `owner/name`
                https://github.com/o/r: the address is that of a repository, not of a pull request: that would end in `/pull/12`
                https://github.com/o/../pull/1: the address names no repository: that would be `owner/name`
                https://github.com/o/r%2e/pull/1: the address names no repository: that would be `owner/name`
                https://github.com/o/r/pull: the address is that of a list of pull requests, not of a pull request: that would end in `/pull/12`
                https://github.com/o/r/pull/new: `new` is no number of a pull request
                https://github.com/o/r/issues/5: the address is that of an issue, not of a pull request: that would end in `/pull/12`
                https://github.com/o/r/tree/main: the address is that of a branch, not of a pull request: that would end in `/pull/12`
                https://github.com/o/r/blob/main/a.rs: the address is that of a file, not of a pull request: that would end in `/pull/12`
                https://github.com/o/r/wiki: the address is that of a page, not of a pull request: that would end in `/pull/12`
                http://github.com/o/r/pull/1: the address is not `https`, and a token would be readable on its way
                https://user:secret@github.com/o/r/pull/1: the address carries a user name or a password: keys come from variables, never from addresses
                https:///o/r/pull/1: the address is no address
                ftp://github.com/o/r/pull/1: a pull request is written as `https://github.com/owner/name/pull/12`, `owner/name#12` or `12`
            "#]],
        );
    }

    #[test]
    fn a_repository_is_the_same_in_capitals() {
        let repo = |text| Repo::parse(text).unwrap();
        assert!(repo("Octo/Cat").is(&repo("octo/cat")));
        assert!(!repo("octo/cat").is(&repo("octo/cats")));
    }
}
