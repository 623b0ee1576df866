//! Turns exact replacements into new file contents. No I/O.
//!
//! Invariants: bytes outside the replaced lines do not change; line endings and a missing final
//! newline are preserved; no line is replaced twice.

#[cfg(test)]
pub(super) mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::outcome::SkippedIssue;
use crh_pipeline::fixer::{ChangedLines, FileEdit};
use crh_review::Quote;
use crh_review::finding::Side;
use crh_review::report::{CREDENTIAL_MASK, Issue};

/// U+FEFF in UTF-8; some editors write it at the start of a file.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

const NOTHING_EXACT: &str = "the report contains no code for this fix";
const OLD_SIDE: &str = "it is about removed lines";
const MASKED: &str = "its replacement contains a hidden credential";
const NO_SUCH_LINES: &str = "the reviewed file has no such lines";
const OTHER_EVIDENCE: &str = "its quoted code is not at the given lines";
const OTHER_LINES: &str = "its lines changed since the review";
const OTHER_SURROUNDINGS: &str = "its quoted code changed since the review";
const NOTHING_NEW: &str = "its replacement changes nothing";
const NOT_TEXT: &str = "its file is not text";
const OTHER_ENCODING: &str = "its file is not UTF-8, and its replacement is not ASCII";

/// The reviewed text of a file, and its current text, with later fixes and edits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileTexts {
    pub(crate) reviewed: Vec<u8>,
    pub(crate) now: Vec<u8>,
    /// Differences between the two, in line order.
    pub(crate) changed: Vec<LineChange>,
}

/// Changed lines: `are` lines of the current text replace `were` lines of the reviewed text, from
/// its 0-based line `at`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineChange {
    pub(crate) at: usize,
    pub(crate) were: usize,
    pub(crate) are: usize,
}

impl LineChange {
    /// Whether the change is at these lines, from 1: it replaces or deletes one of them, or adds
    /// lines beside them.
    pub(super) fn is_at(&self, (start, end): (u32, u32)) -> bool {
        let index = |line: u32| usize::try_from(line).unwrap_or(usize::MAX);
        let (first, end) = (index(start).saturating_sub(1), index(end));
        match self.were {
            0 => (first..=end).contains(&self.at),
            were => self.at < end && first < self.at + were,
        }
    }
}

