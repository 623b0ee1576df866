//! Limits on untrusted texts and lists. A stored evaluation may contain anything, but the output
//! must be bounded.

use crate::sanitise::one_line;

/// Maximum characters of a single line, such as a name, title or path.
const LINE_MAX: usize = 200;
/// Maximum characters of a longer text.
const TEXT_MAX: usize = 1_000;

/// The start of a text on one line.
pub(super) fn short_line(text: &str) -> String {
    one_line(&line(text))
}

/// The start of a single line.
pub(super) fn line(text: &str) -> String {
    truncate_chars(text, LINE_MAX)
}

/// The start of a longer text.
pub(super) fn text(text: &str) -> String {
    truncate_chars(text, TEXT_MAX)
}

fn truncate_chars(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The first items, and the number of the others.
pub(super) fn split_listed<T>(items: &[T], max_items: usize) -> (&[T], usize) {
    let (listed, omitted) = items.split_at(items.len().min(max_items));
    (listed, omitted.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_with_a_mark() {
        assert_eq!(short_line("two\nlines"), "two lines");
        assert_eq!(short_line(&"ä".repeat(LINE_MAX)), "ä".repeat(LINE_MAX));
        assert_eq!(short_line(&"ä".repeat(LINE_MAX + 1)), format!("{}…", "ä".repeat(LINE_MAX)));
        assert_eq!(text(&"x".repeat(TEXT_MAX + 1)), format!("{}…", "x".repeat(TEXT_MAX)));
    }

    #[test]
    fn long_list_shows_first_entries_and_a_count() {
        assert_eq!(split_listed(&[1, 2, 3], 2), ([1, 2].as_slice(), 1));
        assert_eq!(split_listed(&[1, 2], 2), ([1, 2].as_slice(), 0));
    }
}
