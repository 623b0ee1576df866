//! Guesses definitions in languages without a grammar, from keywords, indentation and braces.
//!
//! A guess requires three signs: a line looks like the head of a definition (its first line), the
//! following lines are indented until the block ends, and the braces balance. If one sign is
//! missing, there is no guess. A definition on one line needs no indented lines. Multi-line
//! comments and strings are not distinguished from code.

use crate::parse::one_based;
use crate::{ImportList, ImportStatement};

/// A guessed definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuessedSpan {
    /// Name on the first line of the definition.
    pub name: String,
    /// First line, 1-based. Attributes before it are not recognised.
    pub start: u32,
    /// Last line, inclusive.
    pub end: u32,
}

/// Guesses the definitions of a text, in source order. Omits doubtful ones.
pub fn fallback_spans(text: &str) -> Vec<GuessedSpan> {
    let mut guess = SpanGuesser::default();
    for (row, line) in without_bom(text).lines().enumerate() {
        guess.read_line(row, line);
    }
    guess.finish()
}

/// Unindented lines that look like imports.
pub(crate) fn imports(text: &str) -> ImportList {
    let mut imports = ImportList::default();
    let lines = without_bom(text).lines().enumerate();
    for (row, line) in lines.filter(|(_, line)| looks_like_import(line)) {
        let line_number = one_based(row);
        let text = line.trim_end().to_owned();
        imports.push(ImportStatement { start: line_number, end: line_number, text });
    }
    imports
}

/// The text without a byte order mark, which parsers skip.
fn without_bom(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

#[derive(Default)]
struct SpanGuesser<'t> {
    open_heads: Vec<DefinitionHead<'t>>,
    spans: Vec<GuessedSpan>,
    /// Last non-blank row.
    last_row: usize,
    /// Open braces before each row.
    brace_depths: Vec<i64>,
}

struct DefinitionHead<'t> {
    name: &'t str,
    row: usize,
    indent: &'t str,
    /// Whether the whole body is on the first line.
    is_one_line: bool,
}

impl<'t> SpanGuesser<'t> {
    fn read_line(&mut self, row: usize, line: &'t str) {
        let depth_before = self.brace_depths.last().copied().unwrap_or_default();
        if self.brace_depths.is_empty() {
            self.brace_depths.push(0);
        }
        self.brace_depths.push(depth_before + brace_balance(line));
        let code = line.trim_start();
        if code.is_empty() {
            return;
        }
        let indent = &line[..line.len() - code.len()];
        let code = code.trim_end();
        if !self.close_before(row, indent, code)
            && let Some(name) = head_name(code)
        {
            let is_one_line =
                code.contains('{') && code.ends_with(['}', ';']) || code.ends_with(" end");
            self.open_heads.push(DefinitionHead { name, row, indent, is_one_line });
        }
        self.last_row = row;
    }

    /// Closes blocks that end before or at this line. Returns whether the line continues a head or
    /// closes a block.
    fn close_before(&mut self, row: usize, indent: &str, code: &str) -> bool {
        while let Some(head) = self.open_heads.last() {
            let is_deeper = indent.len() > head.indent.len() && indent.starts_with(head.indent);
            if is_deeper {
                return false;
            }
            let is_at_head_level = indent == head.indent && !head.is_one_line;
            if is_at_head_level && continues_head(code) {
                return true;
            }
            let end = if is_at_head_level && closes_block(code) { row } else { self.last_row };
            // If tabs and spaces are mixed, indentations cannot be compared, so there is no guess.
            let is_comparable = head.indent.starts_with(indent);
            if let Some(head) = self.open_heads.pop()
                && is_comparable
            {
                self.add_span(&head, end);
            }
            if end == row {
                return true;
            }
        }
        false
    }

    fn add_span(&mut self, head: &DefinitionHead<'t>, end: usize) {
        let depth = |row: usize| self.brace_depths.get(row).copied();
        let is_balanced = depth(head.row) == depth(end + 1);
        if is_balanced && (end > head.row || head.is_one_line) {
            self.spans.push(GuessedSpan {
                name: head.name.to_owned(),
                start: one_based(head.row),
                end: one_based(end),
            });
        }
    }

    fn finish(mut self) -> Vec<GuessedSpan> {
        while let Some(head) = self.open_heads.pop() {
            self.add_span(&head, self.last_row);
        }
        self.spans.sort_by(|a, b| a.start.cmp(&b.start).then(b.end.cmp(&a.end)));
        self.spans
    }
}

/// Opening minus closing braces, outside of double quotes.
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

