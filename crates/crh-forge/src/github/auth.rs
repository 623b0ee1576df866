//! As whom GitHub is asked: with a token, or as an App that gets itself tokens of an hour.

use std::fmt;
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use thiserror::Error;

use super::Repo;

/// How far an App's statement about itself begins in the past: GitHub advises a minute, since clocks differ.
const BACK: Duration = Duration::from_secs(60);

/// How long it holds: GitHub accepts ten minutes, counted from its own clock.
const HOLDS: Duration = Duration::from_secs(9 * 60);

/// The longest id: a client id has twenty characters.
const ID_MAX: usize = 64;

/// As whom GitHub is asked.
#[derive(Debug)]
pub enum Credentials {
    /// Whoever a token belongs to.
    Token(SecretString),
    /// An App, where it is installed.
    App(Box<App>),
}

/// A GitHub App and the repository whose installation of it is meant.
pub struct App {
    id: String,
    key: RsaKeyPair,
    repo: Repo,
}

/// Why there is no such App.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum AppError {
    /// The id would not be one.
    #[error("the id of a GitHub App is a number, or the client id that begins with `Iv`")]
    Id,
    /// The key cannot be used.
    #[error("the key of the GitHub App is no RSA key in PEM form, as GitHub gives it out")]
    Key,
}

impl App {
    /// An App by its id and its private key in PEM form.
    pub fn new(id: &str, key: &SecretString, repo: Repo) -> Result<Self, AppError> {
        let id = id.trim();
        if !is_id(id) {
            return Err(AppError::Id);
        }
        let pem = PrivateKeyDer::from_pem_slice(key.expose_secret().as_bytes());
        let key = match pem.map_err(|_| AppError::Key)? {
            PrivateKeyDer::Pkcs1(der) => RsaKeyPair::from_der(der.secret_pkcs1_der()),
            PrivateKeyDer::Pkcs8(der) => RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()),
            // Keys on curves, and whatever comes next.
            _ => return Err(AppError::Key),
        };
        Ok(Self { id: id.to_owned(), key: key.map_err(|_| AppError::Key)?, repo })
    }

    /// Its id.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// The repository where it is installed.
    pub(super) fn repo(&self) -> &Repo {
        &self.repo
    }

    /// The statement by which an App shows who it is: a JSON Web Token, signed with its key.
    pub(super) fn statement(&self, now: SystemTime) -> Result<SecretString, AppError> {
        let seconds = |time: SystemTime| {
            time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
        };
        let head = json!({ "alg": "RS256", "typ": "JWT" }).to_string();
        let claims = json!({
            "iat": seconds(now).saturating_sub(BACK.as_secs()),
            "exp": seconds(now) + HOLDS.as_secs(),
            "iss": self.id,
        });
        let text = |part: &[u8]| URL_SAFE_NO_PAD.encode(part);
        let signed = format!("{}.{}", text(head.as_bytes()), text(claims.to_string().as_bytes()));
        let mut signature = vec![0; self.key.public().modulus_len()];
        self.key
            .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature)
            .map_err(|_| AppError::Key)?;
        Ok(format!("{signed}.{}", text(&signature)).into())
    }
}

/// Whether this is a number, or a client id as GitHub gives them out.
fn is_id(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'_';
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.len() <= ID_MAX && (is_number || (text.starts_with("Iv") && text.bytes().all(plain)))
}

impl fmt::Debug for App {
    /// Which one, never its key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App")
            .field("id", &self.id)
            .field("repo", &self.repo)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_an_app_is_a_number_or_a_client_id() {
        for id in ["1", "123456", "Iv1.8a61f9b3a7aba766", "Iv23liAbC"] {
            assert!(is_id(id), "{id}");
        }
        for other in ["", "my-app", "app", "12a", "-1", "1.5", "Iv1 x"] {
            assert!(!is_id(other), "{other}");
        }
    }
}
