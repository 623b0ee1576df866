//! Private keys: a known header line, followed by rows (lines) of base64 data.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::bytes::Regex;

use super::{SecretMatch, plausible};
use crate::lazy_option::bytes_regex;
use crate::{AddedLine, ChangedFile, LintRule, Project, paths};
use crh_review::finding::{Category, Confidence, Severity, Side};

pub(super) const RULE: LintRule = LintRule {
    id: "secrets/private-key",
    severity: Severity::P0,
    category: Category::Security,
    confidence: Confidence::thousandths(950),
    summary: DESCRIPTION,
    aliases: &["detect-private-key"],
};

const DESCRIPTION: &str = "Private key";
/// Minimum bytes of a key row. Placeholders are shorter.
const ROW_BYTES_MIN: usize = 32;
/// Maximum distance from the header to the first row. Between them may be `Proc-Type`, `DEK-Info`
/// and an empty line, or `Version` and `Comment`.
const LINES_BEFORE_ROWS_MAX: usize = 4;
/// A change may replace only some rows of a key. Added rows that are further apart belong to other
/// code.
const ROW_DISTANCE_MAX: u32 = 8;
/// Maximum lines read per key. The longest keys have a few hundred.
const KEY_LINES_MAX: usize = 400;
/// Minimum rows of a block that counts as part of a key although its header is missing.
const BLOCK_ROWS_MIN: usize = 3;
/// Minimum distinct characters in such a block. Hexadecimal data has fewer.
const CHARACTERS_MIN: usize = 24;

static HEADER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    bytes_regex(
        r"-----BEGIN (?:(?:RSA|EC|DSA|OPENSSH|PGP|ENCRYPTED) )?PRIVATE KEY(?: BLOCK)?-----|---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----",
    )
});
static END: LazyLock<Option<Regex>> =
    LazyLock::new(|| bytes_regex(r"----[- ]END (?:[A-Z0-9]+ ){0,2}PRIVATE KEY(?: BLOCK)?[- ]----"));
/// A line with one row, and nothing else but quotes, comment signs and signs that concatenate
/// strings. The last row of a key may be short.
static ROW_LINE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern =
        r#"^[\s"'`+.#/*|>-]{0,40}?([A-Za-z0-9+/]{16,}={0,2})(?:\\r|\\n)*["'`]?[\s,;+.)\\]*$"#;
    bytes_regex(pattern)
});
static ROW: LazyLock<Option<Regex>> = LazyLock::new(|| bytes_regex(r"[A-Za-z0-9+/]{32,}={0,2}"));

/// Reads the file after the change on demand, to find a header that the change does not add.
pub(super) struct LinesAfterChange<'a> {
    file: &'a ChangedFile,
    project: Option<&'a dyn Project>,
    /// The lines of the new file, read on first use.
    lines: OnceCell<Vec<Vec<u8>>>,
}

impl<'a> LinesAfterChange<'a> {
    pub(super) fn new(file: &'a ChangedFile, project: Option<&'a dyn Project>) -> Self {
        Self { file, project, lines: OnceCell::new() }
    }

    /// Whether the row on this line belongs to a key whose header is an unchanged line above.
    fn has_header_above(&self, number: u32) -> bool {
        let read = || self.project?.file(Side::New, &self.file.path).ok().flatten();
        let lines = self.lines.get_or_init(|| {
            let text = read().unwrap_or_default();
            text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
        });
        let line_in_diff = |number: u32| {
            let find = |lines: &'a [AddedLine]| {
                let index = lines.binary_search_by_key(&number, |line| line.number).ok()?;
                Some(lines[index].text.as_slice())
            };
            find(&self.file.added).or_else(|| find(&self.file.unchanged))
        };
        let line = |number: u32| {
            let index = usize::try_from(number).ok()?.checked_sub(1)?;
            line_in_diff(number).or_else(|| lines.get(index).map(Vec::as_slice))
        };
        let mut other_count = 0;
        let first = number.saturating_sub(u32::try_from(KEY_LINES_MAX).unwrap_or(u32::MAX)).max(1);
        for above in (first..number).rev() {
            let Some(text) = line(above) else { return false };
            if HEADER.as_ref().is_some_and(|header| header.is_match(text)) {
                return !self.file.adds(above);
            }
            other_count += usize::from(!has_row(text));
            if other_count > LINES_BEFORE_ROWS_MAX || is_end(text) {
                return false;
            }
        }
        false
    }
}

