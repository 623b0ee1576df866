//! Finds quotes in the code. Only white space is normalised. A quote with an ellipsis or a changed
//! word does not match, and quoted lines must be consecutive.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;

use crate::diff::{Diff, FileChange, Hunk, LineKind};
use crate::finding::Side;
use crate::words::{collapse_whitespace, overlap};

/// Minimum visible characters of a one-line quote that crh searches for in the whole file. A
/// shorter quote such as `}` occurs too often; it counts only if it is the whole cited line.
const MIN_SNIPPET_CHARS: usize = 8;
/// Lines before and after the cited line in which crh searches for a similar line.
const SIMILAR_LINES: usize = 40;
/// Characters of a line that count for its similarity. Longer lines are not written by hand.
const SIMILAR_CHARS: usize = 400;

/// The reviewed code: the diff, and the files that the caller has.
///
/// Without the text of a file, only its lines in the diff can be quoted.
#[derive(Debug, Clone)]
pub struct Sources {
    diff: Diff,
    // `by_path` holds the indices of the diff's files with a path, `new_paths` the new path of each
    // renamed file by its old one.
    by_path: BTreeMap<String, Vec<usize>>,
    new_paths: BTreeMap<String, String>,
    files: BTreeMap<(Side, String), Vec<u8>>,
    symbols: BTreeMap<(Side, String), Vec<SymbolSpan>>,
}

/// A function, method or type and the lines it covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolSpan {
    /// Qualified name.
    pub name: String,
    /// First line, 1-based.
    pub start: u32,
    /// Last line.
    pub end: u32,
}

impl Sources {
    /// The code shown by the diff.
    pub fn new(diff: Diff) -> Self {
        let mut by_path: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut new_paths = BTreeMap::new();
        for (index, file) in diff.files().iter().enumerate() {
            let path = file.path.shown().into_owned();
            if let (FileChange::Renamed, Some(old)) = (file.change, &file.old_path) {
                new_paths.insert(old.shown().into_owned(), path.clone());
            }
            by_path.entry(path).or_default().push(index);
        }
        Self { diff, by_path, new_paths, files: BTreeMap::new(), symbols: BTreeMap::new() }
    }

    /// Adds the text of a file on one side. Use the new path of a renamed file on both sides.
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

    /// Whether the diff or the given files contain a file.
    pub(crate) fn contains_file(&self, side: Side, path: &str) -> bool {
        self.by_path.contains_key(path) || self.files.contains_key(&(side, path.to_owned()))
    }

    /// The current path of a file. A renamed file may be cited by its old path.
    pub fn current_path(&self, path: &str) -> String {
        let new_path = self.new_paths.get(path).filter(|_| !self.by_path.contains_key(path));
        new_path.map_or(path, String::as_str).to_owned()
    }

    /// The hunks of a file, by its current path. A file that changes its type is in the diff twice.
    pub(crate) fn hunks(&self, path: &str) -> impl Iterator<Item = &Hunk> {
        let file_indices = self.by_path.get(path).map(Vec::as_slice).unwrap_or_default();
        file_indices.iter().flat_map(|index| &self.diff.files()[*index].hunks)
    }
}

/// Everything that can be quoted from one file, prepared for searching.
#[derive(Debug)]
pub(crate) struct QuotableText {
    /// The whole file, if known.
    old_file: Option<Passage>,
    new_file: Option<Passage>,
    /// Its lines in the diff.
    old_diff: Passage,
    new_diff: Passage,
    /// The diff as printed, with removed and added lines interleaved.
    printed_diff: Passage,
}

/// Normalised lines, joined, with a gap between lines that are not consecutive.
#[derive(Debug, Default)]
struct Passage {
    text: String,
    lines: Vec<PassageLine>,
    // Hash and number of each line, sorted, to count equal lines.
    line_hashes: Vec<(u64, u32)>,
}

