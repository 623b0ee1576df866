//! Fetches exact commits from a URL with a token into the private store.
//!
//! Invariant: the token is sent only to this URL, through the environment of one git process. It is
//! in no argument, file or message. Redirects are not followed, and no password prompt appears.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use gix::bstr::ByteSlice;
use secrecy::{ExposeSecret, SecretString};

use crate::process::{Git, GitError};
use crate::remote::{DEPTHS, FetchSource, MissingError};
use crate::store::Store;

/// Refs under which the store keeps fetched commits, so that the next fetch is incremental.
const REFS: &str = "refs/crh/";

/// User name for forges that check only the token.
const USER: &str = "x-access-token";

/// Prefixes of `http.*` settings that concern the connection and not the identity.
const HOST_SETTINGS: &[&str] = &["proxy", "ssl"];

/// URL of a repository, with credentials.
#[derive(Debug, Clone)]
pub struct FetchAddress {
    url: String,
    user: String,
    token: Option<SecretString>,
}

/// Why a URL is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Not `https`, or not a URL.
    #[error("`{0}` is not an `https` URL")]
    NotHttps(String),
    /// The URL contains a user name or password.
    #[error("the repository URL must not contain a user name or password")]
    HasUser,
    /// Invalid user name.
    #[error("invalid user name for fetching")]
    User,
}

/// A commit to fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PinnedCommit<'a> {
    /// Full commit id.
    pub commit: &'a str,
    /// A ref that contains it, such as `refs/pull/7/head`, for servers that do not serve commits by
    /// id.
    pub via_ref: Option<&'a str>,
}

impl FetchAddress {
    /// Accepts `https://`, and `http://` on the loopback interface.
    pub fn new(url: &str, token: Option<SecretString>) -> Result<Self, AddressError> {
        let refused = || AddressError::NotHttps(url.to_owned());
        let parsed = gix::url::parse(url.as_bytes().as_bstr()).map_err(|_| refused())?;
        let host = parsed.host().unwrap_or_default();
        let is_here = matches!(host, "127.0.0.1" | "localhost" | "[::1]" | "::1");
        let is_safe = match &parsed.scheme {
            gix::url::Scheme::Https => true,
            gix::url::Scheme::Http => is_here,
            _ => false,
        };
        // Reject URLs that git and this parser could read differently.
        let is_plain =
            url.bytes().all(|byte| byte.is_ascii_graphic() && !b"\\\"?#".contains(&byte));
        if !is_safe || host.is_empty() || !is_plain {
            return Err(refused());
        }
        if url.contains('@') {
            return Err(AddressError::HasUser);
        }
        Ok(Self { url: url.to_owned(), user: USER.to_owned(), token })
    }

    /// Sets the user name, which some forges require with a token.
    pub fn for_user(self, user: &str) -> Result<Self, AddressError> {
        // A colon would separate the user name from the password.
        let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b':';
        match !user.is_empty() && user.bytes().all(is_plain) {
            true => Ok(Self { user: user.to_owned(), ..self }),
            false => Err(AddressError::User),
        }
    }

    /// The URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Authorization header, and the part of it that must be redacted.
    fn authorization(&self) -> Option<(SecretString, SecretString)> {
        let token = self.token.as_ref()?.expose_secret();
        let encoded = BASE64_STANDARD.encode(format!("{}:{token}", self.user));
        Some((format!("Authorization: Basic {encoded}").into(), encoded.into()))
    }
}

