//! The signature of a delivery: HMAC-SHA256 over the raw body, compared in constant time.

use ring::hmac;
use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;

/// What the header of the signature starts with.
const PREFIX: &str = "sha256=";

/// Bytes of a SHA-256 signature.
const SIGNATURE_BYTES: usize = 32;

/// Why a delivery is not from the forge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SignatureError {
    /// No header.
    #[error("the delivery has no signature")]
    Missing,
    /// A header that is no SHA-256 signature.
    #[error("the signature is not `sha256=` and 64 hexadecimal digits")]
    Malformed,
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
    let matches = |secret: &SecretString| {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.expose_secret().as_bytes());
        hmac::verify(&key, body, &signature).is_ok()
    };
    if secrets.iter().any(matches) { Ok(()) } else { Err(SignatureError::Wrong) }
}

/// The header that a forge with this secret sends.
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
