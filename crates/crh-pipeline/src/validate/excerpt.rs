//! The code around an issue, with line numbers.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use crate::code_reader::CodeReader;
use crate::text::numbered_line;
use crh_review::Location;
use crh_review::diff::{Diff, LineKind};
use crh_review::finding::Side;
use crh_syntax::SymbolKind;

/// Lines before and after the cited ones.
const LINES_AROUND: u32 = 30;

/// Functions up to this length are shown completely.
const FUNCTION_MAX: u32 = 150;

/// Maximum lines of an excerpt.
const LINES_MAX: u32 = 240;

/// Maximum characters of an excerpt. The prompt of a validation run contains one excerpt for each
/// of its issues, ten of this length (`BATCH_CHARS`).
const CHARS_MAX: usize = 16_000;

/// Maximum characters of a line. Longer lines are cut, since people do not write them by hand.
const LINE_CHARS: usize = 400;

/// The code around a location.
pub(crate) struct NumberedExcerpt {
    /// Numbered lines.
    pub(crate) text: String,
    /// Numbers of the first and last line.
    pub(crate) lines: RangeInclusive<u32>,
}

/// The code around a location: from the file if there is a repository, otherwise from the diff.
pub(crate) fn excerpt(location: &Location, code: &CodeReader<'_>, diff: &Diff) -> NumberedExcerpt {
    let rows = match code.text(location.side, &location.file) {
        Some(text) => {
            let line_range = window(location, code);
            let lines = (1..).zip(text.lines());
            let lines = lines.filter(|(number, _)| line_range.contains(number));
            lines.map(|(number, line)| (number, number_line(number, line))).collect()
        }
        None => diff_lines(location, diff),
    };
    let rows = keep_nearest(location, rows);
    let first = rows.front().map_or(1, |(number, _)| *number);
    let last = rows.back().map_or(0, |(number, _)| *number);
    NumberedExcerpt { text: rows.into_iter().map(|(_, row)| row).collect(), lines: first..=last }
}

/// Removes rows that are far from the cited lines until the rest fits into [`CHARS_MAX`].
fn keep_nearest(location: &Location, mut rows: VecDeque<(u32, String)>) -> VecDeque<(u32, String)> {
    let mut chars: usize = rows.iter().map(|(_, row)| row.len()).sum();
    while chars > CHARS_MAX {
        let (Some((first, _)), Some((last, _))) = (rows.front(), rows.back()) else { break };
        let before = location.line_start.saturating_sub(*first);
        let after = last.saturating_sub(location.line_end);
        let removed = if before > after { rows.pop_front() } else { rows.pop_back() };
        chars -= removed.map_or(chars, |(_, row)| row.len());
    }
    rows
}

/// The cited lines with context, and the whole function if it is short enough.
fn window(location: &Location, code: &CodeReader<'_>) -> RangeInclusive<u32> {
    let mut first = location.line_start.saturating_sub(LINES_AROUND).max(1);
    let mut last = location.line_end.saturating_add(LINES_AROUND);
    if let Some(symbols) = code.symbols(location.side, &location.file) {
        let mut enclosing_functions = symbols.all().iter().filter(|symbol| match symbol.kind {
            SymbolKind::Function | SymbolKind::Method => {
                symbol.start <= location.line_start && location.line_start <= symbol.end
            }
            SymbolKind::Type | SymbolKind::Module => false,
        });
        // Outer functions come first, so the last one is the innermost.
        if let Some(function) = enclosing_functions
            .next_back()
            .filter(|function| function.end - function.start < FUNCTION_MAX)
        {
            first = first.min(function.start);
            last = last.max(function.end);
        }
    }
    // Otherwise the limit on lines could cut off the cited lines.
    first = first.max(location.line_start.saturating_sub(FUNCTION_MAX));
    first..=last.min(first.saturating_add(LINES_MAX - 1))
}

/// The diff lines around a location, with their signs.
fn diff_lines(location: &Location, diff: &Diff) -> VecDeque<(u32, String)> {
    let is_near = |number: u32| {
        number.saturating_add(LINES_AROUND) >= location.line_start
            && number <= location.line_end.saturating_add(LINES_AROUND)
    };
    let files = diff.files().iter().filter(|file| file.path.shown() == location.file.as_str());
    let lines = files.flat_map(|file| &file.hunks).flat_map(|hunk| diff.lines(hunk));
    let numbered_lines = lines.filter_map(|line| {
        // A line that exists only on the other side is located by its number on that side.
        let number = match (location.side, line.kind) {
            (_, LineKind::Remark) => return None,
            (Side::Old, LineKind::Removed | LineKind::Context) => line.old,
            (Side::New, LineKind::Added | LineKind::Context) => line.new,
            (Side::Old, LineKind::Added) => line.new,
            (Side::New, LineKind::Removed) => line.old,
        };
        let sign = match line.kind {
            LineKind::Added => '+',
            LineKind::Removed => '-',
            LineKind::Context | LineKind::Remark => ' ',
        };
        let text = format!("{sign}{}", String::from_utf8_lossy(line.text()));
        is_near(number).then(|| (number, number_line(number, &text)))
    });
    numbered_lines.take(LINES_MAX as usize).collect()
}

fn number_line(number: u32, line: &str) -> String {
    numbered_line(number, line.trim_end_matches('\r'), LINE_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_excerpt_keeps_the_nearest_rows() {
        let row = |number: u32| (number, "x".repeat(1_000));
        let check = |line_start, expected: (u32, u32)| {
            let (file, side) = ("a.rs".to_owned(), Side::New);
            let location = Location { file, side, line_start, line_end: line_start };
            let rows = keep_nearest(&location, (1..=60).map(row).collect());
            let ends = (rows.front().map(|it| it.0), rows.back().map(|it| it.0));
            assert_eq!(ends, (Some(expected.0), Some(expected.1)));
        };
        check(1, (1, 16));
        check(30, (22, 37));
        check(60, (45, 60));
    }
}
