//! Finds the comments of a text and Rust's lint attributes: in the syntax tree or, if crh has no
//! grammar for the file, by comment signs.

use std::collections::HashMap;

use tree_sitter::Node;

use super::forms::{CommentSign, truncate};
use crate::paths;
use crate::source::line_number;
use crh_syntax::{Language, SyntaxTree};

/// Every ignore comment contains one of these words. A text without them is not parsed,
/// unless it is Rust and may have lint attributes.
const IGNORE_WORDS: [&str; 6] = ["crh:ignore", "noqa", "eslint-", "nosem", "NOQA", "shellcheck"];
/// Maximum lines that are searched for the end of a shell command.
const COMMAND_LINES_MAX: usize = 2_000;
/// A line that starts with one of these words belongs to the shell command above it, even if it is
/// not indented.
const CONTINUATION_WORDS: [&str; 5] = ["then", "do", "else", "elif", "{"];
/// A line that starts with one of these words, and is not indented, is the last line of the command.
const END_WORDS: [&str; 5] = ["fi", "done", "esac", "}", ")"];
/// Rust's lint attributes.
const LINT_ATTRIBUTES: [&str; 2] = ["allow", "expect"];
/// Comment signs in files without a grammar.
const COMMENT_SIGNS: [&str; 7] = ["#", "//", "--", "<!--", ";", "/*", "{/*"];
/// Maximum characters of an attribute in a message.
const ATTRIBUTE_CHARS_MAX: usize = 80;

#[derive(Debug, Default)]
pub(super) struct ParsedComments {
    pub(super) comments: Vec<IgnoreComment>,
    pub(super) attributes: Vec<LintAttribute>,
}

/// A comment that may suppress findings.
#[derive(Debug)]
pub(super) struct IgnoreComment {
    pub(super) first_line: u32,
    pub(super) last_line: u32,
    pub(super) text: String,
    pub(super) sign: CommentSign,
    /// The next line that is not an ignore comment, if the comment is alone on its lines.
    next_code_line: Option<u32>,
}

/// A lint attribute and the lines of its item.
#[derive(Debug)]
pub(super) struct LintAttribute {
    pub(super) first_line: u32,
    pub(super) last_line: u32,
    pub(super) attribute_line: u32,
    pub(super) names: Vec<String>,
    pub(super) excerpt: String,
}

impl IgnoreComment {
    /// The next code line if the comment is alone on its lines, otherwise its own last line.
    pub(super) fn last_covered_line(&self) -> u32 {
        self.next_code_line.unwrap_or(self.last_line)
    }

    /// Whether the comment is alone on its lines.
    pub(super) fn is_alone(&self) -> bool {
        self.next_code_line.is_some()
    }
}

/// The lines of the shell command below a comment, by indentation. `None` if no command precedes
/// the comment; such a comment covers the whole file.
pub(super) fn shell_command_lines(lines: &[&str], comment: &IgnoreComment) -> Option<(u32, u32)> {
    let index_of = |number: u32| usize::try_from(number).unwrap_or(usize::MAX).wrapping_sub(1);
    let is_blank_or_comment =
        |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    let comment_index = index_of(comment.first_line);
    let first_command =
        lines.iter().take(COMMAND_LINES_MAX).position(|line| !is_blank_or_comment(line));
    if first_command.is_none_or(|first| comment_index < first) {
        return None;
    }
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let lines_below =
        (index_of(comment.last_line).saturating_add(1)..lines.len()).take(COMMAND_LINES_MAX);
    let mut lines_below = lines_below.skip_while(|index| is_blank_or_comment(lines[*index]));
    let Some(start) = lines_below.next() else {
        return Some((comment.first_line, comment.last_line));
    };
    let mut last_index = start;
    for index in lines_below {
        let (line, word) = (lines[index], lines[index].trim_start());
        let starts_with_one_of = |words: &[&str]| {
            let word = word.split(|it: char| it.is_whitespace() || it == ';').next();
            word.is_some_and(|word| words.contains(&word))
        };
        let is_deeper = line.trim().is_empty() || indentation(line) > indentation(lines[start]);
        let continues = lines[index - 1].trim_end().ends_with(['\\', '|', '&'])
            || starts_with_one_of(&CONTINUATION_WORDS);
        let ends_command = !is_deeper && starts_with_one_of(&END_WORDS);
        if !is_deeper && !continues && !ends_command {
            break;
        }
        if !line.trim().is_empty() {
            last_index = index;
        }
        if ends_command {
            break;
        }
    }
    Some((comment.first_line, line_number(last_index)))
}

/// Reads the comments of a text; `None` if none can suppress anything.
pub(super) fn read(path: &str, text: &str) -> Option<ParsedComments> {
    let language = Language::of_file(path, text.as_bytes());
    let is_rust = language == Some(Language::Rust);
    let has_attribute =
        is_rust && LINT_ATTRIBUTES.iter().any(|word| text.contains(&format!("{word}(")));
    if !IGNORE_WORDS.iter().any(|word| text.contains(word)) && !has_attribute {
        return None;
    }
    // JSON has no comments.
    if matches!(paths::extension(path).as_str(), "json" | "ipynb") {
        return None;
    }
    let tree = language.map(|language| SyntaxTree::new(language, text));
    let mut parsed_comments = match tree {
        Some(Ok(syntax_tree)) => comments_from_tree(&syntax_tree, is_rust),
        Some(Err(_)) | None => comments_from_signs(text),
    };
    let lines: Vec<&str> = text.lines().collect();
    set_next_code_lines(&mut parsed_comments.comments, &lines);
    Some(parsed_comments)
}

