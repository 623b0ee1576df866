//! Tokens with which coding agents act for a person.
//!
//! The database has a hash of the agent's token, and the person's GitHub token, encrypted with a
//! key that is derived from the agent's token. A reader of the database can use neither.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;
use secrecy::{ExposeSecret, SecretString};

/// A token that an agent sent or will get.
#[derive(Debug, Clone)]
pub(crate) struct AgentToken(SecretString);

impl AgentToken {
    /// A token with a text from [`crate::session::Sessions::random_text`], or from an agent.
    pub(crate) fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// Identifies the token in the database. The hash needs no salt: the token has 256 random
    /// bits, so it cannot be guessed.
    pub(crate) fn hash(&self) -> String {
        BASE64_STANDARD.encode(self.derive("hash"))
    }

    /// Encrypts the person's GitHub token.
    pub(crate) fn seal(&self, secret: &SecretString) -> Option<String> {
        let mut bytes = secret.expose_secret().as_bytes().to_vec();
        self.key()?.seal_in_place_append_tag(nonce(), Aad::empty(), &mut bytes).ok()?;
        Some(BASE64_STANDARD.encode(bytes))
    }

    /// Decrypts what [`AgentToken::seal`] encrypted.
    pub(crate) fn open(&self, sealed: &str) -> Option<SecretString> {
        let mut bytes = BASE64_STANDARD.decode(sealed).ok()?;
        let text = self.key()?.open_in_place(nonce(), Aad::empty(), &mut bytes).ok()?;
        Some(std::str::from_utf8(text).ok()?.into())
    }

    fn key(&self) -> Option<LessSafeKey> {
        UnboundKey::new(&AES_256_GCM, &self.derive("seal")).ok().map(LessSafeKey::new)
    }

    fn derive(&self, purpose: &str) -> [u8; 32] {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.0.expose_secret().as_bytes());
        let mut derived = [0; 32];
        derived.copy_from_slice(hmac::sign(&key, purpose.as_bytes()).as_ref());
        derived
    }
}

/// The same for all tokens: every token has its own key, which encrypts one text.
fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; NONCE_LEN])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_opens_what_it_sealed() {
        let token = AgentToken::new("one");
        let sealed = token.seal(&"ghu_person".into()).unwrap();
        assert_eq!(token.open(&sealed).unwrap().expose_secret(), "ghu_person");
        assert!(AgentToken::new("two").open(&sealed).is_none());
        assert!(token.open(&sealed[4..]).is_none());
        let stored = format!("{sealed} {}", token.hash());
        assert!(!stored.contains("one") && !stored.contains("ghu_person"), "{stored}");
        assert_ne!(token.hash(), AgentToken::new("two").hash());
    }
}