/// A line of a passage.
#[derive(Debug, Clone, Copy)]
struct PassageLine {
    /// Offset in the text of the passage.
    start: usize,
    side: Side,
    line: u32,
    /// Positions in the old and the new file. Neither decreases from line to line, which allows a
    /// binary search.
    positions: (u32, u32),
    kind: Option<LineKind>,
}

/// The lines that a finding cites.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CitedLines {
    pub(crate) side: Side,
    pub(crate) first: u32,
    pub(crate) last: u32,
}

/// Location of a quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QuoteMatch {
    pub(crate) side: Side,
    /// Lines that the quote covers.
    pub(crate) first: u32,
    pub(crate) last: u32,
}

/// Separates lines that are not consecutive. No quote can contain it: see [`Needle::new`].
const GAP: &str = "\0";
/// Maximum number of matches that are checked before and after the cited lines. Hostile text can
/// have many.
const MAX_MATCHES: usize = 200;

impl Passage {
    fn push(&mut self, line: PassageLine, text: &[u8]) {
        if !self.lines.is_empty() {
            self.text.push('\n');
        }
        self.lines.push(PassageLine { start: self.text.len(), ..line });
        self.text.push_str(&collapse_whitespace(&String::from_utf8_lossy(text)));
    }

    /// Ends a run of consecutive lines.
    fn push_gap(&mut self) {
        if !self.lines.is_empty() {
            self.text.push('\n');
            self.text.push_str(GAP);
        }
    }

