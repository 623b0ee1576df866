//! Finds the comments of a text and Rust's lint attributes: by the syntax tree, or by comment signs
//! without a grammar.

use std::collections::HashMap;

use tree_sitter::Node;

use super::forms::{CommentSign, truncate};
use crate::paths;
use crh_syntax::{Language, SyntaxTree};

/// Words that every ignore comment contains. A text without them is not parsed.
const WORDS: [&str; 6] = ["crh:ignore", "noqa", "eslint-", "nosem", "NOQA", "shellcheck"];
/// Longest shell command that is followed.
const COMMAND_LINES_MAX: usize = 2_000;
/// Words that continue a shell command at its indentation, and words that end it there.
const CONTINUATION_WORDS: [&str; 5] = ["then", "do", "else", "elif", "{"];
const END_WORDS: [&str; 5] = ["fi", "done", "esac", "}", ")"];
/// Rust's lint attributes.
const ATTRIBUTES: [&str; 2] = ["allow", "expect"];
/// Comment signs in files without a grammar.
const SIGNS: [&str; 7] = ["#", "//", "--", "<!--", ";", "/*", "{/*"];
/// How much of an attribute is shown.
const BY_CHARS: usize = 80;

#[derive(Debug, Default)]
pub(super) struct ParsedComments {
    pub(super) comments: Vec<IgnoreComment>,
    pub(super) attributes: Vec<LintAttribute>,
}

/// A comment that may suppress findings.
#[derive(Debug)]
pub(super) struct IgnoreComment {
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) text: String,
    pub(super) sign: CommentSign,
    /// The next line that is not a comment, if the comment is alone on its lines.
    next: Option<u32>,
}

/// A lint attribute and the lines of its item.
#[derive(Debug)]
pub(super) struct LintAttribute {
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) line: u32,
    pub(super) names: Vec<String>,
    pub(super) by: String,
}

impl IgnoreComment {
    /// The last line that a form for the next line covers.
    pub(super) fn last_covered_line(&self) -> u32 {
        self.next.unwrap_or(self.last)
    }

    /// Whether the comment is alone on its lines.
    pub(super) fn is_alone(&self) -> bool {
        self.next.is_some()
    }
}

/// The lines of the shell command below a comment, by indentation. `None` if no command precedes
/// the comment, so that it covers the whole file.
pub(super) fn shell_command_lines(lines: &[&str], comment: &IgnoreComment) -> Option<(u32, u32)> {
    let at = |number: u32| usize::try_from(number).unwrap_or(usize::MAX).wrapping_sub(1);
    let is_nothing = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    let own = at(comment.first);
    let is_first = lines.iter().take(COMMAND_LINES_MAX).position(|line| !is_nothing(line));
    if is_first.is_none_or(|first| own < first) {
        return None;
    }
    let depth = |line: &str| line.len() - line.trim_start().len();
    let behind = (at(comment.last).saturating_add(1)..lines.len()).take(COMMAND_LINES_MAX);
    let mut behind = behind.skip_while(|at| is_nothing(lines[*at]));
    let Some(start) = behind.next() else { return Some((comment.first, comment.last)) };
    let mut last = start;
    for at in behind {
        let (line, word) = (lines[at], lines[at].trim_start());
        let begins = |words: &[&str]| {
            let word = word.split(|it: char| it.is_whitespace() || it == ';').next();
            word.is_some_and(|word| words.contains(&word))
        };
        let is_deeper = line.trim().is_empty() || depth(line) > depth(lines[start]);
        let goes_on =
            lines[at - 1].trim_end().ends_with(['\\', '|', '&']) || begins(&CONTINUATION_WORDS);
        let ends = !is_deeper && begins(&END_WORDS);
        if !is_deeper && !goes_on && !ends {
            break;
        }
        if !line.trim().is_empty() {
            last = at;
        }
        if ends {
            break;
        }
    }
    Some((comment.first, line(last)))
}

/// Reads the comments of a text; `None` if none can suppress anything.
pub(super) fn read(path: &str, text: &str) -> Option<ParsedComments> {
    let language = Language::from_path(path);
    let is_rust = language == Some(Language::Rust);
    let has_attribute = is_rust && ATTRIBUTES.iter().any(|word| text.contains(&format!("{word}(")));
    if !WORDS.iter().any(|word| text.contains(word)) && !has_attribute {
        return None;
    }
    // JSON has no comments.
    if matches!(paths::extension(path).as_str(), "json" | "ipynb") {
        return None;
    }
    let parsed = language.map(|language| SyntaxTree::new(language, text));
    let mut found = match parsed {
        Some(Ok(parsed)) => comments_from_tree(&parsed, is_rust),
        Some(Err(_)) | None => comments_from_signs(text),
    };
    let lines: Vec<&str> = text.lines().collect();
    link_stacked(&mut found.comments, &lines);
    Some(found)
}

