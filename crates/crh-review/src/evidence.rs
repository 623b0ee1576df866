//! Finds a quote in the code. Lines are compared with their white space folded and nothing else forgiven:
//! no ellipsis, no other word, several lines only if they follow each other.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;

use crate::diff::{Diff, FileChange, Hunk, LineKind};
use crate::finding::Side;
use crate::words::folded;

/// A quote of one line must have so many visible characters: `}` or `return;` proves nothing.
const SNIPPET_MIN: usize = 8;

/// The code a review is about: the diff, and as much of the files as the caller has.
///
/// Without a file's text, its lines in the diff are all that can be quoted.
#[derive(Debug, Clone)]
pub struct Sources {
    diff: Diff,
    // The places of a path in the diff, and the new path of each renamed file.
    by_path: BTreeMap<String, Vec<usize>>,
    renamed: BTreeMap<String, String>,
    files: BTreeMap<(Side, String), Vec<u8>>,
    symbols: BTreeMap<(Side, String), Vec<SymbolSpan>>,
}

/// A function, method or type and the lines it covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolSpan {
    /// Its name, qualified as the language does.
    pub name: String,
    /// Its first line, 1-based.
    pub start: u32,
    /// Its last line.
    pub end: u32,
}

impl Sources {
    /// The code as far as the diff shows it.
    pub fn new(diff: Diff) -> Self {
        let mut by_path: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut renamed = BTreeMap::new();
        for (at, file) in diff.files().iter().enumerate() {
            let path = file.path.shown().into_owned();
            if let (FileChange::Renamed, Some(old)) = (file.change, &file.old_path) {
                renamed.insert(old.shown().into_owned(), path.clone());
            }
            by_path.entry(path).or_default().push(at);
        }
        Self { diff, by_path, renamed, files: BTreeMap::new(), symbols: BTreeMap::new() }
    }

    /// Adds the text of a file on one side. A renamed file goes by its new path on both.
    #[must_use]
    pub fn with_file(mut self, side: Side, path: &str, text: impl Into<Vec<u8>>) -> Self {
        self.files.insert((side, path.to_owned()), text.into());
        self
    }

    /// Adds the functions and types of a file on one side.
    #[must_use]
    pub fn with_symbols(mut self, side: Side, path: &str, spans: Vec<SymbolSpan>) -> Self {
        self.symbols.insert((side, path.to_owned()), spans);
        self
    }

    /// The diff.
    pub fn diff(&self) -> &Diff {
        &self.diff
    }

    /// The innermost function or type around a line.
    pub(crate) fn symbol(&self, side: Side, path: &str, line: u32) -> Option<&SymbolSpan> {
        self.symbols
            .get(&(side, path.to_owned()))?
            .iter()
            .filter(|span| span.start <= line && line <= span.end)
            .min_by_key(|span| (span.end - span.start, span.start))
    }

    /// Whether anything of a file is known.
    pub(crate) fn knows(&self, side: Side, path: &str) -> bool {
        self.by_path.contains_key(path) || self.files.contains_key(&(side, path.to_owned()))
    }

    /// The path under which a file is known: a renamed file may be cited by the path it had.
    pub fn current_path(&self, path: &str) -> String {
        let renamed = self.renamed.get(path).filter(|_| !self.by_path.contains_key(path));
        renamed.map_or(path, String::as_str).to_owned()
    }

    /// The hunks of a file, by its current path. A file that changes its type is in the diff twice.
    pub(crate) fn hunks(&self, path: &str) -> impl Iterator<Item = &Hunk> {
        let places = self.by_path.get(path).map(Vec::as_slice).unwrap_or_default();
        places.iter().flat_map(|at| &self.diff.files()[*at].hunks)
    }
}

/// Everything that can be quoted from one file, ready to be searched many times.
#[derive(Debug)]
pub(crate) struct Quotable {
    /// The whole file, where it is known.
    whole_old: Option<Passage>,
    whole_new: Option<Passage>,
    /// Its lines in the diff.
    old: Passage,
    new: Passage,
    /// The diff as it is printed, removed and added lines in turn.
    both: Passage,
}

/// Lines folded and joined, with a gap wherever they do not follow each other.
#[derive(Debug, Default)]
struct Passage {
    text: String,
    lines: Vec<Row>,
    // The hash of each line's text, and the line, sorted: equal lines are counted without looking at others.
    by_text: Vec<(u64, u32)>,
}

