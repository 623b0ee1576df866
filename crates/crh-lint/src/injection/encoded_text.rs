//! Text that models can decode and people cannot read: base64, hexadecimal digits, character codes,
//! rot13 and reversed text. Pieces may be split over strings and lines.

use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine as _, alphabet};

use super::normalized_text::LineOffsets;

/// Minimum length of base64 text. 24 letters encode 18 bytes, about the length of the shortest
/// instruction.
const LETTERS_MIN: usize = 24;
/// Maximum letters to decode. Longer text is data, and its start is enough.
const LETTERS_MAX: usize = 16 * 1024;
/// Letters to decode first, to check whether the letters encode text at all.
const SAMPLE_LETTERS: usize = 48;
/// Minimum length of the first piece of base64 text.
const PIECE_LETTERS_MIN: usize = 4;
/// Minimum number of character codes in a row.
const CODES_MIN: usize = 12;
/// Maximum length of punctuation and blanks between two pieces.
const GAP_BYTES_MAX: usize = 40;
/// Maximum encodings around one text.
const DEPTH_MAX: usize = 3;

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// The words `instruction`, `review`, `approve` and `finding` in rot13.
const ROT13_WORDS: [&str; 4] = ["vafgehpgvba", "erivrj", "nccebir", "svaqvat"];
/// The same words backwards.
const REVERSED_WORDS: [&str; 4] = ["noitcurtsni", "weiver", "evorppa", "gnidnif"];

/// The texts that consecutive lines encode, each with the number of its first line.
pub(super) fn decoded_texts(lines: &[(u32, String)]) -> Vec<(u32, String)> {
    let mut text = String::new();
    let mut offsets = LineOffsets::default();
    for (number, line) in lines {
        offsets.push(text.len(), *number);
        text.push_str(line);
        text.push('\n');
    }
    let decoded = decode_all(&text, DEPTH_MAX).into_iter();
    let mut decoded: Vec<(u32, String)> =
        decoded.map(|(offset, text)| (offsets.line_at(offset), text)).collect();
    for (number, line) in lines {
        decoded.extend(turned_text(line).map(|text| (*number, text)));
    }
    decoded
}

fn decode_all(text: &str, depth: usize) -> Vec<(usize, String)> {
    let mut decoded = base64_texts(text);
    decoded.extend(code_texts(text, hexadecimal_code));
    decoded.extend(code_texts(text, decimal_code));
    if depth > 1 {
        let inner = |(offset, text): &(usize, String)| {
            let offset = *offset;
            decode_all(text, depth - 1).into_iter().map(move |(_, text)| (offset, text))
        };
        let nested: Vec<(usize, String)> = decoded.iter().flat_map(inner).collect();
        decoded.extend(nested);
    }
    decoded
}

/// A piece of base64 letters.
#[derive(Debug, Clone, Copy)]
struct Base64Piece<'t> {
    offset: usize,
    letters: &'t [u8],
    /// Whether padding follows, which ends an encoding.
    is_padded: bool,
    /// Whether only punctuation and blanks are between this piece and the one before.
    continues: bool,
}

fn base64_texts(text: &str) -> Vec<(usize, String)> {
    let pieces = base64_pieces(text.as_bytes());
    let mut decoded = Vec::new();
    let mut next = 0;
    for index in 0..pieces.len() {
        // The pieces of a decoded text are not decoded again.
        if index < next || pieces[index].letters.len() < PIECE_LETTERS_MIN {
            continue;
        }
        let is_next = |(number, piece): &(usize, &Base64Piece<'_>)| *number == 0 || piece.continues;
        let run = pieces[index..].iter().enumerate().take_while(is_next).map(|(_, piece)| piece);
        if decode_run(run.clone(), SAMPLE_LETTERS).is_none() {
            continue;
        }
        if let Some(text) = decode_run(run.clone(), LETTERS_MAX) {
            next = index + run.count();
            decoded.push((pieces[index].offset, text));
        }
    }
    decoded
}

fn base64_pieces(text: &[u8]) -> Vec<Base64Piece<'_>> {
    let is_letter =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
    let mut pieces: Vec<Base64Piece<'_>> = Vec::new();
    let (mut offset, mut gap_start) = (0, 0);
    while offset < text.len() {
        let length = text[offset..].iter().take_while(|byte| is_letter(**byte)).count();
        let letters = &text[offset..offset + length];
        // Without a letter or digit it is an operator or a comment sign.
        if letters.iter().any(u8::is_ascii_alphanumeric) {
            let is_padded = text.get(offset + length) == Some(&b'=');
            let continues = !pieces.is_empty() && offset - gap_start <= GAP_BYTES_MAX;
            pieces.push(Base64Piece { offset, letters, is_padded, continues });
            gap_start = offset + length;
        }
        offset += length.max(1);
    }
    pieces
}

/// Decodes consecutive pieces, up to a number of letters.
fn decode_run<'t>(
    run: impl Iterator<Item = &'t Base64Piece<'t>>,
    letters_max: usize,
) -> Option<String> {
    let (mut bytes, mut letters, mut count) = (Vec::new(), Vec::new(), 0);
    for piece in run {
        let part = &piece.letters[..piece.letters.len().min(letters_max - count)];
        count += part.len();
        letters.extend_from_slice(part);
        if piece.is_padded {
            bytes.extend(decode(&letters)?);
            letters.clear();
        }
        if count >= letters_max {
            break;
        }
    }
    if !letters.is_empty() {
        bytes.extend(decode(&letters)?);
    }
    if count < LETTERS_MIN { None } else { to_text(&bytes) }
}

