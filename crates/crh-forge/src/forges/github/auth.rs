//! GitHub credentials: a token, or a GitHub App that requests tokens valid for an hour.

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

/// Offset of a JWT's `iat` into the past. GitHub recommends a minute because clocks differ.
const JWT_BACKDATE: Duration = Duration::from_secs(60);

/// Lifetime of a JWT. GitHub accepts at most ten minutes.
const JWT_LIFETIME: Duration = Duration::from_secs(9 * 60);

/// Longest App id. Client ids have twenty characters.
const ID_MAX: usize = 64;

/// How crh authenticates to GitHub.
#[derive(Debug)]
pub enum GitHubCredentials {
    /// A user token or an Actions token.
    Token(SecretString),
    /// A GitHub App installation.
    App(Box<GitHubApp>),
}

/// A GitHub App and a repository on which it is installed.
pub struct GitHubApp {
    id: String,
    key: RsaKeyPair,
    repo: Repo,
}

/// Why the App credentials are invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum GitHubAppError {
    /// Malformed id.
    #[error("invalid GitHub App id: expected a number or a client id starting with `Iv`")]
    Id,
    /// Unusable key.
    #[error("invalid GitHub App key: expected an RSA key in PEM format")]
    Key,
}

impl GitHubApp {
    /// Creates an App from its id and its private key in PEM format.
    pub fn new(id: &str, key: &SecretString, repo: Repo) -> Result<Self, GitHubAppError> {
        let id = id.trim();
        if !is_id(id) {
            return Err(GitHubAppError::Id);
        }
        let pem = PrivateKeyDer::from_pem_slice(key.expose_secret().as_bytes());
        let key = match pem.map_err(|_| GitHubAppError::Key)? {
            PrivateKeyDer::Pkcs1(der) => RsaKeyPair::from_der(der.secret_pkcs1_der()),
            PrivateKeyDer::Pkcs8(der) => RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()),
            // Elliptic-curve keys and future key types.
            _ => return Err(GitHubAppError::Key),
        };
        Ok(Self { id: id.to_owned(), key: key.map_err(|_| GitHubAppError::Key)?, repo })
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn repo(&self) -> &Repo {
        &self.repo
    }

    /// A JSON Web Token, signed with the App's key.
    pub(super) fn jwt(&self, now: SystemTime) -> Result<SecretString, GitHubAppError> {
        let seconds = |time: SystemTime| {
            time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
        };
        let header = json!({ "alg": "RS256", "typ": "JWT" }).to_string();
        let claims = json!({
            "iat": seconds(now).saturating_sub(JWT_BACKDATE.as_secs()),
            "exp": seconds(now) + JWT_LIFETIME.as_secs(),
            "iss": self.id,
        });
        let encode = |part: &[u8]| URL_SAFE_NO_PAD.encode(part);
        let signing_input =
            format!("{}.{}", encode(header.as_bytes()), encode(claims.to_string().as_bytes()));
        let mut signature = vec![0; self.key.public().modulus_len()];
        self.key
            .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signing_input.as_bytes(), &mut signature)
            .map_err(|_| GitHubAppError::Key)?;
        Ok(format!("{signing_input}.{}", encode(&signature)).into())
    }
}

/// Accepts a number or a client id (`Iv…`).
fn is_id(text: &str) -> bool {
    let is_id_byte = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'_';
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.len() <= ID_MAX && (is_number || (text.starts_with("Iv") && text.bytes().all(is_id_byte)))
}

impl fmt::Debug for GitHubApp {
    /// Leaves out the key.
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
    fn app_id_is_a_number_or_client_id() {
        for id in ["1", "123456", "Iv1.8a61f9b3a7aba766", "Iv23liAbC"] {
            assert!(is_id(id), "{id}");
        }
        for other in ["", "my-app", "app", "12a", "-1", "1.5", "Iv1 x"] {
            assert!(!is_id(other), "{other}");
        }
    }
}
