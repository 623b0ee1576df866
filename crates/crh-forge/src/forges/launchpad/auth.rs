//! Launchpad credentials: OAuth with PLAINTEXT signatures, the only kind that Launchpad accepts.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;

use crate::forge_code::encode_part;
use crate::http::message::MASK;

/// Default consumer key.
pub const CONSUMER: &str = "crh";

/// Section of launchpadlib's credentials file.
const SECTION: &str = "1";

/// Longest consumer key, token or secret. Launchpad's have up to 80 characters.
const VALUE_MAX: usize = 255;

/// How crh authenticates to Launchpad.
#[derive(Clone)]
pub struct LaunchpadCredentials {
    consumer: String,
    access: Option<OAuthAccess>,
}

#[derive(Clone)]
struct OAuthAccess {
    token: String,
    secret: SecretString,
}

/// Why credentials are invalid. Messages contain no secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum LaunchpadCredentialsError {
    /// The token or the secret is missing.
    #[error("set both `LP_ACCESS_TOKEN` and `LP_ACCESS_SECRET`; one is missing")]
    OneMissing,
    /// Invalid characters.
    #[error("{0} has invalid characters (is there a line break in it?)")]
    Value(&'static str),
    /// Not a credentials file of launchpadlib.
    #[error(
        "the credentials file has no section `[1]` with `consumer_key`, `access_token` and `access_secret`, as launchpadlib writes it"
    )]
    File,
}

impl LaunchpadCredentials {
    /// Anonymous access to public data.
    pub fn anonymous() -> Self {
        Self { consumer: CONSUMER.to_owned(), access: None }
    }

    /// From `LP_ACCESS_TOKEN`, `LP_ACCESS_SECRET` and `LP_CONSUMER_KEY`; `None` without a token.
    pub fn from_variables(
        token: Option<&str>,
        secret: Option<&SecretString>,
        consumer: Option<&str>,
    ) -> Result<Option<Self>, LaunchpadCredentialsError> {
        let non_empty =
            |text: Option<&str>| text.map(str::to_owned).filter(|text| !text.is_empty());
        let secret = secret.filter(|secret| !secret.expose_secret().is_empty());
        match (non_empty(token), secret) {
            (None, None) => Ok(None),
            (Some(_), None) | (None, Some(_)) => Err(LaunchpadCredentialsError::OneMissing),
            (Some(token), Some(secret)) => {
                let consumer = non_empty(consumer).unwrap_or_else(|| CONSUMER.to_owned());
                Self::new(&consumer, &token, secret).map(Some)
            }
        }
    }

    /// From the values that Launchpad issued.
    pub fn new(
        consumer: &str,
        token: &str,
        secret: &SecretString,
    ) -> Result<Self, LaunchpadCredentialsError> {
        for (name, value) in [
            ("the consumer key", consumer),
            ("the access token", token),
            ("the access secret", secret.expose_secret()),
        ] {
            if value.is_empty() || value.len() > VALUE_MAX || value.chars().any(char::is_control) {
                return Err(LaunchpadCredentialsError::Value(name));
            }
        }
        let access = OAuthAccess { token: token.to_owned(), secret: secret.clone() };
        Ok(Self { consumer: consumer.to_owned(), access: Some(access) })
    }

    /// From a credentials file of launchpadlib.
    pub fn from_file(text: &SecretString) -> Result<Self, LaunchpadCredentialsError> {
        let (mut consumer, mut token, mut secret) = (None, None, None);
        let mut section = "";
        for line in text.expose_secret().lines().map(str::trim) {
            if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                section = name;
                continue;
            }
            let is_comment = line.starts_with(['#', ';']);
            let Some((name, value)) = line.split_once(['=', ':']).filter(|_| !is_comment) else {
                continue;
            };
            if section != SECTION {
                continue;
            }
            // launchpadlib's parser treats `%` as special, so files contain `%%` for each `%`.
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
            (_, _, _) => Err(LaunchpadCredentialsError::File),
        }
    }

    /// A credentials file for launchpadlib; `None` if anonymous. The caller must protect the file.
    pub fn to_file(&self) -> Option<SecretString> {
        let access = self.access.as_ref()?;
        let escape = |value: &str| value.replace('%', "%%");
        let text = format!(
            "[{SECTION}]\nconsumer_key = {}\nconsumer_secret = \naccess_token = {}\naccess_secret = {}\n\n",
            escape(&self.consumer),
            escape(&access.token),
            escape(access.secret.expose_secret()),
        );
        Some(text.into())
    }

    /// Whether access is anonymous.
    pub fn is_anonymous(&self) -> bool {
        self.access.is_none()
    }

    /// The access secret.
    pub(super) fn secret(&self) -> Option<&SecretString> {
        self.access.as_ref().map(|access| &access.secret)
    }

    /// Values to mask: the secret, and the token, although a token is useless without its secret.
    pub fn secrets(&self) -> Vec<SecretString> {
        let access = self.access.iter();
        access.flat_map(|access| [access.token.as_str().into(), access.secret.clone()]).collect()
    }

    /// Masks the token and its secret. Launchpad repeats unknown tokens in error messages.
    pub(super) fn mask(&self, text: &str) -> String {
        match &self.access {
            Some(access) => {
                text.replace(&access.token, MASK).replace(access.secret.expose_secret(), MASK)
            }
            None => text.to_owned(),
        }
    }

    /// The `Authorization` header. `realm` is the address of the web service. A PLAINTEXT signature
    /// is the secret itself and covers no part of the request.
    pub(super) fn authorization(&self, realm: &str, seconds: u64, nonce: u64) -> SecretString {
        let (token, secret) = match &self.access {
            Some(access) => (access.token.as_str(), access.secret.expose_secret()),
            None => ("", ""),
        };
        let header = format!(
            "OAuth realm=\"{realm}\", oauth_consumer_key=\"{}\", oauth_token=\"{}\", \
             oauth_signature_method=\"PLAINTEXT\", oauth_signature=\"{}\", oauth_timestamp=\"{seconds}\", \
             oauth_nonce=\"{nonce}\", oauth_version=\"1.0\"",
            encode_part(&self.consumer),
            encode_part(token),
            encode_part(&format!("&{secret}")),
        );
        header.into()
    }
}

