//! The token that goes along with a request, and how an App comes by one.

use std::time::{Duration, SystemTime};

use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Mutex;

use super::super::{App, Credentials, Host};
use super::cache;

/// How long a token of an App holds: GitHub gives out no others.
const TOKEN_HOLDS: Duration = Duration::from_secs(60 * 60);

/// How long before its end a token is exchanged, so that no request of a burst is the one that comes too late.
const TOKEN_MARGIN: Duration = Duration::from_secs(5 * 60);

/// As whom a client asks.
pub(super) struct Account {
    /// The same for the same account, and nothing can be learned from it.
    name: String,
    kind: Kind,
}

pub(super) enum Kind {
    Token(SecretString),
    App(Installed),
}

/// An App and the token that it has at present.
pub(super) struct Installed {
    pub(super) app: Box<App>,
    pub(super) token: Mutex<Option<Lent>>,
}

/// A token that ends.
#[derive(Clone)]
pub(super) struct Lent {
    pub(super) token: SecretString,
    pub(super) since: SystemTime,
}

impl Lent {
    /// Whether it still holds for long enough.
    pub(super) fn holds(&self, now: SystemTime) -> bool {
        match now.duration_since(self.since) {
            Ok(age) => age + TOKEN_MARGIN < TOKEN_HOLDS,
            // The clock was set back: how old it is cannot be known.
            Err(_) => false,
        }
    }
}

impl Account {
    /// None if a token can stand in no header.
    pub(super) fn new(credentials: Credentials, host: &Host) -> Option<Self> {
        match credentials {
            Credentials::Token(token) => {
                let text = token.expose_secret();
                if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
                    return None;
                }
                let name = cache::hex(format!("{}\ntoken\n{text}", host.api()).as_bytes());
                Some(Self { name, kind: Kind::Token(token) })
            }
            Credentials::App(app) => {
                let named = format!("{}\napp\n{}\n{}", host.api(), app.id(), app.repo());
                let kind = Kind::App(Installed { app, token: Mutex::default() });
                Some(Self { name: cache::hex(named.as_bytes()), kind })
            }
        }
    }

    /// What tells its answers from those of others.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn kind(&self) -> &Kind {
        &self.kind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_exchanged_before_it_ends() {
        let since = SystemTime::UNIX_EPOCH + Duration::from_secs(10_000);
        let lent = Lent { token: "t".into(), since };
        for (minutes, holds) in [(0, true), (54, true), (55, false), (60, false), (600, false)] {
            assert_eq!(lent.holds(since + Duration::from_secs(60 * minutes)), holds, "{minutes}");
        }
        assert!(!lent.holds(since - Duration::from_secs(1)));
    }

    #[test]
    fn accounts_differ_in_their_names_and_a_token_is_not_in_them() {
        let name = |token: &str, host: &Host| {
            Account::new(Credentials::Token(token.into()), host).map(|account| account.name)
        };
        let (here, there) = (Host::default(), Host::of("https://github.example").unwrap());
        assert_eq!(name("one", &here), name("one", &here));
        assert_ne!(name("one", &here), name("two", &here));
        assert_ne!(name("one", &here), name("one", &there));
        assert!(!name("one", &here).unwrap().contains("one"));
        for odd in ["", "a\nb", "a b", "é"] {
            assert_eq!(name(odd, &here), None, "{odd}");
        }
    }
}