impl Store {
    /// Fetches commits with all files and as much history as a review needs. Existing commits are
    /// not fetched again.
    pub fn fetch_pinned(
        &self,
        address: &FetchAddress,
        pins: &[PinnedCommit<'_>],
    ) -> Result<(), MissingError> {
        let mut missing = Vec::new();
        for pin in pins {
            if !self.is_complete(pin.commit)? {
                missing.push(pin);
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let depth = self.starts_shallow()?.then_some(DEPTHS[0]);
        let origin = FetchSource::Address(address);
        let by_commit: Vec<String> = missing.iter().map(|pin| pin.refspec(pin.commit)).collect();
        if let Err(error) = self.fetch(origin, depth, &by_commit) {
            let by_ref: Vec<String> =
                missing.iter().filter_map(|pin| Some(pin.refspec(pin.via_ref?))).collect();
            // Try the ref only if the server answered and refused.
            if by_ref.is_empty() || !matches!(error, GitError::Failed { .. }) {
                return Err(error.into());
            }
            self.fetch(origin, depth, &by_ref).map_err(|_| error)?;
        }
        match missing.iter().find(|pin| !self.bare().has(pin.commit)) {
            None => Ok(()),
            Some(pin) => {
                Err(MissingError::Gone { url: address.url.clone(), commit: pin.commit.to_owned() })
            }
        }
    }

    /// Deepens the history until the merge base of two commits and some commits before it are
    /// known.
    pub fn deepen_from_address(
        &self,
        address: &FetchAddress,
        base: &str,
        head: &str,
    ) -> Result<(), GitError> {
        self.deepen_from(FetchSource::Address(address), base, head)
    }

    /// Like [`Store::deepen_from_address`], for commits from two URLs. Each URL is asked for its
    /// own commit, because it may not have the other.
    pub fn deepen_from_two(
        &self,
        fetched: [(&FetchAddress, &str); 2],
        base: &str,
        head: &str,
    ) -> Result<(), GitError> {
        self.deepen_until_known(base, head, |depth, _| {
            for (address, commit) in fetched {
                // Git rejects `--unshallow` for a complete history.
                if self.bare().boundary().is_empty() {
                    return Ok(());
                }
                self.fetch(FetchSource::Address(address), Some(depth), &[commit.to_owned()])?;
            }
            Ok(())
        })
    }

    /// Whether a commit and all its files are present. An interrupted fetch may have left out
    /// files. [`Store::fetch_missing`] fetches what a partial clone omits.
    fn is_complete(&self, commit: &str) -> Result<bool, GitError> {
        let is_here = self.bare().has(commit);
        Ok(is_here && (self.is_partial() || self.missing_objects(&[commit])?.is_empty()))
    }

    /// Whether to fetch with limited depth: the store is empty or already shallow.
    fn starts_shallow(&self) -> Result<bool, GitError> {
        if self.bare().is_shallow() {
            return Ok(true);
        }
        let known = self.bare().git().text(["for-each-ref", "--count=1", REFS])?;
        Ok(self.is_standalone() && known.is_empty())
    }

    /// Git for a URL, run in the store. The user's proxy and certificate settings apply, but not
    /// credentials or URL rewriting.
    pub(crate) fn address_git(&self, address: &FetchAddress) -> Result<Git, GitError> {
        let listed = Git::in_folder(self.bare().folder())
            .with_user_settings()
            .run(["config", "--list", "-z"])?;
        let scheme = address.url.split(':').next().unwrap_or_default();
        let pinned = [
            ("credential.helper", ""),
            ("core.askPass", ""),
            ("http.followRedirects", "false"),
            ("http.cookieFile", ""),
            ("protocol.allow", "never"),
            (&format!("protocol.{scheme}.allow"), "always"),
        ];
        let mut settings: Vec<(OsString, OsString)> = host_settings(&listed);
        settings.extend(pinned.map(|(key, value)| (key.into(), value.into())));
        let mut git = Git::in_folder(self.bare().folder())
            .with_variable("GIT_DIR", self.bare().folder())
            .with_explicit_network()
            // The user's git traces must not contain the token.
            .with_variable("GIT_TRACE_REDACT", "1")
            .with_variable("GIT_TRACE2_CONFIG_PARAMS", "")
            .with_variable("GIT_TRACE2_ENV_VARS", "");
        let mut count = 0;
        for (key, value) in settings {
            git = git
                .with_variable(format!("GIT_CONFIG_KEY_{count}"), key)
                .with_variable(format!("GIT_CONFIG_VALUE_{count}"), value);
            count += 1;
        }
        if let (Some((header, encoded)), Some(token)) = (address.authorization(), &address.token) {
            let key = format!("http.{}.extraHeader", address.url);
            git = git
                .with_variable(format!("GIT_CONFIG_KEY_{count}"), key)
                .with_secret(format!("GIT_CONFIG_VALUE_{count}"), header)
                .redacting(encoded)
                .redacting(token.clone());
            count += 1;
        }
        Ok(git.with_variable("GIT_CONFIG_COUNT", count.to_string()))
    }
}

impl PinnedCommit<'_> {
    /// Refspec that fetches the commit by this name and stores it.
    fn refspec(&self, name: &str) -> String {
        // Flat names, because refs `a` and `a/b` cannot coexist.
        let kept = self.via_ref.unwrap_or(self.commit).replace('/', "%2F");
        format!("+{name}:{REFS}{kept}")
    }
}

/// Selects proxy and certificate settings from `git config --list -z`.
fn host_settings(listed: &[u8]) -> Vec<(OsString, OsString)> {
    let own = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
    let setting = |line: &[u8]| {
        let end = line.iter().position(|byte| *byte == b'\n').unwrap_or(line.len());
        let (key, value) = (&line[..end], line.get(end + 1..).unwrap_or(b"true"));
        let last = key.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
        let is_way = key.starts_with(b"http.")
            && HOST_SETTINGS.iter().any(|word| last.starts_with(word.as_bytes()));
        is_way.then(|| (own(key), own(value)))
    };
    listed.split(|byte| *byte == 0).filter_map(setting).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_must_be_https_or_loopback_without_password() {
        let not_https = |url: &str| Some(AddressError::NotHttps(url.to_owned()));
        for (url, expected) in [
            ("https://github.com/o/r.git", None),
            ("http://127.0.0.1:8080/o/r.git", None),
            ("http://github.com/o/r.git", not_https("http://github.com/o/r.git")),
            ("http://127.0.0.1.evil.example/r", not_https("http://127.0.0.1.evil.example/r")),
            ("ext::sh -c id", not_https("ext::sh -c id")),
            ("file:///etc", not_https("file:///etc")),
            ("git@github.com:o/r.git", not_https("git@github.com:o/r.git")),
            ("--upload-pack=id", not_https("--upload-pack=id")),
            ("https://github.com/o/r\n.git", not_https("https://github.com/o/r\n.git")),
            ("https://me:word@github.com/o/r", Some(AddressError::HasUser)),
        ] {
            assert_eq!(FetchAddress::new(url, None).err(), expected, "{url}");
        }
    }

    #[test]
    fn invalid_user_names_are_rejected() {
        let user = |name: &str| {
            let address =
                FetchAddress::new("https://git.launchpad.net/r", Some("t".into())).unwrap();
            address.for_user(name).map(|address| address.authorization().unwrap().1)
        };
        let encoded = user("ann").unwrap();
        assert_eq!(encoded.expose_secret(), BASE64_STANDARD.encode("ann:t"));
        for odd in ["", "ann:x", "an n", "ann\n"] {
            assert_eq!(user(odd).err(), Some(AddressError::User), "{odd}");
        }
    }

    #[test]
    fn only_proxy_and_certificate_settings_are_used() {
        let listed = b"http.proxy\nhttp://p\0http.https://h/.sslcainfo\n/ca\0http.extraheader\nX: 1\0credential.helper\nstore\0url.a.insteadof\nb\0http.cookiefile\nc\0";
        let expected = [("http.proxy", "http://p"), ("http.https://h/.sslcainfo", "/ca")];
        assert_eq!(host_settings(listed), expected.map(|(key, value)| (key.into(), value.into())));
    }
}
