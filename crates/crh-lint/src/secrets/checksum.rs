//! Tokens that carry a checksum of themselves, so that anybody can tell them from letters drawn at random.
//!
//! A wrong checksum says less: people shorten tokens and change letters in them before they show them.

/// What a token's checksum says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checksum {
    /// Tokens of this kind have none.
    None,
    /// It is right: the token was issued.
    Right,
    /// It is wrong.
    Wrong,
}

/// The letters that a token has between its prefix and its checksum.
const LETTERS: usize = 30;
/// The letters of the checksum.
const SUM: usize = 6;
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// What the checksum of a token says. Those of GitHub and npm end with the CRC-32 of the letters before it, in base 62.
pub(super) fn of(token: &[u8]) -> Checksum {
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
    /// The reversed polynomial of the checksum that zip files have, too.
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
    fn checksums_are_those_that_others_compute() {
        assert_eq!(crc_32(b"123456789"), 0xCBF4_3926);
        assert_eq!(&base_62(0), b"000000");
        assert_eq!(&base_62(61), b"00000z");
        assert_eq!(&base_62(u32::MAX), b"4gfFC3");
    }

    #[test]
    fn a_token_with_another_letter_has_a_wrong_checksum() {
        let letters = "R7kq2ZpXw9LmN4vB8sTc1YdHf6JgAe";
        let sum = base_62(crc_32(letters.as_bytes()));
        let token = format!("npm_{letters}{}", String::from_utf8_lossy(&sum));
        assert_eq!(of(token.as_bytes()), Checksum::Right);
        assert_eq!(of(token.replace('Z', "z").as_bytes()), Checksum::Wrong);
        assert_eq!(of(b"npm_short"), Checksum::None);
        assert_eq!(of(token.replace("npm_", "hf_").as_bytes()), Checksum::None);
    }
}
