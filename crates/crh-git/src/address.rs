//! Fetching from an address with a token: exact commits into the private store.
//!
//! Invariant: the token goes to this address only, through the environment of one git at a time. It is in no argument, no
//! file and no message; redirects are not followed, and nobody is asked for another password.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use gix::bstr::ByteSlice;
use secrecy::{ExposeSecret, SecretString};

use crate::process::{Git, GitError};
use crate::remote::{DEPTHS, MissingError, Origin};
use crate::store::Store;

/// Where the store remembers what it was given last by which name, so that the next fetch begins there.
const REFS: &str = "refs/crh/";

/// The user whose password a token is, where a forge looks at the password alone.
const USER: &str = "x-access-token";

/// How the names of settings end that say how a host is reached, and nothing about who asks.
const HOST_SETTINGS: &[&str] = &["proxy", "ssl"];

/// Where a repository is fetched from, and what opens it.
#[derive(Debug, Clone)]
pub struct Address {
    url: String,
    user: String,
    token: Option<SecretString>,
}

/// Why nothing is fetched from an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Others could listen, or it is no address at all.
    #[error("`{0}` is not an `https` address that can be fetched from")]
    NotHttps(String),
    /// A name or a password stands in it, where everybody can read it.
    #[error("the address of a repository must not have a name or a password in it")]
    HasUser,
    /// What is no name of a user.
    #[error("a user that fetches must have a plain name")]
    User,
}

/// A commit that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pin<'a> {
    /// Its full name.
    pub commit: &'a str,
    /// A ref that leads to it, such as `refs/pull/7/head`, for servers that give no commit by its name.
    pub by: Option<&'a str>,
}

impl Address {
    /// An address that starts with `https://`, or with `http://` on this machine. Nothing else is fetched from.
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
        // What git and this parser could read differently is refused.
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

    /// The same, fetched from as this user: some forges want to know whose a token is.
    pub fn for_user(self, user: &str) -> Result<Self, AddressError> {
        // A colon would end the name, and the rest would be read as a part of the password.
        let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b':';
        match !user.is_empty() && user.bytes().all(is_plain) {
            true => Ok(Self { user: user.to_owned(), ..self }),
            false => Err(AddressError::User),
        }
    }

    /// The address itself.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What git sends along, and the part of it that must not be repeated.
    fn authorization(&self) -> Option<(SecretString, SecretString)> {
        let token = self.token.as_ref()?.expose_secret();
        let encoded = BASE64_STANDARD.encode(format!("{}:{token}", self.user));
        Some((format!("Authorization: Basic {encoded}").into(), encoded.into()))
    }
}

impl Store {
    /// Fetches commits with everything in them and their history as far as a review needs it. What is here already is not
    /// fetched again.
    pub fn fetch_pins(&self, address: &Address, pins: &[Pin<'_>]) -> Result<(), MissingError> {
        let mut missing = Vec::new();
        for pin in pins {
            if !self.is_whole(pin.commit)? {
                missing.push(pin);
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let depth = self.starts_shallow()?.then_some(DEPTHS[0]);
        let origin = Origin::Address(address);
        let by_commit: Vec<String> = missing.iter().map(|pin| pin.refspec(pin.commit)).collect();
        if let Err(error) = self.fetch(origin, depth, &by_commit) {
            let by_ref: Vec<String> =
                missing.iter().filter_map(|pin| Some(pin.refspec(pin.by?))).collect();
            // Only a server that answers and refuses may do better when it is asked another way.
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

    /// Makes the history deep enough to know where two commits part, and what came shortly before.
    pub fn deepen_by(&self, address: &Address, base: &str, head: &str) -> Result<(), GitError> {
        self.deepen_from(Origin::Address(address), base, head)
    }

    /// The same of two commits that go back to what was fetched from two addresses: each is asked for its own, since it need not
    /// know the other's.
    pub fn deepen_apart(
        &self,
        fetched: [(&Address, &str); 2],
        base: &str,
        head: &str,
    ) -> Result<(), GitError> {
        self.deepened(base, head, |depth, _| {
            for (address, commit) in fetched {
                // Git refuses to make a history whole that is.
                if self.bare().boundary().is_empty() {
                    return Ok(());
                }
                self.fetch(Origin::Address(address), Some(depth), &[commit.to_owned()])?;
            }
            Ok(())
        })
    }

    /// Whether a commit is here with everything in it. A fetch that was ended by force may have left it without its files. What a
    /// partial clone leaves out on purpose is brought by [`Store::complete`].
    fn is_whole(&self, commit: &str) -> Result<bool, GitError> {
        let is_here = self.bare().has(commit);
        Ok(is_here && (self.is_partial() || self.missing(&[commit])?.is_empty()))
    }

    /// Whether a fetch must not bring the whole history: there is none here yet, or it ends somewhere.
    fn starts_shallow(&self) -> Result<bool, GitError> {
        if self.bare().is_shallow() {
            return Ok(true);
        }
        let known = self.bare().git().text(["for-each-ref", "--count=1", REFS])?;
        Ok(self.is_alone() && known.is_empty())
    }

    /// Git in the store for talking to an address. How hosts are reached is the user's matter, by the environment and by
    /// settings; who asks, and which address that is, is not.
    pub(crate) fn address_git(&self, address: &Address) -> Result<Git, GitError> {
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
        let mut settings: Vec<(OsString, OsString)> = ways(&listed);
        settings.extend(pinned.map(|(key, value)| (key.into(), value.into())));
        let mut git = Git::in_folder(self.bare().folder())
            .with_variable("GIT_DIR", self.bare().folder())
            .with_network_alone()
            // What the user lets git write down must not hold what is handed to it here.
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
                .hiding(encoded)
                .hiding(token.clone());
            count += 1;
        }
        Ok(git.with_variable("GIT_CONFIG_COUNT", count.to_string()))
    }
}

impl Pin<'_> {
    /// Fetches it by a name of its, and remembers it.
    fn refspec(&self, name: &str) -> String {
        // Flat: a branch `a` may be gone when there is one called `a/b`, and a file cannot be a folder.
        let kept = self.by.unwrap_or(self.commit).replace('/', "%2F");
        format!("+{name}:{REFS}{kept}")
    }
}

/// The settings among those listed that say how hosts are reached: proxies and certificates.
fn ways(listed: &[u8]) -> Vec<(OsString, OsString)> {
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
    fn an_address_is_https_or_on_this_machine_and_has_no_password_in_it() {
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
            assert_eq!(Address::new(url, None).err(), expected, "{url}");
        }
    }

    #[test]
    fn a_user_has_a_plain_name() {
        let user = |name: &str| {
            let address = Address::new("https://git.launchpad.net/r", Some("t".into())).unwrap();
            address.for_user(name).map(|address| address.authorization().unwrap().1)
        };
        let encoded = user("ann").unwrap();
        assert_eq!(encoded.expose_secret(), BASE64_STANDARD.encode("ann:t"));
        for odd in ["", "ann:x", "an n", "ann\n"] {
            assert_eq!(user(odd).err(), Some(AddressError::User), "{odd}");
        }
    }

    #[test]
    fn only_settings_about_the_way_are_taken_over() {
        let listed = b"http.proxy\nhttp://p\0http.https://h/.sslcainfo\n/ca\0http.extraheader\nX: 1\0credential.helper\nstore\0url.a.insteadof\nb\0http.cookiefile\nc\0";
        let expected = [("http.proxy", "http://p"), ("http.https://h/.sslcainfo", "/ca")];
        assert_eq!(ways(listed), expected.map(|(key, value)| (key.into(), value.into())));
    }
}
