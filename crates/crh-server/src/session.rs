//! Sign-in of people who look at the page: sessions in memory, CSRF tokens, and what a person may
//! see. The page token is a secret of the server that gives access to everything.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use secrecy::{ExposeSecret, SecretString};

use crate::clock::UnixMillis;
use crate::job::InstallationId;

/// Lifetime of a session: a working day.
const SESSION_MS: i64 = 12 * 3_600_000;

/// Age after which crh asks GitHub again what a person may see.
const ACCESS_MS: i64 = 5 * 60_000;

/// Maximum number of sessions. A new one replaces the oldest.
const SESSIONS_MAX: usize = 10_000;

/// Minimum characters of the page token.
pub const TOKEN_CHARS_MIN: usize = 16;

/// Random bytes of a session id.
const ID_BYTES: usize = 32;

/// What a signed-in person may see and do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Viewer {
    /// Signed in with the page token, or on a loopback address without sign-in: everything.
    Operator,
    /// Signed in with GitHub: repositories to which the person has access.
    Person {
        /// Login.
        login: String,
        /// Access to repositories, by their names in lower case.
        repositories: BTreeMap<String, RepositoryAccess>,
    },
}

/// Access of a person to a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepositoryAccess {
    /// The installation that has the repository. If an account gives up its name, another account
    /// can take it: the same repository name then belongs to strangers.
    pub installation: InstallationId,
    /// What the person may do.
    pub role: RepositoryRole,
}

/// What a person may do in a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepositoryRole {
    /// May look.
    Read,
    /// May also retry and cancel jobs, start reviews and dismiss issues.
    Write,
}

impl Viewer {
    /// Name for the audit log.
    pub fn name(&self) -> &str {
        match self {
            Self::Operator => "operator",
            Self::Person { login, .. } => login,
        }
    }

    /// Whether the person may see what an installation did in a repository.
    pub fn sees(&self, installation: InstallationId, repository: &str) -> bool {
        self.role(installation, repository).is_some()
    }

    /// Whether the person has [`RepositoryRole::Write`] in a repository of this installation.
    pub fn may_write(&self, installation: InstallationId, repository: &str) -> bool {
        self.role(installation, repository) == Some(RepositoryRole::Write)
    }

    fn role(&self, installation: InstallationId, repository: &str) -> Option<RepositoryRole> {
        match self {
            Self::Operator => Some(RepositoryRole::Write),
            Self::Person { repositories, .. } => repositories
                .get(&repository.to_ascii_lowercase())
                .filter(|access| access.installation == installation)
                .map(|access| access.role),
        }
    }
}

/// A session.
#[derive(Debug, Clone)]
pub struct Session {
    /// The person.
    pub viewer: Viewer,
    /// The person's GitHub token. The operator has none.
    pub token: Option<SecretString>,
    /// Keyed hash of the page token that started the session. If the page token changes, the
    /// session ends.
    pub page_token: Option<String>,
    /// CSRF token, which forms must send back.
    pub csrf: String,
    /// Time of sign-in.
    started_at: UnixMillis,
    /// Time at which GitHub last said what the person may see.
    pub access_at: UnixMillis,
}

/// All sessions. They end with the process.
pub struct Sessions {
    sessions: Mutex<BTreeMap<[u8; ID_BYTES], Session>>,
    random: SystemRandom,
    /// HMAC key for CSRF tokens, for the hash of the page token and for the keys of the map.
    key: hmac::Key,
}

impl std::fmt::Debug for Sessions {
    /// Leaves out ids and tokens.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sessions")
    }
}

