//! Finds the part of a change that broke a file, by bisecting the change.
//!
//! A parser reports where it got lost, which can be far below the bracket that was removed. The
//! finding should point at the change.

use std::ops::Range;

use crate::file_context::FileContext;

/// A hunk of the change: old and new line ranges, 0-based.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LineHunk {
    old: Range<usize>,
    new: Range<usize>,
}

/// The new line to report, given the line where the parser failed and a function that tells whether
/// a text is valid (`None` if that is too expensive). The old text must be valid and the new one
/// not. For a new file this is the parser's line.
pub(super) fn blamed_line(
    ctx: &FileContext<'_>,
    lost: u32,
    is_whole: impl FnMut(&str) -> Option<bool>,
) -> u32 {
    let (Some(old), Some(new)) = (&ctx.old, &ctx.new) else { return lost.max(1) };
    let (old, new) = (old.lines(), new.lines());
    let is_added = |at: usize| u32::try_from(at + 1).is_ok_and(|line| ctx.file.adds(line));
    let parts = line_hunks(old, new, is_added);
    let Some(part) = breaking_hunk(old, new, &parts, is_whole) else { return lost.max(1) };
    let lost = usize::try_from(lost).unwrap_or(usize::MAX);
    let line = if part.new.is_empty() {
        // Lines were only removed: report the line after them, or before them at the end.
        let is_text = |at: usize| new.get(at).is_some_and(|line| !line.trim().is_empty());
        let behind = is_text(part.new.start) || part.new.start == 0;
        if behind { part.new.start + 1 } else { part.new.start }
    } else {
        lost.clamp(part.new.start + 1, part.new.end)
    };
    u32::try_from(line.clamp(1, new.len().max(1))).unwrap_or(u32::MAX)
}

/// The hunks of a change, in order. Unchanged lines appear in the old text in the same order, so
/// each matches the next equal line.
fn line_hunks(old: &[&str], new: &[&str], is_added: impl Fn(usize) -> bool) -> Vec<LineHunk> {
    let mut parts = Vec::new();
    let mut part = LineHunk { old: 0..0, new: 0..0 };
    for (at, line) in new.iter().enumerate() {
        if is_added(at) {
            part.new.end = at + 1;
            continue;
        }
        let rest = old.get(part.old.end..).unwrap_or_default();
        let Some(skipped) = rest.iter().position(|before| before == line) else {
            // The lines do not match the texts.
            part.new.end = at + 1;
            continue;
        };
        part.old.end += skipped;
        let next = LineHunk { old: part.old.end + 1..part.old.end + 1, new: at + 1..at + 1 };
        let done = std::mem::replace(&mut part, next);
        if !done.old.is_empty() || !done.new.is_empty() {
            parts.push(done);
        }
    }
    part.old.end = old.len().max(part.old.start);
    if !part.old.is_empty() || !part.new.is_empty() {
        parts.push(part);
    }
    parts
}

/// The first hunk that makes the text invalid, by bisection; `None` if it cannot be determined.
fn breaking_hunk<'p>(
    old: &[&str],
    new: &[&str],
    parts: &'p [LineHunk],
    mut is_whole: impl FnMut(&str) -> Option<bool>,
) -> Option<&'p LineHunk> {
    let (mut whole, mut broken) = (0, parts.len());
    while broken > whole + 1 {
        let middle = whole + (broken - whole) / 2;
        if is_whole(&apply_hunks(old, new, &parts[..middle]))? {
            whole = middle;
        } else {
            broken = middle;
        }
    }
    parts.get(broken.checked_sub(1)?)
}

/// The old text with some hunks applied.
fn apply_hunks(old: &[&str], new: &[&str], parts: &[LineHunk]) -> String {
    let mut lines: Vec<&str> = Vec::with_capacity(old.len() + new.len());
    let mut from = 0;
    for part in parts {
        lines.extend(old.get(from..part.old.start).unwrap_or_default());
        lines.extend(new.get(part.new.clone()).unwrap_or_default());
        from = part.old.end;
    }
    lines.extend(old.get(from..).unwrap_or_default());
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
        let mut left = 1;
        let broken = breaking_hunk(&old, &new, &parts, |text| {
            left = usize::checked_sub(left, 1)?;
            Some(text.contains('}'))
        });
        assert_eq!((broken, left), (None, 0));
    }

    #[test]
    fn mismatched_lines_do_not_panic() {
        assert_eq!(line_hunks(&["a"], &["b"], |_| false), [LineHunk { old: 0..1, new: 0..1 }]);
        assert_eq!(line_hunks(&[], &[], |_| true), []);
    }
}
