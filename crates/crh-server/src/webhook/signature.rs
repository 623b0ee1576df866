//! How a delivery proves that it comes from the forge: a signature (HMAC-SHA256 over the raw body),
//! or the secret itself. Comparisons take constant time.

use axum::http::{HeaderMap, HeaderValue};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;

use crate::clock::UnixMillis;
use crh_forge::rest::WebhookProof;

/// Start of GitHub's signature header.
const PREFIX: &str = "sha256=";

/// Bytes of a SHA-256 signature.
const SIGNATURE_BYTES: usize = 32;

/// Start of a signing token in the format of Standard Webhooks.
const SIGNING_PREFIX: &str = "whsec_";

/// Largest difference between the time of a signature and the clock, in milliseconds.
const TOLERANCE_MS: i64 = 5 * 60_000;

/// Why a delivery does not prove that it comes from the forge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SignatureError {
    /// No header.
    #[error("the delivery has no signature")]
    Missing,
    /// A header that is no SHA-256 signature.
    #[error("the signature is not `sha256=` and 64 hexadecimal digits")]
    Malformed,
    /// A header that is no signature of this forge.
    #[error("the signature cannot be read")]
    Unreadable,
    /// The header has another secret.
    #[error("the secret token is wrong")]
    WrongSecret,
    /// The signature is too old, or from the future.
    #[error("the signature was made more than five minutes ago, or the clocks differ")]
    Expired,
    /// The signature belongs to another body or another secret.
    #[error("the signature does not match the body")]
    Wrong,
}

/// Checks the header `X-Hub-Signature-256`. During a rotation several secrets are valid.
pub fn verify_signature(
    secrets: &[SecretString],
    header: Option<&[u8]>,
    body: &[u8],
) -> Result<(), SignatureError> {
    let header = header.ok_or(SignatureError::Missing)?;
    let digits = header.strip_prefix(PREFIX.as_bytes()).ok_or(SignatureError::Malformed)?;
    let signature = decode_hex(digits).ok_or(SignatureError::Malformed)?;
    check_signature(secrets, body, &signature)
}

/// Checks a delivery of a forge with a plain REST API. During a rotation several secrets are valid.
pub fn verify_webhook(
    proof: WebhookProof,
    secrets: &[SecretString],
    headers: &HeaderMap,
    body: &[u8],
    now: UnixMillis,
) -> Result<(), SignatureError> {
    match proof {
        WebhookProof::HexSignature(names) => {
            let header = names.iter().find_map(|name| headers.get(*name));
            verify_hex_signature(secrets, header.map(HeaderValue::as_bytes), body)
        }
        WebhookProof::SecretOrStandardSignature(name) => match headers.get(name) {
            Some(secret) => verify_secret(secrets, secret.as_bytes()),
            None => verify_standard_signature(secrets, headers, body, now),
        },
    }
}

/// Checks a signature of 64 hexadecimal digits without a prefix.
fn verify_hex_signature(
    secrets: &[SecretString],
    header: Option<&[u8]>,
    body: &[u8],
) -> Result<(), SignatureError> {
    let header = header.filter(|header| !header.is_empty()).ok_or(SignatureError::Missing)?;
    let signature = decode_hex(header).ok_or(SignatureError::Unreadable)?;
    check_signature(secrets, body, &signature)
}

/// Checks a header that has the secret itself.
fn verify_secret(secrets: &[SecretString], header: &[u8]) -> Result<(), SignatureError> {
    let is_same = |secret: &SecretString| {
        let secret = secret.expose_secret().as_bytes();
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
        hmac::verify(&key, header, hmac::sign(&key, secret).as_ref()).is_ok()
    };
    if secrets.iter().any(is_same) { Ok(()) } else { Err(SignatureError::WrongSecret) }
}

/// Checks the headers of Standard Webhooks: `webhook-signature` signs id, time and body.
fn verify_standard_signature(
    secrets: &[SecretString],
    headers: &HeaderMap,
    body: &[u8],
    now: UnixMillis,
) -> Result<(), SignatureError> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let (Some(signatures), Some(id), Some(time)) =
        (text("webhook-signature"), text("webhook-id"), text("webhook-timestamp"))
    else {
        return Err(SignatureError::Missing);
    };
    let seconds: i64 = time.parse().map_err(|_| SignatureError::Unreadable)?;
    if now.0.saturating_sub(seconds.saturating_mul(1_000)).saturating_abs() > TOLERANCE_MS {
        return Err(SignatureError::Expired);
    }
    let signed = [format!("{id}.{time}.").as_bytes(), body].concat();
    let keys: Vec<hmac::Key> = secrets.iter().map(signing_key).collect();
    let matches = |signature: &str| {
        let bytes = signature.strip_prefix("v1,").and_then(|text| STANDARD.decode(text).ok());
        let is_of = |key: &hmac::Key| {
            bytes.as_ref().is_some_and(|bytes| hmac::verify(key, &signed, bytes).is_ok())
        };
        keys.iter().any(is_of)
    };
    if signatures.split(' ').any(matches) { Ok(()) } else { Err(SignatureError::Wrong) }
}

/// The key of a signing token: the decoded text after `whsec_`, or the token itself.
fn signing_key(secret: &SecretString) -> hmac::Key {
    let text = secret.expose_secret();
    let decoded = text.strip_prefix(SIGNING_PREFIX).and_then(|text| STANDARD.decode(text).ok());
    let bytes = decoded.as_deref().unwrap_or(text.as_bytes());
    hmac::Key::new(hmac::HMAC_SHA256, bytes)
}

