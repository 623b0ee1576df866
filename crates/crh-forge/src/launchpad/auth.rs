//! As whom Launchpad is asked: OAuth with PLAINTEXT signatures, the one kind that it takes.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;

use crate::asking::said::MASK;

/// The name under which this program asks, where no other was given.
pub const CONSUMER: &str = "crh";

/// The section of the credentials file that launchpadlib reads and writes.
const SECTION: &str = "1";

/// The longest name of a program, token or secret; Launchpad's own have up to 80 characters.
const VALUE_MAX: usize = 255;

/// As whom Launchpad is asked.
#[derive(Clone)]
pub struct Credentials {
    consumer: String,
    access: Option<Access>,
}

/// What a person gave to a program.
#[derive(Clone)]
struct Access {
    token: String,
    secret: SecretString,
}

/// Why there are no credentials. No text in here holds a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum CredentialsError {
    /// One of two that belong together is missing.
    #[error("`LP_ACCESS_TOKEN` and `LP_ACCESS_SECRET` belong together, and one of them is missing")]
    Half,
    /// A value that Launchpad gives out to nobody.
    #[error("{0} holds characters that none has; is there a line break in it?")]
    Value(&'static str),
    /// The file is not one of launchpadlib's.
    #[error(
        "the credentials file has no section `[1]` with `consumer_key`, `access_token` and `access_secret`, as launchpadlib writes it"
    )]
    File,
}

impl Credentials {
    /// Nobody in particular: what is public can be read.
    pub fn anonymous() -> Self {
        Self { consumer: CONSUMER.to_owned(), access: None }
    }

    /// What the variables `LP_ACCESS_TOKEN`, `LP_ACCESS_SECRET` and `LP_CONSUMER_KEY` say; none if there is no token.
    pub fn from_variables(
        token: Option<&str>,
        secret: Option<&SecretString>,
        consumer: Option<&str>,
    ) -> Result<Option<Self>, CredentialsError> {
        let given = |text: Option<&str>| text.map(str::to_owned).filter(|text| !text.is_empty());
        let secret = secret.filter(|secret| !secret.expose_secret().is_empty());
        match (given(token), secret) {
            (None, None) => Ok(None),
            (Some(_), None) | (None, Some(_)) => Err(CredentialsError::Half),
            (Some(token), Some(secret)) => {
                let consumer = given(consumer).unwrap_or_else(|| CONSUMER.to_owned());
                Self::new(&consumer, &token, secret).map(Some)
            }
        }
    }

    /// What Launchpad gave out for a program by this name.
    pub fn new(
        consumer: &str,
        token: &str,
        secret: &SecretString,
    ) -> Result<Self, CredentialsError> {
        for (what, value) in [
            ("the consumer key", consumer),
            ("the access token", token),
            ("the access secret", secret.expose_secret()),
        ] {
            if value.is_empty() || value.len() > VALUE_MAX || value.chars().any(char::is_control) {
                return Err(CredentialsError::Value(what));
            }
        }
        let access = Access { token: token.to_owned(), secret: secret.clone() };
        Ok(Self { consumer: consumer.to_owned(), access: Some(access) })
    }

    /// What stands in a credentials file of launchpadlib's.
    pub fn from_file(text: &SecretString) -> Result<Self, CredentialsError> {
        let (mut consumer, mut token, mut secret) = (None, None, None);
        let mut section = "";
        for line in text.expose_secret().lines().map(str::trim) {
            if let Some(named) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                section = named;
                continue;
            }
            let is_comment = line.starts_with(['#', ';']);
            let Some((name, value)) = line.split_once(['=', ':']).filter(|_| !is_comment) else {
                continue;
            };
            if section != SECTION {
                continue;
            }
            // The reader of these files gives `%` a meaning, so that its writer doubles it.
            let value = value.trim().replace("%%", "%");
            match name.trim().to_ascii_lowercase().as_str() {
                "consumer_key" => consumer = Some(value),
                "access_token" => token = Some(value),
                "access_secret" => secret = Some(SecretString::from(value)),
                _ => {}
            }
        }
        match (consumer, token, secret) {
            (Some(consumer), Some(token), Some(secret)) => Self::new(&consumer, &token, &secret),
            (_, _, _) => Err(CredentialsError::File),
        }
    }

    /// The credentials file that launchpadlib reads; none for nobody. Whoever stores it lets nobody else read it.
    pub fn to_file(&self) -> Option<SecretString> {
        let access = self.access.as_ref()?;
        let doubled = |value: &str| value.replace('%', "%%");
        let text = format!(
            "[{SECTION}]\nconsumer_key = {}\nconsumer_secret = \naccess_token = {}\naccess_secret = {}\n\n",
            doubled(&self.consumer),
            doubled(&access.token),
            doubled(access.secret.expose_secret()),
        );
        Some(text.into())
    }

    /// Whether this is nobody in particular.
    pub fn is_anonymous(&self) -> bool {
        self.access.is_none()
    }

    /// What proves that the token is ours.
    pub(super) fn secret(&self) -> Option<&SecretString> {
        self.access.as_ref().map(|access| &access.secret)
    }

    /// All that must not be shown: the token as well, although it proves nothing without its secret.
    pub fn secrets(&self) -> Vec<SecretString> {
        let access = self.access.iter();
        access.flat_map(|it| [it.token.as_str().into(), it.secret.clone()]).collect()
    }

    /// A text in which neither the token nor its secret stands: Launchpad repeats a token that it does not know.
    pub(super) fn masked(&self, text: &str) -> String {
        match &self.access {
            Some(access) => {
                text.replace(&access.token, MASK).replace(access.secret.expose_secret(), MASK)
            }
            None => text.to_owned(),
        }
    }

    /// The header that says who asks. `realm` is the address of the web service; a PLAINTEXT signature covers nothing else.
    pub(super) fn header(&self, realm: &str, seconds: u64, nonce: u64) -> SecretString {
        let (token, secret) = match &self.access {
            Some(access) => (access.token.as_str(), access.secret.expose_secret()),
            None => ("", ""),
        };
        let header = format!(
            "OAuth realm=\"{realm}\", oauth_consumer_key=\"{}\", oauth_token=\"{}\", \
             oauth_signature_method=\"PLAINTEXT\", oauth_signature=\"{}\", oauth_timestamp=\"{seconds}\", \
             oauth_nonce=\"{nonce}\", oauth_version=\"1.0\"",
            encoded(&self.consumer),
            encoded(token),
            encoded(&format!("&{secret}")),
        );
        header.into()
    }
}

