//! Limits on untrusted texts and lists. A stored evaluation may contain anything, but the output
//! must be bounded.

use crate::sanitise::one_line;

/// Maximum characters of a single line, such as a name, title or path.
const LINE_MAX: usize = 200;
/// Maximum characters of a longer text.
const TEXT_MAX: usize = 1_000;

/// The start of a text on one line.
pub(super) fn brief(text: &str) -> String {
    one_line(&line(text))
}

/// The start of a single line.
pub(super) fn line(text: &str) -> String {
    beginning(text, LINE_MAX)
}

/// The start of a longer text.
pub(super) fn text(text: &str) -> String {
    beginning(text, TEXT_MAX)
}

fn beginning(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The first items, and the number of the others.
pub(super) fn first<T>(all: &[T], most: usize) -> (&[T], usize) {
    let (first, more) = all.split_at(all.len().min(most));
    (first, more.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_with_a_mark() {
        assert_eq!(brief("two\nlines"), "two lines");
        assert_eq!(brief(&"ä".repeat(LINE_MAX)), "ä".repeat(LINE_MAX));
        assert_eq!(brief(&"ä".repeat(LINE_MAX + 1)), format!("{}…", "ä".repeat(LINE_MAX)));
        assert_eq!(text(&"x".repeat(TEXT_MAX + 1)), format!("{}…", "x".repeat(TEXT_MAX)));
    }

    #[test]
    fn long_list_shows_first_entries_and_a_count() {
        assert_eq!(first(&[1, 2, 3], 2), ([1, 2].as_slice(), 1));
        assert_eq!(first(&[1, 2], 2), ([1, 2].as_slice(), 0));
    }
}
