//! Secrets that nobody told us, by the form in which vendors hand them out.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// What a private key begins with; its lines follow.
const PEM_BEGIN: &str = "-----BEGIN ";
const PEM_END: &str = "-----END ";
const PEM_LABEL: &str = "PRIVATE KEY";

/// A private key is no longer than this: one of 16,384 bits has 13 kB in base64. A text that names the beginning of a
/// key and, much later, the end of one is a text about keys.
const PEM_MAX: usize = 32 * 1024;

/// The label of a key, `RSA PRIVATE KEY-----`, is no longer than this.
const PEM_LABEL_MAX: usize = 64;

/// A bearer token without a digit is only believed from this length on: `Bearer authentication` is no secret.
const BEARER_WORD: usize = 20;

/// One pattern, so that a text is read once. The group `secret` is what is masked, or else all of it.
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

/// The headers of the pattern, for values whose names stand apart from them.
pub(super) const HEADERS: [&str; 5] =
    ["authorization", "proxy-authorization", "x-api-key", "x-goog-api-key", "api-key"];

pub(super) fn is_header_of_keys(name: &str) -> bool {
    HEADERS.iter().any(|header| name.eq_ignore_ascii_case(header))
}

/// Where something stands that has the shape of a secret.
pub(super) fn found_in(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<_> =
        PATTERN.captures_iter(text).filter_map(|shape| secret(&shape)).collect();
    found.extend(private_keys(text));
    found
}

fn secret(shape: &Captures<'_>) -> Option<Range<usize>> {
    if let Some(value) = shape.name("header") {
        let trimmed = value.as_str().trim_end();
        return (!trimmed.is_empty()).then(|| value.start()..value.start() + trimmed.len());
    }
    if let Some(token) = shape.name("bearer") {
        let known = token.as_str().contains(|c: char| c.is_ascii_digit());
        return (known || token.len() >= BEARER_WORD).then(|| token.range());
    }
    shape.get(0).map(|all| all.range())
}

/// The insides of private keys. A key whose end is missing goes as far as its lines look like one.
fn private_keys(text: &str) -> Vec<Range<usize>> {
    let mut ends = text.match_indices(PEM_END).map(|(at, _)| at).peekable();
    let mut found = Vec::new();
    for (begin, _) in text.match_indices(PEM_BEGIN) {
        let Some(inside) = inside_of_key(text, begin + PEM_BEGIN.len()) else { continue };
        while ends.next_if(|end| *end < inside).is_some() {}
        let end = match ends.peek() {
            Some(end) if end - inside <= PEM_MAX => before_last_line(text, inside, *end),
            Some(_) | None => end_of_lines(text, inside),
        };
        if inside < end {
            found.push(inside..end);
        }
    }
    found
}

/// The end of the key's lines: what stands before the closing mark in its own line (the prefix of a diff, a number) is
/// no part of the key.
fn before_last_line(text: &str, inside: usize, end: usize) -> usize {
    match text[inside..end].rfind('\n') {
        Some(last) if unprefixed(&text[inside + last..end]).is_empty() => inside + last,
        Some(_) | None => end,
    }
}

/// A line without the prefix of a diff and the number of the line.
fn unprefixed(line: &str) -> &str {
    line.trim().trim_start_matches(|c: char| c.is_ascii_digit() || "+- \t".contains(c))
}

/// Where the inside of a key begins whose label stands here.
fn inside_of_key(text: &str, label: usize) -> Option<usize> {
    let rest = &text[label..text.floor_char_boundary(label + PEM_LABEL_MAX)];
    let (label_text, _) = rest.split_once("-----")?;
    label_text.contains(PEM_LABEL).then(|| label + label_text.len() + "-----".len())
}

fn end_of_lines(text: &str, inside: usize) -> usize {
    let mut end = inside;
    for line in text[inside..].split_inclusive('\n') {
        let content = unprefixed(line);
        let of_key = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=\\".contains(&byte);
        // Only the rest of the first line may be empty.
        if (content.is_empty() && end > inside) || !content.bytes().all(of_key) {
            break;
        }
        end += line.len();
        if end - inside > PEM_MAX {
            break;
        }
    }
    end
}
