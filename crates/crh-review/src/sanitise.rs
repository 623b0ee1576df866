//! Text from models and changes, made harmless for where it is shown: a terminal, a line, Markdown.
//!
//! Such text is data. It may not move the cursor, start a line of its own, open a fence, embed HTML or an
//! image, link to a stranger, or call a person.

use std::collections::BTreeMap;

use crate::words::folded;

/// Put into a mention, a reference or an address so that a forge takes it for text; it has no width.
const ZERO_WIDTH_SPACE: char = '\u{200b}';

/// Text on one line, white space folded, with what cannot be seen made visible.
pub(crate) fn one_line(text: &str) -> String {
    folded(&visible(text))
}

/// A path on one line: nothing folded, since every blank of it counts.
pub(crate) fn path(text: &str) -> String {
    visible(text).replace('\n', "\\n").replace('\t', "\\t")
}

/// Text with every character that acts on a terminal or hides from a reader written out, newlines and
/// tabs kept.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\n' | '\t' => out.push(char),
            // Before a newline it is only a line ending.
            '\r' if chars.peek() == Some(&'\n') => {}
            _ if char.is_control() || is_invisible(char) => out.extend(char.escape_unicode()),
            _ => out.push(char),
        }
    }
    out
}

/// Characters that reorder or hide text: bidirectional controls, zero-width and filling characters, tags.
pub(crate) fn is_invisible(char: char) -> bool {
    matches!(char,
        '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{3164}'
        | '\u{feff}' | '\u{ffa0}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{e0000}'..='\u{e01ef}')
}

/// Text for a paragraph of Markdown: one line, code spans kept, everything else inert. An address that begins
/// with `https://` and `links`, such as `forge.example/o/r`, stays a link; any other is taken apart.
pub(crate) fn markdown(text: &str, links: Option<&str>) -> String {
    let text = one_line(text);
    let mut out = String::with_capacity(text.len() + 8);
    let last = last_runs(&text);
    let mut rest = text.as_str();
    while let Some(at) = rest.find('`') {
        out.push_str(&inert(&rest[..at], links));
        let ticks = run_length(&rest[at..]);
        let (fence, after) = rest[at..].split_at(ticks);
        // Without this, every run that nothing closes would be looked for to the end of the text.
        let is_closed = last.get(&ticks).is_some_and(|start| *start >= text.len() - after.len());
        match is_closed.then(|| closing(after, ticks)).flatten() {
            Some(end) => {
                out.push_str(fence);
                out.push_str(&without_markers(&after[..end]));
                out.push_str(fence);
                rest = &after[end + ticks..];
            }
            None => {
                out.push_str(&"\\`".repeat(ticks));
                rest = after;
            }
        }
    }
    out.push_str(&inert(rest, links));
    without_block_start(out)
}

/// Text for a cell of a Markdown table.
pub(crate) fn cell(text: &str, links: Option<&str>) -> String {
    markdown(text, links).replace('|', "\\|")
}

