//! Tokens with a checksum, which tells them from random letters.
//!
//! A wrong checksum proves less: people shorten and alter tokens before they show them.

/// Result of a checksum test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checksum {
    /// This kind of token has no checksum.
    None,
    /// Correct: the token was issued.
    Right,
    /// Incorrect.
    Wrong,
}

/// Letters between prefix and checksum.
const LETTERS: usize = 30;
/// Letters of the checksum.
const SUM: usize = 6;
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Verifies a token. GitHub and npm tokens end with the CRC-32 of the preceding letters in base 62.
pub(super) fn verify(token: &[u8]) -> Checksum {
    const PREFIXES: [&[u8]; 6] = [b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"npm_"];
    let Some(rest) = PREFIXES.iter().find_map(|prefix| token.strip_prefix(*prefix)) else {
        return Checksum::None;
    };
    if rest.len() != LETTERS + SUM {
        return Checksum::None;
    }
    let (letters, sum) = rest.split_at(LETTERS);
    if base_62(crc_32(letters)) == sum { Checksum::Right } else { Checksum::Wrong }
}

fn crc_32(bytes: &[u8]) -> u32 {
    /// The reversed polynomial, as in zip files.
    const POLYNOMIAL: u32 = 0xEDB8_8320;
    !bytes.iter().fold(u32::MAX, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| {
            (sum >> 1) ^ if sum & 1 == 1 { POLYNOMIAL } else { 0 }
        })
    })
}

fn base_62(mut number: u32) -> [u8; SUM] {
    let mut digits = [DIGITS[0]; SUM];
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
    fn altered_token_has_wrong_checksum() {
        let letters = "R7kq2ZpXw9LmN4vB8sTc1YdHf6JgAe";
        let sum = base_62(crc_32(letters.as_bytes()));
        let token = format!("npm_{letters}{}", String::from_utf8_lossy(&sum));
        assert_eq!(verify(token.as_bytes()), Checksum::Right);
        assert_eq!(verify(token.replace('Z', "z").as_bytes()), Checksum::Wrong);
        assert_eq!(verify(b"npm_short"), Checksum::None);
        assert_eq!(verify(token.replace("npm_", "hf_").as_bytes()), Checksum::None);
    }
}