fn decode(letters: &[u8]) -> Option<Vec<u8>> {
    // Four letters encode three bytes; a single extra letter is not a whole byte.
    let letters = if letters.len() % 4 == 1 { &letters[..letters.len() - 1] } else { letters };
    STANDARD.decode(letters).or_else(|_| URL_SAFE.decode(letters)).ok()
}

/// Texts of at least [`CODES_MIN`] character codes in a row.
fn code_texts(
    text: &str,
    read_code: impl Fn(&[u8]) -> Option<(u8, usize)>,
) -> Vec<(usize, String)> {
    let text = text.as_bytes();
    let (mut decoded, mut codes) = (Vec::new(), Vec::new());
    let (mut start, mut offset, mut gap) = (0, 0, 0);
    while offset <= text.len() {
        let rest = &text[offset..];
        if let Some((code, length)) = read_code(rest) {
            if codes.is_empty() {
                start = offset;
            }
            codes.push(code);
            (offset, gap) = (offset + length, 0);
            continue;
        }
        gap += 1;
        let is_word = rest.first().is_none_or(u8::is_ascii_alphanumeric);
        if is_word || gap > GAP_BYTES_MAX {
            if codes.len() >= CODES_MIN {
                decoded.extend(to_text(&codes).map(|text| (start, text)));
            }
            codes.clear();
            offset += rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        }
        offset += usize::from(!is_word || rest.is_empty());
    }
    decoded
}

/// Two hexadecimal digits, perhaps with a prefix such as `0x`.
fn hexadecimal_code(text: &[u8]) -> Option<(u8, usize)> {
    let prefix = [&b"0x"[..], b"\\x", b"\\u00", b"%"].into_iter().find(|it| text.starts_with(it));
    let prefix = prefix.map_or(0, <[u8]>::len);
    let digits = std::str::from_utf8(text.get(prefix..prefix + 2)?).ok()?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    Some((u8::from_str_radix(digits, 16).ok()?, prefix + 2))
}

/// A decimal number that is the code of an ASCII character.
fn decimal_code(text: &[u8]) -> Option<(u8, usize)> {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if !(2..=3).contains(&length) || text.get(length).is_some_and(u8::is_ascii_alphanumeric) {
        return None;
    }
    let code = std::str::from_utf8(&text[..length]).ok()?.parse().ok()?;
    (10..127).contains(&code).then_some((code, length))
}

/// Converts bytes to text, unless they contain control characters. Blanks are not required: the
/// text may itself be encoded.
fn to_text(bytes: &[u8]) -> Option<String> {
    // A character may be cut at the end.
    let end = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
    let text = std::str::from_utf8(&bytes[..end]).ok()?;
    let is_readable = |char: char| !char.is_control() || matches!(char, '\n' | '\r' | '\t');
    (end + 4 > bytes.len() && text.chars().all(is_readable)).then(|| text.to_owned())
}

/// Decodes a line that contains one of the words in rot13 or backwards.
fn turned_text(line: &str) -> Option<String> {
    let lower = line.to_ascii_lowercase();
    let contains_any = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    if contains_any(&ROT13_WORDS) {
        let turn = |char: char| match char {
            'a'..='m' => char::from(char as u8 + 13),
            'n'..='z' => char::from(char as u8 - 13),
            other => other,
        };
        return Some(lower.chars().map(turn).collect());
    }
    contains_any(&REVERSED_WORDS).then(|| lower.chars().rev().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &[&str], expected: &[(u32, &str)]) {
        let lines: Vec<(u32, String)> =
            (1..).zip(lines.iter().map(|it| (*it).to_owned())).collect();
        let decoded = decoded_texts(&lines);
        let decoded: Vec<(u32, &str)> =
            decoded.iter().map(|(line, text)| (*line, text.as_str())).collect();
        assert_eq!(decoded, expected);
    }

    #[test]
    fn encoded_text_is_decoded_with_its_line() {
        check(&["x", "y = 'dGhpcyBpcyBhIGxvbmdlciB0ZXh0'"], &[(2, "this is a longer text")]);
        check(&["# dGhpcyBpcyBh", "# IGxvbmdlciB0", "# ZXh0"], &[(1, "this is a longer text")]);
        check(&["a('dGhpcyBpcyBhIGw=', 'b25nZXIgdGV4dA==')"], &[(1, "this is a longer text")]);
        check(&["74 68 69 73 20 69 73 20 74 65 78 74"], &[(1, "this is text")]);
        check(&["[116,104,105,115,32,105,115,32,116,101,120,116]"], &[(1, "this is text")]);
        check(&["erivrj guvf"], &[(1, "review this")]);
        check(&["siht weiver"], &[(1, "review this")]);
    }

    #[test]
    fn ordinary_code_is_not_decoded() {
        let hash = "sha256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'";
        let prose = "Ordinary sentences consist of words that could all be base64 letters too";
        let numbers = "[1, 2, 3, 400, 500, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28]";
        check(&[hash, prose, numbers, "fn main() { println!(\"{}\", 1 + 2); }"], &[]);
    }
}