    fn from_file(side: Side, bytes: &[u8]) -> Self {
        let mut passage = Self::default();
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        for (line, text) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
            passage.push(
                PassageLine { start: 0, side, line, positions: (line, line), kind: None },
                text,
            );
        }
        passage.hash_lines();
        passage
    }

    fn hash_lines(&mut self) {
        let lines = self.lines.iter().enumerate();
        let hashes =
            lines.map(|(index, line)| (hash(self.line_text(index).unwrap_or_default()), line.line));
        self.line_hashes = hashes.collect();
        self.line_hashes.sort_unstable();
    }

    /// Index of the first line at or after a line of a side.
    fn line_index(&self, side: Side, line: u32) -> usize {
        self.lines.partition_point(|passage_line| match side {
            Side::Old => passage_line.positions.0 < line,
            Side::New => passage_line.positions.1 < line,
        })
    }

    /// The lines covered by a match at an offset. Only lines in `range` are considered.
    fn lines_at(&self, range: Range<usize>, offset: usize, needle: &str) -> &[PassageLine] {
        let candidates = &self.lines[range];
        let lines_until = |offset: usize| candidates.partition_point(|line| line.start <= offset);
        let (first, last) =
            (lines_until(offset), lines_until(offset + needle.len().saturating_sub(1)));
        candidates.get(first.saturating_sub(1)..last).unwrap_or_default()
    }

    /// The match nearest to the cited lines that `accept` allows.
    ///
    /// Searches in growing ranges, because quotes are nearly always close to the cited line and
    /// files are long.
    fn find_nearest(
        &self,
        needle: &str,
        cited: CitedLines,
        accept: impl Fn(&[PassageLine]) -> bool,
    ) -> Option<QuoteMatch> {
        let first = self.line_index(cited.side, cited.first);
        let last = self.line_index(cited.side, cited.last.saturating_add(1)).max(first);
        let best_within = |max_distance: usize| {
            let matches = self.find_around(needle, first..last, max_distance, &accept);
            let quote_matches = matches
                .into_iter()
                .flatten()
                .filter_map(|lines| QuoteMatch::from_lines(lines, cited.side));
            quote_matches
                .min_by_key(|quote_match| (distance(*quote_match, cited), quote_match.first))
        };
        let near_match = [2, 64, 1_024].into_iter().find_map(best_within);
        // Searching backwards is slow, so first check whether there is a match at all.
        let has_match = || memchr::memmem::find(self.text.as_bytes(), needle.as_bytes()).is_some();
        near_match.or_else(|| {
            has_match().then(|| [16_384, usize::MAX].into_iter().find_map(best_within))?
        })
    }

    /// The last match before the cited lines and the first match from them on, within
    /// `max_distance` lines. One of the two is the nearest match.
    fn find_around(
        &self,
        needle: &str,
        cited: Range<usize>,
        max_distance: usize,
        accept: &impl Fn(&[PassageLine]) -> bool,
    ) -> [Option<&[PassageLine]>; 2] {
        let text = self.text.as_bytes();
        let offset = |index: usize| self.lines.get(index).map_or(text.len(), |line| line.start);
        let needle_lines = needle.bytes().filter(|byte| *byte == b'\n').count() + 1;
        let (first, last) = (
            cited.start.saturating_sub(max_distance.saturating_add(needle_lines)),
            cited.end.saturating_add(max_distance),
        );
        let (from, middle, to) = (offset(first), offset(cited.start), offset(last));
        // A match may extend beyond the last line of the range.
        let search_end = |end: usize| text.len().min(end + needle.len().saturating_sub(1));
        let range = first..self.lines.len().min(last.saturating_add(needle_lines));
        let lines_at = |offset: usize| self.lines_at(range.clone(), offset, needle);
        let needle = needle.as_bytes();
        let is_whole = |offset: &usize| splits_no_number(text, *offset, needle.len());
        let matches_before = memchr::memmem::rfind_iter(&text[from..search_end(middle)], needle);
        let matches_after = memchr::memmem::find_iter(&text[middle..search_end(to)], needle);
        [
            matches_before
                .take(MAX_MATCHES)
                .map(|offset| from + offset)
                .filter(is_whole)
                .map(lines_at)
                .find(|lines| accept(lines)),
            matches_after
                .take(MAX_MATCHES)
                .map(|offset| middle + offset)
                .filter(is_whole)
                .map(lines_at)
                .find(|lines| accept(lines)),
        ]
    }

    /// The text of a line, for passages of one side.
    fn text_at(&self, side: Side, line: u32) -> Option<&str> {
        let index = self.line_index(side, line);
        self.lines.get(index).filter(|passage_line| passage_line.line == line)?;
        self.line_text(index)
    }

    fn line_text(&self, index: usize) -> Option<&str> {
        let rest = self.text.get(self.lines.get(index)?.start..)?;
        rest.split('\n').next()
    }

    /// Number of lines in `start..end` with this text, for passages of one side.
    fn count_equal(&self, text: &str, start: u32, end: u32) -> usize {
        let text_hash = hash(text);
        let entries_before =
            |limit: u32| self.line_hashes.partition_point(|entry| *entry < (text_hash, limit));
        entries_before(end).saturating_sub(entries_before(start))
    }
}

/// A hash for comparing lines. The value is never stored.
fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(text.as_bytes());
    hasher.finish()
}

impl QuotableText {
    /// Prepares a file by its current path.
    pub(crate) fn from_sources(sources: &Sources, path: &str) -> Self {
        let file_passage = |side| {
            let bytes = sources.files.get(&(side, path.to_owned()))?;
            Some(Passage::from_file(side, bytes))
        };
        let mut quotable = Self {
            old_file: file_passage(Side::Old),
            new_file: file_passage(Side::New),
            old_diff: Passage::default(),
            new_diff: Passage::default(),
            printed_diff: Passage::default(),
        };
        // Line numbers must increase, but a forged diff can have its hunks in any order.
        let mut hunks: Vec<&Hunk> = sources.hunks(path).collect();
        hunks.sort_by_key(|hunk| (hunk.new.start, hunk.old.start));
        for hunk in hunks {
            quotable.add_hunk(&sources.diff, hunk);
        }
        quotable.old_diff.hash_lines();
        quotable.new_diff.hash_lines();
        quotable
    }

