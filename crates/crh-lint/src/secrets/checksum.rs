//! Tokens with a checksum. A valid checksum proves that a token is not random text.
//!
//! An invalid checksum proves less, because people shorten and alter tokens before they publish
//! them.

/// Result of verifying the checksum of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checksum {
    /// crh knows no checksum for this kind or length of token.
    Absent,
    /// The token was issued by its vendor.
    Valid,
    /// The token is altered or made up.
    Invalid,
}

/// Letters between prefix and checksum.
const BODY_LETTERS: usize = 30;
const CHECKSUM_LETTERS: usize = 6;
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Verifies a token. GitHub and npm tokens end with the CRC-32 of the preceding letters in base 62.
pub(super) fn verify(token: &[u8]) -> Checksum {
    const PREFIXES: [&[u8]; 6] = [b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"npm_"];
    let Some(rest) = PREFIXES.iter().find_map(|prefix| token.strip_prefix(*prefix)) else {
        return Checksum::Absent;
    };
    if rest.len() != BODY_LETTERS + CHECKSUM_LETTERS {
        return Checksum::Absent;
    }
    let (body, checksum) = rest.split_at(BODY_LETTERS);
    if base_62(crc_32(body)) == checksum { Checksum::Valid } else { Checksum::Invalid }
}

fn crc_32(bytes: &[u8]) -> u32 {
    /// The reversed polynomial of CRC-32, as in zip files.
    const POLYNOMIAL: u32 = 0xEDB8_8320;
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            (sum >> 1) ^ if sum & 1 == 1 { POLYNOMIAL } else { 0 }
        })
    })
}

fn base_62(mut number: u32) -> [u8; CHECKSUM_LETTERS] {
    let mut digits = [DIGITS[0]; CHECKSUM_LETTERS];
    for digit in digits.iter_mut().rev() {
        let at = usize::try_from(number % 62).unwrap_or_default();
        *digit = DIGITS[at];
        number /= 62;
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_match_reference_values() {
        assert_eq!(crc_32(b"123456789"), 0xCBF4_3926);
        assert_eq!(&base_62(0), b"000000");
        assert_eq!(&base_62(61), b"00000z");
        assert_eq!(&base_62(u32::MAX), b"4gfFC3");
    }

    #[test]
    fn altered_token_has_invalid_checksum() {
        let letters = "R7kq2ZpXw9LmN4vB8sTc1YdHf6JgAe";
        let sum = base_62(crc_32(letters.as_bytes()));
        let token = format!("npm_{letters}{}", String::from_utf8_lossy(&sum));
        assert_eq!(verify(token.as_bytes()), Checksum::Valid);
        assert_eq!(verify(token.replace('Z', "z").as_bytes()), Checksum::Invalid);
        assert_eq!(verify(b"npm_short"), Checksum::Absent);
        assert_eq!(verify(token.replace("npm_", "hf_").as_bytes()), Checksum::Absent);
    }
}