/// A line of a passage: where it starts in the text, where it stands in which file, and what the diff says of it.
#[derive(Debug, Clone, Copy)]
struct Row {
    start: usize,
    side: Side,
    line: u32,
    /// How far the old and the new file have come: both rise from row to row.
    reached: (u32, u32),
    kind: Option<LineKind>,
}

/// The lines that a finding cites.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cited {
    pub(crate) side: Side,
    pub(crate) first: u32,
    pub(crate) last: u32,
}

/// Where a quote was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) side: Side,
    /// The lines that the quote touches.
    pub(crate) first: u32,
    pub(crate) last: u32,
}

/// What stands in a gap. No quote can hold it: see [`Needle::new`].
const GAP: &str = "\0";
/// How many places of one text are looked at on each side of the cited lines. A quote that stands in more proves little.
const PLACES_MAX: usize = 200;

impl Passage {
    fn push(&mut self, row: Row, text: &[u8]) {
        if !self.lines.is_empty() {
            self.text.push('\n');
        }
        self.lines.push(Row { start: self.text.len(), ..row });
        self.text.push_str(&folded(&String::from_utf8_lossy(text)));
    }

    /// Ends a run of lines that follow each other.
    fn gap(&mut self) {
        if !self.lines.is_empty() {
            self.text.push('\n');
            self.text.push_str(GAP);
        }
    }

    fn of_file(side: Side, bytes: &[u8]) -> Self {
        let mut passage = Self::default();
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        for (line, text) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
            passage.push(Row { start: 0, side, line, reached: (line, line), kind: None }, text);
        }
        passage.hash_lines();
        passage
    }

    fn hash_lines(&mut self) {
        let rows = self.lines.iter().enumerate();
        let hashed = rows.map(|(at, row)| (hash(self.row_text(at).unwrap_or_default()), row.line));
        self.by_text = hashed.collect();
        self.by_text.sort_unstable();
    }

    /// The first row that has reached a line of a side.
    fn row_of(&self, side: Side, line: u32) -> usize {
        self.lines.partition_point(|row| match side {
            Side::Old => row.reached.0 < line,
            Side::New => row.reached.1 < line,
        })
    }

    /// The rows that a text at an offset touches, if they are among these rows.
    fn rows_at(&self, rows: Range<usize>, at: usize, needle: &str) -> &[Row] {
        let among = &self.lines[rows];
        let row = |offset: usize| among.partition_point(|row| row.start <= offset);
        let (first, last) = (row(at), row(at + needle.len().saturating_sub(1)));
        among.get(first.saturating_sub(1)..last).unwrap_or_default()
    }

    /// The place of a text nearest to the cited lines that `accept` takes.
    ///
    /// It looks in ever wider circles: a quote is nearly always where it was cited, and files are long.
    fn nearest(
        &self,
        needle: &str,
        cited: Cited,
        accept: impl Fn(&[Row]) -> bool,
    ) -> Option<Found> {
        let first = self.row_of(cited.side, cited.first);
        let last = self.row_of(cited.side, cited.last.saturating_add(1)).max(first);
        let within = |reach: usize| {
            let places = self.around(needle, first..last, reach, &accept);
            let found = places.into_iter().flatten().filter_map(|rows| Found::of(rows, cited.side));
            found.min_by_key(|found| (distance(*found, cited), found.first))
        };
        let nearby = [2, 64, 1_024].into_iter().find_map(within);
        // Looking backwards is slow; one quick look forwards tells whether there is anything to find.
        let is_there = || memchr::memmem::find(self.text.as_bytes(), needle.as_bytes()).is_some();
        nearby.or_else(|| is_there().then(|| [16_384, usize::MAX].into_iter().find_map(within))?)
    }

    /// The last place that starts before the cited rows and the first that starts from there on, so many rows
    /// around them: one of the two is the nearest.
    fn around(
        &self,
        needle: &str,
        cited: Range<usize>,
        reach: usize,
        accept: &impl Fn(&[Row]) -> bool,
    ) -> [Option<&[Row]>; 2] {
        let text = self.text.as_bytes();
        let offset = |row: usize| self.lines.get(row).map_or(text.len(), |row| row.start);
        let height = needle.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let (first, last) = (
            cited.start.saturating_sub(reach.saturating_add(height)),
            cited.end.saturating_add(reach),
        );
        let (from, middle, to) = (offset(first), offset(cited.start), offset(last));
        // A place may reach beyond the row it is looked for before.
        let beyond = |end: usize| text.len().min(end + needle.len().saturating_sub(1));
        let rows = first..self.lines.len().min(last.saturating_add(height));
        let at = |found: usize| self.rows_at(rows.clone(), found, needle);
        let needle = needle.as_bytes();
        let before = memchr::memmem::rfind_iter(&text[from..beyond(middle)], needle);
        let after = memchr::memmem::find_iter(&text[middle..beyond(to)], needle);
        [
            before.take(PLACES_MAX).map(|found| at(from + found)).find(|rows| accept(rows)),
            after.take(PLACES_MAX).map(|found| at(middle + found)).find(|rows| accept(rows)),
        ]
    }

    /// The text of a line. For passages of one side.
    fn text_of(&self, side: Side, line: u32) -> Option<&str> {
        let row = self.row_of(side, line);
        self.lines.get(row).filter(|row| row.line == line)?;
        self.row_text(row)
    }

    fn row_text(&self, row: usize) -> Option<&str> {
        let rest = self.text.get(self.lines.get(row)?.start..)?;
        rest.split('\n').next()
    }

    /// How many lines from `start` to before `end` have a text. For passages of one side.
    fn count(&self, text: &str, start: u32, end: u32) -> usize {
        let text = hash(text);
        let before = |limit: u32| self.by_text.partition_point(|line| *line < (text, limit));
        before(end).saturating_sub(before(start))
    }
}