    fn add_hunk(&mut self, diff: &Diff, hunk: &Hunk) {
        let mut positions = (hunk.old.start, hunk.new.start);
        for passage in [&mut self.old_diff, &mut self.new_diff, &mut self.printed_diff] {
            passage.push_gap();
        }
        for line in diff.lines(hunk) {
            let (kind, text) = (Some(line.kind), line.text());
            let passage_line =
                |side, number| PassageLine { start: 0, side, line: number, positions, kind };
            if line.kind.in_old() {
                self.old_diff.push(passage_line(Side::Old, line.old), text);
            }
            if line.kind.in_new() {
                self.new_diff.push(passage_line(Side::New, line.new), text);
            }
            match line.kind {
                LineKind::Context | LineKind::Added => {
                    self.printed_diff.push(passage_line(Side::New, line.new), text);
                }
                LineKind::Removed => {
                    self.printed_diff.push(passage_line(Side::Old, line.old), text);
                }
                LineKind::Remark => {}
            }
            positions.0 = positions.0.saturating_add(u32::from(line.kind.in_old()));
            positions.1 = positions.1.saturating_add(u32::from(line.kind.in_new()));
        }
    }

    /// The whole file if known, or else its hunks.
    fn passage(&self, side: Side) -> &Passage {
        match side {
            Side::Old => self.old_file.as_ref().unwrap_or(&self.old_diff),
            Side::New => self.new_file.as_ref().unwrap_or(&self.new_diff),
        }
    }

    /// The normalised text of a line, if the file or the diff shows it.
    pub(crate) fn line(&self, side: Side, line: u32) -> Option<&str> {
        self.passage(side).text_at(side, line)
    }

    /// Index of a line among known lines with the same text, counted from `start`.
    pub(crate) fn ordinal(&self, side: Side, start: u32, line: u32) -> usize {
        self.line(side, line).map_or(0, |text| self.passage(side).count_equal(text, start, line))
    }

    /// Finds the quote nearest to the cited lines.
    ///
    /// Tries the literal text on the cited side, then the text as diff lines with matching signs,
    /// then the literal text anywhere in the diff.
    pub(crate) fn find(&self, needle: &Needle, cited: CitedLines) -> Option<QuoteMatch> {
        let accept_any = |_: &[PassageLine]| true;
        let other_side = match cited.side {
            Side::Old => &self.new_diff,
            Side::New => &self.old_diff,
        };
        let find_literal = |passage: &Passage| {
            passage.find_nearest(needle.literal_text.as_deref()?, cited, accept_any)
        };
        let find_signed = |passage: &Passage| {
            let SignedQuote { text, signs } = needle.signed_quote.as_ref()?;
            passage.find_nearest(text, cited, |lines: &[PassageLine]| has_signs(lines, signs))
        };
        let quote_match = find_literal(self.passage(cited.side))
            .or_else(|| find_signed(&self.printed_diff))
            .or_else(|| find_signed(&self.new_diff))
            .or_else(|| find_signed(&self.old_diff))
            .or_else(|| find_literal(&self.printed_diff))
            .or_else(|| find_literal(other_side))?;
        Some(QuoteMatch {
            first: quote_match.first.saturating_sub(needle.blank_before).max(1),
            ..quote_match
        })
    }
}

impl QuotableText {
    /// Finds a quote of any length that equals one of the cited lines, with or without a diff sign.
    pub(crate) fn find_whole_line(&self, snippet: &str, cited: CitedLines) -> Option<QuoteMatch> {
        let snippet = snippet.trim_matches(['\n', '\r']);
        let added = snippet.strip_prefix('+').map(|text| (Side::New, text));
        let removed = snippet.strip_prefix('-').map(|text| (Side::Old, text));
        let literal = Some((cited.side, snippet));
        [literal, added, removed].into_iter().flatten().find_map(|(side, text)| {
            let text = collapse_whitespace(text);
            let is_quoted = |line: &u32| !text.is_empty() && self.line(side, *line) == Some(&text);
            let line = (cited.first..=cited.last).find(is_quoted)?;
            Some(QuoteMatch { side, first: line, last: line })
        })
    }

