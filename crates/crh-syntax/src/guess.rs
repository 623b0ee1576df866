//! Definitions in a text whose language has no grammar here: guesses from keywords, indentation and braces.
//!
//! A guess is made where three signs agree: a line reads like the head of a definition, the lines after it
//! are indented deeper until one closes the block or falls back, and the braces in between balance. Where one
//! of them disagrees, there is no guess. Comments and strings over several lines are not told from code.

use crate::parse::one_based;
use crate::{Import, Imports};

/// A definition that was guessed, not parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuessedSpan {
    /// The name on its first line, as it stands there.
    pub name: String,
    /// The first line, 1-based. Attributes before it are not recognised.
    pub start: u32,
    /// The last line, inclusive.
    pub end: u32,
}

/// What looks like the definitions of a text in an unknown language, in source order; none where in doubt.
pub fn fallback_spans(text: &str) -> Vec<GuessedSpan> {
    let mut guess = Guess::default();
    for (row, line) in without_mark(text).lines().enumerate() {
        guess.read(row, line);
    }
    guess.finish()
}

/// Lines at the left edge that look like imports.
pub(crate) fn imports(text: &str) -> Imports {
    let mut imports = Imports::default();
    let lines = without_mark(text).lines().enumerate();
    for (row, line) in lines.filter(|(_, line)| looks_like_import(line)) {
        let line_number = one_based(row);
        let text = line.trim_end().to_owned();
        imports.push(Import { start: line_number, end: line_number, text });
    }
    imports
}

/// The text behind its byte order mark, which the parsers skip by themselves.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

#[derive(Default)]
struct Guess<'t> {
    open: Vec<Head<'t>>,
    spans: Vec<GuessedSpan>,
    /// The last row that is not blank.
    last: usize,
    /// Open braces before each row.
    braces: Vec<i64>,
}

struct Head<'t> {
    name: &'t str,
    row: usize,
    indent: &'t str,
    /// Whether the first line has its whole body on it.
    is_whole: bool,
}

impl<'t> Guess<'t> {
    fn read(&mut self, row: usize, line: &'t str) {
        let before = self.braces.last().copied().unwrap_or_default();
        if self.braces.is_empty() {
            self.braces.push(0);
        }
        self.braces.push(before + brace_balance(line));
        let code = line.trim_start();
        if code.is_empty() {
            return;
        }
        let indent = &line[..line.len() - code.len()];
        let code = code.trim_end();
        if !self.close_before(row, indent, code)
            && let Some(name) = head_name(code)
        {
            let is_whole =
                code.contains('{') && code.ends_with(['}', ';']) || code.ends_with(" end");
            self.open.push(Head { name, row, indent, is_whole });
        }
        self.last = row;
    }

    /// Closes what this line is not inside of. True if the line itself belongs to an open head.
    fn close_before(&mut self, row: usize, indent: &str, code: &str) -> bool {
        while let Some(head) = self.open.last() {
            let is_deeper = indent.len() > head.indent.len() && indent.starts_with(head.indent);
            if is_deeper {
                return false;
            }
            let is_beside = indent == head.indent && !head.is_whole;
            if is_beside && goes_on(code) {
                return true;
            }
            let end = if is_beside && closes(code) { row } else { self.last };
            // Tabs here and blanks there: nobody can say what is inside what.
            let is_comparable = head.indent.starts_with(indent);
            if let Some(head) = self.open.pop()
                && is_comparable
            {
                self.keep(&head, end);
            }
            if end == row {
                return true;
            }
        }
        false
    }

    fn keep(&mut self, head: &Head<'t>, end: usize) {
        let balance = |row: usize| self.braces.get(row).copied();
        let is_balanced = balance(head.row) == balance(end + 1);
        if is_balanced && (end > head.row || head.is_whole) {
            self.spans.push(GuessedSpan {
                name: head.name.to_owned(),
                start: one_based(head.row),
                end: one_based(end),
            });
        }
    }

    fn finish(mut self) -> Vec<GuessedSpan> {
        while let Some(head) = self.open.pop() {
            self.keep(&head, self.last);
        }
        self.spans.sort_by(|a, b| a.start.cmp(&b.start).then(b.end.cmp(&a.end)));
        self.spans
    }
}

/// Opening less closing braces of a line, those in double quotes left out.
fn brace_balance(line: &str) -> i64 {
    let mut balance = 0;
    let (mut in_quotes, mut is_escaped) = (false, false);
    for byte in line.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => in_quotes = !in_quotes,
            b'{' if !in_quotes => balance += 1,
            b'}' if !in_quotes => balance -= 1,
            _ => {}
        }
    }
    balance
}

/// Whether a line at the head's own indentation still belongs to the head: a brace on a line of its own, or
/// the end of parameters over several lines.
fn goes_on(code: &str) -> bool {
    code == "{" || (code.starts_with(')') && code.ends_with(['{', ':']))
}

/// Whether a line at the head's own indentation closes its block.
fn closes(code: &str) -> bool {
    code.starts_with(['}', ')', ']'])
        || ["end", "fi", "done", "esac"]
            .iter()
            .any(|word| code.strip_prefix(word).is_some_and(|rest| !rest.starts_with(is_name_char)))
}