/// Whether a line with the indentation of the head belongs to the head: an opening brace, or the
/// end of a parameter list.
fn continues_head(code: &str) -> bool {
    code == "{" || (code.starts_with(')') && code.ends_with(['{', ':']))
}

/// Whether a line with the indentation of the head closes its block.
fn closes_block(code: &str) -> bool {
    code.starts_with(['}', ')', ']'])
        || ["end", "fi", "done", "esac"]
            .iter()
            .any(|word| code.strip_prefix(word).is_some_and(|rest| !rest.starts_with(is_name_char)))
}

/// The defined name, if the line looks like the head of a definition.
fn head_name(code: &str) -> Option<&str> {
    let code = without_modifiers(code);
    let (word, rest) = first_word(code);
    if DEFINITION_KEYWORDS.contains(&word) {
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

/// `name(…) {`, or `type name(…)`, with only type words before the name.
fn function_with_braces(code: &str) -> Option<&str> {
    let (words_before, text_after) = code.split_once('(')?;
    let has_body = code.ends_with('{') || (text_after.contains('{') && code.ends_with('}'));
    if !has_body && !code.ends_with(')') {
        return None;
    }
    let words_before = words_before.trim_end();
    let start = words_before
        .rfind(|c: char| !is_name_char(c))
        .map_or(0, |at| at + words_before[at..].chars().next().map_or(1, char::len_utf8));
    let name = name_at_start(&words_before[start..])?;
    let is_type_char = |c: char| is_name_char(c) || c.is_whitespace() || "*&<>[],:".contains(c);
    let type_words = &words_before[..start];
    let has_only_type_words = type_words.chars().all(is_type_char)
        && !type_words.split_whitespace().any(|word| CONTROL_KEYWORDS.contains(&word));
    // A call ends in a parenthesis too. Only a type before the name shows that the line is a
    // definition.
    let is_definition = code.ends_with(['{', '}']) || !type_words.trim().is_empty();
    (has_only_type_words && is_definition && !CONTROL_KEYWORDS.contains(&name)).then_some(name)
}

fn without_modifiers(code: &str) -> &str {
    // More than any language has before a name.
    const MODIFIERS_MAX: usize = 8;
    let mut code = code;
    for _ in 0..MODIFIERS_MAX {
        let (word, rest) = first_word(code);
        if !MODIFIERS.contains(&word) || !rest.starts_with([' ', '\t']) {
            break;
        }
        code = rest.trim_start();
    }
    code
}

fn first_word(code: &str) -> (&str, &str) {
    code.split_at(code.find(|c: char| !is_name_char(c)).unwrap_or(code.len()))
}

/// A name with dots and colons, such as `Module.function` or `Table:method`.
fn name_at_start(code: &str) -> Option<&str> {
    let is_qualified_name_char = |c: char| is_name_char(c) || matches!(c, '.' | ':' | '?' | '!');
    let end = code.find(|c: char| !is_qualified_name_char(c)).unwrap_or(code.len());
    let name = code[..end].trim_end_matches(['.', ':']);
    let first = name.chars().next()?;
    (first.is_alphabetic() || first == '_').then_some(name)
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[rustfmt::skip]
const MODIFIERS: [&str; 21] = [
    "pub", "public", "private", "protected", "internal", "static", "export", "default", "async", "local", "inline", "virtual",
    "override", "final", "abstract", "sealed", "open", "case", "data", "implicit", "pure",
];

#[rustfmt::skip]
const DEFINITION_KEYWORDS: [&str; 22] = [
    "def", "defp", "defmodule", "defmacro", "function", "func", "fn", "fun", "sub", "proc", "procedure", "method", "macro",
    "class", "struct", "enum", "interface", "trait", "protocol", "module", "namespace", "object",
];

/// Keywords with parentheses and a block that define nothing.
#[rustfmt::skip]
const CONTROL_KEYWORDS: [&str; 28] = [
    "if", "else", "elif", "elseif", "elsif", "for", "foreach", "while", "until", "unless", "switch", "case", "match", "when",
    "with", "using", "do", "try", "catch", "return", "throw", "new", "await", "yield", "not", "and", "or", "in",
];

fn looks_like_import(line: &str) -> bool {
    let (word, rest) = first_word(line.strip_prefix(['#', '@']).unwrap_or(line));
    let has_prefix_sign = line.starts_with(['#', '@']);
    let has_argument = rest.starts_with([' ', '\t', '(', '"', '<', '\'']);
    let is_import_word = match word {
        "include" | "import" => true,
        "use" | "using" | "require" | "library" | "source" | "from" => !has_prefix_sign,
        _ => false,
    };
    is_import_word && has_argument && (word != "from" || rest.contains(" import "))
}
