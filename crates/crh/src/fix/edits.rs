//! From issues with an exact replacement to new texts of files, without I/O.
//!
//! Invariants: bytes outside of the replaced lines stay as they are; a line keeps the kind of line end that its file has there, and
//! a file that ends without one still does; no line is replaced twice.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::outcome::Left;
use crh_pipeline::fixer::FileEdit;
use crh_review::Quote;
use crh_review::finding::Side;
use crh_review::report::Issue;

/// How what was hidden begins in everything that a report shows.
const HIDDEN: &str = "[redacted";

/// U+FEFF in UTF-8, with which some editors begin a file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

const NOTHING_EXACT: &str = "it comes without an exact replacement";
const OLD_SIDE: &str = "it is about lines that the change has removed";
const MASKED: &str = "its replacement has something hidden in it";
const NO_SUCH_LINES: &str = "the reviewed file has no such lines";
const OTHER_EVIDENCE: &str = "what it quotes does not stand where it says";
const OTHER_LINES: &str = "its lines were changed since they were reviewed";
const OTHER_SURROUNDINGS: &str = "what it quotes was changed since it was reviewed";
const NOTHING_NEW: &str = "its replacement is what stands there";
const NOT_TEXT: &str = "its file is no text";
const OTHER_ENCODING: &str =
    "its file is not UTF-8, and its replacement has more than ASCII characters";

/// A file as it was reviewed, and as it is to be edited: fixes that were made since the review are in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Texts {
    pub(crate) reviewed: Vec<u8>,
    pub(crate) now: Vec<u8>,
    /// What differs between them, in the order of the lines.
    pub(crate) changed: Vec<Changed>,
}

/// Lines of the reviewed text that are others now: so many, from this one on, counted from 0, are so many now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Changed {
    pub(crate) at: usize,
    pub(crate) were: usize,
    pub(crate) are: usize,
}

/// What replacements come to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Replaced {
    pub(crate) edits: Vec<FileEdit>,
    pub(crate) left: Vec<Left>,
}

/// Whether an issue says exactly what is to stand in which lines.
pub(crate) fn is_exact(issue: &Issue) -> bool {
    usable(issue).is_ok()
}

/// The replacement of an issue, or why it has none that could be used.
fn usable(issue: &Issue) -> Result<&str, &'static str> {
    let replacement = issue.replacement.as_deref().ok_or(NOTHING_EXACT)?;
    match issue.location.side {
        Side::Old => Err(OLD_SIDE),
        Side::New if replacement.contains(HIDDEN) => Err(MASKED),
        Side::New => Ok(replacement),
    }
}

/// The edits that the replacements of issues come to, one for each file. `texts` has, by the number of an issue, its file as it
/// was when the issue was found; or why it cannot be had.
pub(crate) fn replaced(
    issues: &[&Issue],
    texts: &BTreeMap<u32, Result<Texts, String>>,
) -> Replaced {
    let mut replaced = Replaced::default();
    let mut by_file: BTreeMap<&str, Vec<&Issue>> = BTreeMap::new();
    for issue in issues {
        by_file.entry(&issue.location.file).or_default().push(issue);
    }
    for (path, issues) in by_file {
        let (edit, left) = one_file(path, &issues, texts);
        replaced.edits.extend(edit);
        replaced.left.extend(left);
    }
    replaced.left.sort();
    replaced
}

/// New lines in the place of others.
#[derive(Debug, PartialEq, Eq)]
struct Patch {
    /// Lines of the file as it is, counted from 0.
    lines: Range<usize>,
    with: Vec<u8>,
    issues: BTreeSet<u32>,
}

fn one_file(
    path: &str,
    issues: &[&Issue],
    texts: &BTreeMap<u32, Result<Texts, String>>,
) -> (Option<FileEdit>, Vec<Left>) {
    let (mut patches, mut left): (Vec<Patch>, Vec<Left>) = (Vec::new(), Vec::new());
    // The same for all of them: only what was reviewed may differ.
    let mut now: &[u8] = &[];
    let mut issues = issues.to_vec();
    issues.sort_by_key(|issue| issue.number);
    for issue in issues {
        let number = issue.number;
        let found = match texts.get(&number) {
            Some(Ok(texts)) => patch(issue, texts).map(|patch| (patch, &texts.now)),
            Some(Err(why)) => Err(why.as_str()),
            None => Err(NO_SUCH_LINES),
        };
        let patch = match found {
            Ok((patch, text)) => {
                now = text;
                patch
            }
            Err(why) => {
                left.push(Left::new(number, why));
                continue;
            }
        };
        let overlaps =
            |it: &Patch| it.lines.start < patch.lines.end && patch.lines.start < it.lines.end;
        match patches.iter_mut().find(|it| overlaps(it)) {
            // Two issues that want the same are one fix.
            Some(other) if other.lines == patch.lines && other.with == patch.with => {
                other.issues.insert(number);
            }
            Some(other) => {
                let first = other.issues.first().copied().unwrap_or_default();
                left.push(Left::new(number, format!("its lines are those of the fix of #{first}")));
            }
            None => patches.push(patch),
        }
    }
    if patches.is_empty() {
        return (None, left);
    }
    let edit = FileEdit {
        path: path.to_owned(),
        before: Some(now.to_vec()),
        after: Some(patched(now, &mut patches)),
        issues: patches.iter().flat_map(|patch| patch.issues.iter().copied()).collect(),
    };
    (Some(edit), left)
}