/// Only equality counts: which number it is shows nowhere.
fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(text.as_bytes());
    hasher.finish()
}

impl Quotable {
    /// What can be quoted from a file, by its current path.
    pub(crate) fn of(sources: &Sources, path: &str) -> Self {
        let whole = |side| {
            let bytes = sources.files.get(&(side, path.to_owned()))?;
            Some(Passage::of_file(side, bytes))
        };
        let mut quotable = Self {
            whole_old: whole(Side::Old),
            whole_new: whole(Side::New),
            old: Passage::default(),
            new: Passage::default(),
            both: Passage::default(),
        };
        // Lines must rise; a forged diff may have its hunks in any order.
        let mut hunks: Vec<&Hunk> = sources.hunks(path).collect();
        hunks.sort_by_key(|hunk| (hunk.new.start, hunk.old.start));
        for hunk in hunks {
            quotable.add_hunk(&sources.diff, hunk);
        }
        quotable.old.hash_lines();
        quotable.new.hash_lines();
        quotable
    }

    fn add_hunk(&mut self, diff: &Diff, hunk: &Hunk) {
        let mut reached = (hunk.old.start, hunk.new.start);
        for passage in [&mut self.old, &mut self.new, &mut self.both] {
            passage.gap();
        }
        for line in diff.lines(hunk) {
            let (kind, text) = (Some(line.kind), line.text());
            let on = |side, number| Row { start: 0, side, line: number, reached, kind };
            if line.kind.in_old() {
                self.old.push(on(Side::Old, line.old), text);
            }
            if line.kind.in_new() {
                self.new.push(on(Side::New, line.new), text);
            }
            match line.kind {
                LineKind::Context | LineKind::Added => {
                    self.both.push(on(Side::New, line.new), text);
                }
                LineKind::Removed => self.both.push(on(Side::Old, line.old), text),
                LineKind::Remark => {}
            }
            reached.0 = reached.0.saturating_add(u32::from(line.kind.in_old()));
            reached.1 = reached.1.saturating_add(u32::from(line.kind.in_new()));
        }
    }

    /// Everything known of a side: the whole file, which has all that its hunks have, or the hunks.
    fn side(&self, side: Side) -> &Passage {
        match side {
            Side::Old => self.whole_old.as_ref().unwrap_or(&self.old),
            Side::New => self.whole_new.as_ref().unwrap_or(&self.new),
        }
    }

    /// The text of a line, white space folded, if the file or the diff shows it.
    pub(crate) fn line(&self, side: Side, line: u32) -> Option<&str> {
        self.side(side).text_of(side, line)
    }

    /// Which of the lines with the same text, from `start` on, this line is: 0 for the first. Only lines whose
    /// text is known count.
    pub(crate) fn ordinal(&self, side: Side, start: u32, line: u32) -> usize {
        self.line(side, line).map_or(0, |text| self.side(side).count(text, start, line))
    }

