//! Finds the part of a change that broke a file, by bisecting the change.
//!
//! A parser reports the line where it fails, which can be far below the bracket that was removed.
//! The finding should point at the change.

use std::ops::Range;

use crate::file_context::FileContext;

/// A hunk of the change: old and new line ranges, 0-based.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LineHunk {
    old: Range<usize>,
    new: Range<usize>,
}

/// The line of the new text to report. `parser_line` is the line where the parser failed;
/// `is_valid` tells whether a text is valid (`None` if that is too expensive). The old text must be
/// valid and the new one not. The result is `parser_line` for a new file, or if `is_valid` gives
/// up.
pub(super) fn blamed_line(
    ctx: &FileContext<'_>,
    parser_line: u32,
    is_valid: impl FnMut(&str) -> Option<bool>,
) -> u32 {
    let (Some(old), Some(new)) = (&ctx.old, &ctx.new) else { return parser_line.max(1) };
    let (old, new) = (old.lines(), new.lines());
    let is_added = |index: usize| u32::try_from(index + 1).is_ok_and(|line| ctx.file.adds(line));
    let hunks = line_hunks(old, new, is_added);
    let Some(hunk) = breaking_hunk(old, new, &hunks, is_valid) else { return parser_line.max(1) };
    let parser_line = usize::try_from(parser_line).unwrap_or(usize::MAX);
    let line = if hunk.new.is_empty() {
        // Lines were only removed. Report the line after them, or the line before them if the next
        // line is blank or missing.
        let is_not_blank =
            |index: usize| new.get(index).is_some_and(|line| !line.trim().is_empty());
        let reports_next_line = is_not_blank(hunk.new.start) || hunk.new.start == 0;
        if reports_next_line { hunk.new.start + 1 } else { hunk.new.start }
    } else {
        parser_line.clamp(hunk.new.start + 1, hunk.new.end)
    };
    u32::try_from(line.clamp(1, new.len().max(1))).unwrap_or(u32::MAX)
}

/// The hunks of a change, in order. Each unchanged line is matched with the next equal line of
/// the old text. This works because unchanged lines keep their order.
fn line_hunks(old: &[&str], new: &[&str], is_added: impl Fn(usize) -> bool) -> Vec<LineHunk> {
    let mut hunks = Vec::new();
    let mut hunk = LineHunk { old: 0..0, new: 0..0 };
    for (index, line) in new.iter().enumerate() {
        if is_added(index) {
            hunk.new.end = index + 1;
            continue;
        }
        let rest = old.get(hunk.old.end..).unwrap_or_default();
        let Some(skipped) = rest.iter().position(|old_line| old_line == line) else {
            // The diff says that this line is unchanged, but the rest of the old text does not
            // contain it. Treat it as added.
            hunk.new.end = index + 1;
            continue;
        };
        hunk.old.end += skipped;
        let next = LineHunk { old: hunk.old.end + 1..hunk.old.end + 1, new: index + 1..index + 1 };
        let finished_hunk = std::mem::replace(&mut hunk, next);
        if !finished_hunk.old.is_empty() || !finished_hunk.new.is_empty() {
            hunks.push(finished_hunk);
        }
    }
    hunk.old.end = old.len().max(hunk.old.start);
    if !hunk.old.is_empty() || !hunk.new.is_empty() {
        hunks.push(hunk);
    }
    hunks
}

/// The first hunk that makes the text invalid, by bisection; `None` if `is_valid` gives up.
fn breaking_hunk<'p>(
    old: &[&str],
    new: &[&str],
    hunks: &'p [LineHunk],
    mut is_valid: impl FnMut(&str) -> Option<bool>,
) -> Option<&'p LineHunk> {
    // The first `valid_count` hunks give a valid text, the first `broken_count` an invalid one.
    let (mut valid_count, mut broken_count) = (0, hunks.len());
    while broken_count > valid_count + 1 {
        let middle = valid_count + (broken_count - valid_count) / 2;
        if is_valid(&apply_hunks(old, new, &hunks[..middle]))? {
            valid_count = middle;
        } else {
            broken_count = middle;
        }
    }
    hunks.get(broken_count.checked_sub(1)?)
}

/// The old text with some hunks applied.
fn apply_hunks(old: &[&str], new: &[&str], hunks: &[LineHunk]) -> String {
    let mut lines: Vec<&str> = Vec::with_capacity(old.len() + new.len());
    let mut next_old_line = 0;
    for hunk in hunks {
        lines.extend(old.get(next_old_line..hunk.old.start).unwrap_or_default());
        lines.extend(new.get(hunk.new.clone()).unwrap_or_default());
        next_old_line = hunk.old.end;
    }
    lines.extend(old.get(next_old_line..).unwrap_or_default());
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunks_are_the_differing_lines() {
        let old = ["a", "b", "}", "c", "d", "e"];
        let new = ["a", "x", "b", "c", "y", "e", "z"];
        let parts = line_hunks(&old, &new, |at| matches!(at, 1 | 4 | 6));
        let expected = [(1..1, 1..2), (2..3, 3..3), (4..5, 4..5), (6..6, 6..7)];
        assert_eq!(parts, expected.map(|(old, new)| LineHunk { old, new }));
        assert_eq!(apply_hunks(&old, &new, &parts), "a\nx\nb\nc\ny\ne\nz\n");
        assert_eq!(apply_hunks(&old, &new, &[]), "a\nb\n}\nc\nd\ne\n");
        let broken = breaking_hunk(&old, &new, &parts, |text| Some(text.contains('}')));
        assert_eq!(broken, Some(&parts[1]));
        let mut calls_left = 1;
        let broken = breaking_hunk(&old, &new, &parts, |text| {
            calls_left = usize::checked_sub(calls_left, 1)?;
            Some(text.contains('}'))
        });
        assert_eq!((broken, calls_left), (None, 0));
    }

    #[test]
    fn mismatched_lines_do_not_panic() {
        assert_eq!(line_hunks(&["a"], &["b"], |_| false), [LineHunk { old: 0..1, new: 0..1 }]);
        assert_eq!(line_hunks(&[], &[], |_| true), []);
    }
}