/// What an issue wants, where it stands now; or why that is not clear.
fn patch(issue: &Issue, texts: &Texts) -> Result<Patch, &'static str> {
    let replacement = usable(issue)?;
    if texts.now.contains(&0) {
        return Err(NOT_TEXT);
    }
    if !replacement.is_ascii() && std::str::from_utf8(&texts.now).is_err() {
        return Err(OTHER_ENCODING);
    }
    let (reviewed, now) = (lines(&texts.reviewed), lines(&texts.now));
    let cited = cited(issue, reviewed.len()).ok_or(NO_SUCH_LINES)?;
    let own = |quote: &&Quote| quote.file == issue.location.file && quote.side == Side::New;
    let own: Vec<&Quote> = issue.evidence.iter().filter(own).collect();
    if !own.iter().all(|quote| stands(quote, &reviewed)) {
        return Err(OTHER_EVIDENCE);
    }
    let there = located(&cited, texts).ok_or(OTHER_LINES)?;
    if !own.iter().all(|quote| quoted(quote).is_some_and(|lines| located(&lines, texts).is_some()))
    {
        return Err(OTHER_SURROUNDINGS);
    }
    let with = in_the_manner_of(replacement, &now, &there);
    if with == now[there.clone()].concat() {
        return Err(NOTHING_NEW);
    }
    Ok(Patch { lines: there, with, issues: BTreeSet::from([issue.number]) })
}

/// The lines that an issue is about, counted from 0; none if there are not so many.
fn cited(issue: &Issue, count: usize) -> Option<Range<usize>> {
    let start = usize::try_from(issue.location.line_start).ok()?.checked_sub(1)?;
    let end = usize::try_from(issue.location.line_end).ok()?;
    (start < end && end <= count).then_some(start..end)
}

/// The lines that a quote is of, counted from 0.
fn quoted(quote: &Quote) -> Option<Range<usize>> {
    let first = usize::try_from(quote.line).ok()?.checked_sub(1)?;
    Some(first..first + quote.snippet.lines().count())
}

/// Whether a quote stands where it was found, white space aside. What is hidden in it cannot be compared.
fn stands(quote: &Quote, lines: &[&[u8]]) -> bool {
    if quote.snippet.contains(HIDDEN) {
        return true;
    }
    let Some(lines_of_quote) = quoted(quote) else { return false };
    lines_of_quote.zip(quote.snippet.lines()).all(|(at, wanted)| {
        let there = lines.get(at).map(|line| folded(&String::from_utf8_lossy(line)));
        there.is_some_and(|there| there.contains(&folded(wanted)))
    })
}

fn folded(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Where lines of the reviewed text are now; none if one of them was changed since, or something was put between them.
fn located(cited: &Range<usize>, texts: &Texts) -> Option<Range<usize>> {
    let mut start = cited.start;
    for Changed { at, were, are } in &texts.changed {
        if at + were <= cited.start {
            start = (start + are).checked_sub(*were)?;
        } else if *at < cited.end {
            return None;
        }
    }
    let (reviewed, now) = (lines(&texts.reviewed), lines(&texts.now));
    let there = start..start + cited.len();
    let are_there = now.get(there.clone())?.iter().map(|line| bare(line));
    let were_there = reviewed.get(cited.clone())?.iter().map(|line| bare(line));
    are_there.eq(were_there).then_some(there)
}

/// A replacement as lines of the file that it goes into.
fn in_the_manner_of(replacement: &str, now: &[&[u8]], there: &Range<usize>) -> Vec<u8> {
    // What stands before the first line of a file, and is none of its text.
    let is_marked = there.start == 0
        && now.first().is_some_and(|line| line.starts_with(BYTE_ORDER_MARK))
        && !replacement.as_bytes().starts_with(BYTE_ORDER_MARK);
    let mark = if is_marked { BYTE_ORDER_MARK } else { &[] };
    if replacement.is_empty() {
        return mark.to_vec();
    }
    let own = there.clone().rev().chain(0..now.len());
    let end = own.map(|at| line_end(now[at])).find(|end| !end.is_empty()).unwrap_or(b"\n");
    let text = replacement.strip_suffix('\n').unwrap_or(replacement);
    let mut bytes = mark.to_vec();
    for line in text.split('\n') {
        bytes.extend_from_slice(line.strip_suffix('\r').unwrap_or(line).as_bytes());
        bytes.extend_from_slice(end);
    }
    // A file that ends in the middle of a line still does.
    let ends_open =
        there.end == now.len() && there.end > 0 && line_end(now[there.end - 1]).is_empty();
    if ends_open {
        bytes.truncate(bytes.len() - end.len());
    }
    bytes
}

/// The text with all patches in it, of which no two overlap.
fn patched(now: &[u8], patches: &mut [Patch]) -> Vec<u8> {
    patches.sort_by_key(|patch| patch.lines.start);
    let lines = lines(now);
    let (mut bytes, mut at) = (Vec::with_capacity(now.len()), 0);
    for patch in patches.iter() {
        bytes.extend(lines[at..patch.lines.start].concat());
        bytes.extend_from_slice(&patch.with);
        at = patch.lines.end;
    }
    bytes.extend(lines[at..].concat());
    bytes
}

/// The lines of a text with their ends.
fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

fn line_end(line: &[u8]) -> &[u8] {
    &line[bare(line).len()..]
}

/// A line without its end.
fn bare(line: &[u8]) -> &[u8] {
    let Some(line) = line.strip_suffix(b"\n") else { return line };
    line.strip_suffix(b"\r").unwrap_or(line)
}
