//! Texts in base64: a model reads them as it reads letters, people do not.

use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine as _, alphabet};

/// The shortest instruction takes so many letters: eighteen bytes.
const LETTERS_MIN: usize = 24;
/// No instruction is longer; what is longer is data, and its beginning is enough.
const LETTERS_MAX: usize = 16 * 1024;
/// How much is decoded to see whether it is a text at all.
const TASTE: usize = 48;

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// The texts that are encoded in a line.
pub(super) fn texts(line: &str) -> impl Iterator<Item = String> {
    let is_letter =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
    let words = line.as_bytes().split(move |byte| !is_letter(*byte));
    words.filter(|word| word.len() >= LETTERS_MIN).filter_map(text)
}

fn text(word: &[u8]) -> Option<String> {
    decoded(&word[..TASTE.min(word.len())]).filter(|taste| is_text(taste))?;
    let text = decoded(&word[..LETTERS_MAX.min(word.len())])?;
    is_text(&text).then(|| String::from_utf8_lossy(&text).into_owned())
}

fn decoded(word: &[u8]) -> Option<Vec<u8>> {
    // Four letters are three bytes; what is left over is no whole byte, or cut off.
    let whole = if word.len() % 4 == 1 { &word[..word.len() - 1] } else { word };
    STANDARD.decode(whole).or_else(|_| URL_SAFE.decode(whole)).ok()
}

/// Words have blanks, and letters that can be read.
fn is_text(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(&bytes[..valid_up_to(bytes)]) else { return false };
    let is_readable = |char: char| !char.is_control() || matches!(char, '\n' | '\r' | '\t');
    text.len() + 4 > bytes.len() && text.contains(' ') && text.chars().all(is_readable)
}

/// A character may be cut in two at the end.
fn valid_up_to(bytes: &[u8]) -> usize {
    std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len)
}
