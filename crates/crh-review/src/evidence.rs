//! Finds a quote in the code. Lines are compared with their white space folded and nothing else forgiven:
//! no ellipsis, no other word, several lines only if they follow each other.

use std::collections::BTreeMap;
use std::hash::DefaultHasher;
use std::hash::Hasher;
use std::ops::Range;

use crate::diff::Diff;
use crate::diff::FileChange;
use crate::diff::Hunk;
use crate::diff::LineKind;
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
    /// Its lines in the diff, hunk by hunk.
    old: Vec<Passage>,
    new: Vec<Passage>,
    /// The diff as it is printed, removed and added lines in turn.
    both: Vec<Passage>,
}

/// A run of consecutive lines, folded and joined.
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
    kind: Option<LineKind>,
}

/// Where a quote was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) side: Side,
    /// The lines that the quote touches.
    pub(crate) first: u32,
    pub(crate) last: u32,
}

impl Passage {
    fn push(&mut self, side: Side, line: u32, kind: Option<LineKind>, text: &[u8]) {
        if !self.lines.is_empty() {
            self.text.push('\n');
        }
        self.lines.push(Row { start: self.text.len(), side, line, kind });
        self.text.push_str(&folded(&String::from_utf8_lossy(text)));
    }

    fn of_file(side: Side, bytes: &[u8]) -> Self {
        let mut passage = Self::default();
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        for (line, text) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
            passage.push(side, line, None, text);
        }
        passage.sort_rows();
        passage
    }

    fn sort_rows(&mut self) {
        let rows = self.lines.iter().enumerate();
        let hashed = rows.map(|(at, row)| (hash(self.row_text(at).unwrap_or_default()), row.line));
        self.by_text = hashed.collect();
        self.by_text.sort_unstable();
    }

    /// The rows that a text at an offset touches, if they are among these rows.
    fn rows_at(&self, rows: Range<usize>, at: usize, needle: &str) -> &[Row] {
        let among = &self.lines[rows];
        let row = |offset: usize| among.partition_point(|row| row.start <= offset);
        let (first, last) = (row(at), row(at + needle.len().saturating_sub(1)));
        among.get(first.saturating_sub(1)..last).unwrap_or_default()
    }

    /// The places of a text, in the order of the passage.
    fn find_all<'a>(&'a self, needle: &'a str) -> impl Iterator<Item = &'a [Row]> {
        memchr::memmem::find_iter(self.text.as_bytes(), needle.as_bytes())
            .map(|at| self.rows_at(0..self.lines.len(), at, needle))
    }

    /// The last place of a text before a line and the first from it on: one of them is the nearest. For
    /// passages of one side.
    ///
    /// It looks in ever wider circles: a quote is nearly always where it was cited, and files are long.
    fn find_around(&self, needle: &str, line: u32) -> impl Iterator<Item = &[Row]> {
        let middle = self.row_of(line);
        let places = [2, 64, 1_024, 16_384, usize::MAX]
            .into_iter()
            .map(|reach| self.find_within(needle, middle, reach))
            .find(|places| places.iter().any(Option::is_some));
        places.into_iter().flatten().flatten()
    }

    /// The same among so many rows before and after a row.
    fn find_within(&self, needle: &str, middle: usize, reach: usize) -> [Option<&[Row]>; 2] {
        let text = self.text.as_bytes();
        let offset = |row: usize| self.lines.get(row).map_or(text.len(), |row| row.start);
        let (first, last) = (middle.saturating_sub(reach), middle.saturating_add(reach));
        let (from, center, to) = (offset(first), offset(middle), offset(last));
        // A place may reach beyond the row it is looked for before.
        let beyond = |end: usize| text.len().min(end + needle.len().saturating_sub(1));
        let before = memchr::memmem::rfind(&text[from..beyond(center)], needle.as_bytes());
        let after = memchr::memmem::find(&text[center..beyond(to)], needle.as_bytes());
        let height = needle.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let rows = first..self.lines.len().min(last.saturating_add(height));
        let at = |found: usize| self.rows_at(rows.clone(), found, needle);
        [before.map(|found| at(from + found)), after.map(|found| at(center + found))]
    }

    /// The row of a line, or of the next one. For passages of one side, whose lines follow each other.
    fn row_of(&self, line: u32) -> usize {
        let first = self.lines.first().map_or(1, |row| row.line);
        usize::try_from(line.saturating_sub(first))
            .map_or(self.lines.len(), |row| row.min(self.lines.len()))
    }

    /// The text of a line. For passages of one side.
    fn text_of(&self, line: u32) -> Option<&str> {
        let row = self.row_of(line);
        self.lines.get(row).filter(|row| row.line == line)?;
        self.row_text(row)
    }

    fn row_text(&self, row: usize) -> Option<&str> {
        let start = self.lines.get(row)?.start;
        let end = self.lines.get(row + 1).map_or(self.text.len(), |next| next.start - 1);
        self.text.get(start..end)
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
            old: Vec::new(),
            new: Vec::new(),
            both: Vec::new(),
        };
        for hunk in sources.hunks(path) {
            quotable.add_hunk(&sources.diff, hunk);
        }
        quotable
    }

    fn add_hunk(&mut self, diff: &Diff, hunk: &Hunk) {
        let (mut old, mut new, mut both) =
            (Passage::default(), Passage::default(), Passage::default());
        for line in diff.lines(hunk) {
            let (kind, text) = (Some(line.kind), line.text());
            if line.kind.in_old() {
                old.push(Side::Old, line.old, kind, text);
            }
            if line.kind.in_new() {
                new.push(Side::New, line.new, kind, text);
            }
            match line.kind {
                LineKind::Context | LineKind::Added => both.push(Side::New, line.new, kind, text),
                LineKind::Removed => both.push(Side::Old, line.old, kind, text),
                LineKind::Remark => {}
            }
        }
        old.sort_rows();
        new.sort_rows();
        self.old.push(old);
        self.new.push(new);
        self.both.push(both);
    }

    /// Everything known of a side: the whole file, which has all that its hunks have, or the hunks.
    fn passages(&self, side: Side) -> &[Passage] {
        let (whole, hunks) = match side {
            Side::Old => (&self.whole_old, &self.old),
            Side::New => (&self.whole_new, &self.new),
        };
        whole.as_ref().map_or(hunks.as_slice(), std::slice::from_ref)
    }

    /// The text of a line, white space folded, if the file or the diff shows it.
    pub(crate) fn line(&self, side: Side, line: u32) -> Option<&str> {
        self.passages(side).iter().find_map(|passage| passage.text_of(line))
    }

    /// Which of the lines with the same text, from `start` on, this line is: 0 for the first. Only lines whose
    /// text is known count.
    pub(crate) fn ordinal(&self, side: Side, start: u32, line: u32) -> usize {
        let Some(text) = self.line(side, line) else { return 0 };
        self.passages(side).iter().map(|passage| passage.count(text, start, line)).sum()
    }

    /// Where a quote stands nearest to a cited line; `None` if it stands nowhere.
    ///
    /// As given, on the cited side. Then as lines of a diff with their signs, which must be right. Last as given
    /// in the diff as it is printed, where a quote may be of the other side or mix both.
    pub(crate) fn find(&self, needle: &Needle, side: Side, near: u32) -> Option<Found> {
        let nearest = |places: &mut dyn Iterator<Item = &[Row]>| {
            let found = places.filter_map(|rows| Found::of(rows, side));
            found.min_by_key(|found| (distance(*found, near), found.first))
        };
        let plain = needle.plain.as_deref().and_then(|text| {
            nearest(&mut self.passages(side).iter().flat_map(|p| p.find_around(text, near)))
        });
        let signed = || {
            let Signed { text, signs } = needle.signed.as_ref()?;
            let right = |rows: &&[Row]| has_signs(rows, signs);
            let hunks = || self.both.iter().chain(&self.new).chain(&self.old);
            nearest(&mut hunks().flat_map(|p| p.find_all(text)).filter(right))
        };
        let mixed = || {
            let text = needle.plain.as_deref()?;
            nearest(&mut self.both.iter().flat_map(|p| p.find_all(text)))
        };
        plain.or_else(signed).or_else(mixed)
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
}