/// Uses a cursor, because texts can be nested deeper than the stack.
fn comments_from_tree(parsed: &SyntaxTree<'_>, is_rust: bool) -> ParsedComments {
    let mut found = ParsedComments::default();
    let text = parsed.text();
    let mut cursor = parsed.tree().walk();
    loop {
        let node = cursor.node();
        let kind = node.kind();
        let is_comment = kind.contains("comment");
        let is_attribute = is_rust && matches!(kind, "attribute_item" | "inner_attribute_item");
        if is_comment {
            found.comments.extend(comment_from_node(node, text));
        } else if is_attribute {
            found.attributes.extend(attribute_from_node(node, text));
        }
        let goes_down = !is_comment && !is_attribute && cursor.goto_first_child();
        if goes_down || cursor.goto_next_sibling() {
            continue;
        }
        loop {
            if !cursor.goto_parent() {
                return found;
            }
            if cursor.goto_next_sibling() {
                break;
            }
        }
    }
}

fn comment_from_node(node: Node<'_>, text: &str) -> Option<IgnoreComment> {
    let words = text.get(node.start_byte()..node.end_byte().min(text.len()))?.trim_end();
    if !WORDS.iter().any(|word| words.contains(word)) {
        return None;
    }
    let first = line(node.start_position().row);
    let more = u32::try_from(words.matches('\n').count()).unwrap_or(u32::MAX);
    let last = first.saturating_add(more);
    Some(IgnoreComment {
        first,
        last,
        text: words.to_owned(),
        sign: comment_sign(words),
        next: None,
    })
}

fn comment_sign(comment: &str) -> CommentSign {
    if comment.starts_with('#') {
        CommentSign::Hash
    } else if comment.starts_with("/*") || comment.starts_with("{/*") {
        CommentSign::Block
    } else {
        CommentSign::Other
    }
}

/// `#[allow(a, b)]` covers the next item, `#![allow(a)]` the enclosing one.
fn attribute_from_node(node: Node<'_>, text: &str) -> Option<LintAttribute> {
    let words = text.get(node.byte_range())?;
    let body = words.trim_start_matches(['#', '!', '[']).trim_start();
    let body = ATTRIBUTES.iter().find_map(|word| body.strip_prefix(word))?.trim_start();
    let body = body.strip_prefix('(')?.rsplit_once(')')?.0;
    let names = body.split(',').map(str::trim);
    let names: Vec<String> = names
        .filter(|name| !name.is_empty() && !name.contains(['=', '"']))
        .map(str::to_owned)
        .collect();
    let about = match node.kind() {
        "inner_attribute_item" => node.parent(),
        _ => {
            let mut next = node.next_sibling();
            while let Some(it) = next
                && (it.kind() == "attribute_item" || it.kind().contains("comment"))
            {
                next = it.next_sibling();
            }
            next
        }
    }?;
    let by = truncate(&words.split_whitespace().collect::<Vec<_>>().join(" "), BY_CHARS);
    let own = line(node.start_position().row);
    let first = line(about.start_position().row).min(own);
    Some(LintAttribute { first, last: line(about.end_position().row), line: own, names, by })
}

/// A sign opens a comment at the start of a line or after a blank, but not inside quotes.
fn comments_from_signs(text: &str) -> ParsedComments {
    let mut found = ParsedComments::default();
    for (number, line) in (1..).zip(text.lines()) {
        if !WORDS.iter().any(|word| line.contains(word)) {
            continue;
        }
        if let Some(at) = sign_at(line) {
            let words = line[at..].trim_end().to_owned();
            let sign = comment_sign(&words);
            found.comments.push(IgnoreComment {
                first: number,
                last: number,
                text: words,
                sign,
                next: None,
            });
        }
    }
    found
}

fn sign_at(line: &str) -> Option<usize> {
    let mut quote = None;
    let mut before = ' ';
    for (at, char) in line.char_indices() {
        match quote {
            Some(open) if char == open => quote = None,
            Some(_) => {}
            None if before.is_whitespace() && SIGNS.iter().any(|it| line[at..].starts_with(it)) => {
                return Some(at);
            }
            // An apostrophe between letters is not a quote.
            None if char == '"' || char == '`' || char == '\'' && !before.is_alphanumeric() => {
                quote = Some(char);
            }
            None => {}
        }
        before = char;
    }
    None
}

/// Lets a comment that is alone on its lines cover the next line that is not such a comment, so
/// that several can be stacked.
fn link_stacked(comments: &mut [IgnoreComment], lines: &[&str]) {
    let at = |number: u32| usize::try_from(number).unwrap_or(usize::MAX).wrapping_sub(1);
    let alone: Vec<bool> = comments
        .iter()
        .map(|comment| {
            let own = lines.get(at(comment.first)).copied().unwrap_or_default();
            let end = lines.get(at(comment.last)).copied().unwrap_or_default();
            let opens = comment.text.lines().next().unwrap_or_default().trim_end();
            let closes = comment.text.lines().next_back().unwrap_or_default().trim_end();
            own.trim_start().trim_start_matches('{').starts_with(opens)
                && end.trim_end().trim_end_matches('}').ends_with(closes.trim_end_matches('}'))
        })
        .collect();
    let mut next_of: HashMap<u32, u32> = HashMap::new();
    for (comment, alone) in comments.iter_mut().zip(alone).rev() {
        if alone {
            let below = comment.last.saturating_add(1);
            let next = next_of.get(&below).copied().unwrap_or(below);
            comment.next = Some(next);
            next_of.insert(comment.first, next);
        }
    }
}

fn line(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX).saturating_add(1)
}