/// The private key whose header is on the added line `file.added[at]`. If the change does not add the header, the
/// match is on the first of consecutive added rows. Keys in tests and documents are skipped.
pub(super) fn find_match(
    file: &ChangedFile,
    at: usize,
    new_file: &LinesAfterChange<'_>,
) -> Option<SecretMatch> {
    let path = file.path.as_str();
    if paths::is_sample_or_document(path) && !plausible::is_machine_read_text(path) {
        return None;
    }
    let line = &file.added[at];
    let value_start = match HEADER.as_ref()?.find(&line.text) {
        Some(header) => header.end(),
        None => {
            let is_first_row = || {
                let above = at.checked_sub(1).map(|above| &file.added[above]);
                !above.is_some_and(|it| {
                    it.number.checked_add(1) == Some(line.number) && has_row(&it.text)
                })
            };
            let row = ROW.as_ref()?.find(&line.text)?;
            if !is_first_row() || !new_file.has_header_above(line.number) {
                return None;
            }
            row.start()
        }
    };
    // A random row of 32 characters has more than 12 distinct ones. Rows of repeated characters are
    // placeholders.
    let is_random = |row: &[u8]| row.iter().collect::<BTreeSet<_>>().len() > 12;
    // One random row suffices: a placeholder above a real key does not hide the key.
    let has_random_row = rows_below(file, at).any(is_random);
    let range = value_start..line.text.len();
    let mask = range.clone();
    let (severity, confidence) = (RULE.severity, RULE.confidence);
    has_random_row.then_some(SecretMatch {
        rule: &RULE,
        description: DESCRIPTION,
        severity,
        confidence,
        range,
        mask,
        visible_bytes: 0,
    })
}

/// The rows of the private key that a match on this line is about; empty for other matches.
pub(super) fn key_rows(file: &ChangedFile, number: u32, hit: &SecretMatch) -> Vec<String> {
    if hit.description != DESCRIPTION {
        return Vec::new();
    }
    let at = file.added.iter().position(|line| line.number == number);
    let rows = at.into_iter().flat_map(|at| rows_below(file, at));
    rows.map(|row| String::from_utf8_lossy(row).into_owned()).collect()
}

/// Rows that are found without a header: rows above the end line of a key, and blocks that consist
/// only of rows. These rows are masked. They are reported only if the unchanged lines above have
/// the header of a key.
pub(super) fn rows_without_header(file: &ChangedFile) -> Vec<String> {
    let path = file.path.as_str();
    if paths::is_sample_or_document(path) && !plausible::is_machine_read_text(path) {
        return Vec::new();
    }
    let mut masked_rows = Vec::new();
    for block in
        file.added.chunk_by(|above, below| above.number.checked_add(1) == Some(below.number))
    {
        let mut rows: Vec<&[u8]> = Vec::new();
        for line in block {
            if let Some(row) = row_of_line(&line.text) {
                rows.push(row);
            } else if END.as_ref().is_some_and(|end| end.is_match(&line.text)) {
                masked_rows.append(&mut rows);
            } else if !is_checksum(&line.text) {
                rows.clear();
            }
        }
        if rows.len() == block.len() && is_key_block(&rows) {
            masked_rows.append(&mut rows);
        }
    }
    masked_rows.into_iter().map(|row| String::from_utf8_lossy(row).into_owned()).collect()
}

fn row_of_line(text: &[u8]) -> Option<&[u8]> {
    let captures = ROW_LINE.as_ref()?.captures(text)?;
    captures.get(1).map(|row| row.as_bytes())
}

/// The checksum line before the end of a PGP key.
fn is_checksum(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    text.len() == 5 && text.starts_with(b"=")
}

/// Whether rows look like part of a key: equal length, except the last row, and many distinct
/// characters.
fn is_key_block(rows: &[&[u8]]) -> bool {
    let Some((last, rows_before_last)) = rows.split_last().filter(|_| rows.len() >= BLOCK_ROWS_MIN)
    else {
        return false;
    };
    let length = rows_before_last[0].len();
    let characters: BTreeSet<u8> = rows.iter().flat_map(|row| row.iter().copied()).collect();
    let is_uniform = rows_before_last.iter().all(|row| row.len() == length) && last.len() <= length;
    length >= ROW_BYTES_MIN && is_uniform && characters.len() >= CHARACTERS_MIN
}

/// The rows of a key. `at` is the added line that has the header or, if the change does not add the
/// header, the first added row. Unchanged rows may be in between, but no more than a few: added lines
/// further below are other code.
fn rows_below(file: &ChangedFile, at: usize) -> impl Iterator<Item = &[u8]> {
    let mut has_ended = false;
    let mut row_count = 0_usize;
    let mut line_above = file.added[at].number;
    let lines =
        file.added[at..].iter().enumerate().take(KEY_LINES_MAX).take_while(move |(below, line)| {
            let is_near = line.number.saturating_sub(line_above) <= ROW_DISTANCE_MAX;
            let is_in_key =
                !has_ended && is_near && (row_count > 0 || *below <= LINES_BEFORE_ROWS_MAX);
            line_above = line.number;
            has_ended = is_end(&line.text);
            row_count += usize::from(has_row(&line.text));
            is_in_key
        });
    lines.flat_map(|(_, line)| {
        let matches = ROW.iter().flat_map(|row| row.find_iter(&line.text));
        matches.map(|row| row.as_bytes())
    })
}

fn is_end(text: &[u8]) -> bool {
    // Keys in the format of SSH2 have `---- END`.
    memchr::memmem::find(text, b"-----END").is_some()
        || memchr::memmem::find(text, b"---- END").is_some()
}

fn has_row(text: &[u8]) -> bool {
    text.len() >= ROW_BYTES_MIN && ROW.as_ref().is_some_and(|row| row.is_match(text))
}
