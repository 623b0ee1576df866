//! Finds a quote in the code. Lines are compared with their white space folded and nothing else forgiven:
//! no ellipsis, no other word, several lines only if they follow each other.

use std::collections::BTreeMap;

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
    /// The whole file where it is known, then the file's lines in the diff.
    old: Vec<Passage>,
    new: Vec<Passage>,
    /// The diff as it is printed, removed and added lines in turn.
    both: Vec<Passage>,
}

/// A run of consecutive lines, folded and joined.
#[derive(Debug, Default)]
struct Passage {
    text: String,
    // For each line: where it starts in `text`, and where it stands in which file.
    lines: Vec<(usize, Side, u32)>,
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
    fn push(&mut self, side: Side, line: u32, text: &[u8]) {
        if !self.lines.is_empty() {
            self.text.push('\n');
        }
        self.lines.push((self.text.len(), side, line));
        self.text.push_str(&folded(&String::from_utf8_lossy(text)));
    }

    fn of_file(side: Side, bytes: &[u8]) -> Self {
        let mut passage = Self::default();
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        for (line, text) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
            passage.push(side, line, text);
        }
        passage
    }

    fn row_at(&self, offset: usize) -> Option<&(usize, Side, u32)> {
        let after = self.lines.partition_point(|(start, ..)| *start <= offset);
        self.lines.get(after.checked_sub(1)?)
    }

    fn find<'a>(&'a self, needle: &'a str) -> impl Iterator<Item = Found> + 'a {
        memchr::memmem::find_iter(self.text.as_bytes(), needle.as_bytes()).filter_map(|at| {
            let &(_, side, first) = self.row_at(at)?;
            let &(_, last_side, last) = self.row_at(at + needle.len().saturating_sub(1))?;
            // In a mixed passage the quote may end on the other side, whose numbers do not compare.
            Some(Found {
                side,
                first,
                last: if side == last_side { last.max(first) } else { first },
            })
        })
    }

    fn text_of(&self, side: Side, line: u32) -> Option<&str> {
        // Called on passages of one side only, whose line numbers rise.
        let at = self.lines.binary_search_by_key(&line, |(_, _, number)| *number).ok()?;
        if self.lines[at].1 != side {
            return None;
        }
        let start = self.lines[at].0;
        let end = self.lines.get(at + 1).map_or(self.text.len(), |next| next.0 - 1);
        self.text.get(start..end)
    }
}

impl Quotable {
    /// What can be quoted from a file, by its current path.
    pub(crate) fn of(sources: &Sources, path: &str) -> Self {
        let mut quotable = Self { old: Vec::new(), new: Vec::new(), both: Vec::new() };
        for side in [Side::Old, Side::New] {
            if let Some(bytes) = sources.files.get(&(side, path.to_owned())) {
                quotable.passages(side).push(Passage::of_file(side, bytes));
            }
        }
        for hunk in sources.hunks(path) {
            quotable.add_hunk(&sources.diff, hunk);
        }
        quotable
    }

    fn passages(&mut self, side: Side) -> &mut Vec<Passage> {
        match side {
            Side::Old => &mut self.old,
            Side::New => &mut self.new,
        }
    }

    fn add_hunk(&mut self, diff: &Diff, hunk: &Hunk) {
        let (mut old, mut new, mut both) =
            (Passage::default(), Passage::default(), Passage::default());
        for line in diff.lines(hunk) {
            match line.kind {
                LineKind::Context => {
                    old.push(Side::Old, line.old, line.text());
                    new.push(Side::New, line.new, line.text());
                    both.push(Side::New, line.new, line.text());
                }
                LineKind::Removed => {
                    old.push(Side::Old, line.old, line.text());
                    both.push(Side::Old, line.old, line.text());
                }
                LineKind::Added => {
                    new.push(Side::New, line.new, line.text());
                    both.push(Side::New, line.new, line.text());
                }
                LineKind::Remark => {}
            }
        }
        self.old.push(old);
        self.new.push(new);
        self.both.push(both);
    }

    /// The text of a line, white space folded, if the file or the diff shows it.
    pub(crate) fn line(&self, side: Side, line: u32) -> Option<&str> {
        let passages = match side {
            Side::Old => &self.old,
            Side::New => &self.new,
        };
        passages.iter().find_map(|passage| passage.text_of(side, line))
    }

    /// Which of the lines with the same text, from `start` on, this line is: 0 for the first.
    pub(crate) fn ordinal(&self, side: Side, start: u32, line: u32) -> usize {
        let Some(text) = self.line(side, line) else { return 0 };
        (start..line).filter(|before| self.line(side, *before) == Some(text)).count()
    }

    /// Where a quote stands nearest to a cited line; `None` if it stands nowhere.
    ///
    /// The cited side is asked first, then the diff, where the quote may be of the other side or mix both.
    pub(crate) fn find(&self, needle: &Needle, side: Side, near: u32) -> Option<Found> {
        let cited = match side {
            Side::Old => &self.old,
            Side::New => &self.new,
        };
        needle
            .forms()
            .find_map(|form| nearest(cited, form, near))
            .or_else(|| needle.forms().find_map(|form| nearest(&self.both, form, near)))
    }
}

fn nearest(passages: &[Passage], needle: &str, near: u32) -> Option<Found> {
    passages
        .iter()
        .flat_map(|passage| passage.find(needle))
        .min_by_key(|found| (distance(*found, near), found.first))
}

/// How many lines a quote is away from a line; 0 if it covers it.
pub(crate) fn distance(found: Found, line: u32) -> u32 {
    if line < found.first { found.first - line } else { line.saturating_sub(found.last) }
}

/// A quote, folded for the search.
#[derive(Debug)]
pub(crate) struct Needle {
    plain: String,
    unsigned: Option<String>,
}

/// Why a quote cannot be searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unquotable {
    #[error("the quote is too short to prove anything")]
    TooShort,
}

impl Needle {
    /// Prepares a quote.
    pub(crate) fn new(snippet: &str) -> Result<Self, Unquotable> {
        let lines: Vec<&str> = snippet.trim_matches(['\n', '\r']).lines().collect();
        let visible = snippet.chars().filter(|char| !char.is_whitespace()).count();
        let lines_with_text = lines.iter().filter(|line| !line.trim().is_empty()).count();
        if visible < SNIPPET_MIN && lines_with_text < 2 {
            return Err(Unquotable::TooShort);
        }
        let plain = joined(lines.iter().copied());
        let unsigned = lines
            .iter()
            .all(|line| line.is_empty() || line.starts_with(['+', '-', ' ']))
            .then(|| joined(lines.iter().map(|line| line.get(1..).unwrap_or_default())))
            .filter(|unsigned| *unsigned != plain && !unsigned.trim().is_empty());
        Ok(Self { plain, unsigned })
    }

    /// The quote as given, then as lines of a diff with their signs taken off.
    fn forms(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.plain.as_str()).chain(self.unsigned.as_deref())
    }
}

fn joined<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let lines: Vec<String> = lines.map(folded).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}
