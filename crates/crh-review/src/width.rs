//! How much room a text takes on a terminal, where some characters take two columns and others none.

use unicode_width::UnicodeWidthChar;

/// Stands where something was cut off.
const CUT: char = '…';
/// Makes a picture of the character before it, which may then be wider than it is alone.
const AS_PICTURE: char = '\u{fe0f}';

/// How many columns of a terminal a line takes, at the most: where characters are joined to one, terminals differ.
pub fn columns(line: &str) -> usize {
    line.chars().map(width).sum()
}

fn width(char: char) -> usize {
    if char == AS_PICTURE { 1 } else { char.width().unwrap_or(1) }
}

/// A line that takes at most so many columns, with a mark if something of it is missing.
pub fn cut(line: &str, most: usize) -> String {
    if columns(line) <= most {
        return line.to_owned();
    }
    let room = most.saturating_sub(1);
    let mut out = String::new();
    let mut taken = 0;
    for char in line.chars() {
        taken += width(char);
        if taken > room {
            break;
        }
        out.push(char);
    }
    if most > 0 {
        out.push(CUT);
    }
    out
}

/// The same with the cut in the middle, for what is known by its beginning and its end.
pub fn cut_inside(line: &str, most: usize) -> String {
    if columns(line) <= most || most < 3 {
        return cut(line, most);
    }
    let end_room = (most - 1) / 2;
    let mut taken = 0;
    let end = line.char_indices().rev().take_while(|(_, char)| {
        taken += width(*char);
        taken <= end_room
    });
    let end = end.last().map_or("", |(at, _)| &line[at..]);
    format!("{}{end}", cut(line, most - columns(end)))
}

/// Text wrapped at blanks, and between characters of scripts that have none, to lines of so many columns; the first line
/// starts with one prefix, the others with another. A word that is longer than a line stays whole.
pub fn wrapped(first: &str, others: &str, text: &str, width: usize) -> String {
    let mut out = String::new();
    let mut line = first.to_owned();
    let mut is_empty = true;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        for (at, piece) in unbreakable(word).enumerate() {
            let blank = if at == 0 && !is_empty { " " } else { "" };
            if !is_empty && columns(&line) + blank.len() + columns(piece) > width {
                out.push_str(line.trim_end());
                out.push('\n');
                line = others.to_owned();
            } else {
                line.push_str(blank);
            }
            line.push_str(piece);
            is_empty = false;
        }
    }
    out.push_str(line.trim_end());
    out.push('\n');
    out
}

/// The pieces of a word between which a line may end: every wide character is one.
fn unbreakable(word: &str) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let is_wide = |char: char| columns(char.encode_utf8(&mut [0; 4])) > 1;
        let end = match is_wide(first) {
            true => first.len_utf8(),
            false => rest.find(is_wide).unwrap_or(rest.len()),
        };
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_is_cut_by_columns_and_says_so() {
        for (line, most, expected) in [
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
            assert_eq!(cut(line, most), expected, "{line} {most}");
        }
    }

    #[test]
    fn a_line_is_cut_inside_so_that_both_ends_stay() {
        for (line, most, expected) in [
            ("read src/lib.rs", 15, "read src/lib.rs"),
            ("read src/lib.rs", 14, "read sr…lib.rs"),
            ("read src/lib.rs", 3, "r…s"),
            ("read src/lib.rs", 2, "r…"),
            ("設定/画面.rs", 8, "設定….rs"),
        ] {
            assert_eq!(cut_inside(line, most), expected, "{line} {most}");
        }
    }

    proptest! {
        #[test]
        fn what_is_cut_fits(line in ".*|[ab設❤\u{fe0f}\u{301}]*", most in 0_usize..40) {
            let shown = cut(&line, most);
            prop_assert!(columns(&shown) <= most, "{} in {}", shown, most);
            prop_assert!(columns(&cut_inside(&line, most)) <= most, "{} in {}", line, most);
            prop_assert!(shown == line || most == 0 || shown.ends_with(CUT), "{}", shown);
        }
    }
}
