//! The URL from which crh fetches into its private store (`store.rs`), with a token.
//!
//! Invariant: crh sends the token only to this URL, through the environment of the git process that
//! fetches. The token is in no argument, file or message. Git does not follow redirects and shows
//! no password prompt.

use std::ffi::{OsStr, OsString};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use gix::bstr::ByteSlice;
use secrecy::{ExposeSecret, SecretString};

use crate::process::{Git, GitError};
use crate::store::Store;
use crh_os::names::os_str;

/// User name for forges that check only the token.
const USER: &str = "x-access-token";

/// Prefixes of `http.*` settings that concern the connection and not the identity.
const CONNECTION_SETTINGS: &[&str] = &["proxy", "ssl"];

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

impl FetchAddress {
    /// Accepts `https://`, and `http://` on the loopback interface.
    pub fn new(url: &str, token: Option<SecretString>) -> Result<Self, AddressError> {
        let not_https = || AddressError::NotHttps(url.to_owned());
        let parsed = gix::url::parse(url.as_bytes().as_bstr()).map_err(|_| not_https())?;
        let host = parsed.host().unwrap_or_default();
        let is_loopback = matches!(host, "127.0.0.1" | "localhost" | "[::1]" | "::1");
        let is_safe = match &parsed.scheme {
            gix::url::Scheme::Https => true,
            gix::url::Scheme::Http => is_loopback,
            _ => false,
        };
        // Reject URLs that git and this parser could read differently.
        let is_plain =
            url.bytes().all(|byte| byte.is_ascii_graphic() && !b"\\\"?#".contains(&byte));
        if !is_safe || host.is_empty() || !is_plain {
            return Err(not_https());
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

    /// Authorization header, and its encoded credentials, which must be redacted.
    fn authorization(&self) -> Option<(SecretString, SecretString)> {
        let token = self.token.as_ref()?.expose_secret();
        let encoded = BASE64_STANDARD.encode(format!("{}:{token}", self.user));
        Some((format!("Authorization: Basic {encoded}").into(), encoded.into()))
    }
}

impl Store {
    /// Git for a URL, run in the store. The user's proxy and certificate settings apply, but not
    /// credentials or URL rewriting.
    pub(crate) fn address_git(&self, address: &FetchAddress) -> Result<Git, GitError> {
        let config_list = Git::in_folder(self.bare().folder())
            .with_user_settings()
            .run(["config", "--list", "-z"])?;
        let scheme = address.url.split(':').next().unwrap_or_default();
        let fixed_settings = [
            ("credential.helper", ""),
            ("core.askPass", ""),
            ("http.followRedirects", "false"),
            ("http.cookieFile", ""),
            ("protocol.allow", "never"),
            (&format!("protocol.{scheme}.allow"), "always"),
        ];
        let mut settings: Vec<(OsString, OsString)> = connection_settings(&config_list);
        settings.extend(fixed_settings.map(|(key, value)| (key.into(), value.into())));
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

/// Selects proxy and certificate settings from `git config --list -z`.
fn connection_settings(config_list: &[u8]) -> Vec<(OsString, OsString)> {
    // Windows cannot pass a setting that is not Unicode.
    let to_os_string = |bytes: &[u8]| os_str(bytes).map(OsStr::to_owned).ok();
    let setting = |entry: &[u8]| {
        let end = entry.iter().position(|byte| *byte == b'\n').unwrap_or(entry.len());
        let (key, value) = (&entry[..end], entry.get(end + 1..).unwrap_or(b"true"));
        let name = key.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
        let is_connection_setting = key.starts_with(b"http.")
            && CONNECTION_SETTINGS.iter().any(|prefix| name.starts_with(prefix.as_bytes()));
        is_connection_setting.then_some(to_os_string(key)?).zip(to_os_string(value))
    };
    config_list.split(|byte| *byte == 0).filter_map(setting).collect()
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
        for invalid in ["", "ann:x", "an n", "ann\n"] {
            assert_eq!(user(invalid).err(), Some(AddressError::User), "{invalid}");
        }
    }

    #[test]
    fn only_proxy_and_certificate_settings_are_used() {
        let config_list = b"http.proxy\nhttp://p\0http.https://h/.sslcainfo\n/ca\0http.extraheader\nX: 1\0credential.helper\nstore\0url.a.insteadof\nb\0http.cookiefile\nc\0";
        let expected = [("http.proxy", "http://p"), ("http.https://h/.sslcainfo", "/ca")];
        assert_eq!(
            connection_settings(config_list),
            expected.map(|(key, value)| (key.into(), value.into()))
        );
    }
}
