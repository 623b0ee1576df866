//! Replaces a piece of text that occurs exactly once, and keeps the line endings.

use std::borrow::Cow;
use std::ops::RangeInclusive;

/// Number up to which occurrences are counted. The error message says "more than" for more.
const COUNTED_MAX: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SplicedText {
    pub(super) text: String,
    /// New lines, 1-based. For a deletion, the line where the text was.
    pub(super) lines: RangeInclusive<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEndings {
    /// Only `\n`, or no line ending.
    Lf,
    /// Only `\r\n`.
    CrLf,
    /// Both.
    Mixed,
}

impl LineEndings {
    /// Detects the line endings of a text.
    fn detect(text: &str) -> Self {
        let (newlines, crlf_newlines) = (text.matches('\n').count(), text.matches("\r\n").count());
        match crlf_newlines {
            0 => Self::Lf,
            count if count == newlines => Self::CrLf,
            _ => Self::Mixed,
        }
    }

    /// Converts a text to these line endings. Models always write `\n`.
    fn apply(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::CrLf => Cow::Owned(text.replace("\r\n", "\n").replace('\n', "\r\n")),
            Self::Lf | Self::Mixed => Cow::Borrowed(text),
        }
    }
}

/// Replaces `old` by `new`. The error is a sentence for the model.
pub(super) fn splice(text: &str, old: &str, new: &str) -> Result<SplicedText, String> {
    let line_endings = LineEndings::detect(text);
    let (old, new) = (line_endings.apply(old), line_endings.apply(new));
    if old.is_empty() {
        return Err("`old` is empty: say what to replace".to_owned());
    }
    if old == new {
        return Err("`old` and `new` are the same: nothing would change".to_owned());
    }
    let start = match occurrences(text, &old).as_slice() {
        [] if line_endings == LineEndings::Mixed && old.contains('\n') => {
            return Err("`old` occurs 0 times: the file has line ends of both kinds, so replace \
                        within one line"
                .to_owned());
        }
        [] => {
            return Err("`old` occurs 0 times: copy it to the letter from `read_worktree`, \
                        without line numbers"
                .to_owned());
        }
        [position] => *position,
        positions => {
            let more_than = if positions.len() > COUNTED_MAX { "more than " } else { "" };
            let count = positions.len().min(COUNTED_MAX);
            return Err(format!(
                "`old` occurs {more_than}{count} times: take in lines around it until it occurs once"
            ));
        }
    };
    let (before, after) = (&text[..start], &text[start + old.len()..]);
    let first = newline_count(before) + 1;
    let last = first + newline_count(&new);
    Ok(SplicedText { text: format!("{before}{new}{after}"), lines: first..=last })
}

/// Positions of a piece, including overlapping ones, up to one more than [`COUNTED_MAX`].
fn occurrences(text: &str, piece: &str) -> Vec<usize> {
    let mut positions = Vec::new();
    let mut from = 0;
    while let Some(offset) = text[from..].find(piece)
        && positions.len() <= COUNTED_MAX
    {
        let position = from + offset;
        positions.push(position);
        from = position + text[position..].chars().next().map_or(1, char::len_utf8);
    }
    positions
}

fn newline_count(text: &str) -> u32 {
    u32::try_from(text.matches('\n').count()).unwrap_or(u32::MAX - 1)
}

#[cfg(test)]
mod tests {
    use proptest::{prop_assert, prop_assert_eq, proptest};

    use super::*;

    fn check(text: &str, old: &str, new: &str, expected: &str) {
        let actual = match splice(text, old, new) {
            Ok(SplicedText { text, lines }) => format!("{}-{} {text}", lines.start(), lines.end()),
            Err(message) => message,
        };
        assert_eq!(actual, expected);
    }

    #[test]
    fn unique_text_is_replaced() {
        check("a\nb\nc\n", "b", "x\ny", "2-3 a\nx\ny\nc\n");
        check("a\nb\nc\n", "b\n", "", "2-2 a\nc\n");
        check("a", "a", "é", "1-1 é");
        check("éé é", "é é", "x", "1-1 éx");
    }

    #[test]
    fn splice_reports_the_number_of_occurrences() {
        let often = |count: &str| {
            format!("`old` occurs {count} times: take in lines around it until it occurs once")
        };
        check("a b a", "a", "x", &often("2"));
        check("aaa", "aa", "x", &often("2"));
        check(&"a".repeat(5_000), "a", "x", &often("more than 100"));
        let none = "`old` occurs 0 times: copy it to the letter from `read_worktree`, without line numbers";
        check("a", "b", "x", none);
        check("a", "", "x", "`old` is empty: say what to replace");
        check("a", "a", "a", "`old` and `new` are the same: nothing would change");
    }

    #[test]
    fn line_endings_are_kept() {
        check("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", "1-3 x\r\ny\r\nz\r\nc\r\n");
        check("a\r\nb\r\n", "a\r\nb", "x\r\ny", "1-2 x\r\ny\r\n");
        check("a\r\nb\n", "b", "x", "2-2 a\r\nx\n");
        let mixed = "`old` occurs 0 times: the file has line ends of both kinds, so replace within one line";
        check("a\r\nb\n", "a\nb", "x", mixed);
    }

    proptest! {
        #[test]
        fn splice_keeps_every_other_byte(before in "[a-c\n]{0,20}", after in "[a-c\n]{0,20}", new in "[a-d\n]{0,8}") {
            let spliced = splice(&format!("{before}!{after}"), "!", &new).unwrap();
            prop_assert_eq!(&spliced.text, &format!("{before}{new}{after}"));
            prop_assert!(spliced.lines.end() - spliced.lines.start() <= 8);
        }
    }
}
