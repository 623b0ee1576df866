//! Text from models and changes, made harmless for where it is shown: a terminal, a line, Markdown.
//!
//! Such text is data. It may not move the cursor, start a line of its own, open a fence, embed HTML or an
//! image, link to a stranger, or call a person.

use crate::words::folded;

/// Put behind a `@` or `#` so that a forge takes it for text; it has no width.
const ZERO_WIDTH_SPACE: char = '\u{200b}';

/// Text on one line, white space folded, with what cannot be seen made visible.
pub(crate) fn one_line(text: &str) -> String {
    folded(&visible(text))
}

/// Text with every character that acts on a terminal or hides from a reader written out, newlines and
/// tabs kept.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\n' | '\t' => out.push(char),
            // A carriage return before a newline is only a line ending.
            '\r' => {}
            _ if char.is_control() || is_invisible(char) => out.extend(char.escape_unicode()),
            _ => out.push(char),
        }
    }
    out
}

/// Characters that reorder or hide text: bidirectional controls, zero-width characters, tags.
fn is_invisible(char: char) -> bool {
    matches!(char,
        '\u{00ad}' | '\u{061c}' | '\u{180e}' | '\u{feff}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{e0000}'..='\u{e007f}')
}

/// Text for a paragraph of Markdown: one line, code spans kept, everything else inert. Links to `host`
/// stay links; to any other, they become code.
pub(crate) fn markdown(text: &str, host: Option<&str>) -> String {
    let text = one_line(text);
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = text.as_str();
    while let Some(at) = rest.find('`') {
        out.push_str(&inert(&rest[..at], host));
        let ticks = rest[at..].len() - rest[at..].trim_start_matches('`').len();
        let (fence, after) = rest[at..].split_at(ticks);
        match closing(after, ticks) {
            Some(end) => {
                out.push_str(fence);
                out.push_str(&after[..end]);
                out.push_str(fence);
                rest = &after[end + ticks..];
            }
            None => {
                out.push_str(&"\\`".repeat(ticks));
                rest = after;
            }
        }
    }
    out.push_str(&inert(rest, host));
    out
}

/// Text for a cell of a Markdown table.
pub(crate) fn cell(text: &str, host: Option<&str>) -> String {
    markdown(text, host).replace('|', "\\|")
}

/// Text as a Markdown code span on one line, whatever it holds.
pub(crate) fn code_span(text: &str) -> String {
    let text = one_line(text);
    let longest = text.split(|char| char != '`').map(str::len).max().unwrap_or(0);
    let ticks = "`".repeat(longest + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{pad}{text}{pad}{ticks}")
}

/// Text as a fenced code block that it cannot close.
pub(crate) fn code_block(text: &str, language: &str) -> String {
    let text = visible(text);
    let longest = text.split(|char| char != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// Where a run of exactly so many backticks starts.
fn closing(text: &str, ticks: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(start) = text[at..].find('`').map(|found| at + found) {
        let run = text[start..].len() - text[start..].trim_start_matches('`').len();
        if run == ticks {
            return Some(start);
        }
        at = start + run;
    }
    None
}

/// Markdown outside code, with what would act taken apart.
fn inert(text: &str, host: Option<&str>) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, word) in text.split(' ').enumerate() {
        if at > 0 {
            out.push(' ');
        }
        match word_with_link(word) {
            Some(link) if !is_on(link, host) => out.push_str(&code_span(word)),
            Some(_) => out.push_str(word),
            None => inert_word(word, &mut out),
        }
    }
    out
}

fn inert_word(word: &str, out: &mut String) {
    let mut chars = word.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '[' | ']' | '\\' => out.extend(['\\', char]),
            '@' if chars.peek().is_some_and(|next| next.is_alphanumeric()) => {
                out.extend(['@', ZERO_WIDTH_SPACE]);
            }
            '#' if chars.peek().is_some_and(char::is_ascii_digit) => {
                out.extend(['#', ZERO_WIDTH_SPACE]);
            }
            _ => out.push(char),
        }
    }
}

/// The address in a word that a forge would make a link of.
fn word_with_link(word: &str) -> Option<&str> {
    let lower = word.to_ascii_lowercase();
    let schemes = ["http:", "https:", "ftp:", "www.", "mailto:", "javascript:", "data:", "//"];
    let at = schemes.iter().filter_map(|scheme| lower.find(scheme)).min()?;
    word.get(at..)
}

/// Whether an address is on a host, and plain enough to be sure of it.
fn is_on(link: &str, host: Option<&str>) -> bool {
    let Some(host) = host.filter(|host| !host.is_empty()) else { return false };
    let Some(rest) = link.strip_prefix("https://") else { return false };
    let plain = |char: char| char.is_ascii_alphanumeric() || "/-_.#?=&%:".contains(char);
    let after = rest.strip_prefix(host);
    after.is_some_and(|after| {
        (after.is_empty() || after.starts_with('/')) && after.chars().all(plain)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_keeps_code_and_takes_everything_else_apart() {
        for (text, expected) in [
            ("`Vec<T>` and <b>", "`Vec<T>` and &lt;b&gt;"),
            ("![x](https://evil.example/a.png)", "`![x](https://evil.example/a.png)`"),
            ("see https://forge.example/o/r/1", "see https://forge.example/o/r/1"),
            ("see https://forge.example.evil/o", "see `https://forge.example.evil/o`"),
            ("ask @octocat about #12", "ask @\u{200b}octocat about #\u{200b}12"),
            ("an open ` tick <i>", "an open \\` tick &lt;i&gt;"),
            ("``a ` b`` c", "``a ` b`` c"),
            ("two\nlines\n```\n<x>", "two lines \\`\\`\\` &lt;x&gt;"),
            ("[text][ref]", "\\[text\\]\\[ref\\]"),
            ("a\u{202e}b\u{1b}[31m", "a\\\\u{202e}b\\\\u{1b}\\[31m"),
        ] {
            assert_eq!(markdown(text, Some("forge.example")), expected, "{text}");
        }
    }

    #[test]
    fn a_cell_has_no_bare_pipe() {
        assert_eq!(cell("a | b `c|d`\ne", None), "a \\| b `c\\|d` e");
    }

    #[test]
    fn no_text_can_close_its_code() {
        assert_eq!(code_span("a `` b"), "``` a `` b```".replace("``` a", "```a"));
        assert_eq!(code_span("`x`"), "`` `x` ``");
        assert_eq!(code_block("a\n```\nb", "rust"), "````rust\na\n```\nb\n````");
    }
}
