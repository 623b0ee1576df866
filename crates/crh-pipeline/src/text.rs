//! Formats text for display.

pub(crate) use crh_review::one_line;

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

/// Amount in dollars: `0.42 USD`.
pub fn dollars(dollars: f64) -> String {
    format!("{} USD", cents(dollars))
}

/// Amount in dollars, rounded to cents. Small costs are shown as `<0.01`, not as zero.
pub fn cents(dollars: f64) -> String {
    if dollars > 0.0 && dollars < 0.01 { "<0.01".to_owned() } else { format!("{dollars:.2}") }
}

/// Duration: `80 ms`, `3.2 s`, `75 s`.
pub fn duration(milliseconds: u64) -> String {
    match milliseconds {
        0..1_000 => format!("{milliseconds} ms"),
        1_000..60_000 => format!("{:.1} s", milliseconds as f64 / 1e3),
        60_000.. => format!("{} s", milliseconds / 1_000),
    }
}
