//! Text width on a terminal, where characters take zero, one or two columns.

use unicode_width::UnicodeWidthChar;

/// Marks truncated text.
const ELLIPSIS: char = '…';
/// Turns the previous character into an emoji, which can be wider.
const EMOJI_SELECTOR: char = '\u{fe0f}';

/// Upper bound on the columns of a line. Terminals differ for joined characters.
pub fn columns(line: &str) -> usize {
    line.chars().map(width).sum()
}

fn width(char: char) -> usize {
    if char == EMOJI_SELECTOR { 1 } else { char.width().unwrap_or(1) }
}

/// Truncates a line to `max_columns` columns, with an ellipsis.
pub fn truncate(line: &str, max_columns: usize) -> String {
    if columns(line) <= max_columns {
        return line.to_owned();
    }
    let max_text_columns = max_columns.saturating_sub(1);
    let mut out = String::new();
    let mut used_columns = 0;
    for char in line.chars() {
        used_columns += width(char);
        if used_columns > max_text_columns {
            break;
        }
        out.push(char);
    }
    if max_columns > 0 {
        out.push(ELLIPSIS);
    }
    out
}

/// Truncates a line like [`truncate`], but with the ellipsis in the middle, so both ends stay
/// visible.
pub fn truncate_middle(line: &str, max_columns: usize) -> String {
    if columns(line) <= max_columns || max_columns < 3 {
        return truncate(line, max_columns);
    }
    let max_end_columns = (max_columns - 1) / 2;
    let mut used_columns = 0;
    let end = line.char_indices().rev().take_while(|(_, char)| {
        used_columns += width(*char);
        used_columns <= max_end_columns
    });
    let end = end.last().map_or("", |(offset, _)| &line[offset..]);
    format!("{}{end}", truncate(line, max_columns - columns(end)))
}

/// Wraps text to `width` columns, at spaces and between wide characters. The first line starts with
/// `first_prefix`, the others with `other_prefix`. Words longer than a line stay whole.
pub fn wrap(first_prefix: &str, other_prefix: &str, text: &str, width: usize) -> String {
    let mut out = String::new();
    let mut line = first_prefix.to_owned();
    let mut line_is_empty = true;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        for (index, piece) in break_points(word).enumerate() {
            let separator = if index == 0 && !line_is_empty { " " } else { "" };
            if !line_is_empty && columns(&line) + separator.len() + columns(piece) > width {
                out.push_str(line.trim_end());
                out.push('\n');
                line = other_prefix.to_owned();
            } else {
                line.push_str(separator);
            }
            line.push_str(piece);
            line_is_empty = false;
        }
    }
    out.push_str(line.trim_end());
    out.push('\n');
    out
}

/// Splits a word where a line may break: around every wide character.
fn break_points(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let is_wide = |char: char| columns(char.encode_utf8(&mut [0; 4])) > 1;
        let end = match is_wide(first) {
            true => first.len_utf8(),
            false => rest.find(is_wide).unwrap_or(rest.len()),
        };
        let (piece, remaining) = rest.split_at(end);
        rest = remaining;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn long_line_is_truncated_with_ellipsis() {
        for (line, max_columns, expected) in [
            ("plain", 5, "plain"),
            ("plain", 4, "pla…"),
            ("plain", 1, "…"),
            ("plain", 0, ""),
            ("設定/画面.rs", 12, "設定/画面.rs"),
            ("設定/画面.rs", 11, "設定/画面.…"),
            ("設定/画面.rs", 4, "設…"),
            ("e\u{301}te\u{301}", 3, "e\u{301}te\u{301}"),
            ("e\u{301}te\u{301}", 2, "e\u{301}…"),
        ] {
            assert_eq!(truncate(line, max_columns), expected, "{line} {max_columns}");
        }
    }

    #[test]
    fn middle_truncation_keeps_both_ends() {
        for (line, max_columns, expected) in [
            ("read src/lib.rs", 15, "read src/lib.rs"),
            ("read src/lib.rs", 14, "read sr…lib.rs"),
            ("read src/lib.rs", 3, "r…s"),
            ("read src/lib.rs", 2, "r…"),
            ("設定/画面.rs", 8, "設定….rs"),
        ] {
            assert_eq!(truncate_middle(line, max_columns), expected, "{line} {max_columns}");
        }
    }

    proptest! {
        #[test]
        fn truncated_line_fits(line in ".*|[ab設❤\u{fe0f}\u{301}]*", most in 0_usize..40) {
            let truncated = truncate(&line, most);
            prop_assert!(columns(&truncated) <= most, "{} in {}", truncated, most);
            prop_assert!(columns(&truncate_middle(&line, most)) <= most, "{} in {}", line, most);
            prop_assert!(truncated == line || most == 0 || truncated.ends_with(ELLIPSIS), "{}", truncated);
        }
    }
}