impl fmt::Debug for Credentials {
    /// Which program, and whether for somebody; never a token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("consumer", &self.consumer)
            .field("is_anonymous", &self.is_anonymous())
            .finish_non_exhaustive()
    }
}

/// A value as OAuth wants it in its header: everything is escaped but letters, digits and `-._~`.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(consumer: &str) -> Credentials {
        Credentials::new(consumer, "tok", &"s/+&é".into()).unwrap()
    }

    #[test]
    fn the_signature_is_the_secret_after_an_ampersand() {
        let header = some("System-wide: Ubuntu (box)").header("https://api.launchpad.net/", 5, 6);
        assert_eq!(
            header.expose_secret(),
            "OAuth realm=\"https://api.launchpad.net/\", oauth_consumer_key=\"System-wide%3A%20Ubuntu%20%28box%29\", \
             oauth_token=\"tok\", oauth_signature_method=\"PLAINTEXT\", oauth_signature=\"%26s%2F%2B%26%C3%A9\", \
             oauth_timestamp=\"5\", oauth_nonce=\"6\", oauth_version=\"1.0\""
        );
        let nobody = Credentials::anonymous().header("r", 1, 2);
        assert!(nobody.expose_secret().contains("oauth_token=\"\""));
        assert!(nobody.expose_secret().contains("oauth_signature=\"%26\""));
    }

    #[test]
    fn a_file_is_read_as_it_is_written() {
        let written = some("a 100% b").to_file().unwrap();
        let read = Credentials::from_file(&written).unwrap();
        assert_eq!(
            read.header("r", 1, 2).expose_secret(),
            some("a 100% b").header("r", 1, 2).expose_secret()
        );
        let theirs = "# x\n[1]\nconsumer_key = System-wide: Ubuntu (box)\nconsumer_secret = \naccess_token = t\naccess_secret = s\n";
        assert_eq!(
            Credentials::from_file(&theirs.into()).unwrap().consumer,
            "System-wide: Ubuntu (box)"
        );
        for odd in
            ["", "[2]\nconsumer_key=a\naccess_token=b\naccess_secret=c", "[1]\nconsumer_key=a"]
        {
            assert_eq!(
                Credentials::from_file(&odd.into()).err(),
                Some(CredentialsError::File),
                "{odd}"
            );
        }
    }

    #[test]
    fn variables_belong_together_and_hold_no_line_breaks() {
        let of = |token, secret: Option<&str>| {
            let secret = secret.map(SecretString::from);
            let unnamed = None;
            let found = Credentials::from_variables(token, secret.as_ref(), unnamed);
            found.map(|found| found.map(|it| it.consumer))
        };
        assert_eq!(of(None, None), Ok(None));
        assert_eq!(of(Some(""), Some("")), Ok(None));
        assert_eq!(of(Some("t"), Some("s")), Ok(Some("crh".to_owned())));
        assert_eq!(of(Some("t"), None), Err(CredentialsError::Half));
        assert_eq!(of(None, Some("s")), Err(CredentialsError::Half));
        let odd = Err(CredentialsError::Value("the access secret"));
        assert_eq!(of(Some("t"), Some("s\n")), odd);
    }

    #[test]
    fn nothing_shows_a_secret() {
        assert!(!format!("{:?}", some("crh")).contains("tok"));
        let hidden = some("crh").secrets();
        let hidden: Vec<&str> = hidden.iter().map(ExposeSecret::expose_secret).collect();
        assert_eq!(hidden, ["tok", "s/+&é"]);
    }
}