fn check_signature(
    secrets: &[SecretString],
    body: &[u8],
    signature: &[u8],
) -> Result<(), SignatureError> {
    let matches = |secret: &SecretString| {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose_secret().as_bytes());
        hmac::verify(&key, body, signature).is_ok()
    };
    if secrets.iter().any(matches) { Ok(()) } else { Err(SignatureError::Wrong) }
}

/// The header `X-Hub-Signature-256` that GitHub sends if the webhook has this secret.
pub fn sign(secret: &SecretString, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose_secret().as_bytes());
    let signature = hmac::sign(&key, body);
    let digits: String = signature.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{PREFIX}{digits}")
}

fn decode_hex(digits: &[u8]) -> Option<[u8; SIGNATURE_BYTES]> {
    if digits.len() != 2 * SIGNATURE_BYTES {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut bytes = [0; SIGNATURE_BYTES];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(secrets: &[&str], header: Option<&str>, body: &str) -> Result<(), SignatureError> {
        let secrets: Vec<SecretString> = secrets.iter().map(|&text| text.into()).collect();
        verify_signature(&secrets, header.map(str::as_bytes), body.as_bytes())
    }

    /// The example of GitHub's documentation.
    #[test]
    fn signature_of_the_documented_example_is_accepted() {
        let header = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        assert_eq!(check(&["It's a Secret to Everybody"], Some(header), "Hello, World!"), Ok(()));
        assert_eq!(sign(&"It's a Secret to Everybody".into(), b"Hello, World!"), header);
    }

    #[test]
    fn secret_in_a_header_is_compared() {
        let secrets = ["old".into(), "new".into()];
        assert_eq!(verify_secret(&secrets, b"new"), Ok(()));
        for other in [&b""[..], b"ne", b"new ", b"NEW", b"oldnew"] {
            assert_eq!(verify_secret(&secrets, other), Err(SignatureError::WrongSecret));
        }
        assert_eq!(verify_secret(&[], b""), Err(SignatureError::WrongSecret));
    }

    #[test]
    fn signature_without_prefix_is_accepted_and_others_refused() {
        let good = sign(&"secret".into(), b"body");
        let good = good.trim_start_matches(PREFIX).as_bytes();
        let check = |header, body| verify_hex_signature(&["secret".into()], header, body);
        assert_eq!(check(Some(good), b"body"), Ok(()));
        assert_eq!(check(Some(good), b"other"), Err(SignatureError::Wrong));
        assert_eq!(check(Some(&good[1..]), b"body"), Err(SignatureError::Unreadable));
        // Some forges send an empty header if the webhook has no secret.
        assert_eq!(check(Some(b""), b"body"), Err(SignatureError::Missing));
        assert_eq!(check(None, b"body"), Err(SignatureError::Missing));
    }

    /// The example of the specification of Standard Webhooks.
    #[test]
    fn standard_signature_covers_id_time_and_body() {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let body = br#"{"test": 2432232314}"#;
        let signature = "v1,bad= v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        let check = |id: &'static str, time: &'static str, body: &[u8], now| {
            let mut headers = HeaderMap::new();
            headers.insert("webhook-signature", signature.parse().unwrap());
            headers.insert("webhook-id", id.parse().unwrap());
            headers.insert("webhook-timestamp", time.parse().unwrap());
            verify_standard_signature(&[secret.into()], &headers, body, UnixMillis(now))
        };
        let (id, time, now) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", 1_614_265_330_000);
        assert_eq!(check(id, time, body, now), Ok(()));
        assert_eq!(check("msg_other", time, body, now), Err(SignatureError::Wrong));
        assert_eq!(check(id, time, b"{}", now), Err(SignatureError::Wrong));
        assert_eq!(check(id, "1614265331", body, now), Err(SignatureError::Wrong));
        assert_eq!(check(id, "soon", body, now), Err(SignatureError::Unreadable));
        for late in [now + 300_001, now - 300_001] {
            assert_eq!(check(id, time, body, late), Err(SignatureError::Expired));
        }
        let none = verify_standard_signature(&[], &HeaderMap::new(), body, UnixMillis(now));
        assert_eq!(none, Err(SignatureError::Missing));
    }

    #[test]
    fn other_signatures_are_refused() {
        let good = sign(&"secret".into(), b"body");
        assert_eq!(check(&["new", "secret"], Some(&good), "body"), Ok(()));
        assert_eq!(
            check(&["secret"], Some(&good.to_uppercase()), "body"),
            Err(SignatureError::Malformed)
        );
        assert_eq!(check(&["secret"], Some(&good), "body "), Err(SignatureError::Wrong));
        assert_eq!(check(&["other"], Some(&good), "body"), Err(SignatureError::Wrong));
        assert_eq!(check(&[], Some(&good), "body"), Err(SignatureError::Wrong));
        assert_eq!(check(&["secret"], None, "body"), Err(SignatureError::Missing));
        for header in ["", "sha256=", "sha1=0", &good[..70], &format!("{good}0"), "sha256=é"] {
            assert_eq!(check(&["secret"], Some(header), "body"), Err(SignatureError::Malformed));
        }
    }
}
