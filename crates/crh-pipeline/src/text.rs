//! Texts made fit to be shown: on one line, no longer than so many characters, with the numbers of lines.

use crh_review::visible;

/// A text on one line, white space folded, with what cannot be seen made visible.
pub(crate) fn one_line(text: &str) -> String {
    visible(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The first so many characters of a text, and a sign where there are more.
pub(crate) fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A sentence with its end.
pub(crate) fn ended(text: &str) -> String {
    if text.ends_with(['.', '!', '?', '…']) { text.to_owned() } else { format!("{text}.") }
}

/// A number of things, as one says it.
pub(crate) fn count(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

/// A line of code with its number, cut where it is longer than so many characters.
pub(crate) fn numbered_line(number: u32, line: &str, chars: usize) -> String {
    match line.char_indices().nth(chars) {
        Some((end, _)) => format!("{number:>5}  {}… [cut]\n", &line[..end]),
        None => format!("{number:>5}  {line}\n"),
    }
}