    /// Where a quote stands nearest to the cited lines; `None` if it stands nowhere.
    ///
    /// As given, on the cited side. Then as lines of a diff with their signs, which must be right. Last as given
    /// in the diff, where a quote may be of the other side or mix both.
    pub(crate) fn find(&self, needle: &Needle, cited: Cited) -> Option<Found> {
        let any = |_: &[Row]| true;
        let other = match cited.side {
            Side::Old => &self.new,
            Side::New => &self.old,
        };
        let plain = |passage: &Passage| passage.nearest(needle.plain.as_deref()?, cited, any);
        let signed = |passage: &Passage| {
            let Signed { text, signs } = needle.signed.as_ref()?;
            passage.nearest(text, cited, |rows: &[Row]| has_signs(rows, signs))
        };
        let found = plain(self.side(cited.side))
            .or_else(|| signed(&self.both))
            .or_else(|| signed(&self.new))
            .or_else(|| signed(&self.old))
            .or_else(|| plain(&self.both))
            .or_else(|| plain(other))?;
        Some(Found { first: found.first.saturating_sub(needle.blank_before).max(1), ..found })
    }
}

/// Whether the diff says of each line what the quote's signs say of it.
fn has_signs(rows: &[Row], signs: &[Option<LineKind>]) -> bool {
    rows.len() == signs.len()
        && rows.iter().zip(signs).all(|(row, sign)| sign.is_none() || row.kind == *sign)
}

impl Found {
    /// The lines of a place, on the cited side if it has any there.
    fn of(rows: &[Row], cited: Side) -> Option<Self> {
        let side =
            if rows.iter().any(|row| row.side == cited) { cited } else { rows.first()?.side };
        let mut lines = rows.iter().filter(|row| row.side == side).map(|row| row.line);
        let first = lines.next()?;
        Some(Self { side, first, last: lines.next_back().unwrap_or(first).max(first) })
    }

    /// Whether it shares a line with the cited ones.
    pub(crate) fn is_among(self, cited: Cited) -> bool {
        self.side == cited.side && distance(self, cited) == 0
    }
}

/// How many lines a quote is away from the cited ones; 0 if they share one.
pub(crate) fn distance(found: Found, cited: Cited) -> u32 {
    if cited.last < found.first {
        found.first - cited.last
    } else {
        cited.first.saturating_sub(found.last)
    }
}

/// A quote, folded for the search.
#[derive(Debug)]
pub(crate) struct Needle {
    /// As given.
    plain: Option<String>,
    /// As lines of a diff.
    signed: Option<Signed>,
    /// How many empty lines stand before the first one that is looked for.
    blank_before: u32,
}

/// A quote of lines of a diff: their text, and the sign of each that has one.
#[derive(Debug)]
struct Signed {
    text: String,
    signs: Vec<Option<LineKind>>,
}

impl Needle {
    /// Prepares a quote; `None` if it is too short to prove anything, or holds what no line holds.
    pub(crate) fn new(snippet: &str) -> Option<Self> {
        if snippet.contains(GAP) {
            return None;
        }
        let lines: Vec<&str> = snippet.lines().collect();
        let signed: Vec<(Option<LineKind>, String)> = lines
            .iter()
            .map(|line| match (line.strip_prefix('+'), line.strip_prefix('-')) {
                (Some(added), _) => (Some(LineKind::Added), folded(added)),
                (_, Some(removed)) => (Some(LineKind::Removed), folded(removed)),
                // A context line, with or without its blank.
                (None, None) => (None, folded(line)),
            })
            .collect();
        let is_signed = signed.iter().any(|(sign, _)| sign.is_some());
        let blank = signed.iter().take_while(|(_, text)| text.is_empty()).count();
        let end = signed.iter().rposition(|(_, text)| !text.is_empty()).map_or(0, |at| at + 1);
        let (signs, texts): (Vec<_>, Vec<&str>) =
            signed.get(blank..end)?.iter().map(|(sign, text)| (*sign, text.as_str())).unzip();
        let signed = enough(texts.into_iter()).filter(|_| is_signed);
        // A sign is not one of the characters that prove something.
        let plain = if is_signed && signed.is_none() { None } else { enough(lines.into_iter()) };
        let signed = signed.map(|text| Signed { text, signs });
        let blank_before = u32::try_from(blank).unwrap_or_default();
        (plain.is_some() || signed.is_some()).then_some(Self { plain, signed, blank_before })
    }
}

/// Lines folded and joined, if there is enough in them to prove something.
fn enough<'a>(lines: impl Iterator<Item = &'a str>) -> Option<String> {
    let lines: Vec<String> = lines.map(folded).collect();
    let visible: usize = lines.iter().map(|line| line.chars().filter(|c| *c != ' ').count()).sum();
    let with_text = lines.iter().filter(|line| !line.is_empty()).count();
    let text = lines.join("\n").trim_matches('\n').to_owned();
    (visible >= SNIPPET_MIN || with_text >= 2).then_some(text)
}
