//! Formats text for display.

use crh_review::escape_invisible;

/// Folds white space into one line and makes invisible characters visible.
pub(crate) fn one_line(text: &str) -> String {
    escape_invisible(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Truncates a text to a number of characters and marks the cut with `…`.
pub(crate) fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Appends a period unless the text ends a sentence already.
pub(crate) fn with_period(text: &str) -> String {
    if text.ends_with(['.', '!', '?', '…']) { text.to_owned() } else { format!("{text}.") }
}

/// `1 file`, `2 files`.
pub(crate) fn plural(number: usize, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

/// A line of code with its number, truncated to a number of characters. A truncated line ends with
/// the number of characters that are missing.
pub(crate) fn numbered_line(number: u32, line: &str, chars: usize) -> String {
    match line.char_indices().nth(chars) {
        Some((end, _)) => {
            let missing = line[end..].chars().count();
            format!("{number:>5}  {}… [cut: {missing} more characters]\n", &line[..end])
        }
        None => format!("{number:>5}  {line}\n"),
    }
}
