//! Escapes untrusted text from models and changes for terminals, single lines, Markdown and HTML.
//!
//! Such text must not move the cursor, start a line, open a fence, embed HTML or an image, link to
//! another site, or mention a person.

use std::collections::BTreeMap;

use crate::words::collapse_whitespace;

/// Inserted into mentions, references and URLs so that a forge renders them as text.
const ZERO_WIDTH_SPACE: char = '\u{200b}';

/// Text on one line: white space collapsed, invisible characters escaped.
pub fn one_line(text: &str) -> String {
    collapse_whitespace(&escape_invisible(text))
}

/// A path on one line. White space is kept, since it is part of the path.
pub(crate) fn path(text: &str) -> String {
    escape_invisible(text).replace('\n', "\\n").replace('\t', "\\t")
}

/// Escapes control characters and invisible characters. Newlines and tabs stay.
pub fn escape_invisible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\n' | '\t' => out.push(char),
            // Part of a CRLF line ending.
            '\r' if chars.peek() == Some(&'\n') => {}
            _ if char.is_control() || is_invisible(char) => out.extend(char.escape_unicode()),
            _ => out.push(char),
        }
    }
    out
}

/// Characters that reorder or hide text: bidirectional controls, zero-width characters, fillers,
/// tags.
pub(crate) fn is_invisible(char: char) -> bool {
    matches!(char,
        '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{3164}'
        | '\u{feff}' | '\u{ffa0}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{e0000}'..='\u{e01ef}')
}

/// Text for one Markdown paragraph: one line, code spans kept, everything else escaped. Only URLs
/// under `https://` and `link_prefix`, such as `forge.example/o/r`, stay links.
pub(crate) fn markdown(text: &str, link_prefix: Option<&str>) -> String {
    let text = one_line(text);
    let mut out = String::with_capacity(text.len() + 8);
    let last_runs = last_backtick_runs(&text);
    let mut rest = text.as_str();
    while let Some(offset) = rest.find('`') {
        out.push_str(&escape_markdown(&rest[..offset], link_prefix));
        let ticks = backtick_run(&rest[offset..]);
        let (fence, remaining) = rest[offset..].split_at(ticks);
        // Keeps the loop linear: search for a closing run only if one exists.
        let is_closed =
            last_runs.get(&ticks).is_some_and(|start| *start >= text.len() - remaining.len());
        match is_closed.then(|| find_closing_run(remaining, ticks)).flatten() {
            Some(end) => {
                out.push_str(fence);
                out.push_str(&break_html_comments(&remaining[..end]));
                out.push_str(fence);
                rest = &remaining[end + ticks..];
            }
            None => {
                out.push_str(&"\\`".repeat(ticks));
                rest = remaining;
            }
        }
    }
    out.push_str(&escape_markdown(rest, link_prefix));
    escape_block_start(out)
}

/// Text for one cell of a Markdown table.
pub(crate) fn cell(text: &str, link_prefix: Option<&str>) -> String {
    markdown(text, link_prefix).replace('|', "\\|")
}

/// Text as a Markdown code span on one line.
pub(crate) fn code_span(text: &str) -> String {
    let text = break_html_comments(&escape_invisible(text)).replace('\n', " ");
    let ticks = "`".repeat(longest_backtick_run(&text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{pad}{text}{pad}{ticks}")
}

/// Text as a fenced code block with a fence longer than any in the text.
pub(crate) fn code_block(text: &str, language: &str) -> String {
    let text = break_commands(&break_html_comments(&escape_invisible(text)));
    let fence = "`".repeat(longest_backtick_run(&text).max(2) + 1);
    let language: String = language.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// Text inside an HTML element of a comment. Forges still expand mentions and URLs there.
pub(crate) fn html(text: &str) -> String {
    let mut out = String::new();
    for word in one_line(text).split_inclusive(' ') {
        break_mentions(&break_links(word), &mut out, |char, out| match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            _ => out.push(char),
        });
    }
    out
}

/// Text for one line of a commit message. It cannot skip CI, as `[skip ci]` would, and has no
/// mentions, references or URLs: a reference such as `fixes #7` would close an issue.
pub(crate) fn commit_line(text: &str) -> String {
    let mut out = String::new();
    for word in one_line(text).split_inclusive(' ') {
        break_mentions(&break_links(word), &mut out, |char, out| match char {
            '[' | ']' => {}
            _ => out.push(char),
        });
    }
    out
}

/// Breaks HTML comments in code, so that untrusted text cannot forge a crh marker.
fn break_html_comments(text: &str) -> String {
    text.replace("<!--", &format!("<!{ZERO_WIDTH_SPACE}--"))
}

/// Whether a line of a text is a command such as `/merge`, which GitLab and many bots execute with
/// the rights of the comment's author. A code block does not prevent that: GitLab recognises code
/// blocks by a simple pattern, which fails on code with fences or tags.
pub fn has_command(text: &str) -> bool {
    text.lines().any(is_command)
}

fn is_command(line: &str) -> bool {
    line.strip_prefix('/')
        .is_some_and(|rest| rest.starts_with(|char: char| char.is_ascii_alphabetic()))
}

/// Breaks commands in code.
fn break_commands(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        if is_command(line) {
            out.push(ZERO_WIDTH_SPACE);
        }
        out.push_str(line);
    }
    out
}

fn backtick_run(text: &str) -> usize {
    text.len() - text.trim_start_matches('`').len()
}

fn longest_backtick_run(text: &str) -> usize {
    text.split(|char| char != '`').map(str::len).max().unwrap_or(0)
}

/// Start of the last backtick run of each length.
fn last_backtick_runs(text: &str) -> BTreeMap<usize, usize> {
    let mut last_starts = BTreeMap::new();
    let mut position = 0;
    while let Some(start) = text[position..].find('`').map(|offset| position + offset) {
        let run = backtick_run(&text[start..]);
        last_starts.insert(run, start);
        position = start + run;
    }
    last_starts
}

/// Start of the first run of exactly `ticks` backticks.
fn find_closing_run(text: &str, ticks: usize) -> Option<usize> {
    let mut position = 0;
    while let Some(start) = text[position..].find('`').map(|offset| position + offset) {
        let run = backtick_run(&text[start..]);
        if run == ticks {
            return Some(start);
        }
        position = start + run;
    }
    None
}

/// Escapes Markdown outside code spans.
fn escape_markdown(text: &str, link_prefix: Option<&str>) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_inclusive(' ') {
        if is_allowed_link(word.trim_end_matches(' '), link_prefix) {
            out.push_str(word);
            continue;
        }
        break_mentions(&break_links(word), &mut out, |char, out| match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '[' | ']' | '\\' => out.extend(['\\', char]),
            _ => out.push(char),
        });
    }
    out
}

