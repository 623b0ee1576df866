//! Row numbers of a diff as Launchpad counts them. Launchpad splits lines as Python does: for
//! example, a form feed inside a line starts a new row.

/// Characters that end a row, besides a line feed.
const ROW_ENDS: [char; 9] =
    ['\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];

/// First row of each line, and the row after the last.
pub(super) struct DiffRows(Vec<u32>);

impl DiffRows {
    pub(super) fn new(diff: &[u8]) -> Self {
        let mut row = 1;
        let mut rows = vec![row];
        for line in diff.split_inclusive(|byte| *byte == b'\n') {
            row += 1 + extra_rows(line);
            rows.push(row);
        }
        Self(rows)
    }

    /// Row in which a line starts. Lines and rows count from one.
    pub(super) fn row(&self, line: u32) -> Option<u32> {
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        (index + 1 < self.0.len()).then(|| self.0[index])
    }

    /// Line that contains a row.
    pub(super) fn line(&self, row: u32) -> Option<u32> {
        let line = self.0.partition_point(|first| *first <= row);
        (line > 0 && line < self.0.len()).then(|| u32::try_from(line).ok()).flatten()
    }
}

/// Additional rows inside a line.
fn extra_rows(line: &[u8]) -> u32 {
    let text = line.strip_suffix(b"\n").map(|text| text.strip_suffix(b"\r").unwrap_or(text));
    let text = String::from_utf8_lossy(text.unwrap_or(line));
    let ends = text.chars().filter(|it| ROW_ENDS.contains(it)).count();
    // No line has four billion row ends.
    u32::try_from(ends).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_endings_shift_following_lines() {
        let rows = DiffRows::new("a\n\u{c}\nb\u{2028}c\r\nd\n".as_bytes());
        let first: Vec<Option<u32>> = (0..=5).map(|line| rows.row(line)).collect();
        assert_eq!(first, [None, Some(1), Some(2), Some(4), Some(6), None]);
        let lines: Vec<Option<u32>> = (0..=7).map(|row| rows.line(row)).collect();
        let expected = [None, Some(1), Some(2), Some(2), Some(3), Some(3), Some(4), None];
        assert_eq!(lines, expected);
        // Invalid UTF-8 ends no row.
        assert_eq!(DiffRows::new(b"\x85\nb\n").row(2), Some(2));
        assert_eq!((DiffRows::new(b"").row(1), DiffRows::new(b"").line(1)), (None, None));
    }
}
