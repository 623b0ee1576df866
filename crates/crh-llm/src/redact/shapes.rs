//! Unknown secrets, recognised by the form of common tokens.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Start of a private key block.
const PEM_BEGIN: &str = "-----BEGIN ";
const PEM_END: &str = "-----END ";
const PEM_LABEL: &str = "PRIVATE KEY";

/// Maximum size of a private key: 16,384 bits are 13 kB in base64. Markers further apart do not
/// belong together.
const PEM_MAX: usize = 32 * 1024;

/// Maximum length of a label such as `RSA PRIVATE KEY-----`.
const PEM_LABEL_MAX: usize = 64;

/// Minimum length of a bearer token without digits, so that `Bearer authentication` is not masked.
const MIN_BEARER_WORD: usize = 20;

/// One pattern for a single pass. Named groups are masked, otherwise the whole match.
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

/// Header names of the pattern, for names that are separate from their values.
pub(super) const HEADERS: [&str; 5] =
    ["authorization", "proxy-authorization", "x-api-key", "x-goog-api-key", "api-key"];

pub(super) fn is_key_header(name: &str) -> bool {
    HEADERS.iter().any(|header| name.eq_ignore_ascii_case(header))
}

/// Ranges that look like secrets.
pub(super) fn find_in(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<_> =
        PATTERN.captures_iter(text).filter_map(|shape| secret_range(&shape)).collect();
    found.extend(private_keys(text));
    found
}

fn secret_range(shape: &Captures<'_>) -> Option<Range<usize>> {
    if let Some(value) = shape.name("header") {
        let trimmed = value.as_str().trim_end();
        return (!trimmed.is_empty()).then(|| value.start()..value.start() + trimmed.len());
    }
    if let Some(token) = shape.name("bearer") {
        let known = token.as_str().contains(|c: char| c.is_ascii_digit());
        return (known || token.len() >= MIN_BEARER_WORD).then(|| token.range());
    }
    shape.get(0).map(|all| all.range())
}

/// Contents of private keys. If the end marker is missing, a key extends as long as its lines look
/// like one.
fn private_keys(text: &str) -> Vec<Range<usize>> {
    let mut ends = text.match_indices(PEM_END).map(|(at, _)| at).peekable();
    let mut found = Vec::new();
    for (begin, _) in text.match_indices(PEM_BEGIN) {
        let Some(inside) = key_body_start(text, begin + PEM_BEGIN.len()) else { continue };
        while ends.next_if(|end| *end < inside).is_some() {}
        let end = match ends.peek() {
            Some(end) if end - inside <= PEM_MAX => before_last_line(text, inside, *end),
            Some(_) | None => key_lines_end(text, inside),
        };
        if inside < end {
            found.push(inside..end);
        }
    }
    found
}

/// End of the key's lines. A diff prefix or line number before the end marker is not part of the
/// key.
fn before_last_line(text: &str, inside: usize, end: usize) -> usize {
    match text[inside..end].rfind('\n') {
        Some(last) if unprefixed(&text[inside + last..end]).is_empty() => inside + last,
        Some(_) | None => end,
    }
}

/// Strips a diff prefix and line number.
fn unprefixed(line: &str) -> &str {
    line.trim().trim_start_matches(|c: char| c.is_ascii_digit() || "+- \t".contains(c))
}

/// Start of the key's content after this label.
fn key_body_start(text: &str, label: usize) -> Option<usize> {
    let rest = &text[label..text.floor_char_boundary(label + PEM_LABEL_MAX)];
    let (label_text, _) = rest.split_once("-----")?;
    label_text.contains(PEM_LABEL).then(|| label + label_text.len() + "-----".len())
}

fn key_lines_end(text: &str, inside: usize) -> usize {
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
