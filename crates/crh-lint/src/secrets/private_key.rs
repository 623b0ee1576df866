//! Private keys: a known header followed by rows of key material.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};

use super::{SecretMatch, plausible};
use crate::{ChangedFile, LintRule};
use crh_review::finding::{Category, Confidence, Severity};

pub(super) const RULE: LintRule = LintRule {
    id: "secrets/private-key",
    severity: Severity::P0,
    category: Category::Security,
    confidence: Confidence::thousandths(950),
    summary: DESCRIPTION,
    aliases: &["detect-private-key"],
};

const DESCRIPTION: &str = "Private key";
/// Shortest first row of a key; placeholders are shorter.
const ROW_BYTES: usize = 32;
/// Lines between the header and the first row: `Proc-Type`, `DEK-Info` and an empty one, or
/// `Version` and `Comment`.
const LINES_BEFORE: usize = 4;
/// The longest keys have some hundred rows.
const ROWS_MAX: usize = 400;
/// Shortest block of key rows without a header.
const PIECE_MIN: usize = 3;
/// Distinct letters in key rows; hexadecimal data has fewer.
const LETTERS_MIN: usize = 24;

static HEADING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r"-----BEGIN (?:(?:RSA|EC|DSA|OPENSSH|PGP|ENCRYPTED|SSH2 ENCRYPTED) )?PRIVATE KEY(?: BLOCK)?-----";
    RegexBuilder::new(pattern).unicode(false).build().ok()
});
static END: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r"-----END (?:[A-Z0-9]+ ){0,2}PRIVATE KEY(?: BLOCK)?-----";
    RegexBuilder::new(pattern).unicode(false).build().ok()
});
/// A line with nothing but a row, quotes and concatenation.
static ROW_ALONE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern =
        r#"^[\s"'`+.#/*|>-]{0,40}?([A-Za-z0-9+/]{16,}={0,2})(?:\\r|\\n)*["'`]?[\s,;+.)\\]*$"#;
    RegexBuilder::new(pattern).unicode(false).build().ok()
});
static ROW: LazyLock<Option<Regex>> =
    LazyLock::new(|| RegexBuilder::new(r"[A-Za-z0-9+/]{32,}={0,2}").unicode(false).build().ok());

/// The private key that starts on a line. Keys in tests and documents are skipped.
pub(super) fn find_match(file: &ChangedFile, at: usize) -> Option<SecretMatch> {
    let path = file.path.as_str();
    if plausible::is_sample_or_document(path) && !plausible::is_machine_read_text(path) {
        return None;
    }
    let line = &file.added[at];
    let heading = HEADING.as_ref()?.find(&line.text)?;
    let first_rows = rows(file, at).next()?;
    // Rows of repeated letters are placeholders.
    let is_drawn = first_rows.iter().collect::<BTreeSet<_>>().len() > 12;
    let range = heading.end()..line.text.len();
    let mask = range.clone();
    let (severity, confidence) = (RULE.severity, RULE.confidence);
    is_drawn.then_some(SecretMatch {
        rule: &RULE,
        description: DESCRIPTION,
        severity,
        confidence,
        range,
        mask,
        shown: 0,
    })
}

/// The rows of the key that a match is about.
pub(super) fn key_rows(file: &ChangedFile, number: u32, hit: &SecretMatch) -> Vec<String> {
    if hit.description != DESCRIPTION {
        return Vec::new();
    }
    let at = file.added.iter().position(|line| line.number == number);
    let rows = at.into_iter().flat_map(|at| rows(file, at));
    rows.map(|row| String::from_utf8_lossy(row).into_owned()).collect()
}

/// Rows of keys whose header is not among the added lines: rows above a key's end, and blocks that
/// consist of rows. They are masked but not reported, since the change may not have added the key.
pub(super) fn rows_without_heading(file: &ChangedFile) -> Vec<String> {
    let path = file.path.as_str();
    if plausible::is_sample_or_document(path) && !plausible::is_machine_read_text(path) {
        return Vec::new();
    }
    let mut taken = Vec::new();
    for piece in
        file.added.chunk_by(|above, below| above.number.checked_add(1) == Some(below.number))
    {
        let mut rows: Vec<&[u8]> = Vec::new();
        for line in piece {
            if let Some(row) = row_alone(&line.text) {
                rows.push(row);
            } else if END.as_ref().is_some_and(|end| end.is_match(&line.text)) {
                taken.append(&mut rows);
            } else if !is_checksum(&line.text) {
                rows.clear();
            }
        }
        if rows.len() == piece.len() && is_piece_of_key(&rows) {
            taken.append(&mut rows);
        }
    }
    taken.into_iter().map(|row| String::from_utf8_lossy(row).into_owned()).collect()
}

fn row_alone(text: &[u8]) -> Option<&[u8]> {
    let found = ROW_ALONE.as_ref()?.captures(text)?;
    found.get(1).map(|row| row.as_bytes())
}

/// The checksum line before the end of a PGP key.
fn is_checksum(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    text.len() == 5 && text.starts_with(b"=")
}

/// Rows of equal length, except the last, with random letters.
fn is_piece_of_key(rows: &[&[u8]]) -> bool {
    let Some((last, above)) = rows.split_last().filter(|_| rows.len() >= PIECE_MIN) else {
        return false;
    };
    let length = above[0].len();
    let letters: BTreeSet<u8> = rows.iter().flat_map(|row| row.iter().copied()).collect();
    let is_even = above.iter().all(|row| row.len() == length) && last.len() <= length;
    length >= ROW_BYTES && is_even && letters.len() >= LETTERS_MIN
}

/// The rows of a key after its header.
fn rows(file: &ChangedFile, at: usize) -> impl Iterator<Item = &[u8]> {
    let is_end = |text: &[u8]| memchr::memmem::find(text, b"-----END").is_some();
    let mut ended = false;
    let mut seen = 0_usize;
    let lines =
        file.added[at..].iter().enumerate().take(ROWS_MAX).take_while(move |(below, line)| {
            let goes_on = !ended && (seen > 0 || *below <= LINES_BEFORE);
            ended = is_end(&line.text);
            seen += usize::from(has_row(&line.text));
            goes_on
        });
    lines.flat_map(|(_, line)| {
        let found = ROW.iter().flat_map(|row| row.find_iter(&line.text));
        found.map(|row| row.as_bytes())
    })
}

fn has_row(text: &[u8]) -> bool {
    text.len() >= ROW_BYTES && ROW.as_ref().is_some_and(|row| row.is_match(text))
}