impl fmt::Debug for LaunchpadCredentials {
    /// Leaves out the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("consumer", &self.consumer)
            .field("is_anonymous", &self.is_anonymous())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credentials(consumer: &str) -> LaunchpadCredentials {
        LaunchpadCredentials::new(consumer, "tok", &"s/+&é".into()).unwrap()
    }

    #[test]
    fn plaintext_signature_is_ampersand_and_secret() {
        let header = credentials("System-wide: Ubuntu (box)").authorization(
            "https://api.launchpad.net/",
            5,
            6,
        );
        assert_eq!(
            header.expose_secret(),
            "OAuth realm=\"https://api.launchpad.net/\", oauth_consumer_key=\"System-wide%3A%20Ubuntu%20%28box%29\", \
             oauth_token=\"tok\", oauth_signature_method=\"PLAINTEXT\", oauth_signature=\"%26s%2F%2B%26%C3%A9\", \
             oauth_timestamp=\"5\", oauth_nonce=\"6\", oauth_version=\"1.0\""
        );
        let anonymous = LaunchpadCredentials::anonymous().authorization("r", 1, 2);
        assert!(anonymous.expose_secret().contains("oauth_token=\"\""));
        assert!(anonymous.expose_secret().contains("oauth_signature=\"%26\""));
    }

    #[test]
    fn credentials_file_round_trips() {
        let written = credentials("a 100% b").to_file().unwrap();
        let read = LaunchpadCredentials::from_file(&written).unwrap();
        assert_eq!(
            read.authorization("r", 1, 2).expose_secret(),
            credentials("a 100% b").authorization("r", 1, 2).expose_secret()
        );
        let launchpadlib_file = "# x\n[1]\nconsumer_key = System-wide: Ubuntu (box)\nconsumer_secret = \naccess_token = t\naccess_secret = s\n";
        assert_eq!(
            LaunchpadCredentials::from_file(&launchpadlib_file.into()).unwrap().consumer,
            "System-wide: Ubuntu (box)"
        );
        for invalid in
            ["", "[2]\nconsumer_key=a\naccess_token=b\naccess_secret=c", "[1]\nconsumer_key=a"]
        {
            assert_eq!(
                LaunchpadCredentials::from_file(&invalid.into()).err(),
                Some(LaunchpadCredentialsError::File),
                "{invalid}"
            );
        }
    }

    #[test]
    fn variables_need_token_and_secret_without_line_breaks() {
        let consumer = |token, secret: Option<&str>| {
            let secret = secret.map(SecretString::from);
            let consumer_key = None;
            let credentials =
                LaunchpadCredentials::from_variables(token, secret.as_ref(), consumer_key);
            credentials.map(|credentials| credentials.map(|some| some.consumer))
        };
        assert_eq!(consumer(None, None), Ok(None));
        assert_eq!(consumer(Some(""), Some("")), Ok(None));
        assert_eq!(consumer(Some("t"), Some("s")), Ok(Some("crh".to_owned())));
        assert_eq!(consumer(Some("t"), None), Err(LaunchpadCredentialsError::OneMissing));
        assert_eq!(consumer(None, Some("s")), Err(LaunchpadCredentialsError::OneMissing));
        let error = Err(LaunchpadCredentialsError::Value("the access secret"));
        assert_eq!(consumer(Some("t"), Some("s\n")), error);
    }

    #[test]
    fn debug_output_hides_secrets() {
        assert!(!format!("{:?}", credentials("crh")).contains("tok"));
        let hidden = credentials("crh").secrets();
        let hidden: Vec<&str> = hidden.iter().map(ExposeSecret::expose_secret).collect();
        assert_eq!(hidden, ["tok", "s/+&é"]);
    }
}