/// The name that a line defines, if it reads like the head of a definition.
fn head_name(code: &str) -> Option<&str> {
    let code = without_modifiers(code);
    let (word, rest) = first_word(code);
    if is_keyword_of_definition(word) {
        let rest = rest.strip_prefix(' ').or(rest.strip_prefix('\t'))?;
        return name_at_start(rest.trim_start());
    }
    assigned_function(code).or_else(|| function_with_braces(code))
}

/// `name = function (…)` and `name <- function(…)`.
fn assigned_function(code: &str) -> Option<&str> {
    let name = name_at_start(code)?;
    let rest = code[name.len()..].trim_start();
    let value = rest.strip_prefix("<-").or(rest.strip_prefix('='))?.trim_start();
    let (word, _) = first_word(value);
    matches!(word, "function" | "func" | "fn" | "fun" | "proc").then_some(name)
}

/// `name(…) {` with nothing but words of a type before it.
fn function_with_braces(code: &str) -> Option<&str> {
    let (before, after) = code.split_once('(')?;
    let has_body = code.ends_with('{') || (after.contains('{') && code.ends_with('}'));
    if !has_body && !code.ends_with(')') {
        return None;
    }
    let before = before.trim_end();
    let start = before
        .rfind(|c: char| !is_name_char(c))
        .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    let name = name_at_start(&before[start..])?;
    let is_of_type = |c: char| is_name_char(c) || c.is_whitespace() || "*&<>[],:".contains(c);
    let type_words = &before[..start];
    let is_plain =
        type_words.chars().all(is_of_type) && !type_words.split_whitespace().any(is_control);
    // A call ends in a parenthesis too; only a type before the name tells a head from it.
    let has_sign = code.ends_with(['{', '}']) || !type_words.trim().is_empty();
    (is_plain && has_sign && !is_control(name)).then_some(name)
}

fn without_modifiers(code: &str) -> &str {
    // No language stacks more of them than this.
    const MODIFIERS_MAX: usize = 8;
    let mut code = code;
    for _ in 0..MODIFIERS_MAX {
        let (word, rest) = first_word(code);
        if !is_modifier(word) || !rest.starts_with([' ', '\t']) {
            break;
        }
        code = rest.trim_start();
    }
    code
}

fn first_word(code: &str) -> (&str, &str) {
    code.split_at(code.find(|c: char| !is_name_char(c)).unwrap_or(code.len()))
}

/// A name with the dots and colons in it, as in `Module.function` or `Table:method`.
fn name_at_start(code: &str) -> Option<&str> {
    let is_inside = |c: char| is_name_char(c) || matches!(c, '.' | ':' | '?' | '!');
    let end = code.find(|c: char| !is_inside(c)).unwrap_or(code.len());
    let name = code[..end].trim_end_matches(['.', ':']);
    let first = name.chars().next()?;
    (first.is_alphabetic() || first == '_').then_some(name)
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_modifier(word: &str) -> bool {
    matches!(
        word,
        "pub"
            | "public"
            | "private"
            | "protected"
            | "internal"
            | "static"
            | "export"
            | "default"
            | "async"
            | "local"
            | "inline"
            | "virtual"
            | "override"
            | "final"
            | "abstract"
            | "sealed"
            | "open"
            | "case"
            | "data"
            | "implicit"
            | "pure"
    )
}

fn is_keyword_of_definition(word: &str) -> bool {
    matches!(
        word,
        "def"
            | "defp"
            | "defmodule"
            | "defmacro"
            | "function"
            | "func"
            | "fn"
            | "fun"
            | "sub"
            | "proc"
            | "procedure"
            | "method"
            | "macro"
            | "class"
            | "struct"
            | "enum"
            | "interface"
            | "trait"
            | "protocol"
            | "module"
            | "namespace"
            | "object"
    )
}

/// Words that have a parenthesis and a block behind them and define nothing.
fn is_control(word: &str) -> bool {
    matches!(
        word,
        "if" | "else"
            | "elif"
            | "elseif"
            | "elsif"
            | "for"
            | "foreach"
            | "while"
            | "until"
            | "unless"
            | "switch"
            | "case"
            | "match"
            | "when"
            | "with"
            | "using"
            | "do"
            | "try"
            | "catch"
            | "return"
            | "throw"
            | "new"
            | "await"
            | "yield"
            | "not"
            | "and"
            | "or"
            | "in"
    )
}

fn looks_like_import(line: &str) -> bool {
    let (word, rest) = first_word(line.strip_prefix(['#', '@']).unwrap_or(line));
    let is_marked = line.starts_with(['#', '@']);
    let is_followed = rest.starts_with([' ', '\t', '(', '"', '<', '\'']);
    let is_word = match word {
        "include" | "import" => true,
        "use" | "using" | "require" | "library" | "source" | "from" => !is_marked,
        _ => false,
    };
    is_word && is_followed && (word != "from" || rest.contains(" import "))
}