/// How many lines a quote is away from a line; 0 if it covers it.
pub(crate) fn distance(found: Found, line: u32) -> u32 {
    if line < found.first { found.first - line } else { line.saturating_sub(found.last) }
}

/// A quote, folded for the search.
#[derive(Debug)]
pub(crate) struct Needle {
    /// As given.
    plain: Option<String>,
    /// As lines of a diff.
    signed: Option<Signed>,
}

/// A quote of lines of a diff: their text, and the sign of each (none for an empty line).
#[derive(Debug)]
struct Signed {
    text: String,
    signs: Vec<Option<LineKind>>,
}

impl Needle {
    /// Prepares a quote; `None` if it is too short to prove anything.
    pub(crate) fn new(snippet: &str) -> Option<Self> {
        let lines: Vec<&str> = snippet.trim_matches(['\n', '\r']).lines().collect();
        let sign = |line: &&str| match line.chars().next() {
            Some('+') => Some(Some(LineKind::Added)),
            Some('-') => Some(Some(LineKind::Removed)),
            Some(' ') => Some(Some(LineKind::Context)),
            None => Some(None),
            Some(_) => None,
        };
        let signs: Option<Vec<Option<LineKind>>> = lines.iter().map(sign).collect();
        let changes = [Some(LineKind::Added), Some(LineKind::Removed)];
        let signs = signs.filter(|signs| signs.iter().any(|sign| changes.contains(sign)));
        let is_signed = signs.is_some();
        let signed = signs.and_then(|signs| {
            let texts = lines.iter().map(|line| folded(line.get(1..).unwrap_or_default()));
            let mut rows: Vec<_> = signs.into_iter().zip(texts).collect();
            // Empty lines around a quote are not looked for.
            while rows.last().is_some_and(|(_, text)| text.is_empty()) {
                rows.pop();
            }
            let rows = rows.into_iter().skip_while(|(_, text)| text.is_empty());
            let (signs, texts): (Vec<_>, Vec<String>) = rows.unzip();
            Some(Signed { text: enough(texts.iter().map(String::as_str))?, signs })
        });
        // A sign is not one of the characters that prove something.
        let plain = if is_signed && signed.is_none() { None } else { enough(lines.into_iter()) };
        (plain.is_some() || signed.is_some()).then_some(Self { plain, signed })
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
