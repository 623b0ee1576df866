//! How Launchpad counts the lines of a diff. Its pages number rows as Python splits a text, for which more than a line feed ends one:
//! a form feed in a source file moves everything below it. Pure.

/// What ends a row beside a line feed.
const ENDS: [char; 9] =
    ['\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];

/// The first row of each line of a diff, and the row after the last.
pub(super) struct Rows(Vec<u32>);

impl Rows {
    pub(super) fn of(diff: &[u8]) -> Self {
        let mut row = 1;
        let mut rows = vec![row];
        for line in diff.split_inclusive(|byte| *byte == b'\n') {
            row += 1 + inside(line);
            rows.push(row);
        }
        Self(rows)
    }

    /// The row in which a line begins. Both count from one.
    pub(super) fn row(&self, line: u32) -> Option<u32> {
        let at = usize::try_from(line).ok()?.checked_sub(1)?;
        (at + 1 < self.0.len()).then(|| self.0[at])
    }

    /// The line that a row is a part of.
    pub(super) fn line(&self, row: u32) -> Option<u32> {
        let line = self.0.partition_point(|first| *first <= row);
        (line > 0 && line < self.0.len()).then(|| u32::try_from(line).ok()).flatten()
    }
}

/// How many rows end inside a line.
fn inside(line: &[u8]) -> u32 {
    let text = line.strip_suffix(b"\n").map(|text| text.strip_suffix(b"\r").unwrap_or(text));
    let text = String::from_utf8_lossy(text.unwrap_or(line));
    let ends = text.chars().filter(|it| ENDS.contains(it)).count();
    // No line has four milliards of them.
    u32::try_from(ends).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_a_row_moves_everything_below_it() {
        let rows = Rows::of("a\n\u{c}\nb\u{2028}c\r\nd\n".as_bytes());
        let first: Vec<Option<u32>> = (0..=5).map(|line| rows.row(line)).collect();
        assert_eq!(first, [None, Some(1), Some(2), Some(4), Some(6), None]);
        let lines: Vec<Option<u32>> = (0..=7).map(|row| rows.line(row)).collect();
        let expected = [None, Some(1), Some(2), Some(2), Some(3), Some(3), Some(4), None];
        assert_eq!(lines, expected);
        // A byte that is no text ends nothing.
        assert_eq!(Rows::of(b"\x85\nb\n").row(2), Some(2));
        assert_eq!((Rows::of(b"").row(1), Rows::of(b"").line(1)), (None, None));
    }
}