    /// Whether the match of a quote starts with a whole line of the quote.
    pub(crate) fn starts_whole_line(&self, quote_match: QuoteMatch, quote: &str) -> bool {
        let Some(first) = self.line(quote_match.side, quote_match.first) else { return false };
        quote.lines().any(|line| {
            let unsigned = line.strip_prefix(['+', '-']).unwrap_or(line);
            [line, unsigned].iter().any(|text| collapse_whitespace(text) == first)
        })
    }

    /// The known line near `line` that is most like the first line of a quote.
    pub(crate) fn most_similar_line(
        &self,
        snippet: &str,
        side: Side,
        line: u32,
    ) -> Option<(u32, &str)> {
        let passage = self.passage(side);
        let quoted_line = snippet.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let quoted_pairs = letter_pairs(&collapse_whitespace(quoted_line));
        let middle = passage.line_index(side, line);
        let first = middle.saturating_sub(SIMILAR_LINES);
        let last = passage.lines.len().min(middle.saturating_add(SIMILAR_LINES + 1));
        let lines = (first..last).filter_map(|index| {
            let text = passage.line_text(index).filter(|text| !text.is_empty())?;
            Some((passage.lines[index].line, text))
        });
        lines.max_by(|(left_line, left), (right_line, right)| {
            let similarity = |text: &str| overlap(&letter_pairs(text), &quoted_pairs);
            let nearness = |number: &u32| std::cmp::Reverse(number.abs_diff(line));
            similarity(left)
                .total_cmp(&similarity(right))
                .then_with(|| nearness(left_line).cmp(&nearness(right_line)))
        })
    }
}