/// Breaks mentions and references in a word; `escape` writes all other characters.
fn break_mentions(word: &str, out: &mut String, escape: impl Fn(char, &mut String)) {
    let mut chars = word.chars().peekable();
    while let Some(char) = chars.next() {
        escape(char, out);
        let starts_mention = match char {
            // Accounts of GitLab may start with `_` or `.`.
            '@' => chars.peek().is_some_and(|next| next.is_alphanumeric() || "_.".contains(*next)),
            // GitLab's `!7` is a merge request, `&7` an epic.
            '#' | '!' | '&' => chars.peek().is_some_and(char::is_ascii_digit),
            _ => false,
        };
        if starts_mention {
            out.push(ZERO_WIDTH_SPACE);
        }
    }
}

/// Prefixes that forges turn into links, with the number of bytes before the break. `gh-` starts an
/// issue reference.
const LINK_STARTS: [(&str, usize); 5] =
    [("://", 1), ("www.", 3), ("mailto:", 6), ("xmpp:", 4), ("gh-", 3)];

/// A word without anything that a forge turns into a link.
fn break_links(word: &str) -> String {
    let lower = word.to_ascii_lowercase();
    let link_start_at = |offset: usize| {
        LINK_STARTS
            .iter()
            .find(|(start, _)| lower.as_bytes()[offset..].starts_with(start.as_bytes()))
    };
    let mut out = String::with_capacity(word.len());
    let (mut copied_to, mut position) = (0, 0);
    while position < word.len() {
        let Some((_, len)) = link_start_at(position) else {
            position += 1;
            continue;
        };
        position += len;
        out.push_str(&word[copied_to..position]);
        out.push(ZERO_WIDTH_SPACE);
        copied_to = position;
    }
    out.push_str(&word[copied_to..]);
    out
}

/// Whether a word is exactly one URL under `link_prefix`, made of safe characters only.
fn is_allowed_link(word: &str, link_prefix: Option<&str>) -> bool {
    let Some(links) = link_prefix.filter(|links| !links.is_empty()) else { return false };
    let Some(path) = word.strip_prefix("https://").and_then(|rest| rest.strip_prefix(links)) else {
        return false;
    };
    let is_safe = |char: char| char.is_ascii_alphanumeric() || "/-.?=%".contains(char);
    // Browsers resolve `..` in every encoding, which would leave the allowed prefix.
    let leaves_prefix = path.to_ascii_lowercase().replace("%2e", ".").contains("..");
    (path.is_empty() || path.starts_with('/')) && path.chars().all(is_safe) && !leaves_prefix
}

/// Escapes the first character if it would start a heading, list, quote, fence or rule, or a
/// command such as `/merge`, which GitLab and many bots execute with the rights of the comment's
/// author.
fn escape_block_start(text: String) -> String {
    let digits = text.len() - text.trim_start_matches(|char: char| char.is_ascii_digit()).len();
    let escape_offset = match text[digits..].chars().next() {
        Some('.' | ')') if digits > 0 => digits,
        Some('#' | '~' | '-' | '+' | '*' | '=' | '_' | '|' | ':' | '/') if digits == 0 => 0,
        _ => return text,
    };
    let (before, after) = text.split_at(escape_offset);
    format!("{before}\\{after}")
}

#[cfg(test)]
mod tests;