impl Sessions {
    /// Creates an empty list; `None` if the system has no random numbers.
    pub fn new() -> Option<Self> {
        let random = SystemRandom::new();
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &random).ok()?;
        Some(Self { sessions: Mutex::default(), random, key })
    }

    /// Starts a session and returns the value of its cookie.
    pub fn start(
        &self,
        viewer: Viewer,
        token: Option<SecretString>,
        page_token: Option<String>,
        now: UnixMillis,
    ) -> Option<String> {
        let id = self.random_text()?;
        self.keep(&id, viewer, token, page_token, now);
        Some(id)
    }

    /// Starts a session with a given id.
    pub fn keep(
        &self,
        id: &str,
        viewer: Viewer,
        token: Option<SecretString>,
        page_token: Option<String>,
        now: UnixMillis,
    ) {
        let csrf = self.derive("csrf", id);
        let session = Session { viewer, token, page_token, csrf, started_at: now, access_at: now };
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|_, session| session.is_valid(now));
        if sessions.len() >= SESSIONS_MAX
            && let Some(oldest) =
                sessions.iter().min_by_key(|(_, session)| session.started_at).map(|(id, _)| *id)
        {
            sessions.remove(&oldest);
        }
        sessions.insert(self.lookup_key(id), session);
    }

    /// The session of a cookie.
    pub fn find(&self, cookie: &str, now: UnixMillis) -> Option<Session> {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.get(&self.lookup_key(cookie)).filter(|session| session.is_valid(now)).cloned()
    }

    /// Stores what a person may see now.
    pub fn refresh(&self, cookie: &str, viewer: Viewer, now: UnixMillis) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = sessions.get_mut(&self.lookup_key(cookie)) {
            session.viewer = viewer;
            session.access_at = now;
        }
    }

    /// Ends a session.
    pub fn end(&self, cookie: &str) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.remove(&self.lookup_key(cookie));
    }

    /// A random text for cookies, OAuth states and agent tokens.
    pub fn random_text(&self) -> Option<String> {
        let mut bytes = [0; ID_BYTES];
        self.random.fill(&mut bytes).ok()?;
        Some(hex(&bytes))
    }

    /// Keyed hash of a value for one purpose. Only this server can compute it.
    pub fn derive(&self, purpose: &str, value: &str) -> String {
        hex(hmac::sign(&self.key, format!("{purpose}:{value}").as_bytes()).as_ref())
    }

    /// A keyed hash of the page token, which does not reveal the token.
    pub fn token_mark(&self, token: &SecretString) -> String {
        self.derive("page token", token.expose_secret())
    }

    /// Whether two secret texts are equal, in constant time.
    pub fn same(&self, left: &str, right: &str) -> bool {
        let signature = hmac::sign(&self.key, left.as_bytes());
        hmac::verify(&self.key, right.as_bytes(), signature.as_ref()).is_ok()
    }

    /// Key of the map of sessions: a keyed hash, so that the time of a search does not reveal ids.
    fn lookup_key(&self, cookie: &str) -> [u8; ID_BYTES] {
        let mut key = [0; ID_BYTES];
        key.copy_from_slice(hmac::sign(&self.key, format!("id:{cookie}").as_bytes()).as_ref());
        key
    }
}

impl Session {
    fn is_valid(&self, now: UnixMillis) -> bool {
        (0..SESSION_MS).contains(&(now.0 - self.started_at.0))
    }

    /// Whether crh must ask GitHub again what the person may see.
    pub fn is_outdated(&self, now: UnixMillis) -> bool {
        self.token.is_some() && now.0 - self.access_at.0 >= ACCESS_MS
    }
}

/// Whether a token that a person typed is the page token, in constant time.
pub fn is_page_token(sessions: &Sessions, typed: &str, expected: &SecretString) -> bool {
    sessions.same(typed.trim(), expected.expose_secret())
}

/// Whether a page token is long enough.
pub fn is_long_token(token: &SecretString) -> bool {
    token.expose_secret().chars().count() >= TOKEN_CHARS_MIN
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMillis = UnixMillis(1_000_000);

    #[test]
    fn session_ends_after_its_lifetime_or_sign_out() {
        let sessions = Sessions::new().unwrap();
        let cookie = sessions.start(Viewer::Operator, None, None, NOW).unwrap();
        assert!(sessions.find(&cookie, NOW.plus_ms(SESSION_MS - 1)).is_some());
        assert!(sessions.find(&cookie, NOW.plus_ms(SESSION_MS)).is_none());
        assert!(sessions.find("0", NOW).is_none());
        let other = sessions.start(Viewer::Operator, None, None, NOW).unwrap();
        assert_ne!(cookie, other);
        let csrf = |cookie: &str| sessions.find(cookie, NOW).unwrap().csrf;
        assert_ne!(csrf(&cookie), csrf(&other));
        sessions.end(&cookie);
        assert!(sessions.find(&cookie, NOW).is_none());
    }

    #[test]
    fn number_of_sessions_is_bounded() {
        let sessions = Sessions::new().unwrap();
        let first = sessions.start(Viewer::Operator, None, None, NOW).unwrap();
        for _ in 0..SESSIONS_MAX {
            sessions.start(Viewer::Operator, None, None, NOW.plus_ms(1)).unwrap();
        }
        assert!(sessions.find(&first, NOW.plus_ms(2)).is_none());
    }

    #[test]
    fn person_sees_only_own_repositories() {
        let repositories =
            [("acme/shop", RepositoryRole::Read), ("acme/tools", RepositoryRole::Write)];
        let (own, former) = (InstallationId(7), InstallationId(6));
        let access = |role| RepositoryAccess { installation: own, role };
        let repositories = repositories.map(|(name, role)| (name.to_owned(), access(role))).into();
        let ann = Viewer::Person { login: "ann".to_owned(), repositories };
        let row = |id, name: &str| (ann.sees(id, name), ann.may_write(id, name));
        assert_eq!(row(own, "Acme/Shop"), (true, false));
        assert_eq!(row(own, "acme/tools"), (true, true));
        assert_eq!(row(own, "acme/other"), (false, false));
        assert_eq!(row(former, "acme/tools"), (false, false), "a former owner of the name");
        assert!(Viewer::Operator.may_write(own, "acme/other"));
    }

    #[test]
    fn page_token_is_compared_as_a_whole() {
        let sessions = Sessions::new().unwrap();
        let expected = SecretString::from("correct horse");
        assert!(is_page_token(&sessions, " correct horse\n", &expected));
        for typed in ["", "correct", "correct horse!", "Correct horse"] {
            assert!(!is_page_token(&sessions, typed, &expected), "{typed}");
        }
    }
}
