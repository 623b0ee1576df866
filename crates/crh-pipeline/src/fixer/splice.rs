//! One piece of a text for another, where it stands exactly once, with the line ends that the text has.

use std::borrow::Cow;
use std::ops::RangeInclusive;

/// How far occurrences are counted: whoever hears of a hundred takes in more lines.
const COUNTED_MAX: usize = 100;

/// A text with a piece replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spliced {
    pub(super) text: String,
    /// The lines of it that are new, from 1; where a piece was only taken out, the line at which that was.
    pub(super) lines: RangeInclusive<u32>,
}

/// How the lines of a text end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineEnds {
    /// All with a line feed, or there is none.
    Lf,
    /// All with a carriage return before it.
    CrLf,
    /// Some so, some so.
    Mixed,
}

impl LineEnds {
    /// Those of a text.
    pub(super) fn of(text: &str) -> Self {
        let (all, with) = (text.matches('\n').count(), text.matches("\r\n").count());
        match with {
            0 => Self::Lf,
            with if with == all => Self::CrLf,
            _ => Self::Mixed,
        }
    }

    /// A text with these line ends. Models write line feeds, whatever they were shown.
    pub(super) fn applied(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::CrLf => Cow::Owned(text.replace("\r\n", "\n").replace('\n', "\r\n")),
            Self::Lf | Self::Mixed => Cow::Borrowed(text),
        }
    }
}

/// Replaces `old` by `new`, or says in a sentence for the model why that cannot be.
pub(super) fn splice(text: &str, old: &str, new: &str) -> Result<Spliced, String> {
    let ends = LineEnds::of(text);
    let (old, new) = (ends.applied(old), ends.applied(new));
    if old.is_empty() {
        return Err("`old` is empty: say what to replace".to_owned());
    }
    if old == new {
        return Err("`old` and `new` are the same: nothing would change".to_owned());
    }
    let at = match occurrences(text, &old).as_slice() {
        [] if ends == LineEnds::Mixed && old.contains('\n') => {
            return Err("`old` occurs 0 times: the file has line ends of both kinds, so replace \
                        within one line"
                .to_owned());
        }
        [] => {
            return Err("`old` occurs 0 times: copy it to the letter from `read_worktree`, \
                        without line numbers"
                .to_owned());
        }
        [at] => *at,
        many => {
            let more = if many.len() > COUNTED_MAX { "more than " } else { "" };
            let count = many.len().min(COUNTED_MAX);
            return Err(format!(
                "`old` occurs {more}{count} times: take in lines around it until it occurs once"
            ));
        }
    };
    let (before, after) = (&text[..at], &text[at + old.len()..]);
    let first = lines(before) + 1;
    let last = first + lines(&new);
    Ok(Spliced { text: format!("{before}{new}{after}"), lines: first..=last })
}

/// Where a piece stands, also where it overlaps itself; one more than are counted at the most.
fn occurrences(text: &str, piece: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(piece)
        && found.len() <= COUNTED_MAX
    {
        found.push(from + at);
        from += at + text[from + at..].chars().next().map_or(1, char::len_utf8);
    }
    found
}

fn lines(text: &str) -> u32 {
    u32::try_from(text.matches('\n').count()).unwrap_or(u32::MAX - 1)
}

#[cfg(test)]
mod tests {
    use proptest::{prop_assert, prop_assert_eq, proptest};

    use super::*;

    fn check(text: &str, old: &str, new: &str, expected: &str) {
        let shown = match splice(text, old, new) {
            Ok(Spliced { text, lines }) => format!("{}-{} {text}", lines.start(), lines.end()),
            Err(told) => told,
        };
        assert_eq!(shown, expected);
    }

    #[test]
    fn what_stands_there_once_is_replaced_and_all_else_stays() {
        check("a\nb\nc\n", "b", "x\ny", "2-3 a\nx\ny\nc\n");
        check("a\nb\nc\n", "b\n", "", "2-2 a\nc\n");
        check("a", "a", "é", "1-1 é");
        check("éé é", "é é", "x", "1-1 éx");
    }

    #[test]
    fn what_stands_there_more_or_less_often_is_told_with_the_number() {
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
    fn line_ends_stay_as_they_are() {
        check("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", "1-3 x\r\ny\r\nz\r\nc\r\n");
        check("a\r\nb\r\n", "a\r\nb", "x\r\ny", "1-2 x\r\ny\r\n");
        check("a\r\nb\n", "b", "x", "2-2 a\r\nx\n");
        let mixed = "`old` occurs 0 times: the file has line ends of both kinds, so replace within one line";
        check("a\r\nb\n", "a\nb", "x", mixed);
    }

    proptest! {
        #[test]
        fn the_rest_of_the_text_keeps_every_byte(before in "[a-c\n]{0,20}", after in "[a-c\n]{0,20}", new in "[a-d\n]{0,8}") {
            let spliced = splice(&format!("{before}!{after}"), "!", &new).unwrap();
            prop_assert_eq!(&spliced.text, &format!("{before}{new}{after}"));
            prop_assert!(spliced.lines.end() - spliced.lines.start() <= 8);
        }
    }
}