/// Uses a cursor, because texts can be nested deeper than the stack.
fn comments_from_tree(syntax_tree: &SyntaxTree<'_>, is_rust: bool) -> ParsedComments {
    let mut parsed_comments = ParsedComments::default();
    let text = syntax_tree.text();
    let mut cursor = syntax_tree.tree().walk();
    loop {
        let node = cursor.node();
        let kind = node.kind();
        let is_comment = kind.contains("comment");
        let is_attribute = is_rust && matches!(kind, "attribute_item" | "inner_attribute_item");
        if is_comment {
            parsed_comments.comments.extend(comment_from_node(node, text));
        } else if is_attribute {
            parsed_comments.attributes.extend(attribute_from_node(node, text));
        }
        let has_child = !is_comment && !is_attribute && cursor.goto_first_child();
        if has_child || cursor.goto_next_sibling() {
            continue;
        }
        loop {
            if !cursor.goto_parent() {
                return parsed_comments;
            }
            if cursor.goto_next_sibling() {
                break;
            }
        }
    }
}

fn comment_from_node(node: Node<'_>, text: &str) -> Option<IgnoreComment> {
    let comment_text = text.get(node.start_byte()..node.end_byte().min(text.len()))?.trim_end();
    if !IGNORE_WORDS.iter().any(|word| comment_text.contains(word)) {
        return None;
    }
    let first_line = line_number(node.start_position().row);
    let newlines = u32::try_from(comment_text.matches('\n').count()).unwrap_or(u32::MAX);
    let last_line = first_line.saturating_add(newlines);
    Some(IgnoreComment {
        first_line,
        last_line,
        text: comment_text.to_owned(),
        sign: comment_sign(comment_text),
        next_code_line: None,
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
    let attribute_text = text.get(node.byte_range())?;
    let body = attribute_text.trim_start_matches(['#', '!', '[']).trim_start();
    let body = LINT_ATTRIBUTES.iter().find_map(|word| body.strip_prefix(word))?.trim_start();
    let body = body.strip_prefix('(')?.rsplit_once(')')?.0;
    let names = body.split(',').map(str::trim);
    let names: Vec<String> = names
        .filter(|name| !name.is_empty() && !name.contains(['=', '"']))
        .map(str::to_owned)
        .collect();
    let item = match node.kind() {
        "inner_attribute_item" => node.parent(),
        _ => {
            let mut next = node.next_sibling();
            while let Some(sibling) = next
                && (sibling.kind() == "attribute_item" || sibling.kind().contains("comment"))
            {
                next = sibling.next_sibling();
            }
            next
        }
    }?;
    let excerpt = truncate(
        &attribute_text.split_whitespace().collect::<Vec<_>>().join(" "),
        ATTRIBUTE_CHARS_MAX,
    );
    let attribute_line = line_number(node.start_position().row);
    let first_line = line_number(item.start_position().row).min(attribute_line);
    Some(LintAttribute {
        first_line,
        last_line: line_number(item.end_position().row),
        attribute_line,
        names,
        excerpt,
    })
}

/// A sign opens a comment at the start of a line or after a blank, but not inside quotes.
fn comments_from_signs(text: &str) -> ParsedComments {
    let mut parsed_comments = ParsedComments::default();
    for (number, line) in (1..).zip(text.lines()) {
        if !IGNORE_WORDS.iter().any(|word| line.contains(word)) {
            continue;
        }
        if let Some(start) = find_sign(line) {
            let comment_text = line[start..].trim_end().to_owned();
            let sign = comment_sign(&comment_text);
            parsed_comments.comments.push(IgnoreComment {
                first_line: number,
                last_line: number,
                text: comment_text,
                sign,
                next_code_line: None,
            });
        }
    }
    parsed_comments
}

fn find_sign(line: &str) -> Option<usize> {
    let mut quote = None;
    let mut previous = ' ';
    for (offset, char) in line.char_indices() {
        match quote {
            Some(opening_quote) if char == opening_quote => quote = None,
            Some(_) => {}
            None if previous.is_whitespace()
                && COMMENT_SIGNS.iter().any(|it| line[offset..].starts_with(it)) =>
            {
                return Some(offset);
            }
            // An apostrophe between letters is not a quote.
            None if char == '"' || char == '`' || char == '\'' && !previous.is_alphanumeric() => {
                quote = Some(char);
            }
            None => {}
        }
        previous = char;
    }
    None
}

/// Sets the next code line of each comment that is alone on its lines. Several such comments above
/// a line all get that line.
fn set_next_code_lines(comments: &mut [IgnoreComment], lines: &[&str]) {
    let index_of = |number: u32| usize::try_from(number).unwrap_or(usize::MAX).wrapping_sub(1);
    let alone_flags: Vec<bool> = comments
        .iter()
        .map(|comment| {
            let first_line = lines.get(index_of(comment.first_line)).copied().unwrap_or_default();
            let last_line = lines.get(index_of(comment.last_line)).copied().unwrap_or_default();
            let opening_text = comment.text.lines().next().unwrap_or_default().trim_end();
            let closing_text = comment.text.lines().next_back().unwrap_or_default().trim_end();
            first_line.trim_start().trim_start_matches('{').starts_with(opening_text)
                && last_line
                    .trim_end()
                    .trim_end_matches('}')
                    .ends_with(closing_text.trim_end_matches('}'))
        })
        .collect();
    let mut next_code_lines: HashMap<u32, u32> = HashMap::new();
    for (comment, is_alone) in comments.iter_mut().zip(alone_flags).rev() {
        if is_alone {
            let line_below = comment.last_line.saturating_add(1);
            let next_code_line = next_code_lines.get(&line_below).copied().unwrap_or(line_below);
            comment.next_code_line = Some(next_code_line);
            next_code_lines.insert(comment.first_line, next_code_line);
        }
    }
}