impl From<&ChangedLines> for LineChange {
    fn from(ChangedLines { before, after }: &ChangedLines) -> Self {
        Self { at: before.start, were: before.len(), are: after.len() }
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ReplacementEdits {
    pub(crate) edits: Vec<FileEdit>,
    /// Issues whose replacement is in the file already.
    pub(crate) already_fixed: BTreeSet<u32>,
    pub(crate) left: Vec<SkippedIssue>,
}

/// The replacement of an issue, or why it cannot be used.
fn usable_replacement(issue: &Issue) -> Result<&str, &'static str> {
    let replacement = issue.replacement.as_deref().ok_or(NOTHING_EXACT)?;
    match issue.location.side {
        _ if issue.has_exact_fix() => Ok(replacement),
        Side::Old => Err(OLD_SIDE),
        Side::New => Err(MASKED),
    }
}

/// The edits of all replacements, one per file. `texts` has the file of each issue by issue number,
/// or why it cannot be read.
pub(crate) fn replaced(
    issues: &[&Issue],
    texts: &BTreeMap<u32, Result<FileTexts, SkippedIssue>>,
) -> ReplacementEdits {
    let mut replaced = ReplacementEdits::default();
    let mut by_file: BTreeMap<&str, Vec<&Issue>> = BTreeMap::new();
    for issue in issues {
        if let Some(Ok(texts)) = texts.get(&issue.number)
            && is_replaced(issue, texts)
        {
            replaced.already_fixed.insert(issue.number);
            continue;
        }
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

/// The place of these lines after changes, which are in line order.
pub(super) fn moved_lines(
    changes: impl IntoIterator<Item = LineChange>,
    (start, end): (u32, u32),
) -> (u32, u32) {
    let index = |line: u32| usize::try_from(line).unwrap_or(usize::MAX);
    let (mut first, mut last) = (index(start).saturating_sub(1), index(end));
    for LineChange { at, were, are } in changes {
        if at + were < index(start) {
            first = (first + are).saturating_sub(were);
            last = (last + are).saturating_sub(were);
        } else if at < index(end) {
            last = (last + are).saturating_sub(were);
        }
    }
    let number = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
    (number(first + 1), number(last.max(first + 1)))
}

#[derive(Debug, PartialEq, Eq)]
struct LineReplacement {
    /// Lines of the current file, from 0.
    lines: Range<usize>,
    with: Vec<u8>,
    issues: BTreeSet<u32>,
}

fn one_file(
    path: &str,
    issues: &[&Issue],
    texts: &BTreeMap<u32, Result<FileTexts, SkippedIssue>>,
) -> (Option<FileEdit>, Vec<SkippedIssue>) {
    let (mut patches, mut left): (Vec<LineReplacement>, Vec<SkippedIssue>) =
        (Vec::new(), Vec::new());
    // The current text, which is the same for all issues of the file. The reviewed text may differ.
    let mut now: &[u8] = &[];
    let mut issues = issues.to_vec();
    issues.sort_by_key(|issue| issue.number);
    for issue in issues {
        let number = issue.number;
        let found = match texts.get(&number) {
            Some(Ok(texts)) => patch(issue, texts)
                .map(|patch| (patch, &texts.now))
                .map_err(|why| SkippedIssue::new(number, why)),
            Some(Err(skipped)) => Err(skipped.clone()),
            None => Err(SkippedIssue::new(number, NO_SUCH_LINES)),
        };
        let patch = match found {
            Ok((patch, text)) => {
                now = text;
                patch
            }
            Err(skipped) => {
                left.push(skipped);
                continue;
            }
        };
        let overlaps = |it: &LineReplacement| {
            it.lines.start < patch.lines.end && patch.lines.start < it.lines.end
        };
        match patches.iter_mut().find(|it| overlaps(it)) {
            // Two issues with the same replacement share one fix.
            Some(other) if other.lines == patch.lines && other.with == patch.with => {
                other.issues.insert(number);
            }
            Some(other) => {
                let first = other.issues.first().copied().unwrap_or_default();
                left.push(SkippedIssue::new(number, format!("it overlaps the fix of #{first}")));
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

/// The patch of an issue in the current file, or why its position is unclear.
fn patch(issue: &Issue, texts: &FileTexts) -> Result<LineReplacement, &'static str> {
    let replacement = usable_replacement(issue)?;
    if texts.now.contains(&0) {
        return Err(NOT_TEXT);
    }
    if !replacement.is_ascii() && std::str::from_utf8(&texts.now).is_err() {
        return Err(OTHER_ENCODING);
    }
    let (reviewed, now) = (lines(&texts.reviewed), lines(&texts.now));
    let cited = cited_lines(issue, reviewed.len()).ok_or(NO_SUCH_LINES)?;
    let own = own_quotes(issue);
    if !own.iter().all(|quote| matches_lines(quote, &reviewed)) {
        return Err(OTHER_EVIDENCE);
    }
    let position = current_position(&cited, texts).ok_or(OTHER_LINES)?;
    if !own
        .iter()
        .all(|quote| quoted(quote).is_some_and(|lines| current_position(&lines, texts).is_some()))
    {
        return Err(OTHER_SURROUNDINGS);
    }
    let with = with_line_endings_of_file(replacement, &now, &position);
    if with == now[position.clone()].concat() {
        return Err(NOTHING_NEW);
    }
    Ok(LineReplacement { lines: position, with, issues: BTreeSet::from([issue.number]) })
}

/// Whether the file has the replacement of an issue instead of the reviewed lines, between the same
/// lines: the user made this edit, or crh made it for another issue.
fn is_replaced(issue: &Issue, texts: &FileTexts) -> bool {
    let Ok(replacement) = usable_replacement(issue) else { return false };
    let (reviewed, now) = (lines(&texts.reviewed), lines(&texts.now));
    let Some(cited) = cited_lines(issue, reviewed.len()) else { return false };
    if !own_quotes(issue).iter().all(|quote| matches_lines(quote, &reviewed)) {
        return false;
    }
    let is_beside = |it: &&LineChange| it.at <= cited.end && cited.start <= it.at + it.were;
    let (beside, others): (Vec<&LineChange>, Vec<&LineChange>) =
        texts.changed.iter().partition(is_beside);
    // The cited lines and all changes at them. The lines around them are unchanged.
    let first = beside.iter().fold(cited.start, |first, it| first.min(it.at));
    let end = beside.iter().fold(cited.end, |end, it| end.max(it.at + it.were));
    let (added, removed) = line_counts(others.into_iter().filter(|it| it.at < first));
    let start = (first + added).saturating_sub(removed);
    let (added, removed) = line_counts(beside.into_iter());
    let current = now.get(start..(start + end - first + added).saturating_sub(removed));
    let (Some(current), Some(old)) = (current, reviewed.get(first..end)) else { return false };
    let replacement = lines(replacement.as_bytes());
    let (before, after) = (&old[..cited.start - first], &old[cited.end - first..]);
    let fixed = [before, replacement.as_slice(), after].concat();
    is_same_text(current, &fixed) && !is_same_text(current, old)
}

/// Sums of the new and the old lines of changes.
fn line_counts<'c>(changes: impl Iterator<Item = &'c LineChange>) -> (usize, usize) {
    changes.fold((0, 0), |(added, removed), it| (added + it.are, removed + it.were))
}

/// Compares lines without their line endings and byte order marks.
fn is_same_text(one: &[&[u8]], other: &[&[u8]]) -> bool {
    let text = |line: &&[u8]| {
        let line = without_line_end(line);
        line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line).to_vec()
    };
    one.iter().map(text).eq(other.iter().map(text))
}

/// The quotes of an issue from its own file.
fn own_quotes(issue: &Issue) -> Vec<&Quote> {
    let own = |quote: &&Quote| quote.file == issue.location.file && quote.side == Side::New;
    issue.evidence.iter().filter(own).collect()
}

/// The lines of an issue, from 0. `None` if the file is shorter.
fn cited_lines(issue: &Issue, count: usize) -> Option<Range<usize>> {
    let start = usize::try_from(issue.location.line_start).ok()?.checked_sub(1)?;
    let end = usize::try_from(issue.location.line_end).ok()?;
    (start < end && end <= count).then_some(start..end)
}

/// The lines of a quote, from 0.
fn quoted(quote: &Quote) -> Option<Range<usize>> {
    let first = usize::try_from(quote.line).ok()?.checked_sub(1)?;
    Some(first..first + quote.snippet.lines().count())
}

/// Whether the quote matches its lines, ignoring white space. Masked secrets are not compared.
fn matches_lines(quote: &Quote, lines: &[&[u8]]) -> bool {
    if quote.snippet.contains(CREDENTIAL_MASK) {
        return true;
    }
    let Some(lines_of_quote) = quoted(quote) else { return false };
    lines_of_quote.zip(quote.snippet.lines()).all(|(at, wanted)| {
        let line = lines.get(at).map(|line| folded(&String::from_utf8_lossy(line)));
        line.is_some_and(|line| line.contains(&folded(wanted)))
    })
}

fn folded(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Current position of reviewed lines. `None` if a line changed, or if lines were inserted between
/// them.
fn current_position(cited: &Range<usize>, texts: &FileTexts) -> Option<Range<usize>> {
    let mut start = cited.start;
    for LineChange { at, were, are } in &texts.changed {
        if at + were <= cited.start {
            start = (start + are).checked_sub(*were)?;
        } else if *at < cited.end {
            return None;
        }
    }
    let (reviewed, now) = (lines(&texts.reviewed), lines(&texts.now));
    let position = start..start + cited.len();
    let current_lines = now.get(position.clone())?.iter().map(|line| without_line_end(line));
    let reviewed_lines = reviewed.get(cited.clone())?.iter().map(|line| without_line_end(line));
    current_lines.eq(reviewed_lines).then_some(position)
}

/// The replacement with the line endings of the file.
fn with_line_endings_of_file(replacement: &str, now: &[&[u8]], position: &Range<usize>) -> Vec<u8> {
    // A byte order mark before the first line is not part of the text.
    let is_marked = position.start == 0
        && now.first().is_some_and(|line| line.starts_with(BYTE_ORDER_MARK))
        && !replacement.as_bytes().starts_with(BYTE_ORDER_MARK);
    let mark = if is_marked { BYTE_ORDER_MARK } else { &[] };
    if replacement.is_empty() {
        return mark.to_vec();
    }
    let own = position.clone().rev().chain(0..now.len());
    let end = own.map(|at| line_end(now[at])).find(|end| !end.is_empty()).unwrap_or(b"\n");
    let text = replacement.strip_suffix('\n').unwrap_or(replacement);
    let mut bytes = mark.to_vec();
    for line in text.split('\n') {
        bytes.extend_from_slice(line.strip_suffix('\r').unwrap_or(line).as_bytes());
        bytes.extend_from_slice(end);
    }
    // Preserve a missing final newline.
    let ends_open =
        position.end == now.len() && position.end > 0 && line_end(now[position.end - 1]).is_empty();
    if ends_open {
        bytes.truncate(bytes.len() - end.len());
    }
    bytes
}

/// Applies patches that do not overlap.
fn patched(now: &[u8], patches: &mut [LineReplacement]) -> Vec<u8> {
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

/// Lines of a text, with their line endings.
fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

fn line_end(line: &[u8]) -> &[u8] {
    &line[without_line_end(line).len()..]
}

/// A line without its line ending.
fn without_line_end(line: &[u8]) -> &[u8] {
    let Some(line) = line.strip_suffix(b"\n") else { return line };
    line.strip_suffix(b"\r").unwrap_or(line)
}
