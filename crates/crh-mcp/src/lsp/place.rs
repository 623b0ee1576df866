//! Finds the lines of an issue in the current text of a file, and measures columns. Pure.

use tower_lsp_server::ls_types::{Position, PositionEncodingKind, Range};

use crate::contains_quote;
use crh_review::finding::Side;
use crh_review::report::Issue;

/// Unit of columns, agreed with the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnUnit {
    Utf8,
    Utf16,
}

impl ColumnUnit {
    /// UTF-8 if the client offers it, else UTF-16, which every client supports.
    pub(super) fn negotiate(offered: Option<&[PositionEncodingKind]>) -> Self {
        match offered.is_some_and(|offered| offered.contains(&PositionEncodingKind::UTF8)) {
            true => Self::Utf8,
            false => Self::Utf16,
        }
    }

    pub(super) fn kind(self) -> PositionEncodingKind {
        match self {
            Self::Utf8 => PositionEncodingKind::UTF8,
            Self::Utf16 => PositionEncodingKind::UTF16,
        }
    }

    /// Length of a text.
    pub(super) fn length(self, text: &str) -> u32 {
        let length = match self {
            Self::Utf8 => text.len(),
            Self::Utf16 => text.encode_utf16().count(),
        };
        u32::try_from(length).unwrap_or(u32::MAX)
    }
}

/// Where an issue is in a text. `None` if the quoted line is gone, or if a removed line is back.
pub(super) fn find_issue(issue: &Issue, text: &str, unit: ColumnUnit) -> Option<Range> {
    let lines: Vec<&str> = text.lines().collect();
    let own_quote = issue.evidence.iter().find(|quote| quote.file == issue.location.file);
    let (quoted, quote_line) = match own_quote {
        Some(quote) => (quote.snippet.as_str(), quote.line),
        None => (issue.evidence_snippet.as_str(), issue.location.line_start),
    };
    let quoted = quoted.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let found = nearest_line(&lines, quoted, index(quote_line));
    let (first, last) = (index(issue.location.line_start), index(issue.location.line_end));
    let shift = match (issue.location.side, found) {
        (Side::New, Some(found)) => found as i64 - index(quote_line) as i64,
        (Side::New, None) => return None,
        (Side::Old, Some(_)) if !quoted.is_empty() => return None,
        // The issue is shown at the old number of the removed line.
        (Side::Old, _) => 0,
    };
    let clamp = |line: usize| {
        let line = usize::try_from(line as i64 + shift).unwrap_or_default();
        line.min(lines.len().saturating_sub(1))
    };
    let (first, last) = (clamp(first), clamp(last.max(first)));
    let line_text = |line: usize| lines.get(line).copied().unwrap_or_default();
    let indent = line_text(first).len() - line_text(first).trim_start().len();
    Some(Range {
        start: position(first, unit.length(&line_text(first)[..indent])),
        end: position(last, unit.length(line_text(last).trim_end())),
    })
}

/// The line that contains a quoted line: `expected` itself, else the nearest equal line, else the
/// nearest line that contains it. An empty quote is at `expected`.
fn nearest_line(lines: &[&str], quoted: &str, expected: usize) -> Option<usize> {
    if quoted.is_empty() {
        return (expected < lines.len()).then_some(expected);
    }
    let nearest = |is_match: &dyn Fn(&str) -> bool| {
        let matches = lines.iter().enumerate().filter(|(_, line)| is_match(line));
        matches.map(|(index, _)| index).min_by_key(|index| index.abs_diff(expected))
    };
    let is_here = lines.get(expected).is_some_and(|line| contains_quote(line, quoted));
    let here = is_here.then_some(expected);
    here.or_else(|| nearest(&|line| line.trim() == quoted))
        .or_else(|| nearest(&|line| contains_quote(line, quoted)))
}

/// Index of a line number, which starts at 1.
fn index(line: u32) -> usize {
    line.saturating_sub(1) as usize
}

pub(super) fn position(line: usize, column: u32) -> Position {
    Position { line: u32::try_from(line).unwrap_or(u32::MAX), character: column }
}

/// Whether two ranges share a line.
pub(super) fn shares_line(one: Range, other: Range) -> bool {
    one.start.line <= other.end.line && other.start.line <= one.end.line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lsp::diagnostics::tests::issue;

    fn found(text: &str, unit: ColumnUnit) -> Option<(u32, u32, u32, u32)> {
        let issue = issue("a.py", 2, "    return x is 3");
        let Range { start, end } = find_issue(&issue, text, unit)?;
        Some((start.line, start.character, end.line, end.character))
    }

    #[test]
    fn issue_follows_its_quoted_line() {
        let utf8 = ColumnUnit::Utf8;
        assert_eq!(found("def f(x):\n    return x is 3\n", utf8), Some((1, 4, 1, 17)));
        assert_eq!(found("#\n#\ndef f(x):\n  return x is 3\n", utf8), Some((3, 2, 3, 15)));
        // The nearest of two equal lines.
        let twice = "return x is 3\n#\n#\n#\nreturn x is 3\n";
        assert_eq!(found(twice, utf8).map(|place| place.0), Some(0));
        assert_eq!(found("def f(x):\n    return x == 3\n", utf8), None);
        assert_eq!(found("", utf8), None);
    }

    #[test]
    fn masked_credential_is_found() {
        let issue = issue("a.py", 1, "KEY = \"AKIA****\"");
        let found = find_issue(&issue, "#\nKEY = \"AKIA5ZJ3XQ7N2WKD4RTM\"\n", ColumnUnit::Utf8);
        assert_eq!(found.map(|range| range.start.line), Some(1));
    }

    #[test]
    fn columns_are_counted_in_the_agreed_unit() {
        // The emoji has 4 bytes and 2 UTF-16 units.
        let text = "def f(x):\n    return x is 3 # \u{1F600} done\n";
        assert_eq!(found(text, ColumnUnit::Utf8), Some((1, 4, 1, 29)));
        assert_eq!(found(text, ColumnUnit::Utf16), Some((1, 4, 1, 27)));
        assert_eq!(ColumnUnit::negotiate(None), ColumnUnit::Utf16);
        let offered = [PositionEncodingKind::UTF16, PositionEncodingKind::UTF8];
        assert_eq!(ColumnUnit::negotiate(Some(&offered)), ColumnUnit::Utf8);
    }

    #[test]
    fn removed_line_is_reported_until_it_is_back() {
        let mut removed = issue("a.py", 2, "check(x)");
        removed.location.side = Side::Old;
        let line = |text| find_issue(&removed, text, ColumnUnit::Utf16).map(|at| at.start.line);
        assert_eq!(line("a\nb\n"), Some(1));
        assert_eq!(line("a\ncheck(x)\n"), None);
        assert_eq!(line(""), Some(0));
    }
}
