//! Private keys: a heading that is well known, and below it what makes it more than a heading.

use std::sync::LazyLock;

use crh_review::finding::Category;
use crh_review::finding::Confidence;
use crh_review::finding::Severity;
use regex::bytes::Regex;
use regex::bytes::RegexBuilder;

use super::Hit;
use super::plausible;
use crate::ChangedFile;
use crate::Rule;

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

static HEADING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r"-----BEGIN (?:(?:RSA|EC|DSA|OPENSSH|PGP|ENCRYPTED|SSH2 ENCRYPTED) )?PRIVATE KEY(?: BLOCK)?-----";
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
    let is_drawn = first_rows.iter().collect::<std::collections::BTreeSet<_>>().len() > 12;
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
