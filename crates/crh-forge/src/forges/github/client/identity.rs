//! The account of a client and its token. Apps request tokens when needed.

use std::time::{Duration, SystemTime};

use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Mutex;

use super::super::{GitHubApp, GitHubCredentials, GitHubHost};
use super::cache;

/// Lifetime of an App's token: always one hour.
const TOKEN_LIFETIME: Duration = Duration::from_secs(60 * 60);

/// Time before a token's expiry at which crh renews it, so that no token expires during a request.
const TOKEN_MARGIN: Duration = Duration::from_secs(5 * 60);

/// The account that a client uses.
pub(super) struct GitHubIdentity {
    /// Hash that identifies the account in the cache.
    cache_id: String,
    kind: IdentityKind,
}

pub(super) enum IdentityKind {
    Token(SecretString),
    App(AppInstallation),
}

/// An App and its current token.
pub(super) struct AppInstallation {
    pub(super) app: Box<GitHubApp>,
    pub(super) token: Mutex<Option<InstallationToken>>,
}

#[derive(Clone)]
pub(super) struct InstallationToken {
    pub(super) token: SecretString,
    pub(super) issued_at: SystemTime,
}

impl InstallationToken {
    /// Whether the token is valid for longer than [`TOKEN_MARGIN`].
    pub(super) fn is_valid(&self, now: SystemTime) -> bool {
        match now.duration_since(self.issued_at) {
            Ok(age) => age + TOKEN_MARGIN < TOKEN_LIFETIME,
            // The clock was set back, so the age is unknown.
            Err(_) => false,
        }
    }
}

impl GitHubIdentity {
    /// Returns `None` if the token is empty or has characters that are invalid in a header.
    pub(super) fn new(credentials: GitHubCredentials, host: &GitHubHost) -> Option<Self> {
        match credentials {
            GitHubCredentials::Token(token) => {
                let text = token.expose_secret();
                if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
                    return None;
                }
                let name = cache::sha256_hex(format!("{}\ntoken\n{text}", host.api()).as_bytes());
                Some(Self { cache_id: name, kind: IdentityKind::Token(token) })
            }
            GitHubCredentials::App(app) => {
                let account_text = format!("{}\napp\n{}\n{}", host.api(), app.id(), app.repo());
                let kind = IdentityKind::App(AppInstallation { app, token: Mutex::default() });
                Some(Self { cache_id: cache::sha256_hex(account_text.as_bytes()), kind })
            }
        }
    }

    /// Identifies the account in the cache.
    pub(super) fn cache_id(&self) -> &str {
        &self.cache_id
    }

    pub(super) fn kind(&self) -> &IdentityKind {
        &self.kind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_renewed_before_it_expires() {
        let since = SystemTime::UNIX_EPOCH + Duration::from_secs(10_000);
        let lent = InstallationToken { token: "t".into(), issued_at: since };
        for (minutes, holds) in [(0, true), (54, true), (55, false), (60, false), (600, false)] {
            assert_eq!(
                lent.is_valid(since + Duration::from_secs(60 * minutes)),
                holds,
                "{minutes}"
            );
        }
        assert!(!lent.is_valid(since - Duration::from_secs(1)));
    }

    #[test]
    fn cache_ids_differ_by_account_and_hide_the_token() {
        let name = |token: &str, host: &GitHubHost| {
            GitHubIdentity::new(GitHubCredentials::Token(token.into()), host)
                .map(|account| account.cache_id)
        };
        let (here, there) =
            (GitHubHost::default(), GitHubHost::from_server_url("https://github.example").unwrap());
        assert_eq!(name("one", &here), name("one", &here));
        assert_ne!(name("one", &here), name("two", &here));
        assert_ne!(name("one", &here), name("one", &there));
        assert!(!name("one", &here).unwrap().contains("one"));
        for odd in ["", "a\nb", "a b", "é"] {
            assert_eq!(name(odd, &here), None, "{odd}");
        }
    }
}
