//! Base64 text in lines. Models can read it; people cannot.

use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine as _, alphabet};

/// Minimum length of base64 text. 24 letters encode 18 bytes, the shortest instruction.
const LETTERS_MIN: usize = 24;
/// Maximum letters to decode. Longer words are data, and their start is enough.
const LETTERS_MAX: usize = 16 * 1024;
/// Letters to decode first, to check whether the word is text at all.
const SAMPLE_LETTERS: usize = 48;

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// The texts that a line contains in base64.
pub(super) fn decoded_texts(line: &str) -> impl Iterator<Item = String> {
    let is_letter =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
    let words = line.as_bytes().split(move |byte| !is_letter(*byte));
    words.filter(|word| word.len() >= LETTERS_MIN).filter_map(decode_text)
}

fn decode_text(word: &[u8]) -> Option<String> {
    decode(&word[..SAMPLE_LETTERS.min(word.len())]).filter(|sample| is_text(sample))?;
    let text = decode(&word[..LETTERS_MAX.min(word.len())])?;
    is_text(&text).then(|| String::from_utf8_lossy(&text).into_owned())
}

fn decode(word: &[u8]) -> Option<Vec<u8>> {
    // Four letters encode three bytes; a single extra letter is not a whole byte.
    let letters = if word.len() % 4 == 1 { &word[..word.len() - 1] } else { word };
    STANDARD.decode(letters).or_else(|_| URL_SAFE.decode(letters)).ok()
}

/// Text contains blanks and no control characters.
fn is_text(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(&bytes[..valid_up_to(bytes)]) else { return false };
    let is_readable = |char: char| !char.is_control() || matches!(char, '\n' | '\r' | '\t');
    text.len() + 4 > bytes.len() && text.contains(' ') && text.chars().all(is_readable)
}

/// A character may be cut at the end.
fn valid_up_to(bytes: &[u8]) -> usize {
    std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len)
}
