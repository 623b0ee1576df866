//! As much of the texts and lists of others as is shown. A stored evaluation may hold anything, and what is made of it has to have an end.

use crate::clean::one_line;

/// The most characters of what should be a line, such as a name, a title or a path: twice what anybody writes.
const LINE_MAX: usize = 200;
/// The most characters of a text of several sentences. Pages have thousands of them.
const TEXT_MAX: usize = 1_000;

/// The beginning of a text on one line.
pub(super) fn brief(text: &str) -> String {
    one_line(&line(text))
}

/// The beginning of what should be a line, as it is.
pub(super) fn line(text: &str) -> String {
    beginning(text, LINE_MAX)
}

/// The beginning of a text of several sentences, as it is.
pub(super) fn text(text: &str) -> String {
    beginning(text, TEXT_MAX)
}

fn beginning(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The first of some, and how many more there are.
pub(super) fn first<T>(all: &[T], most: usize) -> (&[T], usize) {
    let (first, more) = all.split_at(all.len().min(most));
    (first, more.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_ends_where_it_is_cut_and_says_so() {
        assert_eq!(brief("two\nlines"), "two lines");
        assert_eq!(brief(&"ä".repeat(LINE_MAX)), "ä".repeat(LINE_MAX));
        assert_eq!(brief(&"ä".repeat(LINE_MAX + 1)), format!("{}…", "ä".repeat(LINE_MAX)));
        assert_eq!(text(&"x".repeat(TEXT_MAX + 1)), format!("{}…", "x".repeat(TEXT_MAX)));
    }

    #[test]
    fn of_a_list_the_first_are_there_and_the_others_counted() {
        assert_eq!(first(&[1, 2, 3], 2), ([1, 2].as_slice(), 1));
        assert_eq!(first(&[1, 2], 2), ([1, 2].as_slice(), 0));
    }
}
