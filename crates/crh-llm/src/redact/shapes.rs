//! Unknown secrets, recognised by the form of common tokens.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Start of a private key block.
const PEM_BEGIN: &str = "-----BEGIN ";
const PEM_END: &str = "-----END ";
const PEM_LABEL: &str = "PRIVATE KEY";

/// Maximum bytes between the first and the last line of a private key. The file of an RSA key of
/// 16,384 bits has 13 kB. Lines that are further apart do not belong to one key.
const PEM_MAX: usize = 32 * 1024;

/// Maximum length of a label such as `RSA PRIVATE KEY-----`.
const PEM_LABEL_MAX: usize = 64;

/// Minimum length of a bearer token without digits, so that `Bearer authentication` is not masked.
const MIN_BEARER_WORD: usize = 20;

/// One pattern for all shapes, so that a text is searched once. Named groups are masked. In shapes
/// without a named group, the whole match is masked.
const SHAPES: &str = r#"(?x-u)
    # The value of a header, also quoted or escaped, to the end of its line or its quotes.
    (?i:\b(?:proxy-)?authorization|\bx-api-key|\bx-goog-api-key|\bapi-key)
        ["'\\]* [\ \t]* [:=] [\ \t]* ["'\\]* (?<header>(?u:[^\r\n"'\\]+))
    | \b(?i:bearer)[\ \t]+ (?<bearer>[A-Za-z0-9._~+/=-]{8,})
    | \bsk-[A-Za-z0-9_-]{16,}
    | \bAIza[A-Za-z0-9_-]{30,}
    | \b(?:gh[pousr]_[A-Za-z0-9]{20,} | github_pat_[A-Za-z0-9_]{20,})
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b
    | \bxox[a-z]-[A-Za-z0-9-]{10,}
"#;

static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "the pattern is a constant, and every test compiles it")]
    let pattern = Regex::new(SHAPES).expect("the pattern is valid");
    pattern
});

/// Header names in the pattern, for JSON fields, whose names are separate from their values.
pub(super) const HEADERS: [&str; 5] =
    ["authorization", "proxy-authorization", "x-api-key", "x-goog-api-key", "api-key"];

pub(super) fn is_key_header(name: &str) -> bool {
    HEADERS.iter().any(|header| name.eq_ignore_ascii_case(header))
}

/// Ranges that look like secrets.
pub(super) fn find_in(text: &str) -> Vec<Range<usize>> {
    let mut ranges: Vec<_> =
        PATTERN.captures_iter(text).filter_map(|captures| secret_range(&captures)).collect();
    ranges.extend(private_keys(text));
    ranges
}

fn secret_range(captures: &Captures<'_>) -> Option<Range<usize>> {
    if let Some(value) = captures.name("header") {
        let trimmed = value.as_str().trim_end();
        return (!trimmed.is_empty()).then(|| value.start()..value.start() + trimmed.len());
    }
    if let Some(token) = captures.name("bearer") {
        let has_digit = token.as_str().contains(|c: char| c.is_ascii_digit());
        return (has_digit || token.len() >= MIN_BEARER_WORD).then(|| token.range());
    }
    captures.get(0).map(|whole_match| whole_match.range())
}

/// Contents of private keys. If the `END` line is missing or too far away, a key extends as long as
/// its lines look like base64.
fn private_keys(text: &str) -> Vec<Range<usize>> {
    let mut ends = text.match_indices(PEM_END).map(|(start, _)| start).peekable();
    let mut ranges = Vec::new();
    for (begin, _) in text.match_indices(PEM_BEGIN) {
        let Some(body_start) = key_body_start(text, begin + PEM_BEGIN.len()) else { continue };
        while ends.next_if(|end| *end < body_start).is_some() {}
        let end = match ends.peek() {
            Some(end) if end - body_start <= PEM_MAX => before_last_line(text, body_start, *end),
            Some(_) | None => key_lines_end(text, body_start),
        };
        if body_start < end {
            ranges.push(body_start..end);
        }
    }
    ranges
}

/// End of the key's lines, if the `END` line is at `end`. A diff prefix or line number before the
/// `END` line is not part of the key.
fn before_last_line(text: &str, body_start: usize, end: usize) -> usize {
    match text[body_start..end].rfind('\n') {
        Some(newline) if strip_prefixes(&text[body_start + newline..end]).is_empty() => {
            body_start + newline
        }
        Some(_) | None => end,
    }
}

/// Strips a diff prefix and line number.
fn strip_prefixes(line: &str) -> &str {
    line.trim().trim_start_matches(|c: char| c.is_ascii_digit() || "+- \t".contains(c))
}

/// Start of the key's content, if the label at this position names a private key.
fn key_body_start(text: &str, label: usize) -> Option<usize> {
    let rest = &text[label..text.floor_char_boundary(label + PEM_LABEL_MAX)];
    let (label_text, _) = rest.split_once("-----")?;
    label_text.contains(PEM_LABEL).then(|| label + label_text.len() + "-----".len())
}

fn key_lines_end(text: &str, body_start: usize) -> usize {
    let mut end = body_start;
    for line in text[body_start..].split_inclusive('\n') {
        let content = strip_prefixes(line);
        let is_key_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=\\".contains(&byte);
        // Only the rest of the `BEGIN` line may be empty.
        if (content.is_empty() && end > body_start) || !content.bytes().all(is_key_byte) {
            break;
        }
        end += line.len();
        if end - body_start > PEM_MAX {
            break;
        }
    }
    end
}
