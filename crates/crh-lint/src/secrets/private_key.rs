//! Private keys: a heading that is well known, and below it what makes it more than a heading.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};

use super::{Hit, plausible};
use crate::{ChangedFile, Rule};
use crh_review::finding::{Category, Confidence, Severity};

/// The rule of private keys.
pub(super) const RULE: Rule = Rule {
    id: "secrets/private-key",
    severity: Severity::P0,
    category: Category::Security,
    confidence: Confidence::thousandths(950),
    finds: WHAT,
    also: &["detect-private-key"],
};

const WHAT: &str = "Private key";
/// A key begins with a row of so many letters; an ellipsis or a sample does not.
const ROW_BYTES: usize = 32;
/// The lines between the heading and the first row: `Proc-Type`, `DEK-Info` and an empty one, or `Version` and `Comment`.
const LINES_BEFORE: usize = 4;
/// The longest key there is has some hundred rows.
const ROWS_MAX: usize = 400;
/// Lines in one piece that are all rows of a key are a part of it; fewer say nothing.
const PIECE_MIN: usize = 3;
/// Rows of a key have so many different letters together; those of numbers and digests in hexadecimal have fewer.
const LETTERS_MIN: usize = 24;

static HEADING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r"-----BEGIN (?:(?:RSA|EC|DSA|OPENSSH|PGP|ENCRYPTED|SSH2 ENCRYPTED) )?PRIVATE KEY(?: BLOCK)?-----";
    RegexBuilder::new(pattern).unicode(false).build().ok()
});
static END: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r"-----END (?:[A-Z0-9]+ ){0,2}PRIVATE KEY(?: BLOCK)?-----";
    RegexBuilder::new(pattern).unicode(false).build().ok()
});
/// A row and nothing else, but for what quotes it and strings it together.
static ROW_ALONE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern =
        r#"^[\s"'`+.#/*|>-]{0,40}?([A-Za-z0-9+/]{16,}={0,2})(?:\\r|\\n)*["'`]?[\s,;+.)\\]*$"#;
    RegexBuilder::new(pattern).unicode(false).build().ok()
});
static ROW: LazyLock<Option<Regex>> =
    LazyLock::new(|| RegexBuilder::new(r"[A-Za-z0-9+/]{32,}={0,2}").unicode(false).build().ok());

/// The key that begins on a line. Tests need keys, and documents show them: theirs open nothing.
pub(super) fn hit(file: &ChangedFile, at: usize) -> Option<Hit> {
    let path = file.path.as_str();
    if plausible::is_shown_only(path) && !plausible::is_list(path) {
        return None;
    }
    let line = &file.added[at];
    let heading = HEADING.as_ref()?.find(&line.text)?;
    let first_rows = rows(file, at).next()?;
    // A key is drawn at random: rows of one letter are drawings.
    let is_drawn = first_rows.iter().collect::<BTreeSet<_>>().len() > 12;
    let range = heading.end()..line.text.len();
    let mask = range.clone();
    let (severity, confidence) = (RULE.severity, RULE.confidence);
    is_drawn.then_some(Hit { rule: &RULE, what: WHAT, severity, confidence, range, mask, shown: 0 })
}

/// The rows of the key that a hit is about, as they stand in the file.
pub(super) fn body(file: &ChangedFile, number: u32, hit: &Hit) -> Vec<String> {
    if hit.what != WHAT {
        return Vec::new();
    }
    let at = file.added.iter().position(|line| line.number == number);
    let rows = at.into_iter().flat_map(|at| rows(file, at));
    rows.map(|row| String::from_utf8_lossy(row).into_owned()).collect()
}

/// The rows of keys that begin before the lines that are shown: those above where a key ends, and those that fill all lines in
/// one piece. They are no finding, since nothing says that the change has to do with them.
pub(super) fn rows_without_heading(file: &ChangedFile) -> Vec<String> {
    let path = file.path.as_str();
    if plausible::is_shown_only(path) && !plausible::is_list(path) {
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

/// What stands between the last row of a PGP key and its end.
fn is_checksum(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    text.len() == 5 && text.starts_with(b"=")
}

/// Rows of one length, but for the last, of letters drawn at random.
fn is_piece_of_key(rows: &[&[u8]]) -> bool {
    let Some((last, above)) = rows.split_last().filter(|_| rows.len() >= PIECE_MIN) else {
        return false;
    };
    let length = above[0].len();
    let letters: BTreeSet<u8> = rows.iter().flat_map(|row| row.iter().copied()).collect();
    let is_even = above.iter().all(|row| row.len() == length) && last.len() <= length;
    length >= ROW_BYTES && is_even && letters.len() >= LETTERS_MIN
}

/// The rows of letters from a heading on, up to where the key ends.
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