/// Text as a Markdown code span on one line, whatever it holds.
pub(crate) fn code_span(text: &str) -> String {
    let text = without_markers(&visible(text)).replace('\n', " ");
    let ticks = "`".repeat(longest_run(&text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{pad}{text}{pad}{ticks}")
}

/// Text as a fenced code block that it cannot close.
pub(crate) fn code_block(text: &str, language: &str) -> String {
    let text = without_markers(&visible(text));
    let fence = "`".repeat(longest_run(&text).max(2) + 1);
    let language: String = language.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// Text inside an HTML element, where Markdown is not read but mentions and addresses are.
pub(crate) fn html(text: &str) -> String {
    let mut out = String::new();
    for word in one_line(text).split_inclusive(' ') {
        take_apart(&broken_address(word), &mut out, |char, out| match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            _ => out.push(char),
        });
    }
    out
}

/// Code that holds no HTML comment: whoever looks for our markers finds only ours.
fn without_markers(text: &str) -> String {
    text.replace("<!--", &format!("<!{ZERO_WIDTH_SPACE}--"))
}

fn run_length(text: &str) -> usize {
    text.len() - text.trim_start_matches('`').len()
}

fn longest_run(text: &str) -> usize {
    text.split(|char| char != '`').map(str::len).max().unwrap_or(0)
}

/// Where the last run of backticks of each length starts.
fn last_runs(text: &str) -> BTreeMap<usize, usize> {
    let mut last = BTreeMap::new();
    let mut at = 0;
    while let Some(start) = text[at..].find('`').map(|found| at + found) {
        let run = run_length(&text[start..]);
        last.insert(run, start);
        at = start + run;
    }
    last
}

/// Where a run of exactly so many backticks starts.
fn closing(text: &str, ticks: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(start) = text[at..].find('`').map(|found| at + found) {
        let run = run_length(&text[start..]);
        if run == ticks {
            return Some(start);
        }
        at = start + run;
    }
    None
}

/// Markdown outside code, with what would act taken apart.
fn inert(text: &str, links: Option<&str>) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_inclusive(' ') {
        if is_under(word.trim_end_matches(' '), links) {
            out.push_str(word);
            continue;
        }
        take_apart(&broken_address(word), &mut out, |char, out| match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '[' | ']' | '\\' => out.extend(['\\', char]),
            _ => out.push(char),
        });
    }
    out
}

/// Writes a word with its mentions and references broken, and everything else as `escape` says.
fn take_apart(word: &str, out: &mut String, escape: impl Fn(char, &mut String)) {
    let mut chars = word.chars().peekable();
    while let Some(char) = chars.next() {
        escape(char, out);
        let calls = match char {
            '@' => chars.peek().is_some_and(|next| next.is_alphanumeric()),
            '#' => chars.peek().is_some_and(char::is_ascii_digit),
            _ => false,
        };
        if calls {
            out.push(ZERO_WIDTH_SPACE);
        }
    }
}

/// How an address begins where a forge would see one, and how many bytes of that come before the break. The last is how an issue is
/// referred to without a `#`.
const ADDRESS_STARTS: [(&str, usize); 5] =
    [("://", 1), ("www.", 3), ("mailto:", 6), ("xmpp:", 4), ("gh-", 3)];

/// A word in which nothing is an address any more.
fn broken_address(word: &str) -> String {
    let lower = word.to_ascii_lowercase();
    let begins = |at: usize| {
        ADDRESS_STARTS
            .iter()
            .find(|(start, _)| lower.as_bytes()[at..].starts_with(start.as_bytes()))
    };
    let mut out = String::with_capacity(word.len());
    let (mut done, mut at) = (0, 0);
    while at < word.len() {
        let Some((_, len)) = begins(at) else {
            at += 1;
            continue;
        };
        at += len;
        out.push_str(&word[done..at]);
        out.push(ZERO_WIDTH_SPACE);
        done = at;
    }
    out.push_str(&word[done..]);
    out
}

/// Whether a word is nothing but an address that may stay a link, and plain enough to be sure of it.
fn is_under(word: &str, links: Option<&str>) -> bool {
    let Some(links) = links.filter(|links| !links.is_empty()) else { return false };
    let Some(path) = word.strip_prefix("https://").and_then(|rest| rest.strip_prefix(links)) else {
        return false;
    };
    let plain = |char: char| char.is_ascii_alphanumeric() || "/-.?=%".contains(char);
    // Browsers climb out of an address by two dots, however these are written.
    let climbs = path.to_ascii_lowercase().replace("%2e", ".").contains("..");
    (path.is_empty() || path.starts_with('/')) && path.chars().all(plain) && !climbs
}

/// A paragraph that starts neither a heading, a list, a quote, a fence nor a rule.
fn without_block_start(text: String) -> String {
    let digits = text.len() - text.trim_start_matches(|char: char| char.is_ascii_digit()).len();
    let at = match text[digits..].chars().next() {
        Some('.' | ')') if digits > 0 => digits,
        Some('#' | '~' | '-' | '+' | '*' | '=' | '_' | '|' | ':') if digits == 0 => 0,
        _ => return text,
    };
    let (before, after) = text.split_at(at);
    format!("{before}\\{after}")
}

#[cfg(test)]
#[path = "sanitise/tests.rs"]
mod tests;