/// Pairs of neighbouring characters, sorted, for comparing lines.
fn letter_pairs(text: &str) -> Vec<(char, char)> {
    let chars: Vec<char> = text.chars().take(SIMILAR_CHARS).collect();
    let mut pairs: Vec<(char, char)> = chars.windows(2).map(|pair| (pair[0], pair[1])).collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// Whether a match neither begins nor ends inside a number: `x / 1` is no quote of `x / 10`. Inside
/// a word it may, because models cut long quotes.
fn splits_no_number(text: &[u8], start: usize, length: usize) -> bool {
    let is_digit = |index: usize| text.get(index).is_some_and(u8::is_ascii_digit);
    let is_inside = |index: usize| index > 0 && is_digit(index - 1) && is_digit(index);
    !is_inside(start) && !is_inside(start + length)
}

/// Whether the signs of the quote match the diff.
fn has_signs(lines: &[PassageLine], signs: &[Option<LineKind>]) -> bool {
    lines.len() == signs.len()
        && lines.iter().zip(signs).all(|(line, sign)| sign.is_none() || line.kind == *sign)
}

impl QuoteMatch {
    /// The lines of a match, on the cited side if possible.
    fn from_lines(lines: &[PassageLine], cited: Side) -> Option<Self> {
        let side =
            if lines.iter().any(|line| line.side == cited) { cited } else { lines.first()?.side };
        let mut lines = lines.iter().filter(|line| line.side == side).map(|line| line.line);
        let first = lines.next()?;
        Some(Self { side, first, last: lines.next_back().unwrap_or(first).max(first) })
    }

    /// Whether the quote overlaps the cited lines.
    pub(crate) fn overlaps(self, cited: CitedLines) -> bool {
        self.side == cited.side && distance(self, cited) == 0
    }
}

/// Distance in lines between a quote and the cited lines; 0 if they overlap.
pub(crate) fn distance(quote_match: QuoteMatch, cited: CitedLines) -> u32 {
    if cited.last < quote_match.first {
        quote_match.first - cited.last
    } else {
        cited.first.saturating_sub(quote_match.last)
    }
}

/// A quote, normalised for the search.
#[derive(Debug)]
pub(crate) struct Needle {
    /// The literal text.
    literal_text: Option<String>,
    /// The text as lines of a diff.
    signed_quote: Option<SignedQuote>,
    /// Number of empty lines before the first line of the search text.
    blank_before: u32,
}

/// A quote of diff lines: their text and signs.
#[derive(Debug)]
struct SignedQuote {
    text: String,
    signs: Vec<Option<LineKind>>,
}

impl Needle {
    /// Prepares a quote; `None` if it is too short to prove anything or contains a NUL.
    pub(crate) fn new(snippet: &str) -> Option<Self> {
        if snippet.contains(GAP) {
            return None;
        }
        let lines: Vec<&str> = snippet.lines().collect();
        let signed_lines: Vec<(Option<LineKind>, String)> = lines
            .iter()
            .map(|line| match (line.strip_prefix('+'), line.strip_prefix('-')) {
                (Some(added), _) => (Some(LineKind::Added), collapse_whitespace(added)),
                (_, Some(removed)) => (Some(LineKind::Removed), collapse_whitespace(removed)),
                // A context line, with or without its leading space.
                (None, None) => (None, collapse_whitespace(line)),
            })
            .collect();
        let is_signed = signed_lines.iter().any(|(sign, _)| sign.is_some());
        let blank_count = signed_lines.iter().take_while(|(_, text)| text.is_empty()).count();
        let end = signed_lines
            .iter()
            .rposition(|(_, text)| !text.is_empty())
            .map_or(0, |index| index + 1);
        let (signs, texts): (Vec<_>, Vec<&str>) = signed_lines
            .get(blank_count..end)?
            .iter()
            .map(|(sign, text)| (*sign, text.as_str()))
            .unzip();
        let signed_text = search_text(texts.into_iter()).filter(|_| is_signed);
        // Signs do not count as visible characters.
        let literal_text =
            if is_signed && signed_text.is_none() { None } else { search_text(lines.into_iter()) };
        let signed_quote = signed_text.map(|text| SignedQuote { text, signs });
        let blank_before = u32::try_from(blank_count).unwrap_or_default();
        (literal_text.is_some() || signed_quote.is_some()).then_some(Self {
            literal_text,
            signed_quote,
            blank_before,
        })
    }
}

/// The quote without line numbers, if each of its lines starts with one. crh shows `12  +code`;
/// models also write `12 | code`, `12: code` and `+12: code`. The signs of a diff stay.
pub(crate) fn without_line_numbers(snippet: &str) -> Option<String> {
    let lines: Option<Vec<String>> = snippet.lines().map(without_line_number).collect();
    let code = lines?.join("\n").trim_matches('\n').to_owned();
    (!code.trim().is_empty()).then_some(code)
}

/// The line without its number. An empty line has none.
fn without_line_number(line: &str) -> Option<String> {
    let line = line.trim_start();
    let unsigned = line.strip_prefix(['+', '-']).unwrap_or(line);
    let sign = &line[..line.len() - unsigned.len()];
    let numbered = unsigned.trim_start();
    let rest = numbered.trim_start_matches(|char: char| char.is_ascii_digit());
    if rest.trim().is_empty() {
        return Some(sign.to_owned());
    }
    if rest.len() == numbered.len() {
        return None;
    }
    let after_separator = || {
        let code = rest.trim_start().strip_prefix(['|', ':'])?;
        Some(code.strip_prefix(' ').unwrap_or(code))
    };
    let code = rest
        .strip_prefix("  ")
        .or_else(after_separator)
        .or_else(|| rest.strip_prefix([' ', '\t']))?;
    Some(format!("{sign}{code}"))
}

/// The normalised lines, joined, if they are long enough to prove something.
fn search_text<'a>(lines: impl Iterator<Item = &'a str>) -> Option<String> {
    let lines: Vec<String> = lines.map(collapse_whitespace).collect();
    let visible_chars: usize =
        lines.iter().map(|line| line.chars().filter(|c| *c != ' ').count()).sum();
    let text_lines = lines.iter().filter(|line| !line.is_empty()).count();
    let text = lines.join("\n").trim_matches('\n').to_owned();
    (visible_chars >= MIN_SNIPPET_CHARS || text_lines >= 2).then_some(text)
}
