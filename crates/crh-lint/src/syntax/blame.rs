//! Which part of a change broke a file, found by taking the change in part by part.
//!
//! A parser says where it was lost, which can be a screen below the bracket that somebody took away. A reader wants the
//! place where the change is.

use std::ops::Range;

use crate::look::Look;

/// A part of a change: these lines became those, counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    old: Range<usize>,
    new: Range<usize>,
}

/// The line of the text after the change that a reader should look at, given the line where a parser was lost and a way
/// to tell whether a text is whole, if that is not too dear. The text before the change is whole and the one after it is not; of a new file
/// nothing better is known than what the parser says.
pub(super) fn line(look: &Look<'_>, lost: u32, is_whole: impl FnMut(&str) -> Option<bool>) -> u32 {
    let (Some(old), Some(new)) = (&look.old, &look.new) else { return lost.max(1) };
    let (old, new) = (old.lines(), new.lines());
    let is_added = |at: usize| u32::try_from(at + 1).is_ok_and(|line| look.file.adds(line));
    let parts = parts(old, new, is_added);
    let Some(part) = breaking(old, new, &parts, is_whole) else { return lost.max(1) };
    let lost = usize::try_from(lost).unwrap_or(usize::MAX);
    let line = if part.new.is_empty() {
        // Lines were only taken away: the one behind them, or before them if there is nothing behind.
        let is_text = |at: usize| new.get(at).is_some_and(|line| !line.trim().is_empty());
        let behind = is_text(part.new.start) || part.new.start == 0;
        if behind { part.new.start + 1 } else { part.new.start }
    } else {
        lost.clamp(part.new.start + 1, part.new.end)
    };
    u32::try_from(line.clamp(1, new.len().max(1))).unwrap_or(u32::MAX)
}

/// The parts of a change, in order. The lines that are not added are a part of the old text in the same order, so that
/// each is the next line there that reads like it.
fn parts(old: &[&str], new: &[&str], is_added: impl Fn(usize) -> bool) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut part = Part { old: 0..0, new: 0..0 };
    for (at, line) in new.iter().enumerate() {
        if is_added(at) {
            part.new.end = at + 1;
            continue;
        }
        let rest = old.get(part.old.end..).unwrap_or_default();
        let Some(skipped) = rest.iter().position(|before| before == line) else {
            // The lines and the texts do not belong together.
            part.new.end = at + 1;
            continue;
        };
        part.old.end += skipped;
        let next = Part { old: part.old.end + 1..part.old.end + 1, new: at + 1..at + 1 };
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

/// The first part with which the text is no longer whole, by halving; none if it cannot be told.
fn breaking<'p>(
    old: &[&str],
    new: &[&str],
    parts: &'p [Part],
    mut is_whole: impl FnMut(&str) -> Option<bool>,
) -> Option<&'p Part> {
    let (mut whole, mut broken) = (0, parts.len());
    while broken > whole + 1 {
        let middle = whole + (broken - whole) / 2;
        if is_whole(&with(old, new, &parts[..middle]))? {
            whole = middle;
        } else {
            broken = middle;
        }
    }
    parts.get(broken.checked_sub(1)?)
}

/// The old text with some parts of the change.
fn with(old: &[&str], new: &[&str], parts: &[Part]) -> String {
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
    fn the_parts_of_a_change_are_what_differs() {
        let old = ["a", "b", "}", "c", "d", "e"];
        let new = ["a", "x", "b", "c", "y", "e", "z"];
        let parts = parts(&old, &new, |at| matches!(at, 1 | 4 | 6));
        let expected = [(1..1, 1..2), (2..3, 3..3), (4..5, 4..5), (6..6, 6..7)];
        assert_eq!(parts, expected.map(|(old, new)| Part { old, new }));
        assert_eq!(with(&old, &new, &parts), "a\nx\nb\nc\ny\ne\nz\n");
        assert_eq!(with(&old, &new, &[]), "a\nb\n}\nc\nd\ne\n");
        let broken = breaking(&old, &new, &parts, |text| Some(text.contains('}')));
        assert_eq!(broken, Some(&parts[1]));
        let mut left = 1;
        let broken = breaking(&old, &new, &parts, |text| {
            left = usize::checked_sub(left, 1)?;
            Some(text.contains('}'))
        });
        assert_eq!((broken, left), (None, 0));
    }

    #[test]
    fn lines_that_do_not_belong_to_the_texts_are_survived() {
        assert_eq!(parts(&["a"], &["b"], |_| false), [Part { old: 0..1, new: 0..1 }]);
        assert_eq!(parts(&[], &[], |_| true), []);
    }
}
